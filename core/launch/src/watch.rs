//! What nodes note of the program's accesses.

use crate::names::{ACCESS_LINES, ACCESSES, LINES, LINES_LIMIT};
use crate::value::{FlagError, Lookup, Variables, flag, number, path, text};
use std::ffi::OsString;
use std::path::PathBuf;

/// Accesses are noted, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// To replay them.
    Accesses {
        /// Each node writes a file here.
        directory: PathBuf,
        /// Lines are noted, not pages.
        lines: bool,
    },
    /// To find cache lines that threads share.
    Lines {
        /// Each node writes a file here.
        directory: PathBuf,
        /// Milliseconds after which the program is ended; 0 if it is not.
        limit_ms: u64,
    },
}

/// What is asked for makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// The limit is no number.
    #[error("{LINES_LIMIT} is {0:?}, not a number of milliseconds: give one, or 0 for no limit")]
    Limit(OsString),
    /// A switch is neither on nor off.
    #[error(transparent)]
    Flag(#[from] Box<FlagError>),
}

impl Watch {
    /// What the environment asks for.
    ///
    /// # Errors
    /// See [`WatchError`].
    pub fn from_env(get: Lookup<'_>) -> Result<Option<Self>, WatchError> {
        if let Some(directory) = path(get, ACCESSES) {
            let lines = flag(get, ACCESS_LINES).map_err(Box::new)?;
            return Ok(Some(Self::Accesses { directory, lines }));
        }
        let Some(directory) = path(get, LINES) else {
            return Ok(None);
        };
        let limit_ms = match text(get, LINES_LIMIT) {
            Some(value) => number(&value).ok_or(WatchError::Limit(value))?,
            None => 0,
        };
        Ok(Some(Self::Lines {
            directory,
            limit_ms,
        }))
    }

    pub(crate) fn variables(&self, to: &mut Variables) {
        match self {
            Self::Accesses { directory, lines } => {
                to.push((ACCESSES.name, directory.into()));
                if *lines {
                    to.push((ACCESS_LINES.name, "1".into()));
                }
            }
            Self::Lines {
                directory,
                limit_ms,
            } => {
                to.push((LINES.name, directory.into()));
                to.push((LINES_LIMIT.name, limit_ms.to_string().into()));
            }
        }
    }
}
