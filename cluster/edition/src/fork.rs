//! `fork`: refused in a program that runs on several nodes.
//!
//! Parent and child would go on in the same memory, since what nodes share is a
//! file to the kernel, and the child is no node that could fetch what is
//! missing. The call does not just fail: a program that does not expect that
//! would take -1 for a process, and `kill` means by it all there are. Whoever
//! starts another program at once (`vfork`, `posix_spawn`, `system`, `popen`)
//! does not come here.

use fathomp_node::start;
use fathomp_omp::cluster::Cluster as _;
use fathomp_sys::process;

/// From now on `fork`, and what calls it in libraries (`daemon`, `forkpty`), end
/// the program.
pub(super) fn refuse() {
    // If the C library has no room for the hook, it has none for a child either.
    process::before_fork(forking);
}

extern "C" fn forking() {
    if let Some(node) = start::node() {
        node.fail(
            "the program calls fork, which nodes cannot do: run it on one node, \
             or let it start other programs by posix_spawn, system or popen",
        );
    }
}
