//! This process's seat at the board.

use super::cores::CORES;
use super::regions::Regions;
use super::span::Spans;
use crate::icv::ProcBind;
use crate::parallel::Fork;
use crate::team::{Member, Team};
use fathomp_core_arbiter::cores::CORES_MAX;
use fathomp_core_arbiter::learn::Times;
use fathomp_core_arbiter::observer::{Beginning, Observer};
use fathomp_core_arbiter::presence::{Kernel, Owner, Presence, Watch};
use fathomp_core_arbiter::{Activity, Board, Claim, Cores, Slot, Speedup};
use fathomp_sys::affinity::{self, CpuSet};
use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::modules;
use fathomp_teams::Table;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module's documentation.
pub(super) struct Seat {
    board: Board<'static>,
    slot: Slot<'static>,
    me: Owner,
    /// Processors the process may use, for threads that are not bound.
    allowed: CpuSet,
    /// Nothing is divided, only told.
    watch: bool,
    /// What is expected of regions.
    advice: Option<Table>,
    /// A region is under way whose end will be told.
    busy: AtomicBool,
    /// Address of its team; 0 if there is none.
    team: AtomicUsize,
    places: Places,
    mine: Mutex<FormingState>,
}

/// Where members of the present team belong.
struct Places {
    /// Changes when they do; 0 stands for not bound.
    stamp: AtomicU32,
    count: AtomicU32,
    cores: [AtomicU32; CORES_MAX as usize],
}

/// What only the thread uses that forms a team.
struct FormingState {
    regions: Regions,
    spans: Option<Spans>,
    observer: Observer,
    claim: Claim,
    changes: u32,
    serial_ns: Option<f64>,
    region: usize,
    threads: u32,
    cores: Cores,
    stamps: u32,
    placed: Option<Cores>,
    /// Cores that are this program's as long as there are partners, as decided last: when,
    /// and for how many threads.
    crowd: Option<Cores>,
    decided_ns: u64,
    size: u32,
    /// The primary thread is bound until the region ends.
    pinned: bool,
}

/// In regions that take so long the primary thread, too, is bound: the kernel puts it next
/// to another one's thread now and then, and takes some milliseconds to see that. It is the
/// program's own, so outside of them it goes where it likes, and so do threads that it starts.
const PINNED_NS: f64 = 500_000.0;

/// So long what was decided holds: short regions do not decide anew each time.
const HOLDS_NS: u64 = 50_000;

impl Seat {
    /// A seat at `slot`, which is taken if nobody living has it. None if there is no such
    /// slot.
    pub(super) fn new(
        board: Board<'static>,
        index: usize,
        me: Owner,
        allowed: CpuSet,
        watch: bool,
        advice: Option<Table>,
    ) -> Option<Self> {
        let slot = board.slot(index).ok()?;
        let seat = Self {
            board,
            slot,
            me,
            allowed,
            watch,
            advice,
            busy: AtomicBool::new(false),
            team: AtomicUsize::new(0),
            places: Places {
                stamp: AtomicU32::new(0),
                count: AtomicU32::new(0),
                cores: [const { AtomicU32::new(0) }; CORES_MAX as usize],
            },
            mine: Mutex::new(FormingState {
                regions: Regions::default(),
                spans: slot.log().map(Spans::new),
                observer: Observer::new(index),
                claim: Claim {
                    activity: Activity::Serial,
                    // Not known before its first region.
                    wanted: CORES_MAX,
                    since_ns: monotonic_ns(),
                    ..Claim::default()
                },
                changes: 0,
                serial_ns: None,
                region: 0,
                threads: 0,
                cores: Cores::default(),
                stamps: 0,
                placed: None,
                crowd: None,
                decided_ns: 0,
                size: 0,
                pinned: false,
            }),
        };
        let before = slot.owner();
        let gone = Watch::default().look(before, 0, &mut Kernel) == Presence::Gone;
        if gone && slot.take(before, me) {
            let mine = seat.lock();
            slot.post(&mine.claim, mine.changes);
        }
        Some(seat)
    }

    fn lock(&self) -> MutexGuard<'_, FormingState> {
        self.mine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the slot from a process that has never begun a region. A process that has keeps
    /// it: this process then is not seen, and takes what it sees to be free.
    pub(super) fn claim_slot(&self) {
        let before = self.slot.owner();
        if before != Some(self.me)
            && self.slot.changes() == Some(0)
            && self.slot.take(before, self.me)
        {
            let mine = self.lock();
            self.slot.post(&mine.claim, mine.changes);
        }
    }

    fn is_mine(&self) -> bool {
        self.slot.owner() == Some(self.me)
    }

    pub(super) fn leave(&self) {
        if let Ok(mut mine) = self.mine.try_lock()
            && self.is_mine()
            && let Some(spans) = &mut mine.spans
        {
            spans.flush();
        }
        self.slot.leave(self.me);
    }

    /// An outermost region begins, for which `size` threads are asked: how many it gets, and
    /// whether its end is to be told ([`end`](Self::end)).
    pub(super) fn begin(&self, fork: &Fork, outer: &'static Member, size: u32) -> (u32, bool) {
        let may_shrink = fork.threads == 0 && outer.icvs().dynamic;
        if self.busy.swap(true, Ordering::Acquire) {
            // Inside of a team of one, for example: what that region has is for all.
            let most = CORES.load(Ordering::Relaxed).max(1);
            return (if may_shrink { size.min(most) } else { size }, false);
        }
        let mine = &mut *self.lock();
        let now_ns = monotonic_ns();
        let serial_ns = now_ns.saturating_sub(mine.claim.since_ns) as f64;
        let mean = mine
            .serial_ns
            .map_or(serial_ns, |mean| mean + (serial_ns - mean) / 8.0);
        mine.serial_ns = Some(mean);

        let icvs = outer.icvs();
        let region = mine
            .regions
            .find(fork.function.address(), || self.expected(fork));
        let held = now_ns.saturating_sub(mine.decided_ns) < HOLDS_NS && mine.size == size;
        if !held {
            self.decide(mine, region, size, now_ns);
        }
        let crowd = mine.crowd;
        let threads = match crowd {
            Some(cores) if may_shrink => size.min(cores.len().max(1)),
            _ => size,
        };
        let bound = crowd.filter(|_| threads > 1 && icvs.bind == ProcBind::False);
        self.arrange(mine, bound);
        let long = mine
            .regions
            .times(region)
            .and_then(|times| times.expected_ns(threads));
        if let Some(core) = crowd.and_then(|cores| cores.iter().next())
            && icvs.bind == ProcBind::False
            && long.is_some_and(|ns| ns >= PINNED_NS)
        {
            mine.pinned = self.bind(self.board.number(core));
        }
        let cores = crowd.unwrap_or_else(|| Cores::first(size.min(self.board.shape().cores)));
        mine.claim.activity = Activity::Region;
        mine.claim.wanted = size;
        mine.claim.held = cores;
        mine.claim.serial_ns = Some(mean as u64);
        mine.claim.since_ns = now_ns;
        mine.region = region;
        mine.threads = threads;
        mine.cores = if self.watch { Cores::default() } else { cores };
        mine.changes = mine.changes.wrapping_add(1).max(1);
        if self.is_mine() {
            self.slot.post(&mine.claim, mine.changes);
        }
        (threads, true)
    }

    /// What the advice expects of a region that has not been executed yet.
    #[cold]
    fn expected(&self, fork: &Fork) -> Times {
        let function = fork.function.address();
        let found = self.advice.as_ref().and_then(|table| {
            let loaded = modules::loaded(function)?;
            let build_id = loaded.build_id.iter();
            let build_id: String = build_id.map(|byte| format!("{byte:02x}")).collect();
            let address = (function as u64).wrapping_sub(loaded.bias);
            let module = table.module(&build_id, &loaded.path.to_string_lossy())?;
            module.region(address)
        });
        found.map_or_else(Times::default, |region| {
            let points = region.points.iter();
            Times::expecting(
                points.map(|(threads, ns)| (*threads, *ns as f64)),
                !region.relative,
            )
        })
    }

    /// Looks at the board and works out which cores are this program's.
    fn decide(&self, mine: &mut FormingState, region: usize, size: u32, now_ns: u64) {
        let times = mine.regions.times(region);
        let region_ns = times.and_then(|times| times.expected_ns(size));
        mine.claim.speedup = times.map_or_else(Speedup::default, Times::speedup);
        mine.decided_ns = now_ns;
        mine.size = size;
        mine.crowd = None;
        if !self.watch {
            let beginning = Beginning {
                wanted: size,
                expected_ns: region_ns.map(|ns| ns as u64),
                now_ns,
            };
            mine.crowd = mine
                .observer
                .decide(&self.board, &mine.claim, &beginning, &mut Kernel);
        }
        CORES.store(mine.crowd.map_or(u32::MAX, Cores::len), Ordering::Relaxed);
    }

    /// From now on members belong on these cores; none if they are not bound.
    fn arrange(&self, mine: &mut FormingState, cores: Option<Cores>) {
        if mine.placed == cores {
            return;
        }
        mine.placed = cores;
        let Some(cores) = cores else {
            self.places.stamp.store(0, Ordering::Relaxed);
            return;
        };
        for (place, core) in self.places.cores.iter().zip(cores.iter()) {
            place.store(self.board.number(core), Ordering::Relaxed);
        }
        self.places
            .count
            .store(cores.len().max(1), Ordering::Relaxed);
        mine.stamps = mine.stamps % STAMPS + 1;
        self.places.stamp.store(mine.stamps, Ordering::Relaxed);
    }

    pub(super) fn formed(&self, team: &'static Team) {
        self.team
            .store(std::ptr::from_ref(team).addr(), Ordering::Relaxed);
    }

    /// The region ends of which [`begin`](Self::begin) said so.
    pub(super) fn end(&self) {
        let mine = &mut *self.lock();
        if std::mem::take(&mut mine.pinned) {
            self.unbind();
        }
        let now_ns = monotonic_ns();
        let begin_ns = mine.claim.since_ns;
        let (region, threads, cores) = (mine.region, mine.threads, mine.cores);
        mine.regions
            .add(region, threads, now_ns.saturating_sub(begin_ns) as f64);
        let is_mine = self.is_mine();
        if is_mine && let Some(spans) = &mut mine.spans {
            spans.add(
                mine.regions.address(region),
                begin_ns..now_ns,
                threads,
                cores,
            );
        }
        mine.claim.activity = Activity::Serial;
        mine.claim.since_ns = now_ns;
        mine.claim.held = mine.claim.held.iter().take(1).collect();
        mine.changes = mine.changes.wrapping_add(1).max(1);
        if is_mine {
            self.slot.post(&mine.claim, mine.changes);
        }
        self.team.store(0, Ordering::Relaxed);
        self.busy.store(false, Ordering::Release);
    }

    /// The calling thread begins to play `member`.
    #[inline]
    pub(super) fn place(&self, member: &'static Member, team: &'static Team) {
        let index = member.index();
        if index == 0 {
            return;
        }
        let stamp = self.places.stamp.load(Ordering::Relaxed);
        let takes_part = self.team.load(Ordering::Relaxed) == std::ptr::from_ref(team).addr();
        let wanted = if stamp == 0 || !takes_part {
            0
        } else {
            stamp << INDEX_BITS | (index & ((1 << INDEX_BITS) - 1))
        };
        if member.worker().shared.get() != wanted {
            self.move_to(member, wanted);
        }
    }

    #[cold]
    fn move_to(&self, member: &'static Member, wanted: u32) {
        if wanted == 0 {
            self.unbind();
        } else {
            let count = self.places.count.load(Ordering::Relaxed).max(1);
            let place = self.places.cores.get((member.index() % count) as usize);
            let core = place.map_or(0, |core| core.load(Ordering::Relaxed));
            self.bind(core);
        }
        member.worker().shared.set(wanted);
    }

    /// Binds the calling thread to one processor. A refusal leaves it where it was; nothing
    /// better can be done.
    fn bind(&self, processor: u32) -> bool {
        let set: CpuSet = [processor].into_iter().collect();
        self.allowed.contains(processor) && affinity::bind_this_thread(&set).is_ok()
    }

    /// See [`super::unbind`].
    pub(super) fn unbind(&self) {
        // As above.
        let _ = affinity::bind_this_thread(&self.allowed);
    }
}

/// A worker remembers stamp and number, so that it moves only if either is new.
const INDEX_BITS: u32 = 16;
const STAMPS: u32 = (1 << (32 - INDEX_BITS)) - 1;
