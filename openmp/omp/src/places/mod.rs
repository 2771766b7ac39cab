//! Places: where threads may run, and which thread runs where.
//!
//! * [`Topology`]: the machine, read from sysfs.
//! * [`Places`]: the place list of the process.
//! * [`TeamBinding`]: how a team is dealt over a partition of that list.

mod binding;
pub mod display;
mod seating;
mod topology;

pub use binding::{Assignment, Partition, TeamBinding};
pub(crate) use seating::{Spot, bind_team, move_to_place, wanted};
pub use seating::{assignment_of, places};
pub use topology::Topology;

use crate::env::{PlaceKind, PlacesSpec, Settings, Warning};
use crate::icv::ProcBind;
use fathomp_sys::affinity::{self, CpuSet};
use std::fmt::{self, Write as _};
use std::io;

/// One place: processors a thread may run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    cpus: Vec<u32>,
    mask: CpuSet,
}

impl Place {
    fn new(cpus: Vec<u32>) -> Self {
        Self {
            mask: cpus.iter().copied().collect(),
            cpus,
        }
    }

    /// Its processors, in increasing order.
    #[must_use]
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }
}

/// `place-partition-var` of the initial thread, together with the processors
/// the process was allowed to use when it started. The list is empty if
/// threads are not bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    list: Vec<Place>,
    allowed: CpuSet,
}

impl Places {
    /// The place list `settings` ask for on this machine.
    #[must_use]
    pub fn of_this_machine(settings: &Settings) -> (Self, Vec<Warning>) {
        let allowed = crate::runtime::allowed().clone();
        // Most programs are not bound: spare them the walk through sysfs.
        if settings.proc_bind.first() == Some(&ProcBind::False)
            && settings.places.is_none()
            && settings.subset.is_none()
        {
            let list = Vec::new();
            return (Self { list, allowed }, Vec::new());
        }
        let topology = Topology::of_this_machine(&allowed);
        Self::resolve(settings, &topology, allowed)
    }

    /// The place list `settings` ask for, of processors in `allowed`.
    #[must_use]
    pub fn resolve(
        settings: &Settings,
        topology: &Topology,
        allowed: CpuSet,
    ) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let unbound = settings.proc_bind.first() == Some(&ProcBind::False);
        let part = settings
            .subset
            .as_ref()
            .map(|layers| topology.subset(layers));
        let (part, allowed) = match part {
            None => (None, allowed),
            Some(Some(part)) => {
                let cpus = part.cpus();
                (Some(part), cpus)
            }
            Some(None) => {
                warnings.push(too_large_subset(settings));
                (None, allowed)
            }
        };
        let in_part = part.is_some();
        let topology = part.as_ref().unwrap_or(topology);
        let list = match &settings.places {
            // Threads may move, within the part.
            None if unbound && in_part => vec![allowed.iter().collect()],
            None if unbound => Vec::new(),
            None => topology.groups(PlaceKind::Threads),
            Some(PlacesSpec::Abstract(kind, count)) => {
                let mut groups = topology.groups(*kind);
                groups.truncate(count.map_or(usize::MAX, |count| count as usize));
                groups
            }
            Some(PlacesSpec::Explicit(list)) => {
                let available: Vec<Vec<u32>> = list
                    .iter()
                    .map(|place| {
                        let cpus = place.iter().copied();
                        cpus.filter(|&cpu| allowed.contains(cpu)).collect()
                    })
                    .collect();
                if available != *list {
                    warnings.push(missing_processors(settings, list, &available));
                }
                available.into_iter().filter(|p| !p.is_empty()).collect()
            }
        };
        let list = list.into_iter().map(Place::new).collect();
        (Self { list, allowed }, warnings)
    }

    /// Number of places; 0 if threads are not bound.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.list.len() as u32
    }

    /// Whether there are none, hence no thread is bound.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The place with that number.
    #[must_use]
    pub fn get(&self, place: u32) -> Option<&Place> {
        self.list.get(place as usize)
    }

    /// Processors the process was allowed to use when it started.
    #[must_use]
    pub fn allowed(&self) -> &CpuSet {
        &self.allowed
    }

    /// Where an initial thread starts out: on the first place, with the whole
    /// list as its partition. `None` if there are no places.
    #[must_use]
    pub fn initial(&self) -> Option<Assignment> {
        (!self.is_empty()).then(|| Assignment {
            place: 0,
            partition: Partition {
                first: 0,
                len: self.len(),
            },
        })
    }

    /// Binds the calling thread to a place. If all of its processors have been taken from the
    /// program since it started (cgroups, processors that go offline), the thread runs on all that
    /// the program has left: it may have begun on another thread's place.
    ///
    /// # Errors
    /// There is no such place, or the kernel refuses both.
    pub fn bind_this_thread(&self, place: u32) -> io::Result<()> {
        let place = self
            .get(place)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        affinity::bind_this_thread(&place.mask)
            .or_else(|_| affinity::bind_this_thread(&self.allowed))
    }

    /// Processors available to the calling thread, for `omp_get_num_procs`.
    /// Once threads are bound the own mask says too little; then it is what
    /// the process started with.
    #[must_use]
    pub fn num_procs(&self) -> u32 {
        if self.is_empty() || self.allowed.is_empty() {
            affinity::allowed_count()
        } else {
            self.allowed.len() as u32
        }
    }
}

/// The list as `OMP_PLACES` would spell it.
impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, place) in self.list.iter().enumerate() {
            if number > 0 {
                f.write_char(',')?;
            }
            write!(
                f,
                "{{{}}}",
                ranges(place.cpus.iter().copied(), Ranges::Interval)
            )?;
        }
        Ok(())
    }
}

/// How runs of consecutive numbers are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranges {
    /// `4:3` for 4, 5, 6, as in `OMP_PLACES`.
    Interval,
    /// `4-6` for 4, 5, 6, as `%A` of an affinity format asks for.
    Dash,
    /// The same, but `4,5` for two, as LLVM's library has it.
    DashOfMore,
}

/// Increasing numbers, separated by commas, runs shortened.
pub(crate) fn ranges(numbers: impl Iterator<Item = u32>, style: Ranges) -> String {
    let mut text = String::new();
    let mut numbers = numbers.peekable();
    while let Some(first) = numbers.next() {
        let mut last = first;
        while let Some(next) = numbers.next_if(|&next| next == last + 1) {
            last = next;
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&match style {
            _ if first == last => first.to_string(),
            Ranges::DashOfMore if last == first + 1 => format!("{first},{last}"),
            Ranges::DashOfMore => format!("{first}-{last}"),
            Ranges::Interval => format!("{first}:{}", last - first + 1),
            Ranges::Dash => format!("{first}-{last}"),
        });
    }
    text
}

/// The warning that the machine does not have what `KMP_HW_SUBSET` asks for.
fn too_large_subset(settings: &Settings) -> Warning {
    Warning {
        variable: "KMP_HW_SUBSET",
        value: settings.subset_from.clone(),
        problem: "asks for more than any part of the machine has".to_owned(),
        instead: "using all processors".to_owned(),
    }
}

/// The warning that the user's list names processors we may not use.
fn missing_processors(settings: &Settings, wanted: &[Vec<u32>], available: &[Vec<u32>]) -> Warning {
    let missing: CpuSet = wanted
        .iter()
        .zip(available)
        .flat_map(|(wanted, available)| wanted.iter().filter(|cpu| !available.contains(cpu)))
        .copied()
        .collect();
    let left = available.iter().any(|place| !place.is_empty());
    let (variable, value) = settings.places_from.clone();
    Warning {
        variable,
        value,
        problem: format!(
            "names processors this program may not use ({})",
            ranges(missing.iter(), Ranges::Dash)
        ),
        instead: if left {
            "using the others".to_owned()
        } else {
            "threads are not bound".to_owned()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::topology::tests::two_by_two_by_two;
    use super::*;

    fn resolve(variables: &[(&str, &str)]) -> (String, Vec<String>) {
        let (settings, _) = Settings::from_env(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        let (places, warnings) = Places::resolve(&settings, &two_by_two_by_two(), (0..8).collect());
        (
            places.to_string(),
            warnings.iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn names_and_counts() {
        let list = |value| resolve(&[("OMP_PLACES", value)]).0;
        assert_eq!(list("sockets"), "{0:2,4:2},{2:2,6:2}");
        assert_eq!(list("cores(3)"), "{0,4},{1,5},{2,6}");
        assert_eq!(list("cores(99)"), "{0,4},{1,5},{2,6},{3,7}");
        assert_eq!(list("threads(2)"), "{0},{4}");
        assert_eq!(list("{0:4}:2:4"), "{0:4},{4:4}");
    }

    #[test]
    fn a_part_of_the_machine_is_used() {
        let part = ("KMP_HW_SUBSET", "1s,1t");
        assert_eq!(resolve(&[part]).0, "{0:2}");
        assert_eq!(resolve(&[part, ("OMP_PLACES", "cores")]).0, "{0},{1}");
        let (list, warnings) = resolve(&[("KMP_HW_SUBSET", "3s"), ("OMP_PLACES", "sockets(1)")]);
        assert_eq!(list, "{0:2,4:2}");
        assert_eq!(
            warnings,
            [
                "KMP_HW_SUBSET=\"3s\" asks for more than any part of the machine has; using all processors."
            ]
        );
    }

    #[test]
    fn binding_without_places_uses_hardware_threads() {
        assert_eq!(
            resolve(&[("OMP_PROC_BIND", "close")]).0,
            "{0},{4},{1},{5},{2},{6},{3},{7}"
        );
        assert_eq!(resolve(&[]).0, "");
    }

    #[test]
    fn a_thread_whose_place_is_gone_runs_on_what_is_left() {
        let outcome = std::thread::spawn(|| {
            let allowed = affinity::of_this_thread()?;
            let first = allowed.iter().next().unwrap_or(0);
            let list = [first, 60_000].map(|cpu| Place::new(vec![cpu])).to_vec();
            let places = Places {
                list,
                allowed: allowed.clone(),
            };
            places.bind_this_thread(0)?;
            assert_eq!(affinity::of_this_thread()?.len(), 1);
            places.bind_this_thread(1)?;
            assert_eq!(affinity::of_this_thread()?, allowed);
            io::Result::Ok(())
        })
        .join();
        assert!(outcome.is_ok_and(|inner| inner.is_ok()));
    }

    #[test]
    fn processors_that_are_not_ours_are_dropped_with_a_warning() {
        let (list, warnings) = resolve(&[("OMP_PLACES", "{6:4},{100}")]);
        assert_eq!(list, "{6:2}");
        assert_eq!(
            warnings,
            [
                "OMP_PLACES=\"{6:4},{100}\" names processors this program may not use \
              (8-9,100); using the others."
            ]
        );
        let (list, warnings) = resolve(&[("OMP_PLACES", "{100}")]);
        assert_eq!((&*list, warnings.len()), ("", 1));
    }
}
