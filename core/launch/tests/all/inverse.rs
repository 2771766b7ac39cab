//! What a plan says to a program is what the program reads.

use fathomp_launch::{
    Cluster, DIFF_MEMORY_MIB_MAX, Faults, Loads, NODES_MAX, Network, OpenMp, Plan, Protocol,
    Recorder, Seat, Teams, Watch,
};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

fn path() -> impl Strategy<Value = PathBuf> {
    "/[a-z0-9._/-]{1,20}".prop_map(PathBuf::from)
}

fn network() -> impl Strategy<Value = Network> {
    (0..=1_000_000_000_u64, 1e-3..1e9).prop_map(|(latency_ns, mb_per_s)| {
        Network::new(latency_ns as f64 * 1e-3, mb_per_s).expect("both are in range")
    })
}

fn cluster() -> impl Strategy<Value = Cluster> {
    (
        2..=NODES_MAX,
        select(Protocol::ALL),
        1..=DIFF_MEMORY_MIB_MAX,
        option::of(select(Faults::ALL)),
        any::<bool>(),
        option::of(network()),
        option::of(select(Loads::ALL)),
        any::<bool>(),
    )
        .prop_map(
            |(nodes, protocol, diff_memory_mib, faults, plain, network, loads, races)| Cluster {
                nodes,
                protocol,
                diff_memory_mib,
                faults,
                plain,
                network,
                loads,
                races: races && protocol == Protocol::Home,
            },
        )
}

fn watch() -> impl Strategy<Value = Watch> {
    prop_oneof![
        (path(), any::<bool>()).prop_map(|(directory, lines)| Watch::Accesses { directory, lines }),
        (path(), any::<u64>()).prop_map(|(directory, limit_ms)| Watch::Lines {
            directory,
            limit_ms
        }),
    ]
}

fn recorder() -> impl Strategy<Value = Recorder> {
    (path(), Recorder::RING_KIB, Recorder::THREADS, any::<u64>()).prop_map(
        |(directory, ring_kib, threads, interval_ns)| Recorder {
            directory,
            ring_kib,
            threads,
            interval_ns,
        },
    )
}

fn openmp() -> impl Strategy<Value = OpenMp> {
    let text = || option::of("[a-z]{1,8}".prop_map(OsString::from));
    (
        option::of(1..u32::MAX),
        option::of(any::<bool>()),
        text(),
        text(),
        text(),
        text(),
    )
        .prop_map(
            |(threads, dynamic, proc_bind, places, schedule, wait_policy)| OpenMp {
                threads,
                dynamic,
                proc_bind,
                places,
                schedule,
                wait_policy,
            },
        )
}

prop_compose! {
    fn plan()(
        openmp in openmp(),
        cluster in option::of(cluster()),
        watch in option::of(watch()),
        recorder in option::of(recorder()),
        paging in option::of(path()),
        trips in option::of(path()),
        teams in (option::of(path()), option::of(path())),
        seat in option::of((any::<u32>(), path(), any::<bool>(), option::of(path()))),
        preload in prop::collection::vec(path(), 0..3),
        tools in prop::collection::vec(path(), 0..3),
        library_path in prop::collection::vec(path(), 0..3),
    ) -> Plan {
        let (advice, choices) = teams;
        Plan {
            openmp,
            cluster,
            watch,
            recorder,
            paging,
            trips,
            teams: Teams { advice, choices },
            seat: seat.map(|(slot, board, watch, advice)| Seat { slot, board, watch, advice }),
            preload,
            tools,
            library_path,
        }
    }
}

proptest! {
    #[test]
    fn a_plan_is_read_as_it_was_written(plan in plan()) {
        let variables = plan.variables();
        let environment: HashMap<_, _> = variables.iter().cloned().collect();
        prop_assert_eq!(environment.len(), variables.len(), "a name is set twice");
        let read = Plan::from_env(&|name| environment.get(name).cloned());
        prop_assert_eq!(read, Ok(plan));
    }

    #[test]
    fn any_environment_is_a_plan_or_an_error(
        name in 0..fathomp_launch::names::ALL.len(),
        value in "\\PC{0,12}",
    ) {
        let name = fathomp_launch::names::ALL[name].name;
        let get = |wanted: &str| match wanted {
            wanted if wanted == name => Some(OsString::from(&value)),
            "FATHOMP_NODES" => Some("2".into()),
            "FATHOMP_RECORD" | "FATHOMP_DSM_LINES" => Some("/live".into()),
            _ => None,
        };
        if let Err(error) = Plan::from_env(&get) {
            prop_assert!(error.to_string().contains(name), "{}", error);
        }
    }
}
