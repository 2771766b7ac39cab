//! How the runtime decides how many threads each region gets.

use crate::names::{ADVICE, CHOICES, PAGING, PLAN};
use crate::value::{Lookup, Variables, path};
use std::path::PathBuf;

/// By what teams are decided, and where it is said what was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teams {
    /// File with advice to follow.
    pub advice: Option<PathBuf>,
    /// File to which the runtime adds what was chosen.
    pub choices: Option<PathBuf>,
}

impl Teams {
    /// What the environment asks for.
    #[must_use]
    pub fn from_env(get: Lookup<'_>) -> Self {
        Self {
            advice: path(get, ADVICE),
            choices: path(get, CHOICES),
        }
    }

    pub(crate) fn variables(&self, to: &mut Variables) {
        let files = [(CHOICES, &self.choices), (ADVICE, &self.advice)];
        for (variable, file) in files {
            to.extend(file.as_ref().map(|file| (variable.name, file.into())));
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
