//! The machine that advice is for: prices, and how its cores lie in packages.

use crate::advice::MachineNote;
use fathomp_predict::machine::{Bandwidth, Cache, ConstructCosts, Machine};

/// A machine to advise for.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Prices and caches.
    pub machine: Machine,
    /// Packages (sockets or NUMA nodes), at least 1.
    pub packages: u32,
    /// Cores in the order in which threads are pinned, by package; empty if packages are
    /// filled one after the other.
    order: Vec<u32>,
    /// Whether its prices were measured on it.
    pub measured: bool,
    /// What was assumed, in sentences.
    pub assumptions: Vec<String>,
}

/// Names of the machines that are described here.
pub const PUBLISHED: [&str; 2] = ["clovertown", "dunnington"];

impl Target {
    /// A machine that was measured, with its cores in so many packages.
    #[must_use]
    pub fn measured(machine: Machine, packages: u32) -> Self {
        let mut assumptions = Vec::new();
        let counts: Vec<u32> = machine.bandwidth.iter().map(|row| row.threads).collect();
        if counts.is_empty() {
            assumptions.push(
                "The bandwidth of memory is not known: what saturates it is a guess; `fathomp calibrate -o machine.json` measures it.".to_owned(),
            );
        } else if counts.last().is_some_and(|most| *most < machine.cores) {
            assumptions.push(format!(
                "Bandwidth was measured with up to {} threads; that of more is taken to be the same.",
                counts.last().copied().unwrap_or(1)
            ));
        }
        Self {
            name: match machine.cpu_model.is_empty() {
                true => machine.host.clone(),
                false => machine.cpu_model.clone(),
            },
            packages: packages.clamp(1, machine.cores.max(1)),
            order: Vec::new(),
            measured: !counts.is_empty(),
            assumptions,
            machine,
        }
    }

    /// A machine of the published evaluation of the static score, by its name.
    ///
    /// What was published of them is packages, cores, caches and the order of pinning.
    /// Their bandwidths and prices of constructs are assumed, and said to be.
    #[must_use]
    pub fn published(name: &str) -> Option<Self> {
        // Bytes per second of one core, of one package, and of all; processors of their
        // time reach memory by a bus for each package, and all busses end in one chip.
        let (packages, per_package, caches, bandwidth, order) = match name {
            "clovertown" => (
                2,
                4,
                vec![cache(1, 32 << 10, 1), cache(2, 4 << 20, 2)],
                [3.2e9, 4.6e9, 7.0e9],
                Vec::new(),
            ),
            "dunnington" => (
                4,
                6,
                vec![
                    cache(1, 32 << 10, 1),
                    cache(2, 3 << 20, 2),
                    cache(3, 16 << 20, 6),
                ],
                [2.4e9, 4.0e9, 11.0e9],
                // Numbers 12 to 23 are the second cores of pairs: two threads of the
                // published order after another lie in the same package.
                [0, 1, 2, 12, 13, 14, 3, 4, 5, 15, 16, 17]
                    .into_iter()
                    .chain([6, 7, 8, 18, 19, 20, 9, 10, 11, 21, 22, 23])
                    .map(|core: u32| (core % 12) / 3)
                    .collect(),
            ),
            _ => return None,
        };
        let mut machine = Machine::unmeasured(packages * per_package);
        name.clone_into(&mut machine.host);
        machine.caches = caches;
        let [one, package, all] = bandwidth;
        machine.bandwidth = vec![
            row(1, one),
            row(2, package.min(1.3 * one)),
            row(per_package, package),
            row(packages * per_package, all),
        ];
        machine.constructs = [1, 2, per_package, packages * per_package]
            .map(|threads| {
                let doublings = f64::from(threads).log2();
                ConstructCosts {
                    threads,
                    fork_join_ns: 300.0 + 1_000.0 * doublings,
                    barrier_ns: 50.0 + 500.0 * doublings,
                    dynamic_chunk_ns: 60.0 + 100.0 * doublings,
                    lock_ns: 80.0 + 150.0 * doublings,
                }
            })
            .to_vec();
        Some(Self {
            name: name.to_owned(),
            machine,
            packages,
            order,
            measured: false,
            assumptions: vec![format!(
                "Published of {name} are packages, cores, caches and the order of pinning; assumed are {:.1} GB/s of memory for one core, {:.1} for a package and {:.1} for all, and prices of constructs that are usual for its time.",
                one / 1e9,
                package / 1e9,
                all / 1e9
            )],
        })
    }

    /// The same machine with threads on only its first `packages` packages.
    #[must_use]
    pub fn limited(mut self, packages: u32) -> Self {
        let packages = packages.clamp(1, self.packages);
        let cores = self.cores_per_package() * packages;
        self.machine.cores = cores.clamp(1, self.machine.cores);
        self.packages = packages;
        self
    }

    /// Cores of the largest package.
    #[must_use]
    pub fn cores_per_package(&self) -> u32 {
        self.machine.cores.div_ceil(self.packages.max(1)).max(1)
    }

    /// Packages that so many threads are spread over.
    #[must_use]
    pub fn packages_of(&self, threads: u32) -> u32 {
        let used = self.order.iter().take(threads as usize);
        match self.order.is_empty() {
            true => threads.div_ceil(self.cores_per_package()),
            false => used
                .copied()
                .collect::<std::collections::BTreeSet<u32>>()
                .len() as u32,
        }
        .clamp(1, self.packages)
    }

    /// Numbers of threads worth asking about: every one up to 16, then ever fewer, and
    /// whole packages.
    #[must_use]
    pub fn candidates(&self) -> Vec<u32> {
        let cores = self.machine.cores.max(1);
        let mut counts: Vec<u32> = (1..=cores.min(16)).collect();
        let mut count = 16;
        while count < cores {
            counts.push(count);
            count += (count / 8).max(1);
        }
        counts.extend((1..=self.packages).map(|n| n * self.cores_per_package()));
        counts.push(cores);
        counts.retain(|count| *count <= cores);
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Bytes of the caches nearest to memory that so many threads have together.
    #[must_use]
    pub fn last_caches_bytes(&self, threads: u32) -> f64 {
        self.machine.caches.last().map_or(0.0, |cache| {
            let sharing = cache.shared_by.max(1);
            cache.bytes as f64 * f64::from(threads.div_ceil(sharing).max(1))
        })
    }

    /// What advice says of it.
    #[must_use]
    pub fn note(&self) -> MachineNote {
        MachineNote {
            name: self.name.clone(),
            cores: self.machine.cores,
            packages: self.packages,
            measured: self.measured,
        }
    }
}

fn cache(level: u32, bytes: u64, shared_by: u32) -> Cache {
    Cache {
        level,
        bytes,
        line_bytes: 64,
        shared_by,
    }
}

fn row(threads: u32, bytes_per_s: f64) -> Bandwidth {
    Bandwidth {
        threads,
        bytes_per_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_machines_have_the_published_shape() {
        let clovertown = Target::published("clovertown").unwrap();
        assert_eq!((clovertown.machine.cores, clovertown.packages), (8, 2));
        assert_eq!(clovertown.packages_of(4), 1);
        assert_eq!(clovertown.packages_of(5), 2);
        let dunnington = Target::published("dunnington").unwrap();
        assert_eq!((dunnington.machine.cores, dunnington.packages), (24, 4));
        // The published order fills a package with six before the next.
        for (threads, packages) in [(1, 1), (6, 1), (7, 2), (12, 2), (13, 3), (24, 4)] {
            assert_eq!(dunnington.packages_of(threads), packages, "{threads}");
        }
        for name in PUBLISHED {
            let target = Target::published(name).unwrap();
            target.machine.check().unwrap();
            assert!(!target.measured && !target.assumptions.is_empty());
        }
        assert!(Target::published("cray-1").is_none());
    }

    #[test]
    fn candidates_hold_one_all_and_whole_packages() {
        let target = Target::measured(Machine::unmeasured(96), 4);
        let counts = target.candidates();
        assert!([1, 2, 24, 48, 72, 96].iter().all(|n| counts.contains(n)));
        assert!(counts.is_sorted() && counts.len() < 60);
        assert_eq!(target.limited(2).machine.cores, 48);
    }
}
