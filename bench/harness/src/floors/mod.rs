//! What nodes cost beside the least that kernel and machine take for the same:
//! `suites/prices` and `suites/floors/hold.c` on nodes, `suites/floors/floors.c`
//! without any of ours, in turn.

mod document;
mod hosts;
mod programs;
mod table;

pub use document::{Bound, Document, Estimated, Row, SCHEMA, Side, VERSION};
pub use fathomp_launch::Faults as Scheme;
pub use hosts::{OnHosts, Trips, WireFloor, measure_on_hosts, steps_on_hosts, wire_floor};
pub use programs::{Built, FloorsError, build};
pub use table::table;

use crate::machine::Machine;
use crate::prices::{self, Effort, Faults, Sync, Writes};
use document::{Unit, row};
use fathomp_sys::affinity::{self, CpuSet};
use programs::{Floors, floors, held_mib, start_ms};
use serde::Serialize;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Nodes that events between two of them are measured on.
const PAIR: u16 = 2;
/// Nodes that are started.
const STARTED: u16 = 4;
/// Starts in a run.
const STARTS: usize = 5;
/// Repetitions in a sample of synchronisation.
const REPETITIONS: u32 = 50;

/// A cost that has a floor should be at most so many times that.
const TIMES_FLOOR: f64 = 1.5;
/// Longest empty barrier of two nodes with a processor each, in microseconds.
const BARRIER_US: f64 = 5.0;
/// The same, with one processor for both.
const BARRIER_SHARED_US: f64 = 60.0;
/// Longest start of an empty program, in milliseconds.
const START_MS: f64 = 100.0;
/// A node may take so many times the memory of the program by itself,
const TIMES_MEMORY: f64 = 2.0;
/// and so much more.
const MORE_MIB: f64 = 64.0;

/// Where a program is to run.
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    /// How many, with a thread each.
    pub count: u16,
    /// How accesses are noticed.
    pub scheme: Scheme,
    /// Pages stay at their homes and come one by one.
    pub plain: bool,
}

/// Ways to start programs.
pub struct Ground<'a> {
    /// On nodes.
    pub on_nodes: &'a dyn Fn(&Path, Nodes) -> Command,
    /// By itself, with so many threads.
    pub alone: &'a dyn Fn(&Path, u16) -> Command,
    /// On so many nodes as a user would.
    pub by_user: &'a dyn Fn(&Path, u16) -> Command,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Extent {
    /// Processes of each kind.
    pub runs: u32,
    /// Samples in each.
    pub rounds: u32,
    /// Pages in a sample.
    pub pages: u32,
    /// Size of the array of the program whose memory is measured, in MiB.
    pub array_mib: u32,
}

/// A way to notice accesses, on all processors or on one.
#[derive(Clone, Copy, Debug)]
struct Group {
    scheme: Scheme,
    one_processor: bool,
}

impl Group {
    fn name(self) -> String {
        let place = if self.one_processor {
            ", one processor"
        } else {
            ""
        };
        format!("{}{place}", self.scheme.name())
    }

    /// What there is on a machine. Synchronisation does not depend on the scheme,
    /// nor does what one processor means.
    fn all(processors: usize) -> Vec<Self> {
        let group = |scheme, one_processor| Self {
            scheme,
            one_processor,
        };
        let mut groups = vec![
            group(Scheme::Userfault, processors == 1),
            group(Scheme::Mprotect, processors == 1),
        ];
        if processors > 1 {
            groups.push(group(Scheme::Userfault, true));
            groups.push(group(Scheme::Mprotect, true));
        }
        groups
    }
}

/// What a group's processes said.
#[derive(Default)]
struct GroupSamples {
    floors: Vec<Floors>,
    faults: Vec<Faults>,
    writes: Vec<Writes>,
    sync: Vec<Sync>,
}

/// One step of the work, for progress displays.
#[derive(Clone, Debug)]
pub struct Step {
    /// Steps already done.
    pub done: usize,
    /// What is measured now.
    pub what: String,
}

/// Steps of [`measure`].
#[must_use]
pub fn steps(extent: Extent, processors: usize) -> usize {
    (Group::all(processors).len() + 2) * extent.runs as usize
}

/// Measures everything; `progress` hears of every step.
///
/// # Errors
/// If a program computes something wrong, or nothing can be measured.
pub fn measure(
    built: &Built,
    ground: &Ground,
    extent: Extent,
    mut progress: impl FnMut(Step),
) -> Result<Document, FloorsError> {
    let machine = Machine::read();
    let groups = Group::all(machine.processors);
    let mut said: Vec<Result<GroupSamples, FloorsError>> =
        groups.iter().map(|_| Ok(GroupSamples::default())).collect();
    let (mut started, mut held) = (Pair::default(), Pair::default());
    let mut done = 0;
    let mut step = |what: String| {
        progress(Step { done, what });
        done += 1;
    };
    for run in 0..extent.runs {
        for (group, said) in groups.iter().zip(&mut said) {
            step(group.name());
            // What fails once is not tried again.
            if let Ok(so_far) = said
                && let Err(error) = measure_group(built, ground, extent, *group, run, so_far)
            {
                *said = Err(error);
            }
        }
        step("start".to_owned());
        let (mut on_nodes, mut alone) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            on_nodes.push(start_ms(&mut (ground.by_user)(&built.hold, STARTED))?);
            alone.push(start_ms(&mut (ground.alone)(&built.hold, 1))?);
        }
        started.push(on_nodes, alone);
        step("memory".to_owned());
        let mib = extent.array_mib;
        let nodes = held_mib(&mut (ground.by_user)(&built.hold, PAIR), mib)?;
        let alone = held_mib(&mut (ground.alone)(&built.hold, PAIR), mib)?;
        held.push(vec![nodes], vec![alone]);
    }
    let mut document = Document::new(machine, extent);
    for (group, said) in groups.iter().zip(said) {
        match said {
            Ok(said) => document.rows.extend(rows(*group, &said)),
            Err(error @ FloorsError::Wrong { .. }) => return Err(error),
            Err(error) => document.skipped.push(format!("{}: {error}", group.name())),
        }
    }
    if document.rows.is_empty() {
        return Err(FloorsError::Nothing(document.skipped.join("; ")));
    }
    let start = format!("start of an empty program, {STARTED} nodes");
    document.rows.extend(row(
        "all",
        start,
        Unit::Ms,
        started.ours,
        Some(started.floor),
        |_| Some(Bound::Value(START_MS)),
    ));
    let array = format!("memory of a node, array of {} MiB", extent.array_mib);
    document.rows.extend(row(
        "all",
        array,
        Unit::Mib,
        held.ours,
        Some(held.floor),
        |own| own.map(|own| Bound::Value(TIMES_MEMORY * own + MORE_MIB)),
    ));
    Ok(document)
}

/// Samples by process, of ours and of the floor.
#[derive(Default)]
struct Pair {
    ours: Vec<Vec<f64>>,
    floor: Vec<Vec<f64>>,
}

impl Pair {
    fn push(&mut self, ours: Vec<f64>, floor: Vec<f64>) {
        self.ours.push(ours);
        self.floor.push(floor);
    }
}

/// One run of everything in a group, one after the other; which is first changes.
fn measure_group(
    built: &Built,
    ground: &Ground,
    extent: Extent,
    group: Group,
    run: u32,
    said: &mut GroupSamples,
) -> Result<(), FloorsError> {
    let _bound = match group.one_processor {
        true => Some(OneProcessor::begin().map_err(FloorsError::Bind)?),
        false => None,
    };
    let effort = Effort {
        size: extent.pages,
        rounds: extent.rounds,
        limit: Duration::from_secs(2),
    };
    let nodes = |plain| Nodes {
        count: PAIR,
        scheme: group.scheme,
        plain,
    };
    let on = |plain| (ground.on_nodes)(&built.prices, nodes(plain));
    for turn in 0..4 {
        match (turn + run) % 4 {
            0 => {
                let mut floor = (ground.alone)(&built.floors, 1);
                said.floors.push(floors(&mut floor, group.scheme, effort)?);
            }
            1 => said.faults.push(prices::faults(&mut on(true), effort)?),
            2 => said.writes.push(prices::writes(&mut on(false), effort)?),
            _ => {
                let effort = Effort {
                    size: REPETITIONS,
                    ..effort
                };
                said.sync.push(prices::sync(&mut on(false), effort)?);
            }
        }
    }
    let wrong = [
        ("floors", said.floors.last().map(|said| said.wrong)),
        ("prices", said.faults.last().map(|said| said.wrong)),
        ("prices", said.writes.last().map(|said| said.wrong)),
        ("prices", said.sync.last().map(|said| said.wrong)),
    ];
    for (program, wrong) in wrong {
        if let Some(count @ 1..) = wrong {
            let group = group.name();
            return Err(FloorsError::Wrong {
                program,
                group,
                count,
            });
        }
    }
    Ok(())
}

fn rows(group: Group, said: &GroupSamples) -> Vec<Row> {
    let us = |samples: Vec<&Vec<f64>>| -> Vec<Vec<f64>> {
        let in_us = |process: &Vec<f64>| process.iter().map(|ns| ns * 1e-3).collect();
        samples.into_iter().map(in_us).collect()
    };
    let floor = |of: fn(&Floors) -> &Vec<f64>| us(said.floors.iter().map(of).collect());
    let faults = |of: fn(&Faults) -> &Vec<f64>| us(said.faults.iter().map(of).collect());
    let writes = |of: fn(&Writes) -> &Vec<f64>| us(said.writes.iter().map(of).collect());
    let sync = |of: fn(&Sync) -> &Vec<f64>| us(said.sync.iter().map(of).collect());
    let recorded = said
        .floors
        .iter()
        .map(|floors| floors.recorded_ns.as_ref())
        .collect::<Option<Vec<_>>>()
        .map(us);
    let times = Some(Bound::Ratio(TIMES_FLOOR));
    // Who waits for a processor does so as long as the scheduler likes.
    let fetched = times.filter(|_| !group.one_processor);
    let barrier = match group.one_processor {
        true => BARRIER_SHARED_US,
        false => BARRIER_US,
    };
    let fetch = || Some(floor(|said| &said.fetch_ns));
    [
        (
            "write fault, page at home here",
            faults(|said| &said.local_write_ns),
            Some(floor(|said| &said.write_ns)),
            times,
        ),
        (
            "write fault, copy of another's page",
            faults(|said| &said.remote_write_ns),
            Some(floor(|said| &said.twin_write_ns)),
            times,
        ),
        (
            "fetch, page by page, asked for",
            faults(|said| &said.fetch_ns),
            fetch(),
            fetched,
        ),
        (
            "fetch, page by page",
            writes(|said| &said.fetch_apart_ns),
            fetch(),
            fetched,
        ),
        (
            "fetch, in order",
            writes(|said| &said.fetch_in_order_ns),
            fetch(),
            fetched,
        ),
        (
            "first write, nobody else's page",
            writes(|said| &said.exclusive_write_ns),
            recorded.clone(),
            times,
        ),
        (
            "first write, page that others read",
            writes(|said| &said.written_again_ns),
            recorded,
            times,
        ),
        (
            "empty barrier",
            sync(|said| &said.barrier_ns),
            Some(floor(|said| &said.barrier_ns)),
            Some(Bound::Value(barrier)),
        ),
        (
            "lock, grant to grant",
            sync(|said| &said.lock_ns),
            Some(floor(|said| &said.handover_ns)),
            None,
        ),
        (
            "flush of nothing",
            sync(|said| &said.flush_ns),
            Some(floor(|said| &said.round_trip_ns)),
            None,
        ),
    ]
    .into_iter()
    .filter_map(|(name, ours, floor, bound)| {
        // Without a floor there is nothing to be times of.
        let bound = bound.filter(|bound| floor.is_some() || matches!(bound, Bound::Value(_)));
        row(
            &group.name(),
            name.to_owned(),
            Unit::Us,
            ours,
            floor,
            |_| bound,
        )
    })
    .collect()
}

/// While it lives, what this thread starts runs on one processor.
struct OneProcessor(CpuSet);

impl OneProcessor {
    fn begin() -> io::Result<Self> {
        let before = affinity::of_this_thread()?;
        let mut one = CpuSet::default();
        before.iter().take(1).for_each(|first| one.insert(first));
        affinity::bind_this_thread(&one)?;
        Ok(Self(before))
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        // It was there before.
        let _ = affinity::bind_this_thread(&self.0);
    }
}
