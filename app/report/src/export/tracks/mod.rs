//! What threads do, as nested stretches of time on one clock: what formats of timelines share.

mod activities;
mod clock;
mod messages;
mod mpi;

pub(in crate::export) use activities::{Activities, Activity, Doing};
pub use clock::CommonClock;
pub(in crate::export) use clock::ProcessClock;
pub(in crate::export) use mpi::MpiClass;

use fathomp_trace::model::{Process, Thread};
use fathomp_trace::record::{Instance, Record};
use fathomp_trace::state::State;
use fathomp_types::mpi::{Transfer, TransferKind};
use fathomp_types::text::one_line;
use fathomp_types::{InstanceId, SiteId, Ticks};
use messages::{Call, Requests};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io;

/// A stretch of time in which a thread does one thing, and perhaps others inside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice<'a> {
    /// From here, in nanoseconds of the common clock,
    pub(super) begin_ns: u64,
    /// to here.
    pub(super) end_ns: u64,
    /// The number of the [`Activity`].
    pub(super) activity: u32,
    /// What it is.
    pub(super) doing: Doing,
    /// The call of MPI, if it is one.
    pub(super) call: Option<Call<'a>>,
}

/// A process whose threads are cut into slices.
pub(super) struct Tracks {
    clock: ProcessClock,
    /// By [`SiteId`], the number of the place.
    places: Vec<u32>,
    program: String,
    /// When the encountering threads left the regions.
    ends: HashMap<InstanceId, Ticks>,
    requests: Requests,
}

impl Tracks {
    pub(super) fn new(process: &Process, clock: ProcessClock, activities: &mut Activities) -> Self {
        let instances = process.threads.iter().flat_map(instances);
        let encountered = instances.filter(|one| one.thread_num == 0 && one.merged <= 1);
        Self {
            clock,
            places: process
                .sites
                .iter()
                .map(|site| activities.place(site))
                .collect(),
            program: program_name(process),
            ends: encountered.map(|one| (one.instance, one.end)).collect(),
            requests: Requests::of(process),
        }
    }

    /// What the thread does, in no order.
    pub(super) fn slices<'a>(
        &self,
        thread: &'a Thread,
        activities: &mut Activities,
    ) -> Vec<Slice<'a>> {
        let mut found = Vec::with_capacity(thread.records.len() + 1);
        let mut add = |doing: Doing, site: SiteId, begin: Ticks, end: Ticks, call| {
            let begin_ns = self.clock.at_ns(begin);
            let place = self.places.get(site.0 as usize).copied().unwrap_or(0);
            found.push(Slice {
                begin_ns,
                end_ns: self.clock.at_ns(end).max(begin_ns),
                activity: activities.number(doing, place, &self.program),
                doing,
                call,
            });
        };
        if leads(thread) {
            add(
                Doing::Program,
                SiteId::SERIAL,
                thread.begin,
                thread.end,
                None,
            );
        }
        for (one, until) in self.parts(thread) {
            if one.merged > 1 {
                add(Doing::Several, one.site, one.begin, one.end, None);
                continue;
            }
            let wait = Doing::Wait(State::ImplicitBarrier);
            let from = match one.fork {
                Ticks(0) => one.begin,
                fork if one.thread_num == 0 => fork.min(one.begin),
                _ => one.begin,
            };
            add(Doing::Parallel, one.site, from, until, None);
            if from < one.begin {
                add(
                    Doing::Wait(State::Overhead),
                    one.site,
                    from,
                    one.begin,
                    None,
                );
            }
            if one.end < until {
                add(wait, one.site, one.end, until, None);
            }
        }
        // A call of MPI that takes long is recorded as a wait, too.
        let mut calls = HashSet::new();
        let mut first_message = None;
        for (index, record) in thread.records.iter().enumerate() {
            match record {
                Record::Transfer(_) => _ = first_message.get_or_insert(index),
                Record::Message(message) => {
                    calls.insert((message.begin, message.end));
                    let from = first_message.take().unwrap_or(index);
                    let records = &thread.records[from..index];
                    let call = Some(Call { message, records });
                    let (begin, end) = (message.begin, message.end);
                    add(
                        Doing::Mpi(message.function),
                        SiteId::SERIAL,
                        begin,
                        end,
                        call,
                    );
                }
                _ => {}
            }
        }
        for record in &thread.records {
            match record {
                Record::Interval(one) if !calls.contains(&(one.begin, one.end)) => {
                    add(Doing::Wait(one.state), one.site, one.begin, one.end, None);
                }
                Record::Loop(one) => add(Doing::Loop(one.kind), one.site, one.begin, one.end, None),
                _ => {}
            }
        }
        let (begin, end) = self.life(thread, &found);
        let first = found.first_mut();
        if let Some(whole) = first.filter(|one| one.doing == Doing::Program) {
            (whole.begin_ns, whole.end_ns) = (begin, end);
        }
        found
    }

    /// What the slice's call of MPI does with messages.
    pub(super) fn transfers(&self, slice: &Slice<'_>) -> Vec<(TransferKind, Transfer)> {
        let call = slice.call.as_ref();
        call.map_or_else(Vec::new, |call| self.requests.transfers(call))
    }

    /// When the thread begins and ends: not after its first slice, and not before its last ends.
    pub(super) fn life(&self, thread: &Thread, slices: &[Slice<'_>]) -> (u64, u64) {
        let [begin, end] = [thread.begin, thread.end].map(|at| self.clock.at_ns(at));
        let begins = slices.iter().map(|one| one.begin_ns);
        let ends = slices.iter().map(|one| one.end_ns);
        (begins.fold(begin, u64::min), ends.fold(end, u64::max))
    }

    /// The thread's parts in regions, and until when it stayed: all but the encountering thread
    /// are recorded as through when they come to the barrier at the end.
    fn parts<'a>(&self, thread: &'a Thread) -> Vec<(&'a Instance, Ticks)> {
        const LEVELS: usize = 9;
        let mut parts: Vec<&Instance> = instances(thread).collect();
        parts.sort_by_key(|one| (one.begin, Reverse(one.end), one.level));
        // By level, when the thread begins the next part.
        let mut next = [Ticks(u64::MAX); LEVELS];
        let until = |one: &Instance| {
            let level = (one.level as usize).min(LEVELS - 1);
            let limit = next[..=level].iter().min().copied().unwrap_or_default();
            next[level] = one.begin;
            let left = self.ends.get(&one.instance).copied().unwrap_or_default();
            left.min(limit).max(one.end)
        };
        let mut until: Vec<Ticks> = parts.iter().rev().copied().map(until).collect();
        until.reverse();
        parts.into_iter().zip(until).collect()
    }
}

/// The program that a process runs.
pub(super) fn program_name(process: &Process) -> String {
    process.executable.file_name().map_or_else(
        || "program".to_owned(),
        |name| one_line(&name.to_string_lossy()).into_owned(),
    )
}

fn instances(thread: &Thread) -> impl Iterator<Item = &Instance> {
    thread.records.iter().filter_map(|record| match record {
        Record::Instance(one) if one.site != SiteId::SERIAL => Some(&**one),
        _ => None,
    })
}

/// Whether the thread runs the program outside regions, and does not belong to a pool.
fn leads(thread: &Thread) -> bool {
    let mut parts = instances(thread).peekable();
    thread.id.0 == 0
        || parts.peek().is_none()
        || parts.any(|one| one.level <= 1 && one.thread_num == 0)
}

/// Calls `step` with each begin (`true`) and end of a slice, in order of time and nested: what
/// would outlast the slice around it ends with that. A sum of several executions ends where
/// another slice begins that outlasts it, since it is no stretch of time in one region.
pub(super) fn walk<'a>(
    mut slices: Vec<Slice<'a>>,
    mut step: impl FnMut(u64, bool, &Slice<'a>) -> io::Result<()>,
) -> io::Result<()> {
    slices.sort_by_key(|one| (one.begin_ns, Reverse(one.end_ns), one.doing));
    let mut open: Vec<Slice<'a>> = Vec::new();
    for mut slice in slices {
        let at = slice.begin_ns;
        while let Some(top) = open.pop_if(|top| {
            top.end_ns <= at || top.doing == Doing::Several && top.end_ns < slice.end_ns
        }) {
            step(top.end_ns.min(at), false, &top)?;
        }
        if let Some(top) = open.last() {
            slice.end_ns = slice.end_ns.min(top.end_ns);
        }
        step(at, true, &slice)?;
        open.push(slice);
    }
    while let Some(top) = open.pop() {
        step(top.end_ns, false, &top)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(slices: &[(Doing, u64, u64)]) -> Vec<(u64, bool, Doing)> {
        let slices = slices.iter().map(|&(doing, begin_ns, end_ns)| Slice {
            begin_ns,
            end_ns,
            activity: 0,
            doing,
            call: None,
        });
        let mut steps = Vec::new();
        let walked = walk(slices.collect(), |at, begins, slice| {
            steps.push((at, begins, slice.doing));
            Ok(())
        });
        walked.expect("steps do not fail");
        steps
    }

    #[test]
    fn slices_end_with_the_slice_around_them() {
        let (region, wait) = (Doing::Parallel, Doing::Wait(State::Critical));
        let steps = walked(&[(wait, 3, 9), (region, 1, 5), (region, 5, 7), (wait, 6, 6)]);
        let expected = [
            (1, true, region),
            (3, true, wait),
            (5, false, wait),
            (5, false, region),
            (5, true, region),
            (6, true, wait),
            (6, false, wait),
            (7, false, region),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_sum_of_executions_ends_where_a_longer_slice_begins() {
        let (sum, call) = (Doing::Several, Doing::Mpi(7));
        let steps = walked(&[(sum, 1, 5), (call, 2, 3), (call, 4, 8)]);
        let expected = [
            (1, true, sum),
            (2, true, call),
            (3, false, call),
            (4, false, sum),
            (4, true, call),
            (8, false, call),
        ];
        assert_eq!(steps, expected);
    }
}
