//! What recording paging needs beside a program.

use super::{Check, Status};
use crate::paging::{Place, has_swap};
use fathomp_sys::perf::{FaultRings, PerfError, Seen, ThreadCounters};

pub(super) fn checks() -> Vec<Check> {
    vec![samples(), faults(), memory(), swap()]
}

/// Whether counters of other threads may be read.
fn samples() -> Check {
    const NAME: &str = "paging samples";
    match ThreadCounters::open(fathomp_sys::counters::os_thread_id()) {
        Ok(counters) if counters.seen() == Seen::All => {
            Check::good(NAME, "faults and switches of other threads")
        }
        Ok(_) => Check::good(NAME, "faults of other threads in user mode").but(
            Status::Limited,
            "record --paging --sample shows no switches, and no faults within system calls",
            Some("sysctl kernel.perf_event_paranoid=1"),
        ),
        Err(error) => Check::good(NAME, "from /proc only").but(
            Status::Limited,
            "record --paging --sample looks every 10 ms at most, at faults alone",
            mend(&error),
        ),
    }
}

/// Whether every fault may be recorded.
fn faults() -> Check {
    const NAME: &str = "page faults";
    match FaultRings::open(std::process::id()) {
        Ok(rings) if rings.knows_presence() => {
            Check::good(NAME, "each with address, instruction and what was there")
        }
        Ok(_) => Check::good(NAME, "each with address and instruction").but(
            Status::Limited,
            "which of them are copies on write is not known (Linux 5.11 tells)",
            None,
        ),
        Err(error) => Check::good(NAME, "only counted").but(
            Status::Limited,
            "record --paging --record-faults records no single faults",
            mend(&error),
        ),
    }
}

fn mend(error: &PerfError) -> Option<&'static str> {
    match error {
        PerfError::Paranoid { .. } => Some("sysctl kernel.perf_event_paranoid=1"),
        PerfError::Sandboxed => {
            Some("start the container with --cap-add PERFMON, or another seccomp profile")
        }
        PerfError::Memory(_) => Some("sysctl kernel.perf_event_mlock_kb=4096"),
        PerfError::Unknown | PerfError::Ended | PerfError::Other(_) => None,
    }
}

fn memory() -> Check {
    const NAME: &str = "memory limits";
    match Place::find().and_then(|place| place.check()) {
        Ok(()) => Check::good(NAME, "by control groups"),
        Err(_) => Check::good(NAME, "none").but(
            Status::Limited,
            "record --paging --memory cannot run programs with less memory",
            Some("sudo fathomp ..., or systemd-run --user --scope -p Delegate=memory fathomp ..."),
        ),
    }
}

fn swap() -> Check {
    if has_swap() {
        return Check::good("swap", "some");
    }
    Check::good("swap", "none").but(
        Status::Limited,
        "with record --paging --memory, programs that need more than the limit are killed",
        Some("fallocate -l 4G /swapfile; chmod 600 /swapfile; mkswap /swapfile; swapon /swapfile"),
    )
}
