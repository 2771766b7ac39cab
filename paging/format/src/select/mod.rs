//! Which part of a program is recorded, how it is written down, and whether it
//! has the shape of the whole.

mod option;
mod part;
mod shape;

pub use option::{Selection, SelectionError};
pub use part::{NoPart, Part};
pub use shape::{Deviation, deviations};
