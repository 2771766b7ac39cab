//! What advice is made from: recordings, what they say of regions, scans.

use crate::failure::Failure;
use crate::load;
use fathomp_analysis::Analysis;
use fathomp_predict::machine::Machine;
use fathomp_regions::{Facts, Regions};
use fathomp_trace::model::Recording;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// All of it.
#[derive(Default)]
pub(crate) struct Inputs {
    pub(crate) analyses: Vec<Analysis>,
    pub(crate) regions: Option<Regions>,
    pub(crate) facts: Vec<Facts>,
    /// Sentences about what could not be had.
    pub(crate) notes: Vec<String>,
    /// Addresses of regions that recordings executed whose code nobody has scanned yet, by
    /// module.
    executed: BTreeMap<String, BTreeSet<u64>>,
}

impl Inputs {
    pub(crate) fn read(paths: &[PathBuf], machine: &Machine) -> Result<Self, Failure> {
        let mut inputs = Self::default();
        for path in paths {
            if path.is_dir() {
                for recording in crate::study::recordings_in(path)? {
                    inputs.recording(&recording, machine)?;
                }
            } else {
                inputs.scanned(path)?;
            }
        }
        inputs.finish();
        Ok(inputs)
    }

    /// What recordings hold beside their analyses, which exist.
    pub(crate) fn beside_analyses(
        recordings: &[PathBuf],
        analyses: &[Analysis],
    ) -> Result<Self, Failure> {
        let mut inputs = Self::default();
        for path in recordings {
            for path in crate::study::recordings_in(path)? {
                inputs.held(fathomp_trace::reader::open(&path)?);
            }
        }
        analyses.iter().for_each(|one| inputs.note(one));
        inputs.finish();
        Ok(inputs)
    }

    fn finish(&mut self) {
        self.beside();
        if let Some(regions) = &mut self.regions {
            crate::commands::scan::join_named(regions);
        }
    }

    fn recording(&mut self, path: &Path, machine: &Machine) -> Result<(), Failure> {
        let evidence = load::open(path, Some(machine))?;
        self.held(evidence.recording);
        self.note(&evidence.analysis);
        self.analyses.push(evidence.analysis);
        Ok(())
    }

    fn held(&mut self, recording: Recording) {
        self.facts.extend(fathomp_analysis::facts(&recording));
        if let Some(regions) = recording.regions {
            self.add(regions);
        }
    }

    fn scanned(&mut self, path: &Path) -> Result<(), Failure> {
        let data = fs::read(path).map_err(|error| {
            Failure::new(format!(
                "cannot read {}: {error}: give a recording, regions.json, or a program",
                path.display()
            ))
        })?;
        if data.starts_with(b"\x7fELF") {
            let found = fathomp_scan::scan_bytes(path, data);
            self.add(found?);
            return Ok(());
        }
        let text = String::from_utf8(data).map_err(|_| {
            Failure::new(format!(
                "{} is neither a program nor regions.json: give a recording, regions.json as `fathomp scan --json` writes it, or a program",
                path.display()
            ))
        })?;
        self.add(Regions::from_json(&text)?);
        Ok(())
    }

    /// Notes which regions a recording without a scan executed, and where their code is.
    fn note(&mut self, analysis: &Analysis) {
        for region in &analysis.regions {
            let module = &region.place.module;
            if let Some(address) = fathomp_advise::address(&region.key)
                && !module.is_empty()
            {
                let addresses = self.executed.entry(module.clone()).or_default();
                addresses.insert(address);
            }
        }
    }

    /// Looks at the code of such regions, where it still lies there.
    fn beside(&mut self) {
        for (module, addresses) in std::mem::take(&mut self.executed) {
            let known = self.regions.as_ref();
            let whole = std::fs::canonicalize(&module).unwrap_or_else(|_| module.clone().into());
            let is_same = |path: &str| path == module || Path::new(path) == whole;
            if known.is_some_and(|all| all.modules.iter().any(|one| is_same(&one.path))) {
                continue;
            }
            match crate::plan::executed(Path::new(&module), &addresses) {
                Ok(regions) => self.add(regions),
                Err(sentence) => self.notes.push(sentence),
            }
        }
    }

    /// Adds what was scanned; of a module that is known already, nothing.
    fn add(&mut self, found: Regions) {
        let Some(known) = &mut self.regions else {
            self.regions = Some(found);
            return;
        };
        let mut places = Vec::new();
        for module in found.modules {
            let new = known.modules.iter().all(|one| one.path != module.path);
            places.push(new.then_some(known.modules.len()));
            if new {
                known.modules.push(module);
            }
        }
        for mut region in found.regions {
            match region
                .module
                .map(|module| places.get(module).copied().flatten())
            {
                Some(None) => {}
                Some(place) => {
                    region.module = place;
                    known.regions.push(region);
                }
                None => known.regions.push(region),
            }
        }
        known.sources.extend(found.sources);
        known.problems.extend(found.problems);
    }
}
