//! Connections through memory, between a program and its host's agent, which carries what goes
//! over them. The socket beside each wakes a thread that sleeps, and ends when a process does.

use crate::ends::{Call, End, Flags};
use crate::local::Limits;
use crate::ring::Ring;
use fathomp_sys::polling::NonblockingSocket;
use fathomp_sys::shared_memory::{Sections, SharedMemory};
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Words of one use are kept this far apart from others: two cache lines, which processors
/// fetch in pairs.
const APART_WORDS: usize = 16;
/// Words of one direction: its head and its writer's flags; its tail and its reader's.
const WORDS: usize = 2 * APART_WORDS;

/// Which end of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program that becomes nodes.
    Program,
    /// The agent of its host.
    Agent,
}

/// Memory for all connections of a program.
#[derive(Clone, Debug)]
pub struct Pipes {
    memory: Arc<SharedMemory>,
    count: u16,
    ring_bytes: usize,
}

impl Pipes {
    fn sections(count: u16, ring_bytes: usize) -> io::Result<Sections> {
        let rings = 2 * usize::from(count);
        let bytes = rings.checked_mul(ring_bytes);
        Ok(Sections {
            halves: 0,
            words: rings * WORDS,
            bytes: bytes.ok_or(ErrorKind::InvalidInput)?,
        })
    }

    /// Memory for so many connections of a program on one of `nodes` nodes' hosts, and the
    /// descriptor by which that program [maps](Self::of_descriptor) it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new(count: u16, nodes: u16) -> io::Result<(Self, OwnedFd)> {
        let ring_bytes = Limits::for_nodes(nodes).ring_bytes;
        let sections = Self::sections(count, ring_bytes)?;
        let (memory, descriptor) = SharedMemory::with_descriptor(sections)?;
        let pipes = Self {
            memory: Arc::new(memory),
            count,
            ring_bytes,
        };
        Ok((pipes, descriptor))
    }

    /// The same in the other process.
    ///
    /// # Errors
    /// If the descriptor is of something else.
    pub fn of_descriptor(file: BorrowedFd<'_>, count: u16, nodes: u16) -> io::Result<Self> {
        let ring_bytes = Limits::for_nodes(nodes).ring_bytes;
        let memory = SharedMemory::of_descriptor(file, Self::sections(count, ring_bytes)?)?;
        Ok(Self {
            memory: Arc::new(memory),
            count,
            ring_bytes,
        })
    }

    /// One end of a connection, with its socket; none if there is no such connection.
    #[must_use]
    pub fn end(&self, number: u16, side: Side, bell: OwnedFd) -> Option<Pipe> {
        (number < self.count).then(|| Pipe {
            pipes: self.clone(),
            number,
            side,
            bell: NonblockingSocket::new(bell),
            head: AtomicU64::new(0),
            seen_tail: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            gone: AtomicBool::new(false),
        })
    }

    /// Words and storage of a direction.
    fn direction(&self, number: u16, from: Side) -> (&[AtomicU64], Ring<'_>) {
        let at = 2 * usize::from(number) + usize::from(from == Side::Agent);
        let words = &self.memory.words()[at * WORDS..(at + 1) * WORDS];
        let storage = &self.memory.bytes()[at * self.ring_bytes..(at + 1) * self.ring_bytes];
        let ring = Ring::new(
            &words[0],
            &words[APART_WORDS],
            &words[APART_WORDS + 1],
            storage,
        );
        (words, ring)
    }

    fn ends(&self, number: u16, side: Side) -> End<'_> {
        let other = match side {
            Side::Program => Side::Agent,
            Side::Agent => Side::Program,
        };
        let (out_words, out) = self.direction(number, side);
        let (into_words, into) = self.direction(number, other);
        // Each end's flags are beside what it writes anyway.
        let [mine, theirs] = [out_words, into_words].map(|words| Flags {
            asleep: &words[1],
            ended: &words[2],
        });
        End::new(out, into, mine, theirs)
    }
}

/// One end of a connection. One thread at a time sends, and one receives.
#[derive(Debug)]
pub struct Pipe {
    pipes: Pipes,
    number: u16,
    side: Side,
    bell: NonblockingSocket,
    /// Bytes that were sent, and how many of them the peer is known to have read.
    head: AtomicU64,
    seen_tail: AtomicU64,
    /// Bytes that were received.
    tail: AtomicU64,
    /// The peer's process has closed its end.
    gone: AtomicBool,
}

impl Pipe {
    fn end_of(&self) -> End<'_> {
        self.pipes.ends(self.number, self.side)
    }

    fn wake(&self, call: Call) {
        if call == Call::Wake {
            // A bell that has no room has been rung; at one that is lost nobody sleeps.
            let _ = self.bell.send(&[IoSlice::new(&[1])]);
        }
    }

    /// What may be asked of the kernel on this end's behalf: its socket can be read when the
    /// peer has woken this end or has ended.
    #[must_use]
    pub fn bell(&self) -> &NonblockingSocket {
        &self.bell
    }

    /// Sends as much as there is room for, of parts one after another, and says how many bytes
    /// that was.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, `BrokenPipe` if the peer is known to be gone.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.gone.load(Ordering::Relaxed) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let end = self.end_of();
        let head = self.head.load(Ordering::Relaxed);
        let mut seen_tail = self.seen_tail.load(Ordering::Relaxed);
        let parts = || parts.iter().map(|part| &part[..]);
        let (mut sent, mut call) = end.write(parts(), head, &mut seen_tail);
        if sent == 0 && end.finds_room(head, &mut seen_tail) {
            (sent, call) = end.write(parts(), head, &mut seen_tail);
        }
        self.seen_tail.store(seen_tail, Ordering::Relaxed);
        self.head
            .store(head.wrapping_add(sent as u64), Ordering::Relaxed);
        self.wake(call);
        match sent == 0 && parts().any(|part| !part.is_empty()) {
            true => Err(ErrorKind::WouldBlock.into()),
            false => Ok(sent),
        }
    }

    /// Receives what there is, and says how many bytes: 0 at the end.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing, `InvalidData` if what the peer has left makes no sense.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let end = self.end_of();
        let tail = self.tail.load(Ordering::Relaxed);
        // Before looking: what was written before the end is seen after it.
        let is_last = self.gone.load(Ordering::Acquire);
        let (received, call) = end.read(bytes, tail).map_err(|_| ErrorKind::InvalidData)?;
        self.tail
            .store(tail.wrapping_add(received as u64), Ordering::Relaxed);
        self.wake(call);
        match received == 0 && !bytes.is_empty() && !is_last && !end.is_at_end(tail) {
            true => Err(ErrorKind::WouldBlock.into()),
            false => Ok(received),
        }
    }

    /// Whether [`receive`](Self::receive) gives something, be it the end.
    #[must_use]
    pub fn has_something(&self) -> bool {
        let end = self.end_of();
        let tail = self.tail.load(Ordering::Relaxed);
        end.has_bytes(tail) || self.gone.load(Ordering::Relaxed) || end.is_at_end(tail)
    }

    /// Whether there is room to send; if not, the peer wakes this end when there is.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let mut seen_tail = self.seen_tail.load(Ordering::Relaxed);
        let head = self.head.load(Ordering::Relaxed);
        self.end_of().finds_room(head, &mut seen_tail)
    }

    /// Nothing more will be sent.
    pub fn end(&self) {
        self.wake(self.end_of().end());
    }

    /// The peer is to wake this end from now on. Look once more before sleeping.
    pub fn mark_parked(&self) {
        self.end_of().mark_parked();
    }

    /// It need not any more.
    pub fn get_up(&self) {
        if self.end_of().get_up() {
            self.hush();
        }
    }

    /// The same after sleeping: notices that the peer has ended, too.
    pub fn wake_up(&self) {
        let _rung = self.end_of().get_up();
        self.hush();
    }

    /// Takes what lies in the socket.
    fn hush(&self) {
        let mut rings = [0; 16];
        loop {
            match self.bell.receive(&mut rings) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.gone.store(true, Ordering::Release);
    }
}

impl AsFd for Pipe {
    /// Its socket's.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_sys::polling::{Epoll, Interest};
    use std::os::unix::net::UnixStream;
    use std::thread;

    fn pair() -> (Pipe, Pipe) {
        let (pipes, descriptor) = Pipes::new(2, 200).unwrap();
        let others = Pipes::of_descriptor(descriptor.as_fd(), 2, 200).unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        assert!(
            pipes
                .end(2, Side::Agent, one.try_clone().unwrap().into())
                .is_none()
        );
        (
            pipes.end(1, Side::Agent, one.into()).unwrap(),
            others.end(1, Side::Program, other.into()).unwrap(),
        )
    }

    fn kind<T: std::fmt::Debug>(result: io::Result<T>) -> ErrorKind {
        result.unwrap_err().kind()
    }

    #[test]
    fn parts_arrive_one_after_another_until_the_end() {
        let (one, other) = pair();
        let mut bytes = [0; 16];
        assert_eq!(kind(other.receive(&mut bytes)), ErrorKind::WouldBlock);
        assert!(!other.has_something() && other.has_room());
        let parts = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")];
        assert_eq!(one.send(&parts).unwrap(), 4);
        assert!(other.has_something());
        assert_eq!(other.receive(&mut bytes[..3]).unwrap(), 3);
        one.end();
        assert_eq!(other.receive(&mut bytes[3..]).unwrap(), 1);
        assert_eq!(&bytes[..4], b"abcd");
        assert_eq!(other.receive(&mut bytes).unwrap(), 0);
        assert_eq!(other.send(&parts).unwrap(), 4);
    }

    #[test]
    fn a_process_that_is_gone_is_noticed_after_what_it_sent() {
        let (one, other) = pair();
        one.send(&[IoSlice::new(b"last")]).unwrap();
        drop(one);
        let mut bytes = [0; 16];
        other.wake_up();
        assert_eq!(other.receive(&mut bytes).unwrap(), 4);
        assert!(other.has_something());
        assert_eq!(other.receive(&mut bytes).unwrap(), 0);
        let sent = other.send(&[IoSlice::new(b"to nobody")]);
        assert_eq!(kind(sent), ErrorKind::BrokenPipe);
    }

    #[test]
    fn who_sleeps_is_woken_once() {
        let (one, other) = pair();
        let post = Epoll::new().unwrap();
        post.add(other.bell(), 0).unwrap();
        let is_rung = || post.wait(Some(std::time::Duration::ZERO), &mut [0; Epoll::KEYS]) > 0;
        one.send(&[IoSlice::new(b"x")]).unwrap();
        assert!(!is_rung());
        other.mark_parked();
        for _ in 0..2 {
            one.send(&[IoSlice::new(b"x")]).unwrap();
            assert!(is_rung());
        }
        other.get_up();
        assert!(!is_rung());
        // A sender that waits for room is woken when there is some.
        while other.send(&[IoSlice::new(&[0; 1000])]).is_ok() {}
        other.mark_parked();
        assert!(!other.has_room() && !is_rung());
        one.receive(&mut [0; 10]).unwrap();
        assert!(is_rung() && other.has_room());
    }

    #[test]
    fn many_bytes_arrive_between_threads_that_sleep() {
        const TOTAL: usize = 3_000_000;
        let (one, other) = pair();
        let byte = |at: usize| (at % 251) as u8;
        let sends = thread::spawn(move || {
            let post = Epoll::new().unwrap();
            post.add(one.bell(), 0).unwrap();
            let all: Vec<u8> = (0..TOTAL).map(byte).collect();
            let (mut sent, mut piece) = (0, 1);
            while sent < TOTAL {
                let part = &all[sent..(sent + piece).min(TOTAL)];
                match one.send(&[IoSlice::new(part)]) {
                    Ok(count) => sent += count,
                    Err(_) => {
                        one.mark_parked();
                        if !one.has_room() {
                            post.wait(None, &mut [0; Epoll::KEYS]);
                        }
                        one.wake_up();
                    }
                }
                piece = piece * 7 % 40_009 + 1;
            }
            one
        });
        let post = Epoll::new().unwrap();
        post.add(other.bell(), 0).unwrap();
        post.set(other.bell(), Interest::Bytes, 0).unwrap();
        let (mut got, mut bytes) = (0, vec![0; 10_007]);
        while got < TOTAL {
            match other.receive(&mut bytes) {
                Ok(count) => {
                    assert!((0..count).all(|at| bytes[at] == byte(got + at)));
                    got += count;
                }
                Err(_) => {
                    other.mark_parked();
                    if !other.has_something() {
                        post.wait(None, &mut [0; Epoll::KEYS]);
                    }
                    other.wake_up();
                }
            }
        }
        drop(sends.join().unwrap());
    }
}
