//! What happens when the library is loaded and when the process ends.

use fathomp_launch::{asks_for_nodes, of_this_process};
use fathomp_omp::cluster::process;
use fathomp_omp::{overflow, runtime};
use fathomp_sys::safe_read::Leave;
use fathomp_sys::{elf_needed, stack_overflow};

/// The loader calls it: `fathomp-runtime`'s build script puts it into the library's list of what is
/// to run first.
#[unsafe(no_mangle)]
extern "C" fn fathomp_abi_load() {
    load();
}

/// The loader calls it at the process's end, likewise.
#[unsafe(no_mangle)]
extern "C" fn fathomp_abi_finish() {
    finish();
}

/// Prepares the runtime; called when the library is loaded.
pub fn load() {
    crate::kmpc::load();
    // Nodes have a handler of their own for that signal, and stacks of their own.
    let is_node = asks_for_nodes(&of_this_process);
    if is_node {
        stack_overflow::leave_alone();
    } else {
        // Cores of nodes are not divided.
        fathomp_omp::core_partition::join();
    }
    runtime::watch_stacks(overflow::watch);
    crate::interposer::expect();
    crate::ompt::expect();
    // SAFETY: plans ask for words of data blocks that the functions read themselves, as the
    // scan of their code shows; the runtime follows a plan only for the build it was made of.
    fathomp_omp::trips::allow(unsafe { Leave::new() });
    runtime::note_time();
    if is_node || elf_needed::is_needed("libgomp") {
        // It was asked for, so it is shown of every program that loads this library.
        runtime::show_environment();
    }
    if let Some(process) = process() {
        process.expect_nodes();
    }
}

/// Ends the runtime; called at the process's end.
pub fn finish() {
    runtime::finish();
    if let Some(process) = process() {
        process.finish();
    }
}
