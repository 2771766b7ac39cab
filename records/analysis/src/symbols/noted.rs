//! Places that were noted before the program ran, for a program that was built anew since.
//!
//! A recording keeps addresses, and whoever edits a program and builds it anew leaves other code at
//! these addresses: looked up in the new file they would name other regions. What was scanned before
//! the run says which build that was, and where its regions were.

use super::module::{Found, Module};
use crate::facts::Lines;
use fathomp_regions::Region;
use fathomp_trace::model::Recording;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The regions of a module as it was when the program ran.
#[derive(Default)]
pub(super) struct Noted {
    regions: Vec<Region>,
}

/// The modules that are no longer what they were when the program ran.
pub(super) fn changed(recording: &Recording) -> HashMap<PathBuf, Noted> {
    let mut found: HashMap<PathBuf, Noted> = HashMap::new();
    let Some(scanned) = &recording.regions else {
        return found;
    };
    let started = recording.meta.started_unix_ns;
    for (index, module) in scanned.modules.iter().enumerate() {
        let path = Path::new(&module.path);
        if is_still(path, &module.build_id, started) {
            continue;
        }
        let own = scanned.regions.iter();
        let own = own.filter(|region| region.module == Some(index) && region.body.is_some());
        let noted = found.entry(path.to_owned()).or_default();
        noted.regions.extend(own.cloned());
    }
    found
}

/// Whether the file is the one that was scanned before a run that started then.
fn is_still(path: &Path, build_id: &str, started_unix_ns: u64) -> bool {
    if !build_id.is_empty() {
        return Module::build_id(path).is_some_and(|own| own == build_id);
    }
    let changed = path.metadata().and_then(|metadata| metadata.modified());
    let Ok(changed) = changed else {
        return false;
    };
    let changed_ns = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    started_unix_ns == 0 || changed_ns.as_nanos() <= u128::from(started_unix_ns)
}

impl Noted {
    /// What is known of the construct that was entered by this call and runs this function;
    /// nothing of what is no region.
    pub(super) fn construct(&self, call: u64, function: u64) -> Found {
        let Some(region) = self.region(call, function) else {
            return Found::default();
        };
        let place = region.place.as_ref();
        let known = |number: u32| (number > 0).then_some(number);
        let symbol = || region.body.as_ref().and_then(|body| body.symbol.clone());
        Found {
            file: place.map(|place| place.file.clone()),
            line: place.and_then(|place| known(place.line)),
            column: place.and_then(|place| known(place.column)),
            function: region.function.clone().or_else(symbol),
            offset: None,
        }
    }

    /// The lines of a region.
    pub(super) fn lines(&self, function: u64) -> Option<Lines> {
        let region = self.region(0, function)?;
        let place = region.place.as_ref()?;
        Some(Lines {
            file: place.file.clone(),
            first: place.line,
            last: region.last_line?,
        })
    }

    fn region(&self, call: u64, function: u64) -> Option<&Region> {
        let is_it = |region: &&Region| {
            region.body.as_ref().is_some_and(|body| match function {
                0 => call != 0 && body.starts.iter().any(|start| start.returns_to == call),
                function => body.address == function,
            })
        };
        self.regions.iter().find(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_regions::{Body, Module as Scanned, Place, Regions, Start};
    use fathomp_trace::model::Meta;

    fn recording(path: &Path, build_id: &str, started_unix_ns: u64) -> Recording {
        let body = Body {
            address: 0x1210,
            starts: vec![Start {
                returns_to: 0x1100,
                ..Start::default()
            }],
            ..Body::default()
        };
        let region = Region {
            place: Some(Place {
                file: "/src/solve.c".to_owned(),
                line: 9,
                column: 5,
            }),
            last_line: Some(12),
            function: Some("triangle".to_owned()),
            module: Some(0),
            body: Some(body),
            ..Region::default()
        };
        Recording {
            meta: Meta {
                started_unix_ns,
                ..Meta::default()
            },
            processes: Vec::new(),
            regions: Some(Regions {
                modules: vec![Scanned {
                    path: path.to_string_lossy().into_owned(),
                    build_id: build_id.to_owned(),
                    ..Scanned::default()
                }],
                regions: vec![region],
                ..Regions::default()
            }),
            problems: Vec::new(),
        }
    }

    #[test]
    fn regions_of_another_build_keep_the_places_that_they_had() {
        let own = std::env::current_exe().unwrap();
        let changed = changed(&recording(&own, "00ff", 1));
        let noted = &changed[&own];
        let found = noted.construct(0, 0x1210);
        assert_eq!(
            (found.line, found.function.as_deref()),
            (Some(9), Some("triangle"))
        );
        assert_eq!(noted.construct(0x1100, 0).line, Some(9));
        assert_eq!(
            noted.construct(0x1100, 0x9999).line,
            None,
            "another function"
        );
        assert_eq!(noted.lines(0x1210).unwrap().last, 12);
        assert!(noted.lines(0x1211).is_none());
    }

    #[test]
    fn the_same_build_is_looked_up_as_it_is() {
        let own = std::env::current_exe().unwrap();
        let id = Module::build_id(&own).unwrap_or_default();
        assert!(changed(&recording(&own, &id, u64::MAX)).is_empty());
        // Without a build-id, the time of the file tells.
        assert!(changed(&recording(&own, "", u64::MAX)).is_empty());
        assert!(!changed(&recording(&own, "", 1)).is_empty());
        assert!(!changed(&recording(Path::new("/no/such/file"), "", 1)).is_empty());
    }
}
