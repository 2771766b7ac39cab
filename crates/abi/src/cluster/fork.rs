//! `fork`: refused in a program that runs on several nodes.
//!
//! Parent and child would go on in the same memory, since what nodes share is a
//! file to the kernel, and the child is no node that could fetch what is
//! missing. The call does not just fail: a program that does not expect that
//! would take -1 for a process, and `kill` means by it all there are. Whoever
//! starts another program at once (`vfork`, `posix_spawn`, `system`, `popen`)
//! does not come here.

use super::next::Next;
use fathomp_node::start;
use fathomp_omp::cluster::Cluster as _;

static NEXT: Next = Next::new(c"fork");

/// As `fork`; ends a program that runs on several nodes.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_fork() -> libc::pid_t {
    if let Some(node) = start::node() {
        node.fail(
            "the program calls fork, which nodes cannot do: run it on one node, \
             or let it start other programs by posix_spawn, system or popen",
        );
    }
    let next = NEXT.address();
    if next.is_null() {
        return -1;
    }
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe {
        std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn() -> libc::pid_t>(next)
    };
    // SAFETY: promised by our caller.
    unsafe { next() }
}
