//! Where streams are written to: files of the recording, or a collector on another host.

use crate::remote::Remote;
use fathomp_feed::append::append;
use fathomp_ring::drain::Reserve;
use std::io;
use std::path::{Path, PathBuf};

/// Kept free by a file of this size, for the end of a recording on a full disk.
const RESERVE_BYTES: usize = 1 << 20;

/// The place of all streams.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    reserve: Reserve,
    /// None if streams are files here, or the other host failed.
    pub(crate) remote: Option<Remote>,
    /// Why the other host was given up.
    pub(crate) remote_failure: Option<String>,
    /// Bytes written.
    pub(crate) bytes: u64,
}

/// The place of one stream.
#[derive(Debug)]
pub(crate) enum Output {
    /// A file.
    Disk(PathBuf),
    /// A file of another host, by its number.
    Remote(u32),
}

/// Why bytes were not written.
#[derive(Debug)]
pub(crate) enum NotWritten {
    /// They may be tried again.
    Disk(io::Error),
    /// The other host failed: the stream has to go on in a file here.
    GoOnHere,
}

impl Store {
    pub(crate) fn new(directory: &Path, remote: Option<Remote>) -> Self {
        Self {
            directory: directory.to_owned(),
            reserve: Reserve::keep(directory, RESERVE_BYTES),
            remote,
            remote_failure: None,
            bytes: 0,
        }
    }

    /// The directory of the recording's streams.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The place of a stream of that name.
    pub(crate) fn place(&mut self, name: &str) -> Output {
        if let Some(remote) = &mut self.remote {
            match remote.open(name) {
                Ok(number) => return Output::Remote(number),
                Err(error) => self.give_remote_up(&error),
            }
        }
        self.place_here(name)
    }

    /// The same, in the recording here.
    pub(crate) fn place_here(&self, name: &str) -> Output {
        Output::Disk(self.directory.join(name))
    }

    /// Appends whole blocks.
    pub(crate) fn append(&mut self, output: &Output, bytes: &[u8]) -> Result<(), NotWritten> {
        match (output, &mut self.remote) {
            (Output::Disk(path), _) => append(path, bytes).map(|_| ()).map_err(NotWritten::Disk)?,
            (Output::Remote(number), Some(remote)) => {
                if let Err(error) = remote.append(*number, bytes) {
                    self.give_remote_up(&error);
                    return Err(NotWritten::GoOnHere);
                }
            }
            (Output::Remote(_), None) => return Err(NotWritten::GoOnHere),
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn give_remote_up(&mut self, error: &io::Error) {
        let Some(remote) = self.remote.take() else {
            return;
        };
        self.remote_failure.get_or_insert(format!(
            "The collector at {address} could not be written to ({error}); it has what came \
             before, and the rest is in {here}.",
            address = remote.address(),
            here = self.directory.display()
        ));
    }

    /// Lets the other host know that we are there.
    pub(crate) fn sign(&mut self) {
        if let Some(Err(error)) = self.remote.as_mut().map(Remote::sign) {
            self.give_remote_up(&error);
        }
    }

    /// Frees the room that was kept for the end.
    pub(crate) fn give_reserve_up(&mut self) {
        self.reserve.give_up();
    }
}
