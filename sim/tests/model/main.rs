//! Small programs on three nodes that share two pages of two bytes, over both
//! protocols: everything that can happen, in every order (stateright). Reads see
//! the last ordered write, nobody waits for ever, and all valid copies are alike at
//! barriers.
//!
//! Everyday some configurations of the protocols are tried, and of each program the
//! first 50,000 states; with `FATHOMP_MODEL=full` more programs, all
//! configurations, and all states; with a part of programs' names there, of these.

mod cluster;
mod machine;
mod memory;
mod wait;

use cluster::{Cluster, Step};
use fathomp_base::NodeId;
use fathomp_dsm::guess::{Guessing, Limits};
use fathomp_dsm::home::{self, Home};
use fathomp_dsm::homeless::{self, Homeless};
use fathomp_dsm::message::{Message, Term};
use fathomp_dsm::{Area, Placement, Protocol};
use fathomp_shared::Sizes;
use memory::{Place, Small};
use stateright::{Checker, Model};
use std::fmt::Debug;
use std::hash::Hash;

const NODES: u16 = 3;
const PAGES: usize = 2;
/// Faults at one step that are looked into ([`Cluster::faults_max`]): of the home-based
/// protocol, where threads may take pages from each other for ever. Of the homeless one all.
const FAULTS_MAX: u8 = 2;
const ALL_FAULTS: u8 = u8::MAX;

/// The first page and the second.
const A: Place = Place { page: 0, byte: 0 };
const A2: Place = Place { page: 0, byte: 1 };
const B: Place = Place { page: 1, byte: 0 };

use Step::{
    Acquire, Barrier, Flush, IfSeen, IfUpdated, IfWaited, Keep, Read, Release, TryAcquire, Update,
    Write,
};

/// A program: a thread on each node, and perhaps one more on node 0 that takes no
/// part in barriers.
struct Program {
    name: &'static str,
    threads: [&'static [Step]; 3],
    own_thread: &'static [Step],
    /// Whether plain loads have to acquire.
    relies_on_loads: bool,
    /// Whether who updates relies on plain writes of others: without homes, loads have to
    /// acquire for that.
    relies_on_writes: bool,
    /// Pages are leased in some of the runs over the home-based protocol, if they can be.
    leases: bool,
    /// Takes long.
    large: bool,
}

const fn program(name: &'static str, threads: [&'static [Step]; 3]) -> Program {
    Program {
        name,
        threads,
        own_thread: &[],
        relies_on_loads: false,
        relies_on_writes: false,
        leases: false,
        large: false,
    }
}

const PASSED_BY_LOADS: Program = Program {
    relies_on_loads: true,
    ..program(
        "messages are passed by plain loads",
        [
            &[Write(A, 1), Write(B, 1), Flush],
            &[IfSeen(A2, 9, 0), IfSeen(B, 1, 1), Read(A)],
            &[IfSeen(A2, 9, 0), IfSeen(B, 1, 1), Read(A)],
        ],
    )
};

const PROGRAMS: &[Program] = &[
    program(
        "two writers of a page, read after a barrier",
        [
            &[Write(A, 1), Barrier, Read(A2)],
            &[Write(A2, 2), Barrier, Read(A)],
            &[Barrier, Read(A), Read(A2)],
        ],
    ),
    program(
        "a page goes round at barriers",
        [
            &[Write(A, 1), Barrier, Read(B), Barrier, Read(A)],
            &[Write(B, 1), Barrier, Write(A, 2), Barrier, Read(A)],
            &[Barrier, Read(B), Barrier, Write(A2, 3), Write(B, 3)],
        ],
    ),
    program(
        "a lock goes round",
        [
            &[
                Acquire(1),
                Read(B),
                Write(B, 1),
                Release(1),
                Barrier,
                Read(B),
            ],
            &[
                Acquire(1),
                Read(B),
                Write(B, 2),
                Release(1),
                Barrier,
                Read(B),
            ],
            &[TryAcquire(1, 3), Read(B), Write(B, 3), Release(1), Barrier],
        ],
    ),
    program(
        "a lock stays",
        [
            &[
                Acquire(1),
                Write(A, 1),
                Keep(1),
                Acquire(1),
                Read(A),
                Write(B, 1),
                Keep(1),
                Barrier,
            ],
            &[
                Acquire(1),
                Read(A),
                Write(A, 2),
                Keep(1),
                Barrier,
                Acquire(1),
                Write(B, 2),
                Keep(1),
            ],
            &[
                TryAcquire(1, 3),
                Read(B),
                Write(A, 3),
                Release(1),
                Barrier,
                Acquire(1),
                Read(A),
                Read(B),
                Keep(1),
            ],
        ],
    ),
    program(
        "two locks",
        [
            &[
                Acquire(1),
                Write(A, 1),
                Release(1),
                Acquire(2),
                Read(A2),
                Release(2),
            ],
            &[
                Acquire(2),
                Write(A2, 1),
                Release(2),
                Acquire(1),
                Read(A),
                Release(1),
            ],
            &[Acquire(2), Read(A2), Write(A2, 2), Release(2)],
        ],
    ),
    program(
        "messages are passed by flushes",
        [
            &[Write(A, 1), Flush, Write(B, 1), Flush],
            &[Read(A2), Flush, IfSeen(B, 1, 2), Flush, Read(A)],
            &[Write(A2, 0), Flush],
        ],
    ),
    program(
        "all update a byte",
        [
            &[Update(A, 1), Update(A, 1), Barrier, Barrier, Read(A)],
            &[Write(A2, 5), Update(A, 2), Barrier, Barrier, Read(A)],
            &[Update(A, 4), Barrier, Update(A, 8), Barrier, Read(B)],
        ],
    ),
    program(
        "a message is passed by an update",
        [
            &[Write(B, 1), Update(A, 1), Write(A2, 3)],
            &[IfSeen(A2, 9, 0), IfUpdated(A, 1, 1), Read(B)],
            &[IfSeen(B, 9, 0), IfUpdated(A, 1, 1), Read(B)],
        ],
    ),
    Program {
        relies_on_writes: true,
        ..program(
            "a message is passed by a plain write to who updates",
            [
                &[Write(B, 1), Write(A, 1), Barrier],
                &[IfSeen(B, 9, 0), IfUpdated(A, 1, 1), Read(B), Barrier],
                &[IfUpdated(A, 1, 1), Read(B), Barrier],
            ],
        )
    },
    program(
        "a message is passed by plain writes to who waits",
        [
            &[Write(B, 1), Write(A, 1), Barrier],
            &[IfSeen(B, 9, 0), IfWaited(A, 1, 1), Read(B), Barrier],
            &[IfWaited(A, 1, 1), Read(B), Write(A2, 1), Barrier],
        ],
    ),
    program(
        "a message is passed on to who waits",
        [
            &[Write(A, 1), Write(A2, 1)],
            &[IfWaited(A2, 1, 1), Write(B, 1)],
            &[IfSeen(A, 9, 0), IfWaited(B, 1, 1), Read(A)],
        ],
    ),
    Program {
        leases: true,
        ..program(
            "who writes a page again and again leases it",
            [
                &[Write(A2, 1), Barrier, Read(A)],
                &[
                    Write(A, 1),
                    Flush,
                    Write(A, 2),
                    Flush,
                    Write(A, 3),
                    Barrier,
                    Read(A2),
                ],
                &[Barrier, Read(A), Read(A2)],
            ],
        )
    },
    Program {
        leases: true,
        large: true,
        ..program(
            "a page that is leased is wanted back",
            [
                &[
                    IfSeen(A2, 9, 0),
                    Flush,
                    IfSeen(B, 1, 2),
                    Flush,
                    Read(A),
                    Barrier,
                    Read(A),
                ],
                &[
                    Write(A, 1),
                    Flush,
                    Write(A, 2),
                    Flush,
                    Write(A, 3),
                    Flush,
                    Write(B, 1),
                    Barrier,
                    Read(A2),
                ],
                &[Write(A2, 1), Barrier],
            ],
        )
    },
    PASSED_BY_LOADS,
    Program {
        relies_on_loads: true,
        ..program(
            "causes are seen before effects",
            [
                &[Write(A, 1), Flush],
                &[IfSeen(A, 1, 1), Write(B, 1)],
                &[IfSeen(A, 9, 0), IfSeen(B, 1, 1), Read(A)],
            ],
        )
    },
    Program {
        own_thread: &[Write(A2, 1), Read(A2), Write(A2, 2)],
        ..program(
            "a thread writes while its node is at a barrier",
            [
                &[Barrier, Read(A), Barrier],
                &[Write(A, 1), Barrier, Barrier, Write(A, 2)],
                &[Barrier, Read(A), Barrier],
            ],
        )
    },
    Program {
        own_thread: &[
            Acquire(1),
            Read(A2),
            Write(A2, 1),
            Release(1),
            Acquire(1),
            Read(A2),
            Release(1),
        ],
        ..program(
            "a thread uses a lock while its node is at a barrier",
            [
                &[Barrier, Barrier],
                &[
                    Write(A, 1),
                    Acquire(1),
                    Write(A2, 2),
                    Release(1),
                    Barrier,
                    Barrier,
                ],
                &[Barrier, Acquire(1), Read(A2), Release(1), Read(A), Barrier],
            ],
        )
    },
    Program {
        large: true,
        ..program(
            "a lock between barriers",
            [
                &[
                    Write(A2, 1),
                    Acquire(1),
                    Write(A, 1),
                    Release(1),
                    Barrier,
                    Read(A2),
                    Write(A, 4),
                ],
                &[
                    Acquire(1),
                    Read(A),
                    Write(A, 2),
                    Release(1),
                    Barrier,
                    Read(A2),
                    Write(B, 1),
                ],
                &[
                    Read(B),
                    Acquire(1),
                    Write(A, 3),
                    Release(1),
                    Barrier,
                    Read(A2),
                ],
            ],
        )
    },
    Program {
        large: true,
        relies_on_loads: true,
        ..program(
            "flushes and loads",
            [
                &[Write(A, 1), Flush, Write(B, 1), Barrier, Read(A2)],
                &[
                    Read(A2),
                    Flush,
                    IfSeen(B, 1, 2),
                    Write(A2, 1),
                    Read(A),
                    Barrier,
                    Write(A, 2),
                ],
                &[
                    IfSeen(B, 1, 1),
                    Read(A),
                    Flush,
                    IfSeen(B, 1, 1),
                    Read(A),
                    Barrier,
                ],
            ],
        )
    },
];

/// What is asked for.
fn asked() -> Option<String> {
    std::env::var("FATHOMP_MODEL").ok()
}

/// Whether to try everything.
fn full() -> bool {
    asked().is_some()
}

fn programs() -> Vec<&'static Program> {
    let asked = asked();
    let programs = PROGRAMS.iter().filter(|program| match asked.as_deref() {
        None => !program.large,
        Some("full") => true,
        Some(part) => program.name.contains(part),
    });
    let programs: Vec<_> = programs.collect();
    assert!(!programs.is_empty(), "no program is called like {asked:?}");
    programs
}

fn cluster<P: Protocol<Small>>(
    program: &Program,
    shared: Option<Sizes>,
    faults_max: u8,
    protocol: impl Fn(NodeId) -> P,
) -> Cluster<P> {
    let mut programs = program.threads.map(|steps| vec![steps.to_vec()]);
    if !program.own_thread.is_empty() {
        programs[0].push(program.own_thread.to_vec());
    }
    Cluster {
        start: (0..NODES).map(|node| protocol(NodeId(node))).collect(),
        pages: PAGES,
        shared,
        programs: programs.to_vec(),
        faults_max,
        looks_for: None,
    }
}

/// Goes through all states of a program over a protocol, or many. True if it came to what is
/// looked for.
fn check<P>(program: &Program, cluster: Cluster<P>) -> bool
where
    P: Protocol<Small> + Clone + Debug + PartialEq + Hash + Send + Sync + 'static,
{
    const EVERYDAY: usize = 50_000;
    let checker = cluster.checker();
    if full() {
        // What has been seen and not gone through yet is kept: in depth that is little.
        report(program, true, &checker.spawn_dfs().join())
    } else {
        let checker = checker.target_state_count(EVERYDAY).threads(2);
        let checked = checker.spawn_bfs().join();
        report(program, checked.state_count() < EVERYDAY, &checked)
    }
}

fn report<P>(program: &Program, all: bool, checked: &impl Checker<Cluster<P>>) -> bool
where
    P: Protocol<Small> + Clone + Debug + PartialEq + Hash + 'static,
{
    let states = checked.unique_state_count();
    let which = if all { "all" } else { "the first" };
    println!("{}: {which} {states} states", program.name);
    let mut found = checked.discoveries();
    let reached = found.remove(cluster::REACHED).is_some();
    if let Some((property, path)) = found.into_iter().next() {
        let last = path.last_state();
        panic!(
            "{}: not so: {property}, after {path}: {last:?}",
            program.name
        );
    }
    reached
}

/// Where the two pages are at first: each at a node that uses it or not.
fn areas() -> [Vec<Area>; 4] {
    let area = |home| Area { pages: 1, home };
    let [zero, one, two] = [0, 1, 2].map(NodeId);
    [
        vec![area(Placement::At(one)), area(Placement::At(two))],
        vec![area(Placement::At(zero)), area(Placement::Pinned(one))],
        vec![area(Placement::Pinned(two)), area(Placement::At(zero))],
        vec![area(Placement::At(zero)), area(Placement::At(zero))],
    ]
}

/// Of configurations, a plain one and two rich ones, or all.
fn some_of<C>(configs: Vec<C>) -> Vec<C> {
    let everyday = |number: &usize| [0, 3, 7].contains(number);
    let configs = configs.into_iter().enumerate();
    let some = configs.filter(|(number, _)| full() || everyday(number));
    some.map(|(_, config)| config).collect()
}

fn guessing(guesses: bool) -> Guessing {
    let habits = Limits {
        prefetch: 2,
        expect_writes: true,
        lease_after: 1,
    };
    match guesses {
        true => Guessing::Habits(habits),
        false => Guessing::Nothing,
    }
}

fn home_configs(program: &Program) -> Vec<home::Config> {
    let mut configs = Vec::new();
    for (number, areas) in areas().into_iter().enumerate() {
        for richly in [false, true] {
            configs.push(home::Config {
                nodes: NODES,
                areas: areas.clone(),
                migrate: richly,
                watch_home: false,
                batch: 1,
                loads_acquire: program.relies_on_loads || !richly,
                direct: richly,
                guessing: guessing(richly),
                fan_in: if number == 0 { 1 } else { 2 },
                log_max: if richly { 1 } else { 1024 },
            });
        }
    }
    configs
}

fn homeless_configs(program: &Program) -> Vec<homeless::Config> {
    let mut configs = Vec::new();
    for (number, areas) in areas().into_iter().enumerate() {
        let kinds = [
            (0, false, false),
            (100, false, true),
            (100, true, false),
            (100, false, false),
            (100, true, true),
        ];
        for (diffs_max, sole_writers, acquires) in kinds {
            configs.push(homeless::Config {
                nodes: NODES,
                areas: areas.clone(),
                diffs_max,
                loads_acquire: program.relies_on_loads || program.relies_on_writes || acquires,
                sole_writers,
                guessing: guessing(sole_writers),
                fan_in: if number == 0 { 1 } else { 2 },
                log_max: if diffs_max == 0 { 1 } else { 1024 },
            });
        }
    }
    configs
}

/// Memory that the nodes share, if they do.
fn shared(config: &home::Config) -> Option<Sizes> {
    config.direct.then(Sizes::small)
}

/// A home leaves pages to another node.
fn leases(message: &Message<Small>) -> bool {
    let Message::Lease { term, pages, .. } = message else {
        return false;
    };
    *term == Term::Grant && !pages.is_empty()
}

#[test]
fn home_based() {
    for program in programs() {
        let mut leased = false;
        for config in some_of(home_configs(program)) {
            let home = |me| Home::new(me, config.clone()).unwrap();
            let mut cluster = cluster(program, shared(&config), FAULTS_MAX, home);
            cluster.looks_for = Some(leases);
            leased |= check(program, cluster);
        }
        let name = program.name;
        assert!(leased || !program.leases, "{name}: nothing is leased");
    }
}

#[test]
fn homeless() {
    for program in programs() {
        for config in some_of(homeless_configs(program)) {
            let homeless = |me| Homeless::new(me, config.clone()).unwrap();
            check(program, cluster(program, None, ALL_FAULTS, homeless));
        }
    }
}

/// Where plain loads need not acquire, they do not: what the checks are there to
/// find is found.
#[test]
fn what_is_wrong_is_found() {
    let wrong = home_configs(&PASSED_BY_LOADS)
        .into_iter()
        .any(|mut config| {
            config.loads_acquire = false;
            let home = |me| Home::new(me, config.clone()).unwrap();
            let cluster = cluster(&PASSED_BY_LOADS, shared(&config), FAULTS_MAX, home);
            let checked = cluster.checker().spawn_bfs().join();
            checked.discovery(cluster::WRITTEN).is_some()
        });
    assert!(wrong);
}
