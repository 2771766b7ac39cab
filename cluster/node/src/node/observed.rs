//! What the node tells its observer ([`crate::observer`]). The hot paths ask whether there is one;
//! the rest stands here.

use super::{Node, atomics, lock};
use crate::blocks;
use crate::engine::NodeError;
use crate::frame::Frame;
use crate::observer::{Found, Lines, Observer, Sampling, Watch};
use fathomp_access_trace::{End, Step};
use fathomp_false_sharing::log::Region;
use fathomp_protocols::Access;
use fathomp_sys::cluster::{deferral, process};
use fathomp_types::{NodeId, PageId};
use std::ops::Range;
use std::time::Duration;

/// How long other nodes may take to write their notes when the time is over.
const NOTES_TIMEOUT: Duration = Duration::from_millis(300);

/// Time between two samples of the pages in use, and what one page's sample takes: two
/// changes of its permission and two traps.
const SAMPLES_AFTER_NS: u64 = 2_000_000;
const SAMPLE_NS: u64 = 10_000;
/// Samples take this part of the time at most.
const SAMPLES_PART: u64 = 10;

impl Node {
    /// The listeners, if there are any.
    #[inline]
    pub(super) fn observer(&self) -> Option<&Observer> {
        self.observer.as_deref()
    }

    fn sampling(&self) -> Option<&Sampling> {
        self.observer()?.sampling.as_ref()
    }

    /// What watches what the program accesses, if something does.
    fn with_watch<T>(&self, use_it: impl FnOnce(&mut Watch) -> T) -> Option<T> {
        let _inside = deferral::enter();
        lock(&self.engine).watch().map(use_it)
    }

    fn with_lines(&self, use_them: impl FnOnce(&mut Lines)) {
        if self.sampling().is_some() {
            self.with_watch(|watch| watch.lines().map(use_them));
        }
    }

    /// The calling thread goes on with the application.
    #[inline]
    pub(super) fn go_on(&self) {
        if let Some(stopwatch) = self.observer().and_then(|o| o.stopwatch.as_ref()) {
            stopwatch.go_on();
        }
    }

    /// The calling thread goes on with the application, if that is where it was stopped.
    #[inline]
    pub(super) fn go_on_there(&self) {
        if let Some(stopwatch) = self.observer().and_then(|o| o.stopwatch.as_ref()) {
            stopwatch.go_on_there();
        }
    }

    /// The calling thread comes from the application.
    #[inline]
    pub(super) fn stand_still(&self) {
        if let Some(stopwatch) = self.observer().and_then(|o| o.stopwatch.as_ref()) {
            stopwatch.stop();
        }
    }

    /// The calling thread has come by a trap. Whether it is to go back and to trap once more.
    #[inline]
    pub(super) fn traps_again(&self, page: PageId) -> bool {
        let stopwatch = self.observer().and_then(|o| o.stopwatch.as_ref());
        let again = stopwatch.filter(|stopwatch| stopwatch.trapped(page));
        again.map(|stopwatch| stopwatch.go_on()).is_some()
    }

    /// The calling thread synchronises.
    #[inline]
    pub(super) fn end_interval(&self, end: End) {
        if let Some(observer) = self.observer() {
            self.end_watched_interval(observer, end);
        }
    }

    #[cold]
    fn end_watched_interval(&self, observer: &Observer, end: End) {
        let stopwatch = observer.stopwatch.as_ref();
        if stopwatch.is_none() && !self.notes_end(end) {
            return;
        }
        let _inside = deferral::enter();
        let work_ns = stopwatch.map_or(0, |stopwatch| stopwatch.take_ns());
        let order = match end {
            End::Barrier => lock(&self.meetings).order(),
            _ => None,
        };
        let (order_bytes, site) = order.unwrap_or_default();
        let step = Step {
            set: 0,
            work_ns,
            end,
            order_bytes: u32::try_from(order_bytes).unwrap_or(u32::MAX),
            region: site.0,
        };
        let ended = self.with_watch(|watch| watch.end_interval(&self.pages, step));
        self.must(ended.unwrap_or(Ok(())).map_err(NodeError::from));
    }

    /// Whether what the thread did is noted when it synchronises so, where lines are. Locks are,
    /// because each time that one is held counts; atomic instructions are by themselves.
    fn notes_end(&self, end: End) -> bool {
        self.sampling().is_some()
            && match end {
                End::Barrier | End::Exit => true,
                End::Acquire(lock) | End::Release(lock) => lock != atomics::ATOMIC,
                _ => false,
            }
    }

    /// The calling thread has not synchronised as it seemed.
    pub(super) fn amend_interval(&self, end: End) {
        if self.observer().is_some_and(|o| o.stopwatch.is_some()) {
            self.with_watch(|watch| watch.amend(end));
        }
    }

    /// All nodes have met at a barrier, at node 0.
    pub(super) fn note_meeting(&self) {
        if let Some(lookout) = self.observer().and_then(|o| o.lookout.as_ref()) {
            lookout.meet();
        }
    }

    /// Another node has told what it changed.
    pub(super) fn hear_of_changes(&self, from: NodeId, told: &[u8]) {
        let lookout = self.observer().and_then(|o| o.lookout.as_ref());
        if lookout
            .and_then(|lookout| lookout.hear(from, told))
            .is_none()
        {
            self.fail(from, "it told what it changed in a way that makes no sense");
        }
    }

    /// Bytes that two nodes changed without order, if such were looked for, at node 0.
    #[must_use]
    pub fn races(&self) -> Option<Found> {
        let _inside = deferral::enter();
        let lookout = self.observer()?.lookout.as_ref()?;
        let found = lookout.found(|page| self.pages.address_of(page));
        Some(found).filter(|_| self.me() == NodeId(0))
    }

    /// The program makes an access that it was not permitted.
    #[inline]
    pub(super) fn note_access(&self, write: bool, address: usize, instruction: usize) {
        if self.observer().is_some() {
            self.with_lines(|lines| lines.saw(write, address, instruction));
        }
    }

    /// The program is about to execute an atomic instruction on so many bytes.
    #[inline]
    pub fn note_atomic(&self, address: usize, bytes: usize, instruction: usize) {
        if self.observer().is_some() && self.pages.page_of(address).is_some() {
            self.with_lines(|lines| lines.updates(address, bytes, instruction));
        }
    }

    /// A region is about to begin; zeros if one has ended.
    #[inline]
    pub(crate) fn note_region(&self, function: usize, call: usize) {
        if self.observer().is_some() {
            self.note_watched_region(function, call);
        }
    }

    #[cold]
    fn note_watched_region(&self, function: usize, call: usize) {
        if self.sampling().is_some() && function != 0 {
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
    fn is_own_stack(&self, address: usize) -> bool {
        self.layout.stacks().contains(&address) && self.layout.owner_of_stack(address) == self.me()
    }

    /// The kernel is about to read or write these bytes of the program's memory for it, which have
    /// to stay accessible until the thread synchronises.
    #[inline]
    pub(super) fn lend(&self, bytes: Range<usize>, write: bool) {
        if self.observer().is_some() {
            self.lend_watched(bytes, write);
        }
    }

    #[cold]
    fn lend_watched(&self, bytes: Range<usize>, write: bool) {
        // The runtime, too, gives the kernel memory, perhaps while it holds the engine: its own,
        // or of its stacks, which are not watched.
        if self.is_own_stack(bytes.start) || self.pages.page_of(bytes.start).is_none() {
            return;
        }
        if let Some(sampling) = self.sampling() {
            let _inside = deferral::enter();
            // Not while pages are made inaccessible.
            let _engine = lock(&self.engine);
            sampling.suspend();
        }
        let access = if write { Access::Write } else { Access::Read };
        self.with_steps(|watch| watch.lend(&self.pages, bytes, access));
    }

    /// How long the service thread may rest until accesses are to be sampled.
    pub(super) fn until_sample(&self) -> Duration {
        match self.sampling() {
            Some(_) => Duration::from_nanos(SAMPLES_AFTER_NS),
            None => Duration::MAX,
        }
    }

    /// The service thread does what is due where shared lines are looked for.
    pub(super) fn sample_when_due(&self) {
        if let Some(sampling) = self.sampling() {
            self.sample(sampling);
            if sampling.is_over() {
                self.stop_sampling();
            }
        }
    }

    /// Samples accesses if it is time to: writes that change nothing and reads are seen by nothing
    /// else.
    fn sample(&self, sampling: &Sampling) {
        if self.in_barrier.load(std::sync::atomic::Ordering::Relaxed) {
            return;
        }
        let mut engine = lock(&self.engine);
        if !sampling.is_due() {
            return;
        }
        if let Some(watch) = engine.watch() {
            let sampled = watch.sample(&self.pages);
            let sampled = self.must(sampled.map_err(NodeError::from));
            let rest_ns = sampled as u64 * SAMPLE_NS * SAMPLES_PART;
            sampling.rest_ns(rest_ns.max(SAMPLES_AFTER_NS));
        }
    }

    /// Ends the program: the time is over in which shared lines are looked for.
    fn stop_sampling(&self) {
        let stopped = self.with_watch(|watch| watch.stop(&self.pages));
        self.must(stopped.unwrap_or(Ok(())).map_err(NodeError::from));
        let ended = &self.ended;
        if self.me() == NodeId(0) && !ended.swap(true, std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(NOTES_TIMEOUT);
            for node in self.others() {
                // A node that is gone already need not be told.
                let (head, body) = Frame::Leave.parts();
                let _ = self.transport.send(node, &[head.bytes(), body]);
            }
            self.depart();
            process::leave(0);
        }
    }

    /// A phase begins.
    #[inline]
    pub(super) fn note_phase(&self) {
        if let Some(sampling) = self.sampling() {
            self.note_watched_phase(sampling);
        }
    }

    #[cold]
    fn note_watched_phase(&self, sampling: &Sampling) {
        let here = std::ptr::from_ref(&self).addr();
        let stack = self.layout.stack(self.me(), 0).unwrap_or_default();
        let mut noted = Ok(());
        self.with_lines(|lines| noted = lines.begin_phase(&self.pages, &stack, here));
        sampling.resume();
        self.must(noted.map_err(NodeError::from));
    }

    /// What opens pages for one instruction at a time, where lines are noted for a replay
    /// ([decision 0080](../../../../docs/decisions/0080-lines-by-single-steps.md)).
    fn with_steps<T>(&self, use_it: impl FnOnce(&mut Watch) -> T) -> Option<T> {
        self.observer()?.stopwatch.as_ref()?;
        let steps = |watch: &mut Watch| watch.by_lines().then(|| use_it(watch));
        self.with_watch(steps).flatten()
    }

    /// Whether it has to be known how many bytes an instruction accesses.
    #[must_use]
    pub fn notes_lines(&self) -> bool {
        self.with_steps(|_| ()).is_some()
    }

    /// Whether pages are open for the instruction that the calling thread runs next, and
    /// [`Self::stepped`] has to be called behind it.
    #[must_use]
    pub fn is_to_step(&self) -> bool {
        self.with_steps(|watch| watch.is_to_step()).unwrap_or(false)
    }

    /// The calling thread has run one instruction.
    pub fn stepped(&self) {
        if let Some(stopwatch) = self.observer().and_then(|o| o.stopwatch.as_ref()) {
            stopwatch.stepped();
        }
        let closed = self.with_steps(|watch| watch.stepped(&self.pages));
        self.must(closed.unwrap_or(Ok(())).map_err(NodeError::from));
        self.go_on_there();
    }
}
