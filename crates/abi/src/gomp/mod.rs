//! libgomp's interface, as gcc 12 and gfortran 12 emit it.

pub mod parallel;
