//! Everything fathomp asks of the kernel and the processor, behind safe interfaces.
pub mod futex;
pub mod outlined;
pub mod own_cell;
pub mod process;
pub mod static_ref;
pub mod thread_slot;
pub mod clock;
pub mod counters;
pub mod modules;
pub mod shm;

pub mod affinity;
