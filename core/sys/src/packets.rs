//! Packets between a program and its host's agent, with descriptors in them.
//!
//! As in [`crate::polling`], the kernel is called directly.

use crate::polling::{owned, uninterrupted};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A socket for packets (`SOCK_SEQPACKET`) that this process has inherited.
#[derive(Debug)]
pub struct Packets(OwnedFd);

impl Packets {
    /// The inherited descriptor of that number, moved out of the program's way.
    ///
    /// # Errors
    /// If there is none, or it is no such socket.
    pub fn inherited(number: i32) -> io::Result<Self> {
        let mut kind: libc::c_int = 0;
        let mut bytes = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: writes an integer, and its size.
        uninterrupted(|| unsafe {
            libc::syscall(
                libc::SYS_getsockopt,
                number,
                libc::SOL_SOCKET,
                libc::SO_TYPE,
                &raw mut kind,
                &raw mut bytes,
            )
        })?;
        if kind != libc::SOCK_SEQPACKET {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Not the number itself: programs that a script starts after this one find it there.
        // SAFETY: takes numbers only; the copy is a new descriptor.
        let copy = uninterrupted(|| unsafe {
            libc::syscall(libc::SYS_fcntl, number, libc::F_DUPFD_CLOEXEC, number)
        })?;
        Ok(Self(owned(copy)))
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// If nobody is at the other end.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        uninterrupted(|| {
            // SAFETY: reads the bytes that the slice holds.
            unsafe {
                libc::syscall(
                    libc::SYS_sendto,
                    self.0.as_raw_fd(),
                    packet.as_ptr(),
                    packet.len(),
                    libc::MSG_NOSIGNAL,
                    std::ptr::null::<libc::sockaddr>(),
                    0,
                )
            }
        })?;
        Ok(())
    }

    /// Waits for a packet, and the descriptor that may come with it. An empty packet is the end.
    ///
    /// # Errors
    /// If the packet is longer than `packet`, or the system refuses.
    pub fn receive<'a>(&self, packet: &'a mut [u8]) -> io::Result<(&'a [u8], Option<OwnedFd>)> {
        /// Room for one descriptor.
        const CONTROL: usize = 64;
        #[repr(C, align(8))]
        struct Control([u8; CONTROL]);
        let mut control = Control([0; CONTROL]);
        let mut part = libc::iovec {
            iov_base: packet.as_mut_ptr().cast(),
            iov_len: packet.len(),
        };
        // SAFETY: all-zero bytes are a valid message header.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = CONTROL;
        let received = uninterrupted(|| {
            // SAFETY: writes to the packet and to the room for control data, which outlive the
            // call and have these sizes.
            unsafe {
                libc::syscall(
                    libc::SYS_recvmsg,
                    self.0.as_raw_fd(),
                    &raw mut header,
                    libc::MSG_CMSG_CLOEXEC,
                )
            }
        })?;
        // SAFETY: the kernel has filled the header in; the pointer is null or inside of the room.
        let descriptor = unsafe {
            let message = libc::CMSG_FIRSTHDR(&raw const header);
            let is_one = !message.is_null()
                && (*message).cmsg_level == libc::SOL_SOCKET
                && (*message).cmsg_type == libc::SCM_RIGHTS
                && (*message).cmsg_len >= libc::CMSG_LEN(size_of::<libc::c_int>() as u32) as usize;
            is_one.then(|| {
                let place: *const libc::c_int = libc::CMSG_DATA(message).cast();
                OwnedFd::from_raw_fd(place.read_unaligned())
            })
        };
        if header.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok((&packet[..received.min(packet.len())], descriptor))
    }

    /// Lets [`receive`](Self::receive) fail (`WouldBlock`) if nothing comes for so long.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        let time = libc::timeval {
            tv_sec: patience.as_secs() as libc::time_t,
            tv_usec: patience.subsec_micros().into(),
        };
        uninterrupted(|| {
            // SAFETY: reads the time, which outlives the call and has that size.
            unsafe {
                libc::syscall(
                    libc::SYS_setsockopt,
                    self.0.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_RCVTIMEO,
                    &raw const time,
                    size_of::<libc::timeval>(),
                )
            }
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_no_socket_for_packets_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(Packets::inherited(file.as_raw_fd()).is_err());
        assert!(Packets::inherited(999_999).is_err());
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(Packets::inherited(one.as_raw_fd()).is_err());
    }
}
