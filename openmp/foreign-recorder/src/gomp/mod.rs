//! The functions of libgomp that the library stands in front of: those that begin regions and
//! loops, deal iterations, make tasks, and wait.
//!
//! A runtime with both interfaces, as LLVM's, tells its own tool: then all calls pass, and all
//! that is noted is the code of regions, which such runtimes do not tell ([`crate::tool`]).

mod loops;
mod parallel;
mod sections;
mod sync;
mod tasks;
mod watched;

pub(crate) use watched::is_used;
