//! How much processor time the control groups of this process allow it.
//!
//! A quota holds back threads that would otherwise run: containers and batch systems set
//! one in place of taking processors away.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";

/// The strictest quota, and how long threads of its group have been held back by it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    /// Processors' worth of time.
    pub processors: f64,
    /// Since the group was made.
    pub throttled_ns: u64,
}

/// The quota of this process, which programs that it starts inherit.
pub fn quota() -> Option<Quota> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    strictest(Path::new(ROOT), &groups)
}

/// The strictest of the groups' quotas and those of the groups around them.
fn strictest(root: &Path, groups: &str) -> Option<Quota> {
    let mut all: Vec<Quota> = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let path = path.trim_start_matches('/');
        let mounts: Vec<PathBuf> = if controllers.is_empty() {
            vec![root.to_owned(), root.join("unified")]
        } else if controllers.split(',').any(|one| one == "cpu") {
            vec![root.join(controllers), root.join("cpu")]
        } else {
            continue;
        };
        for mount in mounts {
            let inside = |one: &&Path| one.starts_with(&mount);
            let group = mount.join(path);
            all.extend(group.ancestors().take_while(inside).filter_map(of_group));
        }
    }
    all.into_iter()
        .min_by(|a, b| a.processors.total_cmp(&b.processors))
}

fn of_group(group: &Path) -> Option<Quota> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|one| *one > 0.0);
    let processors = match read("cpu.max") {
        // "max 100000" is no quota.
        Some(max) => {
            let (quota, period) = max.split_once(' ')?;
            number(quota)? / number(period)?
        }
        // -1 is none.
        None => number(&read("cpu.cfs_quota_us")?)? / number(&read("cpu.cfs_period_us")?)?,
    };
    let throttled = read("cpu.stat").unwrap_or_default();
    let entry = |name: &str| -> Option<u64> {
        let mut lines = throttled.lines();
        lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let throttled_ns = entry("throttled_time ")
        .or_else(|| entry("throttled_usec ")?.checked_mul(1000))
        .unwrap_or(0);
    Some(Quota {
        processors,
        throttled_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn the_strictest_group_of_the_second_version_counts() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("outer/cpu.max", "150000 100000\n"),
                ("outer/cpu.stat", "usage_usec 5\nthrottled_usec 7\n"),
                ("outer/inner/cpu.max", "max 100000\n"),
            ],
        );
        let found = strictest(root.path(), "0::/outer/inner\n").unwrap();
        assert_eq!((found.processors, found.throttled_ns), (1.5, 7000));
        assert_eq!(strictest(root.path(), "0::/other\n"), None);
    }

    #[test]
    fn groups_of_the_first_version_are_found_by_their_controller() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("cpu,cpuacct/jobs/7/cpu.cfs_quota_us", "50000\n"),
                ("cpu,cpuacct/jobs/7/cpu.cfs_period_us", "100000\n"),
                (
                    "cpu,cpuacct/jobs/7/cpu.stat",
                    "nr_throttled 2\nthrottled_time 12345\n",
                ),
                ("cpu,cpuacct/jobs/cpu.cfs_quota_us", "-1\n"),
                ("cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let groups = "4:memory:/jobs/7\n3:cpu,cpuacct:/jobs/7\nnonsense\n0::/\n";
        let found = strictest(root.path(), groups).unwrap();
        assert_eq!((found.processors, found.throttled_ns), (0.5, 12345));
        assert_eq!(strictest(root.path(), ""), None);
    }
}
