//! The file of accesses in a recording: each node writes its part, and when all have
//! ended the parts are put one behind the other.

use fathomp_console::failure::Failure;
use fathomp_console::output;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};

/// The file in a recording.
#[must_use]
pub fn file(recording: &Path) -> PathBuf {
    fathomp_access_trace::of_recording(recording)
}

/// A node's part of it.
#[must_use]
pub fn part(recording: &Path, node: u16) -> PathBuf {
    recording.join(format!("accesses.{node}.part"))
}

/// Puts the parts of so many nodes together; what is wrong with the whole, as a sentence.
///
/// # Errors
/// If the parts cannot be read, or the whole not written.
pub fn join(directory: &Path, nodes: u16) -> Result<Option<String>, Failure> {
    let whole = file(directory);
    let parts = || (0..nodes).map(|node| part(directory, node));
    output::stream_file(&whole, |out| {
        for part in parts() {
            let copied = File::open(&part).and_then(|part| copy_lines(part, out));
            match copied {
                // A program that never began has no parts.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => copied.map_err(|error| Failure::unwritable(&whole, &error))?,
            }
        }
        Ok(())
    })?;
    for part in parts() {
        // What is left over does no harm.
        let _ = fs::remove_file(part);
    }
    let open = || {
        let file = File::open(&whole).map(BufReader::new);
        file.map_err(|error| Failure::unwritable(&whole, &error))
    };
    let Err(error) = fathomp_access_trace::read(open()?) else {
        return Ok(None);
    };
    let why = Failure::of(&error).sentence;
    let kept = fathomp_access_trace::read_cut(open()?);
    let Ok((kept, barriers @ 1..)) = kept else {
        return Ok(Some(format!(
            "What was accessed cannot be replayed: {why}; the program may have ended in its midst."
        )));
    };
    output::stream_file(&whole, |out| {
        let written = fathomp_access_trace::write(&kept, out);
        written.map_err(|error| Failure::unwritable(&whole, &error))
    })?;
    Ok(Some(format!(
        "Accesses are recorded up to barrier {barriers}, the last that all nodes came to: {why}."
    )))
}

/// Copies whole lines: the last one may be cut off.
fn copy_lines(from: File, to: &mut dyn Write) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        to.write_all(&line)?;
        line.clear();
    }
    Ok(())
}
