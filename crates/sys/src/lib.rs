//! Everything fathomp asks of the kernel and the processor, behind safe interfaces.
pub mod affinity;
pub mod call_site;
pub mod clock;
pub mod cluster;
pub mod counters;
pub mod futex;
pub mod modules;
pub mod outlined;
pub mod own_cell;
pub mod process;
pub mod shm;
pub mod static_ref;
pub mod task_arguments;
pub mod thread_slot;
