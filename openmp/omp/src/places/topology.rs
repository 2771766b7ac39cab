//! How the machine's processors hang together, from sysfs.

use crate::env::{Layer, PlaceKind};
use fathomp_sys::affinity::CpuSet;
use std::fs;
use std::path::Path;

/// Where one processor sits. Members of the same group have the same number;
/// the number is that of the group's first processor, so that numbers of
/// different kinds of groups sort alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    cpu: u32,
    core: u32,
    ll_cache: u32,
    numa: u32,
    socket: u32,
}

impl Seat {
    /// Of the part of that kind in which it is.
    fn number(&self, kind: PlaceKind) -> u32 {
        match kind {
            PlaceKind::Threads => self.cpu,
            PlaceKind::Cores => self.core,
            PlaceKind::LlCaches => self.ll_cache,
            PlaceKind::NumaDomains => self.numa,
            PlaceKind::Sockets => self.socket,
        }
    }
}

/// The processors a program may use, and what they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    seats: Vec<Seat>,
}

impl Topology {
    /// The topology of this machine, restricted to `allowed`.
    #[must_use]
    pub fn of_this_machine(allowed: &CpuSet) -> Self {
        Self::read(Path::new("/sys/devices/system"), allowed)
    }

    /// Like [`Topology::of_this_machine`], from a sysfs mounted elsewhere.
    /// What sysfs does not say is taken to be absent: a processor without a
    /// known core is a core of its own, all others share one socket, one NUMA
    /// domain and, by default, the last-level cache of their socket.
    #[must_use]
    pub fn read(root: &Path, allowed: &CpuSet) -> Self {
        let numa = numa_domains(root);
        let mut seats: Vec<_> = allowed
            .iter()
            .map(|cpu| {
                let dir = root.join(format!("cpu/cpu{cpu}"));
                let first_of = |names: [&str; 2]| {
                    names
                        .iter()
                        .find_map(|name| read_list(&dir.join("topology").join(name)))
                        .and_then(|cpus| cpus.iter().next())
                };
                let socket = first_of(["package_cpus_list", "core_siblings_list"]).unwrap_or(0);
                Seat {
                    cpu,
                    core: first_of(["core_cpus_list", "thread_siblings_list"]).unwrap_or(cpu),
                    ll_cache: last_level_cache(&dir).unwrap_or(socket),
                    numa: numa
                        .iter()
                        .find(|domain| domain.contains(cpu))
                        .and_then(|domain| domain.iter().next())
                        .unwrap_or(0),
                    socket,
                }
            })
            .collect();
        // Neighbours in this order share as much as possible, which is what
        // "next place" should mean.
        seats.sort_by_key(|seat| (seat.socket, seat.numa, seat.ll_cache, seat.core, seat.cpu));
        Self { seats }
    }

    /// The part of it that is left of so many parts of each kind in each part of the kind before. One
    /// that has fewer, such as a core without hardware threads beside others with two, gives what
    /// it has. `None` if none has so many.
    #[must_use]
    pub fn subset(&self, layers: &[Layer]) -> Option<Self> {
        let mut left = self.seats.clone();
        let mut outer: Option<PlaceKind> = None;
        for layer in layers {
            let whole = |seat: &Seat| outer.map_or(0, |kind| seat.number(kind));
            let from = layer.offset as usize;
            let least = from.saturating_add(layer.count.unwrap_or(1) as usize);
            let mut kept = Vec::new();
            let mut most = 0;
            let mut seats = left.as_slice();
            while let Some(first) = seats.first() {
                let here = seats.iter().take_while(|seat| whole(seat) == whole(first));
                let (here, after) = seats.split_at(here.count());
                seats = after;
                let mut parts: Vec<u32> = here.iter().map(|seat| seat.number(layer.kind)).collect();
                parts.dedup();
                most = most.max(parts.len());
                let to = layer.count.map_or(parts.len(), |_| least).min(parts.len());
                let wanted = parts.get(from..to).unwrap_or_default();
                let own = here
                    .iter()
                    .filter(|seat| wanted.contains(&seat.number(layer.kind)));
                kept.extend(own.copied());
            }
            if most < least {
                return None;
            }
            left = kept;
            outer = Some(layer.kind);
        }
        (!left.is_empty()).then_some(Self { seats: left })
    }

    /// Its processors.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        self.seats.iter().map(|seat| seat.cpu).collect()
    }

    /// The processors of each part of that kind, in order of closeness.
    #[must_use]
    pub fn groups(&self, kind: PlaceKind) -> Vec<Vec<u32>> {
        let key = |seat: &Seat| seat.number(kind);
        let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
        for seat in &self.seats {
            let key = key(seat);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, cpus)) => cpus.push(seat.cpu),
                None => groups.push((key, vec![seat.cpu])),
            }
        }
        groups
            .into_iter()
            .map(|(_, mut cpus)| {
                cpus.sort_unstable();
                cpus
            })
            .collect()
    }
}

/// First processor of those that share `cpu`'s last-level cache.
fn last_level_cache(cpu_dir: &Path) -> Option<u32> {
    (0..16)
        .filter_map(|index| {
            let dir = cpu_dir.join(format!("cache/index{index}"));
            let level: u32 = read_trimmed(&dir.join("level"))?.parse().ok()?;
            if read_trimmed(&dir.join("type")).as_deref() == Some("Instruction") {
                return None;
            }
            let first = read_list(&dir.join("shared_cpu_list"))?.iter().next()?;
            Some((level, first))
        })
        .max_by_key(|&(level, _)| level)
        .map(|(_, first)| first)
}

/// The processors of each NUMA domain that has any.
fn numa_domains(root: &Path) -> Vec<CpuSet> {
    let Some(nodes) = read_list(&root.join("node/online")) else {
        return Vec::new();
    };
    nodes
        .iter()
        .filter_map(|node| read_list(&root.join(format!("node/node{node}/cpulist"))))
        .filter(|cpus| !cpus.is_empty())
        .collect()
}

fn read_trimmed(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

/// A list as the kernel writes it: `0-3,8`.
fn read_list(path: &Path) -> Option<CpuSet> {
    parse_list(&read_trimmed(path)?)
}

fn parse_list(text: &str) -> Option<CpuSet> {
    let mut set = CpuSet::default();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last >= crate::env::CPU_LIMIT {
            return None;
        }
        for cpu in first..=last {
            set.insert(cpu);
        }
    }
    Some(set)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two sockets of two cores of two hardware threads, numbered as Linux
    /// does on such machines: the second threads of all cores come last.
    pub(crate) fn two_by_two_by_two() -> Topology {
        let seats = [0, 4, 1, 5, 2, 6, 3, 7].map(|cpu| {
            let core = cpu % 4;
            let socket = core / 2 * 2;
            Seat {
                cpu,
                core,
                ll_cache: socket,
                numa: socket,
                socket,
            }
        });
        Topology {
            seats: seats.to_vec(),
        }
    }

    #[test]
    fn lists_of_the_kernel() {
        let parse = |text| parse_list(text).map(|set| set.iter().collect::<Vec<_>>());
        assert_eq!(parse("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse(""), Some(vec![]));
        assert_eq!(parse("a"), None);
        assert_eq!(parse("0-4294967295"), None);
    }

    #[test]
    fn a_machine_is_read_from_its_files() -> std::io::Result<()> {
        let root = std::env::temp_dir().join(format!("fathomp-topology-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
            fs::write(path, text)
        };
        for cpu in 0..8 {
            let core = cpu % 4;
            let socket = core / 2 * 2;
            let siblings = format!("{core},{}\n", core + 4);
            let package = format!("{socket}-{},{}-{}\n", socket + 1, socket + 4, socket + 5);
            write(&format!("cpu/cpu{cpu}/topology/core_cpus_list"), &siblings)?;
            // The older name of the file.
            write(
                &format!("cpu/cpu{cpu}/topology/core_siblings_list"),
                &package,
            )?;
            for (index, (level, kind, shared)) in [
                ("1", "Data", &siblings),
                ("1", "Instruction", &siblings),
                ("3", "Unified", &package),
            ]
            .into_iter()
            .enumerate()
            {
                let dir = format!("cpu/cpu{cpu}/cache/index{index}");
                write(&format!("{dir}/level"), level)?;
                write(&format!("{dir}/type"), kind)?;
                write(&format!("{dir}/shared_cpu_list"), shared)?;
            }
        }
        write("node/online", "0-1\n")?;
        write("node/node0/cpulist", "0-1,4-5\n")?;
        write("node/node1/cpulist", "2-3,6-7\n")?;
        let topology = Topology::read(&root, &(0..8).collect());
        fs::remove_dir_all(&root)?;
        assert_eq!(topology, two_by_two_by_two());
        Ok(())
    }

    #[test]
    fn an_unknown_machine_has_cores_and_one_of_everything_else() {
        let topology = Topology::read(Path::new("/nonexistent"), &(0..3).collect());
        assert_eq!(topology.groups(PlaceKind::Cores).len(), 3);
        for kind in [
            PlaceKind::Sockets,
            PlaceKind::LlCaches,
            PlaceKind::NumaDomains,
        ] {
            assert_eq!(topology.groups(kind), [[0, 1, 2]]);
        }
    }

    #[test]
    fn a_subset_has_so_many_of_each_part() {
        let layer = |kind, count, offset| Layer {
            kind,
            count: Some(count),
            offset,
        };
        let of = |layers: &[Layer]| {
            let subset = two_by_two_by_two().subset(layers)?;
            Some(subset.cpus().iter().collect::<Vec<_>>())
        };
        let (cores, threads) = (
            layer(PlaceKind::Cores, 1, 1),
            layer(PlaceKind::Threads, 1, 0),
        );
        assert_eq!(
            of(&[layer(PlaceKind::Sockets, 1, 1), cores, threads]),
            Some(vec![3])
        );
        // Of each socket, and of all.
        assert_eq!(
            of(&[layer(PlaceKind::Sockets, 2, 0), cores]),
            Some(vec![1, 3, 5, 7])
        );
        assert_eq!(
            of(&[layer(PlaceKind::Cores, 3, 0), threads]),
            Some(vec![0, 1, 2])
        );
        assert_eq!(of(&[layer(PlaceKind::Sockets, 2, 1)]), None);
        assert_eq!(of(&[layer(PlaceKind::Threads, u32::MAX, 1)]), None);
    }

    #[test]
    fn groups_in_order_of_closeness() {
        let topology = two_by_two_by_two();
        assert_eq!(
            topology.groups(PlaceKind::Threads).concat(),
            [0, 4, 1, 5, 2, 6, 3, 7]
        );
        assert_eq!(
            topology.groups(PlaceKind::Cores),
            [[0, 4], [1, 5], [2, 6], [3, 7]]
        );
        assert_eq!(
            topology.groups(PlaceKind::Sockets),
            [[0, 1, 4, 5], [2, 3, 6, 7]]
        );
    }
}
