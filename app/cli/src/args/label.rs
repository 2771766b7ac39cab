//! What the user says of the machine on which another program's output was measured.

use std::str::FromStr;

/// A fact about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The file that is meant; none: all.
    pub(crate) file: Option<String>,
    /// One of [`Label::NAMES`].
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

impl Label {
    /// What EPCC's script asks for.
    pub(crate) const NAMES: [&str; 4] = ["platform", "system", "compiler", "clock"];
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::NAMES.join(", ");
        let refuse =
            || format!("\"{text}\" is no label: give NAME=VALUE, where NAME is one of {known}");
        let (left, value) = text.split_once('=').ok_or_else(refuse)?;
        let (file, name) = match left.rsplit_once(':') {
            Some((file, name)) => (Some(file.to_owned()), name),
            None => (None, left),
        };
        let mut names = Self::NAMES.into_iter();
        let name = names.find(|known| *known == name).ok_or_else(refuse)?;
        let value = value.trim().to_owned();
        match value.is_empty() || file.as_ref().is_some_and(String::is_empty) {
            true => Err(refuse()),
            false => Ok(Self { file, name, value }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_names_and_perhaps_files() {
        let parsed = |text: &str| text.parse::<Label>();
        let clock = parsed("a:b.txt:clock=400 MHz").unwrap();
        assert_eq!(
            (clock.file.as_deref(), clock.name),
            (Some("a:b.txt"), "clock")
        );
        assert_eq!(clock.value, "400 MHz");
        assert_eq!(parsed("compiler=cc -O=3").unwrap().value, "cc -O=3");
        for text in ["", "clock", "clock=", "colour=red", ":clock=1", "=x"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
