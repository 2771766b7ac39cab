//! Places on machines that are not at hand: their sysfs, written by ourselves, as the runtime reads it
//! and as hwloc does.
#![forbid(unsafe_code)]

mod machine;

use fathomp_omp::env::Settings;
use fathomp_omp::places::{Places, Topology};
use fathomp_requirements::{LSTOPO, tests};
use machine::{Machine, Part};
use std::process::{Command, ExitCode};

/// Two sockets of two cores of two hardware threads, the second threads last.
const TWO_SOCKETS: Machine = Machine {
    online: "0-7",
    parts: &[
        (Part::Package, &["0-1,4-5", "2-3,6-7"]),
        (Part::Core, &["0,4", "1,5", "2,6", "3,7"]),
        (Part::Cache(2), &["0,4", "1,5", "2,6", "3,7"]),
        (Part::Cache(3), &["0-1,4-5", "2-3,6-7"]),
        (Part::Node, &["0-1,4-5", "2-3,6-7"]),
    ],
};

/// Two fast cores of two hardware threads, four slower ones that share an L2 cache, and two on
/// another die that do not reach the L3 cache.
const HYBRID: Machine = Machine {
    online: "0-9",
    parts: &[
        (Part::Package, &["0-9"]),
        (Part::Core, &["0-1", "2-3", "4", "5", "6", "7", "8", "9"]),
        (Part::Cache(2), &["0-1", "2-3", "4-7", "8-9"]),
        (Part::Cache(3), &["0-7"]),
        (Part::Node, &["0-9"]),
    ],
};

/// A socket with four last-level caches in two domains, and two domains of memory alone.
const SPLIT_CACHES: Machine = Machine {
    online: "0-7",
    parts: &[
        (Part::Package, &["0-7"]),
        (Part::Core, &["0", "1", "2", "3", "4", "5", "6", "7"]),
        (Part::Cache(3), &["0-1", "2-3", "4-5", "6-7"]),
        (Part::Node, &["", "0-3", "4-7", ""]),
    ],
};

/// [`TWO_SOCKETS`] with processors 1, 2 and 6 offline. The kernel's lists leave them out.
const OFFLINE: Machine = Machine {
    online: "0,3-5,7",
    parts: &[
        (Part::Package, &["0,4-5", "3,7"]),
        (Part::Core, &["0,4", "5", "3,7"]),
        (Part::Cache(3), &["0,4-5", "3,7"]),
        (Part::Node, &["0,4-5", "3,7"]),
    ],
};

/// A virtual machine that says nothing of caches and memory.
const NO_CACHES: Machine = Machine {
    online: "0-3",
    parts: &[
        (Part::Package, &["0-1", "2-3"]),
        (Part::Core, &["0-1", "2-3"]),
    ],
};

/// What `OMP_PLACES=value` names there, for a program that may use the processors of that list.
fn places(machine: &Machine, allowed: &str, variables: &[(&str, &str)]) -> String {
    let directory = machine.write();
    let allowed = machine::cpus(allowed).into_iter().collect();
    let topology = Topology::read(&directory.path().join(machine::SYSTEM), &allowed);
    let (settings, _) = Settings::from_env(|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    });
    let (places, warnings) = Places::resolve(&settings, &topology, allowed);
    assert!(warnings.is_empty(), "{warnings:?}");
    places.to_string()
}

fn check(machine: &Machine, allowed: &str, expected: &[(&str, &str)]) {
    for (value, list) in expected {
        let found = places(machine, allowed, &[("OMP_PLACES", value)]);
        assert_eq!(found, *list, "{value} of {allowed}");
    }
}

fn two_sockets() {
    let expected = [
        ("threads", "{0},{4},{1},{5},{2},{6},{3},{7}"),
        ("cores", "{0,4},{1,5},{2,6},{3,7}"),
        ("ll_caches", "{0:2,4:2},{2:2,6:2}"),
        ("numa_domains(1)", "{0:2,4:2}"),
        ("sockets", "{0:2,4:2},{2:2,6:2}"),
    ];
    check(&TWO_SOCKETS, "0-7", &expected);
}

/// A launcher or a cgroup leaves a part of the machine: places have that part of what they stand for.
fn a_part_of_the_machine() {
    let expected = [
        ("threads", "{1},{5},{2},{7}"),
        ("cores", "{1,5},{2},{7}"),
        ("ll_caches", "{1,5},{2,7}"),
        ("sockets", "{1,5},{2,7}"),
    ];
    check(&TWO_SOCKETS, "1-2,5,7", &expected);
}

fn hybrid_cores() {
    let expected = [
        ("cores", "{0:2},{2:2},{4},{5},{6},{7},{8},{9}"),
        ("ll_caches", "{0:8},{8:2}"),
        ("sockets", "{0:10}"),
        ("numa_domains", "{0:10}"),
    ];
    check(&HYBRID, "0-9", &expected);
    // A core of one hardware thread has no second one to give.
    let subset = |value| places(&HYBRID, "0-9", &[("KMP_HW_SUBSET", value)]);
    assert_eq!(subset("2t"), "{0:10}");
    assert_eq!(subset("1t"), "{0,2,4:6}");
    assert_eq!(subset("1t@1"), "{1,3}");
}

fn caches_split_in_a_socket() {
    let expected = [
        ("ll_caches", "{0:2},{2:2},{4:2},{6:2}"),
        ("numa_domains", "{0:4},{4:4}"),
        ("sockets", "{0:8}"),
    ];
    check(&SPLIT_CACHES, "0-7", &expected);
}

fn offline_processors() {
    let expected = [("cores", "{0,4},{5},{3,7}"), ("ll_caches", "{0,4:2},{3,7}")];
    check(&OFFLINE, OFFLINE.online, &expected);
}

fn no_caches() {
    let expected = [
        ("cores", "{0:2},{2:2}"),
        ("ll_caches", "{0:2},{2:2}"),
        ("numa_domains", "{0:4}"),
    ];
    check(&NO_CACHES, "0-3", &expected);
}

/// Places as hwloc finds them in the same files.
fn hwloc_agrees() {
    let kinds = [
        ("threads", "PU"),
        ("cores", "Core"),
        ("ll_caches", "L3Cache"),
        ("numa_domains", "NUMANode"),
        ("sockets", "Package"),
    ];
    let machines = [
        ("two sockets", TWO_SOCKETS),
        ("hybrid", HYBRID),
        ("split caches", SPLIT_CACHES),
        ("offline", OFFLINE),
    ];
    for (name, machine) in machines {
        let directory = machine.write();
        for (value, kind) in kinds {
            let output = Command::new("lstopo-no-graphics")
                .args(["--only", kind, "-c", "--no-io"])
                .args(["--if", "fsroot", "-i"])
                .arg(directory.path())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let sets = text.lines().filter_map(|line| line.split_once("cpuset=0x"));
            let mut theirs: Vec<u64> = sets
                .map(|(_, mask)| u64::from_str_radix(mask.trim(), 16).unwrap())
                .filter(|mask| *mask != 0)
                .collect();
            // Cores that do not reach the last cache of the others share none to hwloc.
            if (name, value) == ("hybrid", "ll_caches") {
                theirs.push(0b11 << 8);
            }
            let ours = places(&machine, machine.online, &[("OMP_PLACES", value)]);
            let mut ours: Vec<u64> = machine::masks(&ours);
            theirs.sort_unstable();
            ours.sort_unstable();
            assert_eq!(ours, theirs, "{value}, {name}: {text}");
        }
    }
}

fn main() -> ExitCode {
    let plain = tests![
        two_sockets,
        a_part_of_the_machine,
        hybrid_cores,
        caches_split_in_a_socket,
        offline_processors,
        no_caches,
    ];
    let with_hwloc = tests![&[LSTOPO] => hwloc_agrees];
    fathomp_requirements::run(plain.into_iter().chain(with_hwloc).collect())
}
