//! What recording costs, by kind of event: the probe on one thread, with and without a
//! recorder.

use super::probe::{self, Measured};
use crate::failure::Failure;
use crate::launch::{Stderr, Stdin, Stdout};
use crate::program::Program;
use crate::recording::{self, Conditions, Destination, Request, Streams, Subject, Teams};
use fathomp_analysis::EventCosts;
use fathomp_runtime::Unpacked;
use std::ffi::OsString;
use std::time::Duration;

/// Recordings of the probe need not be complete.
const RECORDING_BYTES_MAX: u64 = 4 << 20;
/// The probe takes a second or two.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// Costs of events, given what constructs cost one thread without a recorder. None if the
/// recorded run fails: then reports go by what is usual.
pub(super) fn measure(unpacked: &Unpacked, plain: &Measured) -> Option<EventCosts> {
    if plain.threads != 1 {
        return None;
    }
    let recorded = run_recorded(unpacked).ok()??;
    let usual = EventCosts::default();
    // What others do on the machine may make the plain run the slower one.
    let more = |of: fn(&Measured) -> Option<f64>, usual: f64| {
        (of(&recorded).zip(of(plain)))
            .map(|(recorded, plain)| recorded - plain)
            .filter(|more| *more > 0.0)
            .unwrap_or(usual)
    };
    let counted_ns = more(|row| row.lock_ns, usual.mutex_ns);
    Some(EventCosts {
        execution_ns: more(|row| row.fork_join_ns, usual.execution_ns),
        wait_ns: more(|row| row.barrier_ns, usual.wait_ns),
        chunk_ns: more(|row| row.dynamic_chunk_ns, usual.chunk_ns),
        mutex_ns: counted_ns,
        // Tasks are counted as locks are: by an addition.
        task_ns: counted_ns,
    })
}

fn run_recorded(unpacked: &Unpacked) -> Result<Option<Measured>, Failure> {
    let scratch = tempfile::tempdir()?;
    let capture = Stdout::Discard.captured();
    let program = Program {
        path: unpacked.probe.clone(),
        command: probe::arguments(&unpacked.probe, 1, 1)
            .map(OsString::from)
            .to_vec(),
        suspicion: None,
    };
    let subject = Subject {
        program: &program,
        unpacked,
        runtime: None,
    };
    let directory = scratch.path().join("recording");
    let destination = Destination::replacing(&directory, RECORDING_BYTES_MAX);
    let streams = Streams {
        stdin: Stdin::File("/dev/null".into(), 0),
        stdout: Stdout::Capture(capture.clone()),
        stderr: Stderr::File(scratch.path().join("stderr")),
    };
    let recorded = recording::record(&Request {
        teams: Teams::of(1),
        conditions: Conditions {
            timeout: Some(PROBE_TIMEOUT),
            ..Conditions::default()
        },
        ..Request::new(subject, destination, streams)
    })?;
    if recorded.ended.exit_code() != 0 {
        return Ok(None);
    }
    Ok(serde_json::from_slice(&capture.take().text).ok())
}
