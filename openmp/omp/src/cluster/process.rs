//! What a process that is a node does beyond its regions: its memory, and what belongs to the
//! process as a whole.

use std::sync::OnceLock;

/// Something about OpenMP that the program sets for its process, by a routine of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting<'a> {
    /// `affinity-format-var`.
    AffinityFormat(&'a str),
    /// `nteams-var`.
    Teams(i32),
    /// `teams-thread-limit-var`.
    TeamsThreadLimit(i32),
}

/// Memory for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// So many bytes at this address, which all nodes share.
    At(usize),
    /// Nodes share no more memory than is in use.
    Exhausted,
    /// This process shares none: it is no node.
    NotShared,
}

/// What the edition of the runtime for several nodes provides. In a process that is no node all
/// of it does nothing.
pub trait Process: Sync {
    /// Tells the runtime of nodes to come.
    fn expect_nodes(&self);

    /// The process ends.
    fn finish(&self);

    /// What this node wrote may be seen by others, and what they wrote is seen here.
    fn flush(&self);

    /// An update of `bytes` bytes at `address` by an atomic instruction begins: where to do it
    /// instead, if anywhere. What follows ends with [`Self::end_update`], by the same thread.
    fn begin_update(&self, address: usize, bytes: usize) -> Option<usize>;

    /// It is done.
    fn end_update(&self);

    /// Memory for the program itself.
    fn allocate(&self, bytes: usize, align: usize) -> Memory;

    /// Gives back the memory at an address, if it is some that nodes share; whether it is.
    fn free(&self, address: usize) -> bool;

    /// The program has called `routine`, which sets that for its process.
    fn sets(&self, routine: &str, setting: Setting<'_>);
}

static PROCESS: OnceLock<&'static dyn Process> = OnceLock::new();

/// To be called once, when the library is loaded.
pub fn provide(process: &'static dyn Process) {
    let _ = PROCESS.set(process);
}

/// What the edition for several nodes provides, in that edition.
#[inline]
#[must_use]
pub fn process() -> Option<&'static dyn Process> {
    PROCESS.get().copied()
}
