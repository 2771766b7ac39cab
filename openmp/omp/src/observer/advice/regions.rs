//! The regions that a thread has met, and their teams.

use super::asked::Asked;
use super::found;
use crate::icv::Icvs;
use crate::observer::trips;
use crate::observer::{Encounter, Watched};
use crate::team::Team;
use crate::worker::Worker;
use fathomp_sys::modules;
use fathomp_teams::{Choice, Why};

/// Regions of a thread; further ones get the whole team.
const REGIONS_MAX: usize = 1 << 14;

/// What one region is.
struct Entry {
    key: Key,
    found: found::Found,
    why: Why,
    executions: u64,
    /// Whether it asks how many threads it has.
    counts: bool,
    threads: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    function: usize,
    call: usize,
    all: u32,
}

/// All regions that a thread has met.
pub(crate) struct Regions {
    /// Open addressing: 1 + index of an entry, or 0.
    places: Vec<u32>,
    entries: Vec<Entry>,
    /// What was chosen for regions whose modules may be gone.
    past: Vec<Choice>,
    /// Of modules; addresses mean something else in another.
    generation: u32,
}

impl Key {
    fn hash(self) -> usize {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let size = u64::from(self.all) << 48;
        let hash =
            (self.function as u64 ^ (self.call as u64).rotate_left(20) ^ size).wrapping_mul(GOLDEN);
        (hash >> 32) as usize
    }
}

impl Regions {
    fn new() -> Self {
        Self {
            places: vec![0; 256],
            entries: Vec::new(),
            past: Vec::new(),
            generation: modules::generation(),
        }
    }

    #[inline]
    fn find(&self, key: Key) -> Option<usize> {
        let mask = self.places.len() - 1;
        let mut at = key.hash();
        loop {
            let index = (*self.places.get(at & mask)? as usize).checked_sub(1)?;
            if self.entries.get(index)?.key == key {
                return Some(index);
            }
            at += 1;
        }
    }

    fn choose(
        &mut self,
        advice: &'static Asked,
        key: Key,
        trips: Option<u64>,
        whole: impl Fn(&Entry) -> Option<Why>,
        size: &mut u32,
    ) -> Option<Watched> {
        let generation = modules::generation();
        if self.generation != generation {
            self.forget(generation);
        }
        let index = self.find(key).or_else(|| self.add(advice, key))?;
        let entry = self.entries.get_mut(index)?;
        entry.executions += 1;
        if let Some(why) = whole(entry) {
            entry.why = why;
            entry.threads = key.all;
            return None;
        }
        let advised = entry.found.advised?;
        entry.threads = advised.threads(trips).min(key.all);
        // The first execution shows what the region asks for.
        if entry.executions == 1 {
            return Some(Watched {
                index: index as u32,
                generation,
            });
        }
        *size = entry.threads;
        None
    }

    /// Modules were unloaded: all addresses may mean something else.
    #[cold]
    fn forget(&mut self, generation: u32) {
        self.past
            .extend(self.entries.drain(..).map(|entry| entry.choice()));
        self.places.fill(0);
        self.generation = generation;
    }

    #[cold]
    fn add(&mut self, advice: &'static Asked, key: Key) -> Option<usize> {
        if self.entries.len() >= REGIONS_MAX {
            return None;
        }
        let found = found::find(advice, key.function, key.call);
        self.entries.push(Entry {
            key,
            why: Why::Advice,
            found,
            executions: 0,
            counts: false,
            threads: key.all,
        });
        if self.entries.len() * 2 > self.places.len() {
            self.places = vec![0; self.places.len() * 2];
            (0..self.entries.len()).for_each(|index| self.place(index));
        } else {
            self.place(self.entries.len() - 1);
        }
        Some(self.entries.len() - 1)
    }

    fn place(&mut self, index: usize) {
        let Some(entry) = self.entries.get(index) else {
            return;
        };
        let mask = self.places.len() - 1;
        let start = entry.key.hash();
        let free = (start..)
            .map(|at| at & mask)
            .find(|&at| self.places.get(at) == Some(&0));
        if let Some(place) = free.and_then(|at| self.places.get_mut(at)) {
            *place = index as u32 + 1;
        }
    }

    /// What is chosen now.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let past = self.past.iter().cloned();
        past.chain(self.entries.iter().map(Entry::choice)).collect()
    }
}

impl Entry {
    fn choice(&self) -> Choice {
        Choice {
            why: self.why,
            all: self.key.all,
            threads: self.threads,
            executions: self.executions,
            function: self.found.function,
            call: self.found.call,
            module: self.found.module.clone(),
        }
    }

    /// The region may count on the whole team, unless the user says otherwise.
    fn whole(&self, icvs: &Icvs, asked: bool) -> Option<Why> {
        match () {
            () if icvs.dynamic => None,
            () if icvs.fixed => Some(Why::Program),
            () if self.found.thread_data => Some(Why::ThreadData),
            // Once is enough.
            () if self.counts => Some(Why::Counts),
            () if asked || self.why == Why::Asked => Some(Why::Asked),
            () => None,
        }
    }
}

/// The threads that a region gets which could have more. Call it on the thread that
/// encounters it, and [`ended`] with the answer when it is over.
pub(super) fn choose(advice: &'static Asked, encounter: &mut Encounter<'_>) -> Option<Watched> {
    let Encounter {
        fork,
        outer,
        icvs,
        size,
        ..
    } = encounter;
    if **size < 2 || fork.threads != 0 || outer.team().level() != 0 {
        return None;
    }
    let worker = outer.worker();
    let trips = match fork.preset {
        Some(preset) => Some(preset.0.iterations.count()),
        None => trips::total(fork.function, fork.data),
    };
    let key = Key {
        function: fork.function.address(),
        call: fork.call,
        all: **size,
    };
    let asked = worker.asked_for_most.get() != 0;
    if asked {
        worker.asked_for_most.set(0);
    }
    worker.regions.with(|regions| {
        let regions = regions.get_or_insert_with(|| Box::new(Regions::new()));
        regions.choose(advice, key, trips, |entry| entry.whole(icvs, asked), size)
    })
}

/// The region has ended.
pub(super) fn ended(worker: &Worker, watched: Watched, team: &'static Team) {
    worker.regions.with(|regions| {
        if let Some(regions) = regions
            && regions.generation == watched.generation
            && let Some(entry) = regions.entries.get_mut(watched.index as usize)
        {
            let mut members = (0..team.size()).map(|index| team.member(index));
            entry.counts |= members.any(|member| member.worker().counting.is_odd());
        }
    });
}
