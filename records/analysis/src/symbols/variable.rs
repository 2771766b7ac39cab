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

/// A variable or member that a block may be assigned to, and others of such names.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub(super) name: String,
    /// What it points to, or a container has elements of.
    pub(super) to: Option<TypeId>,
    pub(super) fortran: bool,
    pub(super) is_member: bool,
    pub(super) declared: Option<(String, u32)>,
}

/// An active function, where a region begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Active {
    /// The call that it waits for.
    pub instruction: u64,
    /// Its frame as DWARF counts (the CFA).
    pub frame: u64,
    /// Its stack pointer at the call.
    pub stack: u64,
    /// Its frame pointer (`rbp`) at the call.
    pub pointer: u64,
}

/// What the place of a local variable counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The frame's address (the DWARF CFA).
    Frame,
    /// The stack pointer.
    Stack,
    /// The frame pointer.
    Pointer,
}

impl Base {
    /// By a register's number in debug information.
    pub(super) const fn of(register: gimli::Register) -> Option<Self> {
        match register.0 {
            6 => Some(Self::Pointer),
            7 => Some(Self::Stack),
            _ => None,
        }
    }

    /// Its address while a function is active.
    pub(super) const fn address(self, active: Active) -> u64 {
        match self {
            Self::Frame => active.frame,
            Self::Stack => active.stack,
            Self::Pointer => active.pointer,
        }
    }
}

/// A variable in the frame of a function.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// The code at which it is there.
    pub(super) code: Vec<Range<u64>>,
    pub(super) base: Base,
    /// From there on.
    pub(super) offset: i64,
    /// Its range counts from there.
    pub(super) variable: Variable,
}
