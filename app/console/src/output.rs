//! Files that the user asked for: never overwritten unasked, never left half
//! written.

use crate::console::Console;
use crate::failure::Failure;
use fathomp_bench::output::PlotFile;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Says early whether a file could be written at `path`, by trying to.
pub fn check_file(path: &Path, force: bool) -> Result<(), Failure> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(Failure::new(format!(
                "{shown} is a directory: give the name of a file"
            )));
        }
        Ok(found) if found.is_file() && !force => {
            return Err(Failure::new(format!(
                "{shown} exists: use --force to replace it, or choose another name"
            )));
        }
        // Devices and pipes are written to as they are.
        Ok(found) if !found.is_file() => return Ok(()),
        _ => {}
    }
    let trial = draft(path);
    match File::create(&trial) {
        Ok(_) => fs::remove_file(&trial).map_err(|error| Failure::unwritable(path, &error)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::new(format!(
            "cannot write {shown}: there is no such directory: make that directory first"
        ))),
        Err(error) => Err(Failure::unwritable(path, &error)),
    }
}

/// Says early whether files may be written into a directory: one that is empty, or not
/// there yet, or any by `force`.
pub fn check_directory(directory: &Path, force: bool) -> Result<(), Failure> {
    match fs::read_dir(directory).map(|entries| entries.count() > 0) {
        Ok(true) if !force => Err(Failure::new(format!(
            "{} is not empty: use --force to write into it, or choose another directory",
            directory.display()
        ))),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::unwritable(directory, &error))
        }
        _ => Ok(()),
    }
}

/// Writes data files and the commands that draw them into a directory.
pub fn write_plots(directory: &Path, files: &[PlotFile], console: Console) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| Failure::unwritable(directory, &error))?;
    for file in files {
        write_file(&directory.join(&file.name), file.text.as_bytes())?;
    }
    console.say(format!(
        "wrote {0}/plots.gp: draw with (cd {0} && gnuplot plots.gp)",
        directory.display()
    ));
    Ok(())
}

/// Where a file is written before it takes its name: beside it, since a file
/// cannot be renamed to another disk.
fn draft(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    name.into()
}

/// Writes a file as a whole: under another name first, so that a full disk
/// leaves the old file or none.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), Failure> {
    stream_file(path, |out| {
        out.write_all(content)
            .map_err(|error| Failure::unwritable(path, &error))
    })
}

/// Like [`write_file`], for content that is made piece by piece.
pub fn stream_file<T>(
    path: &Path,
    make: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let unwritable = |error: std::io::Error| Failure::unwritable(path, &error);
    let fill = |target: &Path| {
        let file = File::create(target).map_err(unwritable)?;
        let mut out = BufWriter::new(file);
        let made = make(&mut out)?;
        out.flush().map_err(unwritable)?;
        Ok(made)
    };
    // Through a link, the file it leads to is replaced and the link stays.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fill(path);
    }
    let draft = draft(path);
    fill(&draft)
        .and_then(|made| {
            fs::rename(&draft, path)
                .map(|()| made)
                .map_err(|error| Failure::unwritable(path, &error))
        })
        .inspect_err(|_| {
            // What was written so far is of no use to anybody.
            let _ = fs::remove_file(&draft);
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
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(check_file(&link, false).is_err());
        write_file(&link, b"y").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"y");
        assert!(link.is_symlink());
    }
}
