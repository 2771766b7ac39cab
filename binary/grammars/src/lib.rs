//! Tree-sitter's grammars as libraries that are loaded when a source is read.
//!
//! The tables of a grammar have megabytes that are nearly all alike: 11 MB for three languages,
//! 0.7 MB compressed. So they are no part of the program, but of files that travel compressed
//! inside it ([`fathomp_embed`]), one for each language.
//!
//! * `load`: the grammars as users of this crate have them.
//! * `code`: the grammars' code, which the build script compiles and links into the libraries.

#[cfg(feature = "code")]
pub mod code;
#[cfg(feature = "load")]
mod load;

#[cfg(feature = "load")]
pub use load::{Grammar, LoadError, language};
