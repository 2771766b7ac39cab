//! What a program may rely on when it waits for plain variables.

use std::ffi::OsString;

/// Whether whoever sees a value by an ordinary load, as atomic reads that acquire
/// are, sees what was written before it, which costs: `acquire` or `relaxed`;
/// otherwise it depends on how the program [waits](Waits).
pub const LOADS_VARIABLE: &str = "FATHOMP_DSM_LOADS";

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
    ///
    /// # Errors
    /// What the user says, if it is nothing known.
    pub(crate) fn loads_acquire(self, said: Option<OsString>) -> Result<bool, OsString> {
        match said {
            None => Ok(self == Self::Plainly),
            Some(said) if said == "acquire" => Ok(true),
            Some(said) if said == "relaxed" => Ok(false),
            Some(said) => Err(said),
        }
    }
}
