//! The homeless protocol on a few nodes with pages of a few bytes, whose messages arrive one
//! after the other.

use fathomp_protocols::homeless::{Config, Homeless};
use fathomp_protocols::message::{Control, Message};
use fathomp_protocols::{
    Access, Action, Area, Content, Input, Interval, LockId, Operation, Placement, Protection,
    Protocol, Version, Violation, WriteNotice,
};
use fathomp_types::{NodeId, PageId, ThreadId};
use std::collections::{BTreeMap, VecDeque};

const THREAD: ThreadId = ThreadId(0);

/// A page, or what changed in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bytes {
    Page([u8; 4]),
    Diff(Vec<(usize, u8)>),
}

/// What a node's page table does, and what is counted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    read_faults: u32,
    write_faults: u32,
    twins: u32,
    diffs: u32,
}

pub(crate) struct Page {
    bytes: [u8; 4],
    twin: Option<[u8; 4]>,
    allows: Protection,
    pub(crate) diffs: BTreeMap<Version, Vec<(usize, u8)>>,
}

pub(crate) struct Node {
    protocol: Homeless<Bytes>,
    pub(crate) pages: Vec<Page>,
    counts: Counts,
    /// Its thread stands still.
    stands: bool,
}

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    /// Messages on their way: to whom, and from whom.
    messages: VecDeque<(u16, NodeId, Message<Bytes>)>,
    pub(crate) sent: u32,
    /// Whether pages count as shorter than their diffs.
    pub(crate) hands_pages_on: bool,
}

impl Cluster {
    /// Nodes that share areas, each given by its pages and first owner.
    pub(crate) fn new(nodes: u16, areas: &[(u32, u16)], change: impl Fn(&mut Config)) -> Self {
        let area = |(pages, owner): &(u32, u16)| Area {
            pages: *pages,
            home: Placement::At(NodeId(*owner)),
        };
        let areas: Vec<_> = areas.iter().map(area).collect();
        let pages = areas.iter().map(|area| area.pages).sum::<u32>();
        let mut config = Config::usual(nodes, areas, 64, true, false);
        change(&mut config);
        let node = |me| Node {
            protocol: Homeless::new(NodeId(me), config.clone()).unwrap(),
            pages: (0..pages)
                .map(|_| Page {
                    bytes: [0; 4],
                    twin: None,
                    allows: Protection::ReadWrite,
                    diffs: BTreeMap::new(),
                })
                .collect(),
            counts: Counts::default(),
            stands: false,
        };
        let mut cluster = Self {
            nodes: (0..nodes).map(node).collect(),
            messages: VecDeque::new(),
            sent: 0,
            hands_pages_on: false,
        };
        for at in 0..nodes {
            let mut actions = Vec::new();
            cluster.node(at).protocol.start(&mut actions);
            cluster.carry_out(at, actions);
        }
        cluster
    }

    fn node(&mut self, at: u16) -> &mut Node {
        &mut self.nodes[usize::from(at)]
    }

    fn try_step(&mut self, at: u16, input: Input<Bytes>) -> Result<(), Violation> {
        let mut next = Some(input);
        while let Some(input) = next {
            let mut actions = Vec::new();
            self.node(at).protocol.step(input, &mut actions)?;
            self.node(at).protocol.check().unwrap();
            self.carry_out(at, actions);
            next = self.node(at).protocol.next_early();
        }
        Ok(())
    }

    fn carry_out(&mut self, at: u16, actions: Vec<Action<Bytes>>) {
        for action in actions {
            let node = self.node(at);
            let page = |page: PageId| page.0 as usize;
            match action {
                Action::Protect(pages, what) => {
                    pages.iter().for_each(|p| node.pages[page(p)].allows = what);
                }
                Action::Twin(id) => {
                    let page = &mut node.pages[page(id)];
                    assert_eq!(page.twin.replace(page.bytes), None);
                    node.counts.twins += 1;
                }
                Action::StoreDiff(id, interval) => {
                    let page = &mut node.pages[page(id)];
                    assert_ne!(
                        page.allows,
                        Protection::ReadWrite,
                        "a diff of what is written"
                    );
                    let twin = page.twin.take().unwrap();
                    let changed = |i: &usize| page.bytes[*i] != twin[*i];
                    let diff = (0..4).filter(changed).map(|i| (i, page.bytes[i])).collect();
                    assert_eq!(page.diffs.insert(interval, diff), None);
                    node.counts.diffs += 1;
                }
                Action::DropTwin(id) => drop(node.pages[page(id)].twin.take().unwrap()),
                Action::Forget => {
                    for page in &mut node.pages {
                        (page.twin, page.diffs) = (None, BTreeMap::new());
                    }
                }
                Action::ForgetOthers(me) => {
                    for page in &mut node.pages {
                        page.diffs.retain(|(writer, _), _| *writer == me);
                    }
                }
                Action::Install(id, Bytes::Page(bytes)) => node.pages[page(id)].bytes = bytes,
                Action::Apply(id, Bytes::Diff(diff)) => node.pages[page(id)].apply(&diff),
                Action::ApplyAndStore(id, version, Bytes::Diff(diff)) => {
                    node.pages[page(id)].apply(&diff);
                    assert_eq!(node.pages[page(id)].diffs.insert(version, diff), None);
                }
                Action::RestoreDiff(id, interval) => {
                    let page = &mut node.pages[page(id)];
                    let diff = page.diffs[&interval].clone();
                    page.apply(&diff);
                }
                Action::Resume(THREAD) => node.stands = false,
                Action::Send(to, message) => self.send(at, to, message),
                Action::SendShorter(to, [diffs, page]) => {
                    let message = if self.hands_pages_on { page } else { diffs };
                    self.send(at, to, message);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn send(&mut self, at: u16, to: NodeId, message: Message<Content>) {
        let node = self.node(at);
        let message = message.map(|content| match content {
            Content::Page(id) => Bytes::Page(node.pages[id.0 as usize].bytes),
            Content::Twin(id) => Bytes::Page(node.pages[id.0 as usize].twin.unwrap()),
            Content::Kept(id, of) => Bytes::Diff(node.pages[id.0 as usize].diffs[&of].clone()),
            other => panic!("{other:?}"),
        });
        self.messages.push_back((to.0, NodeId(at), message));
        self.sent += 1;
    }

    /// Delivers all messages.
    fn deliver(&mut self) {
        while let Some((to, from, message)) = self.messages.pop_front() {
            let message = Input::Message { from, message };
            self.try_step(to, message).unwrap();
        }
    }

    /// A thread touches a page, and gets what it waits for.
    fn touch(&mut self, at: u16, page: u32, access: Access) {
        let node = self.node(at);
        let counts = &mut node.counts;
        match (node.pages[page as usize].allows, access) {
            (Protection::ReadWrite, _) | (Protection::Read, Access::Read) => return,
            (_, Access::Read) => counts.read_faults += 1,
            (_, Access::Write) => counts.write_faults += 1,
        }
        node.stands = true;
        let (thread, page) = (THREAD, PageId(page));
        let fault = Input::Fault {
            thread,
            page,
            access,
        };
        self.try_step(at, fault).unwrap();
        self.deliver();
        assert!(!self.node(at).stands, "node {at} waits for {page:?}");
    }

    pub(crate) fn read(&mut self, at: u16, page: u32) -> [u8; 4] {
        self.touch(at, page, Access::Read);
        self.node(at).pages[page as usize].bytes
    }

    pub(crate) fn write(&mut self, at: u16, page: u32, byte: usize, value: u8) {
        self.touch(at, page, Access::Write);
        self.node(at).pages[page as usize].bytes[byte] = value;
    }

    fn ask(&mut self, at: u16, operation: Operation) {
        let thread = THREAD;
        self.node(at).stands = true;
        self.try_step(at, Input::Operation { thread, operation })
            .unwrap();
    }

    pub(crate) fn operation(&mut self, at: u16, operation: Operation) {
        self.ask(at, operation);
        self.deliver();
        assert!(!self.node(at).stands, "node {at} waits for {operation:?}");
    }

    fn flush(&mut self, at: u16) {
        self.operation(at, Operation::Flush);
    }

    pub(crate) fn barrier(&mut self) {
        let nodes = u16::try_from(self.nodes.len()).unwrap();
        (0..nodes).for_each(|at| self.ask(at, Operation::Barrier));
        self.deliver();
        assert!(self.nodes.iter().all(|node| !node.stands));
    }

    /// What happens at a node, counted.
    fn counts_of(&mut self, at: u16, what: impl FnOnce(&mut Self)) -> Counts {
        let before = self.node(at).counts;
        what(self);
        let after = self.node(at).counts;
        Counts {
            read_faults: after.read_faults - before.read_faults,
            write_faults: after.write_faults - before.write_faults,
            twins: after.twins - before.twins,
            diffs: after.diffs - before.diffs,
        }
    }
}

impl Page {
    fn apply(&mut self, diff: &[(usize, u8)]) {
        for (at, value) in diff {
            self.bytes[*at] = *value;
            if let Some(twin) = &mut self.twin {
                twin[*at] = *value;
            }
        }
    }
}

pub(crate) fn plain(_: &mut Config) {}

/// TreadMarks' number: a page is written with one fault until somebody wants to know what was
/// written.
#[test]
fn ten_rounds_over_256_pages_of_which_others_had_copies_are_256_write_faults() {
    const PAGES: u32 = 256;
    let mut cluster = Cluster::new(2, &[(PAGES, 0)], plain);
    for page in 0..PAGES {
        cluster.read(1, page);
    }
    cluster.barrier();
    let counts = cluster.counts_of(0, |cluster| {
        for round in 1..=10 {
            (0..PAGES).for_each(|page| cluster.write(0, page, 0, round));
            cluster.barrier();
        }
    });
    let expected = Counts {
        write_faults: 256,
        twins: 256,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
    // Then one diff of each page has all of it, and the next write is a fault again.
    let counts = cluster.counts_of(0, |cluster| {
        (0..PAGES).for_each(|page| assert_eq!(cluster.read(1, page), [10, 0, 0, 0]));
        (0..PAGES).for_each(|page| cluster.write(0, page, 0, 11));
    });
    let expected = Counts {
        diffs: 256,
        ..expected
    };
    assert_eq!(counts, expected);
}

/// Why a diff belongs to the first interval that it covers: node 2 knows that one, and writes
/// the byte again. Were the diff one of the later interval, node 1 would put it in after node
/// 2's.
#[test]
fn a_diff_comes_before_what_was_written_with_its_first_interval_known() {
    let mut cluster = Cluster::new(3, &[(2, 0)], plain);
    for (at, page) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
        cluster.read(at, page);
    }
    cluster.write(0, 0, 0, 1);
    cluster.flush(0);
    cluster.flush(2);
    // The page stays writable: what is written now belongs to the first interval's diff, and
    // the second interval names another page.
    cluster.write(0, 0, 1, 2);
    cluster.write(0, 1, 0, 1);
    cluster.flush(0);
    assert_eq!(cluster.node(0).counts.twins, 2);
    assert_eq!(cluster.read(2, 0), [1, 2, 0, 0]);
    cluster.write(2, 0, 0, 3);
    cluster.flush(2);
    cluster.flush(1);
    assert_eq!(cluster.read(1, 0), [3, 2, 0, 0]);
    cluster.flush(0);
    assert_eq!(cluster.read(0, 0), [3, 2, 0, 0]);
}

#[test]
fn what_two_nodes_write_into_one_page_comes_together() {
    for loads_acquire in [false, true] {
        let mut cluster = Cluster::new(3, &[(1, 0)], |c| c.loads_acquire = loads_acquire);
        for at in [1, 2] {
            cluster.read(at, 0);
        }
        for round in 1..4 {
            (0..3).for_each(|at| cluster.write(at, 0, usize::from(at), round));
            cluster.barrier();
            let all = [round, round, round, 0];
            (0..3).for_each(|at| assert_eq!(cluster.read(at, 0), all));
        }
    }
}

#[test]
fn a_lock_carries_what_was_written_under_it() {
    let mut cluster = Cluster::new(2, &[(1, 0)], plain);
    for round in 0..3 {
        for at in [0, 1] {
            cluster.operation(at, Operation::Acquire(LockId(7)));
            let [count, ..] = cluster.read(at, 0);
            assert_eq!(u16::from(count), 2 * round + at);
            cluster.write(at, 0, 0, count + 1);
            cluster.operation(at, Operation::Release(LockId(7)));
        }
    }
}

/// Where loads acquire, a diff shows nothing of what its interval has not told.
#[test]
fn where_loads_acquire_intervals_end_with_their_writes() {
    let written = |loads_acquire| {
        let mut cluster = Cluster::new(2, &[(1, 0)], |c| c.loads_acquire = loads_acquire);
        cluster.read(1, 0);
        cluster.write(0, 0, 0, 1);
        cluster.flush(0);
        cluster.write(0, 0, 1, 1);
        cluster.flush(1);
        cluster.read(1, 0)
    };
    assert_eq!(written(true), [1, 0, 0, 0]);
    assert_eq!(written(false), [1, 1, 0, 0]);
}

#[test]
fn a_tidying_leaves_one_owner_and_no_diffs() {
    let mut cluster = Cluster::new(3, &[(3, 0)], |config| config.diffs_max = 1);
    for page in 0..3 {
        cluster.read(1, page);
    }
    // One page of node 1, one of both.
    for page in [0, 1] {
        cluster.write(1, page, 1, 5);
    }
    cluster.write(0, 1, 0, 4);
    cluster.barrier();
    for node in &cluster.nodes {
        assert!(
            node.pages
                .iter()
                .all(|page| page.diffs.is_empty() && page.twin.is_none())
        );
    }
    assert_eq!(cluster.node(1).pages[0].allows, Protection::ReadWrite);
    assert_eq!(cluster.node(1).pages[1].allows, Protection::Read);
    assert_eq!(cluster.node(0).pages[0].allows, Protection::None);
    for at in 0..3 {
        assert_eq!(cluster.read(at, 0), [0, 5, 0, 0]);
        assert_eq!(cluster.read(at, 1), [4, 5, 0, 0]);
    }
}

#[test]
fn what_one_node_writes_is_its_own_until_another_reads() {
    let mut cluster = Cluster::new(2, &[(1, 0)], |config| config.sole_writers = true);
    cluster.write(1, 0, 0, 1);
    cluster.barrier();
    assert_eq!(cluster.node(0).pages[0].allows, Protection::None);
    let counts = cluster.counts_of(1, |cluster| {
        // Whatever it writes now, nobody is told.
        cluster.write(1, 0, 0, 2);
        cluster.barrier();
        assert_eq!(cluster.read(0, 0), [2, 0, 0, 0]);
        cluster.write(1, 0, 0, 3);
    });
    let expected = Counts {
        write_faults: 1,
        twins: 1,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
}

/// Node 1 writes node 0's page and comes to a barrier, which ends its interval; then node 0
/// reads node 1's own.
#[test]
fn a_page_written_unwatched_tells_nothing_where_loads_do_not_acquire() {
    let messages = |loads_acquire| {
        let mut cluster = Cluster::new(2, &[(1, 0), (1, 1)], |c| c.loads_acquire = loads_acquire);
        cluster.write(1, 0, 0, 1);
        cluster.ask(1, Operation::Barrier);
        cluster.deliver();
        let before = cluster.sent;
        cluster.read(0, 1);
        cluster.sent - before
    };
    // The page, and what was asked for. If loads acquire, the interval as well.
    assert_eq!([false, true].map(messages), [2, 4]);
}

#[test]
fn nodes_that_do_not_keep_to_the_protocol_are_named() {
    let mut cluster = Cluster::new(2, &[(1, 0), (1, 1)], plain);
    let (epoch, page, from) = (0, PageId(1), NodeId(1));
    let wrong = [
        Message::Fetch {
            epoch,
            pages: page.into(),
            need: Vec::new(),
        },
        Message::DiffsWanted {
            epoch,
            page: PageId(0),
            intervals: vec![Interval(1)],
        },
        Message::DiffsOfPage {
            epoch,
            page,
            diffs: Vec::new(),
        },
        Message::HandOn {
            epoch,
            page: PageId(0),
            wanted: vec![(NodeId(0), Interval(1))],
            whole: true,
        },
        Message::HandOn {
            epoch,
            page: PageId(77),
            wanted: vec![(NodeId(1), Interval(1))],
            whole: false,
        },
        Message::HandedOn {
            epoch,
            page,
            diffs: Vec::new(),
        },
        Message::Pages {
            epoch,
            first: page,
            copies: Vec::new(),
        },
        Message::Control(Control::Arrive {
            epoch,
            notices: vec![WriteNotice {
                writer: NodeId(0),
                interval: Interval(1),
                pages: [page].into_iter().collect(),
                recalls: false,
                first: false,
                late: false,
                knew: Vec::new(),
            }],
            full: false,
        }),
        Message::Diffs {
            epoch,
            interval: Interval(1),
            diffs: Vec::new(),
            more: false,
        },
    ];
    for message in wrong {
        let said = cluster.try_step(0, Input::Message { from, message });
        let names_it = matches!(
            said,
            Err(Violation::Peer {
                from: NodeId(1),
                ..
            })
        );
        assert!(names_it, "{said:?}");
    }
    let page = PageId(2);
    let (thread, access) = (THREAD, Access::Read);
    let outside = Input::Fault {
        thread,
        page,
        access,
    };
    assert!(matches!(
        cluster.try_step(0, outside),
        Err(Violation::Runtime(_))
    ));
}
