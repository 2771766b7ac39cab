//! A variable, or a pointer to what has no name of its own.

use super::types::TypeId;
use std::ops::Range;

/// A variable with a place in memory that it has as long as the program runs.
#[derive(Clone, Debug)]
pub struct Variable {
    /// As in the source.
    pub name: String,
    /// Its addresses in the program's file.
    pub range: Range<u64>,
    /// File and line of its declaration.
    pub declared: Option<(String, u32)>,
    pub(super) kind: Option<TypeId>,
}

/// A pointer that a block may be assigned to.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub(super) name: String,
    pub(super) to: TypeId,
    pub(super) fortran: bool,
    pub(super) declared: Option<(String, u32)>,
}

/// A variable in the frame of a function.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) function: Vec<Range<u64>>,
    /// From the frame's address (the DWARF CFA) on.
    pub(super) offset: i64,
    /// Its range counts from there.
    pub(super) variable: Variable,
}
