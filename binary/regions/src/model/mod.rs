//! The model: modules, regions, and what is in them.

mod body;
mod construct;
mod known;

pub use body::{
    Access, AccessClass, Address, Arithmetic, ArithmeticKind, Atomic, AtomicKind, Base, Body,
    BodyKind, Branch, Call, CallKind, Callee, Direction, Divided, ElementKind, Loop, LoopId,
    LoopRole, Schedule, ScheduleKind, Start, Stride,
};
pub use construct::{
    Array, Clause, Construct, Directive, Language, SourceAccess, SourceLoop, Statement, Subscript,
};
pub use known::{Coverage, Known, Reason, ReasonKind, Share};

use serde::{Deserialize, Serialize};

/// What a scan found, of all that was scanned together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regions {
    /// [`crate::SCHEMA`].
    pub schema: String,
    /// [`crate::VERSION`].
    pub version: u32,
    /// Programs and libraries.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Source files.
    #[serde(default)]
    pub sources: Vec<SourceFile>,
    /// Everything with code or a directive of its own: parallel regions, worksharing
    /// constructs outside any region that the scan can see, tasks, sections.
    #[serde(default)]
    pub regions: Vec<Region>,
    /// Sentences about what could not be scanned.
    #[serde(default)]
    pub problems: Vec<String>,
}

impl Default for Regions {
    fn default() -> Self {
        Self {
            schema: crate::SCHEMA.to_owned(),
            version: crate::VERSION,
            modules: Vec::new(),
            sources: Vec::new(),
            regions: Vec::new(),
            problems: Vec::new(),
        }
    }
}

/// A program or library.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// Its file.
    pub path: String,
    /// Its build-id in hexadecimal; empty if it has none.
    #[serde(default)]
    pub build_id: String,
    /// Whether it has no symbol table.
    #[serde(default)]
    pub stripped: bool,
    /// Whether it has line tables.
    #[serde(default)]
    pub has_lines: bool,
    /// Instructions decoded.
    #[serde(default)]
    pub instructions: u64,
    /// The compilers that made it, each as it calls itself and with the options that it notes;
    /// empty if the file does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compilers: Vec<String>,
    /// How much of it was understood.
    #[serde(default)]
    pub coverage: Coverage,
}

/// A source file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path as given.
    pub path: String,
    /// Its language.
    pub language: Language,
    /// Lines.
    pub lines: u32,
    /// Lines of it that the grammar could not read, first and last of each part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<(u32, u32)>,
    /// How much of it was understood.
    #[serde(default)]
    pub coverage: Coverage,
}

/// A line of source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Path as the compiler or the user gave it.
    pub file: String,
    /// From 1 on; 0 if not known.
    pub line: u32,
    /// From 1 on; 0 if not known.
    #[serde(default)]
    pub column: u32,
}

/// A parallel region, or a construct with code of its own, seen from both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// Where its directive stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Its last line, if that was looked for and found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_line: Option<u32>,
    /// Name of the function that it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Index into [`Regions::modules`] of the module that holds its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<usize>,
    /// What the binary says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// What the source says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub construct: Option<Construct>,
    /// Sentences about what binary and source say differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
}
