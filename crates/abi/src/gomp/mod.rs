//! libgomp's interface, as gcc 12 and gfortran 12 emit it.

pub mod parallel;
pub mod reductions;
pub mod task;
mod task_depend;
pub mod taskgroup;
pub mod taskloop;
