//! What a region asks of memory, by the cache footprints of its accesses.

use crate::profile::Demand;
use crate::target::Target;
use crate::work::nest;
use fathomp_cache_model::{Cache, Nest, Repetition, Traffic};
use fathomp_regions::{Body, Region, Sample};
use fathomp_score::{Rules, Weights};

/// A cache where the machine's are not known.
const CACHE_BYTES: u64 = 32 << 20;
const CACHE_WAYS: u32 = 16;
/// Uncertainty of bytes that are as exact as they get.
const UNCERTAIN: f64 = 0.1;
/// Half of a 90 % interval in standard deviations.
const HALF: f64 = 1.64;

/// What is known of how executions follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated {
    /// Executions.
    pub(crate) times: f64,
    /// Whether hardly anything else runs in between.
    pub(crate) alone: bool,
}

/// Bytes between memory and the last cache of an execution, by threads of the team up to
/// all cores of `target`.
///
/// None if the body has no accesses.
#[must_use]
pub(crate) fn demand(
    body: &Body,
    sample: &Sample,
    target: &Target,
    repeated: Repeated,
) -> Option<Demand> {
    if body.accesses.is_empty() {
        return None;
    }
    let last = target.machine.caches.last();
    let (bytes, sharing) = last.map_or((CACHE_BYTES, target.machine.cores), |cache| {
        (cache.bytes, cache.shared_by.max(1))
    });
    let alone = traffic(&nest(body, sample, 1, 0), bytes, repeated);
    let mut demand = Demand {
        bytes: vec![(1, alone.bytes_memory().expected)],
        latency: latency(&alone),
        footprint: alone.footprint_bytes,
        uncertain: uncertain(&alone),
    };
    // Threads of one cache find there what the others brought; those of several bring it
    // once each.
    let mut threads = sharing.saturating_mul(2);
    while threads <= target.machine.cores {
        let own = nest(body, sample, threads, threads / 2);
        let one = traffic(&own, bytes / u64::from(sharing), repeated);
        let all = one.bytes_memory().expected * f64::from(threads);
        demand.bytes.push((threads, all));
        threads = threads.saturating_mul(2);
    }
    Some(demand)
}

fn traffic(nest: &Nest, cache: u64, repeated: Repeated) -> Traffic {
    let caches = [Cache::new(cache, CACHE_WAYS)];
    let mut repetition = Repetition::COLD;
    let traffic = Traffic::of(nest, &caches, repetition);
    // What others touch in between pushes it out, unless it is little.
    let stays = repeated.alone || traffic.footprint_bytes < 0.25 * cache as f64;
    if repeated.times <= 1.0 || !stays {
        return traffic;
    }
    repetition.times = repeated.times;
    Traffic::of(nest, &caches, repetition)
}

/// Part of the misses that are waited for one by one.
fn latency(traffic: &Traffic) -> f64 {
    traffic.levels.last().map_or(0.0, |level| {
        let all = level.misses.expected;
        if all > 0.0 {
            level.far_misses.expected / all
        } else {
            0.0
        }
    })
}

fn uncertain(traffic: &Traffic) -> f64 {
    let bytes = traffic.bytes_memory();
    if bytes.low <= 0.0 || bytes.high <= bytes.low {
        return if bytes.high > bytes.expected {
            1.0
        } else {
            UNCERTAIN
        };
    }
    (0.5 * (bytes.high / bytes.low).ln() / HALF).clamp(UNCERTAIN, 2.0)
}

/// The published static score of a region that touches `working_set` bytes, 0 to 1; none if
/// the region says too little. Where the bytes are not known, ten times the last cache, as in
/// the published evaluation.
#[must_use]
pub(crate) fn score(
    region: &Region,
    working_set: Option<f64>,
    target: &Target,
    weights: &Weights,
) -> Option<f64> {
    let cache = target
        .machine
        .caches
        .last()
        .map_or(CACHE_BYTES, |one| one.bytes);
    let machine = fathomp_score::Machine {
        cache_bytes: cache as f64,
        packages: target.packages.max(2),
    };
    let working_set = working_set.unwrap_or(10.0 * machine.cache_bytes);
    let score =
        fathomp_score::score(region, working_set, &machine, &Rules::default(), weights).ok()?;
    Some(score.value).filter(|score| score.is_finite())
}
