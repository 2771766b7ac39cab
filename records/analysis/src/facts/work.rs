//! Into how many pieces the work of a region comes.

use serde::Serialize;

/// Into how many pieces the work of a region comes, and how many threads had some.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Constructs that hold the region's work and come in few pieces; empty if the
    /// pieces are not known, or many.
    pub pieces: Vec<Pieces>,
    /// The largest team of an execution that was long enough to tell which members had work;
    /// 0 if there was none.
    pub team: u32,
    /// Most members of a team of that size that had work, if the others had none at
    /// all; otherwise the size of the team.
    pub working: u32,
    /// Executions by teams of that size.
    pub executions: u64,
}

/// Constructs that came in so many pieces.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pieces {
    /// What a piece is.
    pub kind: PieceKind,
    /// Pieces in one execution of the construct.
    pub pieces: u64,
    /// Executions of it.
    pub times: u64,
    /// Part of the region's work in them.
    pub share: f64,
    /// The part of their work that is in the longest piece, where that is known and more than
    /// equal pieces have. At least that: a thread that ran several may have had a longer one.
    /// Not known where threads shared processors.
    pub longest: Option<f64>,
}

/// What can be handed to a thread as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceKind {
    /// Iterations of a loop.
    Iterations,
    /// Chunks of a loop's iterations, of the size that the program asked for.
    Chunks,
    /// `section`s.
    Sections,
    /// Explicit tasks.
    Tasks,
}
