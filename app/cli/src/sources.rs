//! Source files that regions name, read for a report.
//!
//! Names come from debug information and are not trusted: only regular files that are
//! called like C, C++ or Fortran sources are read, and only so much of them.

use fathomp_analysis::Analysis;
use fathomp_report::{Input, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Larger files are not shown.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Files of one report; regions come in order of their time.
const FILES_MAX: usize = 64;
/// Beginning of a file that is searched for what no text has.
const LOOKED_AT: usize = 8192;

/// Sources of the regions that a report on `analyses` shows in detail, by the names
/// that the regions give them. Files that cannot be read are left out.
pub(crate) fn read(analyses: &[Analysis]) -> BTreeMap<String, Source> {
    let input = Input {
        analyses,
        ..Input::default()
    };
    let Some(main) = input.main() else {
        return BTreeMap::new();
    };
    let mut seen = BTreeSet::new();
    let mut sources = BTreeMap::new();
    for region in &main.regions {
        let Some(lines) = &region.lines else {
            continue;
        };
        if seen.len() == FILES_MAX || !seen.insert(&lines.file) {
            continue;
        }
        // Where compilers were told to hide where they ran, names are relative.
        let path = Path::new(&main.program.directory).join(&lines.file);
        let built_ns = changed_ns(Path::new(&region.place.module));
        let ran_ns = Some(main.program.started_unix_ns).filter(|ns| *ns > 0);
        let before = [built_ns, ran_ns].into_iter().flatten().min();
        if let Some(text) = text(&path) {
            let newer = before.is_some_and(|before| changed_ns(&path) > Some(before));
            sources.insert(lines.file.clone(), Source { text, newer });
        }
    }
    sources
}

/// When a file was last written, nanoseconds since the Unix epoch.
fn changed_ns(path: &Path) -> Option<u64> {
    let changed = fs::metadata(path).ok()?.modified().ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// The text in a source file; none if it is none, or too large.
fn text(path: &Path) -> Option<String> {
    // Before it is opened: opening a pipe would wait for its other end.
    let metadata = fs::metadata(path).ok()?;
    if !named_like_source(path) || !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    let whole = bytes.len() as u64 <= FILE_BYTES_MAX;
    let is_text = !bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0);
    (whole && is_text).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn named_like_source(path: &Path) -> bool {
    const C: [&str; 16] = [
        "c", "cc", "cp", "cpp", "cxx", "c++", "h", "hh", "hp", "hpp", "hxx", "h++", "inl", "ipp",
        "tcc", "inc",
    ];
    const FORTRAN: [&str; 9] = ["f", "for", "ftn", "fpp", "f77", "f90", "f95", "f03", "f08"];
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_ascii_lowercase();
    C.contains(&ending.as_str()) || FORTRAN.contains(&ending.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_source_text_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let written = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            fs::write(&path, bytes).unwrap();
            text(&path)
        };
        assert_eq!(written("a.c", b"int x;\n").as_deref(), Some("int x;\n"));
        assert_eq!(written("a.F90", b"end").as_deref(), Some("end"));
        assert_eq!(written("l.c", b"// \xe9").as_deref(), Some("// \u{fffd}"));
        assert_eq!(written("id_rsa", b"secret"), None);
        assert_eq!(written("b.c", b"\x7fELF\0"), None);
        let large = vec![b'x'; FILE_BYTES_MAX as usize];
        assert!(written("large.c", &large).is_some());
        assert_eq!(written("larger.c", &[&large[..], b"x"].concat()), None);
        let folder = directory.path().join("folder.c");
        fs::create_dir(&folder).unwrap();
        assert_eq!(text(&folder), None);
        let pipe = directory.path().join("pipe.c");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|made| made.success()) {
            assert_eq!(text(&pipe), None);
        }
        assert_eq!(text(Path::new("/dev/zero")), None);
        assert_eq!(text(Path::new("")), None);
    }
}
