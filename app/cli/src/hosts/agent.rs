//! `fathomp host-agent`: this host's part of a run, for the launcher at the other end of
//! standard input and output.

use super::{host_recorder, version};
use crate::failure::{Failure, Outcome, exit};
use fathomp_hosts::{Job, Setup};
use fathomp_runtime::{Candidate, unpack_at};
use std::io;

/// The argument by which an agent starts its supervisor.
const SUPERVISOR: &[&str] = &["host-agent", "--supervisor"];

/// Serves a launcher, or an agent as its supervisor.
pub(crate) fn serve(supervisor: bool) -> Outcome {
    let served = match supervisor {
        true => fathomp_hosts::keep().map_err(|error| {
            Failure::new(format!(
                "a supervisor is started by an agent of `fathomp run --hosts`: {error}"
            ))
        }),
        false => {
            let served = fathomp_hosts::serve(io::stdin(), io::stdout(), &setup(&version()));
            served.map_err(|error| Failure::of(&error))
        }
    };
    served.map_err(|failure| failure.with_code(exit::LAUNCHER))?;
    Ok(0)
}

/// What an agent needs, whoever has started it.
pub(super) fn setup(version: &str) -> Setup<'_> {
    Setup {
        version,
        supervisor: SUPERVISOR,
        prepare: &prepare,
        sidecar: &host_recorder::begin,
    }
}

/// Has the runtime library lie where the launcher has it.
fn prepare(job: &Job) -> Result<(), String> {
    let place = Candidate {
        path: job.files.to_path(),
        shared: job.files_are_shared,
    };
    match unpack_at(&[place]) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
