//! Recording under `mpirun` or `srun`: each rank records into a directory of its own, and a
//! rank that cannot be recorded runs all the same, since the others wait for it in MPI.

use crate::failure::Failure;
use fathomp_launch::Started;
use fathomp_trace::writer::META;
use std::fs;
use std::path::{Path, PathBuf};

/// What a rank's directory is called, before its number.
const PREFIX: &str = "rank.";

/// This process among those that were started together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    pub(crate) number: u32,
    pub(crate) size: u32,
}

impl Rank {
    /// This process's, if something has started several.
    pub(crate) fn of_this_process() -> Option<Self> {
        let started = Started::of_this_process().filter(|started| started.size > 1)?;
        Some(Self {
            number: started.rank,
            size: started.size,
        })
    }

    /// Where it records, below the directory that all ranks were given.
    pub(crate) fn directory(self, output: &Path) -> PathBuf {
        output.join(format!("{PREFIX}{}", self.number))
    }

    /// Makes the directory of all ranks. If recordings there are to be replaced, the first rank
    /// removes those of ranks that there are no more.
    pub(crate) fn prepare(self, output: &Path, force: bool) -> Result<(), Failure> {
        if output.join(META).exists() {
            return Err(Failure::new(format!(
                "{} holds the recording of a program without ranks: name another directory",
                output.display()
            )));
        }
        fs::create_dir_all(output).map_err(|error| Failure::unwritable(output, &error))?;
        if force && self.number == 0 {
            for (number, directory) in recorded(output) {
                if number >= self.size {
                    fs::remove_dir_all(&directory)
                        .map_err(|error| Failure::unwritable(&directory, &error))?;
                }
            }
        }
        Ok(())
    }
}

/// A recording without ranks is about to be made there: recordings of ranks are removed if they are
/// to be replaced.
pub(crate) fn make_way(output: &Path, force: bool) -> Result<(), Failure> {
    let Some(ranks) = all_of(output) else {
        return Ok(());
    };
    if !force {
        return Err(Failure::new(format!(
            "{} already holds recordings of {} ranks; choose another directory or replace them with --force",
            output.display(),
            ranks.len()
        )));
    }
    for (_, directory) in ranks {
        fs::remove_dir_all(&directory).map_err(|error| Failure::unwritable(&directory, &error))?;
    }
    Ok(())
}

/// The ranks that have recordings below a directory, by their numbers.
pub(crate) fn recorded(output: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(output).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix(PREFIX)?.parse().ok()?;
            let directory = entry.path();
            directory
                .join(META)
                .is_file()
                .then_some((number, directory))
        })
        .collect();
    found.sort();
    found
}

/// The ranks of a program whose recordings lie in a directory; nothing if it is a recording itself,
/// or holds none.
pub(crate) fn all_of(directory: &Path) -> Option<Vec<(u32, PathBuf)>> {
    let ranks = || recorded(directory);
    (!directory.join(META).exists())
        .then(ranks)
        .filter(|ranks| !ranks.is_empty())
}

/// What to say of a directory that holds nothing but recordings of ranks, where one recording
/// is asked for.
pub(crate) fn one_of_several(directory: &Path) -> Option<Failure> {
    let ranks = all_of(directory)?;
    let (_, first) = ranks.first()?;
    Some(Failure::new(format!(
        "{} holds a recording of each of {} ranks: name one of them, such as {}",
        directory.display(),
        ranks.len(),
        first.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_of_ranks_that_are_no_more_are_removed_on_request() {
        let room = tempfile::tempdir().unwrap();
        let output = room.path().join("rec");
        let rank = |number, size| Rank { number, size };
        for number in 0..4 {
            let directory = rank(number, 4).directory(&output);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(META), "{}").unwrap();
        }
        fs::create_dir(output.join("rank.9")).unwrap();
        let numbers = || recorded(&output).into_iter().map(|(number, _)| number);
        rank(0, 2).prepare(&output, false).unwrap();
        rank(1, 2).prepare(&output, true).unwrap();
        assert!(numbers().eq(0..4));
        let said = one_of_several(&output).unwrap().sentence;
        assert!(said.contains("of each of 4 ranks"), "{said}");
        rank(0, 2).prepare(&output, true).unwrap();
        assert!(numbers().eq(0..2));
        assert!(output.join("rank.9").exists(), "it is no recording");
        fs::write(output.join(META), "{}").unwrap();
        assert!(rank(0, 2).prepare(&output, true).is_err());
        assert!(one_of_several(&output).is_none());
        fs::remove_file(output.join(META)).unwrap();
        let said = make_way(&output, false).unwrap_err().sentence;
        assert!(
            said.contains("recordings of 2 ranks") && said.contains("--force"),
            "{said}"
        );
        make_way(&output, true).unwrap();
        assert_eq!(numbers().count(), 0);
        assert!(output.join("rank.9").exists(), "it is no recording");
    }
}
