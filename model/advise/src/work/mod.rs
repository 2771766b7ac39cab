//! How the work of a region divides among the threads of a team: from the trips of its
//! loops, before it runs.
//!
//! The work of a thread is the instructions that it executes. Loops whose trips depend on
//! the thread's number and the team's size are divided; whatever does not is executed by
//! every thread in full.

mod counts;
mod trips;

pub(crate) use counts::nest;
pub use counts::{Counts, counts};
pub use trips::trips;

use fathomp_regions::{Body, Expr, Leaf, Loop, LoopId, Sample, SampleEnvironment, ScheduleKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// More threads than this are not looked at one by one.
const LOOKED_AT: u32 = 64;

/// How work divides among so many threads, relative to all of it with one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Division {
    /// Threads.
    pub threads: u32,
    /// The largest share of a thread: 1 / threads if it divides perfectly.
    pub largest: f64,
    /// All threads' shares together: 1 unless some is executed by every thread.
    pub all: f64,
    /// Iterations of the most finely divided worksharing loop, all threads together;
    /// infinite if none is known.
    #[serde(with = "unbounded")]
    pub pieces: f64,
}

/// JSON has no infinity.
mod unbounded {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

/// What the loops of a body say of its work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Instructions of an execution with one thread.
    pub instructions: f64,
    /// Iterations of innermost loops with one thread.
    pub trips: f64,
    /// Iterations of its outermost worksharing loops with one thread, all loops together; 0
    /// if they are not known.
    pub divided: f64,
    /// Power of the iterations of worksharing loops that trips grow with: 2 for triangles,
    /// whose inner loop depends on the divided one, 1 where that is not so.
    #[serde(default)]
    pub degree: u32,
    /// Divisions, ascending in threads.
    pub divisions: Vec<Division>,
    /// Part of the instructions in loops whose trips are a guess, 0 to 1.
    pub guessed: f64,
    /// Whether a worksharing loop hands out chunks on request, so that threads even out
    /// what differs between iterations.
    pub on_request: bool,
    /// Locks and critical sections entered, all threads together.
    pub mutexes: f64,
    /// Inline atomic updates, all threads together, of addresses that all threads share.
    pub shared_atomics: f64,
    /// Barriers passed by a thread inside the region.
    pub barriers: f64,
}

impl Work {
    /// How it divides among `threads`: as computed, else by the nearest that was computed;
    /// none if nothing was.
    #[must_use]
    pub fn division(&self, threads: u32) -> Option<Division> {
        let near = |one: &&Division| one.threads.abs_diff(threads);
        let nearest = *self.divisions.iter().min_by_key(near)?;
        if nearest.threads == threads {
            return Some(nearest);
        }
        // The unevenness of the nearest.
        let ideal = nearest.all / f64::from(nearest.threads.max(1));
        let uneven = nearest.largest / ideal.max(f64::MIN_POSITIVE);
        Some(Division {
            threads,
            largest: nearest.all * uneven / f64::from(threads.max(1)),
            ..nearest
        })
    }
}

/// The work of a body started with the words of `sample`, for each of the team sizes `at`.
///
/// None if nothing of it is known: it has no instructions, or no loop has trips.
#[must_use]
pub fn work(body: &Body, sample: &Sample, at: &[u32]) -> Option<Work> {
    let alone = counts(body, sample, 1, 0);
    let instructions = alone.instructions(body);
    if instructions <= 0.0 {
        return None;
    }
    let on_request = body.loops.iter().any(on_request);
    let divisions = at
        .iter()
        .map(|&threads| division(body, sample, threads.max(1), instructions, &alone))
        .collect();
    let per_loop = |inside: Option<LoopId>| alone.of(inside);
    let calls = |kind| {
        body.calls
            .iter()
            .filter(|call| call.kind == kind)
            .map(|call| per_loop(call.inside))
            .sum::<f64>()
    };
    Some(Work {
        instructions,
        trips: alone.innermost(body),
        degree: degree(body),
        divided: fathomp_trips::total(body)
            .and_then(|total| total.evaluate(&alone_with(sample)).ok())
            .map_or(0.0, |total| total.max(0) as f64),
        divisions,
        guessed: alone.guessed(body) / instructions,
        on_request,
        // Entering and leaving are a call each.
        mutexes: 0.5 * calls(fathomp_regions::CallKind::Mutex),
        shared_atomics: shared_atomics(body, &alone),
        barriers: calls(fathomp_regions::CallKind::Barrier),
    })
}

/// See [`Work::degree`].
fn degree(body: &Body) -> u32 {
    let shared = |id: LoopId| {
        let one = body.loops.get(id.0 as usize);
        one.is_some_and(|one| one.worksharing.is_some())
    };
    let depends = |one: &Loop| {
        let mut found = false;
        if let Some(trips) = one.trips.known() {
            trips.walk(&mut |part| {
                found |= matches!(part, Expr::Leaf(Leaf::Iteration(id)) if shared(*id));
            });
        }
        found
    };
    let depending = body.loops.iter().filter(|one| depends(one));
    let deepest = depending.map(|one| one.depth).collect::<BTreeSet<u32>>();
    1 + deepest.len().min(3) as u32
}

/// Whether chunks of the loop are handed out on request.
fn on_request(one: &Loop) -> bool {
    one.worksharing.as_ref().is_some_and(|schedule| {
        matches!(
            schedule.kind,
            ScheduleKind::Dynamic | ScheduleKind::Guided | ScheduleKind::Runtime
        )
    })
}

fn alone_with(sample: &Sample) -> SampleEnvironment<'_> {
    SampleEnvironment {
        sample,
        threads: 1,
        thread: 0,
        iterations: &[],
    }
}

fn division(
    body: &Body,
    sample: &Sample,
    threads: u32,
    instructions: f64,
    alone: &Counts,
) -> Division {
    let pieces = alone.pieces(body);
    let step = threads.div_ceil(LOOKED_AT).max(1);
    // The last one is where remainders and triangles show.
    let mut looked: Vec<u32> = (0..threads).step_by(step as usize).collect();
    looked.push(threads - 1);
    looked.dedup();
    let shares: Vec<f64> = looked
        .iter()
        .map(|&thread| counts(body, sample, threads, thread).instructions(body) / instructions)
        .collect();
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    let largest = shares.iter().copied().fold(0.0, f64::max);
    Division {
        threads,
        largest,
        all: mean * f64::from(threads),
        pieces,
    }
}

fn shared_atomics(body: &Body, alone: &Counts) -> f64 {
    let mut sum = 0.0;
    for atomic in &body.atomics {
        if atomic.bytes == 0 {
            continue;
        }
        let access = body.accesses.iter().find(|access| access.at == atomic.at);
        let shared = access.is_none_or(|access| {
            matches!(access.class, fathomp_regions::AccessClass::Invariant) && !access.base.stack
        });
        if shared {
            sum += alone.of(atomic.inside);
        }
    }
    sum
}
