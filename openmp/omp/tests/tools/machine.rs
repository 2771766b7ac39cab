//! The files by which a kernel describes a machine.

use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Where they are, below the root.
pub(crate) const SYSTEM: &str = "sys/devices/system";

/// What processors have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Package,
    Core,
    /// Of that level.
    Cache(u32),
    Node,
}

/// A machine by the lists of processors of its parts, as the kernel writes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) online: &'static str,
    pub(crate) parts: &'static [(Part, &'static [&'static str])],
}

impl Machine {
    /// Its files in a directory of their own: lists for us, masks for hwloc.
    pub(crate) fn write(&self) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join(SYSTEM);
        write(&root, "cpu/online", self.online);
        for cpu in cpus(self.online) {
            write(&root, &format!("cpu/cpu{cpu}/online"), "1");
        }
        for (part, groups) in self.parts {
            for (number, list) in groups.iter().enumerate() {
                part.write(&root, number, list);
            }
        }
        directory
    }
}

impl Part {
    fn write(self, root: &Path, number: usize, list: &str) {
        if let Self::Node = self {
            let node = format!("node/node{number}");
            write(root, "node/online", &format!("0-{number}"));
            write(root, &format!("{node}/cpulist"), list);
            write(root, &format!("{node}/cpumap"), &mask(list));
            let memory = format!("Node {number} MemTotal: 1048576 kB\n");
            write(root, &format!("{node}/meminfo"), &memory);
        }
        for cpu in cpus(list) {
            let topology = format!("cpu/cpu{cpu}/topology");
            let (id, names) = match self {
                Self::Node => continue,
                Self::Cache(level) => {
                    let cache = format!("cpu/cpu{cpu}/cache/index{level}");
                    write(root, &format!("{cache}/level"), &level.to_string());
                    write(root, &format!("{cache}/type"), "Unified");
                    write(root, &format!("{cache}/size"), "1024K");
                    write(root, &format!("{cache}/shared_cpu_list"), list);
                    write(root, &format!("{cache}/shared_cpu_map"), &mask(list));
                    continue;
                }
                Self::Package => ("physical_package_id", ["package_cpus", "core_siblings"]),
                Self::Core => ("core_id", ["core_cpus", "thread_siblings"]),
            };
            write(root, &format!("{topology}/{id}"), &number.to_string());
            for name in names {
                write(root, &format!("{topology}/{name}_list"), list);
                write(root, &format!("{topology}/{name}"), &mask(list));
            }
        }
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

/// The processors of a list such as `0-3,8`.
pub(crate) fn cpus(list: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().unwrap();
    let items = list.split(',').filter(|item| !item.is_empty());
    items
        .flat_map(|item| {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            number(first)..=number(last)
        })
        .collect()
}

fn mask(list: &str) -> String {
    format!("{:x}", bits(cpus(list)))
}

fn bits(cpus: impl IntoIterator<Item = u32>) -> u64 {
    cpus.into_iter().fold(0, |mask, cpu| mask | 1 << cpu)
}

/// The places of a list such as `{0:2,4:2},{2}`.
pub(crate) fn masks(places: &str) -> Vec<u64> {
    let number = |text: &str| text.parse::<u32>().unwrap();
    let place = |text: &str| {
        let items = text.split(',').flat_map(|item| {
            let (first, len) = item.split_once(':').unwrap_or((item, "1"));
            number(first)..number(first) + number(len)
        });
        bits(items)
    };
    let inside = places.trim_start_matches('{').trim_end_matches('}');
    inside.split("},{").map(place).collect()
}
