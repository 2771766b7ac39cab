//! Streams between nodes on different hosts, and waiting for several of them.
//!
//! The descriptors live in other people's programs: they have high numbers, and the kernel is
//! called directly, past functions of the C library in front of which somebody may stand.

use crate::descriptor::move_up;
use crate::errno;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A connected stream that never waits.
#[derive(Debug)]
pub struct NonblockingSocket(OwnedFd);

/// What a system call that returns a number or -1 has returned.
fn number(returned: libc::c_long) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

/// Repeats a call that a signal has interrupted. `errno` stays as it was.
pub(crate) fn uninterrupted(mut call: impl FnMut() -> libc::c_long) -> io::Result<usize> {
    let _errno = errno::Saved::new();
    loop {
        match number(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl NonblockingSocket {
    /// A stream of this process.
    #[must_use]
    pub fn new(stream: OwnedFd) -> Self {
        Self(move_up(stream))
    }

    /// Sends as much as there is room for, of parts one after another, and says how many bytes
    /// that was.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; others if the connection is lost.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        // SAFETY: all-zero bytes are a valid message header.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        // An `IoSlice` has the layout of an iovec, which the kernel only reads.
        header.msg_iov = parts.as_ptr().cast_mut().cast();
        header.msg_iovlen = parts.len();
        uninterrupted(|| {
            // SAFETY: the header and the parts outlive the call.
            unsafe {
                libc::syscall(
                    libc::SYS_sendmsg,
                    self.0.as_raw_fd(),
                    &raw const header,
                    libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
                )
            }
        })
    }

    /// Receives what there is, and says how many bytes: 0 at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; others if the connection is lost.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| {
            // SAFETY: writes to the bytes that the slice holds.
            unsafe {
                libc::syscall(
                    libc::SYS_recvfrom,
                    self.0.as_raw_fd(),
                    bytes.as_mut_ptr(),
                    bytes.len(),
                    libc::MSG_DONTWAIT,
                    std::ptr::null_mut::<libc::sockaddr>(),
                    std::ptr::null_mut::<libc::socklen_t>(),
                )
            }
        })
    }

    /// Nothing more will be sent: the peer finds the end of the stream behind what was.
    pub fn end(&self) {
        // It is gone already if this fails.
        let _ = uninterrupted(|| {
            // SAFETY: takes numbers only.
            unsafe { libc::syscall(libc::SYS_shutdown, self.0.as_raw_fd(), libc::SHUT_WR) }
        });
    }
}

/// Has the kernel try at least once a second again to send what is not answered: it doubles the time
/// otherwise, and after a link was down for two seconds it would not notice soon enough that it
/// is up again.
///
/// # Errors
/// If it is not TCP, or the kernel is older than Linux 6.15.
pub fn try_again_every_second(stream: impl AsFd) -> io::Result<()> {
    /// Of linux/tcp.h; in milliseconds, and the least that the kernel takes.
    const TCP_RTO_MAX_MS: libc::c_int = 44;
    let longest: libc::c_int = 1_000;
    uninterrupted(|| {
        // SAFETY: the kernel reads the number, which outlives the call.
        unsafe {
            libc::syscall(
                libc::SYS_setsockopt,
                stream.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                TCP_RTO_MAX_MS,
                &raw const longest,
                size_of_val(&longest),
            )
        }
    })
    .map(drop)
}

/// Bytes, or questions whether somebody is there, that were sent so often again without an answer
/// are no hiccup. The kernel waits longer each time: from a fifth of a second on, or a second.
const SENT_AGAIN: u8 = 3;
const ASKED_AGAIN: u8 = 2;

impl NonblockingSocket {
    /// For how long the system at the other end has left unanswered what systems answer
    /// whatever their programs do. None if it owes no answer: it need not, as long as its program
    /// takes nothing. The stream has to be kept alive ([`SO_KEEPALIVE`](libc::SO_KEEPALIVE)) for
    /// silence to be noticed where nothing is sent.
    #[must_use]
    pub fn silence(&self) -> Option<Duration> {
        // SAFETY: all-zero bytes are valid numbers.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut bytes = libc::socklen_t::try_from(size_of_val(&info)).ok()?;
        uninterrupted(|| {
            // SAFETY: the kernel writes as many bytes as there are at most, and their number;
            // both outlive the call. A kernel that knows fewer fields leaves the others zero.
            unsafe {
                libc::syscall(
                    libc::SYS_getsockopt,
                    self.0.as_raw_fd(),
                    libc::IPPROTO_TCP,
                    libc::TCP_INFO,
                    &raw mut info,
                    &raw mut bytes,
                )
            }
        })
        // Not of TCP.
        .ok()?;
        let bytes_wait = info.tcpi_unacked > 0 && info.tcpi_retransmits >= SENT_AGAIN;
        let questions_wait = info.tcpi_probes >= ASKED_AGAIN;
        (bytes_wait || questions_wait)
            .then(|| Duration::from_millis(info.tcpi_last_ack_recv.into()))
    }
}

impl AsFd for NonblockingSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What to wait for on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Nothing.
    Nothing,
    /// Bytes to receive.
    Bytes,
    /// Bytes to receive, or room to send.
    BytesOrRoom,
}

impl Interest {
    fn events(self) -> u32 {
        (match self {
            Self::Nothing => 0,
            Self::Bytes => libc::EPOLLIN,
            Self::BytesOrRoom => libc::EPOLLIN | libc::EPOLLOUT,
        }) as u32
    }
}

/// A way to wake a thread of this process that waits at a [`Epoll`].
#[derive(Debug)]
pub struct EventFd {
    counter: OwnedFd,
    /// It was raised since it was last cleared: one that was not is not asked, which would be a
    /// system call, and one that the kernel counts among the program's reads.
    was_raised: AtomicBool,
}

impl EventFd {
    /// A counter that nobody has raised.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new() -> io::Result<Self> {
        let flags = libc::EFD_NONBLOCK | libc::EFD_CLOEXEC;
        // SAFETY: takes numbers only.
        let event = uninterrupted(|| unsafe { libc::syscall(libc::SYS_eventfd2, 0, flags) })?;
        Ok(Self {
            counter: owned(event),
            was_raised: AtomicBool::new(false),
        })
    }

    /// Rings it: whoever waits there is woken, or whoever waits next.
    pub fn raise(&self) {
        let one = 1_u64.to_ne_bytes();
        // A counter that was raised so often that this fails is raised.
        let _ = uninterrupted(|| {
            // SAFETY: reads the bytes that the array holds.
            unsafe {
                libc::syscall(
                    libc::SYS_write,
                    self.counter.as_raw_fd(),
                    one.as_ptr(),
                    one.len(),
                )
            }
        });
        // Not before: a thread that stills it between the two is woken once more for nothing,
        // and then finds that it was raised.
        self.was_raised.store(true, Ordering::Release);
    }

    /// Stills it.
    pub fn clear(&self) {
        if !self.was_raised.load(Ordering::Relaxed)
            || !self.was_raised.swap(false, Ordering::Acquire)
        {
            return;
        }
        let mut count = [0_u8; 8];
        // One that is clear cannot be read.
        let _ = uninterrupted(|| {
            // SAFETY: writes to the bytes that the array holds.
            unsafe {
                libc::syscall(
                    libc::SYS_read,
                    self.counter.as_raw_fd(),
                    count.as_mut_ptr(),
                    count.len(),
                )
            }
        });
    }
}

/// It can be read while it is raised.
impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}

/// Waits until one of these can be read, for `longest` at most, or until a signal comes; says of
/// each whether it can.
#[must_use]
pub fn readable(descriptors: &[BorrowedFd<'_>], longest: Duration) -> Vec<bool> {
    let _errno = errno::Saved::new();
    let query = |one: &BorrowedFd<'_>| libc::pollfd {
        fd: one.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut all: Vec<libc::pollfd> = descriptors.iter().map(query).collect();
    // Rounded up: who waits for a moment shall not look again and again before it.
    let longest = longest.as_nanos().div_ceil(1_000_000);
    let longest = libc::c_int::try_from(longest).unwrap_or(libc::c_int::MAX);
    // SAFETY: `all` has as many writable elements as are said to be there.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, longest) };
    all.iter().map(|one| one.revents != 0).collect()
}

/// The kernel has just returned that descriptor.
pub(crate) fn owned(descriptor: usize) -> OwnedFd {
    let descriptor = libc::c_int::try_from(descriptor).unwrap_or(-1);
    // SAFETY: a new descriptor, which nobody else knows; only called with what the kernel gave.
    move_up(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// An epoll instance: where threads wait for sockets and event counters.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// Most keys that [`wait`](Self::wait) returns at a time.
    pub const KEYS: usize = 32;

    /// An instance that waits for nothing yet.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new() -> io::Result<Self> {
        let flags = libc::EPOLL_CLOEXEC;
        // SAFETY: takes numbers only.
        let epoll = uninterrupted(|| unsafe { libc::syscall(libc::SYS_epoll_create1, flags) })?;
        Ok(Self(owned(epoll)))
    }

    fn control(
        &self,
        what: libc::c_int,
        of: &OwnedFd,
        interest: Interest,
        key: u32,
    ) -> io::Result<()> {
        let event = libc::epoll_event {
            events: interest.events(),
            u64: key.into(),
        };
        uninterrupted(|| {
            // SAFETY: reads the event, which outlives the call.
            unsafe {
                libc::syscall(
                    libc::SYS_epoll_ctl,
                    self.0.as_raw_fd(),
                    what,
                    of.as_raw_fd(),
                    &raw const event,
                )
            }
        })?;
        Ok(())
    }

    /// From now on a stream is waited for, under a key.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn add(&self, wire: &NonblockingSocket, key: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, &wire.0, Interest::Bytes, key)
    }

    /// What of a stream is waited for.
    ///
    /// # Errors
    /// If it is not waited for.
    pub fn set(&self, wire: &NonblockingSocket, interest: Interest, key: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, &wire.0, interest, key)
    }

    /// A stream is not waited for any more.
    pub fn remove(&self, wire: &NonblockingSocket) {
        // One that is not there need not be removed.
        let _ = self.control(libc::EPOLL_CTL_DEL, &wire.0, Interest::Nothing, 0);
    }

    /// From now on an event counter is waited for, under a key.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn add_event(&self, event: &EventFd, key: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, &event.counter, Interest::Bytes, key)
    }

    /// From now on this is waited for at another instance too, under a key, or not
    /// ([`Interest::Nothing`]).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn add_to(&self, other: &Self, interest: Interest, key: u32) -> io::Result<()> {
        other.control(libc::EPOLL_CTL_ADD, &self.0, interest, key)
    }

    /// Whether this is waited for at another instance to which it was [added](Self::add_to).
    ///
    /// # Errors
    /// If it was not added there.
    pub fn set_at(&self, other: &Self, interest: Interest, key: u32) -> io::Result<()> {
        other.control(libc::EPOLL_CTL_MOD, &self.0, interest, key)
    }

    /// Waits until there is something, for `timeout` at most, or until a signal comes; puts the
    /// keys of what there is into `keys` and says how many.
    pub fn wait(&self, timeout: Option<Duration>, keys: &mut [u32; Self::KEYS]) -> usize {
        let _errno = errno::Saved::new();
        let timeout = timeout.map_or(-1, |timeout| {
            // Rounded up: who waits for a moment shall not look again and again before it.
            let ms = timeout.as_nanos().div_ceil(1_000_000);
            libc::c_int::try_from(ms).unwrap_or(libc::c_int::MAX)
        });
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; Self::KEYS];
        // SAFETY: writes at most so many events to the array.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait,
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                Self::KEYS,
                timeout,
                std::ptr::null::<libc::sigset_t>(),
                0,
            )
        };
        // Whoever waits looks again at everything, so an error is like a signal.
        let count = usize::try_from(count).unwrap_or(0).min(Self::KEYS);
        for (key, event) in keys.iter_mut().zip(&events[..count]) {
            *key = event.u64 as u32;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> (NonblockingSocket, NonblockingSocket) {
        let (one, other) = UnixStream::pair().unwrap();
        (
            NonblockingSocket::new(one.into()),
            NonblockingSocket::new(other.into()),
        )
    }

    #[test]
    fn parts_arrive_one_after_another_until_the_end() {
        let (one, other) = pair();
        let mut bytes = [0; 16];
        let error = other.receive(&mut bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let parts = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")];
        assert_eq!(one.send(&parts).unwrap(), 4);
        assert_eq!(other.receive(&mut bytes).unwrap(), 4);
        assert_eq!(&bytes[..4], b"abcd");
        one.end();
        assert_eq!(other.receive(&mut bytes).unwrap(), 0);
        drop(other);
        assert!(one.send(&parts).is_err());
    }

    #[test]
    fn what_an_old_kernel_cannot_is_said() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        if let Err(error) = try_again_every_second(&listener) {
            assert_eq!(error.raw_os_error(), Some(libc::ENOPROTOOPT));
        }
        assert!(try_again_every_second(UnixStream::pair().unwrap().0).is_err());
    }

    #[test]
    fn an_instance_sees_bytes_room_and_events() {
        let (one, other) = pair();
        let (inner, outer) = (Epoll::new().unwrap(), Epoll::new().unwrap());
        let event = EventFd::new().unwrap();
        inner.add(&other, 7).unwrap();
        inner.add_event(&event, 8).unwrap();
        inner.add_to(&outer, Interest::Bytes, 9).unwrap();
        let mut keys = [0; Epoll::KEYS];
        let mut wait = |epoll: &Epoll| {
            let count = epoll.wait(Some(Duration::ZERO), &mut keys);
            keys[..count].to_vec()
        };
        assert_eq!((wait(&inner), wait(&outer)), (vec![], vec![]));
        event.raise();
        event.raise();
        assert_eq!((wait(&inner), wait(&outer)), (vec![8], vec![9]));
        event.clear();
        assert_eq!(wait(&outer), []);
        one.send(&[IoSlice::new(b"x")]).unwrap();
        assert_eq!((wait(&inner), wait(&outer)), (vec![7], vec![9]));
        inner.set_at(&outer, Interest::Nothing, 9).unwrap();
        assert_eq!(wait(&outer), []);
        inner.set_at(&outer, Interest::Bytes, 9).unwrap();
        assert_eq!(wait(&outer), [9]);
        assert_eq!(other.receive(&mut [0; 4]).unwrap(), 1);
        assert_eq!(wait(&inner), []);
        inner.set(&other, Interest::BytesOrRoom, 7).unwrap();
        assert_eq!(wait(&inner), [7]);
        inner.remove(&other);
        assert_eq!(wait(&inner), []);
    }
}
