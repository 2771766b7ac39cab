//! Scans that were made before, kept in the user's cache.

use fathomp_regions::Regions;
use fathomp_trips::Identity;
use object::Object as _;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Scans that are kept; the oldest goes.
const KEPT_MAX: usize = 64;

/// The directory of what is kept, if there is one.
pub(super) struct Kept(Option<PathBuf>);

impl Kept {
    pub(super) fn open() -> Self {
        let usable = |candidate: fathomp_runtime::Candidate| {
            let directory = candidate.path.join("scans");
            // A place where others write is not believed.
            (!candidate.shared && std::fs::create_dir_all(&directory).is_ok()).then_some(directory)
        };
        Self(fathomp_runtime::candidates().into_iter().find_map(usable))
    }

    /// Whether anything can be kept.
    pub(super) fn is_possible(&self) -> bool {
        self.0.is_some()
    }

    #[cfg(test)]
    pub(super) fn at(directory: &Path) -> Self {
        Self(Some(directory.to_owned()))
    }

    /// What `scan` finds in the file: in all of it, or in what is at these addresses. The error
    /// is a sentence.
    pub(super) fn scan_by(
        &self,
        path: &Path,
        only: Option<&BTreeSet<u64>>,
        scan: impl FnOnce(&Path) -> Result<Regions, String>,
    ) -> Result<Regions, String> {
        let file = self.file(path, only);
        let known = file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok())
            .and_then(|text| Regions::from_json(&text).ok());
        if let Some(mut known) = known {
            // The same build may lie elsewhere by now.
            for module in &mut known.modules {
                module.path = path.to_string_lossy().into_owned();
            }
            return Ok(known);
        }
        let found = scan(path)?;
        if let (Some(file), Ok(text)) = (file, serde_json::to_string(&found)) {
            keep(&file, &text);
        }
        Ok(found)
    }

    /// Where the scan of a file is kept: by what it is, and what scans it.
    fn file(&self, path: &Path, only: Option<&BTreeSet<u64>>) -> Option<PathBuf> {
        let directory = self.0.as_ref()?;
        let mut hasher = DefaultHasher::new();
        match identity(path)? {
            Identity::BuildId(id) => id.hash(&mut hasher),
            Identity::File {
                path,
                size,
                changed_unix_ns,
            } => (path, size, changed_unix_ns).hash(&mut hasher),
        }
        scanner().hash(&mut hasher);
        only.hash(&mut hasher);
        Some(directory.join(format!("{:016x}.json", hasher.finish())))
    }
}

/// What tells versions of the scan apart: this very program.
fn scanner() -> Option<(u64, i64, i64)> {
    let ours = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    Some((ours.len(), ours.mtime(), ours.mtime_nsec()))
}

/// How the runtime can recognise the file once it is loaded.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    let data = std::fs::read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    if let Ok(Some(id)) = file.build_id() {
        return Some(Identity::BuildId(id.to_vec()));
    }
    let facts = std::fs::metadata(path).ok()?;
    let changed = u64::try_from(facts.mtime())
        .ok()?
        .checked_mul(1_000_000_000)?;
    Some(Identity::File {
        path: path.as_os_str().as_bytes().to_vec(),
        size: facts.len(),
        changed_unix_ns: changed.checked_add(u64::try_from(facts.mtime_nsec()).ok()?)?,
    })
}

/// Keeps a scan: a convenience, so that nothing is said if it fails.
fn keep(file: &Path, text: &str) {
    let draft = file.with_extension(format!("{}.new", std::process::id()));
    let written = std::fs::write(&draft, text).and_then(|()| std::fs::rename(&draft, file));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    let Some(entries) = file
        .parent()
        .and_then(|parent| std::fs::read_dir(parent).ok())
    else {
        return;
    };
    let mut all: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    all.sort();
    for (_, old) in all.iter().take(all.len().saturating_sub(KEPT_MAX)) {
        let _ = std::fs::remove_file(old);
    }
}
