//! The two recordings of a run, of regions and of paging, tell of the same: the same threads,
//! the same moments by the same clock, the same counts of the shared memory.
#![forbid(unsafe_code)]

use fathomp_abi_tests::run::{self, Limits};
use fathomp_analysis::{AxisClock, AxisThread, TimeAlignment, axis};
use fathomp_launch::{Cluster, Inherit, OpenMp, Plan, Protocol, Recorder};
use fathomp_paging::setup::{Setup, Writer};
use fathomp_paging::{Counter, DIRECTORY, Mark, MarkKind, PagingMeta, Task, reader as paging};
use fathomp_requirements::left_out;
use fathomp_sys::clock;
use fathomp_trace::drain::{Drainer, Limits as DrainLimits};
use fathomp_trace::dsm::DsmCount;
use fathomp_trace::model::{Meta, Recording};
use fathomp_trace::record::Record;
use fathomp_trace::{reader, writer};
use fathomp_types::{Clock, Ending};
use libtest_mimic::{Completion, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

const LIMITS: Limits = Limits {
    time: Duration::from_secs(120),
    bytes: 1 << 20,
};

/// Regions of `interposer/states.c`.
const REGIONS: usize = 21;

fn fail(error: impl std::fmt::Display) -> Failed {
    Failed::from(error.to_string())
}

/// Both recordings of `interposer/states.c` on so many nodes, and the one on the other's clock.
struct Run {
    regions: Recording,
    paging: paging::Recording,
    axis: TimeAlignment,
    /// The files, which are read when they are needed.
    _place: TempDir,
}

fn make(nodes: u16, protocol: Protocol) -> Result<Run, Failed> {
    let place = tempfile::Builder::new()
        .prefix("fathomp-interposer-")
        .tempdir()?;
    let folder = |name: &str| -> Result<PathBuf, Failed> {
        let path = place.path().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(path)
    };
    let (live, interposed, recording) =
        (folder("live")?, folder("interposed")?, folder("recording")?);
    let program = build(place.path())?;
    let meta = Meta {
        live: Some(live.clone()),
        ..Meta::default()
    };
    writer::create(&recording, &meta, writer::Existing::Keep).map_err(fail)?;
    let begin = clock::pair();
    let common = Clock {
        zero: begin.ticks,
        zero_unix_ns: clock::unix_ns(),
        nanos_per_tick: clock::measure(&begin, Duration::from_millis(5)),
    };
    let streams = recording.join(DIRECTORY);
    std::fs::create_dir_all(&streams)?;
    let circumstances = PagingMeta {
        clock: Some(common),
        ..PagingMeta::default()
    };
    circumstances.write(&streams).map_err(fail)?;
    let setup = Setup {
        streams,
        writer: Writer::Task,
        clock: Some(common),
        ..Setup::default()
    };
    setup.write(&interposed).map_err(fail)?;

    let unpacked = fathomp_runtime::unpack().map_err(fail)?;
    let runtime = match nodes {
        1 => unpacked.library,
        _ => unpacked.cluster_library,
    };
    let plan = Plan {
        openmp: OpenMp {
            threads: Some(nodes.max(2).into()),
            ..OpenMp::default()
        },
        cluster: (nodes > 1).then(|| Cluster {
            protocol,
            ..Cluster::of(nodes)
        }),
        recorder: Some(Recorder::new(live.clone())),
        paging: Some(interposed),
        preload: vec![unpacked.interposer, runtime],
        ..Plan::default()
    };
    let mut command = Command::new(program);
    plan.apply(&mut command, Inherit::All);
    let ended = run::run(&mut command, LIMITS)?;
    if ended.ending != Ending::Exited(0) {
        return Err(format!("{}\n{}", ended.describe(), ended.stderr).into());
    }
    let drainer = Drainer::new(&live, &recording, DrainLimits::default()).map_err(fail)?;
    drainer.finish().map_err(fail)?;
    let regions = reader::open(&recording).map_err(fail)?;
    let paging = paging::Recording::open(&recording).map_err(fail)?;
    let clocks = paging.processes().iter().map(|process| AxisClock {
        pid: process.pid,
        clock: process.clock,
        offset_ns: process.offset_ns,
    });
    let axis = axis(&regions, &clocks.collect::<Vec<_>>()).ok_or("there is no axis")?;
    Ok(Run {
        regions,
        paging,
        axis,
        _place: place,
    })
}

fn build(directory: &Path) -> Result<PathBuf, Failed> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("interposer/states.c");
    let output = directory.join("states");
    let mut command = Command::new("gcc");
    command.args(["-O2", "-g", "-fopenmp", "-o"]);
    let ended = run::run(command.arg(&output).arg(source), LIMITS)?;
    match ended.ending {
        Ending::Exited(0) => Ok(output),
        _ => Err(ended.stderr.into()),
    }
}

/// What the paging recording knows as the program's OpenMP threads.
fn tasks(run: &Run) -> Vec<&Task> {
    let all = run.paging.tasks().iter();
    all.filter(|task| task.openmp_thread.is_some()).collect()
}

fn thread_of<'a>(run: &'a Run, task: &Task) -> Result<&'a AxisThread, Failed> {
    let mut threads = run.axis.threads.iter();
    let found = threads.find(|t| t.pid == task.process && t.os_id == task.os_id);
    found.ok_or_else(|| fail(format_args!("no thread is {}", task.label())))
}

/// Regions begin at the same moments, and are where the source says.
fn expect_same_moments(run: &Run) -> Result<(), Failed> {
    for task in tasks(run) {
        let thread = thread_of(run, task)?;
        let marks = run.paging.marks(task.id).map_err(fail)?;
        let of = |kind| marks.iter().filter(move |mark| mark.kind == kind);
        let begins: Vec<&Mark> = of(MarkKind::RegionBegin).collect();
        let ends: Vec<&Mark> = of(MarkKind::RegionEnd).collect();
        let counts = (begins.len(), ends.len(), thread.regions.len());
        if counts != (REGIONS, REGIONS, REGIONS) {
            return Err(format!("{}: {counts:?} marks and regions", task.label()).into());
        }
        let mut before_ns = 0;
        for ((begin, end), region) in begins.into_iter().zip(ends).zip(&thread.regions) {
            let inside = (region.begin_ns..=region.end_ns).contains(&begin.at)
                && before_ns <= region.begin_ns
                && end.at > region.begin_ns;
            if !inside {
                let label = task.label();
                return Err(format!("{label}: {region:?} has {begin:?} and {end:?}").into());
            }
            before_ns = end.at;
            let name = run.paging.name(fathomp_paging::Cause(begin.name));
            let place = &run.axis.names[region.name as usize];
            let resolved = run.axis.resolve(task.process, name);
            if resolved.as_ref() != Some(&format!("region {place}"))
                || !place.starts_with("states.c:")
            {
                return Err(format!("{name} is {resolved:?}, not region {place}").into());
            }
        }
    }
    Ok(())
}

/// Every cause with a number is found in the source.
fn expect_places(run: &Run) -> Result<(), Failed> {
    let mut named = 0;
    for task in tasks(run) {
        let mut unknown = None;
        let each = |interval: &fathomp_paging::Interval| {
            let name = run.paging.name(interval.cause);
            if name.contains('#') {
                named += 1;
                match run.axis.resolve(task.process, name) {
                    Some(resolved) if resolved.contains("states.c:") => {}
                    other => unknown = Some(format!("{name} is {other:?}")),
                }
            }
        };
        run.paging.visit(task.id, each).map_err(fail)?;
        if let Some(unknown) = unknown {
            return Err(unknown.into());
        }
    }
    match named {
        0 => Err("no cause has a place".into()),
        _ => Ok(()),
    }
}

/// What the recording of regions has counted, of all threads.
fn counted(recording: &Recording, which: &[DsmCount]) -> u64 {
    let threads = recording.processes.iter().flat_map(|p| &p.threads);
    let instances = threads.flat_map(|thread| &thread.records);
    instances
        .filter_map(|record| match record {
            Record::Instance(instance) => Some(instance.dsm_counts()),
            _ => None,
        })
        .map(|counts| which.iter().map(|count| counts[*count]).sum::<u64>())
        .sum()
}

/// Both have counted the same.
fn expect_same_counts(run: &Run) -> Result<(), Failed> {
    let pairs: [(Counter, &[DsmCount]); 3] = [
        (Counter::DsmFetchFaults, &[DsmCount::FetchFaults]),
        (
            Counter::DsmWriteFaults,
            &[DsmCount::WriteFaultsLocal, DsmCount::WriteFaultsRemote],
        ),
        (Counter::DsmPagesIn, &[DsmCount::PagesFetched]),
    ];
    for (counter, counts) in pairs {
        let mut told = 0;
        for task in run.paging.tasks() {
            let each = |interval: &fathomp_paging::Interval| told += interval.counts[counter];
            run.paging.visit(task.id, each).map_err(fail)?;
        }
        let counted = counted(&run.regions, counts);
        if told != counted || told == 0 {
            let name = counter.name();
            return Err(format!("{name}: {told} in the one, {counted} in the other").into());
        }
    }
    Ok(())
}

fn on_threads() -> Result<(), Failed> {
    let run = make(1, Protocol::Home)?;
    if tasks(&run).len() != 2 {
        return Err(format!("{:?}", run.paging.tasks()).into());
    }
    expect_same_moments(&run)?;
    expect_places(&run)
}

fn on_nodes() -> Result<(), Failed> {
    for &protocol in Protocol::ALL {
        for nodes in [2, 4] {
            let run = make(nodes, protocol)?;
            if tasks(&run).len() != usize::from(nodes) {
                return Err(format!("{nodes} nodes: {:?}", run.paging.tasks()).into());
            }
            expect_same_moments(&run)?;
            expect_places(&run)?;
            expect_same_counts(&run)?;
        }
    }
    Ok(())
}

/// A test of a name.
type Case = (&'static str, fn() -> Result<(), Failed>);

pub(crate) fn trials() -> Vec<Trial> {
    let has_compiler = fathomp_abi_tests::build::available("gcc");
    let cases: [Case; 2] = [("on threads", on_threads), ("on nodes", on_nodes)];
    let trials = cases.into_iter().map(|(name, case)| {
        Trial::ignorable_test(format!("recordings::{name}"), move || {
            if !has_compiler {
                return left_out("needs gcc: apt-get install gcc".to_owned());
            }
            case()?;
            Ok(Completion::Completed)
        })
    });
    trials.collect()
}
