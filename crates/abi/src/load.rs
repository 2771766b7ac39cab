//! What happens when the library is loaded and when the process ends.

use fathomp_launch::{asks_for_nodes, of_this_process};
use fathomp_omp::env::DisplayEnv;
use fathomp_omp::{overflow, runtime};
use fathomp_sys::peek::Leave;
use fathomp_sys::stack_overflow;

#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = runtime_finish;

extern "C" fn load() {
    fathomp_node::start::emulate_time();
    // Nodes have a handler of their own for that signal, and stacks of their own.
    if asks_for_nodes(&of_this_process) {
        stack_overflow::leave_alone();
    } else {
        // Cores of nodes are not divided.
        fathomp_omp::share::join();
    }
    overflow::watch();
    crate::tap::expect();
    // SAFETY: plans ask for words of data blocks that the functions read themselves, as the
    // scan of their code shows; the runtime follows a plan only for the build it was made of.
    fathomp_omp::trips::allow(unsafe { Leave::new() });
    let (settings, _) = runtime::read_environment();
    crate::cluster::start::expect();
    // Whoever asks for it wants to see it of every program that loads us.
    match settings.display_env {
        DisplayEnv::Off => {}
        shown => runtime::display_environment(shown == DisplayEnv::Verbose),
    }
}

extern "C" fn runtime_finish() {
    runtime::finish();
    if let Some(node) = fathomp_node::start::node() {
        crate::cluster::races::say(node);
        node.finish();
    }
}
