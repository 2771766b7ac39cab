//! Random clusters for a program: where pages are at home, how much is fetched in
//! advance, how deep the barrier's tree is, how slow everything is.

use crate::network::Network;
use crate::program::Program;
use fathomp_protocols::heuristics::{Heuristics, Limits, Predictor};
use fathomp_protocols::{Area, Placement, home, homeless};
use fathomp_types::NodeId;
use rand::{Rng, RngExt};

/// A network of any kind.
pub fn random_network(random: &mut impl Rng) -> Network {
    Network {
        delay_max: [1, 4, 60][random.random_range(0..3)],
        slowness_max: [1, 20][random.random_range(0..2)],
        trace: false,
        images: false,
        events_max: 2_000_000,
        death: None,
    }
}

/// Areas of all kinds that together have `pages` pages.
fn random_areas(nodes: u16, mut pages: u32, random: &mut impl Rng) -> Vec<Area> {
    let mut areas = Vec::new();
    while pages > 0 {
        let node = NodeId(random.random_range(0..nodes));
        let area = Area {
            pages: random.random_range(1..=pages),
            home: match random.random_range(0..4) {
                0 => Placement::Block,
                1 => Placement::Cyclic(random.random_range(1..3)),
                2 => Placement::At(node),
                _ => Placement::Pinned(node),
            },
        };
        pages -= area.pages;
        areas.push(area);
    }
    areas
}

/// Room in the sequencer's log, which is full soon or never.
fn log_max(program: &Program) -> usize {
    let steps: usize = program.threads.iter().flatten().map(Vec::len).sum();
    let nodes = program.threads.len();
    [nodes + 1, nodes + 2, nodes + 5, 1024][steps % 4]
}

/// Some of the predictors, which predict soon.
pub fn random_heuristics(random: &mut impl Rng) -> Heuristics {
    let left_out = Predictor::ALL.into_iter();
    Heuristics::History(Limits {
        prefetch_pages_max: random.random_range(1..6),
        lease_after_intervals: random.random_range(0..3),
        keep_lock_after_releases: random.random_range(1..3),
        left_out: left_out.filter(|_| random.random_ratio(1, 4)).collect(),
    })
}

/// The home-based protocol in any of its configurations that the program may
/// rely on.
pub fn random_home(program: &Program, random: &mut impl Rng) -> home::Config {
    let nodes = program.nodes();
    home::Config {
        nodes,
        areas: random_areas(nodes, program.pages, random),
        migrate: random.random(),
        watch_home: random.random_ratio(1, 4),
        published_steps: random.random_ratio(1, 4),
        batch: [1, 2, 256][program.pages as usize % 3],
        loads_acquire: program.relies_on_loads() || random.random(),
        remembers_unseen: program.updates() || program.waits() && random.random(),
        heuristics: random_heuristics(random),
        fan_in: random.random_range(1..=3),
        log_max: log_max(program),
        carries: program.updates() && random.random(),
        keeps_locks: !program.tries_locks() && random.random(),
    }
}

/// The homeless protocol in any of its configurations that the program may rely
/// on.
pub fn random_homeless(program: &Program, random: &mut impl Rng) -> homeless::Config {
    let nodes = program.nodes();
    homeless::Config {
        nodes,
        areas: random_areas(nodes, program.pages, random),
        diffs_max: match random.random() {
            true => random.random_range(0..20),
            false => 1000,
        },
        loads_acquire: program.relies_on_loads() || random.random(),
        remembers_unseen: program.updates() || program.waits() && random.random(),
        stays_writable: random.random(),
        postpones: program.updates(),
        sole_writers: random.random(),
        hands_on: random.random(),
        heuristics: random_heuristics(random),
        fan_in: random.random_range(1..=3),
        log_max: log_max(program),
    }
}
