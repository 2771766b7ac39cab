//! From places in files to lines and variables.

use fathomp_analysis::Place;
use fathomp_analysis::symbols::{Symbols, Variables};
use object::{Object, ObjectSegment};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Looks names up; keeps the files it has opened.
#[derive(Default)]
pub(super) struct Names {
    symbols: Symbols,
    modules: HashMap<PathBuf, Module>,
}

/// A program or library.
struct Module {
    /// Where its segments begin in the file and in memory, by the former.
    segments: Vec<(u64, u64)>,
    variables: Variables,
}

impl Names {
    /// The line of the instruction at an offset of a file.
    pub(super) fn line(&mut self, path: &Path, offset: u64) -> Place {
        let address = self.module(path).address(offset);
        let places = self.symbols.places(path, address);
        places.into_iter().next().unwrap_or_default()
    }

    /// The variable at an offset of a file.
    pub(super) fn variable(&mut self, path: &Path, offset: u64) -> Option<String> {
        let module = self.module(path);
        let address = module.address(offset);
        let found = module.variables.at(address);
        found.map(|variable| variable.name.clone())
    }

    fn module(&mut self, path: &Path) -> &Module {
        self.modules
            .entry(path.to_owned())
            .or_insert_with(|| Module::open(path))
    }
}

impl Module {
    /// Opens a file; of one that is no program there is only less to say.
    fn open(path: &Path) -> Self {
        let mut segments = segments(path).unwrap_or_default();
        segments.sort_unstable();
        Self {
            variables: match segments.is_empty() {
                true => Variables::default(),
                false => Variables::open(path),
            },
            segments,
        }
    }

    /// The file's own address of what lies at an offset: that of the last segment that
    /// begins before it, since what follows the last one in memory is not in the file.
    fn address(&self, offset: u64) -> u64 {
        let after = self.segments.partition_point(|(begin, _)| *begin <= offset);
        let segment = after.checked_sub(1).and_then(|at| self.segments.get(at));
        segment.map_or(offset, |(begin, address)| {
            address.wrapping_add(offset - begin)
        })
    }
}

fn segments(path: &Path) -> Option<Vec<(u64, u64)>> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    let content = object::ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&content).ok()?;
    let place = |segment: object::Segment<'_, '_, _>| (segment.file_range().0, segment.address());
    Some(file.segments().map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_addresses_of_their_segment() {
        let module = Module {
            segments: vec![(0, 0x40_0000), (0x1000, 0x40_1000), (0x2e00, 0x40_3e00)],
            variables: Variables::default(),
        };
        for (offset, address) in [(0x10, 0x40_0010), (0x1abc, 0x40_1abc), (0x9000, 0x40_a000)] {
            assert_eq!(module.address(offset), address);
        }
    }

    #[test]
    fn files_of_no_use_have_addresses_as_they_are() {
        let mut names = Names::default();
        assert_eq!(names.module(Path::new("/nowhere")).address(7), 7);
        assert_eq!(names.variable(Path::new("/nowhere"), 7), None);
        assert!(!names.line(Path::new("/nowhere"), 7).label.is_empty());
    }
}
