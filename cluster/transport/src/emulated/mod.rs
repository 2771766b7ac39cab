//! Emulated time: what a program would take on a cluster whose nodes have
//! processors of their own, however few there are here.
//!
//! A node's program takes the processor time of its thread. Messages are not held
//! back, but are stamped with the moment at which the network would deliver them; who
//! waited for one goes on at that moment, and time in which a thread waits counts
//! for nothing else. What a node does for its program and for others takes what such
//! [`Work`] is taken to take; for others, one message after the other, beside its program.

mod pace;
mod traps;

use crate::doorbell::{Doorbell, Role};
use crate::net::Net;
use fathomp_sys::clock::emulated::{self, ProcessorClock, Work};
use fathomp_types::NodeId;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use traps::{MARGIN_NS, Trapped, Traps};

pub(crate) use pace::Pace;
use pace::{NEVER, Turn};

/// Shortest time after which it is worth looking how far a program has come, and
/// longest until somebody does.
const LOOK_NS: u64 = 100_000;
const REST_NS: u64 = 1_000_000;

/// How long a program that waits looks for messages before it sleeps.
const LOOKS_NS: u64 = 50_000;

/// What a program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The answer to what its thread has asked.
    Answer = 0,
    /// What a barrier brings beside that.
    Outcome = 1,
}

/// What nodes in emulated time share.
pub(crate) trait Common: std::fmt::Debug + Send + Sync {
    /// What keeps their clocks in step, over a network of that latency.
    fn pace(&self, latency_ns: u64) -> Pace<'_>;

    /// The doorbell of a node.
    fn doorbell(&self, node: NodeId) -> Doorbell<'_>;
}

/// A node's part in emulated time. One thread of it runs the program; others only
/// serve.
#[derive(Debug)]
pub struct Emulation {
    common: Box<dyn Common>,
    me: usize,
    net: Net,
    /// Processor time of the program's thread.
    program: OnceLock<ProcessorClock>,
    /// What the program's clock is ahead of that, modulo 2^64.
    ahead_ns: AtomicU64,
    /// The program neither waits nor wants to do anything.
    at_work: AtomicBool,
    /// The program is in the runtime: its clock does not go on with its thread.
    inside: AtomicBool,
    traps: Mutex<Traps>,
    /// Until when this node's links are busy, outwards and inwards.
    outwards_ns: AtomicU64,
    inwards_ns: AtomicU64,
    /// Until when this node is busy with what others want of it.
    serves_until_ns: AtomicU64,
    /// When what the program waits for was there.
    told_ns: AtomicU64,
    /// The [`Awaited`] thing that it waits for, if it does, and since when.
    awaited: AtomicU32,
    rests_since_ns: AtomicU64,
}

/// A message is being handled; ends when dropped.
#[derive(Debug)]
pub struct Serving<'a> {
    emulation: &'a Emulation,
    from: NodeId,
    /// The thread's clock before, and whether it ran.
    before_ns: u64,
    ran: bool,
}

/// The program is in the runtime; ends when dropped.
#[derive(Debug)]
pub struct Inside<'a> {
    emulation: &'a Emulation,
    outermost: bool,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if self.outermost {
            let Self { emulation, .. } = self;
            let ahead_ns = emulated::run();
            emulation.ahead_ns.store(ahead_ns, Ordering::Relaxed);
            emulation.inside.store(false, Ordering::Release);
        }
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        let Self {
            emulation,
            from,
            before_ns,
            ran,
        } = self;
        let until_ns = &emulation.serves_until_ns;
        until_ns.fetch_max(emulated::now_ns(), Ordering::Relaxed);
        emulated::set_ns(*before_ns);
        if *ran {
            emulated::run();
        }
        emulation.pace().handle(usize::from(from.0), emulation.me);
        emulation.wake_ready();
    }
}

impl Emulation {
    pub(crate) fn new(common: Box<dyn Common>, me: NodeId, net: Net) -> Self {
        Self {
            common,
            me: me.0.into(),
            net,
            program: OnceLock::new(),
            ahead_ns: AtomicU64::new(0),
            at_work: AtomicBool::new(false),
            inside: AtomicBool::new(false),
            traps: Mutex::default(),
            outwards_ns: AtomicU64::new(0),
            inwards_ns: AtomicU64::new(0),
            serves_until_ns: AtomicU64::new(0),
            told_ns: AtomicU64::new(0),
            awaited: AtomicU32::new(Awaited::Answer as u32),
            rests_since_ns: AtomicU64::new(NEVER),
        }
    }

    fn pace(&self) -> Pace<'_> {
        self.common.pace(self.latency_ns())
    }

    /// At least a nanosecond, by which causes come before their effects.
    fn latency_ns(&self) -> u64 {
        self.net.latency_ns().max(1)
    }

    fn wake_ready(&self) {
        for (node, turn) in self.pace().ready() {
            let doorbell = self.common.doorbell(NodeId(node as u16));
            match turn {
                Turn::Program => doorbell.rouse(&[Role::Application]),
                Turn::Message => _ = doorbell.ring(),
            }
        }
    }

    /// The calling thread runs the program, from `from_ns` of emulated time on.
    ///
    /// # Errors
    /// If the system does not tell its processor time.
    pub fn begin(&self, from_ns: u64) -> io::Result<()> {
        // Only the first is the program's.
        let _ = self.program.set(ProcessorClock::of_this_thread()?);
        self.set_clock(from_ns);
        self.pace().set_horizon(self.me, from_ns);
        Ok(())
    }

    fn set_clock(&self, now_ns: u64) {
        if let Some(ahead_ns) = emulated::set_ns(now_ns) {
            self.ahead_ns.store(ahead_ns, Ordering::Relaxed);
        }
        self.at_work.store(true, Ordering::Release);
    }

    /// The program, whose thread calls, enters the runtime. From now on until it leaves it
    /// takes what its work is taken to take.
    #[must_use]
    pub fn enter(&self) -> Inside<'_> {
        let outermost = emulated::stand();
        if outermost {
            self.inside.store(true, Ordering::Relaxed);
            // Nobody who has read the clock before may say that it is later.
            self.pace().set_horizon(self.me, emulated::now_ns());
        }
        Inside {
            emulation: self,
            outermost,
        }
    }

    /// The same, by a trap at that page. None if it has to go back and to trap once more,
    /// which tells how long that takes here.
    #[must_use]
    pub fn trap(&self, page: u32) -> Option<Inside<'_>> {
        let outermost = emulated::stand();
        let inside = Inside {
            emulation: self,
            outermost,
        };
        if !outermost {
            return Some(inside);
        }
        self.inside.store(true, Ordering::Relaxed);
        let mut traps = self.traps.lock().unwrap_or_else(PoisonError::into_inner);
        let horizon_ns = self.pace().horizon(self.me);
        let trapped = traps.trapped(page, emulated::now_ns());
        let (Trapped::Serve(now_ns) | Trapped::Again(now_ns)) = trapped;
        let now_ns = now_ns.max(horizon_ns.saturating_add(1));
        emulated::set_ns(now_ns);
        self.pace().set_horizon(self.me, now_ns);
        match trapped {
            Trapped::Again(_) => {
                traps.goes_back(page, now_ns);
                None
            }
            Trapped::Serve(_) => Some(inside),
        }
    }

    /// The program, whose thread calls, does nothing until then.
    pub fn let_pass(&self, until_ns: u64) {
        let _inside = self.enter();
        emulated::set_ns(until_ns.max(emulated::now_ns()));
    }

    /// When a message of `bytes` bytes that is sent now reaches the receiver's link.
    pub(crate) fn send(&self, to: NodeId, bytes: usize) -> u64 {
        self.pace().send(self.me, usize::from(to.0));
        let now_ns = emulated::now_ns();
        if usize::from(to.0) == self.me {
            return now_ns.max(1);
        }
        let leaves_ns = self.net.begins_ns(now_ns, bytes, &self.outwards_ns);
        leaves_ns.saturating_add(self.latency_ns())
    }

    /// The first message from a node is due then.
    pub(crate) fn see(&self, from: NodeId, due_ns: u64) {
        if self.pace().see(usize::from(from.0), self.me, due_ns) {
            self.wake_ready();
        }
    }

    /// Whether the earliest message, due then, may be handled. If not, whoever makes
    /// it possible wakes this node.
    pub(crate) fn may_handle(&self, due_ns: u64) -> bool {
        self.refresh();
        self.may(Turn::Message, due_ns)
    }

    fn may(&self, turn: Turn, moment_ns: u64) -> bool {
        let pace = self.pace();
        let is_new = pace.hold(self.me, turn, moment_ns);
        if pace.may(self.me, turn, moment_ns) {
            pace.hold(self.me, turn, 0);
            return true;
        }
        if is_new {
            for node in pace.behind(self.me, moment_ns) {
                self.common.doorbell(NodeId(node as u16)).ring();
            }
        }
        false
    }

    /// The calling thread handles a message of `bytes` bytes that was due then.
    pub(crate) fn arrive(&self, due_ns: u64, bytes: usize, from: NodeId) {
        let arrives_ns = if usize::from(from.0) == self.me {
            due_ns
        } else {
            let busy_ns = self.net.busy_ns(bytes);
            self.net.begins_ns(due_ns, bytes, &self.inwards_ns) + busy_ns
        };
        let until_ns = self.serves_until_ns.load(Ordering::Relaxed);
        if until_ns < arrives_ns {
            let looks = usize::from(from.0) == self.me || self.looks(until_ns, arrives_ns);
            let wakes_ns = if looks { 0 } else { Work::Wake.ns() };
            let begins_ns = arrives_ns.saturating_add(wakes_ns);
            self.serves_until_ns.store(begins_ns, Ordering::Relaxed);
        }
    }

    /// Whether somebody looks for a message that arrives then at this node, which has done
    /// nothing for others since `until_ns`: the program, if it waits, has not given up
    /// yet, and the network is worth it.
    fn looks(&self, until_ns: u64, arrives_ns: u64) -> bool {
        let since_ns = self.rests_since_ns.load(Ordering::Relaxed);
        let slow = self.latency_ns().saturating_mul(2) > LOOKS_NS;
        !slow && since_ns <= arrives_ns && arrives_ns - since_ns.max(until_ns) <= LOOKS_NS
    }

    /// The calling thread begins to handle what it has received last from a node.
    #[must_use]
    pub fn serve(&self, from: NodeId) -> Serving<'_> {
        let before_ns = emulated::now_ns();
        let ran = emulated::stand();
        emulated::set_ns(self.serves_until_ns.load(Ordering::Relaxed));
        Serving {
            emulation: self,
            from,
            before_ns,
            ran,
        }
    }

    /// How far the program has come is made known to those who wait for it. For
    /// threads that are not the program's, too.
    fn refresh(&self) {
        let pace = self.pace();
        let horizon_ns = pace.horizon(self.me);
        let computes = self.at_work.load(Ordering::Acquire) && !self.inside.load(Ordering::Acquire);
        if !computes || horizon_ns >= NEVER {
            return;
        }
        // It may be in a trap, which takes another time than it does here.
        let now_ns = self.program_ns().saturating_sub(MARGIN_NS);
        if now_ns > horizon_ns {
            pace.raise_horizon(self.me, horizon_ns, now_ns);
            self.wake_ready();
        }
    }

    /// The same; returns how long, at most `limit`, nobody needs to look again.
    #[must_use]
    pub fn look(&self, limit: Duration) -> Duration {
        self.refresh();
        if !self.at_work.load(Ordering::Relaxed) {
            return limit;
        }
        let now_ns = self.pace().horizon(self.me);
        let wanted_ns = self.pace().wanted(self.me, now_ns).unwrap_or(REST_NS);
        Duration::from_nanos(wanted_ns.clamp(LOOK_NS, REST_NS)).min(limit)
    }

    /// The program, whose thread calls, is about to do something that others can
    /// notice. Returns when that is; it may once [`may_act`](Self::may_act) says so.
    #[must_use]
    pub fn come(&self) -> u64 {
        let now_ns = emulated::now_ns();
        self.at_work.store(false, Ordering::Relaxed);
        self.pace().set_horizon(self.me, now_ns);
        self.wake_ready();
        now_ns
    }

    /// Whether the program may do what it wants to do at that moment.
    #[must_use]
    pub fn may_act(&self, moment_ns: u64) -> bool {
        self.may(Turn::Program, moment_ns)
    }

    /// The program does it.
    pub fn act(&self, moment_ns: u64) {
        self.set_clock(moment_ns);
    }

    /// The program has done it, and what it would wait for is there.
    pub fn pass(&self) {
        self.go_on(emulated::now_ns());
    }

    /// The program, whose thread calls, waits. Returns since when.
    #[must_use]
    pub fn rest(&self, awaited: Awaited) -> u64 {
        let now_ns = emulated::now_ns();
        self.awaited.store(awaited as u32, Ordering::Relaxed);
        self.rests_since_ns.store(now_ns, Ordering::Relaxed);
        self.at_work.store(false, Ordering::Relaxed);
        self.pace().set_horizon(self.me, NEVER);
        self.wake_ready();
        now_ns
    }

    /// What the program waits for or will wait for is there, because of what the
    /// calling thread does.
    pub fn tell(&self, what: Awaited) {
        let now_ns = emulated::now_ns();
        self.told_ns.fetch_max(now_ns, Ordering::Relaxed);
        if self.awaited.load(Ordering::Relaxed) == what as u32 {
            self.pace().lower_horizon(self.me, now_ns);
        }
    }

    /// The program, which has waited since then, goes on.
    pub fn go_on(&self, since_ns: u64) {
        let now_ns = since_ns.max(self.told_ns.load(Ordering::Relaxed));
        self.rests_since_ns.store(NEVER, Ordering::Relaxed);
        self.set_clock(now_ns);
        self.pace().set_horizon(self.me, now_ns);
        self.wake_ready();
    }

    /// Whether the program neither waits nor wants to do anything.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        self.at_work.load(Ordering::Relaxed)
    }

    /// The calling thread does something in the program's name: now, by the program's
    /// clock.
    pub fn stand_in(&self) {
        let now_ns = match self.inside.load(Ordering::Relaxed) {
            true => self.pace().horizon(self.me),
            false => self.program_ns(),
        };
        emulated::set_ns(now_ns);
    }

    /// This node leaves.
    pub(crate) fn leave(&self) {
        self.pace().leave(self.me);
        self.wake_ready();
    }

    /// The program's clock while it is at work, read by any thread.
    fn program_ns(&self) -> u64 {
        let processor_ns = self.program.get().map_or(0, |program| program.ns());
        processor_ns.wrapping_add(self.ahead_ns.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Fabric, Limits};

    fn emulation(latency_us: f64) -> Emulation {
        let net = Net::new(latency_us, f64::INFINITY).unwrap();
        let fabric = Fabric::new(2, Limits::for_nodes(2), Some(net)).unwrap();
        Emulation::new(Box::new(fabric.with_emulated_time()), NodeId(0), net)
    }

    /// When a message that arrives then begins to be handled.
    fn begins_ns(emulation: &Emulation, arrives_ns: u64) -> u64 {
        emulation.arrive(arrives_ns, 0, NodeId(1));
        emulation.serves_until_ns.load(Ordering::Relaxed)
    }

    #[test]
    fn a_message_wakes_whoever_does_not_look() {
        let wake_ns = Work::Wake.ns();
        let node = emulation(3.0);
        // The program computes.
        assert_eq!(begins_ns(&node, 1_000), 1_000 + wake_ns);
        // Whoever woke up is still there.
        assert_eq!(begins_ns(&node, 1_001), 1_000 + wake_ns);
        // The program waits, and looks; then it sleeps.
        assert!(emulated::stand());
        emulated::set_ns(100_000);
        let since_ns = node.rest(Awaited::Answer);
        assert_eq!(begins_ns(&node, 120_000), 120_000);
        let late_ns = 120_001 + LOOKS_NS;
        assert_eq!(begins_ns(&node, late_ns), late_ns + wake_ns);
        node.go_on(since_ns);
        assert_eq!(begins_ns(&node, 1 << 20), (1 << 20) + wake_ns);
        // Over a slow network nobody looks.
        let node = emulation(62.5);
        let _ = node.rest(Awaited::Answer);
        assert_eq!(begins_ns(&node, 120_000), 120_000 + wake_ns);
    }

    #[test]
    fn the_runtime_takes_what_is_charged() {
        let node = emulation(3.0);
        node.begin(1 << 40).unwrap();
        {
            let _inside = node.enter();
            let before_ns = emulated::now_ns();
            let _nested = node.enter();
            emulated::charge(Work::Call);
            assert_eq!(emulated::now_ns(), before_ns + Work::Call.ns());
            assert!(node.inside.load(Ordering::Relaxed));
        }
        assert!(!node.inside.load(Ordering::Relaxed));
        // The first trap is taken twice, and the clock stays where it was.
        assert!(node.trap(7).is_none());
        let _inside = node.trap(7).unwrap();
        let now_ns = emulated::now_ns();
        assert_eq!(node.pace().horizon(0), now_ns);
        assert!(now_ns >= 1 << 40);
    }
}
