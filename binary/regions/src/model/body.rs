//! What the code of a region contains, as the binary shows it.

use super::{Coverage, Known, Place, Reason};
use crate::expr::Expr;
use serde::{Deserialize, Serialize};

/// Number of a loop in its body: index into [`Body::loops`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct LoopId(pub u32);

/// A function that the OpenMP runtime runs for a construct (gcc: `f._omp_fn.N`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Its address in the module's file.
    pub address: u64,
    /// Bytes of its code, parts that lie elsewhere (`.cold`) left out.
    pub bytes: u64,
    /// Its symbol, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// What it is run for.
    pub kind: BodyKind,
    /// Calls that start it.
    pub starts: Vec<Start>,
    /// Bytes of the data block that it reads.
    #[serde(default)]
    pub data_bytes: u32,
    /// Loads whose values a recording notes when the body is begun, in the order in which it
    /// notes them. Empty until a recording is planned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Expr>,
    /// Values that debugging information names, such as what the data block holds; loads
    /// or addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(Expr, String)>,
    /// Its loops; a loop stands behind the one that encloses it.
    pub loops: Vec<Loop>,
    /// Worksharing loops that threads divide by the code (`schedule(static)`), in no order. One
    /// whose total is not known stands for whatever could not be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub divided: Vec<Divided>,
    /// Its accesses to memory, by address of the instruction. Spilled registers, saved
    /// registers and return addresses are none.
    pub accesses: Vec<Access>,
    /// What it computes, by loop and kind.
    pub arithmetic: Vec<Arithmetic>,
    /// What it calls.
    pub calls: Vec<Call>,
    /// Its inline atomic instructions and fences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub atomics: Vec<Atomic>,
    /// Conditions on values known before it runs, under which whole loops run or do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<Branch>,
    /// Instructions, outside loops under no loop: executed once, or once per iteration.
    #[serde(default)]
    pub instructions: Vec<(Option<LoopId>, u32)>,
    /// What was not understood of it as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Reason>,
    /// How much was understood.
    #[serde(default)]
    pub coverage: Coverage,
}

/// What a body is run for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// A parallel region.
    #[default]
    Parallel,
    /// A parallel region that is one worksharing loop of the ABI.
    ParallelLoop,
    /// Parallel sections.
    ParallelSections,
    /// An explicit task.
    Task,
    /// A chunk of a taskloop.
    Taskloop,
    /// Code for a device or teams on the host.
    Target,
    /// A function with worksharing loops outside any region that the scan can see
    /// (orphaned).
    Orphaned,
}

/// A call that starts a body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The entry point, such as `GOMP_parallel`.
    pub entry: String,
    /// Address of the call or jump; the recording's call sites lie right behind it.
    pub at: u64,
    /// Address right behind the call: what recordings name as the region's site; 0 for a
    /// jump.
    #[serde(default)]
    pub returns_to: u64,
    /// Function that holds the call, if it has a symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Threads asked for if that is a constant; 0 if the runtime decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<i64>,
    /// Iterations of the loop that the call itself begins, if they are constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<i64>,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// The loop around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<LoopId>,
    /// Loops around it.
    pub depth: u32,
    /// Whether no loop is inside.
    pub innermost: bool,
    /// Address of its first block.
    pub header: u64,
    /// Its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Iterations each time that it is entered, by the thread that runs it. Over
    /// [`crate::Leaf::Threads`] and [`crate::Leaf::Thread`] where threads share them: with
    /// one thread, these are all iterations.
    pub trips: Known<Expr>,
    /// If it is (the outermost) loop over a thread's share of a worksharing construct.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worksharing: Option<Schedule>,
    /// What the compiler made it for.
    #[serde(default)]
    pub role: LoopRole,
    /// A condition under which it is entered at all, once per iteration of its parent, if
    /// that is known before; none if it is always entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entered_if: Option<Known<Expr>>,
}

/// What a loop was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopRole {
    /// The loop as written.
    #[default]
    Whole,
    /// The vectorised or unrolled main loop.
    Main,
    /// What is left over by the main loop, or runs before it.
    Remainder,
}

/// How a worksharing loop is divided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Kind.
    pub kind: ScheduleKind,
    /// Iterations a chunk, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Expr>,
    /// Iterations of the whole loop, all threads together, where the code says them apart
    /// from the trips of one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Expr>,
}

/// A worksharing loop that threads divide by the code: as written one loop, in the code perhaps
/// several, or a call that fills memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divided {
    /// Its loops in the code, none inside another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopId>,
    /// Iterations in an execution of the body, all threads together. Where it divides by 0
    /// they are not known.
    pub total: Known<Expr>,
    /// Iterations each time that the loop is come to, if always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Expr>,
    /// Iterations a chunk, if chunks are dealt in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Expr>,
}

/// Kinds of schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// Inline: one chunk a thread, or chunks in turn.
    Static,
    /// Chunks on request.
    Dynamic,
    /// Chunks of falling size on request.
    Guided,
    /// As an environment variable says.
    Runtime,
}

/// An access to memory by one instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Address of the instruction.
    pub at: u64,
    /// Its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The innermost loop around it; none outside loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<LoopId>,
    /// Read, write or both.
    pub direction: Direction,
    /// Bytes.
    pub bytes: u32,
    /// Pattern in its innermost loop.
    pub class: AccessClass,
    /// What it is based on.
    pub base: Base,
    /// Its address over all loops around it.
    pub address: Known<Address>,
    /// Accesses of one loop with the same base and strides that lie near each other have
    /// the same number (unrolled loops, structures).
    pub group: u32,
    /// Of the bytes between one access of its group and the next iteration's, the share
    /// that the group touches; 1 for what leaves nothing out.
    #[serde(default)]
    pub coverage: f32,
    /// Whether it is executed in every iteration of its loop.
    #[serde(default)]
    pub always: bool,
    /// Whether it writes past the caches (`movnt*`): such a line is not read first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub non_temporal: bool,
    /// How often it is thought to run (see [`Coverage`]).
    #[serde(default)]
    pub weight: f64,
}

/// Direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Both in one instruction.
    ReadWrite,
}

/// Patterns of access in an innermost loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessClass {
    /// The same address in every iteration, or outside loops.
    Invariant,
    /// The next element in every iteration.
    Unit,
    /// Part of a group that leaves little or nothing out (unrolled loops, structures).
    Dense,
    /// A constant distance, in bytes.
    Strided(i64),
    /// A distance that the run decides.
    SymbolicStride,
    /// An address that is read from memory, or computed from what is.
    Indirect,
    /// Not known.
    Unknown(Reason),
}

/// What an address is based on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// The first address without what loops add: [`Address::start`] without constants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expr: Option<Expr>,
    /// Variable or argument, if debugging information names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it lies on the thread's own stack.
    #[serde(default)]
    pub stack: bool,
}

/// An address that is affine in the iterations of the loops around: `start` plus, for each
/// of `strides`, the loop's iteration times its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Address in the first iteration of all loops. Where it is no straight line over a loop
    /// (a thread's share that depends on an outer loop), that loop's iteration stands in it,
    /// and so do the bounds of chunks.
    pub start: Expr,
    /// Innermost loop first; loops that do not matter are left out.
    pub strides: Vec<Stride>,
}

/// What one more iteration of a loop adds to an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stride {
    /// The loop.
    pub over: LoopId,
    /// Bytes; without iterations in it.
    pub bytes: Expr,
}

/// Instructions that compute, of one loop and kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arithmetic {
    /// The innermost loop around them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<LoopId>,
    /// What they do.
    pub kind: ArithmeticKind,
    /// On what.
    pub element: ElementKind,
    /// Elements that one instruction computes: 1 for scalars.
    pub lanes: u32,
    /// Instructions.
    pub instructions: u32,
    /// Of these, executed only under a condition.
    #[serde(default)]
    pub conditional: u32,
}

/// What an instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArithmeticKind {
    /// Sum, difference, negation.
    Add,
    /// Product.
    Multiply,
    /// Product and sum in one.
    FusedMultiplyAdd,
    /// Quotient or remainder.
    Divide,
    /// Square root.
    SquareRoot,
    /// Minimum, maximum, comparison, absolute value.
    Compare,
    /// Bits, shifts.
    Logic,
    /// Between kinds of elements.
    Convert,
    /// Within or between registers: shuffles, blends, broadcasts.
    Shuffle,
}

/// On what an instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementKind {
    /// Whole numbers.
    Integer,
    /// 32-bit floating point.
    Float,
    /// 64-bit floating point.
    Double,
    /// 80-bit floating point.
    LongDouble,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Address of the call.
    pub at: u64,
    /// The innermost loop around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<LoopId>,
    /// What is called.
    pub callee: Callee,
    /// What that is.
    pub kind: CallKind,
    /// Whether what the callee does is part of this body's accesses, loops and arithmetic.
    #[serde(default)]
    pub followed: bool,
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Callee {
    /// A function of another module.
    Import(String),
    /// A function of this module: address, and symbol if there is one.
    Local(u64, Option<String>),
    /// Not known before it is called.
    Indirect,
}

/// What a callee is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// The OpenMP runtime: a barrier.
    Barrier,
    /// The OpenMP runtime: critical sections and locks.
    Mutex,
    /// The OpenMP runtime: worksharing.
    Worksharing,
    /// The OpenMP runtime: tasks.
    Tasking,
    /// The OpenMP runtime: a region inside this one.
    Parallel,
    /// The OpenMP runtime: something else.
    Runtime,
    /// Mathematics: cost known by kind, touches no memory of the program.
    Math,
    /// Allocation.
    Allocation,
    /// Copying, filling, comparing memory.
    Memory,
    /// Anything else.
    Other,
}

/// An inline atomic instruction or fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Atomic {
    /// Address of the instruction.
    pub at: u64,
    /// The innermost loop around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<LoopId>,
    /// What it is.
    pub kind: AtomicKind,
    /// Bytes; 0 for a fence.
    pub bytes: u32,
}

/// Kinds of atomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtomicKind {
    /// A full fence.
    Fence,
    /// Compare and exchange: a loop around it repeats until it succeeds.
    CompareExchange,
    /// Any other.
    Update,
}

/// A condition known before a body runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Address of the branch.
    pub at: u64,
    /// The branch is taken if this is not 0.
    pub taken_if: Expr,
    /// Loops, outermost of their kind, that run only if it is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<LoopId>,
    /// Loops that run only if it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<LoopId>,
}
