//! Where threads of a region were when a run was looked at now and then: in which functions
//! of other modules, called from which lines of the region's own.
//!
//! A recording knows nothing of what happens in libraries. Where computing takes longer with
//! more threads, a few hundred looks tell whether it does so there.

use crate::facts::{Analysis, Region};
use crate::symbols::Symbols;
use fathomp_trace::model::SiteKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Functions of libraries that are kept of each place, most frequent ones.
const WITHIN: usize = 8;
/// Places that are kept of each region.
const SPOTS: usize = 50;
/// Files of the system's own; a program's templates come from there, too.
const SYSTEM: &str = "/usr/";

/// One function on a thread's stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Its file.
    pub module: Arc<Path>,
    /// Where it is, in that file's addresses; of a caller, inside of its call.
    pub address: u64,
    /// Where it begins, if that is known.
    pub function: Option<u64>,
}

/// What one look at a thread saw.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Functions, the innermost first.
    pub stack: Vec<Step>,
    /// It slept until a lock or the like is free.
    pub asleep: bool,
    /// It was in another system call.
    pub in_kernel: bool,
}

/// Where threads were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Threads that the run was given.
    pub threads: u32,
    /// Of each region that any was in.
    pub regions: Vec<RegionSamples>,
}

impl Samples {
    /// Of a region.
    #[must_use]
    pub fn of(&self, key: &str) -> Option<&RegionSamples> {
        self.regions.iter().find(|one| one.region == key)
    }
}

/// Where threads in a region were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegionSamples {
    /// Its key.
    pub region: String,
    /// Times in code of the region's module.
    pub own: u64,
    /// Times in the OpenMP runtime: waiting there, mostly.
    pub runtime: u64,
    /// Functions of other modules, most frequent first.
    pub outside: Vec<Spot>,
}

impl RegionSamples {
    /// Times at work or waiting outside of OpenMP.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.own + self.outside.iter().map(|spot| spot.times).sum::<u64>()
    }
}

/// A function of another module, called at one place of the region's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spot {
    /// Its name; none if it has no symbol.
    pub function: Option<String>,
    /// Functions that it calls, most frequent first.
    pub within: Vec<String>,
    /// Last part of its module's path.
    pub library: String,
    /// "solver.c:12", where it is called.
    pub called_at: String,
    /// Times that a thread was there.
    pub times: u64,
    /// Of them asleep until a lock or the like was free.
    pub asleep: u64,
    /// Of them in other system calls.
    pub in_kernel: u64,
}

/// Divides looks among the regions of `analysis`, a recording of the same program.
/// `is_runtime` knows OpenMP runtimes by their file.
#[must_use]
pub fn samples(
    looks: &[Look],
    analysis: &Analysis,
    threads: u32,
    is_runtime: &dyn Fn(&Path) -> bool,
) -> Samples {
    let mut tally = Tally {
        regions: &analysis.regions,
        is_runtime,
        symbols: Symbols::new(),
        entries: BTreeMap::new(),
        found: BTreeMap::new(),
    };
    // The thread that begins a region shows its call as well, which may be all that is
    // known of it.
    for look in looks {
        tally.learn(&look.stack);
    }
    for look in looks {
        tally.add(look);
    }
    let mut regions: Vec<_> = std::mem::take(&mut tally.found)
        .into_iter()
        .map(|(index, found)| found.finish(tally.regions[index].key.clone()))
        .collect();
    regions.sort_by_key(|one| std::cmp::Reverse(one.all()));
    Samples { threads, regions }
}

#[derive(Default)]
struct Found {
    own: u64,
    runtime: u64,
    spots: BTreeMap<(String, Option<String>, String), (Spot, BTreeMap<String, u64>)>,
}

impl Found {
    fn finish(self, region: String) -> RegionSamples {
        let most = |names: BTreeMap<String, u64>| {
            let mut names: Vec<_> = names.into_iter().collect();
            names.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            names.truncate(WITHIN);
            names.into_iter().map(|(name, _)| name).collect()
        };
        let mut outside: Vec<_> = self
            .spots
            .into_values()
            .map(|(spot, names)| Spot {
                within: most(names),
                ..spot
            })
            .collect();
        outside.sort_by_key(|spot| std::cmp::Reverse(spot.times));
        outside.truncate(SPOTS);
        RegionSamples {
            region,
            own: self.own,
            runtime: self.runtime,
            outside,
        }
    }
}

struct Tally<'a> {
    regions: &'a [Region],
    is_runtime: &'a dyn Fn(&Path) -> bool,
    symbols: Symbols,
    /// Regions by module and begin of their outlined function.
    entries: BTreeMap<(PathBuf, u64), Option<usize>>,
    found: BTreeMap<usize, Found>,
}

impl Tally<'_> {
    /// Functions that the runtime called: where in the stack they are.
    fn begun(&self, stack: &[Step]) -> Vec<usize> {
        let runtime: Vec<bool> = stack
            .iter()
            .map(|step| (self.is_runtime)(&step.module))
            .collect();
        (0..stack.len().saturating_sub(1))
            .filter(|&at| !runtime[at] && runtime[at + 1])
            .collect()
    }

    fn learn(&mut self, stack: &[Step]) {
        for at in self.begun(stack) {
            let step = &stack[at];
            let Some(function) = step.function else {
                continue;
            };
            let caller = stack[at..].iter().skip(1);
            let caller = caller
                .filter(|step| !(self.is_runtime)(&step.module))
                .next();
            let call = caller.filter(|caller| caller.module == step.module);
            let call = call.map_or(0, |caller| caller.address + 1);
            let key = (step.module.to_path_buf(), function);
            if self.entries.get(&key).is_some_and(Option::is_some) {
                continue;
            }
            let region = self.region(&step.module, call, function);
            self.entries.insert(key, region);
        }
    }

    fn region(&mut self, module: &Path, call: u64, function: u64) -> Option<usize> {
        let place = self.symbols.place(module, call, function);
        self.regions.iter().position(|region| {
            let known = &region.place;
            let same_line =
                place.line.is_some() && (&known.file, known.line) == (&place.file, place.line);
            let same_address = [call, function].contains(&known.address) && known.address != 0;
            region.kind != SiteKind::Serial
                && Path::new(&known.module).file_name() == module.file_name()
                && (same_line || same_address)
        })
    }

    /// The innermost region on a stack, and where its function is.
    fn inside(&self, stack: &[Step]) -> Option<(usize, usize)> {
        let begun = self.begun(stack);
        for &at in &begun {
            let step = &stack[at];
            let key = (step.module.to_path_buf(), step.function?);
            if let Some(Some(region)) = self.entries.get(&key) {
                return Some((*region, at));
            }
        }
        // A task, for example, of the only region there is.
        let mut outermost = (0..self.regions.len()).filter(|&one| self.regions[one].level == 1);
        let only = outermost.next().filter(|_| outermost.next().is_none())?;
        Some((only, *begun.first()?))
    }

    fn add(&mut self, look: &Look) {
        let Some((region, at)) = self.inside(&look.stack) else {
            return;
        };
        let inner = &look.stack[..at];
        let runtime = inner.iter().any(|step| (self.is_runtime)(&step.module));
        let module = &look.stack[at].module;
        let own = look.stack[..=at]
            .iter()
            .position(|step| step.module == *module);
        let own = own.unwrap_or(at);
        let spot = (own > 0 && !runtime).then(|| self.spot(&look.stack, own));
        let found = self.found.entry(region).or_default();
        let Some((mut spot, names)) = spot else {
            match runtime {
                true => found.runtime += 1,
                false => found.own += 1,
            }
            return;
        };
        let key = (
            spot.library.clone(),
            spot.function.clone(),
            spot.called_at.clone(),
        );
        let (known, within) = found.spots.entry(key).or_insert_with(|| {
            spot.times = 0;
            (spot, BTreeMap::new())
        });
        known.times += 1;
        known.asleep += u64::from(look.asleep);
        known.in_kernel += u64::from(look.in_kernel);
        for name in names {
            *within.entry(name).or_default() += 1;
        }
    }

    /// The function that the region's module called at `own`, and the names of those that
    /// this one called.
    fn spot(&mut self, stack: &[Step], own: usize) -> (Spot, Vec<String>) {
        let mut name = |step: &Step| {
            let places = self.symbols.places(&step.module, step.address);
            places.into_iter().next_back()?.function
        };
        let function = name(&stack[own - 1]);
        let mut names: Vec<String> = stack[..own - 1].iter().filter_map(&mut name).collect();
        names.sort();
        names.dedup();
        let caller = &stack[own];
        let mut places = self.symbols.places(&caller.module, caller.address);
        let users = places.iter().position(|place| {
            let file = place.file.as_deref();
            file.is_some_and(|file| !file.starts_with(SYSTEM))
        });
        let place = places.swap_remove(users.unwrap_or(0));
        let library = stack[own - 1].module.file_name();
        let spot = Spot {
            function,
            library: library.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            called_at: place.short,
            ..Spot::default()
        };
        (spot, names)
    }
}
