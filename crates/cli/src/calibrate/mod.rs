//! Measuring what constructs and memory cost here.
//!
//! The measuring itself is done by the probe, a small program beside the
//! runtime library that calls it as compiled programs do
//! (`docs/decisions/0004`). This module chooses sizes, runs the probe once per
//! number of threads, and keeps the answer for the next time.

mod cluster;
mod events;
mod probe;
mod store;

use crate::host;
use crate::launch::told_alone;
use fathomp_predict::machine::{Bandwidth, Cache, ConstructCosts, Contention, Machine};
use fathomp_runtime::Unpacked;
use probe::Measured;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use cluster::{ClusterError, cluster, sizes, steps};
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

/// A machine that was measured, and what makes the measurement doubtful.
#[derive(Debug)]
pub(crate) struct Calibrated {
    pub(crate) machine: Machine,
    pub(crate) doubt: Option<String>,
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
    progress(threads.len());
    let mut machine = describe(&rows);
    machine.event_costs = rows.first().and_then(|row| events::measure(unpacked, row));
    let doubt = doubt(meter.others(None));
    if doubt.is_none() {
        store::save(&unpacked.cache, &key, &machine);
    }
    Ok(Calibrated { machine, doubt })
}

fn now_unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// What is to be said if others used this part of the processors meanwhile.
fn doubt(others: Option<f64>) -> Option<String> {
    others.filter(|part| *part > DISTURBING).map(|part| {
        format!(
            "Other programs used {:.0} % of the processors while this machine was measured, so its prices are too high; calibrate again when it is quiet.",
            part * 100.0
        )
    })
}

fn describe(rows: &[Measured]) -> Machine {
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
    machine.constructs = rows
        .iter()
        .map(|row| ConstructCosts {
            threads: row.threads,
            fork_join_ns: row.fork_join_ns,
            barrier_ns: row.barrier_ns,
            dynamic_chunk_ns: row.dynamic_chunk_ns,
            lock_ns: row.lock_ns,
        })
        .collect();
    // Of threads that take turns on a processor, a line is never contended.
    let usable = host::usable_cpus();
    let beside = rows.iter().find(|row| (2..=usable).contains(&row.threads));
    let contended = beside.and_then(|row| row.contended_plain_ns.zip(row.contended_atomic_ns));
    machine.contention = contended.map(|(plain_ns, atomic_ns)| Contention {
        plain_ns,
        atomic_ns,
    });
    machine.bandwidth = rows
        .iter()
        .filter(|row| row.copy_bytes_per_second > 0.0)
        .map(|row| Bandwidth {
            threads: row.threads,
            bytes_per_s: row.copy_bytes_per_second,
        })
        .collect();
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
