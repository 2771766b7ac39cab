//! Earlier measurements, kept in the cache directory.

use crate::host;
use fathomp_predict::machine::Machine;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Everything that a measurement depends on.
#[derive(Debug, Hash)]
pub(super) struct Key {
    host: String,
    cpu_model: String,
    cpus_allowed: Vec<u32>,
    governor: Option<String>,
    runtime: &'static str,
    threads: Vec<u32>,
    method: u32,
}

/// Rises when something is measured in another way by the same runtime.
const METHOD: u32 = 3;

impl Key {
    pub(super) fn here(threads: &[u32]) -> Self {
        let facts = host::machine();
        Self {
            host: facts.host,
            cpu_model: facts.cpu_model,
            cpus_allowed: facts.cpus_allowed,
            governor: facts.governor,
            runtime: fathomp_runtime::SHA256,
            threads: threads.to_vec(),
            method: METHOD,
        }
    }

    fn file(&self, cache: &Path) -> PathBuf {
        cache.join(format!("machine-{:016x}.json", hash(self)))
    }

    /// For what was measured last on the same processors, with whatever runtime and threads.
    fn last_file(&self, cache: &Path) -> PathBuf {
        let machine = (&self.host, &self.cpu_model, &self.cpus_allowed);
        cache.join(format!(
            "machine-last-{:016x}.json",
            hash(&(machine, &self.governor, self.method))
        ))
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// The measurement made under this key, if there is a sound one.
pub(super) fn load(cache: &Path, key: &Key) -> Option<Machine> {
    Machine::read(&key.file(cache)).ok()
}

/// The last measurement on these processors, if there is a sound one: another one is held
/// against it.
pub(super) fn last(cache: &Path, key: &Key) -> Option<Machine> {
    Machine::read(&key.last_file(cache)).ok()
}

/// Keeps a measurement. That is a convenience: if it fails, the next command
/// measures again.
pub(super) fn save(cache: &Path, key: &Key, machine: &Machine) {
    for file in [key.file(cache), key.last_file(cache)] {
        keep(&file, machine);
    }
}

fn keep(file: &Path, machine: &Machine) {
    let fresh = file.with_extension(format!("{}.new", std::process::id()));
    if let Ok(text) = machine.to_json()
        && fs::write(&fresh, text).is_ok()
        && fs::rename(&fresh, file).is_err()
    {
        let _ = fs::remove_file(&fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_measurement_comes_back_for_the_same_key_only() {
        let directory = tempfile::tempdir().unwrap();
        let key = Key::here(&[1, 2]);
        let machine = Machine::unmeasured(2);
        save(directory.path(), &key, &machine);
        assert_eq!(load(directory.path(), &key), Some(machine));
        let other = Key::here(&[1, 4]);
        assert_eq!(load(directory.path(), &other), None);
        assert_eq!(last(directory.path(), &other), Some(Machine::unmeasured(2)));
    }

    #[test]
    fn a_damaged_measurement_is_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let key = Key::here(&[1]);
        fs::write(key.file(directory.path()), "{").unwrap();
        assert_eq!(load(directory.path(), &key), None);
    }
}
