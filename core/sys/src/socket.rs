//! Sockets that a library keeps inside other people's programs.
//!
//! Programs close, reuse and duplicate descriptors without asking whose they are. So a
//! [`Socket`] has a high number, looks whether the descriptor is still its own before it is
//! used or closed, and talks to the kernel directly, past functions of the C library in front
//! of which somebody may stand.

use crate::descriptor::move_up;
use crate::errno;
use crate::local_listener;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// A connected socket.
#[derive(Debug)]
pub struct Socket {
    descriptor: libc::c_int,
    /// What the kernel calls the socket behind the descriptor.
    identity: (u64, u64),
}

impl Socket {
    /// Connects to the socket for messages (`SOCK_SEQPACKET`) of that name in a directory.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn connect_local(directory: &Path, name: &str) -> io::Result<Self> {
        let (address, _directory) = local_listener::address(directory, name)?;
        let bytes = size_of::<libc::sockaddr_un>();
        Self::connect(libc::AF_UNIX, libc::SOCK_SEQPACKET, &address, bytes)
    }

    /// Connects to a host over the network, within `patience`.
    ///
    /// # Errors
    /// If nobody listens there, or does not answer in time.
    pub fn connect_host(to: &SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = std::net::TcpStream::connect_timeout(to, patience)?;
        stream.set_nodelay(true)?;
        Self::new(stream.into())
    }

    fn connect<T>(family: i32, kind: i32, address: &T, bytes: usize) -> io::Result<Self> {
        // SAFETY: takes numbers and returns a new descriptor or an error.
        let socket =
            unsafe { libc::syscall(libc::SYS_socket, family, kind | libc::SOCK_CLOEXEC, 0) };
        let socket = i32::try_from(socket).map_err(io::Error::other)?;
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // SAFETY: reads the address, which outlives the call and has that size.
        let connected = unsafe {
            libc::syscall(
                libc::SYS_connect,
                socket.as_raw_fd(),
                std::ptr::from_ref(address),
                bytes,
            )
        };
        if connected != 0 {
            return Err(io::Error::last_os_error());
        }
        Self::new(socket)
    }

    fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let descriptor = move_up(descriptor);
        let identity = identity(descriptor.as_raw_fd()).ok_or(io::ErrorKind::NotConnected)?;
        Ok(Self {
            descriptor: descriptor.into_raw_fd(),
            identity,
        })
    }

    /// Lets calls fail that take longer (`SO_SNDTIMEO`, `SO_RCVTIMEO`).
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        let _errno = errno::Saved::new();
        let time = libc::timeval {
            tv_sec: patience.as_secs() as libc::time_t,
            tv_usec: patience.subsec_micros().into(),
        };
        for option in [libc::SO_SNDTIMEO, libc::SO_RCVTIMEO] {
            // SAFETY: reads the time, which outlives the call and has that size.
            let set = unsafe {
                libc::syscall(
                    libc::SYS_setsockopt,
                    self.own()?,
                    libc::SOL_SOCKET,
                    option,
                    &raw const time,
                    size_of::<libc::timeval>(),
                )
            };
            if set != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Sends all bytes; waits for room. On a socket for messages this is one message.
    /// `errno` stays as it was, and no signal is raised.
    ///
    /// # Errors
    /// If the other side is gone, or does not make room in time: then some bytes may have
    /// been sent, and the socket is of no more use.
    pub fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        let _errno = errno::Saved::new();
        let descriptor = self.own()?;
        while !bytes.is_empty() {
            // SAFETY: reads the bytes that the slice holds.
            let sent = unsafe {
                libc::syscall(
                    libc::SYS_sendto,
                    descriptor,
                    bytes.as_ptr(),
                    bytes.len(),
                    libc::MSG_NOSIGNAL,
                    std::ptr::null::<libc::sockaddr>(),
                    0,
                )
            };
            match usize::try_from(sent) {
                Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Receives exactly so many bytes (not for sockets for messages). `errno` stays as it was.
    ///
    /// # Errors
    /// If the other side is gone, or does not send in time.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<()> {
        let _errno = errno::Saved::new();
        let descriptor = self.own()?;
        let mut have = 0;
        while have < bytes.len() {
            let rest = &mut bytes[have..];
            // SAFETY: writes to the bytes that the slice holds.
            let got = unsafe {
                libc::syscall(
                    libc::SYS_recvfrom,
                    descriptor,
                    rest.as_mut_ptr(),
                    rest.len(),
                    0,
                    std::ptr::null_mut::<libc::sockaddr>(),
                    std::ptr::null_mut::<libc::socklen_t>(),
                )
            };
            match usize::try_from(got) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(got) => have += got,
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// The descriptor, if it is still ours.
    fn own(&self) -> io::Result<libc::c_int> {
        match identity(self.descriptor) == Some(self.identity) {
            true => Ok(self.descriptor),
            false => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _errno = errno::Saved::new();
        if let Ok(descriptor) = self.own() {
            // SAFETY: the descriptor is ours (just checked) and not used again.
            unsafe { libc::syscall(libc::SYS_close, descriptor) };
        }
    }
}

/// What the kernel calls the thing behind a descriptor; none if there is nothing.
fn identity(descriptor: libc::c_int) -> Option<(u64, u64)> {
    // SAFETY: all-zero bytes are a valid stat.
    let mut facts: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `facts` is writable for the call.
    let known = unsafe { libc::fstat(descriptor, &raw mut facts) } == 0;
    known.then_some((facts.st_dev, facts.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn bytes_go_both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket =
            Socket::connect_host(&listener.local_addr().unwrap(), Duration::from_secs(10)).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        socket.send(b"there").unwrap();
        let mut got = [0; 5];
        peer.read_exact(&mut got).unwrap();
        peer.write_all(b"back").unwrap();
        let mut back = [0; 4];
        socket.receive(&mut back).unwrap();
        assert_eq!((&got, &back), (b"there", b"back"));
        drop(peer);
        assert!(socket.receive(&mut back).is_err());
    }

    #[test]
    fn a_peer_that_does_not_answer_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let socket = Socket::connect_host(&address, Duration::from_secs(10)).unwrap();
        socket.set_patience(Duration::from_millis(20)).unwrap();
        assert!(socket.receive(&mut [0; 1]).is_err());
    }

    #[test]
    fn a_descriptor_that_the_program_took_is_neither_written_to_nor_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let socket = Socket::connect_host(&address, Duration::from_secs(10)).unwrap();
        let number = socket.descriptor;
        let mut null = File::options().write(true).open("/dev/null").unwrap();
        // SAFETY: replaces the socket's descriptor, which the socket has to notice.
        assert_eq!(unsafe { libc::dup2(null.as_raw_fd(), number) }, number);
        assert!(socket.send(b"x").is_err());
        drop(socket);
        // SAFETY: the descriptor was made by `dup2` above and is owned by nobody else.
        let mut copy = unsafe { File::from_raw_fd(number) };
        copy.write_all(b"x").unwrap();
        null.write_all(b"x").unwrap();
    }
}
