//! libgomp's interface, as gcc 12 and gfortran 12 emit it.

pub mod doacross;
pub mod locks;
pub mod loops;
pub mod loops_ull;
pub mod parallel;
pub mod parallel_loops;
pub mod reductions;
pub mod sections;
pub mod sync;
pub mod task;
mod task_depend;
pub mod taskgroup;
pub mod taskloop;
