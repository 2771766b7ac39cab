//! What a recording says of *when*, for the pictures of a paging recording of the same run:
//! regions and barriers with their names, and phases between barriers of the nodes.
//!
//! Both recordings have times of the same tick counter, so a tick is the same moment in
//! both, and becomes the same nanoseconds by the clocks of the paging recording. A thread is
//! the same one if the kernel's numbers of it and its process are.

use crate::sites::Sites;
use crate::symbols::Symbols;
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_trace::model::{Process, Recording, SiteKind, Thread};
use fathomp_trace::record::Record;
use fathomp_trace::state::State;
use fathomp_types::{Clock, SiteId, Ticks};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Regions, barriers and phases of a run on a clock of nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeAlignment {
    /// Names of places, `basin.c:30` where the source is known. The first is that of the
    /// serial part.
    pub names: Vec<String>,
    /// Threads, in the order of the recording.
    pub threads: Vec<AxisThread>,
    /// Places by process and the number that the process gave them.
    #[serde(skip)]
    sites: HashMap<(u32, u32), (SiteKind, u32)>,
}

/// What a thread did when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AxisThread {
    /// Operating-system process number.
    pub pid: u32,
    /// Operating-system thread number.
    pub os_id: u32,
    /// Its node; 0 if there are none.
    pub node: u16,
    /// Executions of parallel regions that the thread took part in, by their begin;
    /// where the recorder has added some up, each sum is one.
    pub regions: Vec<AxisSpan>,
    /// Waits in barriers that were long enough to be recorded, by their begin. They have
    /// the names of the regions.
    pub barriers: Vec<AxisSpan>,
    /// Phases that its recorder wrote, by their begin.
    pub phases: Vec<AxisPhase>,
}

/// Something that took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AxisSpan {
    /// When it began, in nanoseconds of the clock.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Where: a place of [`TimeAlignment::names`].
    pub name: u32,
    /// Executions that this is the sum of; 1 as a rule.
    pub merged: u32,
}

/// From one barrier of the nodes, or the begin of the region, to the end of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AxisPhase {
    /// When it began, in nanoseconds of the clock.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// The region: a place of [`TimeAlignment::names`].
    pub name: u32,
    /// The execution of the region, the same on all nodes.
    pub instance: u64,
    /// Number of the phase within that execution: those of equal numbers belong together.
    pub number: u32,
    /// What sharing memory cost the thread meanwhile.
    pub counts: AxisCounts,
}

/// Counts of a phase, by the words of paging recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AxisCounts {
    /// Writes that had to be noticed.
    pub write_faults: u64,
    /// Accesses to pages that had to be fetched.
    pub fetch_faults: u64,
    /// Pages that came for them.
    pub pages_in: u64,
    /// Pages that the thread's node sent meanwhile, as far as it was this thread that
    /// told of it.
    pub pages_out: u64,
    /// Bytes, likewise.
    pub bytes_out: u64,
}

impl AxisCounts {
    fn new(counts: &DsmCounts) -> Self {
        let local = counts[DsmCount::WriteFaultsLocal];
        Self {
            write_faults: local.saturating_add(counts[DsmCount::WriteFaultsRemote]),
            fetch_faults: counts[DsmCount::FetchFaults],
            pages_in: counts[DsmCount::PagesFetched],
            pages_out: counts[DsmCount::PagesServed],
            bytes_out: counts[DsmCount::BytesSent],
        }
    }
}

/// How the ticks of a process became times of the paging recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisClock {
    /// Operating-system process number.
    pub pid: u32,
    /// What its ticks mean.
    pub clock: Clock,
    /// What to add to times of that clock to get the recording's, in nanoseconds.
    pub offset_ns: i64,
}

impl AxisClock {
    /// The recording's time at a tick; no time is before 0.
    fn at(&self, tick: Ticks) -> u64 {
        let zero = self.clock.zero;
        if tick >= zero {
            return self.clock.at(tick).0.saturating_add_signed(self.offset_ns);
        }
        // Before the process was recorded, but after another one was.
        let before_ns = self.clock.span(zero.since(tick)).0;
        let offset_ns = u64::try_from(self.offset_ns).unwrap_or(0);
        offset_ns.saturating_sub(before_ns)
    }
}

/// The axis of `recording` on the clocks of the paging recording of the same run. A process
/// that has none there goes by the first. None without clocks.
#[must_use]
pub fn axis(recording: &Recording, clocks: &[AxisClock]) -> Option<TimeAlignment> {
    let any = clocks.first()?;
    let sites = Sites::new(recording, &mut Symbols::of(recording));
    let names = sites.entries.iter().map(|entry| match &entry.name {
        none if none.is_empty() => entry.place.short.clone(),
        name => name.clone(),
    });
    let mut axis = TimeAlignment {
        names: names.collect(),
        ..TimeAlignment::default()
    };
    for (index, process) in recording.processes.iter().enumerate() {
        axis.add_sites(process, |site| sites.region(index, site) as u32);
        for thread in &process.threads {
            let name = |site| sites.region(index, site) as u32;
            let pid = pid_of(process, thread);
            // One that became another program by `exec` is there twice.
            let mut known = clocks.iter().rev();
            let clock = known.find(|clock| clock.pid == pid).unwrap_or(any);
            let mut added = of_thread(thread, clock, name);
            added.pid = pid;
            axis.threads.push(added);
        }
    }
    Some(axis)
}

/// The number of a thread's process.
fn pid_of(process: &Process, thread: &Thread) -> u32 {
    let mut nodes = process.nodes.iter();
    let node = nodes.find(|node| node.node == thread.node);
    node.map_or(process.pid, |node| node.pid)
}

fn of_thread(thread: &Thread, clock: &AxisClock, name: impl Fn(SiteId) -> u32) -> AxisThread {
    let mut found = AxisThread {
        os_id: thread.os_id,
        node: thread.node.0,
        ..AxisThread::default()
    };
    let moment = |at: Ticks| clock.at(at);
    let span = |begin, end, site, merged| AxisSpan {
        begin_ns: moment(begin),
        end_ns: moment(end),
        name: name(site),
        merged,
    };
    let mut numbers: BTreeMap<u64, u32> = BTreeMap::new();
    for record in &thread.records {
        match record {
            Record::Instance(one) if one.site != SiteId::SERIAL => {
                let of = span(one.begin, one.end, one.site, one.merged);
                found.regions.push(of);
            }
            Record::Interval(one)
                if matches!(one.state, State::ImplicitBarrier | State::ExplicitBarrier) =>
            {
                found.barriers.push(span(one.begin, one.end, one.site, 1));
            }
            Record::Phase(phase) => {
                let number = numbers.entry(phase.instance.0).or_default();
                found.phases.push(AxisPhase {
                    begin_ns: moment(phase.begin),
                    end_ns: moment(phase.end),
                    name: name(phase.site),
                    instance: phase.instance.0,
                    number: *number,
                    counts: AxisCounts::new(&phase.dsm),
                });
                *number += 1;
            }
            _ => {}
        }
    }
    found
        .regions
        .sort_by_key(|span| (span.begin_ns, span.end_ns));
    found
        .barriers
        .sort_by_key(|span| (span.begin_ns, span.end_ns));
    found
        .phases
        .sort_by_key(|phase| (phase.begin_ns, phase.end_ns));
    found
}

impl TimeAlignment {
    fn add_sites(&mut self, process: &Process, name: impl Fn(SiteId) -> u32) {
        let mut add = |pid, number: usize, site: SiteId| {
            if let Some(known) = process.sites.get(site.0 as usize) {
                let place = (known.kind, name(site));
                self.sites.insert((pid, number as u32), place);
            }
        };
        for (number, site) in process.sites.iter().enumerate() {
            add(process.pid, number, site.id);
        }
        for node in &process.nodes {
            for (number, site) in node.sites.iter().enumerate() {
                add(node.pid, number, *site);
            }
        }
    }

    /// The name of a cause or mark of a process's paging recording in words: `barrier#3`
    /// becomes `barrier in basin.c:30`, `critical#7` `critical at basin.c:52`. None if it
    /// has no number, or one that the recording does not explain.
    #[must_use]
    pub fn resolve(&self, pid: u32, name: &str) -> Option<String> {
        let (what, number) = name.rsplit_once('#')?;
        let number = number.parse().ok()?;
        let (kind, place) = self.sites.get(&(pid, number))?;
        let place = self.names.get(*place as usize)?;
        Some(match kind {
            SiteKind::Parallel | SiteKind::Teams if what == "region" => format!("{what} {place}"),
            SiteKind::Parallel | SiteKind::Teams => format!("{what} in {place}"),
            SiteKind::Serial => what.to_owned(),
            _ => format!("{what} at {place}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Script, Work};
    use fathomp_trace::model::NodeProcess;
    use fathomp_trace::record::Phase;
    use fathomp_types::{InstanceId, NodeId};

    fn recording() -> Recording {
        let mut script = Script::new(2);
        script.site(SiteKind::Parallel, 0x400);
        script.site(SiteKind::Mutex, 0x500);
        let work = |ns| Work::compute(ns).and(State::ExplicitBarrier, 10_000 - ns);
        script.region(0x400, &[work(2_000), work(8_000)]);
        let mut recording = script.build();
        let threads = recording.processes[0].threads.iter_mut();
        for record in threads.flat_map(|thread| &mut thread.records) {
            if let Record::Interval(wait) = record {
                wait.site = SiteId(1);
            }
        }
        recording
    }

    const LATER: AxisClock = AxisClock {
        pid: 0,
        clock: Clock {
            zero: Ticks(900_000),
            zero_unix_ns: 0,
            nanos_per_tick: 2.0,
        },
        offset_ns: 0,
    };

    #[test]
    fn a_process_has_its_own_clock() {
        let mut recording = recording();
        let pid = recording.processes[0].pid;
        let own = AxisClock {
            pid,
            offset_ns: 50,
            ..LATER
        };
        let first = |axis: Option<TimeAlignment>| axis.unwrap().threads[0].regions[0].begin_ns;
        let before = first(axis(&recording, &[LATER]));
        assert_eq!(first(axis(&recording, &[LATER, own])), before + 50);
        recording.processes[0].pid += 1;
        assert_eq!(first(axis(&recording, &[LATER, own])), before);
        assert_eq!(axis(&recording, &[]), None);
        // What was before its zero lies before its offset.
        assert_eq!((own.at(Ticks(899_990)), own.at(Ticks(0))), (30, 0));
    }

    #[test]
    fn spans_are_those_of_the_records_on_the_other_clock() {
        let recording = recording();
        let axis = axis(&recording, &[LATER]).unwrap();
        let records = recording.processes[0].threads.iter().map(|t| &t.records);
        for (thread, records) in axis.threads.iter().zip(records) {
            let instance = records.iter().find_map(|record| match record {
                Record::Instance(one) if one.site != SiteId::SERIAL => Some(one),
                _ => None,
            });
            let instance = instance.unwrap();
            let [region] = thread.regions[..] else {
                panic!("{thread:?}")
            };
            assert_eq!(region.begin_ns, 2 * (instance.begin.0 - 900_000));
            assert_eq!(region.end_ns, 2 * (instance.end.0 - 900_000));
            let [barrier] = thread.barriers[..] else {
                panic!("{thread:?}")
            };
            assert_eq!(barrier.name, region.name);
            assert!(region.begin_ns < barrier.begin_ns && barrier.end_ns <= region.end_ns);
        }
    }

    #[test]
    fn names_are_those_of_the_process_that_gave_the_number() {
        let mut recording = recording();
        let process = &mut recording.processes[0];
        process.pid = 70;
        process.nodes = vec![
            NodeProcess {
                node: NodeId(0),
                pid: 70,
                sites: vec![SiteId(0), SiteId(1), SiteId(2)],
            },
            NodeProcess {
                node: NodeId(1),
                pid: 71,
                sites: vec![SiteId(0), SiteId(2), SiteId(1)],
            },
        ];
        process.threads[1].node = NodeId(1);
        let axis = axis(&recording, &[LATER]).unwrap();
        assert_eq!((axis.threads[0].pid, axis.threads[1].pid), (70, 71));
        let region = axis.resolve(70, "region#1").unwrap();
        let place = region.strip_prefix("region ").unwrap();
        assert_eq!(axis.names[axis.threads[0].regions[0].name as usize], place);
        let barrier = format!("barrier in {place}");
        assert_eq!(axis.resolve(70, "barrier#1").unwrap(), barrier);
        assert_eq!(axis.resolve(71, "barrier#2").unwrap(), barrier);
        let critical = axis.resolve(71, "critical#1").unwrap();
        assert_eq!(Some(&critical), axis.resolve(70, "critical#2").as_ref());
        assert!(critical.starts_with("critical at "), "{critical}");
        for unknown in ["idle", "barrier#9", "barrier#x", "read"] {
            assert_eq!(axis.resolve(70, unknown), None, "{unknown}");
        }
        assert_eq!(axis.resolve(72, "barrier#1"), None);
    }

    #[test]
    fn phases_are_numbered_within_their_execution() {
        let mut recording = recording();
        let phase = |instance, begin, end, fetches| {
            let mut dsm = DsmCounts::default();
            dsm[DsmCount::FetchFaults] = fetches;
            dsm[DsmCount::WriteFaultsLocal] = 1;
            dsm[DsmCount::WriteFaultsRemote] = 2;
            Record::from(Phase {
                site: SiteId(1),
                instance: InstanceId(instance),
                begin: Ticks(begin),
                end: Ticks(end),
                dsm,
            })
        };
        recording.processes[0].threads[0].records.extend([
            phase(5, 1_000_000, 1_000_010, 4),
            phase(5, 1_000_010, 1_000_030, 6),
            phase(6, 1_000_040, 1_000_050, 0),
        ]);
        let axis = axis(&recording, &[LATER]).unwrap();
        let phases = &axis.threads[0].phases;
        let numbers: Vec<_> = phases.iter().map(|p| (p.instance, p.number)).collect();
        assert_eq!(numbers, [(5, 0), (5, 1), (6, 0)]);
        assert_eq!((phases[1].begin_ns, phases[1].end_ns), (200_020, 200_060));
        assert_eq!(phases[1].counts.fetch_faults, 6);
        assert_eq!(phases[1].counts.write_faults, 3);
    }
}
