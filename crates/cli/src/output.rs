//! Files that the user asked for: never overwritten unasked, never left half
//! written.

use crate::failure::Failure;
use std::fs;
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
    let ordinary = fs::symlink_metadata(path).map_or(true, |found| found.is_file());
    if !ordinary {
        return fs::write(path, content).map_err(|error| Failure::unwritable(path, &error));
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = Path::new(&name);
    fs::write(fresh, content)
        .and_then(|()| fs::rename(fresh, path))
        .map_err(|error| {
            // What was written so far is of no use to anybody.
            let _ = fs::remove_file(fresh);
            Failure::unwritable(path, &error)
        })
}
