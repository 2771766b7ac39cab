//! `fathomp record` on several hosts: what the hosts' agents take out of rings comes together in one
//! recording.

use super::gathered::Gathered;
use super::host_recorder::{ACCESSES, Asked as AskedSidecar, INTERPOSERS, PLAN, RINGS};
use super::launch::{Asked, code, start};
use super::participants::Participants;
use crate::args::cluster::Cluster;
use crate::args::{Record, ThreadCount};
use crate::console::Console;
use crate::failure::{Failure, exit};
use crate::launch::{Stderr, Stdin, Stdout, library, survive_file_limits};
use crate::output;
use crate::paging::{self, OfHosts};
use crate::plan;
use crate::program::Program;
use crate::recording::{Destination, Request, Streams, Subject, Teams, circumstances, watch};
use fathomp_cluster_commands::accesses;
use fathomp_hosts::{Bytes, Ended, HostClock, Hosts, Reading};
use fathomp_launch::{Plan, Recorder, Watch};
use fathomp_trace::model::{Meta, RunHost};
use fathomp_trace::reader::REGIONS_FILE;
use fathomp_trace::writer::{self, Existing};
use fathomp_types::ClockReading;
use fathomp_types::Ending;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// What was recorded.
pub(crate) struct Recorded {
    pub(crate) exit_code: u8,
    pub(crate) records: u64,
    /// What was recorded of paging.
    pub(crate) paging: Option<paging::Recorded>,
    pub(crate) wall_ns: u64,
    pub(crate) problems: Vec<String>,
}

/// Runs a program on several hosts and records it.
pub(crate) fn record(
    asked: &Record,
    (paging, threads): (Option<paging::Plan>, Option<ThreadCount>),
    program: &Program,
    participants: Participants,
    console: Console,
) -> Result<Recorded, Failure> {
    survive_file_limits();
    let cluster = Cluster {
        nodes: participants.hosts.nodes(),
        ..asked.nodes.nodes.cluster
    };
    let launcher = |failure: Failure| failure.with_code(exit::LAUNCHER);
    let unpacked = fathomp_runtime::unpack().map_err(|error| launcher(error.into()))?;
    let directory = asked.output.as_path();
    let existing = Existing::replaced_if(asked.force);
    let subject = Subject {
        program,
        unpacked: &unpacked,
        runtime: None,
    };
    let destination = Destination {
        directory,
        existing,
        max_bytes: asked.max_size.0,
    };
    let streams = Streams {
        stdin: Stdin::Inherit,
        stdout: Stdout::for_voice(console),
        stderr: Stderr::Inherit,
    };
    let meta = circumstances(&Request {
        teams: Teams {
            threads,
            cluster: cluster.asked(),
            ..Teams::default()
        },
        ..Request::new(subject, destination, streams)
    });
    let meta = Meta {
        hosts: run_hosts(&participants.hosts),
        ..meta.map_err(launcher)?
    };
    let writer = writer::create(directory, &meta, existing);
    let mut writer = writer.map_err(|error| launcher(error.into()))?;
    let names: Vec<String> = meta.hosts.iter().map(|host| host.name.clone()).collect();
    let gathered = Gathered::begin(directory, (names.len(), cluster.nodes));
    let gathered = gathered.map_err(launcher)?;
    let gathered = match &paging {
        None => gathered,
        Some(plan) => {
            let asked = (plan, asked.max_size.0);
            let begun = OfHosts::gather(directory, asked, &names);
            gathered.with_paging(begun.map_err(launcher)?)
        }
    };
    let planned = plan::plan(program);
    if let Some(regions) = &planned.regions {
        let json = regions.to_json()?;
        output::write_file(&directory.join(REGIONS_FILE), json.as_bytes())?;
    }
    let mut told = Plan::default();
    planned.tell(&mut told);
    let sidecar = AskedSidecar {
        limit_bytes: asked.max_size.0,
        library: library(&unpacked, cluster.asked()).to_owned(),
        plan: told.trips.and_then(|file| fs::read(file).ok()),
        paging,
        accesses: asked.nodes.accesses,
    };
    let job = Asked {
        on: &asked.nodes.nodes.on,
        program,
        participants,
        cluster,
        threads,
        check_races: false,
        recorder: Some(Recorder::new(RINGS.into())),
        interposers: sidecar
            .paging
            .as_ref()
            .map(|plan| (plan.interposer(&unpacked).to_owned(), INTERPOSERS.into())),
        watch: asked.nodes.accesses.then(|| Watch::Accesses {
            directory: ACCESSES.into(),
            lines: asked.nodes.lines,
        }),
        trips: sidecar.plan.is_some().then(|| PLAN.into()),
        sidecar: Some(Bytes(serde_json::to_vec(&sidecar)?)),
    };
    let ended = start(job, &unpacked, &gathered, console)?;
    let readings = readings(&ended, names.len());
    let paged = gathered.finish_paging(&readings, ended.wall);
    let mut of_hosts = gathered.into_hosts();
    let mut problems = planned.problems.clone();
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
    problems.extend(watch::remarks(records > 0, &runtimes, program));
    let paged = paged.unwrap_or_else(|failure| {
        problems.push(format!("{}.", failure.sentence));
        None
    });
    problems.extend(paged.iter().flat_map(|paged| paged.problems.clone()));
    if asked.nodes.accesses {
        problems.extend(accesses::join(directory, cluster.nodes)?);
    }
    writer.update(|meta| {
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
    // Of a program that did not begin there are no times.
    if ended.failed != Some(false) {
        say_clocks(&ended, console);
    }
    let wall = ended.wall;
    writer.finish(outcome(&ended), wall, problems.clone())?;
    Ok(Recorded {
        exit_code: code(&ended),
        records,
        paging: paged,
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

fn outcome(ended: &Ended) -> Ending {
    match ended.status {
        Some(own @ Ending::Signalled(_)) => own,
        Some(own @ Ending::Exited(_)) if ended.failed.is_none() => own,
        _ => Ending::Exited(code(ended).into()),
    }
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

fn say_clocks(ended: &Ended, console: Console) {
    let first = ended.clocks.first().copied().unwrap_or_default();
    let others = ended.clocks.iter().skip(1);
    let errors = others.filter_map(|host| Some(first.begin?.error + host.begin?.error));
    if let Some(error) = errors.max() {
        let us = Duration::as_micros(&error).max(1);
        console.say(format!(
            "times of different hosts compare to within {us} us"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_types::Ticks;

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
}
