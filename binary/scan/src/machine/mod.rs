//! What instructions do to registers, flags and memory, as [values](crate::values).

mod flags;
mod operands;
mod state;
mod transfer;

pub(crate) use flags::Flags;
pub(crate) use state::{Slot, State, gpr, xmm};
pub(crate) use transfer::Machine;
