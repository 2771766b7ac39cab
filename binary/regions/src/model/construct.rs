//! What the source of a region says.

use super::{Known, Place};
use serde::{Deserialize, Serialize};

/// Languages that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// C.
    #[default]
    C,
    /// C++.
    Cpp,
    /// Fortran, free form.
    FortranFree,
    /// Fortran, fixed form.
    FortranFixed,
}

/// A directive with what it applies to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Construct {
    /// The directive.
    pub directive: Directive,
    /// First and last line of what it applies to, the directive's own included.
    pub lines: (u32, u32),
    /// Directives inside, in order of their lines; a combined one is not repeated here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<Directive>,
    /// Loops in order of their lines; a loop stands behind the one that encloses it.
    pub loops: Vec<SourceLoop>,
    /// Statements that access arrays or compute, in order.
    pub statements: Vec<Statement>,
    /// Arrays that are accessed.
    pub arrays: Vec<Array>,
    /// Functions and macros that are called, in order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

/// A directive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Directive {
    /// Its names in lower case, such as `parallel for`; Fortran's `do` stays `do`.
    pub name: String,
    /// Where it stands.
    pub place: Place,
    /// Its clauses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<Clause>,
}

/// A clause, such as `schedule(static, 4)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clause {
    /// Its name in lower case; empty for an argument of the directive itself, such as the
    /// name of a critical section.
    pub name: String,
    /// What stands between its parentheses, as written; empty without any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub argument: String,
}

/// A loop as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceLoop {
    /// Index into [`Construct::loops`] of the loop around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Its line.
    pub place: Place,
    /// Its last line.
    pub last_line: u32,
    /// Its variable, if its header is canonical.
    pub variable: Known<String>,
    /// First value, as written.
    #[serde(default)]
    pub from: String,
    /// Bound, as written.
    #[serde(default)]
    pub to: String,
    /// How variable and bound are compared: `<`, `<=`, `>`, `>=`, `!=`; Fortran has `<=`.
    #[serde(default)]
    pub comparison: String,
    /// Step, as written.
    #[serde(default)]
    pub step: String,
    /// Iterations, if first value, bound and step are constants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trips: Option<u64>,
    /// Indices of the loops around whose variables stand in its bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<usize>,
    /// Whether a worksharing directive divides it; with `collapse`, each of the loops.
    #[serde(default)]
    pub worksharing: bool,
}

/// A statement with accesses or arithmetic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Its line.
    pub line: u32,
    /// Index of the innermost loop around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<usize>,
    /// Its accesses to arrays, reads first; a compound assignment both reads and writes.
    pub accesses: Vec<SourceAccess>,
    /// Sums and differences outside subscripts.
    #[serde(default)]
    pub additions: u32,
    /// Products outside subscripts.
    #[serde(default)]
    pub multiplications: u32,
    /// Quotients and remainders outside subscripts.
    #[serde(default)]
    pub divisions: u32,
    /// Calls.
    #[serde(default)]
    pub calls: u32,
    /// Whether a condition stands around it within its innermost loop.
    #[serde(default)]
    pub conditional: bool,
}

/// An access to an array as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceAccess {
    /// Index into [`Construct::arrays`].
    pub array: usize,
    /// As written.
    pub text: String,
    /// Whether it is written to.
    pub writes: bool,
    /// Subscripts in the order in which memory is laid out, slowest first: C's order;
    /// Fortran's are reversed.
    pub subscripts: Vec<Subscript>,
}

/// One subscript.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subscript {
    /// As written.
    pub text: String,
    /// Loops (indices) whose variables it is affine in, each with its factor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<(usize, i64)>,
    /// Loops whose variables it is affine in with a factor that is no constant but does not
    /// vary, each with that factor as written: `n` of `i` in `i * n + j`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbolic: Vec<(usize, String)>,
    /// The constant added to them, if there is just that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<i64>,
    /// Whether it varies with loops in a way that is not affine.
    #[serde(default)]
    pub irregular: bool,
}

/// An array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// Its name, members with their path such as `p->x`.
    pub name: String,
    /// Bytes of an element, if the source says its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element_bytes: Option<u32>,
    /// Its dimensions as declared, slowest first; empty if no declaration is seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<String>,
    /// Dimensions whose subscript varies with a loop around, at most over all accesses.
    #[serde(default)]
    pub varying: u32,
}
