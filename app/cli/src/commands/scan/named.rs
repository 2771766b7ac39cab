//! Sources that a program's debugging information names, as far as they are still there.
//!
//! Such names are not trusted: only ordinary files that are called like sources are read.

use fathomp_directives::{Compiled, is_source};
use fathomp_regions::{Place, Regions};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// More are not read.
const FILES_MAX: usize = 1000;

/// Sources of the regions, without those that are `known`. One that was changed after the
/// program was built is read, too, and that is said.
pub(super) fn sources(regions: &mut Regions, known: &[PathBuf]) -> Vec<Compiled> {
    let known: Vec<PathBuf> = known.iter().map(|path| canonical(path)).collect();
    let mut found: Vec<Compiled> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for region in &regions.regions {
        let starts = region.body.iter().flat_map(|body| &body.starts);
        let starts = starts.filter_map(|start| start.place.as_ref());
        let module = region.module.and_then(|index| regions.modules.get(index));
        let module = module.map(|module| Path::new(&module.path));
        for place in region.place.iter().chain(starts) {
            if found.len() == FILES_MAX || !seen.insert(place.file.clone()) {
                continue;
            }
            let Some(path) = existing(place, module) else {
                continue;
            };
            let path_is_known = known.contains(&canonical(&path));
            if path_is_known || found.iter().any(|one| one.path == path) {
                continue;
            }
            if module.is_some_and(|module| is_newer(&path, module)) {
                problems.push(format!(
                    "{}: was changed after the program was built, so that lines may be off: build it again",
                    path.display()
                ));
            }
            found.push(Compiled {
                path,
                ..Compiled::default()
            });
        }
    }
    regions.problems.extend(problems);
    found
}

/// The file of a place, if it is there: as it is called, or beside the program.
fn existing(place: &Place, module: Option<&Path>) -> Option<PathBuf> {
    let path = PathBuf::from(&place.file);
    let beside = module
        .and_then(Path::parent)
        .map(|directory| directory.join(&path));
    let mut candidates = [Some(path), beside].into_iter().flatten();
    candidates.find(|path| is_source(path) && fs::metadata(path).is_ok_and(|found| found.is_file()))
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_newer(path: &Path, than: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    match (changed(path), changed(than)) {
        (Ok(path), Ok(than)) => path > than,
        _ => false,
    }
}
