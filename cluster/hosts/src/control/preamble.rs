//! The first line of an agent: who speaks, in which version.
//!
//! On many hosts a login says things before the agent does (a shell's start-up files print a
//! greeting), so what comes before the line is passed over. The line keeps its form in all
//! versions, so that two of them can say that they differ.

use std::io::{self, Read, Write};

/// How the line begins.
const MARK: &[u8] = b"\nfathomp-agent ";
/// Bytes that may come before it.
const GREETING_BYTES_MAX: usize = 64 << 10;
/// Bytes of a version.
const VERSION_BYTES_MAX: usize = 200;

/// There is no agent, or another one.
#[derive(Debug, thiserror::Error)]
pub enum PreambleError {
    /// It ended, or broke, before the line was there.
    #[error("no agent answered")]
    Ended,
    /// Something else answered.
    #[error("what answered was no agent")]
    Stranger,
    /// It is of another version.
    #[error("it has fathomp {0}")]
    Version(String),
}

/// Says that an agent of this version is here.
///
/// # Errors
/// If nobody listens.
pub fn write_preamble(to: &mut impl Write, version: &str) -> io::Result<()> {
    to.write_all(MARK)?;
    to.write_all(version.as_bytes())?;
    to.write_all(b"\n")?;
    to.flush()
}

/// Waits until an agent of this version has said that it is here.
///
/// # Errors
/// If there is none.
pub fn await_preamble(from: &mut impl Read, version: &str) -> Result<(), PreambleError> {
    // The greeting may end without the end of a line, so the mark begins with one.
    let mut seen = Vec::new();
    while !seen.ends_with(MARK) {
        if seen.len() > GREETING_BYTES_MAX {
            return Err(PreambleError::Stranger);
        }
        seen.push(byte(from)?);
    }
    let mut said = Vec::new();
    loop {
        match byte(from)? {
            b'\n' => break,
            _ if said.len() > VERSION_BYTES_MAX => return Err(PreambleError::Stranger),
            byte => said.push(byte),
        }
    }
    match said == version.as_bytes() {
        true => Ok(()),
        false => Err(PreambleError::Version(
            String::from_utf8_lossy(&said).into_owned(),
        )),
    }
}

fn byte(from: &mut impl Read) -> Result<u8, PreambleError> {
    let mut byte = [0];
    from.read_exact(&mut byte)
        .map_err(|_| PreambleError::Ended)?;
    Ok(byte[0])
}
