//! Where threads of a region were when a run was looked at now and then: in which functions
//! of other modules, called from which lines of the region's own.
//!
//! A recording knows nothing of what happens in libraries. Where computing takes longer with
//! more threads, a few hundred looks tell whether it does so there.

use crate::facts::{Analysis, Region};
use crate::symbols::{Symbols, readable};
use fathomp_cfg::{Decoded, Image, Target, decode};
use fathomp_trace::model::SiteKind;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Functions of libraries that are kept of each place, most frequent ones.
const WITHIN: usize = 8;
/// Places that are kept of each region.
const SPOTS: usize = 50;
/// Larger files are not read for the names of what they call.
const LARGEST_BYTES: u64 = 64 << 20;
/// Lengths of calls: of a function by its address, and by a place that holds it.
const CALLS: [u64; 2] = [5, 6];
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
        entries: Vec::new(),
        images: Vec::new(),
        found: Vec::new(),
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

/// Of one region.
#[derive(Default)]
struct Found {
    own: u64,
    runtime: u64,
    /// With the names that go within, and how often.
    spots: Vec<(Spot, Vec<(String, u64)>)>,
}

impl Found {
    fn finish(self, region: String) -> RegionSamples {
        let most = |mut names: Vec<(String, u64)>| {
            names.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            names.truncate(WITHIN);
            names.into_iter().map(|(name, _)| name).collect()
        };
        let mut outside: Vec<_> = self
            .spots
            .into_iter()
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
    entries: Vec<(Arc<Path>, u64, Option<usize>)>,
    images: Vec<(Arc<Path>, Option<Image>)>,
    found: Vec<(usize, Found)>,
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
            let mut callers = stack[at..].iter().skip(1);
            let caller = callers.find(|step| !(self.is_runtime)(&step.module));
            let call = caller.filter(|caller| caller.module == step.module);
            let call = call.map_or(0, |caller| caller.address + 1);
            let known = self.entry(&step.module, function);
            if let Some(index) = known
                && (self.entries[index].2.is_some() || call == 0)
            {
                continue;
            }
            let region = self.region(&step.module, call, function);
            match known {
                Some(index) => self.entries[index].2 = region,
                None => self
                    .entries
                    .push((Arc::clone(&step.module), function, region)),
            }
        }
    }

    fn entry(&self, module: &Path, function: u64) -> Option<usize> {
        let mut known = self.entries.iter();
        known.position(|(path, begin, _)| *begin == function && **path == *module)
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
            let known = self.entry(&step.module, step.function?);
            if let Some(region) = known.and_then(|index| self.entries[index].2) {
                return Some((region, at));
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
        let known = self.found.iter().position(|(index, _)| *index == region);
        let known = known.unwrap_or_else(|| {
            self.found.push((region, Found::default()));
            self.found.len() - 1
        });
        let found = &mut self.found[known].1;
        let Some((spot, names)) = spot else {
            match runtime {
                true => found.runtime += 1,
                false => found.own += 1,
            }
            return;
        };
        let same = |(known, _): &(Spot, _)| {
            let key = |spot: &Spot| {
                (
                    spot.called_at.clone(),
                    spot.function.clone(),
                    spot.library.clone(),
                )
            };
            key(known) == key(&spot)
        };
        let known = found.spots.iter().position(same).unwrap_or_else(|| {
            found.spots.push((spot, Vec::new()));
            found.spots.len() - 1
        });
        let (spot, within) = &mut found.spots[known];
        spot.times += 1;
        spot.asleep += u64::from(look.asleep);
        spot.in_kernel += u64::from(look.in_kernel);
        for name in names {
            match within.iter_mut().find(|(known, _)| *known == name) {
                Some((_, times)) => *times += 1,
                None => within.push((name, 1)),
            }
        }
    }

    /// The function of another module that is called in `module` before `behind`: what it
    /// jumps to in its end is on the stack in its place.
    fn called(&mut self, module: &Arc<Path>, behind: u64) -> Option<String> {
        let known = self.images.iter().position(|(path, _)| path == module);
        let known = known.unwrap_or_else(|| {
            let small = module
                .metadata()
                .is_ok_and(|file| file.len() <= LARGEST_BYTES);
            let image = small.then(|| Image::read(module).ok()).flatten();
            self.images.push((Arc::clone(module), image));
            self.images.len() - 1
        });
        let image = self.images[known].1.as_ref()?;
        CALLS.iter().find_map(|length| {
            let begin = behind.checked_sub(*length)?;
            let mut target = None;
            decode(image.bytes(begin, *length)?, begin, |decoded, _| {
                if let Decoded::Instruction(instruction) = decoded
                    && instruction.ip() == begin
                    && instruction.next_ip() == behind
                {
                    target = image.target(instruction);
                }
            });
            match target? {
                Target::Import(name) => Some(readable(&name)),
                _ => None,
            }
        })
    }

    /// The function that the region's module called at `own`, and the names of those that
    /// this one called.
    fn spot(&mut self, stack: &[Step], own: usize) -> (Spot, Vec<String>) {
        let mut name = |step: &Step| {
            let places = self.symbols.places(&step.module, step.address);
            places.into_iter().next_back()?.function
        };
        let mut names: Vec<String> = stack[..own].iter().filter_map(&mut name).collect();
        let entry = name(&stack[own - 1]);
        names.sort();
        names.dedup();
        let caller = &stack[own];
        let name_of_entry = entry.clone();
        let function = self.called(&caller.module, caller.address + 1).or(entry);
        // What it jumps to in its end is on the stack in its place, and may be another module's.
        let jumped = function != name_of_entry;
        names.retain(|name| Some(name) != function.as_ref());
        let mut places = self.symbols.places(&caller.module, caller.address);
        let users = places.iter().position(|place| {
            let file = place.file.as_deref();
            file.is_some_and(|file| !file.starts_with(SYSTEM))
        });
        let place = places.swap_remove(users.unwrap_or(0));
        let library = stack[own - 1].module.file_name();
        let spot = Spot {
            function,
            library: library
                .filter(|_| !jumped)
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            called_at: place.short,
            ..Spot::default()
        };
        (spot, names)
    }
}
