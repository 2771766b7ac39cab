//! More threads than were recorded: accesses at several numbers of threads are
//! explained by laws of the thread's number, and generated from these for others.
//! What no law explains is refused, not guessed.
//!
//! The first and the last thread have laws of their own: one runs the serial parts,
//! and neither has neighbours on both sides.

mod fit;
mod places;
mod shape;

use fathomp_access_trace::{Accesses, End, Run, Step, Thread};
use fathomp_protocols::{Access, Area, PageRange, Placement};
use fathomp_types::{NodeId, PageId};
use fit::{Basis, Law, Observed};
use places::{Kind, Places, Whose, node_of};
use shape::{Group, Range, Shape};
use std::collections::{BTreeMap, HashMap};

/// How far, in pages, a range's end may lie from its law: both ends of a part are
/// rounded to pages.
const PAGES_OFF: f64 = 1.5;
/// The same as a fraction of a thread's part: iterations are whole.
const PART_OFF: f64 = 0.05;
/// Pages that nobody touches which are kept beside those that somebody does, so that
/// fetching in advance finds what it would find.
const MARGIN: u32 = 32;

/// Accesses at another number of threads cannot be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtrapolateError {
    /// Too little to go by.
    #[error(
        "to tell what {asked} threads access, recordings of at least three other numbers of threads are needed, the largest with 4 or more, and in them four threads in all that are neither first nor last, such as 2, 4 and 8; there are {given:?}"
    )]
    TooFew {
        /// Threads asked for.
        asked: u16,
        /// Numbers of threads that were recorded.
        given: Vec<usize>,
    },
    /// Not the same program, or it shares other memory.
    #[error(
        "the recordings with {a} and {b} threads share different memory: record the same program each time"
    )]
    Memory {
        /// Threads of one.
        a: usize,
        /// Threads of another.
        b: usize,
    },
    /// What threads do changes with their number.
    #[error(
        "no law tells what more threads do: thread {thread} of {threads} synchronises otherwise than those of the other recordings, from its interval {step} on"
    )]
    Operations {
        /// The thread.
        thread: usize,
        /// Of how many.
        threads: usize,
        /// The first interval that differs.
        step: usize,
    },
    /// Memory of a node that is no neighbour.
    #[error(
        "no law tells what more threads access: in interval {step}, behind {barriers} barriers, thread {thread} of {threads} touches page {page} of a node that is not next to it"
    )]
    Stranger {
        /// The thread.
        thread: usize,
        /// Of how many.
        threads: usize,
        /// Its interval.
        step: usize,
        /// Barriers before that.
        barriers: usize,
        /// The page.
        page: u32,
    },
    /// Pages follow no law.
    #[error(
        "no law tells what more threads access: in interval {step}, behind {barriers} barriers, the pages that thread {thread} of {threads} {verb} around page {page} of area {area} are no part of an array, no border, not all and not one"
    )]
    Pattern {
        /// A thread that does not fit.
        thread: usize,
        /// Of how many.
        threads: usize,
        /// The interval.
        step: usize,
        /// Barriers before that.
        barriers: usize,
        /// `reads` or `writes`.
        verb: &'static str,
        /// A page, counted from the area's first.
        page: u32,
        /// The area, counting those that each node has once.
        area: usize,
    },
}

/// Threads that have the same laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    First,
    Inner,
    Last,
}

impl Role {
    fn of(i: usize, p: usize) -> Self {
        match i {
            0 => Self::First,
            last if last + 1 == p => Self::Last,
            _ => Self::Inner,
        }
    }

    fn basis(self) -> Basis {
        match self {
            Self::Inner => Basis::Thread,
            Self::First | Self::Last => Basis::Number,
        }
    }
}

/// A range as a law.
#[derive(Clone, Copy, Debug)]
struct RangeLaw {
    group: Group,
    first: Law,
    end: Law,
    diff_bytes: Law,
    turn: usize,
}

/// A role's accesses as laws.
struct RoleLaws {
    /// By what it did, each once.
    sets: Vec<Vec<RangeLaw>>,
    /// Set, work, and how the interval ended.
    steps: Vec<(usize, Law, Step)>,
}

/// One recording.
struct Known {
    accesses: Accesses,
    p: usize,
    places: Places,
}

/// What so many threads would access, told from recordings with other numbers.
///
/// # Errors
/// If there are too few recordings, or no law explains them.
pub fn extrapolate(known: &[&Accesses], threads: u16) -> Result<Accesses, ExtrapolateError> {
    let mut known: Vec<_> = known
        .iter()
        .map(|accesses| {
            let p = accesses.threads.len();
            let places = Places::of(&accesses.areas, u16::try_from(p).unwrap_or(u16::MAX));
            Known {
                accesses: comparable(accesses),
                p,
                places,
            }
        })
        .collect();
    known.sort_by_key(|known| known.p);
    known.dedup_by_key(|known| known.p);
    known.retain(|known| known.p > 1);
    let too_few = || ExtrapolateError::TooFew {
        asked: threads,
        given: known.iter().map(|known| known.p).collect(),
    };
    let (Some(least), Some(most)) = (known.first(), known.last()) else {
        return Err(too_few());
    };
    if known.len() < 3 || most.p < 4 || threads < 2 {
        return Err(too_few());
    }
    for other in &known {
        let alike = other.accesses.page_bytes == least.accesses.page_bytes
            && other.places.kinds == least.places.kinds;
        if !alike {
            return Err(ExtrapolateError::Memory {
                a: least.p,
                b: other.p,
            });
        }
    }
    let mut made = Vec::new();
    let roles = [Role::First, Role::Inner, Role::Last];
    let laws = roles.map(|role| (role, threads > 2 || role != Role::Inner));
    let mut by_role = Vec::new();
    for (role, wanted) in laws {
        let laws = if wanted {
            Some(role_laws(&known, role, &too_few)?)
        } else {
            None
        };
        by_role.push((role, laws));
    }
    for i in 0..threads {
        let role = Role::of(usize::from(i), usize::from(threads));
        let laws = by_role.iter().find(|(of, _)| *of == role);
        if let Some((_, Some(laws))) = laws {
            made.push(laws.thread(i, threads, &least.places.kinds));
        }
    }
    let like = Accesses {
        page_bytes: most.accesses.page_bytes,
        loads_acquire: most.accesses.loads_acquire,
        ..Accesses::default()
    };
    Ok(placed(made, &least.places.kinds, threads, like))
}

/// The same accesses without what is chance: whether threads have come to wait for
/// work when the program ends, and the addresses by which locks are numbered.
fn comparable(accesses: &Accesses) -> Accesses {
    let mut accesses = accesses.clone();
    let mut locks = HashMap::new();
    let steps = accesses
        .threads
        .iter_mut()
        .flat_map(|thread| &mut thread.steps);
    for step in steps {
        if let End::Acquire(lock) | End::Release(lock) = &mut step.end {
            let next = locks.len() as u64;
            *lock = *locks.entry(*lock).or_insert(next);
        }
    }
    let barriers = |thread: &Thread| {
        let ends = thread.steps.iter().map(|step| step.end);
        ends.filter(|end| *end == End::Barrier).count()
    };
    let first = accesses.threads.first().map_or(0, barriers);
    for thread in &mut accesses.threads {
        let waits = barriers(thread) > first;
        let last = thread
            .steps
            .iter()
            .rposition(|step| step.end == End::Barrier);
        if let Some(last) = last.filter(|_| waits) {
            thread.steps.truncate(last + 1);
            thread.steps[last].end = End::Exit;
        }
    }
    accesses
}

fn role_laws(
    known: &[Known],
    role: Role,
    too_few: &impl Fn() -> ExtrapolateError,
) -> Result<RoleLaws, ExtrapolateError> {
    let threads: Vec<(usize, &Known)> = known
        .iter()
        .flat_map(|known| (0..known.p).map(move |i| (i, known)))
        .filter(|(i, known)| Role::of(*i, known.p) == role)
        .collect();
    let Some((reference, of)) = threads.last() else {
        return Err(too_few());
    };
    if threads.len() < role.basis().least() {
        return Err(too_few());
    }
    let steps = &of.accesses.threads[*reference].steps;
    for (i, known) in &threads {
        let other = &known.accesses.threads[*i].steps;
        let same = |(a, b): &(&Step, &Step)| a.end == b.end;
        let differs = steps.iter().zip(other).position(|pair| !same(&pair));
        let differs =
            differs.or((steps.len() != other.len()).then(|| steps.len().min(other.len())));
        if let Some(step) = differs {
            return Err(ExtrapolateError::Operations {
                thread: *i,
                threads: known.p,
                step,
            });
        }
    }
    let mut laws = RoleLaws {
        sets: Vec::new(),
        steps: Vec::new(),
    };
    // Intervals of which every thread's set was seen before are like those.
    let mut seen: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut barriers = 0;
    for (number, step) in steps.iter().enumerate() {
        let sets = threads
            .iter()
            .map(|(i, known)| known.accesses.threads[*i].steps[number].set);
        let sets: Vec<u32> = sets.collect();
        let set = match seen.get(&sets) {
            Some(set) => *set,
            None => {
                let place = Place {
                    step: number,
                    barriers,
                };
                laws.sets.push(set_laws(&threads, &sets, role, place)?);
                seen.insert(sets, laws.sets.len() - 1);
                laws.sets.len() - 1
            }
        };
        let work = threads.iter().map(|(i, known)| Observed {
            i: *i as f64,
            p: known.p as f64,
            value: known.accesses.threads[*i].steps[number].work_ns as f64,
        });
        let work = Law::fit(&work.collect::<Vec<_>>(), Basis::Number).unwrap_or_default();
        laws.steps.push((set, work, *step));
        barriers += usize::from(step.end == End::Barrier);
    }
    Ok(laws)
}

/// Where in the program.
#[derive(Clone, Copy)]
struct Place {
    step: usize,
    barriers: usize,
}

fn set_laws(
    threads: &[(usize, &Known)],
    sets: &[u32],
    role: Role,
    place: Place,
) -> Result<Vec<RangeLaw>, ExtrapolateError> {
    let Place { step, barriers } = place;
    let mut shapes: Vec<(usize, usize, Shape)> = Vec::new();
    for ((i, known), set) in threads.iter().zip(sets) {
        let runs = &known.accesses.threads[*i].sets[*set as usize];
        let number = u16::try_from(*i).unwrap_or(u16::MAX);
        let shape = shape::shape(runs, number, &known.places);
        let shape = shape.map_err(|page| ExtrapolateError::Stranger {
            thread: *i,
            threads: known.p,
            step,
            barriers,
            page,
        })?;
        shapes.push((*i, known.p, shape));
    }
    let Some((_, _, reference)) = shapes.last() else {
        return Ok(Vec::new());
    };
    let off = |thread, threads, (space, access): Group, page| ExtrapolateError::Pattern {
        thread,
        threads,
        step,
        barriers,
        verb: match access {
            Access::Read => "reads",
            Access::Write => "writes",
        },
        page,
        area: space.kind,
    };
    // All must have as many ranges in the same groups.
    for (i, p, shape) in &shapes {
        let groups = reference.keys().chain(shape.keys());
        for group in groups {
            let ranges = |shape: &Shape| shape.get(group).map_or(0, Vec::len);
            if ranges(shape) != ranges(reference) {
                let some = shape.get(group).or_else(|| reference.get(group));
                let page = some
                    .and_then(|ranges| ranges.first())
                    .map_or(0, |r| r.first);
                return Err(off(*i, *p, *group, page));
            }
        }
    }
    let mut laws = Vec::new();
    for (group, ranges) in reference {
        for (number, range) in ranges.iter().enumerate() {
            let of = |value: fn(&Range) -> f64| -> Vec<Observed> {
                let observed = shapes.iter().filter_map(|(i, p, shape)| {
                    Some(Observed {
                        i: *i as f64,
                        p: *p as f64,
                        value: value(shape.get(group)?.get(number)?),
                    })
                });
                observed.collect()
            };
            let law = |value: fn(&Range) -> f64| -> Result<Law, ExtrapolateError> {
                let observed = of(value);
                let law = Law::fit(&observed, role.basis()).unwrap_or_default();
                let wrong = observed.iter().find(|o| {
                    let allowed = PAGES_OFF.max(law.part(o.p) * PART_OFF);
                    (law.at(o.i, o.p) - o.value).abs() > allowed
                });
                match wrong {
                    Some(o) => Err(off(o.i as usize, o.p as usize, *group, o.value as u32)),
                    None => Ok(law),
                }
            };
            laws.push(RangeLaw {
                group: *group,
                first: law(|range| f64::from(range.first))?,
                end: law(|range| f64::from(range.end))?,
                diff_bytes: Law::fit(&of(|range| range.diff_bytes as f64), Basis::Number)
                    .unwrap_or_default(),
                turn: range.turn,
            });
        }
    }
    laws.sort_by_key(|law| law.turn);
    Ok(laws)
}

/// A run whose pages are counted in the memory of a node.
#[derive(Clone, Copy, Debug)]
struct Made {
    kind: usize,
    node: u16,
    first: u32,
    end: u32,
    access: Access,
    diff_bytes: u32,
}

struct MadeThread {
    sets: Vec<Vec<Made>>,
    steps: Vec<Step>,
}

impl RoleLaws {
    fn thread(&self, i: u16, threads: u16, kinds: &[Kind]) -> MadeThread {
        let (at, p) = (f64::from(i), f64::from(threads));
        let run = |law: &RangeLaw| {
            let (space, access) = law.group;
            let pages = kinds.get(space.kind).map_or(1, |kind| kind.pages.max(1));
            // As a float too large or below nothing becomes the nearest integer.
            let first = (law.first.at(at, p).round() as u32).min(pages - 1);
            let end = (law.end.at(at, p).round() as u32).clamp(first + 1, pages);
            let diff_bytes = law.diff_bytes.at(at, p) / f64::from(end - first);
            let diff_bytes = match access {
                Access::Read => 0,
                // What is longer than any is cut when all is put together.
                Access::Write => (diff_bytes as u32).max(Accesses::EMPTY_DIFF_BYTES),
            };
            Made {
                kind: space.kind,
                node: match kinds.get(space.kind) {
                    Some(kind) if kind.each => node_of(space.whose, i).min(threads - 1),
                    _ => node_of(Whose::First, i),
                },
                first,
                end,
                access,
                diff_bytes,
            }
        };
        let steps = self.steps.iter().map(|(set, work, step)| Step {
            set: u32::try_from(*set).unwrap_or(u32::MAX),
            work_ns: work.at(at, p).round() as u64,
            ..*step
        });
        MadeThread {
            sets: self
                .sets
                .iter()
                .map(|set| set.iter().map(run).collect())
                .collect(),
            steps: steps.collect(),
        }
    }
}

/// Gives all memory of accesses `like` those its pages: only what is touched, and some around
/// it, because memory of very many nodes has more pages than can be numbered.
fn placed(made: Vec<MadeThread>, kinds: &[Kind], threads: u16, like: Accesses) -> Accesses {
    let diff_bytes_max = like.diff_bytes_max();
    let mut hulls: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
    for run in made.iter().flat_map(|thread| thread.sets.iter().flatten()) {
        let (first, end) = hulls.entry(run.kind).or_insert((run.first, run.end));
        (*first, *end) = ((*first).min(run.first), (*end).max(run.end));
    }
    let mut areas = Vec::new();
    // By kind: the first page of node 0's, how many each has, and the first of them
    // in the numbers of the recording.
    let mut places = Vec::new();
    let mut next = 0_u32;
    for (number, kind) in kinds.iter().enumerate() {
        let (from, pages) = match (hulls.get(&number), kind.home) {
            // Homes depend on where such memory begins and ends.
            (_, Placement::Block | Placement::Cyclic(_)) => (0, kind.pages),
            (Some((first, end)), _) => {
                let from = first.saturating_sub(MARGIN);
                let end = end.saturating_add(MARGIN).min(kind.pages);
                (from, end - from)
            }
            (None, _) => (0, 0),
        };
        places.push((next, pages, from));
        for node in (0..if kind.each { threads } else { 1 }).map(NodeId) {
            let home = match kind.home {
                Placement::At(_) if kind.each => Placement::At(node),
                Placement::Pinned(_) if kind.each => Placement::Pinned(node),
                home => home,
            };
            areas.push(Area { pages, home });
            next = next.saturating_add(pages);
        }
    }
    let run = |made: &Made| {
        let (base, pages, from) = places.get(made.kind).copied().unwrap_or_default();
        let first = base + u32::from(made.node) * pages + (made.first - from);
        Some(Run {
            access: made.access,
            pages: PageRange::new(PageId(first), made.end - made.first)?,
            diff_bytes: made.diff_bytes.min(diff_bytes_max),
        })
    };
    let threads = made.into_iter().map(|thread| Thread {
        sets: thread
            .sets
            .iter()
            .map(|set| set.iter().filter_map(run).collect())
            .collect(),
        steps: thread.steps,
    });
    Accesses {
        areas,
        threads: threads.collect(),
        ..like
    }
}
