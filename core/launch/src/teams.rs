//! How the runtime decides how many threads each region gets.

use crate::names::{ADAPT, ADVICE, CHOICES, PAGING, PLAN};
use crate::value::{FlagError, Lookup, Variables, flag, path};
use std::path::PathBuf;

/// By what teams are decided, and where it is said what was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teams {
    /// File with advice to follow.
    pub advice: Option<PathBuf>,
    /// Smaller teams are tried while the program runs.
    pub adapt: bool,
    /// File to which the runtime adds what was chosen.
    pub choices: Option<PathBuf>,
}

impl Teams {
    /// What the environment asks for.
    ///
    /// # Errors
    /// If trying is neither on nor off.
    pub fn from_env(get: Lookup<'_>) -> Result<Self, FlagError> {
        Ok(Self {
            advice: path(get, ADVICE),
            adapt: flag(get, ADAPT)?,
            choices: path(get, CHOICES),
        })
    }

    pub(crate) fn variables(&self, to: &mut Variables) {
        let files = [(CHOICES, &self.choices), (ADVICE, &self.advice)];
        for (variable, file) in files {
            to.extend(file.as_ref().map(|file| (variable.name, file.into())));
        }
        if self.adapt {
            to.push((ADAPT.name, "1".into()));
        }
    }
}

/// The live directory of what is recorded of paging, if the environment names one.
#[must_use]
pub fn paging_directory(get: Lookup<'_>) -> Option<PathBuf> {
    path(get, PAGING)
}

/// The file that says on which words of memory the iterations of each region depend, if the
/// environment names one.
#[must_use]
pub fn plan_file(get: Lookup<'_>) -> Option<PathBuf> {
    path(get, PLAN)
}
