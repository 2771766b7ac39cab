//! Pages that nodes of one machine take out of each other's memory by themselves, and
//! diffs that they bring there, as remote direct memory access does on a cluster.
//!
//! A node shows to the others which of its pages they may take, and what those
//! contain ([`Committed`]); whoever takes some leaves a note, and whoever brings diffs
//! says so. That lies in memory which the nodes share; each other's pages they
//! have mapped.

mod bringing;
mod copying;
mod updating;

pub(crate) use updating::Begun;

use crate::copies::Copies;
use crate::keeps::Keeps;
use crate::locks::{Attempt, Locks};
use crate::log::{Logs, Reader};
use fathomp_base::{NodeId, PageId, ThreadId};
use fathomp_dsm::order::ROOT;
use fathomp_dsm::{
    Admits, Committed, Holder, Interval, LockId, Notice, Offer, PageRange, PageSet, Seen,
    Sequenced, Taking, Told, Underway, Wanted, Wants,
};
use fathomp_sys::cluster::backing::Backing;
use fathomp_sys::cluster::pages::Pages;
use fathomp_sys::process::yield_now;
use fathomp_sys::shared_memory::{Sections, SharedMemory};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Notes that can be left for a node before it looks. More are lost: then it thinks
/// that others have no use for these pages.
const NOTES: usize = 4096;

/// What all nodes of a cluster show, made before they are forked.
#[derive(Debug)]
pub(crate) struct Windows {
    shared: SharedMemory,
    nodes: u16,
    /// Words that tell of a node's pages, a bit each.
    bits: usize,
    backings: Vec<Backing>,
    logs: Logs,
    locks: Locks,
    /// Where what is part of a page differs from page to page.
    copies: Option<Copies>,
    keeps: Option<Keeps>,
}

impl Windows {
    /// For so many nodes with so many pages, and whether they tell what is part of each.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new(nodes: u16, pages: u32, tell_versions: bool) -> io::Result<Self> {
        let copies = tell_versions.then(|| Copies::new(nodes, pages));
        let keeps = tell_versions.then(|| Keeps::new(nodes));
        let bits = pages.div_ceil(u64::BITS) as usize;
        let sections = Sections {
            halves: 0,
            words: usize::from(nodes) * View::words(nodes, bits),
            bytes: 0,
        };
        let backings = (0..nodes).map(|_| Backing::new());
        Ok(Self {
            shared: SharedMemory::new(sections)?,
            nodes,
            bits,
            backings: backings.collect::<io::Result<_>>()?,
            logs: Logs::new(nodes)?,
            locks: Locks::new()?,
            copies: copies.transpose()?,
            keeps: keeps.transpose()?,
        })
    }

    /// Node `me`'s memory and what it has to do with the others'; nothing if there is
    /// no such node.
    pub(crate) fn join(mut self, me: NodeId) -> Option<(Backing, Window)> {
        let number = usize::from(me.0);
        if number >= self.backings.len() {
            return None;
        }
        let before = self.backings.drain(..number).collect();
        let own = self.backings.remove(0);
        let window = Window {
            before,
            all: self,
            me,
            passed: AtomicU32::new(0),
        };
        Some((own, window))
    }
}

/// A node's window, and its view of the others'.
#[derive(Debug)]
pub(crate) struct Window {
    /// Memory of the nodes before this one; that of those behind it is in `all`.
    before: Vec<Backing>,
    all: Windows,
    me: NodeId,
    /// Barriers of the program that this node has passed. The protocol's epochs are others: it
    /// tidies up in some of their own.
    passed: AtomicU32,
}

/// What becomes of what a node [tells](Told).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A message has to be sent.
    Send,
    Done,
    /// The thread has what it wanted, and has to learn this.
    Learned(ThreadId, Vec<Notice>),
    /// The thread does not get the lock.
    Refused(ThreadId),
    /// It has the lock; the sequencer has to be asked what it has to learn.
    Ask(ThreadId),
}

/// What one node shows.
struct View<'a> {
    epoch: &'a AtomicU64,
    /// Notes left since the node looked last.
    noted: &'a AtomicU64,
    /// The epoch in which others may bring diffs, and which, see [`admission`].
    admits: &'a AtomicU64,
    /// At the sequencer: whether there is a log.
    logs: &'a AtomicU64,
    /// Of each node, the last interval whose diffs have been applied.
    received: &'a [AtomicU64],
    /// At the sequencer: of each node, the last interval that it knows.
    contained: &'a [AtomicU64],
    /// How many threads of each node are bringing diffs, or update a page.
    bringing: &'a [AtomicU64],
    /// Of each node, the last interval whose diffs it has begun to bring.
    begun: &'a [AtomicU64],
    notes: &'a [AtomicU64],
    open: &'a [AtomicU64],
    lent: &'a [AtomicU64],
    /// Nobody brings diffs of these; those that are lent can be updated.
    reserved: &'a [AtomicU64],
}

impl View<'_> {
    const HEAD: usize = 4;

    fn words(nodes: u16, bits: usize) -> usize {
        Self::HEAD + 4 * usize::from(nodes) + NOTES + 3 * bits
    }

    fn shows(&self, epoch: u32) -> bool {
        self.epoch.load(Ordering::Acquire) == u64::from(epoch)
    }

    fn offer(&self, page: PageId) -> Offer {
        let is_set = |bits: &[AtomicU64]| {
            words(page.into()).all(|(at, bit)| {
                let word = bits.get(at);
                word.is_some_and(|word| word.load(Ordering::Acquire) & bit != 0)
            })
        };
        // First what is reserved: that ends only when nobody is bringing or updating.
        match (is_set(self.reserved), is_set(self.open), is_set(self.lent)) {
            (true, _, true) => Offer::Updated,
            (true, _, false) => Offer::Reserved,
            (false, _, true) => Offer::Lent,
            (false, true, false) => Offer::Open,
            (false, false, false) => Offer::Closed,
        }
    }

    /// Waits until nobody brings diffs or updates a page who has begun before; `goes_on` is
    /// asked meanwhile.
    fn await_bringing(&self, goes_on: impl Fn() -> bool) {
        let bringing = || {
            self.bringing
                .iter()
                .any(|by| by.load(Ordering::SeqCst) != 0)
        };
        while bringing() && goes_on() {
            yield_now();
        }
    }
}

/// The words that hold a bit for each of some pages, and these bits.
fn words(pages: PageRange) -> impl Iterator<Item = (usize, u64)> {
    let (start, end) = (u64::from(pages.first().0), pages.end());
    let width = u64::from(u64::BITS);
    (start / width..end.div_ceil(width)).map(move |word| {
        let from = start.max(word * width) - word * width;
        let to = end.min((word + 1) * width) - word * width;
        let ones = u64::MAX >> (width - (to - from));
        // As an index it fits: there are fewer words than pages.
        (usize::try_from(word).unwrap_or(usize::MAX), ones << from)
    })
}

/// A word that says in which epoch which diffs may be brought; at first none.
fn admission(epoch: u32, admits: Admits) -> u64 {
    let which = match admits {
        Admits::Nothing => return 0,
        Admits::Parts => 1,
        Admits::All => 2,
    };
    u64::from(epoch) << 2 | which
}

fn interval(word: &AtomicU64) -> Interval {
    let last = u32::try_from(word.load(Ordering::Acquire));
    Interval(last.unwrap_or_default())
}

/// Shows the last interval of each node. Others may be ahead of who shows it.
fn show_all(words: &[AtomicU64], seen: &Seen) {
    for (node, last) in seen.iter() {
        if let Some(word) = words.get(usize::from(node.0))
            && word.load(Ordering::Relaxed) < last.0.into()
        {
            word.fetch_max(last.0.into(), Ordering::Release);
        }
    }
}

/// A note: a range of pages, never 0.
fn note(pages: PageRange) -> u64 {
    u64::from(pages.len()) << 32 | u64::from(pages.first().0)
}

fn pages_of(note: u64) -> Option<PageRange> {
    let [first, pages] = [note & u64::from(u32::MAX), note >> 32].map(u32::try_from);
    PageRange::new(PageId(first.ok()?), pages.ok()?)
}

impl Window {
    fn view(&self, node: NodeId) -> Option<View<'_>> {
        let nodes = self.all.nodes;
        let words = View::words(nodes, self.all.bits);
        let start = usize::from(node.0) * words;
        let words = self.all.shared.words().get(start..start + words)?;
        let ([epoch, noted, admits, logs], rest) = words.split_first_chunk::<{ View::HEAD }>()?;
        let (received, rest) = rest.split_at_checked(usize::from(nodes))?;
        let (contained, rest) = rest.split_at_checked(usize::from(nodes))?;
        let (bringing, rest) = rest.split_at_checked(usize::from(nodes))?;
        let (begun, rest) = rest.split_at_checked(usize::from(nodes))?;
        let (notes, rest) = rest.split_at_checked(NOTES)?;
        let (open, rest) = rest.split_at_checked(self.all.bits)?;
        let (lent, reserved) = rest.split_at_checked(self.all.bits)?;
        Some(View {
            epoch,
            noted,
            admits,
            logs,
            received,
            contained,
            bringing,
            begun,
            notes,
            open,
            lent,
            reserved,
        })
    }

    fn backing(&self, node: NodeId) -> Option<&Backing> {
        let (number, me) = (usize::from(node.0), usize::from(self.me.0));
        match number.checked_sub(me + 1) {
            Some(behind) => self.all.backings.get(behind),
            None => self.before.get(number),
        }
    }

    /// Lets others take pages, or forbids it. Who looks meanwhile finds at most what was
    /// offered before, or that a page is lent. When it returns, nobody brings diffs of a page or
    /// updates it who may not; `goes_on` is asked while somebody does.
    pub(crate) fn offer(&self, pages: PageRange, offer: Offer, goes_on: impl Fn() -> bool) {
        let Some(view) = self.view(self.me) else {
            return;
        };
        for (at, bits) in words(pages) {
            let lent_and_reserved = view.lent.get(at).zip(view.reserved.get(at));
            let Some((open, (lent, reserved))) = view.open.get(at).zip(lent_and_reserved) else {
                return;
            };
            let set = |word: &AtomicU64| word.fetch_or(bits, Ordering::SeqCst);
            let clear = |word: &AtomicU64| word.fetch_and(!bits, Ordering::SeqCst);
            let was_reserved = reserved.load(Ordering::SeqCst) & bits != 0;
            if was_reserved && offer != Offer::Updated {
                clear(lent);
                view.await_bringing(&goes_on);
                clear(reserved);
            }
            match offer {
                Offer::Reserved | Offer::Twinned => {
                    clear(open);
                    clear(lent);
                    set(reserved);
                    view.await_bringing(&goes_on);
                }
                // It was reserved before.
                Offer::Updated => {
                    set(lent);
                }
                Offer::Lent => {
                    set(lent);
                    clear(open);
                }
                Offer::Open => {
                    set(open);
                    clear(lent);
                }
                Offer::Old | Offer::Twin | Offer::Closed => {
                    clear(open);
                    clear(lent);
                }
            }
        }
    }

    /// Shows what this node's pages contain. To be called after they do.
    pub(crate) fn show(&self, committed: Committed) {
        let Some(view) = self.view(self.me) else {
            return;
        };
        show_all(view.received, committed.received);
        let epoch = committed.epoch.into();
        if view.epoch.load(Ordering::Relaxed) != epoch {
            view.epoch.store(epoch, Ordering::Release);
        }
    }

    /// Lets others bring diffs, or forbids it; true if that is new. When it returns, nobody
    /// does who may not; `goes_on` is asked while somebody does.
    pub(crate) fn admit(&self, committed: Committed, goes_on: impl Fn() -> bool) -> bool {
        let Some(view) = self.view(self.me) else {
            return false;
        };
        let admits = admission(committed.epoch, committed.admits);
        if view.admits.load(Ordering::Relaxed) == admits {
            return false;
        }
        view.admits.store(admits, Ordering::SeqCst);
        view.await_bringing(goes_on);
        true
    }

    /// Shows what the sequencer knows, at its node.
    pub(crate) fn show_sequenced(&self, sequenced: Sequenced) {
        if let Some(view) = self.view(self.me) {
            show_all(view.contained, sequenced.contains);
            view.logs.store((!sequenced.asks).into(), Ordering::SeqCst);
        }
    }

    /// Enters an interval in the log, and does what is wanted.
    pub(crate) fn tell(&self, told: Told, underway: &Underway) -> Answer {
        self.try_to_tell(told, underway).unwrap_or(Answer::Send)
    }

    fn try_to_tell(&self, told: Told, underway: &Underway) -> Option<Answer> {
        let Windows { logs, locks, .. } = &self.all;
        let sequencer = self.view(ROOT)?;
        let contained = sequencer.contained.get(usize::from(self.me.0))?;
        let has_log = sequencer.logs.load(Ordering::SeqCst) != 0;
        if !has_log || !underway.may_tell(interval(contained)) {
            return None;
        }
        let enter = |notice| logs.enter(told.epoch, self.me, notice);
        let read = |end| {
            let reader = Reader::Node(self.me);
            logs.read(told.epoch, reader, Some(end))
        };
        Some(match told.wants {
            Wants::Nothing => {
                enter(told.notice)?;
                Answer::Done
            }
            Wants::Log(thread) => Answer::Learned(thread, read(enter(told.notice)?)?),
            Wants::Lock {
                lock,
                thread,
                waits,
            } => {
                enter(told.notice)?;
                let passed = self.passed.load(Ordering::Relaxed);
                match locks.take(lock, self.me, waits, passed) {
                    Attempt::Held if !waits => Answer::Refused(thread),
                    Attempt::Held | Attempt::Kept | Attempt::Sequenced => return None,
                    // If the log has closed meanwhile, only the sequencer knows all.
                    Attempt::Taken => match enter(None).and_then(read) {
                        Some(notices) => Answer::Learned(thread, notices),
                        None => Answer::Ask(thread),
                    },
                }
            }
            Wants::Unlock(lock) => {
                enter(told.notice)?;
                locks.give(lock, self.me).then_some(Answer::Done)?
            }
        })
    }

    /// Takes a lock that this node keeps.
    pub(crate) fn take_kept(&self, lock: LockId) -> bool {
        self.all.locks.take_kept(lock, self.me)
    }

    /// Keeps a lock that this node has, if that makes sense, see [`Holder`]. By a thread that
    /// takes part in barriers.
    pub(crate) fn keep(&self, lock: LockId) -> bool {
        let passed = self.passed.load(Ordering::Relaxed);
        self.all.locks.keep(lock, self.me, passed)
    }

    /// This node has passed so many barriers: before any of its threads goes on.
    pub(crate) fn pass_barrier(&self, passed: u32) {
        self.passed.store(passed, Ordering::Relaxed);
    }

    /// The sequencer takes a lock over. Who has it.
    pub(crate) fn claim(&self, lock: LockId) -> Option<Holder> {
        self.all.locks.claim(lock)
    }

    /// Everybody may take a lock again.
    pub(crate) fn unclaim(&self, lock: LockId) {
        self.all.locks.unclaim(lock);
    }

    /// What the sequencer has not been told of the log. None if that cannot be read.
    pub(crate) fn logged(&self, epoch: u32) -> Option<Vec<Notice>> {
        let Windows { logs, .. } = &self.all;
        logs.read(epoch, Reader::Sequencer, None)
    }

    /// The sequencer enters an interval. If there is no room, messages tell.
    pub(crate) fn log(&self, epoch: u32, notice: &Notice) {
        self.all.logs.enter(epoch, self.me, Some(notice));
    }

    /// Takes pages of another node into those of this one, which the program may not
    /// touch: those that it offers. None if there are none.
    pub(crate) fn take(&self, from: NodeId, wanted: Wanted, pages: &Pages) -> Option<Taking> {
        let (view, backing) = self.view(from).zip(self.backing(from))?;
        let shows = || view.shows(wanted.epoch).then_some(());
        shows()?;
        let mut received = Seen::nothing(self.all.nodes);
        for (word, node) in view.received.iter().zip((0..).map(NodeId)) {
            received.learn(node, interval(word));
        }
        if !wanted.is_part_of(wanted.epoch, &received) {
            return None;
        }
        let taking = wanted.taking(|page| view.offer(page));
        for range in taking.taken.ranges() {
            let copied = pages.copy_from(backing, range.first(), range.len());
            copied.ok()?;
        }
        // If it has begun another epoch meanwhile, it may offer less.
        fence(Ordering::Acquire);
        shows()?;
        for range in taking.taken.ranges() {
            let number = view.noted.fetch_add(1, Ordering::Relaxed);
            let place = usize::try_from(number).ok().and_then(|n| view.notes.get(n));
            if let Some(place) = place {
                place.store(note(*range), Ordering::Relaxed);
            }
        }
        (!taking.taken.is_empty()).then_some(taking)
    }

    /// Copies a page that another node left where it is into that of this one, which the
    /// program may not touch. None if there is no such node.
    pub(crate) fn collect(
        &self,
        from: NodeId,
        page: PageId,
        pages: &Pages,
    ) -> Option<io::Result<()>> {
        let backing = self.backing(from)?;
        Some(pages.copy_from(backing, page, 1))
    }

    /// What others have taken since this was asked last. Notes that are being written
    /// come the next time, or never.
    pub(crate) fn taken(&self) -> PageSet {
        let Some(view) = self.view(self.me) else {
            return PageSet::default();
        };
        if view.noted.load(Ordering::Relaxed) == 0 {
            return PageSet::default();
        }
        let notes = usize::try_from(view.noted.swap(0, Ordering::Relaxed));
        let notes = notes.unwrap_or(NOTES).min(NOTES);
        let notes = view.notes[..notes].iter();
        let noted = notes.filter_map(|note| pages_of(note.swap(0, Ordering::Relaxed)));
        let mut pages: Vec<PageId> = noted.flat_map(PageRange::iter).collect();
        pages.sort_unstable();
        pages.dedup();
        PageSet::from_sorted(&pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u32, pages: u32) -> PageRange {
        PageRange::new(PageId(first), pages).unwrap()
    }

    #[test]
    fn each_page_has_its_bit() {
        let of = |first, pages| words(range(first, pages)).collect::<Vec<_>>();
        assert_eq!(of(0, 1), [(0, 1)]);
        assert_eq!(of(64, 64), [(1, u64::MAX)]);
        assert_eq!(of(62, 68), [(0, 3 << 62), (1, u64::MAX), (2, 3)]);
        let last = of(u32::MAX, 1);
        assert_eq!(last, [(u32::MAX as usize / 64, 1 << 63)]);
    }

    #[test]
    fn notes_are_found_once() {
        let windows = Windows::new(2, 1000, false).unwrap();
        let (_, window) = windows.join(NodeId(1)).unwrap();
        let view = window.view(NodeId(1)).unwrap();
        view.notes[0].store(note(range(7, 3)), Ordering::Relaxed);
        view.notes[1].store(note(range(9, 2)), Ordering::Relaxed);
        // More than there was room for.
        view.noted.store(NOTES as u64 + 5, Ordering::Relaxed);
        assert_eq!(window.taken().ranges(), [range(7, 4)]);
        assert!(window.taken().is_empty());
    }

    #[test]
    fn who_shows_another_epoch_gives_nothing() {
        let windows = Windows::new(2, 1000, false).unwrap();
        let (_, window) = windows.join(NodeId(0)).unwrap();
        let mut received = Seen::nothing(2);
        received.learn(NodeId(1), Interval(3));
        let committed = Committed {
            epoch: 5,
            received: &received,
            begun: &received,
            known: &received,
            admits: Admits::All,
        };
        window.show(committed);
        window.offer(range(10, 100), Offer::Open, || true);
        window.offer(range(20, 1), Offer::Closed, || true);
        window.offer(range(30, 70), Offer::Lent, || true);
        window.offer(range(50, 5), Offer::Open, || true);
        let view = window.view(NodeId(0)).unwrap();
        assert!(view.shows(5) && !view.shows(4) && !view.shows(6));
        assert_eq!(view.received[1].load(Ordering::Relaxed), 3);
        let offered = |what| {
            (0..2000)
                .map(PageId)
                .filter(|p| view.offer(*p) == what)
                .collect()
        };
        let [open, lent]: [PageSet; 2] = [Offer::Open, Offer::Lent].map(offered);
        let kept = [range(10, 10), range(21, 9), range(50, 5), range(100, 10)];
        assert_eq!(open.ranges(), kept);
        assert_eq!(lent.ranges(), [range(30, 20), range(55, 45)]);
    }
}
