//! Time of a region with any number of threads, as a sum of terms.
//!
//! What one thread needs, `T(1)`, is time in the core and time for memory: `M(1)`, the bytes
//! that pass between memory and the caches over the bandwidth that one thread has. With
//! `p` threads the largest share of the work is `L` (1/p if it divides evenly) and memory
//! takes `M(p)`, the same bytes over the bandwidth of p threads. Where cores compute while
//! memory moves, the longer of both counts; where they do not, they add up:
//!
//! ```text
//! overlapped(p) = max( T(1) L,           M(p) )
//! apart(p)      = (T(1) - M(1)) L + max( M(1) L, M(p) )
//! ```
//!
//! The model takes a mean of the two, weighted by [`Constants::overlap`]. On top come forks, joins, barriers, chunks, locks and
//! atomics at the machine's prices. An interval holds the middle 90 % of what follows
//! when all that is not known is drawn: how much overlaps, the bytes, the bandwidths, how
//! the work divides, prices.

use crate::advice::Term;
use crate::profile::Profile;
use crate::target::Target;
use fathomp_stats::{Random, quantile};
use serde::{Deserialize, Serialize};

/// Draws behind intervals.
const DRAWS: usize = 200;
/// Part of the time of one thread that imbalance may cost of which nothing is known.
const UNEVEN_MOST: f64 = 0.5;
/// Relative standard deviation of a time with several threads that nothing explains.
const SCATTER: f64 = 0.01;
/// Bandwidth of one thread, relative to the measured one, that nobody has.
const TOO_FAST: f64 = 1.05;
/// Part of the instructions in loops of guessed trips from which on a scan says nothing about
/// how the work divides.
pub(crate) const GUESSED_MOST: f64 = 0.5;
/// Nanoseconds of an instruction where no time was measured.
const INSTRUCTION_NS: f64 = 0.2;
/// Price of an atomic update of a line that others write, where it was not measured.
const ATOMIC_NS: f64 = 40.0;

/// What of the model is fitted to measurements of other programs, or taken as usual.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// Part of memory's time that overlaps with computing, 0 to 1.
    pub overlap: f64,
    /// Part of its speed that a core loses when all others compute, too.
    pub core_loss: f64,
    /// Bandwidth that programs reach, relative to the machine's copying.
    pub reach: f64,
}

impl Default for Constants {
    /// What fits the bundled programs on the machine on which they were evaluated.
    fn default() -> Self {
        Self {
            overlap: 0.9,
            core_loss: 0.02,
            reach: 1.0,
        }
    }
}

/// What is not known, as drawn.
#[derive(Clone, Copy, Debug)]
struct Draw {
    time: f64,
    overlap: f64,
    core_loss: f64,
    bytes: f64,
    /// Power of the bandwidth's growth with threads.
    growth: f64,
    /// Part of the time that imbalance costs of which nothing is known.
    uneven: f64,
    /// Part of the time of one thread that waits for memory, where nothing says it.
    bound: f64,
    price: f64,
    /// Drift of what was measured, beyond the measurements.
    drift: f64,
}

/// Whether the time that one thread took, `alone` nanoseconds, refutes the bytes that the code
/// seems to ask memory for: it would be faster than memory, on the machine that it ran on. Then some part of the time is
/// memory's, and nobody knows which.
pub(crate) fn is_refuted(profile: &Profile, target: &Target, alone: f64) -> bool {
    match (&profile.demand, target.machine.bandwidth_at(1.0)) {
        (Some(demand), Some(most)) if target.measured && profile.same_machine => {
            demand.bytes_at(1) / alone.max(1.0) * 1e9 > TOO_FAST * most
        }
        _ => false,
    }
}

/// A region's model.
#[derive(Clone, Debug)]
pub(crate) struct Model<'a> {
    profile: &'a Profile,
    target: &'a Target,
    constants: Constants,
    /// Work, memory and overheads are those of so many times the trips.
    scale: f64,
}

/// Terms of a time, by [`Term`], and the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Terms([f64; 10]);

impl Terms {
    pub(crate) fn time(&self) -> f64 {
        self.0.iter().sum()
    }

    fn add(&mut self, term: Term, ns: f64) {
        self.0[term as usize] += ns.max(0.0);
    }

    /// The term that costs most, the divided work apart, and its share.
    pub(crate) fn dominating(&self) -> (Term, f64) {
        const LOSSES: [Term; 9] = [
            Term::Bandwidth,
            Term::Latency,
            Term::Imbalance,
            Term::Pieces,
            Term::Overhead,
            Term::Serial,
            Term::Mutex,
            Term::Atomics,
            Term::Growth,
        ];
        let time = self.time().max(f64::MIN_POSITIVE);
        let share = |term: Term| self.0[term as usize] / time;
        let most = LOSSES
            .into_iter()
            .max_by(|a, b| share(*a).total_cmp(&share(*b)));
        match most {
            // Less than that is not worth a word.
            Some(term) if share(term) >= 0.02 => (term, share(term)),
            _ => (Term::Work, share(Term::Work)),
        }
    }
}

/// The middle 90 % of draws, and at least what nothing explains around the central value.
pub(crate) fn interval(draws: &[f64], central: f64) -> (f64, f64) {
    let least = 1.64 * SCATTER * central.abs();
    (
        quantile(draws, 0.05)
            .unwrap_or_default()
            .min(central - least),
        quantile(draws, 0.95)
            .unwrap_or_default()
            .max(central + least),
    )
}

/// A time with its interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Predicted {
    pub(crate) threads: u32,
    pub(crate) time: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) dominating: (Term, f64),
    /// Times in every draw, in the order of draws.
    pub(crate) draws: Vec<f64>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(profile: &'a Profile, target: &'a Target, constants: Constants) -> Self {
        Self {
            profile,
            target,
            constants,
            scale: 1.0,
        }
    }

    /// The same region with `scale` times the trips.
    pub(crate) fn scaled(&self, scale: f64) -> Self {
        Self {
            scale,
            ..self.clone()
        }
    }

    fn central(&self) -> Draw {
        Draw {
            time: 1.0,
            overlap: self.constants.overlap,
            core_loss: self.constants.core_loss,
            bytes: 1.0,
            growth: 1.0,
            uneven: 0.0,
            bound: 0.5,
            price: 1.0,
            drift: 0.0,
        }
    }

    fn draw(&self, random: &mut Random) -> Draw {
        let timed = self.profile.timed;
        let error = timed.map_or(0.3, |timed| timed.error.clamp(0.01, 0.5));
        let uncertain = self.profile.demand.as_ref().map_or(0.0, |d| d.uncertain);
        let machine = if self.target.measured { 0.05 } else { 0.25 };
        let divided = self.profile.work.as_ref().map_or(1.0, |work| work.guessed);
        let around = random.uniform() - 0.5;
        Draw {
            time: (error * random.normal()).exp(),
            overlap: (self.constants.overlap + 0.8 * around).clamp(0.0, 1.0),
            core_loss: self.constants.core_loss * 2.0 * random.uniform(),
            bytes: (uncertain * random.normal()).exp(),
            growth: (1.0 + machine * random.normal()).clamp(0.0, 2.0),
            uneven: UNEVEN_MOST * divided.clamp(0.0, 1.0) * random.uniform(),
            bound: random.uniform(),
            price: (0.3 * random.normal()).exp(),
            drift: random.normal(),
        }
    }

    /// Times at each of `at`, ascending, in nanoseconds of an execution.
    pub(crate) fn predict(&self, at: &[u32], seed: u64) -> Vec<Predicted> {
        let mut random = Random(seed);
        let draws: Vec<Draw> = (0..DRAWS).map(|_| self.draw(&mut random)).collect();
        at.iter()
            .map(|&threads| {
                let (time, dominating) = self.at(threads, &self.central());
                // What differs from one number of threads to another without any cause here.
                let mut scatter = || match threads {
                    1 => 1.0,
                    _ => (SCATTER * random.normal()).exp(),
                };
                let all: Vec<f64> = draws
                    .iter()
                    .map(|draw| self.at(threads, draw).0 * scatter())
                    .collect();
                let (low, high) = interval(&all, time);
                Predicted {
                    threads,
                    time,
                    low,
                    high,
                    dominating,
                    draws: all,
                }
            })
            .collect()
    }

    /// The central times alone.
    pub(crate) fn times(&self, at: &[u32]) -> Vec<f64> {
        let central = self.central();
        at.iter()
            .map(|&threads| self.at(threads, &central).0)
            .collect()
    }

    /// Time and dominating term: as measured with several numbers of threads where it was,
    /// beyond in proportion to the model.
    fn at(&self, threads: u32, draw: &Draw) -> (f64, (Term, f64)) {
        let terms = self.terms(threads, draw);
        let modelled = (terms.time(), terms.dominating());
        let curve = &self.profile.curve;
        if curve.is_empty() {
            return modelled;
        }
        if (self.scale - 1.0).abs() > 1e-9 {
            // What the model misses of the measured executions it misses of larger ones, and
            // less and less of smaller ones.
            let unit = Self {
                scale: 1.0,
                ..self.clone()
            };
            let missed = unit.at(threads, draw).0 / unit.terms(threads, draw).time();
            let missed = missed.max(f64::MIN_POSITIVE).powf(self.scale.min(1.0));
            return (modelled.0 * missed, modelled.1);
        }
        let within = |one: &&crate::profile::Modelled| !one.beyond;
        let Some(last) = curve.iter().rfind(within) else {
            return modelled;
        };
        let exact = curve.iter().find(|one| one.threads == threads);
        let spread = |one: &crate::profile::Modelled| {
            let half = 0.5
                * (one.high_ns / one.low_ns.max(f64::MIN_POSITIVE))
                    .max(1.0)
                    .ln();
            // The interval is 1.64 standard deviations to each side.
            (draw.drift * half / 1.64).exp()
        };
        match exact {
            Some(one) if !one.beyond => (one.time_ns * spread(one), (one.dominating, one.share)),
            _ => {
                let from = self.terms(last.threads, draw).time();
                let doublings = f64::from(threads.max(1)) / f64::from(last.threads.max(1));
                let drift = (0.03 * draw.drift * doublings.log2().abs()).exp();
                let factor = modelled.0 / from.max(f64::MIN_POSITIVE);
                (last.time_ns * spread(last) * drift * factor, modelled.1)
            }
        }
    }

    /// Application time of one thread: measured, else by its instructions.
    fn alone_ns(&self, draw: &Draw) -> f64 {
        match &self.profile.timed {
            Some(timed) if timed.threads <= 1.01 => timed.computing_ns,
            Some(timed) => {
                // What several threads needed together, less what they hindered each other.
                let team = timed.threads.round().max(2.0) as u32;
                let (mut low, mut high) = (0.0, timed.computing_ns);
                for _ in 0..50 {
                    let middle = 0.5 * (low + high);
                    let together = self.computing(team, middle, draw);
                    if together < timed.computing_ns {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                high
            }
            None => {
                let instructions = self.profile.work.as_ref().map_or(0.0, |w| w.instructions);
                let memory = self.memory_ns(1, draw);
                (instructions * INSTRUCTION_NS).max(memory).max(1.0)
            }
        }
    }

    /// Application time of all threads together, if one alone needs `alone`.
    fn computing(&self, threads: u32, alone: f64, draw: &Draw) -> f64 {
        let p = f64::from(threads);
        let even = 1.0 / p;
        p * self.busy(threads, alone, even, draw).0
    }

    /// Bytes over bandwidth.
    fn memory_ns(&self, threads: u32, draw: &Draw) -> f64 {
        let Some(demand) = &self.profile.demand else {
            return 0.0;
        };
        let bytes = demand.bytes_at(threads) * draw.bytes;
        bytes / self.bandwidth(threads, draw) * 1e9
    }

    /// Bytes per second that so many threads get.
    fn bandwidth(&self, threads: u32, draw: &Draw) -> f64 {
        /// A guess, where nothing was measured: one thread, and the most of all.
        const ONE: f64 = 10e9;
        const ALL: f64 = 3.0;
        let machine = &self.target.machine;
        let p = f64::from(threads);
        match (machine.bandwidth_at(1.0), machine.bandwidth_at(p)) {
            (Some(one), Some(all)) if one > 0.0 => {
                self.constants.reach * one * (all / one).max(1e-3).powf(draw.growth)
            }
            _ => ONE * p.min(ALL).powf(draw.growth),
        }
    }

    /// Time until the last thread is through with its share `largest`, without overheads,
    /// and how much of it memory adds to the work.
    fn busy(&self, threads: u32, alone: f64, largest: f64, draw: &Draw) -> (f64, f64) {
        let slower = 1.0 + draw.core_loss * (1.0 - 1.0 / f64::from(threads));
        let demanded = self
            .profile
            .demand
            .as_ref()
            .map(|_| self.memory_ns(1, draw));
        let (one, all) = match demanded {
            Some(one) if !is_refuted(self.profile, self.target, alone) => {
                (one, self.memory_ns(threads, draw))
            }
            _ => {
                // Some part of the time is memory's; nobody knows which.
                let one = draw.bound * alone;
                let growth = self.bandwidth(threads, draw) / self.bandwidth(1, draw);
                (one, one / growth)
            }
        };
        // One thread did not take longer than it took.
        let fit = (alone / one.max(f64::MIN_POSITIVE)).min(1.0);
        let (one, all) = (one * fit, all * fit);
        let work = alone * largest * slower;
        let overlapped = work.max(all);
        let apart = (alone - one) * largest * slower + all.max(one * largest);
        let time = draw.overlap * overlapped + (1.0 - draw.overlap) * apart;
        let time = time.max(alone * largest);
        (time, (time - work).max(0.0))
    }

    /// The largest share, all shares together, and whether pieces are what makes shares
    /// unequal.
    fn division(&self, threads: u32, draw: &Draw) -> (f64, f64, bool) {
        let p = f64::from(threads);
        let seen = &self.profile.seen;
        let unknown = 1.0 + draw.uneven * (1.0 - 1.0 / p);
        let by_pieces = |pieces: f64| match pieces.is_finite() && pieces >= 1.0 {
            true => (pieces / p).ceil() * p / pieces,
            false => 1.0,
        };
        let Some(division) = self
            .profile
            .work
            .as_ref()
            .filter(|work| work.guessed <= GUESSED_MOST)
            .and_then(|work| work.division(threads))
        else {
            let pieces = seen.pieces.map_or(1.0, by_pieces);
            let uneven = match seen.uneven {
                Some((team, uneven)) if team > 1 => {
                    1.0 + (uneven - 1.0) * (1.0 - 1.0 / p) / (1.0 - 1.0 / f64::from(team))
                }
                _ if threads > 1 => unknown,
                _ => 1.0,
            };
            return (
                pieces.max(uneven) / p,
                1.0,
                pieces >= uneven && pieces > 1.0,
            );
        };
        let on_request = self.profile.work.as_ref().is_some_and(|w| w.on_request);
        let pieces = match on_request {
            // Chunks, where a recording counted them.
            true if seen.chunks >= 1.0 => seen.chunks,
            _ => division.pieces,
        };
        let granular = by_pieces(pieces);
        let even = division.all / p;
        let uneven = match on_request {
            true => granular,
            false => division.largest / even.max(f64::MIN_POSITIVE),
        };
        let uneven = uneven.max(1.0);
        let by_pieces = granular > 1.0 && (granular - 1.0) > 0.5 * (uneven - 1.0);
        let guessed = if threads > 1 { unknown } else { 1.0 };
        (even * uneven * guessed, division.all, by_pieces)
    }

    /// The terms of the time with `threads` threads, nanoseconds.
    fn terms(&self, threads: u32, draw: &Draw) -> Terms {
        let threads = threads.max(1);
        let p = f64::from(threads);
        let mut terms = Terms::default();
        let mut alone = self.alone_ns(draw);
        let in_cache = self.in_cache(threads);
        let (largest, all, by_pieces) = self.division(threads, draw);
        let (mut busy, mut memory) = self.busy(threads, alone, largest, draw);
        if in_cache > 0.0 {
            // What fits in the caches does not ask memory again.
            let slower = 1.0 + draw.core_loss * (1.0 - 1.0 / p);
            let inside = alone * largest * slower;
            busy += in_cache * (inside - busy);
            memory *= 1.0 - in_cache;
        }
        for ns in [&mut alone, &mut busy, &mut memory] {
            *ns *= self.scale * draw.time;
        }
        let ideal = alone / p;
        terms.add(Term::Work, ideal.min(busy));
        terms.add(Term::Serial, alone * (all - 1.0) / p);
        let uneven = if by_pieces {
            Term::Pieces
        } else {
            Term::Imbalance
        };
        terms.add(uneven, alone * (largest - all / p));
        let latency = self.profile.demand.as_ref().map_or(0.0, |d| d.latency);
        let limit = if latency > 0.5 {
            Term::Latency
        } else {
            Term::Bandwidth
        };
        let rest = busy - terms.time();
        terms.add(limit, memory.min(rest));
        // Cores that slow each other down.
        terms.add(Term::Growth, rest - memory);
        self.overheads(threads, busy, draw, &mut terms);
        if let Some(timed) = &self.profile.timed {
            terms.add(Term::Serial, timed.blocked_ns * draw.time);
        }
        terms
    }

    /// Part of the data that fewer trips leave in caches, where more did not fit.
    fn in_cache(&self, threads: u32) -> f64 {
        let Some(demand) = &self.profile.demand else {
            return 0.0;
        };
        let caches = self.target.last_caches_bytes(threads);
        if demand.footprint <= 0.0 || demand.footprint <= caches || self.scale >= 1.0 {
            return 0.0;
        }
        // All of it at half the caches, none at all of them.
        let fill = demand.footprint * self.scale / caches.max(1.0);
        (2.0 - 2.0 * fill).clamp(0.0, 1.0)
    }

    fn overheads(&self, threads: u32, busy: f64, draw: &Draw, terms: &mut Terms) {
        let p = f64::from(threads);
        let seen = &self.profile.seen;
        let work = self.profile.work.as_ref();
        let price = draw.price;
        let Some(costs) = self.target.machine.costs_at(threads) else {
            // Prices of an ordinary machine.
            let doublings = p.log2();
            terms.add(Term::Overhead, (300.0 + 1_500.0 * doublings) * price);
            return;
        };
        let count = |seen: f64, scanned: Option<f64>| match seen > 0.0 {
            true => seen,
            false => scanned.unwrap_or(0.0) * self.scale,
        };
        let barriers = count(seen.barriers, work.map(|work| work.barriers));
        let chunks = seen.chunks * self.scale;
        terms.add(
            Term::Overhead,
            (costs.fork_join_ns
                + barriers * costs.barrier_ns
                + chunks * costs.dynamic_chunk_ns / p)
                * price,
        );
        if threads == 1 {
            return;
        }
        let mutexes = count(seen.mutexes * self.scale, work.map(|work| work.mutexes));
        // They are passed one after the other; what of it does not fit beside the work is
        // waited for.
        let passages = mutexes * costs.lock_ns * price;
        terms.add(Term::Mutex, (passages - busy).max(passages / p));
        let atomics = work.map_or(0.0, |work| work.shared_atomics) * self.scale;
        let contention = self.target.machine.contention;
        let each = contention.map_or(ATOMIC_NS, |contention| contention.atomic_ns);
        let passages = atomics * each * price;
        terms.add(Term::Atomics, (passages - busy).max(passages / p));
    }
}
