//! The machine this runs on, as the kernel describes it in /proc and /sys.

mod busy;
mod cache;
mod cpus;
pub mod pace;
mod quota;

use fathomp_trace::model::Machine;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub use busy::{Meter, children};
pub use cache::caches;
pub use cpus::parse_list;
pub use quota::quota;

/// Facts for a recording. What the kernel does not show stays empty.
pub fn machine() -> Machine {
    Machine {
        host: line("/proc/sys/kernel/hostname").unwrap_or_default(),
        kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        cpu_model: cpu_model().unwrap_or_default(),
        cpus_online: cpus_online(),
        cpus_allowed: cpus_allowed(),
        memory_bytes: memory_bytes().unwrap_or(0),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
}

/// Processors this process may use, by number.
pub fn cpus_allowed() -> Vec<u32> {
    field("/proc/self/status", "Cpus_allowed_list")
        .map(|list| parse_list(&list))
        .unwrap_or_default()
}

/// How many threads can run at the same time here, at least 1.
pub fn usable_cpus() -> u32 {
    match cpus_allowed().len() {
        0 => cpus_online().max(1),
        count => u32::try_from(count).unwrap_or(u32::MAX),
    }
}

/// Hardware threads of one core.
pub fn threads_per_core() -> Option<u32> {
    let siblings = line("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")?;
    u32::try_from(parse_list(&siblings).len())
        .ok()
        .filter(|count| *count > 0)
}

/// Packages or NUMA nodes, whichever are more, among the processors this process may use; at
/// least 1.
pub fn packages() -> u32 {
    let mut sockets = BTreeSet::new();
    for cpu in cpus_allowed() {
        sockets.extend(line(format!(
            "/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"
        )));
    }
    let allowed: BTreeSet<u32> = cpus_allowed().into_iter().collect();
    let nodes = line("/sys/devices/system/node/has_cpu")
        .map(|list| parse_list(&list))
        .unwrap_or_default();
    let used = nodes.into_iter().filter(|node| {
        let cpus = line(format!("/sys/devices/system/node/node{node}/cpulist"));
        cpus.is_some_and(|list| parse_list(&list).iter().any(|cpu| allowed.contains(cpu)))
    });
    let count = sockets.len().max(used.count()).max(1);
    u32::try_from(count).unwrap_or(1)
}

fn cpus_online() -> u32 {
    let listed = line("/sys/devices/system/cpu/online").map(|list| parse_list(&list).len());
    let count = listed
        .filter(|count| *count > 0)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn cpu_model() -> Option<String> {
    // x86 says "model name"; other processors say it in other words.
    ["model name", "Model", "cpu model", "uarch"]
        .iter()
        .find_map(|name| field("/proc/cpuinfo", name))
}

fn memory_bytes() -> Option<u64> {
    let kib = field("/proc/meminfo", "MemTotal")?;
    kib.split_whitespace()
        .next()?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// The first line of a small file; `None` if there is no such file.
pub fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let first = text.lines().next()?.trim();
    (!first.is_empty()).then(|| first.to_owned())
}

/// The value of `name: value` in one of the kernel's tables.
pub fn field(path: impl AsRef<Path>, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_processors_and_memory() {
        let machine = machine();
        assert!(machine.cpus_online >= 1);
        assert!(!machine.cpus_allowed.is_empty());
        assert!(machine.memory_bytes > 0);
        assert!(usable_cpus() >= 1);
    }
}
