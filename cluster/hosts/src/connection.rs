//! A socket that carries a link to an agent that was not started from here.

use crate::process::lock;
use rustix::net::{Shutdown, shutdown};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

/// The socket, and why it was given up.
#[derive(Clone, Debug)]
pub(crate) struct Connection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    socket: OwnedFd,
    given_up: Mutex<Option<&'static str>>,
}

/// The writing side of a socket. Dropping it lets the other side see the end of what it reads,
/// though the socket is still read from here.
#[derive(Debug)]
pub(crate) struct Half(File);

impl Connection {
    /// A connected socket, with its two sides.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<(Self, File, Half)> {
        let reader = File::from(socket.try_clone()?);
        let writer = Half(File::from(socket.try_clone()?));
        let inner = Inner {
            socket,
            given_up: Mutex::default(),
        };
        Ok((Self(Arc::new(inner)), reader, writer))
    }

    /// Ends it: for what reason, for the sentence about its end.
    pub(crate) fn give_up(&self, why: &'static str) {
        lock(&self.0.given_up).get_or_insert(why);
        // It may have ended by itself.
        let _ = shutdown(&self.0.socket, Shutdown::Both);
    }

    /// Why it was ended from here, if it was.
    pub(crate) fn given_up(&self) -> Option<&'static str> {
        *lock(&self.0.given_up)
    }
}

impl Write for Half {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        let _ = shutdown(&self.0, Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_other_side_sees_the_end_of_a_half_and_may_still_speak() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (connection, mut reader, mut writer) = Connection::new(ours.into()).unwrap();
        writer.write_all(b"last").unwrap();
        drop(writer);
        let mut said = String::new();
        theirs.read_to_string(&mut said).unwrap();
        assert_eq!(said, "last");
        theirs.write_all(b"x").unwrap();
        reader.read_exact(&mut [0]).unwrap();
        connection.give_up("enough");
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        assert_eq!(connection.given_up(), Some("enough"));
    }
}
