//! What is noted where shared lines are looked for, see [`crate::lines`].

use super::{Node, lock};
use crate::blocks;
use crate::engine::NodeError;
use crate::frame::Frame;
use crate::lines::Lines;
use fathomp_access_trace::End;
use fathomp_false_sharing::log::Region;
use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::cluster::{deferral, process};
use fathomp_types::NodeId;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long other nodes may take to write their notes when the time is over.
const NOTING: Duration = Duration::from_millis(300);

/// Time between two samples of the pages in use, and what one page's sample takes: two
/// changes of its permission and two traps.
const SAMPLES_AFTER_NS: u64 = 2_000_000;
const SAMPLE_NS: u64 = 10_000;
/// Samples take this part of the time at most.
const SAMPLES_PART: u64 = 10;
/// The kernel may be about to use the program's memory.
const NEVER: u64 = u64::MAX;

impl Node {
    fn with_lines(&self, use_them: impl FnOnce(&mut Lines)) {
        if !self.lines {
            return;
        }
        let _inside = deferral::enter();
        if let Some(lines) = lock(&self.engine).watch().and_then(|watch| watch.lines()) {
            use_them(lines);
        }
    }

    /// The program makes an access that it was not permitted.
    pub(super) fn note_access(&self, write: bool, address: usize, instruction: usize) {
        self.with_lines(|lines| lines.saw(write, address, instruction));
    }

    /// The program is about to execute an atomic instruction on so many bytes.
    pub fn note_atomic(&self, address: usize, bytes: usize, instruction: usize) {
        if self.pages.page_of(address).is_some() {
            self.with_lines(|lines| lines.updates(address, bytes, instruction));
        }
    }

    /// A region is about to begin; zeros if one has ended.
    pub(crate) fn note_region(&self, function: usize, call: usize) {
        if self.lines && function != 0 {
            let frames = blocks::frames();
            let mut noted = Ok(());
            self.with_lines(|lines| noted = lines.frames(&frames));
            self.must(noted.map_err(NodeError::from));
        }
        self.with_lines(|lines| match function {
            0 => lines.region_ends(),
            _ => lines.region_begins(Region {
                function: function as u64,
                call: call as u64,
            }),
        });
    }

    /// Whether an address is on a stack of a thread of this node.
    pub(super) fn is_own_stack(&self, address: usize) -> bool {
        self.layout.stacks().contains(&address) && self.layout.owner_of_stack(address) == self.me()
    }

    /// The kernel is about to use memory of the program for it, which has to stay
    /// accessible until the thread synchronises.
    pub(super) fn leave_open(&self, address: usize) {
        // Its own stacks are not watched, and there the runtime, too, has what it gives the
        // kernel, perhaps while it holds the engine.
        if self.lines && !self.is_own_stack(address) && self.pages.page_of(address).is_some() {
            let _inside = deferral::enter();
            // Not while pages are made inaccessible.
            let _engine = lock(&self.engine);
            self.samples_at.store(NEVER, Ordering::Relaxed);
        }
    }

    /// How long the service thread may rest until accesses are to be sampled.
    pub(super) fn until_sample(&self) -> Duration {
        match self.lines {
            true => Duration::from_nanos(SAMPLES_AFTER_NS),
            false => Duration::MAX,
        }
    }

    /// The service thread samples accesses if it is time to: writes that change nothing and
    /// reads are seen by nothing else.
    pub(super) fn sample_when_due(&self) {
        if !self.lines || self.in_barrier.load(Ordering::Relaxed) {
            return;
        }
        let mut engine = lock(&self.engine);
        if self.samples_at.load(Ordering::Relaxed) > monotonic_ns() {
            return;
        }
        if let Some(watch) = engine.watch() {
            let sampled = watch.sample(&self.pages);
            let sampled = self.must(sampled.map_err(NodeError::from));
            let rest_ns = (sampled as u64 * SAMPLE_NS * SAMPLES_PART).max(SAMPLES_AFTER_NS);
            let next = monotonic_ns().saturating_add(rest_ns);
            self.samples_at.store(next, Ordering::Relaxed);
        }
    }

    /// Whether what the thread did is noted when it synchronises so. Locks are, because
    /// each time that one is held counts; atomic instructions are by themselves.
    pub(super) fn notes_end(&self, end: End) -> bool {
        self.lines
            && match end {
                End::Barrier | End::Exit => true,
                End::Acquire(lock) | End::Release(lock) => lock != super::atomics::ATOMIC,
                _ => false,
            }
    }

    /// A phase begins.
    pub(super) fn note_phase(&self) {
        let here = std::ptr::from_ref(&self).addr();
        let stack = self.layout.stack(self.me(), 0).unwrap_or_default();
        let mut noted = Ok(());
        self.with_lines(|lines| noted = lines.begin_phase(&self.pages, &stack, here));
        let _ = self
            .samples_at
            .compare_exchange(NEVER, 0, Ordering::Relaxed, Ordering::Relaxed);
        self.must(noted.map_err(NodeError::from));
    }

    /// The service thread ends the program when the time is over in which shared lines
    /// are looked for.
    pub(super) fn stop_when_due(&self) {
        if self
            .stops_ns
            .is_none_or(|stops_ns| monotonic_ns() < stops_ns)
        {
            return;
        }
        {
            let mut engine = lock(&self.engine);
            if let Some(watch) = engine.watch() {
                let stopped = watch.stop(&self.pages);
                self.must(stopped.map_err(NodeError::from));
            }
        }
        if self.me() == NodeId(0) && !self.ended.swap(true, Ordering::Relaxed) {
            std::thread::sleep(NOTING);
            for node in self.others() {
                // A node that is gone already need not be told.
                let (head, body) = Frame::Leave.parts();
                let _ = self.transport.send(node, &[head.bytes(), body]);
            }
            self.depart();
            process::leave(0);
        }
    }
}
