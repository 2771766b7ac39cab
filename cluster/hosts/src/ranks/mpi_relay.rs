//! Carries connections between nodes of different ranks over MPI: one thread makes all calls of
//! MPI and moves bytes between it and pipes, of which programs have the other ends.
//!
//! MPI cannot wait in the kernel, and pipes can wait for nothing of MPI. So the thread looks at
//! both, and in between sleeps at the pipes' bells: not at all while something moves, then longer
//! and longer. It never waits inside MPI.

use super::channel::{Channel, Excess};
use super::frame::{self, CONTENT_BYTES_MAX, Line, What};
use fathomp_sys::mpi::{Mpi, MpiError};
use fathomp_sys::process::sleep_to_the_moment;
use fathomp_transport::Spin;
use fathomp_transport::tcp::pipe::Pipe;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io::{ErrorKind, IoSlice};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// How long nothing may move before the thread sleeps.
const SPIN_TIME: Duration = Duration::from_micros(20);
/// It sleeps for such a part of the time for which nothing has moved: so whoever waits for a
/// message waits that much longer at most.
const NAP_PART: u32 = 8;
/// How long it sleeps at least, and at most.
const NAP_MIN: Duration = Duration::from_micros(5);
const NAP_MAX: Duration = Duration::from_micros(100);
/// Rounds after which it looks for programs that have ended, however much moves.
const ROUNDS: u32 = 1024;
/// Messages that are received before pipes are looked at again.
const MESSAGES_AT_ONCE: usize = 16;

/// What the thread is told.
pub(super) enum Order {
    /// A program asks for connections.
    Open {
        /// Which program that is, counted.
        generation: u32,
        /// All connections to nodes of other ranks; the program has the other ends of the pipes.
        ends: Vec<(Line, u32, Pipe)>,
        /// It needs the processor of this thread.
        crowded: bool,
    },
    /// All has been said: MPI is to end, and this to be told.
    Finish(Sender<()>),
}

/// The pump has to stop: why.
#[derive(Debug, thiserror::Error)]
pub(super) enum PumpError {
    #[error(transparent)]
    Mpi(#[from] MpiError),
    #[error("what rank {0} sends over MPI makes no sense: run the same fathomp on all hosts")]
    Nonsense(u32),
}

/// A connection.
struct Wire {
    /// The rank at its other end.
    rank: u32,
    /// None before the program here has asked for it.
    pipe: Option<Pipe>,
    channel: Channel,
    /// The program has been told that its peer sends no more.
    drained: bool,
}

/// How the pump ended.
pub(super) enum Ended {
    /// It was told to; whoever did waits for the end of MPI.
    Finished(Sender<()>),
    /// Nobody gives orders any more.
    Left,
}

pub(super) struct MpiRelay<'a> {
    mpi: &'a mut Mpi,
    orders: &'a Receiver<Order>,
    /// Connections by what they are here.
    wires: BTreeMap<Line, Wire>,
    /// The program that asked last, counted.
    generation: u32,
    crowded: bool,
    buffer: Vec<u8>,
}

impl<'a> MpiRelay<'a> {
    pub(super) fn new(mpi: &'a mut Mpi, orders: &'a Receiver<Order>) -> Self {
        Self {
            mpi,
            orders,
            wires: BTreeMap::new(),
            generation: 0,
            crowded: false,
            buffer: vec![0; CONTENT_BYTES_MAX],
        }
    }

    /// Works until it is told to finish.
    pub(super) fn work(mut self) -> Result<Ended, PumpError> {
        sleep_to_the_moment();
        let mut moved_at = Instant::now();
        let mut spin = self.spin();
        let mut rounds = 0_u32;
        loop {
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(ROUNDS) {
                self.nap(Duration::ZERO);
            }
            match self.orders.try_recv() {
                Ok(Order::Open {
                    generation,
                    ends,
                    crowded,
                }) => {
                    self.crowded = crowded;
                    self.open(generation, ends);
                }
                Ok(Order::Finish(done)) => {
                    // What has not left yet is of programs that have ended.
                    return Ok(Ended::Finished(done));
                }
                Err(TryRecvError::Disconnected) => return Ok(Ended::Left),
                Err(TryRecvError::Empty) => {}
            }
            let came = self.receive()?;
            let told = self.tell()?;
            let passed = self.pass_on()?;
            if came || told || passed {
                moved_at = Instant::now();
                spin = self.spin();
            } else if !spin.again() {
                let idle = moved_at.elapsed();
                self.nap((idle / NAP_PART).clamp(NAP_MIN, NAP_MAX));
            }
        }
    }

    /// How long to look before sleeping.
    fn spin(&self) -> Spin {
        Spin::new(SPIN_TIME, self.crowded)
    }

    fn open(&mut self, generation: u32, all: Vec<(Line, u32, Pipe)>) {
        self.generation = generation;
        // What came early for a program that never asked.
        self.wires
            .retain(|line, wire| line.generation >= generation || wire.pipe.is_some());
        for (line, rank, pipe) in all {
            let wire = self.wires.entry(line).or_insert_with(|| Wire::new(rank));
            wire.pipe = Some(pipe);
            wire.flush();
        }
    }

    /// Takes what has come over MPI. Whether something has.
    fn receive(&mut self) -> Result<bool, PumpError> {
        for count in 0..MESSAGES_AT_ONCE {
            let Some((rank, message)) = self.mpi.receive()? else {
                return Ok(count > 0);
            };
            let nonsense = || PumpError::Nonsense(rank);
            let (line, what, content) = frame::open(message).ok_or_else(nonsense)?;
            let line = line.turned();
            let is_early = line.generation == self.generation.saturating_add(1);
            if is_early && !self.wires.contains_key(&line) {
                // The other host's program has asked before this one's.
                self.wires.insert(line, Wire::new(rank));
            }
            // Others are of a program that has ended.
            if let Some(wire) = self.wires.get_mut(&line) {
                if wire.rank != rank {
                    return Err(nonsense());
                }
                wire.hear(what, content).map_err(|Excess| nonsense())?;
            }
        }
        Ok(true)
    }

    /// Tells the other ends what they have to know. Whether something was told.
    fn tell(&mut self) -> Result<bool, PumpError> {
        let mut told = false;
        for (line, wire) in &mut self.wires {
            let to = wire.rank;
            if let Some(bytes) = wire.channel.owes_credit()
                && self
                    .mpi
                    .send(to, &[&frame::head(*line, What::Credit(bytes))])?
            {
                wire.channel.told_credit();
                told = true;
            }
            if wire.channel.owes_end() && self.mpi.send(to, &[&frame::head(*line, What::End)])? {
                wire.channel.told_end();
                told = true;
            }
        }
        self.wires.retain(|_, wire| !wire.channel.is_over());
        Ok(told)
    }

    /// Sleeps until a program has something to do here, for so long at most.
    fn nap(&self, limit: Duration) {
        // Bells of programs that send no more may ring for ever.
        let speaks = |wire: &&Wire| !wire.channel.has_ended();
        let pipes = || {
            let wires = self.wires.values().filter(speaks);
            wires.filter_map(|wire| wire.pipe.as_ref())
        };
        pipes().for_each(Pipe::mark_parked);
        let is_busy = self.wires.values().any(Wire::can_move);
        let mut bells: Vec<PollFd<'_>> = pipes()
            .map(|pipe| PollFd::new(pipe, PollFlags::IN))
            .collect();
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        let rung = !is_busy && matches!(poll(&mut bells, Some(&limit)), Ok(1..));
        for (pipe, bell) in pipes().zip(&bells) {
            match rung && !bell.revents().is_empty() {
                true => pipe.wake_up(),
                false => pipe.get_up(),
            }
        }
    }

    /// Moves bytes between pipes and MPI. Whether some were moved.
    fn pass_on(&mut self) -> Result<bool, PumpError> {
        let mut moved = false;
        for (line, wire) in &mut self.wires {
            moved |= wire.flush();
            let room = self.buffer.len().min(wire.channel.may_send() as usize);
            let has_bytes = wire.pipe.as_ref().is_some_and(Pipe::has_something);
            // What was read has to be sent, so there has to be room before.
            if room == 0 || !has_bytes || !self.mpi.has_room()? {
                continue;
            }
            let buffer = self.buffer.get_mut(..room).unwrap_or_default();
            match wire.read(buffer) {
                Some(got) => {
                    let bytes = buffer.get(..got).unwrap_or_default();
                    let head = frame::head(*line, What::Bytes);
                    self.mpi.send(wire.rank, &[&head, bytes])?;
                    wire.channel.sent(got as u32);
                    moved = true;
                }
                // An end has to be told.
                None => moved |= wire.channel.owes_end(),
            }
        }
        Ok(moved)
    }
}

impl Wire {
    fn new(rank: u32) -> Self {
        Self {
            rank,
            pipe: None,
            channel: Channel::new(),
            drained: false,
        }
    }

    /// What the other end says.
    fn hear(&mut self, what: What, content: &[u8]) -> Result<(), Excess> {
        match what {
            What::Bytes => {
                self.channel.receive(content)?;
                self.flush();
            }
            What::Credit(bytes) => self.channel.allow(bytes)?,
            What::End => {
                self.channel.complete();
                self.flush();
            }
        }
        Ok(())
    }

    /// Whether there is something to move that does not wait for the other rank.
    fn can_move(&self) -> bool {
        let Some(pipe) = &self.pipe else {
            return false;
        };
        self.channel.may_send() > 0 && pipe.has_something()
            || !self.channel.next().is_empty() && pipe.has_room()
    }

    /// Gives the program what it takes of what has come. Whether it took something.
    fn flush(&mut self) -> bool {
        let Some(pipe) = &self.pipe else {
            return false;
        };
        let mut moved = false;
        while !self.channel.next().is_empty() {
            match pipe.send(&[IoSlice::new(self.channel.next())]) {
                Ok(put) => {
                    self.channel.take(put);
                    moved = true;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return moved,
                // The program has closed its end.
                Err(_) => {
                    self.channel.deafen();
                    return true;
                }
            }
        }
        if self.channel.is_drained() && !self.drained {
            // The program learns that its peer sends no more.
            pipe.end();
            self.drained = true;
        }
        moved
    }

    /// What the program sends next; none if there is nothing now.
    fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        match self.pipe.as_ref()?.receive(buffer) {
            Ok(0) => {}
            Ok(got) => return Some(got),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            // What it has left makes no sense.
            Err(_) => {}
        }
        self.channel.end();
        None
    }
}
