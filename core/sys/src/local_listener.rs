//! Listens for local connections that carry messages (`SOCK_SEQPACKET`), without waiting.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

/// A name in a directory under which [`Socket::connect_local`] finds us.
///
/// [`Socket::connect_local`]: crate::socket::Socket::connect_local
#[derive(Debug)]
pub struct LocalListener(OwnedFd);

/// A connection.
#[derive(Debug)]
pub struct LocalPeer(OwnedFd);

/// Connections that may wait to be accepted.
const BACKLOG: libc::c_int = 1024;

impl LocalListener {
    /// Listens under a name that is not taken.
    ///
    /// # Errors
    /// If it is, or the directory is not there.
    pub fn listen(directory: &Path, name: &str) -> io::Result<Self> {
        let (address, _directory) = address(directory, name)?;
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes numbers and returns a new descriptor or an error.
        let socket = new(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
        let bytes = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: reads the address, which outlives the call and has that size.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                std::ptr::from_ref(&address).cast(),
                bytes,
            )
        };
        // SAFETY: takes numbers.
        if bound != 0 || unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(socket))
    }

    /// A connection that has come, if any.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn accept(&self) -> io::Result<Option<LocalPeer>> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no address is asked for, so nothing is written.
        let accepted = unsafe {
            libc::accept4(
                self.0.as_raw_fd(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                flags,
            )
        };
        match new(accepted) {
            Ok(socket) => Ok(Some(LocalPeer(socket))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl LocalPeer {
    /// Receives a message; gives its length, which may be more than there was room for (the
    /// rest is lost), and 0 if the peer is gone.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is none; others if the connection broke.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        // SAFETY: writes to the bytes that the slice holds.
        let got = unsafe {
            libc::recv(
                self.0.as_raw_fd(),
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
            )
        };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }
}

impl AsFd for LocalListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for LocalPeer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn new(descriptor: libc::c_int) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The address of a name in a directory. Addresses are short; through the directory's
/// descriptor, which has to stay open until the address was used, that of any is.
pub(crate) fn address(directory: &Path, name: &str) -> io::Result<(libc::sockaddr_un, File)> {
    let directory = File::open(directory)?;
    let path = format!("/proc/self/fd/{}/{name}", directory.as_raw_fd());
    // SAFETY: all-zero bytes are a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if path.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from as libc::c_char;
    }
    Ok((address, directory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Socket;

    #[test]
    fn messages_come_whole_whatever_the_length_of_the_directory() {
        let parent = std::env::temp_dir().join(format!("fathomp-local-{}", std::process::id()));
        let directory = parent.join("a".repeat(120));
        std::fs::create_dir_all(&directory).unwrap();
        let listener = LocalListener::listen(&directory, "name").unwrap();
        assert!(LocalListener::listen(&directory, "name").is_err());
        assert!(listener.accept().unwrap().is_none());
        let socket = Socket::connect_local(&directory, "name").unwrap();
        std::fs::remove_dir_all(&parent).unwrap();
        let peer = listener.accept().unwrap().unwrap();
        let mut bytes = [0; 64];
        let nothing = peer.receive(&mut bytes).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        socket.send(b"one").unwrap();
        socket.send(&[7; 100]).unwrap();
        assert_eq!(peer.receive(&mut bytes).unwrap(), 3);
        assert_eq!(&bytes[..3], b"one");
        assert_eq!(peer.receive(&mut bytes).unwrap(), 100);
        drop(socket);
        assert_eq!(peer.receive(&mut bytes).unwrap(), 0);
    }
}
