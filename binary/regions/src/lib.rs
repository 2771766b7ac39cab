//! What the parallel regions of a program contain, whoever found it out: the schema of
//! `regions.json` (`docs/regions-format.md`).
//!
//! The scan of a binary fills [`Body`], the scan of a source fills [`Construct`]; a
//! [`Region`] joins both. What depends on a run is an [`Expr`], which an [`Environment`]
//! gives a value; [`Facts`] hold what a recording saw of the words that expressions read.
#![forbid(unsafe_code)]

mod evaluate;
mod expr;
mod facts;
mod file;
mod model;

pub use evaluate::{Environment, NoValue};
pub use expr::{ChunkEnd, Expr, ExprError, Leaf, Op, Readable, Width};
pub use facts::{DryLoop, Facts, Sample, SampleEnvironment, Word};
pub use file::{RegionsError, SCHEMA, VERSION};
pub use model::{
    Access, AccessClass, Address, Arithmetic, ArithmeticKind, Array, Atomic, AtomicKind, Base,
    Body, BodyKind, Branch, Call, CallKind, Callee, Clause, Construct, Coverage, Direction,
    Directive, Divided, ElementKind, Known, Language, Loop, LoopId, LoopRole, Module, Place,
    Reason, ReasonKind, Region, Regions, Schedule, ScheduleKind, Share, SourceAccess, SourceFile,
    SourceLoop, Start, Statement, Stride, Subscript,
};
