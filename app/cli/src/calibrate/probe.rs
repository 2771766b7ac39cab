//! Running the probe and reading its answer.

use crate::host;
use fathomp_launch::Plan;
use fathomp_process::guard::Guarded;
use fathomp_types::Ending;
use serde::Deserialize;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Time the probe spends on each construct.
const MILLISECONDS: u32 = 40;
/// It takes under a second; more threads than processors take longer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(120);

/// What the probe prints. A price is none if other programs never let it be measured.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Measured {
    pub(super) threads: u32,
    pub(super) timer_resolution_ns: f64,
    pub(super) timer_cost_ns: f64,
    pub(super) fork_join_ns: Option<f64>,
    pub(super) barrier_ns: Option<f64>,
    pub(super) dynamic_chunk_ns: Option<f64>,
    pub(super) lock_ns: Option<f64>,
    /// Of teams of 2 to 8 threads.
    pub(super) contended_plain_ns: Option<f64>,
    pub(super) contended_atomic_ns: Option<f64>,
    pub(super) copy_bytes_per_second: f64,
}

/// The machine could not be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error("cannot start the calibration probe {}: {source}", path.display())]
    Start { path: PathBuf, source: io::Error },
    #[error(
        "the calibration probe ended with {ending} at {threads} threads: try fewer with --threads"
    )]
    Ended { threads: u32, ending: Ending },
    #[error("the calibration probe took longer than {} s at {threads} threads: try fewer with --threads", PROBE_TIMEOUT.as_secs())]
    TooSlow { threads: u32 },
    #[error(
        "the calibration probe gave no sensible answer at {threads} threads ({source}): remove the cache directory and try again"
    )]
    Answer {
        threads: u32,
        source: serde_json::Error,
    },
}

/// The probe's command line.
pub(super) fn arguments(path: &Path, threads: u32, bytes: u64) -> [String; 4] {
    [
        path.to_string_lossy().into_owned(),
        threads.to_string(),
        MILLISECONDS.to_string(),
        bytes.max(1).to_string(),
    ]
}

/// Each thread has a processor of its own where there are enough. Beside other programs the kernel
/// may let two threads take turns on one and another program have the other; then they would
/// hand each barrier over by way of the kernel, a hundred times as dear.
fn plan(threads: u32) -> Plan {
    let mut plan = Plan::default();
    if threads <= host::usable_cpus() {
        plan.openmp.proc_bind = Some("spread".into());
        plan.openmp.places = Some("threads".into());
    }
    plan
}

/// Measures a team of `threads`, copying `bytes` per thread.
pub(super) fn run(path: &Path, threads: u32, bytes: u64) -> Result<Measured, ProbeError> {
    let mut command = super::told_alone(path, &plan(threads));
    let [_, arguments @ ..] = arguments(path, threads, bytes);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let start = |source| ProbeError::Start {
        path: path.to_owned(),
        source,
    };
    let mut child = Guarded::spawn(&mut command).map_err(start)?;
    // The answer is far smaller than a pipe holds, so it can be read afterwards.
    let ended = child.wait_within(PROBE_TIMEOUT);
    if !matches!(ended, Ok(Some(_))) {
        // It may have ended by itself meanwhile; either way it is gone.
        child.kill();
    }
    match ended.map_err(start)? {
        None => Err(ProbeError::TooSlow { threads }),
        Some(status) if !status.success() => Err(ProbeError::Ended {
            threads,
            ending: Ending::from(status),
        }),
        Some(_) => {
            let mut answer = String::new();
            if let Some(mut stdout) = child.child.stdout.take() {
                stdout.read_to_string(&mut answer).map_err(start)?;
            }
            serde_json::from_str(&answer).map_err(|source| ProbeError::Answer { threads, source })
        }
    }
}
