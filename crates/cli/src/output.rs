//! Files that the user asked for: never overwritten unasked, never left half
//! written.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Says early whether a file could be written at `path`.
pub(crate) fn check_file(path: &Path, force: bool) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Err(Failure::new(format!(
            "{} is a directory: give the name of a file",
            path.display()
        ))),
        Ok(found) if found.is_file() && !force => Err(Failure::new(format!(
            "{} exists: use --force to replace it, or choose another name",
            path.display()
        ))),
        // Devices and pipes are written to as they are.
        Ok(_) => Ok(()),
        Err(_) => {
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new("."));
            match fs::metadata(parent) {
                Ok(found) if found.is_dir() => writable(parent),
                Ok(_) => Err(Failure::new(format!(
                    "cannot write {}: {} is not a directory",
                    path.display(),
                    parent.display()
                ))),
                Err(error) => Err(Failure::new(format!(
                    "cannot write {}: {}: {error}: make that directory first",
                    path.display(),
                    parent.display()
                ))),
            }
        }
    }
}

fn writable(directory: &Path) -> Result<(), Failure> {
    use nix::unistd::{AccessFlags, access};
    access(directory, AccessFlags::W_OK | AccessFlags::X_OK)
        .map_err(|error| Failure::unwritable(directory, &error.into()))
}

/// Writes a file as a whole: under another name first, so that a full disk
/// leaves the old file or none.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> Result<(), Failure> {
    stream_file(path, |out| {
        out.write_all(content)
            .map_err(|error| Failure::unwritable(path, &error))
    })
}

/// Like [`write_file`], for content that is made piece by piece.
pub(crate) fn stream_file<T>(
    path: &Path,
    make: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let unwritable = |error: std::io::Error| Failure::unwritable(path, &error);
    let ordinary = fs::symlink_metadata(path).map_or(true, |found| found.is_file());
    let mut name = path.as_os_str().to_owned();
    if ordinary {
        name.push(format!(".{}.new", std::process::id()));
    }
    let target = Path::new(&name);
    let written = File::create(target).map_err(unwritable).and_then(|file| {
        let mut out = BufWriter::new(file);
        let made = make(&mut out)?;
        out.flush().map_err(unwritable)?;
        Ok(made)
    });
    if !ordinary {
        return written;
    }
    written
        .and_then(|made| fs::rename(target, path).map(|()| made).map_err(unwritable))
        .inspect_err(|_| {
            // What was written so far is of no use to anybody.
            let _ = fs::remove_file(target);
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_the_old_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.html");
        write_file(&path, b"old").unwrap();
        let failed = stream_file(&path, |out| {
            out.write_all(b"half").unwrap();
            Err::<(), _>(Failure::new("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_exists_is_replaced_only_on_request() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert!(check_file(&path, false).is_ok());
        write_file(&path, b"x").unwrap();
        assert!(check_file(&path, false).is_err());
        assert!(check_file(&path, true).is_ok());
        assert!(check_file(directory.path(), true).is_err());
        assert!(check_file(&path.join("below"), false).is_err());
        assert!(check_file(&directory.path().join("no/such"), false).is_err());
    }
}
