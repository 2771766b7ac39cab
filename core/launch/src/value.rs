//! Reading single variables.

use crate::Variable;
use std::ffi::OsString;
use std::path::PathBuf;

/// Finds a variable of an environment by its name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Variables that a launcher sets, in the order in which it does.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

/// A variable of this process's environment.
#[must_use]
pub fn of_this_process(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A switch is set to something that is neither on nor off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is {value:?}, not 0 or 1: set it to one of them or unset it")]
pub struct FlagError {
    variable: Variable,
    value: OsString,
}

/// A variable's value, unless it is empty.
pub(crate) fn text(get: Lookup<'_>, variable: Variable) -> Option<OsString> {
    get(variable.name).filter(|value| !value.is_empty())
}

/// A variable that names a file or a directory.
pub(crate) fn path(get: Lookup<'_>, variable: Variable) -> Option<PathBuf> {
    text(get, variable).map(PathBuf::from)
}

/// A variable that is 1 for yes, 0 for no.
pub(crate) fn flag(get: Lookup<'_>, variable: Variable) -> Result<bool, FlagError> {
    match text(get, variable) {
        None => Ok(false),
        Some(value) if value == "0" => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(value) => Err(FlagError { variable, value }),
    }
}

/// A number that a variable's value is, spaces around it aside.
pub(crate) fn number(value: &OsString) -> Option<u64> {
    value.to_str()?.trim().parse().ok()
}
