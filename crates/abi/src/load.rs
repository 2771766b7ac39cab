//! What happens when the library is loaded and when the process ends.

use fathomp_node::start::NODES_VARIABLE;
use fathomp_omp::env::DisplayEnv;
use fathomp_omp::{overflow, runtime};
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
    if std::env::var_os(NODES_VARIABLE).is_some_and(|nodes| nodes != "1") {
        stack_overflow::leave_alone();
    }
    overflow::watch();
    crate::tap::expect();
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
