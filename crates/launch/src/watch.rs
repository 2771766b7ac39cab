//! What nodes note of the program's accesses.

use crate::names::{ACCESSES, LINES, LINES_LIMIT};
use crate::value::{Lookup, Variables, number, path, text};
use std::ffi::OsString;
use std::path::PathBuf;

/// Accesses are noted, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// To replay them; each node writes a file into this directory.
    Accesses(PathBuf),
    /// To find cache lines that threads share.
    Lines {
        /// Each node writes a file here.
        directory: PathBuf,
        /// Milliseconds after which the program is ended; 0 if it is not.
        limit_ms: u64,
    },
}

/// The limit is no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{LINES_LIMIT} is {0:?}, not a number of milliseconds: give one, or 0 for no limit")]
pub struct WatchError(OsString);

impl Watch {
    /// What the environment asks for.
    ///
    /// # Errors
    /// If its limit is no number.
    pub fn from_env(get: Lookup<'_>) -> Result<Option<Self>, WatchError> {
        if let Some(directory) = path(get, ACCESSES) {
            return Ok(Some(Self::Accesses(directory)));
        }
        let Some(directory) = path(get, LINES) else {
            return Ok(None);
        };
        let limit_ms = match text(get, LINES_LIMIT) {
            Some(value) => number(&value).ok_or(WatchError(value))?,
            None => 0,
        };
        Ok(Some(Self::Lines {
            directory,
            limit_ms,
        }))
    }

    pub(crate) fn variables(&self, to: &mut Variables) {
        match self {
            Self::Accesses(directory) => to.push((ACCESSES.name, directory.into())),
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
