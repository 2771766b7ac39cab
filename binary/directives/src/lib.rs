//! From sources to what their OpenMP constructs contain.
//!
//! C, C++ and Fortran are read as they are written: nothing is included, no macro is
//! expanded except where a subscript is hidden in one, and what cannot be read is said.
//! The result fills the source's part of [`fathomp_regions`].
#![forbid(unsafe_code)]

mod analyse;
mod ast;
mod compile_commands;
mod join;
mod language;
mod lower;
mod scan;
mod text;
mod tree;

pub use analyse::Found;
pub use compile_commands::{CommandsError, Compiled, compile_commands};
pub use join::join;
pub use language::{is_source, language_of};
pub use scan::{Options, Scanned, SourceError, scan_file, scan_text};
pub use tree::ParseError;
