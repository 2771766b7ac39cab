//! OpenMP runtimes, as the user names them.

use std::path::PathBuf;
use std::str::FromStr;

/// An OpenMP runtime to record a program on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuntimeArg {
    /// fathomp's own.
    Fathomp,
    /// Whatever the program would use by itself.
    Auto,
    /// One of a family, where it is found or at a path.
    Other(Family, Option<PathBuf>),
}

/// Runtimes that are not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// gcc's.
    Libgomp,
    /// LLVM's.
    Libomp,
    /// Intel's, which is LLVM's by another name.
    Libiomp5,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Libgomp, Self::Libomp, Self::Libiomp5];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Libgomp => "libgomp",
            Self::Libomp => "libomp",
            Self::Libiomp5 => "libiomp5",
        }
    }

    /// The family of a file, by its name.
    fn of(path: &std::path::Path) -> Option<Self> {
        let file = path.file_name()?.to_string_lossy();
        // The longest name first: none begins with another, but that may change.
        Self::ALL
            .into_iter()
            .rev()
            .find(|family| file.starts_with(family.name()))
    }
}

/// Runtimes to compare, the first one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeList(pub Vec<RuntimeArg>);

/// The text names no runtime.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RuntimeError {
    /// No runtime is called so.
    #[error(
        "\"{0}\" names no runtime: give fathomp, libgomp, libomp, libiomp5, auto, or one of them and the path of its library as in libomp=/opt/lib/libomp.so"
    )]
    Unknown(String),
    /// One is there twice.
    #[error("{0} is named twice: name each runtime once")]
    Twice(String),
}

impl std::fmt::Display for RuntimeArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fathomp => f.write_str("fathomp"),
            Self::Auto => f.write_str("auto"),
            Self::Other(family, None) => f.write_str(family.name()),
            Self::Other(family, Some(path)) => write!(f, "{}={}", family.name(), path.display()),
        }
    }
}

impl FromStr for RuntimeArg {
    type Err = RuntimeError;

    fn from_str(text: &str) -> Result<Self, RuntimeError> {
        let unknown = || RuntimeError::Unknown(text.to_owned());
        let family = |name: &str| Family::ALL.into_iter().find(|family| family.name() == name);
        match text.split_once('=') {
            Some((name, path)) if !path.is_empty() => {
                let family = family(name).ok_or_else(unknown)?;
                Ok(Self::Other(family, Some(PathBuf::from(path))))
            }
            Some(_) => Err(unknown()),
            None if text == "fathomp" => Ok(Self::Fathomp),
            None if text == "auto" => Ok(Self::Auto),
            None if text.contains('/') => {
                let path = PathBuf::from(text);
                let family = Family::of(&path).ok_or_else(unknown)?;
                Ok(Self::Other(family, Some(path)))
            }
            None => Ok(Self::Other(family(text).ok_or_else(unknown)?, None)),
        }
    }
}

impl FromStr for RuntimeList {
    type Err = RuntimeError;

    fn from_str(text: &str) -> Result<Self, RuntimeError> {
        let mut list: Vec<RuntimeArg> = Vec::new();
        for part in text.split(',') {
            let one: RuntimeArg = part.parse()?;
            if list.contains(&one) {
                return Err(RuntimeError::Twice(part.to_owned()));
            }
            list.push(one);
        }
        Ok(Self(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_have_names_and_perhaps_paths() {
        let other = |family, path: Option<&str>| RuntimeArg::Other(family, path.map(PathBuf::from));
        for (text, meant) in [
            ("fathomp", RuntimeArg::Fathomp),
            ("auto", RuntimeArg::Auto),
            ("libgomp", other(Family::Libgomp, None)),
            ("libomp=/x/lib.so", other(Family::Libomp, Some("/x/lib.so"))),
            (
                "/x/libiomp5.so",
                other(Family::Libiomp5, Some("/x/libiomp5.so")),
            ),
            (
                "./libomp.so.5",
                other(Family::Libomp, Some("./libomp.so.5")),
            ),
        ] {
            assert_eq!(text.parse(), Ok(meant), "{text}");
        }
        for text in ["", "gomp", "/x/libc.so", "libomp=", "fathomp=/x/y.so"] {
            assert!(text.parse::<RuntimeArg>().is_err(), "{text}");
        }
    }

    #[test]
    fn lists_name_each_once() {
        let list: RuntimeList = "fathomp,libgomp".parse().unwrap();
        assert_eq!(list.0.len(), 2);
        assert!("libgomp,libgomp".parse::<RuntimeList>().is_err());
        assert!("libgomp,".parse::<RuntimeList>().is_err());
    }
}
