//! An explicit task's memory, and what an implicit task must remember to be
//! the parent of explicit ones.
//!
//! Blocks live for ever and are recycled through free lists, so references to
//! them are `'static`, and looking at a block that has been recycled gives a
//! wrong answer at worst, never a dangling one. Whoever looks without owning
//! (see [`Task::descends_from`]) must bear that.

use super::depend::{Node, Scope};
use super::event::Event;
use super::group::Group;
use super::origin::Origin;
use super::room::Room;
use super::tally::Tally;
use crate::icv::Icvs;
use crate::observer;
use crate::observer::tool::TaskWords;
use crate::own::Own;
use crate::team::{Member, Team};
use fathomp_sys::outlined::{AtomicOutlined, Opaque, Outlined};
use fathomp_sys::static_ref::AtomicRef;
use fathomp_sys::task_arguments::{Arguments, address_of};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Words of an argument block that fit into the task itself.
const INLINE_WORDS: usize = 16;

/// Words of arguments that have room [on a stack](super::on_stack): 2 MiB.
pub(super) const ON_STACK_MAX: usize = 262_144;

/// See the module's documentation.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Task {
    // One cache line: all that an included task needs.
    parent: AtomicRef<Task>,
    /// Innermost taskgroup: the one the task was created in, then those it
    /// opens itself.
    group: AtomicRef<Group>,
    /// Set while the task's code runs, or is suspended, on that member.
    runner: AtomicRef<Member>,
    /// Next in a free list.
    pub(super) next: AtomicRef<Task>,
    /// Children that taskwait waits for.
    pub(super) children: Tally,
    traits: Own,
    /// Distance from the implicit task.
    depth: Own,
    // The next line: what a queued task needs besides.
    function: AtomicOutlined,
    data: AtomicUsize,
    team: AtomicRef<Team>,
    pub(super) priority: Own,
    /// Words of arguments, and their alignment.
    sizes: [Own; 2],
    pub(super) origin: Origin,
    words: [AtomicU64; INLINE_WORDS],
    cold: Cold,
    pub(crate) tool: TaskWords,
}

/// What few tasks need; [`Traits`] says which of it is set.
#[derive(Debug, Default)]
struct Cold {
    large: Mutex<Option<Box<[AtomicU64]>>>,
    icvs: Mutex<Option<Icvs>>,
    node: Mutex<Option<Arc<Node<Task>>>>,
    event: Mutex<Option<Arc<Event<Task>>>>,
    scope: Mutex<Option<Box<Scope<Task>>>>,
    room: Mutex<Option<Room>>,
}

/// Properties of a task, as a set of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits(u32);

impl Traits {
    /// The phase that waits for the task is an odd one.
    pub(crate) const ODD: Self = Self(1);
    /// All tasks inside run at once, in their parent's thread.
    pub(crate) const FINAL: Self = Self(1 << 1);
    /// Counted in its phase, parent and group, because its creator went on.
    pub(crate) const COUNTED: Self = Self(1 << 2);
    /// Has data environment ICVs other than the team's.
    pub(crate) const ICVS: Self = Self(1 << 3);
    /// Other tasks may depend on it.
    pub(crate) const NODE: Self = Self(1 << 4);
    /// Is complete only when an event has been fulfilled.
    pub(crate) const EVENT: Self = Self(1 << 5);
    /// Has an argument block too large to be inside.
    pub(crate) const LARGE: Self = Self(1 << 6);
    /// Has created tasks with dependences.
    pub(crate) const SCOPE: Self = Self(1 << 7);
    /// Another node has given it to this one, and counts it.
    pub(crate) const FOREIGN: Self = Self(1 << 8);
    /// Such a task that is complete, and of which its node has been told or soon will be.
    pub(crate) const ENDED: Self = Self(1 << 9);
    /// Its arguments lie where other nodes reach nothing, and cannot be moved: neither it nor
    /// what it creates may leave the node.
    pub(crate) const STAYS: Self = Self(1 << 10);
    /// Its arguments are in memory that other nodes reach, and must not be moved.
    pub(crate) const ROOM: Self = Self(1 << 11);
    /// The program has made objects among its arguments, which its code destroys.
    pub(crate) const OBJECTS: Self = Self(1 << 12);

    #[inline]
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[inline]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    #[inline]
    pub(crate) const fn with_if(self, other: Self, condition: bool) -> Self {
        if condition { self.with(other) } else { self }
    }

    /// Those of a task that belongs to this barrier phase.
    #[inline]
    pub(crate) const fn of_phase(phase: u32) -> Self {
        Self(phase & Self::ODD.0)
    }

    /// What children have in common with their parent.
    #[inline]
    pub(crate) const fn inherited(self) -> Self {
        Self(self.0 & (Self::ODD.0 | Self::FINAL.0 | Self::STAYS.0))
    }

    /// Index of the phase's counters.
    #[inline]
    pub(crate) const fn parity(self) -> usize {
        (self.0 & Self::ODD.0) as usize
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Words to leave out so that the rest is aligned.
#[inline]
fn skipped(place: &[AtomicU64], align: usize) -> usize {
    let start = place.first().map_or(0, |word| address_of(word).0);
    let skip = start.wrapping_neg() & align.saturating_sub(1);
    (skip / size_of::<u64>()).min(place.len())
}

impl Task {
    /// A block that belongs to no team yet: an implicit task's.
    pub(super) fn new() -> Self {
        Self {
            function: AtomicOutlined::empty(),
            data: AtomicUsize::new(0),
            parent: AtomicRef::new(None),
            group: AtomicRef::new(None),
            runner: AtomicRef::new(None),
            team: AtomicRef::new(None),
            next: AtomicRef::new(None),
            traits: Own::new(0),
            depth: Own::new(0),
            priority: Own::new(0),
            sizes: [const { Own::new(0) }; 2],
            origin: Origin::new(),
            children: Tally::new(),
            words: [const { AtomicU64::new(0) }; INLINE_WORDS],
            cold: Cold::default(),
            tool: TaskWords::new(),
        }
    }

    /// What tasks of other nodes descend from whose ancestors are not known here.
    pub(super) fn leak_root() -> &'static Self {
        Box::leak(Box::new(Self::new()))
    }

    /// A block for explicit tasks of `team`.
    pub(super) fn leak(team: &'static Team) -> &'static Self {
        let task = Self::new();
        task.team.store(Some(team), Ordering::Relaxed);
        Box::leak(Box::new(task))
    }

    /// The block becomes a new child of `parent`, with nothing to run yet. Its
    /// children must have been reset.
    #[inline]
    pub(super) fn begin(&self, parent: &'static Self, traits: Traits) {
        self.parent.store(Some(parent), Ordering::Relaxed);
        self.group.store(parent.group(), Ordering::Relaxed);
        self.traits.set(traits.0);
        self.depth.set(parent.depth.get() + 1);
    }

    /// Distance from the implicit task.
    #[inline]
    pub(super) fn depth(&self) -> u32 {
        self.depth.get()
    }

    /// The distance that it has on the node that created it.
    pub(super) fn set_depth(&self, depth: u32) {
        self.depth.set(depth);
    }

    #[inline]
    pub(super) fn set_function(&self, function: Outlined) {
        self.function.store(function, Ordering::Relaxed);
    }

    /// The block is an implicit task again, of a region whose tasks reduce
    /// into `group`, if that is some.
    #[inline]
    pub(super) fn begin_implicit(&self, member: &'static Member, group: Option<&'static Group>) {
        self.group.store(group, Ordering::Relaxed);
        self.runner.store(Some(member), Ordering::Relaxed);
        self.children.reset();
        self.forget_scope();
    }

    /// The task's code; set before it is queued.
    #[inline]
    pub(super) fn function(&self) -> Option<Outlined> {
        self.function.load(Ordering::Relaxed)
    }

    /// The task's code, with its copy of the arguments.
    #[inline]
    pub(super) fn call(&'static self) {
        // Set before the task is queued.
        if let Some(function) = self.function.load(Ordering::Relaxed) {
            observer::call_task(self, function, self.data());
        }
    }

    /// Whether another node has given it away.
    pub(crate) fn is_foreign(&self) -> bool {
        self.traits().has(Traits::FOREIGN)
    }

    /// The task's code is not going to run.
    #[cold]
    pub(super) fn abandon(&self) {
        if let Some(function) = self.function() {
            function.abandon(self.data());
        }
    }

    /// Address of the task's copy of the arguments.
    #[inline]
    pub(super) fn data(&self) -> Opaque {
        Opaque(self.data.load(Ordering::Relaxed))
    }

    /// The task gets a copy of the arguments, whose first words become `head`.
    #[inline]
    pub(super) fn copy_arguments(&self, arguments: &Arguments, head: &[u64]) {
        match arguments.copy_to(&self.words) {
            Some(first) => self.use_copy(&self.words[first..], head),
            None => self.copy_large(arguments, head),
        }
        let words = u32::try_from(arguments.words()).unwrap_or(u32::MAX);
        let align = u32::try_from(arguments.align()).unwrap_or(u32::MAX);
        self.sizes[0].set(words);
        self.sizes[1].set(align);
        if arguments.must_be_copied() || arguments.words_needed() > ON_STACK_MAX {
            self.add(Traits::STAYS);
        }
        if arguments.must_be_copied() {
            self.add(Traits::OBJECTS);
        }
    }

    /// The same with a copy that the program has made, in `room`, which is given back with the
    /// block.
    pub(super) fn use_room(&self, data: Opaque, room: Room) {
        *lock(&self.cold.room) = Some(room);
        self.add(Traits::ROOM.with(Traits::OBJECTS));
        self.use_copy_at(data);
    }

    fn use_copy_at(&self, data: Opaque) {
        self.data.store(data.0, Ordering::Relaxed);
        self.sizes[0].set(0);
        self.sizes[1].set(0);
    }

    /// Gives the room back that it has, if any.
    pub(super) fn take_room(&self) -> Option<Room> {
        let has_room = self.traits().has(Traits::ROOM);
        has_room.then(|| lock(&self.cold.room).take()).flatten()
    }

    /// The same with arguments that have come from another node.
    pub(super) fn take_arguments(&self, words: &[u64], align: u32) {
        if let ([data], 0) = (words, align) {
            return self.use_copy_at(Opaque(*data as usize));
        }
        self.fill(words.len(), align, |place| self.use_copy(place, words));
    }

    /// The same with a copy of what `other` has.
    pub(super) fn copy_arguments_of(&self, other: &Self) {
        let (_, align) = other.sizes();
        other.with_arguments(|words| {
            self.fill(words.len(), align as u32, |place| {
                for (to, from) in place.iter().zip(words) {
                    to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
                }
                self.use_copy(place, &[]);
            });
        });
    }

    /// The first words of its arguments become `head`, as far as there are so many.
    #[inline]
    pub(super) fn set_head(&self, head: &[u64]) {
        self.with_arguments(|words| {
            for (word, &value) in words.iter().zip(head) {
                word.store(value, Ordering::Relaxed);
            }
        });
    }

    /// Has `write` write so many words of arguments, so aligned, to where the task has them.
    fn fill(&self, words: usize, align: u32, write: impl FnOnce(&[AtomicU64])) {
        let room = words + align as usize / size_of::<u64>();
        let aligned = |place: &[AtomicU64]| skipped(place, align as usize);
        if room <= INLINE_WORDS {
            write(&self.words[aligned(&self.words)..]);
        } else {
            let place: Box<[AtomicU64]> = (0..room).map(|_| AtomicU64::new(0)).collect();
            write(&place[aligned(&place)..]);
            *lock(&self.cold.large) = Some(place);
            self.add(Traits::LARGE);
        }
        self.sizes[0].set(words as u32);
        self.sizes[1].set(align);
    }

    /// How many words of arguments it has, and how they are aligned.
    #[inline]
    pub(super) fn sizes(&self) -> (usize, usize) {
        let [words, align] = &self.sizes;
        (words.get() as usize, align.get() as usize)
    }

    /// Address and bytes of the copy of the arguments, if the block has one.
    pub(crate) fn copied_arguments(&self) -> Option<(Opaque, usize)> {
        let (words, _) = self.sizes();
        (words != 0).then(|| (self.data(), words * size_of::<u64>()))
    }

    /// Calls `read` with the arguments.
    pub(super) fn with_arguments<R>(&self, read: impl FnOnce(&[AtomicU64]) -> R) -> R {
        let (words, align) = self.sizes();
        let of = |place: &'_ [AtomicU64]| {
            let skip = skipped(place, align);
            skip..(skip + words).min(place.len())
        };
        if self.traits().has(Traits::LARGE) {
            let large = lock(&self.cold.large);
            let place = large.as_deref().unwrap_or_default();
            return read(&place[of(place)]);
        }
        read(&self.words[of(&self.words)])
    }

    #[cold]
    fn copy_large(&self, arguments: &Arguments, head: &[u64]) {
        let count = arguments.words_needed();
        let words: Box<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
        // Enough words wherever they begin.
        if let Some(first) = arguments.copy_to(&words) {
            self.use_copy(&words[first..], head);
        }
        *lock(&self.cold.large) = Some(words);
        self.add(Traits::LARGE);
    }

    #[inline]
    fn use_copy(&self, words: &[AtomicU64], head: &[u64]) {
        for (word, &value) in words.iter().zip(head) {
            word.store(value, Ordering::Relaxed);
        }
        let data = words.first().map_or(Opaque(0), address_of);
        self.data.store(data.0, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn traits(&self) -> Traits {
        Traits(self.traits.get())
    }

    #[inline]
    pub(super) fn add(&self, traits: Traits) {
        self.traits.set(self.traits().with(traits).0);
    }

    #[inline]
    pub(super) fn team(&self) -> Option<&'static Team> {
        self.team.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn parent(&self) -> Option<&'static Self> {
        self.parent.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn group(&self) -> Option<&'static Group> {
        self.group.load(Ordering::Relaxed)
    }

    /// Whether `task`'s group has been cancelled.
    #[inline]
    pub(super) fn is_discarded(&self) -> bool {
        self.group().is_some_and(Group::is_cancelled)
    }

    #[inline]
    pub(super) fn set_group(&self, group: Option<&'static Group>) {
        self.group.store(group, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn runner(&self) -> Option<&'static Member> {
        self.runner.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_runner(&self, member: Option<&'static Member>) {
        self.runner.store(member, Ordering::Relaxed);
    }

    /// Whether `ancestor`, a task that runs or is suspended on the calling
    /// thread, is an ancestor of this one. If this task is taken by another
    /// thread meanwhile the answer means nothing.
    #[inline]
    pub(super) fn descends_from(&'static self, ancestor: &'static Self) -> bool {
        let depth = ancestor.depth.get();
        let mut task = self;
        // Strictly upwards, so it ends whatever is read.
        while let Some(parent) = task.parent() {
            if std::ptr::eq(parent, ancestor) {
                return true;
            }
            let above = parent.depth.get();
            if above <= depth || above >= task.depth.get() {
                return false;
            }
            task = parent;
        }
        false
    }

    pub(super) fn set_icvs(&self, icvs: Icvs) {
        *lock(&self.cold.icvs) = Some(icvs);
        self.add(Traits::ICVS);
    }

    pub(super) fn icvs(&self) -> Option<Icvs> {
        *lock(&self.cold.icvs)
    }

    pub(super) fn set_node(&self, node: Arc<Node<Self>>) {
        *lock(&self.cold.node) = Some(node);
        self.add(Traits::NODE);
    }

    pub(super) fn take_node(&self) -> Option<Arc<Node<Self>>> {
        lock(&self.cold.node).take()
    }

    pub(super) fn set_event(&self, event: Arc<Event<Self>>) {
        *lock(&self.cold.event) = Some(event);
        self.add(Traits::EVENT);
    }

    pub(super) fn take_event(&self) -> Option<Arc<Event<Self>>> {
        lock(&self.cold.event).take()
    }

    /// What the children of this task depend on.
    pub(super) fn with_scope<R>(&self, use_it: impl FnOnce(&mut Scope<Self>) -> R) -> R {
        if !self.traits().has(Traits::SCOPE) {
            self.add(Traits::SCOPE);
        }
        use_it(lock(&self.cold.scope).get_or_insert_default())
    }

    /// All children are complete: nothing that comes can depend on them.
    #[inline]
    pub(super) fn forget_scope(&self) {
        if self.traits().has(Traits::SCOPE) {
            self.traits.set(self.traits().without(Traits::SCOPE).0);
            *lock(&self.cold.scope) = None;
        }
    }

    /// Drops what must not wait for the block's next use.
    #[inline]
    pub(super) fn clear(&self) {
        if self.traits().has(Traits::LARGE) {
            *lock(&self.cold.large) = None;
        }
        self.forget_scope();
    }
}
