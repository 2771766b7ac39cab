//! What the kernel and the processor offer.

use super::{Check, Status};
use crate::host;
use fathomp_sys::shm::reserves_nothing;
use fathomp_sys::userfault::Support;
use nix::sys::statvfs::{FsFlags, statvfs};
use std::fs::File;
use std::path::Path;

/// Below this, rings of many threads do not fit in shared memory.
const SHARED_MEMORY_MIN: u64 = 64 << 20;

pub(super) fn checks() -> Vec<Check> {
    vec![
        platform(),
        processors(),
        quota(),
        governor(),
        clock(),
        shared_memory(),
        null(),
        counters(),
        huge_pages(),
        randomisation(),
        leftovers(),
    ]
}

/// What nodes need that share memory.
pub(super) fn checks_of_nodes() -> Vec<Check> {
    vec![overcommit(), userfaultfd()]
}

fn platform() -> Check {
    let machine = host::machine();
    Check::good(
        "kernel",
        format!("Linux {} on {}", machine.kernel, std::env::consts::ARCH),
    )
}

fn processors() -> Check {
    let machine = host::machine();
    let (allowed, online) = (machine.cpus_allowed.len(), machine.cpus_online);
    let check = Check::good(
        "processors",
        format!("{allowed} usable of {online} online, {}", machine.cpu_model),
    );
    if allowed == 1 {
        return check.but(
            Status::Limited,
            "with one processor, threads take turns and nothing can be said about scaling",
            Some("taskset --cpu-list 0-$(($(nproc --all) - 1)) fathomp ..."),
        );
    }
    check
}

/// A container may have many processors and little time on them.
fn quota() -> Check {
    let Some(processors) = processors_worth() else {
        return Check::good("cpu quota", "none");
    };
    let check = Check::good(
        "cpu quota",
        format!("{processors:.1} processors' worth of time"),
    );
    if processors < f64::from(host::usable_cpus()) {
        return check.but(
            Status::Limited,
            "fewer than the usable processors: threads will be throttled",
            Some("give the container or unit a larger CPU quota"),
        );
    }
    check
}

/// Time that this process's group may have, per time that passes.
fn processors_worth() -> Option<f64> {
    let of_version_1 = |name| host::line(Path::new("/sys/fs/cgroup/cpu").join(name));
    let setting = host::line("/sys/fs/cgroup/cpu.max").or_else(|| {
        let quota = of_version_1("cpu.cfs_quota_us")?;
        Some(format!("{quota} {}", of_version_1("cpu.cfs_period_us")?))
    })?;
    // No quota is the word `max`, or -1.
    let (quota, period) = setting.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn governor() -> Check {
    match host::machine().governor {
        None => Check::good("clock frequency", "not shown by the kernel"),
        Some(governor) if governor == "performance" => Check::good("clock frequency", governor),
        Some(governor) => Check::good("clock frequency", format!("governor {governor}")).but(
            Status::Limited,
            "times vary more between runs",
            Some("cpupower frequency-set --governor performance"),
        ),
    }
}

fn clock() -> Check {
    let source = host::line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let flags = host::field("/proc/cpuinfo", "flags").unwrap_or_default();
    let steady = ["constant_tsc", "nonstop_tsc"]
        .iter()
        .all(|flag| flags.split_whitespace().any(|word| word == *flag));
    let source = source.unwrap_or_else(|| "unknown".to_owned());
    let check = Check::good("clock", format!("clocksource {source}"));
    if cfg!(target_arch = "x86_64") && !steady {
        return check.but(
            Status::Limited,
            "the processor's counter is not steady: recording costs a little more",
            None,
        );
    }
    check
}

fn null() -> Check {
    match File::options().read(true).write(true).open("/dev/null") {
        Ok(_) => Check::good("null device", "/dev/null"),
        Err(error) => Check::good("null device", format!("no /dev/null ({error})")).but(
            Status::Broken,
            "programs cannot be started",
            Some("mknod -m 666 /dev/null c 1 3"),
        ),
    }
}

fn shared_memory() -> Check {
    let path = Path::new("/dev/shm");
    let Ok(found) = statvfs(path) else {
        return Check::good("shared memory", "no /dev/shm").but(
            Status::Limited,
            "rings are kept in the recording directory: the disk may slow the program down",
            Some("mount -t tmpfs tmpfs /dev/shm"),
        );
    };
    if found.flags().contains(FsFlags::ST_RDONLY) {
        return Check::good("shared memory", "/dev/shm cannot be written").but(
            Status::Limited,
            "rings are kept in the recording directory: the disk may slow the program down",
            Some("mount -o remount,rw /dev/shm"),
        );
    }
    let free = found.blocks_available() * found.fragment_size();
    let check = Check::good(
        "shared memory",
        format!("/dev/shm, {} MiB free", free >> 20),
    );
    if free < SHARED_MEMORY_MIN {
        return check.but(
            Status::Limited,
            "too small for many threads: the recording directory is used instead",
            Some("mount -o remount,size=256M /dev/shm"),
        );
    }
    check
}

fn counters() -> Check {
    match fathomp_sys::counters::HardwareCounters::open() {
        Ok(_) => Check::good("hardware counters", "cycles and instructions"),
        Err(error) => {
            let paranoid = host::line("/proc/sys/kernel/perf_event_paranoid");
            let check = Check::good("hardware counters", format!("none ({error})"));
            let refused = error.kind() == std::io::ErrorKind::PermissionDenied;
            if refused && let Some(paranoid) = paranoid {
                return check.but(
                    Status::Limited,
                    "no cycles and instructions per region; times and faults are recorded",
                    Some(permission_for_counters(&paranoid, is_filtered())),
                );
            }
            check.but(
                Status::Limited,
                "this (virtual) machine shows none: times and faults are recorded",
                None,
            )
        }
    }
}

/// What lets this process count, to which the kernel does not give what it has.
fn permission_for_counters(paranoid: &str, filtered: bool) -> &'static str {
    let allowed = paranoid.parse().is_ok_and(|level: i32| level <= 2);
    if allowed && filtered {
        "start the container with --cap-add PERFMON, or another seccomp profile"
    } else {
        "sysctl kernel.perf_event_paranoid=2"
    }
}

/// Whether some system calls are forbidden to this process, as in containers.
fn is_filtered() -> bool {
    host::field("/proc/self/status", "Seccomp").is_some_and(|mode| mode == "2")
}

fn huge_pages() -> Check {
    let setting = host::line("/sys/kernel/mm/transparent_hugepage/enabled");
    let chosen = setting
        .as_deref()
        .and_then(|text| text.split(['[', ']']).nth(1));
    Check::good("huge pages", chosen.unwrap_or("none").to_owned())
}

fn randomisation() -> Check {
    let setting = host::line("/proc/sys/kernel/randomize_va_space");
    Check::good(
        "addresses",
        match setting.as_deref() {
            Some("0") => "not randomised",
            _ => "randomised (regions are matched by file and offset)",
        },
    )
}

fn overcommit() -> Check {
    if !reserves_nothing() {
        return Check::good("overcommit", "allowed");
    }
    Check::good("overcommit", "refused (vm.overcommit_memory is 2)").but(
        Status::Limited,
        "run --nodes cannot reserve the addresses that nodes share",
        Some("sysctl vm.overcommit_memory=0"),
    )
}

fn userfaultfd() -> Check {
    let support = Support::probe();
    let found = match (support.raises, support.records) {
        (true, true) => "with SIGBUS and recorded writes",
        (true, false) => "with SIGBUS",
        (false, _) => "without SIGBUS, or not for this user",
    };
    let check = Check::good("userfaultfd", found);
    if support.raises {
        return check;
    }
    check.but(
        Status::Limited,
        "run --nodes watches pages by mprotect, which is slower (Linux 6.4 has it)",
        is_filtered().then_some("start the container with --security-opt seccomp=unconfined"),
    )
}

/// Live directories whose launcher was killed.
fn leftovers() -> Check {
    let stale: Vec<_> = crate::live::stale()
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if stale.is_empty() {
        return Check::good("leftovers", "none");
    }
    let mut check = Check::good("leftovers", format!("{} in /dev/shm", stale.len())).but(
        Status::Limited,
        "recordings that were cut off by a kill; a reader still finds their last events there",
        None,
    );
    check.mend = Some(format!("rm -r {}", stale.join(" ")));
    check
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_machine_can_be_looked_at() {
        assert!(super::checks().len() > 5);
        assert!(std::fs::metadata("/proc/self").is_ok());
    }

    #[test]
    fn a_container_is_not_told_to_set_what_is_set() {
        use super::permission_for_counters as mend;
        assert!(mend("2", true).contains("PERFMON"));
        assert!(mend("-1", true).contains("PERFMON"));
        assert!(mend("4", true).contains("sysctl"));
        assert!(mend("2", false).contains("sysctl"));
    }
}
