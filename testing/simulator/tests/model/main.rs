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
mod programs;
mod wait;

use cluster::Cluster;
use fathomp_protocols::heuristics::{Heuristics, Limits};
use fathomp_protocols::home::{self, Home};
use fathomp_protocols::homeless::{self, Homeless};
use fathomp_protocols::message::{Message, Term};
use fathomp_protocols::{Area, Placement, Protocol};
use fathomp_types::NodeId;
use memory::Small;
use programs::{LOCKED_BY_EXCHANGES, PASSED_BY_LOADS, PROGRAMS, Program};
use stateright::{Checker, Model};
use std::fmt::Debug;
use std::hash::Hash;

const NODES: u16 = 3;
const PAGES: usize = 2;
/// Faults at one step that are looked into ([`Cluster::faults_max`]): of the home-based
/// protocol, where threads may take pages from each other for ever. Of the homeless one all.
const FAULTS_MAX: u8 = 2;
const ALL_FAULTS: u8 = u8::MAX;

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

/// Of configurations, those with these numbers, or all.
fn some_of<C>(numbers: &[usize], configs: Vec<C>) -> Vec<C> {
    let everyday = |number: &usize| numbers.contains(number);
    let configs = configs.into_iter().enumerate();
    let some = configs.filter(|(number, _)| full() || everyday(number));
    some.map(|(_, config)| config).collect()
}

/// All predictors, which predict at once.
fn predictors() -> Heuristics {
    Heuristics::History(Limits {
        prefetch_pages_max: 2,
        lease_after_intervals: 1,
        keep_lock_after_releases: 1,
        ..Limits::default()
    })
}

fn home_configs(program: &Program) -> Vec<home::Config> {
    let mut configs = Vec::new();
    for (number, areas) in areas().into_iter().enumerate() {
        configs.push(home_config(program, number, areas.clone()));
        configs.push(home::Config {
            migrate: false,
            watch_home: false,
            published_steps: true,
            loads_acquire: true,
            heuristics: Heuristics::Nothing,
            log_max: 1024,
            ..home_config(program, number, areas)
        });
    }
    configs
}

/// Loads need not acquire, unless the program relies on that.
fn home_config(program: &Program, number: usize, areas: Vec<Area>) -> home::Config {
    home::Config {
        nodes: NODES,
        areas,
        migrate: true,
        watch_home: number == 3,
        published_steps: number == 3,
        batch: 1,
        loads_acquire: program.relies_on_loads,
        remembers_unseen: true,
        heuristics: predictors(),
        fan_in: if number == 0 { 1 } else { 2 },
        log_max: if number == 1 { 1 } else { 1024 },
        carries: false,
        keeps_locks: false,
    }
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
                remembers_unseen: true,
                stays_writable: true,
                postpones: false,
                sole_writers,
                hands_on: !sole_writers,
                heuristics: match sole_writers {
                    true => predictors(),
                    false => Heuristics::Nothing,
                },
                fan_in: if number == 0 { 1 } else { 2 },
                log_max: if diffs_max == 0 { 1 } else { 1024 },
            });
        }
    }
    configs
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
        for config in some_of(&[0, 1, 2, 6], home_configs(program)) {
            let home = |me| Home::new(me, config.clone()).unwrap();
            let mut cluster = cluster(program, FAULTS_MAX, home);
            cluster.looks_for = Some(leases);
            leased |= check(program, cluster);
        }
        let name = program.name;
        assert!(leased || !program.leases, "{name}: nothing is leased");
    }
}

/// Atomic instructions are carried to the homes of their pages.
#[test]
fn home_based_where_changes_are_carried() {
    for program in programs() {
        if !program.updates() {
            continue;
        }
        let configs = (0..).zip(areas()).map(|(number, areas)| home::Config {
            carries: true,
            ..home_config(program, number, areas)
        });
        for config in some_of(&[0, 1, 3], configs.collect()) {
            let home = |me| Home::new(me, config.clone()).unwrap();
            check(program, cluster(program, FAULTS_MAX, home));
        }
    }
}

/// Nodes keep locks from the first time on that they give them back.
#[test]
fn home_based_where_locks_stay() {
    for program in programs() {
        if program.tries_locks() || program.relies_on_loads {
            continue;
        }
        let configs = (0..).zip(areas()).map(|(number, areas)| home::Config {
            keeps_locks: true,
            ..home_config(program, number, areas)
        });
        for config in some_of(&[0, 1, 3], configs.collect()) {
            let home = |me| Home::new(me, config.clone()).unwrap();
            check(program, cluster(program, FAULTS_MAX, home));
        }
    }
}

#[test]
fn homeless() {
    for program in programs() {
        for config in some_of(&[0, 3, 7], homeless_configs(program)) {
            let homeless = |me| Homeless::new(me, config.clone()).unwrap();
            check(program, cluster(program, ALL_FAULTS, homeless));
        }
    }
}

/// Updates that nobody looks at are done in batches under the lock of atomic instructions.
#[test]
fn homeless_where_changes_are_postponed() {
    let kinds = [(100, true), (100, false), (0, true)];
    for program in programs() {
        if !program.adds() || program.relies_on_loads {
            continue;
        }
        let mut configs = Vec::new();
        for (number, areas) in areas().into_iter().enumerate() {
            configs.extend(kinds.map(|(diffs_max, sole_writers)| homeless::Config {
                nodes: NODES,
                areas: areas.clone(),
                diffs_max,
                loads_acquire: false,
                remembers_unseen: true,
                stays_writable: false,
                postpones: true,
                sole_writers,
                hands_on: !sole_writers,
                heuristics: match sole_writers {
                    true => predictors(),
                    false => Heuristics::Nothing,
                },
                fan_in: if number == 0 { 1 } else { 2 },
                log_max: if diffs_max == 0 { 1 } else { 1024 },
            }));
        }
        for config in some_of(&[0, 4, 8], configs) {
            let homeless = |me| Homeless::new(me, config.clone()).unwrap();
            check(program, cluster(program, ALL_FAULTS, homeless));
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
            let cluster = cluster(&PASSED_BY_LOADS, FAULTS_MAX, home);
            let checked = cluster.checker().spawn_bfs().join();
            checked.discovery(cluster::WRITTEN).is_some()
        });
    assert!(wrong);
}

/// The same of atomic instructions that nodes do not expect.
#[test]
fn what_atomic_instructions_may_read_is_found() {
    let wrong = (0..).zip(areas()).any(|(number, areas)| {
        let mut config = home_config(&LOCKED_BY_EXCHANGES, number, areas);
        config.remembers_unseen = false;
        let home = |me| Home::new(me, config.clone()).unwrap();
        let cluster = cluster(&LOCKED_BY_EXCHANGES, FAULTS_MAX, home);
        let checked = cluster.checker().spawn_bfs().join();
        checked.discovery(cluster::WRITTEN).is_some()
    });
    assert!(wrong);
}
