//! What a program may rely on when it waits for plain variables.

use fathomp_launch::Loads;

/// What the program's code shows of how its threads meet beside the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// How it waits for plain variables.
    pub waits: Waits,
    /// Whether it has atomic instructions.
    pub atomics: bool,
    /// Whether each of them can be carried to the home of its page, and none is likely to order
    /// what its thread reads next elsewhere.
    pub carries: bool,
    /// Whether it calls the functions that try to take a lock.
    pub tries_locks: bool,
}

/// How the program waits for plain variables to change, as far as its code shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It has no loop that does.
    Never,
    /// All loops that do flush before they go on, or tell that they do.
    ThenFlushes,
    /// It may use what was written before without a flush.
    Plainly,
}

impl Waits {
    /// Whether ordinary loads have to acquire, given what the user says about it.
    pub(crate) fn loads_acquire(self, said: Option<Loads>) -> bool {
        match said {
            None => self == Self::Plainly,
            Some(said) => said == Loads::Acquire,
        }
    }
}
