//! Who runs a program together: hosts that are named, or what `mpirun` or `srun` has started.

use super::agent::setup;
use super::{mpicc, version};
use crate::args::cluster::{OnHosts, Transport};
use crate::console::{complain, wait_until_heard};
use crate::failure::{Failure, exit};
use fathomp_console::launch::passed_signals;
use fathomp_hosts::ranks::{First, FoundBy, MeetError, Member, Met, Way, end_all, meet};
use fathomp_hosts::{Attended, Hosts, attend};
use fathomp_launch::{Started, Starter};
use fathomp_types::text::one_line;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long mpirun is given to take what a rank has said.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(2);

/// Hosts, and what they have in common if they were started by somebody else.
pub(crate) struct Participants {
    pub(super) hosts: Hosts,
    pub(super) first: Option<Box<First>>,
}

impl Participants {
    /// How many nodes they have.
    pub(crate) fn nodes(&self) -> u16 {
        self.hosts.nodes()
    }

    /// The hosts that options name.
    pub(super) fn named(on: &OnHosts) -> Result<Self, Failure> {
        Ok(Self {
            hosts: named(on)?,
            first: None,
        })
    }
}

/// What this process is.
pub(crate) enum Gathered {
    /// It runs a program on this machine.
    Alone,
    /// It runs a program on hosts.
    Participants(Participants),
    /// It was a rank that is not the first, and has done its work: its exit code.
    Member(u8),
}

/// Gathers those who run a program together, as far as that is asked for. Each rank has so many
/// nodes.
pub(crate) fn gather(on: &OnHosts, command: &[OsString], nodes: u16) -> Result<Gathered, Failure> {
    let Some(transport) = on.transport else {
        return match on.are_asked_for() {
            true => Ok(Gathered::Participants(Participants::named(on)?)),
            false => Ok(Gathered::Alone),
        };
    };
    let Some(started) = Started::of_this_process() else {
        return Err(Failure::new(
            "--transport is for what mpirun or srun has started, and neither has started this: write it behind one of them, as in `mpirun -np 4 fathomp run --transport tcp -- ./prog`, or name hosts by --hosts",
        )
        .with_code(exit::USAGE));
    };
    match rally((on, transport), &started, command, nodes) {
        Ok(Met::First(first)) => Ok(Gathered::Participants(Participants {
            hosts: first.hosts().clone(),
            first: Some(first),
        })),
        Ok(Met::Member(member)) => serve(*member, started.rank).map(Gathered::Member),
        Err(refused) => {
            let (failure, by) = match refused {
                Rally::Meet(error) => (Failure::of(&error), error.found_by()),
                Rally::Mpicc(failure) => (failure, FoundBy::Most),
            };
            if started.rank == 0 && started.has_pmi() && by == FoundBy::Most {
                // The others have found the same, and say so unless they are ended before.
                complain("", &one_line(&failure.sentence));
                // mpirun may not look again for words of a rank that has had it end all.
                wait_until_heard(LAST_WORDS_TIMEOUT);
                end_all(&started, exit::LAUNCHER);
                return Ok(Gathered::Member(exit::LAUNCHER));
            }
            match started.rank == 0 || says_it_too(started.rank, by) {
                true => Err(failure.with_code(exit::LAUNCHER)),
                false => Ok(Gathered::Member(exit::LAUNCHER)),
            }
        }
    }
}

/// Whether a rank that is not the first is to say what it has found. If the first has found it,
/// too, it says so and ends, and mpirun ends this one before the wait is over. It must not end
/// sooner, since mpirun ends the first as soon as another does.
fn says_it_too(rank: u32, by: FoundBy) -> bool {
    if by == FoundBy::One {
        return true;
    }
    // The second comes before the rest if the first is not there at all.
    std::thread::sleep(match rank {
        1 => Duration::from_secs(3),
        _ => Duration::from_secs(4),
    });
    by == FoundBy::Most
}

/// The hosts that are named.
fn named(on: &OnHosts) -> Result<Hosts, Failure> {
    let hosts = match (&on.hosts, &on.hostfile) {
        (Some(list), _) => Hosts::parse(list),
        (None, Some(file)) => Hosts::read(file),
        (None, None) => Hosts::parse(""),
    };
    hosts.map_err(|error| Failure::of(&error).with_code(exit::USAGE))
}

enum Rally {
    Meet(MeetError),
    Mpicc(Failure),
}

/// Has all ranks meet by what is at hand: TCP needs no MPI where PMI-1 is spoken.
fn rally(
    (on, transport): (&OnHosts, Transport),
    started: &Started,
    command: &[OsString],
    nodes: u16,
) -> Result<Met, Rally> {
    let ports = on.ports.map(|ports| (ports.first, ports.last));
    let patience = Duration::from_secs(on.start_timeout);
    let carries = transport == Transport::Mpi;
    let by_pmi = !carries && started.has_pmi();
    let library: Option<PathBuf> = match (by_pmi, started.by) {
        (true, _) => None,
        (false, Starter::Slurm) => return Err(Rally::Meet(MeetError::NoWay(started.by))),
        (false, _) => Some(mpicc::library(on.mpicc.as_deref(), started.by).map_err(Rally::Mpicc)?),
    };
    let way = match &library {
        None => Way::Pmi,
        Some(library) => Way::Mpi { library, carries },
    };
    meet(started, way, command, (nodes, ports), patience).map_err(Rally::Meet)
}

/// Is the agent of a rank that is not the first; gives its exit code.
fn serve(member: Member, rank: u32) -> Result<u8, Failure> {
    // mpirun and srun send signals to all ranks: the first passes them on to the program, on all
    // hosts. Nobody looks at this word.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in passed_signals() {
        // What is not taken ends this process, as it would any other.
        let _ = signal_hook::flag::register(signal, Arc::clone(&ignored));
    }
    let name = member.name().to_owned();
    let attended = attend(member, &setup(&version()))
        .map_err(|error| Failure::new(format!("{name}: {error}")).with_code(exit::LAUNCHER))?;
    match attended {
        Attended::Dismissed | Attended::Bereft => Ok(0),
        // The launcher has said why, or one of the others says that it is gone.
        Attended::Forsaken if rank == 1 => {
            let sentence = format!(
                "rank 0, which launches and speaks for all, is gone, as {name} sees: it was killed, or its host or the link to it is down"
            );
            complain("", &one_line(&sentence));
            Ok(exit::LAUNCHER)
        }
        Attended::Forsaken | Attended::NotBegun => Ok(exit::LAUNCHER),
    }
}
