//! How many messages a program takes whose nodes write what is at home elsewhere and meet,
//! as docs/protocols/home.md has it.

use fathomp_base::NodeId;
use fathomp_dsm::home::{Config, Home};
use fathomp_dsm::{Area, Placement};
use fathomp_sim::{Address, Network, Program, Step, run_seed};
use rand::SeedableRng;
use rand::rngs::StdRng;

const NETWORK: Network = Network {
    delay_max: 1,
    slowness_max: 1,
    shared: None,
    keeps_locks: false,
    leaves: false,
    trace: false,
    images: false,
    events_max: 100_000,
    death: None,
};

/// Each node writes a page at home at node 0 before each of two barriers.
fn messages(nodes: u16, fan_in: u16) -> u64 {
    let pages = u32::from(nodes);
    let write = |page, value| Step::Write(Address::at(page, 0), value);
    let steps = |page| vec![write(page, 1), Step::Barrier, write(page, 2), Step::Barrier];
    let program = Program {
        pages,
        threads: (0..pages).map(|page| vec![steps(page)]).collect(),
    };
    let home = Placement::At(NodeId(0));
    let config = Config {
        fan_in,
        ..Config::usual(nodes, vec![Area { pages, home }], true, false)
    };
    let protocol = |me, config: &Config| Home::new(me, config.clone()).unwrap();
    let random = &mut StdRng::seed_from_u64(1);
    run_seed(1, &program, NETWORK, &config, protocol, random).messages
}

/// What was written right before a barrier is told with the arrival, however deep the tree.
#[test]
fn barriers_take_no_more_messages_in_deep_trees() {
    for fan_in in 1..=6 {
        let others = 6;
        let (fetches, barriers, diffs) = (2 * others, 2 * 2 * others, 2 * others);
        let all = fetches + barriers + diffs;
        assert_eq!(messages(7, fan_in), all, "{fan_in} below a node");
    }
}
