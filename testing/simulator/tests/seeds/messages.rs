//! How many messages a program takes whose nodes write what is at home elsewhere and meet,
//! as docs/protocols/home.md has it.

use fathomp_protocols::home::{Config, Home};
use fathomp_protocols::{Area, LockId, Placement};
use fathomp_simulator::{Address, Network, Program, Step, run_seed};
use fathomp_types::NodeId;
use rand::SeedableRng;
use rand::rngs::StdRng;

const NETWORK: Network = Network {
    delay_max: 1,
    slowness_max: 1,
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

/// A page in which one node alone carries out atomic instructions moves there, as if it wrote it:
/// then they take no messages.
#[test]
fn pages_move_to_the_node_that_alone_updates_them() {
    let byte = Address::at(0, 0);
    let messages = |phases: usize| {
        let mut phase = vec![Step::Observe(byte)];
        phase.extend([Step::Update(byte, 1); 10]);
        phase.push(Step::Barrier);
        let program = Program {
            pages: 1,
            threads: vec![
                vec![vec![Step::Barrier; phases]],
                vec![vec![phase; phases].concat()],
            ],
        };
        let home = Placement::At(NodeId(0));
        let config = Config {
            carries: true,
            ..Config::usual(2, vec![Area { pages: 1, home }], false, false)
        };
        let protocol = |me, config: &Config| Home::new(me, config.clone()).unwrap();
        let random = &mut StdRng::seed_from_u64(1);
        let outcome = run_seed(1, &program, NETWORK, &config, protocol, random);
        assert_eq!(outcome.changes, 10 * phases as u64);
        outcome.messages
    };
    // Two for each barrier, and two for each of the flushes that chance wants now and then.
    let more = messages(12) - messages(2);
    assert!(more < 10 * (2 + 10), "{more} messages in ten phases");
}

/// A lock that one node takes again and again takes no message: nor does what is written under it.
#[test]
fn locks_stay_where_they_are_taken_again_and_again() {
    let lock = LockId(1);
    let messages = |times: usize| {
        let section = [
            Step::Acquire(lock),
            Step::Write(Address::at(0, 0), 1),
            Step::Release(lock),
        ];
        let program = Program {
            pages: 1,
            threads: vec![
                vec![vec![Step::Barrier]],
                vec![[&section.repeat(times)[..], &[Step::Barrier]].concat()],
            ],
        };
        let home = Placement::At(NodeId(0));
        let config = Config {
            keeps_locks: true,
            ..Config::usual(2, vec![Area { pages: 1, home }], false, false)
        };
        let protocol = |me, config: &Config| Home::new(me, config.clone()).unwrap();
        let random = &mut StdRng::seed_from_u64(1);
        run_seed(1, &program, NETWORK, &config, protocol, random).messages
    };
    assert_eq!(messages(10), messages(50));
    // Once in a while it is given back, and what was written is told.
    assert!(messages(50) < messages(80) && messages(80) < messages(50) + 8);
}
