//! `fathomp record` on several hosts: what the hosts' agents take out of rings comes together in one
//! recording.

use super::beside::{Asked as AskedBeside, PLAN, RINGS, Told};
use super::crew::Crew;
use super::launch::{Asked, code, start};
use crate::args::{Cluster, Record};
use crate::failure::{Failure, exit};
use crate::launch::{Stderr, Stdin, Stdout, library};
use crate::output;
use crate::plan;
use crate::program::Program;
use crate::recording::{Request, circumstances, watch};
use crate::voice::{Voice, complain};
use fathomp_base::ClockReading;
use fathomp_base::text::one_line;
use fathomp_hosts::{Bytes, Caller, Ended, HostClock, Hosts, Reading, Status};
use fathomp_launch::{OpenMp, Recorder};
use fathomp_trace::model::{Meta, Outcome, RunHost};
use fathomp_trace::reader::REGIONS_FILE;
use fathomp_trace::writer::{self, Existing};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was recorded.
pub(crate) struct Recorded {
    pub(crate) exit_code: u8,
    pub(crate) records: u64,
    pub(crate) wall_ns: u64,
    pub(crate) problems: Vec<String>,
}

/// Runs a program on several hosts and records it.
pub(crate) fn record(
    asked: &Record,
    program: &Program,
    crew: Crew,
    voice: Voice,
) -> Result<Recorded, Failure> {
    let cluster = Cluster {
        nodes: crew.hosts.nodes(),
        ..asked.cluster
    };
    let launcher = |failure: Failure| failure.with_code(exit::LAUNCHER);
    let unpacked = fathomp_runtime::unpack().map_err(|error| launcher(error.into()))?;
    let directory = asked.output.as_path();
    let existing = match asked.force {
        true => Existing::Replace,
        false => Existing::Keep,
    };
    let meta = circumstances(&Request {
        program,
        unpacked: &unpacked,
        runtime: None,
        directory,
        existing,
        threads: asked.threads,
        cluster,
        accesses: None,
        paging: None,
        teams: None,
        group: None,
        limit_bytes: asked.limit << 20,
        limit: None,
        rehearsal: false,
        pace: None,
        openmp: OpenMp::default(),
        stdin: Stdin::Inherit,
        stdout: Stdout::for_voice(voice),
        stderr: Stderr::Inherit,
    });
    let meta = Meta {
        hosts: run_hosts(&crew.hosts),
        ..meta.map_err(launcher)?
    };
    let writer = writer::create(directory, &meta, existing);
    let mut writer = writer.map_err(|error| launcher(error.into()))?;
    let processes = directory.join("processes");
    std::fs::create_dir_all(&processes)
        .map_err(|error| launcher(Failure::unwritable(&processes, &error)))?;
    let planned = plan::plan(program);
    if let Some(regions) = &planned.regions {
        let json = regions.to_json().map_err(|error| Failure::of(&error))?;
        output::write_file(&directory.join(REGIONS_FILE), json.as_bytes())?;
    }
    let beside = AskedBeside {
        limit_bytes: asked.limit << 20,
        library: library(&unpacked, cluster).to_owned(),
        plan: planned.bytes(),
    };
    let count = crew.hosts.all().len();
    let asked = Asked {
        on: &asked.on,
        program,
        crew,
        cluster,
        threads: asked.threads,
        check_races: false,
        recorder: Some(Recorder::new(RINGS.into())),
        trips: beside.plan.is_some().then(|| PLAN.into()),
        beside: Some(Bytes(serde_json::to_vec(&beside)?)),
    };
    let gathered = Gathered {
        processes,
        hosts: RefCell::new((0..count).map(|_| OfHost::default()).collect()),
    };
    let ended = start(asked, &unpacked, &gathered, voice)?;
    let mut of_hosts = gathered.hosts.into_inner();
    let mut problems = planned.problems.clone();
    let names: Vec<String> = meta.hosts.iter().map(|host| host.name.clone()).collect();
    for (name, of) in names.iter().zip(&mut of_hosts) {
        let said = std::mem::take(&mut of.problems);
        problems.extend(said.into_iter().map(|said| format!("Host {name}: {said}")));
        // Why a program was not even started has been said.
        if !of.complete && ended.failed != Some(false) {
            problems.push(format!(
                "Host {name} did not tell all that was recorded there, so the end of it is missing."
            ));
        }
    }
    let records = of_hosts.iter().map(|of| of.records).sum();
    let runtimes: BTreeSet<PathBuf> = of_hosts.iter().flat_map(|of| of.runtimes.clone()).collect();
    problems.extend(watch::remarks(records > 0, &runtimes));
    writer.update(|meta| {
        let readings = readings(&ended, meta.hosts.len());
        for (number, (host, of)) in meta.hosts.iter_mut().zip(of_hosts).enumerate() {
            if let Some(machine) = of.machine {
                host.machine = *machine;
            }
            (host.clock_begin, host.clock_end) = readings.get(number).copied().unwrap_or_default();
        }
        if let Some(first) = meta.hosts.first() {
            meta.machine = first.machine.clone();
        }
    })?;
    say_clocks(&ended, voice);
    let wall = ended.wall;
    writer.finish(outcome(&ended), wall, problems.clone())?;
    Ok(Recorded {
        exit_code: code(&ended),
        records,
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        problems,
    })
}

fn run_hosts(hosts: &Hosts) -> Vec<RunHost> {
    let host = |host: &fathomp_hosts::Host| RunHost {
        name: host.name.clone(),
        nodes: host.nodes,
        ..RunHost::default()
    };
    hosts.all().iter().map(host).collect()
}

fn outcome(ended: &Ended) -> Outcome {
    match ended.status {
        Some(Status::Signalled(number)) => Outcome::Signalled(number),
        Some(Status::Exited(code)) if ended.failed.is_none() => Outcome::Exited(code),
        _ => Outcome::Exited(code(ended).into()),
    }
}

/// What comes from the hosts.
struct Gathered {
    processes: PathBuf,
    hosts: RefCell<Vec<OfHost>>,
}

#[derive(Default)]
struct OfHost {
    machine: Option<Box<fathomp_trace::model::Machine>>,
    records: u64,
    runtimes: Vec<PathBuf>,
    problems: Vec<String>,
    complete: bool,
}

impl Caller for Gathered {
    fn say(&self, sentence: &str) {
        complain("", &one_line(sentence));
    }

    fn hear(&self, host: u16, told: Vec<u8>) {
        let mut hosts = self.hosts.borrow_mut();
        let Some(of) = hosts.get_mut(usize::from(host)) else {
            return;
        };
        match postcard::from_bytes(&told) {
            Ok(Told::Grown { name, at, bytes }) => {
                if let Err(problem) = append(&self.processes, host, &name, (at, &bytes)) {
                    // The same of each piece.
                    if !of.problems.contains(&problem) {
                        of.problems.push(problem);
                    }
                }
            }
            Ok(Told::End {
                machine,
                records,
                processes: _,
                runtimes,
                problems,
            }) => {
                of.complete = true;
                of.machine = Some(machine);
                of.records = records;
                of.runtimes = runtimes;
                of.problems.extend(problems);
            }
            Err(_) => of
                .problems
                .push("Its agent tells of a recording what makes no sense.".to_owned()),
        }
    }
}

/// Writes what a stream of a host has grown by.
fn append(
    processes: &Path,
    host: u16,
    name: &str,
    (at, bytes): (u64, &[u8]),
) -> Result<(), String> {
    // It becomes the name of a file here.
    let sound = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    if name.is_empty() || name.len() > 100 || !name.chars().all(sound) {
        return Err("Its agent names a stream in a way that makes no sense.".to_owned());
    }
    let file = match host {
        0 => format!("{name}.fthr"),
        _ => format!("h{host}.{name}.fthr"),
    };
    let path = processes.join(file);
    let unwritten = |error: std::io::Error| {
        format!(
            "What it recorded could not be written to {}: {error}.",
            path.display()
        )
    };
    let mut stream = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(unwritten)?;
    stream.seek(SeekFrom::Start(at)).map_err(unwritten)?;
    stream.write_all(bytes).map_err(unwritten)
}

/// The counters of all hosts beside that of the first, before and after.
fn readings(ended: &Ended, hosts: usize) -> Vec<(Option<ClockReading>, Option<ClockReading>)> {
    let Some(first) = ended.clocks.first() else {
        return vec![(None, None); hosts];
    };
    let clock = |host: &HostClock| {
        let begin = beside(first.begin, host.begin);
        (begin, begin.and(beside(first.end, host.end)))
    };
    let others = ended.clocks.iter().skip(1).map(clock);
    std::iter::once((None, None)).chain(others).collect()
}

/// What the first host's counter showed when that of another was read; both were read beside the
/// launcher's, whose ticks are taken to be as long as the first host's for the moment between.
fn beside(first: Option<Reading>, host: Option<Reading>) -> Option<ClockReading> {
    let (first, host) = (first?, host?);
    let later = host.launcher.0.wrapping_sub(first.launcher.0);
    let error = first.error + host.error;
    Some(ClockReading {
        first: first.host.0.wrapping_add(later),
        here: host.host.0,
        error_ns: u64::try_from(error.as_nanos()).unwrap_or(u64::MAX),
    })
}

fn say_clocks(ended: &Ended, voice: Voice) {
    let first = ended.clocks.first().copied().unwrap_or_default();
    let others = ended.clocks.iter().skip(1);
    let errors = others.filter_map(|host| Some(first.begin?.error + host.begin?.error));
    if let Some(error) = errors.max() {
        let us = Duration::as_micros(&error).max(1);
        voice.say(format!(
            "times of different hosts compare to within {us} us"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_base::Ticks;

    fn reading(launcher: u64, host: u64, error_us: u64) -> Reading {
        Reading {
            launcher: Ticks(launcher),
            host: Ticks(host),
            error: Duration::from_micros(error_us),
        }
    }

    #[test]
    fn counters_are_compared_by_way_of_the_launchers() {
        let first = Some(reading(1_000, 51_000, 10));
        let host = Some(reading(1_300, 7_000, 5));
        let both = ClockReading {
            first: 51_300,
            here: 7_000,
            error_ns: 15_000,
        };
        assert_eq!(beside(first, host), Some(both));
        assert_eq!(beside(host, None), None);
    }

    #[test]
    fn streams_have_names_of_streams() {
        let directory = tempfile::tempdir().unwrap();
        let write =
            |host, name: &str, at, bytes: &[u8]| append(directory.path(), host, name, (at, bytes));
        write(0, "12-ab", 0, b"one").unwrap();
        write(0, "12-ab", 3, b"two").unwrap();
        write(2, "12-ab", 0, b"x").unwrap();
        for bad in ["", "../12", "12.ring", "/etc/passwd", &"1".repeat(200)] {
            assert!(write(1, bad, 0, b"x").is_err(), "{bad}");
        }
        let read = |name: &str| std::fs::read(directory.path().join(name)).unwrap();
        assert_eq!(read("12-ab.fthr"), b"onetwo");
        assert_eq!(read("h2.12-ab.fthr"), b"x");
    }
}
