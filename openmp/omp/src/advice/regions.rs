//! The regions that a thread has met, and their teams.

use super::asked::Advice;
use super::found;
use crate::encounter::Timed;
use crate::icv::Icvs;
use crate::parallel::Fork;
use crate::team::{Member, Team};
use crate::trips;
use crate::worker::Worker;
use fathomp_adapt::{Account, Choice, Region, Why};
use fathomp_sys::modules;
use fathomp_trace::now;

/// Regions of a thread, told apart by size; further ones get the whole team.
const MOST: usize = 1 << 14;

/// Executions that are looked at for what they ask.
const LOOKED: u64 = 8;
/// Ticks.
const LOOKING_MOST: u64 = 30_000;

/// What one region is, for one size of its work.
struct Entry {
    key: Key,
    found: found::Found,
    why: Why,
    executions: u64,
    /// Whether it asks how many threads it has.
    counts: bool,
    region: Option<Region>,
    threads: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    function: usize,
    call: usize,
    all: u32,
    /// 1 + binary logarithm of the trips; 0 if they are not known.
    class: u32,
}

/// All regions that a thread has met.
pub(crate) struct Regions {
    /// Open addressing: 1 + index of an entry, or 0.
    places: Vec<u32>,
    entries: Vec<Entry>,
    /// What was chosen for regions whose modules may be gone.
    past: Vec<Choice>,
    account: Account,
    /// Of modules; addresses mean something else in another.
    generation: u32,
}

impl Key {
    fn hash(self) -> usize {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let sizes = u64::from(self.all) << 8 ^ u64::from(self.class);
        let hash = (self.function as u64 ^ (self.call as u64).rotate_left(20) ^ sizes << 40)
            .wrapping_mul(GOLDEN);
        (hash >> 32) as usize
    }
}

impl Regions {
    fn new(advice: &Advice) -> Self {
        Self {
            places: vec![0; 256],
            entries: Vec::new(),
            past: Vec::new(),
            account: Account::new(advice.began.ticks.0),
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
        advice: &'static Advice,
        key: Key,
        trips: Option<u64>,
        whole: impl Fn(&Entry) -> Option<Why>,
        size: &mut u32,
    ) -> Option<Timed> {
        let generation = modules::generation();
        if self.generation != generation {
            self.forget(generation);
        }
        let index = self.find(key).or_else(|| self.add(advice, key, trips))?;
        let entry = self.entries.get_mut(index)?;
        entry.executions += 1;
        if let Some(why) = whole(entry) {
            entry.why = why;
            entry.threads = key.all;
            return None;
        }
        let Some(region) = &mut entry.region else {
            let advised = entry.found.advised?;
            entry.threads = advised.threads(trips).min(key.all);
            // The first execution shows what the region asks for.
            if entry.executions == 1 {
                return Some(Timed {
                    index: index as u32,
                    generation,
                    began: 0,
                });
            }
            *size = entry.threads;
            return None;
        };
        if let Some(threads) = region.unwatched() {
            *size = threads.min(key.all);
            return None;
        }
        let began = now().0;
        *size = region.choose(began, &self.account).min(key.all);
        Some(Timed {
            index: index as u32,
            generation,
            began,
        })
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
    fn add(&mut self, advice: &'static Advice, key: Key, trips: Option<u64>) -> Option<usize> {
        if self.entries.len() >= MOST {
            return None;
        }
        let found = found::find(advice, key.function, key.call);
        let advised = found
            .advised
            .map_or(key.all, |advised| advised.threads(trips));
        let region = advice.adapt.then(|| {
            let seed = key.hash() as u32;
            Region::new(key.all, advised.min(key.all), seed)
        });
        self.entries.push(Entry {
            key,
            why: if advice.adapt {
                Why::Trial
            } else {
                Why::Advice
            },
            found,
            executions: 0,
            counts: false,
            region,
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

    /// Time lost by trying, in ticks.
    pub(super) fn lost(&self) -> f64 {
        self.account.lost()
    }

    /// What is chosen now.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let past = self.past.iter().cloned();
        past.chain(self.entries.iter().map(Entry::choice)).collect()
    }
}

impl Entry {
    fn choice(&self) -> Choice {
        let region = self.region.as_ref().filter(|_| self.why == Why::Trial);
        let [trials, changes] = region.map_or([0; 2], Region::trials);
        Choice {
            why: self.why,
            all: self.key.all,
            threads: region.map_or(self.threads, Region::threads),
            executions: self.executions,
            trials,
            changes,
            class: self.key.class.checked_sub(1).map(|class| class as u8),
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

/// See [`super::choose`].
#[inline(never)]
pub(super) fn choose(
    advice: &'static Advice,
    outer: &Member,
    icvs: &Icvs,
    fork: &Fork,
    size: &mut u32,
) -> Option<Timed> {
    if *size < 2 || fork.threads != 0 || outer.team().level() != 0 {
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
        all: *size,
        // Advice has steps of its own.
        class: match trips {
            Some(trips) if advice.adapt => trips.checked_ilog2().map_or(1, |log| log + 2),
            _ => 0,
        },
    };
    let asked = worker.asked_for_most.get() != 0;
    if asked {
        worker.asked_for_most.set(0);
    }
    worker.regions.with(|regions| {
        let regions = regions.get_or_insert_with(|| Box::new(Regions::new(advice)));
        regions.choose(advice, key, trips, |entry| entry.whole(icvs, asked), size)
    })
}

/// See [`super::ended`].
#[inline(never)]
pub(super) fn ended(worker: &Worker, timed: Timed, team: &'static Team) {
    let threads = team.size();
    let end = now().0;
    let time = end.saturating_sub(timed.began);
    worker.regions.with(|regions| {
        if let Some(regions) = regions
            && regions.generation == timed.generation
            && let Some(entry) = regions.entries.get_mut(timed.index as usize)
        {
            if entry.executions <= LOOKED {
                let mut members = (0..threads).map(|index| team.member(index));
                entry.counts |= members.any(|member| member.worker().counting.is_odd());
            }
            let Some(region) = &mut entry.region else {
                return;
            };
            let trying = region.is_trying();
            region.ended(threads, time, &mut regions.account);
            if trying {
                // Looking at what was tried takes time, too; if it takes more than some ten
                // microseconds, the thread was interrupted.
                let looking = now().0.saturating_sub(end);
                regions.account.charge(looking.min(LOOKING_MOST) as f64);
            }
        }
    });
}
