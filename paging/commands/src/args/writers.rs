//! How records get to the disk, as options name it; several, to be compared.

use fathomp_paging::setup::Writer;
use std::path::PathBuf;
use std::str::FromStr;

/// A way in which records get to the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriterName {
    /// One of which everything is said.
    Writer(Writer),
    /// Striped over directories that fathomp makes.
    Striped,
    /// To a recording host that is this one, started for the purpose.
    Loopback,
}

impl WriterName {
    /// All of them, the default last, whose recording is kept.
    pub fn all() -> Vec<Self> {
        vec![
            Self::Writer(Writer::Task),
            Self::Striped,
            Self::Writer(Writer::Message),
            Self::Writer(Writer::Collector(String::new())),
            Self::Loopback,
            Self::Writer(Writer::Shared),
        ]
    }

    /// Its name in tables and of directories.
    pub fn name(&self) -> String {
        match self {
            Self::Writer(Writer::Striped(_)) | Self::Striped => "striped".to_owned(),
            Self::Writer(writer) => writer.to_string(),
            Self::Loopback => "loopback".to_owned(),
        }
    }

    fn of(word: &str) -> Option<Self> {
        match word {
            "striped" => Some(Self::Striped),
            "loopback" => Some(Self::Loopback),
            word => word.parse().ok().map(Self::Writer),
        }
    }
}

/// A list such as `task,striped:/disk1,/disk2,shared`.
///
/// The directories of `striped:` end at the next word that is a writer: a directory of that
/// name is written `./task`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterList(Vec<WriterName>);

impl WriterList {
    /// The writers, each once, in the order given.
    pub fn names(&self) -> &[WriterName] {
        &self.0
    }

    /// The writer, if there is one only that a recording can be made with.
    pub fn single(&self) -> Option<&Writer> {
        match &self.0[..] {
            [WriterName::Writer(writer)] => Some(writer),
            _ => None,
        }
    }
}

impl FromStr for WriterList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut names: Vec<WriterName> = Vec::new();
        for word in text.split(',') {
            if let Some(name) = WriterName::of(word) {
                if names.iter().any(|known| known.name() == name.name()) {
                    return Err(format!("{} stands there twice", name.name()));
                }
                names.push(name);
                continue;
            }
            match names.last_mut() {
                Some(WriterName::Writer(Writer::Striped(directories))) if !word.is_empty() => {
                    directories.push(PathBuf::from(word));
                }
                _ => {
                    return Err(format!(
                        "{word:?} is no writer; choose task, striped:DIR,DIR.., message, shared, collector or HOST:PORT"
                    ));
                }
            }
        }
        Ok(Self(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let list: WriterList = text.parse().unwrap();
        list.names().iter().map(WriterName::name).collect()
    }

    #[test]
    fn writers_and_their_directories_are_told_apart() {
        assert_eq!(
            names("task,striped:/a,b,shared,host:4000"),
            ["task", "striped", "shared", "host:4000"]
        );
        let list: WriterList = "striped:/a,./task,task".parse().unwrap();
        let directories = vec!["/a".into(), "./task".into()];
        assert_eq!(
            list.names(),
            [
                WriterName::Writer(Writer::Striped(directories)),
                WriterName::Writer(Writer::Task),
            ]
        );
    }

    #[test]
    fn one_writer_is_one_and_ways_of_our_own_are_none() {
        let single = |text: &str| text.parse::<WriterList>().unwrap().single().cloned();
        assert_eq!(single("message"), Some(Writer::Message));
        let directories = vec!["/a".into(), "/b".into()];
        assert_eq!(single("striped:/a,/b"), Some(Writer::Striped(directories)));
        assert_eq!(single("task,shared"), None);
        assert_eq!(single("loopback"), None);
        assert_eq!(single("striped"), None);
    }

    #[test]
    fn what_is_no_list_of_writers_is_refused() {
        for text in [
            "",
            "task,",
            "tusk",
            "striped:/a,,task",
            "task,task",
            ",task",
            "striped:/a,striped",
        ] {
            assert!(text.parse::<WriterList>().is_err(), "{text}");
        }
        let said = "tusk".parse::<WriterList>().unwrap_err();
        assert!(said.contains("HOST:PORT"), "{said}");
    }

    #[test]
    fn all_ways_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> =
            WriterName::all().iter().map(WriterName::name).collect();
        assert_eq!(names.len(), WriterName::all().len());
    }
}
