//! The recorder: what is written down of regions, waits, loops and tasks.

mod loops;
mod mpi;
mod tally;
mod tasks;
mod thread;

pub(crate) use loops::{fixed_loop, left_loop, next};
pub use mpi::{mpi_begins, mpi_ends, mpi_transfers};
pub(crate) use tally::Tally;
pub(crate) use tasks::{
    Sample, Timed, creates_tasks, depends, includes, leaves_task, loses_single, meanwhile,
    takes_task,
};
pub(crate) use thread::OfThread;
pub use thread::recorder_of_this_thread;

use crate::observer::trips;
use crate::observer::{Encounter, Observer, Region};
use crate::parallel::Caller;
use crate::recorded::{is_recorded, recorder, set, site_of};
use crate::team::{Member, Order, Team};
use crate::wait::Wait;
use crate::worksharing::Loop;
use crate::{cluster, task};
use fathomp_sys::clock;
use fathomp_trace::model::SiteKind;
use fathomp_trace::now;
use fathomp_trace::record::Decider;
use fathomp_trace::recorder::{Recorder, Start, ThreadRecorder};
use fathomp_trace::state::State;
use fathomp_types::{InstanceId, SiteId, Ticks};
use std::sync::atomic::Ordering;

/// This process, which has `loaded` the runtime of that name then, is recorded if the environment
/// asks for that.
pub(crate) fn start(name: &str, loaded: clock::Pair) {
    let recorder = Recorder::from_environment(name, loaded, cluster::identity());
    set(recorder);
}

/// Runs in a forked child.
pub(crate) fn restart_in_child() {
    let recorder = recorder().and_then(Recorder::restart_in_child);
    set(recorder);
}

/// The process ends properly.
pub(crate) fn finish() {
    if let Some(recorder) = recorder() {
        recorder.finish();
    }
}

/// Records what the recorder of each thread is told, if it has one.
pub(crate) struct Recording;

/// A wait that has begun.
pub(crate) struct Waiting {
    thread: &'static ThreadRecorder,
    state: State,
    call: usize,
    begin: Ticks,
    /// What the member had spent in tasks.
    tasks: Ticks,
}

/// As recordings name it.
const fn state_of(wait: Wait) -> State {
    match wait {
        Wait::Region => State::Idle,
        Wait::ImplicitBarrier => State::ImplicitBarrier,
        Wait::ExplicitBarrier => State::ExplicitBarrier,
        Wait::Tasks => State::TaskWait,
        Wait::Critical => State::Critical,
        Wait::Lock => State::Lock,
        Wait::Ordered => State::Ordered,
    }
}

impl Observer for Recording {
    type Waiting = Option<Waiting>;

    #[inline(always)]
    fn meets(&self, encounter: &mut Encounter<'_>) {
        let Some(thread) = encounter.outer.worker().recorder() else {
            return;
        };
        let (function, data) = (encounter.fork.function, encounter.fork.data);
        encounter.met.look = trips::look_and_record(function, data, thread);
        encounter.met.asked = Some(now());
    }

    #[inline(always)]
    fn region_begins(&self, region: &Region<'_>) {
        let Region {
            fork,
            outer,
            team,
            instance,
            met,
        } = region;
        let (Some(recorder), Some(asked)) = (recorder(), met.asked) else {
            return;
        };
        // The program calls the code of such a region by itself.
        let code = match fork.caller {
            Caller::LlvmIfFalse if fork.called_by_program => 0,
            _ => fork.function.address(),
        };
        let dock = &team.dock;
        let site = recorder.site(SiteKind::Parallel, fork.call, code);
        dock.site.store(site.0, Ordering::Relaxed);
        let instance = match *instance {
            0 => recorder.next_instance().0,
            given => given,
        };
        dock.instance.store(instance, Ordering::Relaxed);
        dock.fork.store(asked.0, Ordering::Relaxed);
        dock.decider.store(met.decider as u32, Ordering::Relaxed);
        let set = met
            .look
            .map_or(0, |look| look.note(outer.worker().recorder(), site));
        dock.set.store(set, Ordering::Relaxed);
    }

    #[inline(always)]
    fn implicit_begins(&self, member: &'static Member, team: &'static Team) {
        if let Some(thread) = member.worker().recorder() {
            let asked = Ticks(team.dock.fork.load(Ordering::Relaxed));
            thread.begin(&part(member, team, asked));
        }
    }

    fn loop_begins(&self, member: &'static Member, wanted: &Loop) {
        member.share.recorded.set(0);
        if member.worker().recorder().is_some() {
            loops::begin(member, wanted);
        }
    }

    fn loop_ends(&self, member: &'static Member) {
        left_loop(member);
    }

    #[inline(always)]
    fn wait_begins(&self, member: &'static Member, wait: Wait, call: usize) -> Option<Waiting> {
        let thread = member.worker().recorder()?;
        Some(Waiting {
            thread,
            state: state_of(wait),
            call,
            begin: thread.wait_begins(),
            tasks: member.task.ticks(),
        })
    }

    #[inline(always)]
    fn wait_ends(&self, member: &'static Member, waiting: Option<Waiting>) {
        if let Some(waiting) = waiting {
            end_wait(member, waiting);
        }
    }
}

/// Writes a wait down, less the time that the member spent in tasks. Returns when it ended.
#[inline(always)]
fn end_wait(member: &'static Member, waiting: Waiting) -> Ticks {
    let end = now();
    let site = site_of(waiting.call);
    let begin = waiting.begin + (member.task.ticks() - waiting.tasks);
    waiting.thread.wait_at(site, waiting.state, begin, end);
    end
}

/// `member`'s part in the team's region. `asked` is when somebody wanted it to begin.
#[inline(always)]
fn part(member: &Member, team: &Team, asked: Ticks) -> Start {
    let dock = &team.dock;
    let (set, decider) = match member.thread_num() {
        0 => (
            dock.set.load(Ordering::Relaxed),
            Decider::from_number(dock.decider.load(Ordering::Relaxed) as u8),
        ),
        _ => (0, Decider::Untold),
    };
    // The execution that encloses this one, 0 outside.
    let parent = team.parent().map_or(0, |outer| {
        outer.team().dock.instance.load(Ordering::Relaxed)
    });
    Start {
        site: SiteId(dock.site.load(Ordering::Relaxed)),
        instance: InstanceId(dock.instance.load(Ordering::Relaxed)),
        parent: InstanceId(parent),
        thread_num: member.thread_num(),
        team_size: team.size(),
        level: team.level(),
        fork: asked,
        set,
        decider,
    }
}

/// The primary member is through with its part without having waited.
pub(crate) fn ends(primary: &'static Member) {
    if let Some(thread) = primary.worker().recorder() {
        thread.end();
    }
}

/// The primary member's wait for the others ends, and so does its part, once `mark` is done.
pub(crate) fn wait_and_part_end(
    primary: &'static Member,
    waiting: Option<Waiting>,
    mark: impl FnOnce(),
) {
    let thread = waiting.as_ref().map(|waiting| waiting.thread);
    let ended = waiting.map(|waiting| end_wait(primary, waiting));
    mark();
    if let (Some(thread), Some(ended)) = (thread, ended) {
        thread.end_at(ended);
    }
}

/// A worker is through with its part in the region of that order, and says so by `arrive`.
pub(crate) fn leaves(member: &'static Member, order: Order, arrive: impl FnOnce()) {
    match member.worker().recorder() {
        Some(thread) if task::may_stay(member) => {
            // Tasks it runs from now on are part of the region, and so is its
            // waiting for more.
            task::stay(member, order, arrive, || thread.end());
        }
        Some(thread) => {
            // Before arriving: the process may end as soon as the primary
            // thread knows.
            thread.end();
            arrive();
        }
        None => arrive(),
    }
}

/// A worker that has reported the end of its part runs tasks of the region: one more part in the
/// same execution.
pub(crate) fn one_more_part(member: &'static Member, team: &'static Team, tasks: impl FnOnce()) {
    let thread = member.worker().recorder();
    if let Some(thread) = thread {
        thread.begin(&part(member, team, now()));
    }
    tasks();
    if let Some(thread) = thread {
        thread.end();
    }
}

/// A place where the program says how many threads it wants.
pub fn threads_set(call: usize) {
    if let Some(recorder) = recorder() {
        let _ = recorder.site(SiteKind::Threads, call, 0);
    }
}

/// The calling thread has taken a lock.
#[inline]
pub(crate) fn mutex_taken() {
    if is_recorded() {
        count_mutex();
    }
}

#[cold]
fn count_mutex() {
    if let Some(thread) = recorder_of_this_thread() {
        thread.mutex_taken();
    }
}
