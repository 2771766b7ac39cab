//! The programs that measure: their sources, how they are built, what they can
//! do and what they answer. The protocol is described in `suites/README.md`.

mod answer;
mod build;
mod rows;
mod sources;

pub use answer::{Failure, Process};
pub use build::{BuildError, LeftOut, Part, Program, build};
pub use rows::{Case, Measures, Parameter, Row};
pub use sources::SuiteName;

pub(crate) use answer::{Asked, Probed};
pub(crate) use build::last_words;
pub(crate) use sources::beginning_with;
