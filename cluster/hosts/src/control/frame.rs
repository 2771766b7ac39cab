//! Frames: a length, the number of a host, and a message.
//!
//! The length counts what follows it. Downwards the host is the one that the message is for,
//! upwards the one that it is from.

use super::preamble::PreambleError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// The longest frame: an environment and a command line are the longest messages, and the
/// kernel takes no more than 6 MiB of both together.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// Of a length.
const LENGTH_BYTES: usize = 4;
/// Stands for all hosts.
pub const ALL: u16 = u16::MAX;

/// A message and the host that it is for or from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<M> {
    /// Its number, or [`ALL`].
    pub host: u16,
    /// What is said.
    pub message: M,
}

/// Nothing more comes that makes sense.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other side is gone.
    #[error("the connection has ended")]
    Ended,
    /// The connection broke in the midst of a frame.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// No agent was there to say anything.
    #[error(transparent)]
    Opening(#[from] PreambleError),
    /// There is no such frame.
    #[error("what came over the connection makes no sense, so something else writes to it")]
    Nonsense,
    /// There is, but nobody who takes part in the run sends it.
    #[error("it {0}: run the same fathomp on all hosts")]
    Impossible(&'static str),
}

/// Reads the next frame.
///
/// # Errors
/// If there is none, or none that makes sense.
pub fn read<M: DeserializeOwned>(from: &mut impl Read) -> Result<Frame<M>, FrameError> {
    let mut length = [0; LENGTH_BYTES];
    fill(from, &mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if !(2..=FRAME_BYTES_MAX).contains(&length) {
        return Err(FrameError::Nonsense);
    }
    // Memory grows as bytes come, not as they are announced.
    let mut bytes = Vec::new();
    from.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(FrameError::Broken(io::ErrorKind::UnexpectedEof.into()));
    }
    let (host, rest) = bytes.split_first_chunk().ok_or(FrameError::Nonsense)?;
    let (message, rest) = postcard::take_from_bytes(rest).map_err(|_| FrameError::Nonsense)?;
    if !rest.is_empty() {
        return Err(FrameError::Nonsense);
    }
    Ok(Frame {
        host: u16::from_le_bytes(*host),
        message,
    })
}

/// Fills a length; the end before its first byte is an end and no break.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), FrameError> {
    let mut have = 0;
    while have < bytes.len() {
        match from.read(&mut bytes[have..]) {
            Ok(0) if have == 0 => return Err(FrameError::Ended),
            Ok(0) => return Err(FrameError::Broken(io::ErrorKind::UnexpectedEof.into())),
            Ok(got) => have += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A frame as bytes.
///
/// # Errors
/// If it is longer than any may be.
pub fn encode<M: Serialize>(host: u16, message: &M) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; LENGTH_BYTES];
    bytes.extend(host.to_le_bytes());
    let mut bytes = postcard::to_extend(message, bytes).map_err(io::Error::other)?;
    let length = bytes.len() - LENGTH_BYTES;
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::other(format!(
            "a message of {length} bytes is too long: make the environment or the command line shorter"
        )));
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Writes a frame as a whole.
///
/// # Errors
/// If the other side is gone, or the frame is too long.
pub fn write<M: Serialize>(to: &mut impl Write, host: u16, message: &M) -> io::Result<()> {
    to.write_all(&encode(host, message)?)?;
    to.flush()
}
