//! Measuring what constructs and memory cost here.
//!
//! The measuring itself is done by the probe, a small program beside the
//! runtime library that calls it as compiled programs do
//! (`docs/decisions/0004`). This module chooses sizes, runs the probe once per
//! number of threads, and keeps the answer for the next time.

mod events;
mod probe;
mod settle;
mod store;

use crate::host;
use crate::launch::told_alone;
use fathomp_predict::machine::{Cache, Contention, Machine};
use fathomp_runtime::Unpacked;
use probe::Measured;
use settle::Settled;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) use probe::ProbeError;

/// Main memory is measured with arrays this many times the last cache.
const CACHES_OVERFLOWN: u64 = 4;
/// Bounds on the bytes of all threads' source arrays together.
const COPY_BYTES_MIN: u64 = 32 << 20;
const COPY_BYTES_MAX: u64 = 256 << 20;
/// The arrays may take this part of main memory, sources and copies together.
const MEMORY_SHARE: u64 = 8;

/// Part of the processors used by others from which prices are in doubt.
const DISTURBING: f64 = 0.1;
/// What others disturb is measured anew, so often and as long as this takes no longer in all.
const TIMES_MAX: u32 = 3;
const AGAIN_MAX: Duration = Duration::from_secs(10);

/// A machine that was measured, and what makes the measurement doubtful.
#[derive(Debug)]
pub(crate) struct Calibrated {
    pub(crate) machine: Machine,
    pub(crate) doubt: Option<String>,
}

/// What this machine costs, if that was measured before.
pub(crate) fn known(unpacked: &Unpacked, threads: &[u32]) -> Option<Machine> {
    let key = store::Key::here(threads);
    store::load(&unpacked.cache, &key).or_else(|| store::last(&unpacked.cache, &key))
}

/// What this machine costs, from the cache if it was measured before. A
/// measurement that others have disturbed is not kept.
pub(crate) fn machine(
    unpacked: &Unpacked,
    threads: &[u32],
    fresh: bool,
    mut progress: impl FnMut(usize),
) -> Result<Calibrated, ProbeError> {
    let key = store::Key::here(threads);
    if !fresh && let Some(machine) = store::load(&unpacked.cache, &key) {
        progress(threads.len());
        return Ok(Calibrated {
            machine,
            doubt: None,
        });
    }
    let begin = Instant::now();
    let Rows { mut rows, mut used } = measure(unpacked, threads, &mut progress)?;
    let earlier = store::last(&unpacked.cache, &key);
    // Who asks for a new measurement may know that the machine is another one.
    let earlier = earlier.filter(|_| !fresh || is_disturbing(used));
    let settle = |rows: &[Measured], used| {
        let usable = host::usable_cpus();
        settle::settle(rows, earlier.as_ref(), usable, is_disturbing(used))
    };
    let mut settled = settle(&rows, used);
    let mut times = 1;
    while settled.doubtful && times < TIMES_MAX && begin.elapsed() < AGAIN_MAX {
        let again = measure(unpacked, threads, |_| {})?;
        let pairs = rows.into_iter().zip(&again.rows);
        rows = pairs
            .map(|(row, other)| settle::least(row, other))
            .collect();
        used = match is_disturbing(used) {
            true => again.used,
            false => used,
        };
        settled = settle(&rows, used);
        times += 1;
    }
    progress(threads.len());
    let costs = match is_disturbing(used) {
        true => earlier.as_ref().and_then(|machine| machine.event_costs),
        false => rows.first().and_then(|row| events::measure(unpacked, row)),
    };
    let doubt = doubt(used, settled.doubtful, earlier.is_some());
    let mut machine = describe(&rows, settled);
    machine.event_costs = costs;
    if doubt.is_none() {
        store::save(&unpacked.cache, &key, &machine);
    }
    Ok(Calibrated { machine, doubt })
}

/// One measurement.
struct Rows {
    rows: Vec<Measured>,
    /// Part of the processors that others used meanwhile, if that is known.
    used: Option<f64>,
}

fn measure(
    unpacked: &Unpacked,
    threads: &[u32],
    mut progress: impl FnMut(usize),
) -> Result<Rows, ProbeError> {
    let meter = host::Meter::start();
    let mut rows = Vec::new();
    for (done, count) in threads.iter().enumerate() {
        progress(done);
        let row = probe::run(&unpacked.probe, *count, copy_bytes() / u64::from(*count))?;
        // A limit on threads gives smaller teams; measure each size once.
        if rows
            .last()
            .is_none_or(|last: &Measured| last.threads < row.threads)
        {
            rows.push(row);
        }
    }
    Ok(Rows {
        rows,
        used: meter.others(None),
    })
}

fn is_disturbing(used: Option<f64>) -> bool {
    used.is_some_and(|part| part > DISTURBING)
}

pub(crate) fn now_unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// What is to be said of the prices: if others used this part of the processors meanwhile; if some
/// were not taken as they were measured; and whether there are earlier ones instead.
pub(crate) fn doubt(used: Option<f64>, doubtful: bool, earlier: bool) -> Option<String> {
    let instead = match earlier {
        true => {
            "prices that came out more than three times as high as before, or not at all, are those of before"
        }
        false => "prices that could not be measured are left out",
    };
    let used = used.filter(|part| *part > DISTURBING);
    match (used, doubtful) {
        (Some(part), true) => Some(format!(
            "Other programs used {:.0} % of the processors while this machine was measured: {instead}; calibrate again when it is quiet.",
            part * 100.0
        )),
        (Some(part), false) => Some(format!(
            "Other programs used {:.0} % of the processors while this machine was measured, so its prices may be too high; calibrate again when it is quiet.",
            part * 100.0
        )),
        (None, true) => Some(format!(
            "What this machine costs was measured several times, and {instead}; `fathomp calibrate --recalibrate` takes new ones if the machine has changed."
        )),
        (None, false) => None,
    }
}

fn describe(rows: &[Measured], settled: Settled) -> Machine {
    let facts = host::machine();
    let first = |of: fn(&Measured) -> f64| rows.first().map_or(0.0, of);
    let mut machine = Machine::unmeasured(host::usable_cpus());
    machine.host = facts.host;
    machine.cpu_model = facts.cpu_model;
    machine.threads_per_core = host::threads_per_core();
    machine.runtime = format!("fathomp {}", env!("CARGO_PKG_VERSION"));
    machine.measured_unix_ns = now_unix_ns();
    machine.timer_resolution_ns = first(|row| row.timer_resolution_ns);
    machine.timer_cost_ns = first(|row| row.timer_cost_ns);
    machine.constructs = settled.constructs;
    machine.bandwidth = settled.bandwidth;
    // Of threads that take turns on a processor, a line is never contended.
    let usable = host::usable_cpus();
    let beside = rows.iter().find(|row| (2..=usable).contains(&row.threads));
    let contended = beside.and_then(|row| row.contended_plain_ns.zip(row.contended_atomic_ns));
    machine.contention = contended.map(|(plain_ns, atomic_ns)| Contention {
        plain_ns,
        atomic_ns,
    });
    machine.caches = host::caches()
        .into_iter()
        .map(|cache| Cache {
            level: cache.level,
            bytes: cache.bytes,
            line_bytes: cache.line_bytes,
            shared_by: cache.shared_by,
        })
        .collect();
    machine
}

/// Bytes to copy, all threads together: more than the last cache holds, but
/// never a large part of main memory.
fn copy_bytes() -> u64 {
    let last_cache = host::caches().last().map_or(0, |cache| cache.bytes);
    let memory = host::machine().memory_bytes;
    let wanted = (last_cache * CACHES_OVERFLOWN).clamp(COPY_BYTES_MIN, COPY_BYTES_MAX);
    if memory == 0 {
        return wanted;
    }
    wanted.min(memory / MEMORY_SHARE / 2).max(1 << 20)
}
