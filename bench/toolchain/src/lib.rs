//! C sources to programs: compilers found and asked what they can do, programs
//! built once and kept in the user's cache.
//!
//! Knows neither workloads nor benchmarks: they bring their sources
//! ([`Recipe`]) and get a path.
#![forbid(unsafe_code)]

mod compiler;
mod parallel;
mod recipe;
mod store;
#[doc(hidden)]
pub mod testing;

pub use compiler::{Compiler, CompilerError};
pub use parallel::in_parallel;
pub use recipe::{File, Recipe};
pub use store::{BuildError, Built, build};
