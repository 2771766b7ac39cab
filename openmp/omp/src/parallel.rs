//! Forking a team, running a region, joining.

use crate::cluster::{self, Part};
use crate::icv::{Icvs, ProcBind};
use crate::observer::core_partition;
use crate::observer::{self, Decider, Met, Region};
use crate::pool::Seat;
use crate::runtime::runtime;
use crate::team::{Member, Order, Team, Ways};
use crate::worker::{Worker, current, set_current};
use crate::{barrier, places, task, worksharing};
use fathomp_sys::float;
use fathomp_sys::outlined::{Opaque, Outlined};
use std::mem::MaybeUninit;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Whose interface a region was begun by: whose customs hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// gcc's. Threads inherit the floating-point environment when they are created.
    Gnu,
    /// LLVM's. Threads get that of the thread that meets the region, which has it again afterwards.
    Llvm,
    /// The same, for a region whose `if` clause is false.
    LlvmIfFalse,
}

impl Caller {
    /// The floating-point environment that a region hands on.
    #[inline]
    fn floats(self) -> Option<float::Control> {
        (self != Self::Gnu && runtime().settings.inherits_floats).then(float::control)
    }
}

/// What a `parallel` construct asks for.
#[derive(Clone, Copy)]
pub struct Fork<'a> {
    /// The region's code and its data.
    pub function: Outlined,
    /// Passed to `function`.
    pub data: Opaque,
    /// `num_threads` clause; 0 if there is none, 1 if an `if` clause was false.
    pub threads: u32,
    /// `proc_bind` clause.
    pub bind: Option<ProcBind>,
    /// Return address of the program's call, for naming the region.
    pub call: usize,
    /// The worksharing construct a combined construct begins with.
    pub preset: Option<worksharing::Preset>,
    /// The program calls the region's code itself.
    pub called_by_program: bool,
    /// Whose interface was called.
    pub caller: Caller,
    /// Called with the team's size before any other member begins.
    pub prepare: Option<&'a dyn Fn(&'static Team, u32)>,
}

/// A region being executed, as its encountering thread remembers it.
#[must_use]
#[derive(Clone, Copy)]
pub struct Frame {
    outer: &'static Member,
    team: &'static Team,
    called_by_program: bool,
    floats: Option<float::Control>,
}

impl Frame {
    /// Calls the region's code as the implicit task of the encountering thread.
    pub(crate) fn call(self, fork: &Fork) {
        observer::call_region(self.team.member(0), fork.function, fork.data);
    }
}

/// Runs a parallel region.
///
/// Its arguments lie at the end of the program's frame, where all threads read them first thing.
/// So what this thread writes meanwhile lies two cache lines further down.
#[inline]
pub fn parallel(fork: &Fork) {
    const APART_BYTES: usize = 128;
    let apart = MaybeUninit::<[u8; APART_BYTES]>::uninit();
    std::hint::black_box(&raw const apart);
    run_apart(fork);
    std::hint::black_box(&raw const apart);
}

#[inline(never)]
fn run_apart(fork: &Fork) {
    let frame = begin(fork);
    frame.call(fork);
    end(frame);
}

/// Forms the team and starts its workers; the caller then plays member 0.
pub fn begin(fork: &Fork) -> Frame {
    let outer = current();
    let worker = outer.worker();
    let outer_team = outer.team();
    let icvs = outer.icvs();

    let (wanted, mut decider) = team_size(outer_team, &icvs, fork);
    let mut size = wanted;
    let mut met = observer::meets(fork, outer, &icvs, &mut size);
    if size != wanted {
        decider = Decider::Advice;
    }
    if size > 1 {
        let asked = size;
        size = reserve(outer_team, &icvs, size);
        if size < asked {
            decider = Decider::Limit;
        }
    }
    let mut part = match cluster::installed() {
        Some(nodes) => nodes.part(outer_team, fork, size),
        None => Part::local(size),
    };
    let team = team_for(worker, part.here);
    if part.here > 1 {
        let asked = part.here;
        seat(outer_team, team, &mut part);
        if part.here < asked {
            decider = Decider::System;
        }
    }
    if let Some(met) = &mut met {
        met.decider = decider;
    }
    form(fork, outer, &icvs, part, team, met)
}

/// Begins the region on this node with `team`, which has its workers. `icvs`
/// are those of `outer`, which the caller plays.
#[inline]
pub(crate) fn form(
    fork: &Fork,
    outer: &'static Member,
    icvs: &Icvs,
    part: Part,
    team: &'static Team,
    met: Option<Met>,
) -> Frame {
    let worker = outer.worker();
    let outer_team = outer.team();
    let runtime = runtime();
    let (size, total) = (part.here, part.total);

    // Nobody else looks at the team now: its workers are docked.
    let dock = &team.dock;
    let inner = icvs.for_team();
    let mut handed = team.icvs.lock().unwrap_or_else(PoisonError::into_inner);
    if *handed != inner || dock.icv_stamp.load(Ordering::Relaxed) == 0 {
        *handed = inner;
        let stamp = dock
            .icv_stamp
            .load(Ordering::Relaxed)
            .wrapping_add(1)
            .max(1);
        dock.icv_stamp.store(stamp, Ordering::Relaxed);
    }
    drop(handed);
    team.parent.store(Some(outer), Ordering::Relaxed);
    team.group.store(outer_team.group(), Ordering::Relaxed);
    dock.level.store(outer_team.level() + 1, Ordering::Relaxed);
    dock.active_level.store(
        outer_team.active_level() + u32::from(total > 1),
        Ordering::Relaxed,
    );
    dock.first.store(part.first, Ordering::Relaxed);
    dock.total.store(total, Ordering::Relaxed);
    dock.nodes.store(part.nodes, Ordering::Relaxed);
    if total > 1 {
        dock.patience
            .store(runtime.enter(size).word(), Ordering::Relaxed);
    }
    let primary = team.member(0);
    dock.construct
        .store(worksharing::first_construct(team), Ordering::Relaxed);
    if team.cancelled.load(Ordering::Relaxed) {
        team.cancelled.store(false, Ordering::Relaxed);
        primary.phase.set(team.barrier.reset());
    }
    dock.phase.store(primary.phase.get(), Ordering::Relaxed);
    let floats = fork.caller.floats();
    dock.ways
        .store(Ways::word(fork.preset.is_some(), floats), Ordering::Relaxed);
    if let Some(preset) = fork.preset {
        team.shares.set_preset(preset);
    }
    if places::wanted(&runtime.settings, icvs) {
        places::bind_team(team, outer, icvs, fork.bind, total);
    }
    if let Some(prepare) = fork.prepare {
        prepare(team, total);
    }
    if let Some(met) = met {
        observer::region_begins(&Region {
            fork,
            outer,
            team,
            instance: part.instance,
            met,
        });
    }
    if let Some(nodes) = part.nodes {
        nodes.begin(fork, team, icvs);
    }

    if size > 1 {
        let order = team.order().next(size);
        team.tasks.open(order);
        dock.function.store(fork.function, Ordering::Relaxed);
        dock.data.store(fork.data.0, Ordering::Relaxed);
        dock.order.store(order.0, Ordering::SeqCst);
        dock.bell.ring();
    } else {
        // The number stays: it counts orders that workers obey, and each of
        // those opens the join.
        let order = team.order().alone();
        team.tasks.open(order);
        dock.order.store(order.0, Ordering::Relaxed);
    }

    worker.depth.set(worker.depth.get() + 1);
    primary.seat(worker);
    set_current(primary);
    primary.start(team);
    Frame {
        outer,
        team,
        called_by_program: fork.called_by_program,
        floats,
    }
}

/// Ends the region: waits for the team and its tasks.
pub fn end(frame: Frame) {
    let Frame { outer, team, .. } = frame;
    if let Some(floats) = frame.floats {
        float::set(floats);
    }
    let worker = outer.worker();
    let primary = team.member(0);
    let order = team.order();
    let total = team.size();
    worksharing::leave(primary);

    barrier::join(primary, order);
    team.tasks.close();

    worker.depth.set(worker.depth.get() - 1);
    if total > 1 {
        runtime().leave(order.size());
        if let Some(group) = team.group() {
            group.employed.fetch_sub(total - 1, Ordering::Relaxed);
        }
    }
    set_current(outer);
    observer::region_ends(outer, team, frame.called_by_program);
}

/// `GOMP_parallel_start`: the caller runs the region's code itself, then calls
/// [`end_legacy`].
pub fn begin_legacy(fork: &Fork) {
    let frame = begin(&Fork {
        called_by_program: true,
        ..*fork
    });
    observer::program_calls(frame.team.member(0));
    frame.outer.worker().open.with(|open| open.push(frame));
}

/// Ends the region begun last by [`begin_legacy`].
pub fn end_legacy() {
    if let Some(frame) = current().worker().open.with(Vec::pop) {
        end(frame);
    }
}

/// No team is larger, whatever the program or the user asks for: a team's
/// members are made before its threads, and machines stop at about as many.
pub(crate) const LARGEST_TEAM: u32 = 1 << 15;

/// Threads a region may have (OpenMP 5.1, 2.6.1, algorithm 2.1).
fn team_size(outer: &Team, icvs: &Icvs, fork: &Fork) -> (u32, Decider) {
    let clause = fork.threads;
    if clause == 1 {
        let decider = match fork.caller {
            Caller::Gnu => Decider::One,
            Caller::Llvm => Decider::Clause,
            Caller::LlvmIfFalse => Decider::If,
        };
        return (1, decider);
    }
    if outer.active_level() >= u32::from(icvs.max_active_levels) {
        return (1, Decider::Levels);
    }
    let (mut size, mut decider) = match clause {
        0 if icvs.fixed => (icvs.num_threads, Decider::Routine),
        0 => (icvs.num_threads, Decider::Environment),
        _ => (clause, Decider::Clause),
    };
    if icvs.dynamic && (clause == 0 || !core_partition::is_at_board()) && size > runtime().threads {
        (size, decider) = (runtime().threads, Decider::Dynamic);
    }
    (size.clamp(1, LARGEST_TEAM), decider)
}

/// Reserves threads within the contention group's limit for a team of `size`;
/// returns the size it may have.
fn reserve(outer: &Team, icvs: &Icvs, size: u32) -> u32 {
    let Some(group) = outer.group() else { return 1 };
    let wanted = size - 1;
    let limit = icvs.thread_limit;
    if limit == u32::MAX {
        group.employed.fetch_add(wanted, Ordering::Relaxed);
        return size;
    }
    let free = |employed: u32| limit.saturating_sub(1).saturating_sub(employed).min(wanted);
    let before = group
        .employed
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |employed| {
            Some(employed + free(employed))
        })
        .unwrap_or(limit);
    1 + free(before)
}

/// Seats workers for this node's part of a team, if the system lets us have
/// them.
#[inline]
pub(crate) fn seat(outer: &Team, team: &'static Team, part: &mut Part) {
    if team.seats.get() + 1 >= part.here {
        return;
    }
    let got = runtime().pool.fill(team, part.here);
    if got < part.here {
        let missing = part.here - got;
        if let Some(nodes) = part.nodes {
            nodes.lack_threads(missing);
        }
        part.here = got;
        part.total = got;
        if let Some(group) = outer.group() {
            group.employed.fetch_sub(missing, Ordering::Relaxed);
        }
    }
}

/// The team this thread used last at its depth, or a larger one.
#[inline]
pub(crate) fn team_for(worker: &Worker, size: u32) -> &'static Team {
    let depth = worker.depth.get() as usize;
    worker.teams.with(|teams| {
        if let Some(&team) = teams.get(depth) {
            if team.capacity() >= size {
                return team;
            }
            for team in teams.drain(depth..) {
                runtime().pool.retire(team);
            }
        }
        let team = runtime().pool.team(size);
        teams.push(team);
        team
    })
}

/// Sends all workers of `team` back to the pool and waits until they have left.
pub(crate) fn dismiss(team: &'static Team) {
    let seats = team.seats.get();
    if seats == 0 {
        return;
    }
    crate::pool::send_away(seats);
    let order = team.order().next(Order::DISMISS);
    team.dock.order.store(order.0, Ordering::SeqCst);
    team.dock.bell.ring();
    team.join.wait(
        order.number(),
        crate::event_count::SpinPolicy::polling(1000),
        || false,
    );
    team.seats.set(0);
    team.dock.order.store(order.alone().0, Ordering::Relaxed);
}

/// Life of a worker in a team: run the team's regions until dismissed.
pub(crate) fn serve(worker: &'static Worker, seat: Seat) {
    let Seat { member, mut seen } = seat;
    let team = member.team();
    let index = member.index();
    member.seat(worker);
    set_current(member);
    observer::worker_begins(worker);
    loop {
        let mut order = seen;
        observer::idles(|| {
            team.dock
                .bell
                .wait(core_partition::resting(team.patience()), || {
                    order = Order(team.dock.order.load(Ordering::SeqCst));
                    order != seen || {
                        observer::looks_for_end(member, team);
                        task::help_from_dock(member, seen);
                        false
                    }
                });
        });
        seen = order;
        observer::end_is_due(member);
        let size = order.size();
        if size == Order::DISMISS {
            // The seat is free once all have arrived, so leave nothing behind.
            let seats = team.seats.get();
            member.vacate();
            if team.join.arrive(index - 1, seats) {
                team.join.open(order.number());
            }
            return;
        }
        if index < size {
            run(member, team, order);
        }
    }
}

fn run(member: &'static Member, team: &'static Team, order: Order) {
    let dock = &team.dock;
    member.phase.set(dock.phase.load(Ordering::Relaxed));
    member.start(team);
    if let Some(function) = dock.function.load(Ordering::Relaxed) {
        let data = Opaque(dock.data.load(Ordering::Relaxed));
        observer::call_region(member, function, data);
    }
    worksharing::leave(member);
    barrier::leave(member, order);
}

impl Member {
    /// Begins this member's implicit task.
    #[inline]
    fn start(&'static self, team: &'static Team) {
        let dock = &team.dock;
        self.take_number(team);
        self.inherit(team, dock.icv_stamp.load(Ordering::Relaxed));
        if self.place_stamp.get() != dock.place_stamp.load(Ordering::Relaxed) {
            places::move_to_place(self, team);
        }
        self.task.reset(self);
        observer::implicit_begins(self, team);
        let ways = Ways(dock.ways.load(Ordering::Relaxed));
        self.share.start(self, ways.has_preset());
        if let Some(floats) = ways.floats() {
            float::set(floats);
        }
    }
}
