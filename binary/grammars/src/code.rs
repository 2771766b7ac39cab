//! The grammars' code: a static library of this crate holds it, since it names them.

pub use tree_sitter_c::LANGUAGE as C;
pub use tree_sitter_cpp::LANGUAGE as CPP;
pub use tree_sitter_fortran::LANGUAGE as FORTRAN;
