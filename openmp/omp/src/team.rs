//! A team of threads, and what each member keeps while it is in it.
//!
//! Teams live for ever and are reused: a thread that forks repeatedly finds its
//! last team waiting, workers included. That makes every reference to a team
//! or member `'static`, and starting a region one store.

use crate::cluster::Nodes;
use crate::event_count::{EventCount, SpinPolicy};
use crate::icv::Icvs;
use crate::interposer::Marks;
use crate::observer::AtEnd;
use crate::observer::tool::{MemberWords, TeamWords};
use crate::own::Own;
use crate::places::{Spot, TeamBinding};
use crate::rendezvous::Rendezvous;
use crate::task;
use crate::worker::Worker;
use crate::worksharing;
use fathomp_sys::float::Control;
use fathomp_sys::outlined::AtomicOutlined;
use fathomp_sys::own_cell::OwnCell;
use fathomp_sys::static_ref::AtomicRef;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// A team. Written by its primary thread between regions, read by all members.
pub struct Team {
    pub(crate) dock: ForkSlot,
    pub(crate) barrier: Rendezvous,
    /// Workers that are through with the region; its phase is the order's number.
    pub(crate) join: Rendezvous,
    pub(crate) tasks: task::Pool,
    pub(crate) shares: worksharing::Shares,
    pub(crate) cancelled: AtomicBool,
    /// ICVs for the members' implicit tasks; read when the dock's stamp is new.
    pub(crate) icvs: Mutex<Icvs>,
    /// How the members are dealt over places; read when the dock's stamp is new.
    pub(crate) binding: Mutex<Option<TeamBinding>>,
    /// Member of the enclosing team that formed this one; none at level 0.
    pub(crate) parent: AtomicRef<Member>,
    /// Threads of the contention group this team belongs to.
    pub(crate) group: AtomicRef<Group>,
    pub(crate) marks: Marks,
    pub(crate) at_end: AtEnd,
    pub(crate) tool: TeamWords,
    members: Box<[Member]>,
    /// Workers docked here: seat `i` is member `i + 1`.
    pub(crate) seats: Own,
}

/// Where a team's workers wait for the next region, and what they need to know
/// to begin it: half a line, 64 bytes, so that one transfer brings all of it.
/// The other half is read by those who ask, or record.
#[repr(C, align(128))]
pub(crate) struct ForkSlot {
    /// [`Order`]: bumped to start a region.
    pub(crate) order: AtomicU64,
    pub(crate) bell: EventCount,
    pub(crate) function: AtomicOutlined,
    pub(crate) data: AtomicUsize,
    /// How members wait; a [`SpinPolicy`].
    pub(crate) patience: AtomicU32,
    /// Barrier phase all members start from.
    pub(crate) phase: AtomicU32,
    /// Number from which all members count their worksharing constructs.
    pub(crate) construct: AtomicU32,
    /// Changes when [`Team::icvs`] does.
    pub(crate) icv_stamp: AtomicU32,
    /// Changes when the members' places do.
    pub(crate) place_stamp: AtomicU32,
    /// Thread number of the first member on this node.
    pub(crate) first: AtomicU32,
    /// Members on all nodes.
    pub(crate) total: AtomicU32,
    /// [`Ways`].
    pub(crate) ways: AtomicU32,

    /// The cluster, if members are on several nodes.
    pub(crate) nodes: AtomicRef<Nodes>,
    pub(crate) level: AtomicU32,
    pub(crate) active_level: AtomicU32,
    /// For the recording: this execution, its code, and when it was asked for.
    pub(crate) instance: AtomicU64,
    pub(crate) set: AtomicU64,
    pub(crate) site: AtomicU32,
    /// Who decided how many threads it has; a [`Decider`](crate::observer::Decider).
    pub(crate) decider: AtomicU32,
    pub(crate) fork: AtomicU64,
}

const _: () = assert!(std::mem::offset_of!(ForkSlot, nodes) == 64);

/// In what way members begin a region: whether it began with a worksharing construct
/// (`GOMP_parallel_loop_*`), and the floating-point environment that they get, if any.
#[derive(Clone, Copy)]
pub(crate) struct Ways(pub(crate) u32);

impl Ways {
    const PRESET: u32 = 1;
    const FLOATS: u32 = 2;

    #[inline]
    pub(crate) fn word(preset: bool, floats: Option<Control>) -> u32 {
        let floats = floats.map_or(0, |control| Self::FLOATS | control << 8);
        floats | if preset { Self::PRESET } else { 0 }
    }

    #[inline]
    pub(crate) fn has_preset(self) -> bool {
        self.0 & Self::PRESET != 0
    }

    #[inline]
    pub(crate) fn floats(self) -> Option<Control> {
        (self.0 & Self::FLOATS != 0).then_some(self.0 >> 8)
    }
}

/// What [`ForkSlot::order`] holds: the number of the region and the size of its
/// team, in one word so that a late worker cannot mix up two regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order(pub(crate) u64);

impl Order {
    /// Size that tells workers to leave the team.
    pub(crate) const DISMISS: u32 = 0;

    #[inline]
    pub(crate) const fn new(number: u32, size: u32) -> Self {
        Self((number as u64) << 32 | size as u64)
    }

    /// The order after this one, to `size` members.
    #[inline]
    pub(crate) const fn next(self, size: u32) -> Self {
        Self::new(self.number().wrapping_add(1), size)
    }

    /// The same order number with only the primary thread at work.
    #[inline]
    pub(crate) const fn alone(self) -> Self {
        Self::new(self.number(), 1)
    }

    #[inline]
    pub(crate) const fn number(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(crate) const fn size(self) -> u32 {
        self.0 as u32
    }
}

/// Threads that share a thread limit: an initial thread and all that its
/// regions employ.
#[derive(Debug, Default)]
pub struct Group {
    /// Threads employed now, the initial one not counted.
    pub(crate) employed: AtomicU32,
    /// Number of the initial team in its league and size of the league
    /// (1 outside a `teams` construct).
    pub team_num: AtomicU32,
    /// See `team_num`; 0 stands for 1.
    pub num_teams: AtomicU32,
}

/// A thread's place in a team: its implicit task. Only that thread writes it.
#[repr(align(128))]
pub struct Member {
    team: AtomicRef<Team>,
    worker: AtomicRef<Worker>,
    index: u32,
    thread_num: Own,
    /// Barrier phases this member has passed; equal in all members between
    /// barriers. Its parity names the set of tasks that the next barrier awaits.
    pub(crate) phase: Own,
    icv_stamp: Own,
    pub(crate) place_stamp: Own,
    pub(crate) spot: Spot,
    icvs: OwnCell<Option<Icvs>>,
    /// The explicit task this member runs; none in its implicit task.
    pub(crate) task: task::Current,
    pub(crate) share: worksharing::Cursor,
    pub(crate) tool: MemberWords,
}

impl Team {
    /// A new team that can hold `capacity` members, 1 or more.
    pub(crate) fn leak(capacity: u32, group: Option<&'static Group>) -> &'static Self {
        let icvs = crate::runtime::runtime().initial_icvs();
        let members = (0..capacity).map(|num| Member::new(num, icvs)).collect();
        let team: &'static Self = Box::leak(Box::new(Self {
            dock: ForkSlot::new(),
            barrier: Rendezvous::new(capacity),
            join: Rendezvous::new(capacity),
            tasks: task::Pool::new(),
            shares: worksharing::Shares::new(capacity),
            cancelled: AtomicBool::new(false),
            icvs: Mutex::new(icvs),
            binding: Mutex::new(None),
            parent: AtomicRef::new(None),
            group: AtomicRef::new(group),
            marks: Marks::new(),
            at_end: AtEnd::default(),
            tool: TeamWords::new(),
            members,
            seats: Own::new(0),
        }));
        for member in &team.members {
            member.team.store(Some(team), Ordering::Relaxed);
        }
        team
    }

    /// Threads in the current region, on all nodes.
    #[inline]
    pub fn size(&self) -> u32 {
        self.dock.total.load(Ordering::Relaxed)
    }

    /// Threads in the current region in this process.
    #[inline]
    pub(crate) fn local_size(&self) -> u32 {
        self.order().size()
    }

    /// The cluster, if the current region has members on several nodes.
    #[inline]
    pub(crate) fn nodes(&self) -> Option<&'static Nodes> {
        self.dock.nodes.load(Ordering::Relaxed)
    }

    /// What moves tasks between nodes, if they may leave this team's.
    #[inline]
    pub(crate) fn remote(&self) -> Option<&'static task::Remote> {
        self.nodes().and_then(|nodes| nodes.remote.as_ref())
    }

    /// Whether nobody but its only member could run the team's tasks.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.local_size() == 1 && self.remote().is_none()
    }

    /// Nesting level of the region; 0 for an initial thread's implicit region.
    #[inline]
    pub fn level(&self) -> u32 {
        self.dock.level.load(Ordering::Relaxed)
    }

    /// Enclosing regions of more than one thread, this one included.
    #[inline]
    pub fn active_level(&self) -> u32 {
        self.dock.active_level.load(Ordering::Relaxed)
    }

    /// Goes on with the primary thread alone: a fork has taken the others away.
    pub(crate) fn forget_workers(&self) {
        self.seats.set(0);
        self.dock.total.store(1, Ordering::Relaxed);
        self.dock.nodes.store(None, Ordering::Relaxed);
        if self.local_size() > 1 {
            self.dock
                .order
                .store(self.order().alone().0, Ordering::Relaxed);
        }
        self.barrier.reset();
        self.join.reset();
        if let Some(group) = self.group() {
            group.employed.store(0, Ordering::Relaxed);
        }
    }

    /// The member of the enclosing team that formed this one.
    #[inline]
    pub fn parent(&self) -> Option<&'static Member> {
        self.parent.load(Ordering::Relaxed)
    }

    /// Number of the initial team in its league, and the league's size: 0 and 1 outside a
    /// `teams` region.
    pub(crate) fn league(&self) -> (u32, u32) {
        let of = |group: &Group| {
            let number = group.team_num.load(Ordering::Relaxed);
            (number, group.num_teams.load(Ordering::Relaxed).max(1))
        };
        self.group().map_or((0, 1), of)
    }

    /// The contention group.
    pub fn group(&self) -> Option<&'static Group> {
        self.group.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn order(&self) -> Order {
        Order(self.dock.order.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn member(&'static self, index: u32) -> &'static Member {
        &self.members[index as usize]
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.members.len() as u32
    }

    #[inline]
    pub(crate) fn patience(&self) -> SpinPolicy {
        SpinPolicy::from_word(self.dock.patience.load(Ordering::Relaxed))
    }

    /// The members on this node leave the region.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.ring_all();
        self.shares.ring_all();
    }

    /// Wakes everybody asleep in this team, to look at what has changed.
    pub(crate) fn ring_all(&self) {
        self.barrier.bell().ring();
        self.dock.bell.ring();
        self.join.bell().ring();
        self.tasks.ring_waiters(self);
    }
}

impl ForkSlot {
    fn new() -> Self {
        Self {
            order: AtomicU64::new(Order::new(0, 1).0),
            bell: EventCount::new(),
            function: AtomicOutlined::empty(),
            data: AtomicUsize::new(0),
            patience: AtomicU32::new(SpinPolicy::polling(1).word()),
            phase: AtomicU32::new(0),
            construct: AtomicU32::new(0),
            icv_stamp: AtomicU32::new(0),
            place_stamp: AtomicU32::new(0),
            level: AtomicU32::new(0),
            active_level: AtomicU32::new(0),
            first: AtomicU32::new(0),
            total: AtomicU32::new(1),
            nodes: AtomicRef::new(None),
            ways: AtomicU32::new(0),
            instance: AtomicU64::new(0),
            set: AtomicU64::new(0),
            site: AtomicU32::new(0),
            decider: AtomicU32::new(0),
            fork: AtomicU64::new(0),
        }
    }
}

impl Member {
    fn new(index: u32, icvs: Icvs) -> Self {
        Self {
            team: AtomicRef::new(None),
            worker: AtomicRef::new(None),
            index,
            thread_num: Own::new(index),
            phase: Own::new(0),
            icv_stamp: Own::new(0),
            place_stamp: Own::new(0),
            spot: Spot::default(),
            icvs: OwnCell::new(Some(icvs)),
            task: task::Current::new(),
            share: worksharing::Cursor::new(),
            tool: MemberWords::new(),
        }
    }

    /// The team.
    #[inline]
    pub fn team(&self) -> &'static Team {
        // Set right after the members are made, before anybody can see them.
        self.team
            .load(Ordering::Relaxed)
            .expect("a member belongs to a team")
    }

    /// The thread that plays this member.
    #[inline]
    pub fn worker(&self) -> &'static Worker {
        // Set before the member becomes some thread's current one.
        self.worker
            .load(Ordering::Relaxed)
            .expect("a member is played by a thread")
    }

    /// The member that represents the thread at `level`: the ancestor whose team has that
    /// nesting level, or this one at its own; none if there is no such level.
    pub(crate) fn at_level(&'static self, level: i32) -> Option<&'static Self> {
        let level = u32::try_from(level).ok()?;
        let mut member = self;
        if level > member.team().level() {
            return None;
        }
        while member.team().level() > level {
            match member.team().parent() {
                Some(outer) => member = outer,
                // The region came from another node. What encloses it is there,
                // one thread each.
                None => break,
            }
        }
        Some(member)
    }

    /// OpenMP thread number.
    #[inline]
    pub fn thread_num(&self) -> u32 {
        self.thread_num.get()
    }

    /// Number among the members in this process.
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Takes the thread number that the region gives it.
    #[inline]
    pub(crate) fn take_number(&self, team: &Team) {
        let first = team.dock.first.load(Ordering::Relaxed);
        self.thread_num.set(first + self.index);
    }

    /// ICVs of the task this member runs at the moment.
    #[inline]
    pub fn icvs(&self) -> Icvs {
        self.icvs
            .get()
            .unwrap_or_else(|| crate::runtime::runtime().initial_icvs())
    }

    /// Changes the ICVs of the task this member runs at the moment.
    #[inline]
    pub fn set_icvs(&self, icvs: Icvs) {
        self.icvs.set(Some(icvs));
        // Not what the team handed out any more.
        self.icv_stamp.set(0);
        self.team().tasks.note_icv_change();
    }

    /// Takes the ICVs the team hands to its implicit tasks, unless they are
    /// what this member has already.
    #[inline]
    pub(crate) fn inherit(&self, team: &Team, stamp: u32) {
        if self.icv_stamp.get() != stamp {
            let icvs = *team
                .icvs
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            self.icvs.set(Some(icvs));
            self.icv_stamp.set(stamp);
        }
    }

    /// Whether `worker` plays it now.
    pub(crate) fn is_played_by(&self, worker: &Worker) -> bool {
        let player = self.worker.load(Ordering::Relaxed);
        player.is_some_and(|player| std::ptr::eq(player, worker))
    }

    /// The calling thread plays this member from now on.
    pub(crate) fn seat(&self, worker: &'static Worker) {
        self.worker.store(Some(worker), Ordering::Relaxed);
    }

    /// The calling thread gives the member up for another thread to take.
    pub(crate) fn vacate(&self) {
        self.icvs.disown();
        self.icv_stamp.set(0);
        self.place_stamp.set(0);
        self.spot.clear();
        self.share.disown();
        self.worker.store(None, Ordering::Relaxed);
    }
}
