//! Everything fathomp asks of the kernel and the processor, behind safe interfaces.
pub mod affinity;
pub mod call_site;
pub mod clock;
pub mod cluster;
pub mod counters;
mod descriptor;
mod errno;
pub mod futex;
pub mod modules;
pub mod outlined;
pub mod own_cell;
pub mod peer;
pub mod process;
pub mod shared_futex;
pub mod shared_memory;
pub mod shm;
pub mod signal_chain;
pub mod stack_overflow;
pub mod static_ref;
pub mod task_arguments;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod text_patch;
pub mod thread_slot;
pub mod unwind;
pub mod userfault;
pub mod words;
