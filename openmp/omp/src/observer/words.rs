//! What constructs say of themselves.

/// What a construct divides among threads by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divided {
    /// A loop.
    Loop,
    /// Sections.
    Sections,
    /// A loop, among the teams of a league.
    Distribute,
}

/// What is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The parallel region.
    Parallel,
    /// A loop.
    Loop,
    /// Sections.
    Sections,
    /// The taskgroup.
    Taskgroup,
}

/// Whether a construct cancels, or finds that it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancels {
    /// It does.
    Activates,
    /// It finds that.
    Detects,
}

/// What the clauses of a task say that means nothing to the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// It is untied.
    pub untied: bool,
    /// It is mergeable.
    pub mergeable: bool,
}

/// How bad it is what an `error` directive says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program goes on.
    Warning,
    /// The program ends.
    Fatal,
}

/// Why a thread leaves a task whose code is through or has never run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskEnd {
    /// It is complete.
    Complete,
    /// It was cancelled.
    Cancelled,
    /// It is complete when its event is fulfilled.
    Detached,
}
