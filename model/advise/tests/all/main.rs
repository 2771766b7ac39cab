//! What is advised, and how well: all tests of the interface in one program.

mod evaluation;
mod model;
mod patch;
