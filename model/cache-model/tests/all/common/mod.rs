//! Nests written by hand, and what an exact simulation of them counts.

use fathomp_cache_model::{Cache, Nest, NestAccess, NestLoop, Pattern, Trips};
use fathomp_regions::Direction;

/// Adds a loop; returns its number.
pub(crate) fn add_loop(
    nest: &mut Nest,
    parent: Option<usize>,
    trips: f64,
    slopes: &[(usize, f64)],
) -> usize {
    let at = next(nest);
    nest.loops.push(NestLoop {
        parent,
        at,
        trips: Trips {
            constant: trips,
            slopes: slopes.to_vec(),
        },
    });
    nest.loops.len() - 1
}

/// Adds an access of 8 bytes.
pub(crate) fn add(
    nest: &mut Nest,
    (base, direction): (u32, Direction),
    inside: usize,
    start: f64,
    strides: &[(usize, f64)],
) {
    let at = next(nest);
    nest.accesses.push(NestAccess {
        at,
        inside: Some(inside),
        direction,
        bytes: 8.0,
        base,
        pattern: Pattern::Affine {
            start,
            strides: strides.to_vec(),
        },
        probability: 1.0,
        non_temporal: false,
    });
}

/// Program order is the order in which things are added.
fn next(nest: &Nest) -> u64 {
    (nest.loops.len() + nest.accesses.len()) as u64 * 4
}

/// A cache with exact replacement of the least recently used line.
struct Lru {
    sets: Vec<Vec<i64>>,
    ways: usize,
    line: i64,
}

impl Lru {
    fn new(cache: Cache) -> Self {
        let lines = (cache.bytes / u64::from(cache.line)) as usize;
        Self {
            sets: vec![Vec::new(); lines / cache.ways as usize],
            ways: cache.ways as usize,
            line: i64::from(cache.line),
        }
    }

    fn misses(&mut self, address: i64) -> bool {
        let line = address.div_euclid(self.line);
        let sets = self.sets.len() as i64;
        let set = &mut self.sets[line.rem_euclid(sets) as usize];
        let found = set.iter().position(|one| *one == line);
        if let Some(place) = found {
            set.remove(place);
        }
        set.push(line);
        if set.len() > self.ways {
            set.remove(0);
        }
        found.is_none()
    }
}

/// What a simulation counted of an access.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) executions: f64,
    /// For each cache.
    pub(crate) misses: Vec<f64>,
}

/// Runs a nest `times` times, of which the first is not counted if it is to warm up.
pub(crate) fn simulate(nest: &Nest, caches: &[Cache], times: u32, warm: bool) -> Vec<Counted> {
    let mut running = Running {
        nest,
        at: vec![0.0; nest.loops.len()],
        children: children(nest),
        caches: caches.iter().map(|cache| Lru::new(*cache)).collect(),
        counted: vec![
            Counted {
                executions: 0.0,
                misses: vec![0.0; caches.len()],
            };
            nest.accesses.len()
        ],
    };
    if warm {
        running.run(None);
        let empty = Counted {
            executions: 0.0,
            misses: vec![0.0; caches.len()],
        };
        running.counted = vec![empty; nest.accesses.len()];
    }
    for _ in 0..times {
        running.run(None);
    }
    running.counted
}

#[derive(Clone, Copy)]
enum Child {
    Loop(usize),
    Access(usize),
}

fn children(nest: &Nest) -> Vec<Vec<Child>> {
    let mut all: Vec<Vec<(u64, Child)>> = vec![Vec::new(); nest.loops.len() + 1];
    let place = |parent: Option<usize>| parent.map_or(0, |parent| parent + 1);
    for (index, one) in nest.loops.iter().enumerate() {
        all[place(one.parent)].push((one.at, Child::Loop(index)));
    }
    for (index, one) in nest.accesses.iter().enumerate() {
        all[place(one.inside)].push((one.at, Child::Access(index)));
    }
    all.into_iter()
        .map(|mut list| {
            list.sort_by_key(|(at, _)| *at);
            list.into_iter().map(|(_, child)| child).collect()
        })
        .collect()
}

struct Running<'a> {
    nest: &'a Nest,
    at: Vec<f64>,
    children: Vec<Vec<Child>>,
    caches: Vec<Lru>,
    counted: Vec<Counted>,
}

impl Running<'_> {
    fn run(&mut self, over: Option<usize>) {
        for number in 0..self.children[over.map_or(0, |over| over + 1)].len() {
            match self.children[over.map_or(0, |over| over + 1)][number] {
                Child::Loop(inner) => {
                    let trips = self.nest.loops[inner].trips.at(&self.at) as u64;
                    for iteration in 0..trips {
                        self.at[inner] = iteration as f64;
                        self.run(Some(inner));
                    }
                }
                Child::Access(access) => self.access(access),
            }
        }
    }

    fn access(&mut self, access: usize) {
        let one = &self.nest.accesses[access];
        let Pattern::Affine { start, strides } = &one.pattern else {
            return;
        };
        let moved = strides.iter().map(|(over, bytes)| self.at[*over] * bytes);
        // Arrays lie apart, each a few lines further than a power of two.
        let base = i64::from(one.base) * ((1 << 32) + 1088);
        let address = base + (start + moved.sum::<f64>()) as i64;
        self.counted[access].executions += 1.0;
        for (number, cache) in self.caches.iter_mut().enumerate() {
            if cache.misses(address) {
                self.counted[access].misses[number] += 1.0;
            }
        }
    }
}
