//! Copies that will probably be written, because the last one here was: they get a twin when
//! they come, and may be written without a fault. Before an input that may end an interval,
//! or bring news, they are compared with it ([`crate::Input::Wrote`]).

use super::message::Message;
use super::{Actions, Homeless, State};
use crate::{Action, Input, Offer, PageSet, Protection};
use fathomp_base::PageId;

impl<B: Clone> Homeless<B> {
    /// Whether a page that has come may be written without a fault, if the last copy here
    /// was `rewritten`.
    pub(super) fn expects_writes(&self, rewritten: bool) -> bool {
        // Whoever is at a barrier will not write before it is over. And what the sequencer tells
        // its own node in the same step may be that the page was written elsewhere.
        let comes_last = self.is_between_barriers() && !self.order.has_own();
        rewritten && self.is_direct() && comes_last
    }

    /// A page with a twin will probably be written.
    pub(super) fn expect(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.table.entry(page).state = State::Expected;
        self.expected.push(page);
        Action::protect(actions, page, Protection::Watched);
        self.offer_twin(page);
    }

    /// Those of the expected pages that were written.
    pub(super) fn wrote(&mut self, pages: &PageSet, actions: &mut Actions<B>) {
        for page in std::mem::take(&mut self.expected) {
            let entry = self.table.entry(page);
            if entry.state != State::Expected {
                continue;
            }
            if pages.contains(page) {
                entry.state = State::Dirty;
                entry.rewritten = true;
                self.dirty.push(page);
            } else {
                entry.state = State::Valid;
                actions.push(Action::DropTwin(page));
                Action::protect(actions, page, Protection::Read);
                self.offer(page, Offer::Open);
            }
        }
    }

    /// Whether it has to be told before an input which of the expected pages were written.
    pub(super) fn asks_for_writes(&self, input: &Input<Message<B>>) -> bool {
        let asks = match input {
            Input::Operation { .. } | Input::Logged(_) | Input::Claimed(..) => true,
            Input::Message { message, .. } => match message {
                Message::Control(_) => true,
                // It may be what a barrier waits for here, and the sequencer answers its own node
                // at once, that has to learn what is part of it.
                Message::Pages { .. } | Message::Diffs { .. } => {
                    self.order.comes_to_barrier() || self.order.is_root()
                }
                Message::PagesWanted { .. } | Message::DiffsWanted { .. } => false,
            },
            Input::Fault { .. } | Input::Wrote(_) | Input::Taken(_) | Input::Kept(..) => false,
            Input::Left(_) | Input::Borrowed(_) => false,
            Input::Brought(_) | Input::Begun(_) => false,
        };
        asks && !self.expected.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use crate::{Access, Area, Content, Operation, PageRange, Placement, Protocol};
    use fathomp_base::{NodeId, ThreadId};
    use std::collections::VecDeque;

    type Told = Input<Message<Content>>;

    struct Cluster {
        nodes: Vec<Homeless<Content>>,
        /// Messages, and the nodes that they go to.
        waiting: VecDeque<(usize, Told)>,
    }

    impl Cluster {
        /// So many nodes that share some pages, at first node 1's.
        fn new(nodes: u16) -> Self {
            let area = Area {
                pages: 16,
                home: Placement::At(NodeId(1)),
            };
            let mut config = Config::usual(nodes, vec![area], 1, false, false);
            config.direct = true;
            let nodes = (0..nodes).map(|me| Homeless::new(NodeId(me), config.clone()));
            Self {
                nodes: nodes.collect::<Result<_, _>>().unwrap(),
                waiting: VecDeque::new(),
            }
        }

        /// What is done at a node.
        fn step(&mut self, at: usize, input: Told) -> Vec<String> {
            let (node, mut actions) = (&mut self.nodes[at], Vec::new());
            if node.wants_writes(&input) {
                let nothing = Input::Wrote(PageSet::default());
                node.step(nothing, &mut actions).unwrap();
            }
            node.step(input, &mut actions).unwrap();
            let mut done = Vec::new();
            for action in actions {
                if let Action::Send(to, message) = action {
                    let message = Homeless::<Content>::fill(message, |content| content);
                    let from = NodeId(u16::try_from(at).unwrap());
                    let sent = (usize::from(to.0), Input::Message { from, message });
                    self.waiting.push_back(sent);
                } else {
                    done.push(format!("{action:?}"));
                }
            }
            done
        }

        /// The same with all messages that follow.
        fn run(&mut self, at: usize, input: Told) -> Vec<String> {
            let mut done = self.step(at, input);
            done.extend(self.deliver(at));
            done
        }

        /// All messages; what is done at a node.
        fn deliver(&mut self, at: usize) -> Vec<String> {
            let mut done = Vec::new();
            while let Some((to, message)) = self.waiting.pop_front() {
                let more = self.step(to, message);
                done.extend(more.into_iter().filter(|_| to == at));
            }
            done
        }
    }

    fn fault(page: u32, access: Access) -> Told {
        let (thread, page) = (ThreadId(0), PageId(page));
        Input::Fault {
            thread,
            page,
            access,
        }
    }

    fn operation(operation: Operation) -> Told {
        let thread = ThreadId(0);
        Input::Operation { thread, operation }
    }

    fn flush() -> Told {
        operation(Operation::Flush)
    }

    fn is_protected(done: &[String], page: u32, what: Protection) -> bool {
        let page = PageRange::from(PageId(page));
        done.contains(&format!("{:?}", Action::<(), ()>::Protect(page, what)))
    }

    /// The sequencer knows of an interval that its node has not learned of, which fetches a
    /// page that contains it: the node learns of it at once, and so what else was written in it.
    #[test]
    fn the_sequencers_node_looks_what_it_has_written_before_a_page_comes() {
        let mut cluster = Cluster::new(2);
        // Both write page 0, node 1 last.
        cluster.run(0, fault(0, Access::Write));
        cluster.run(0, flush());
        cluster.run(1, flush());
        cluster.run(1, fault(0, Access::Write));
        cluster.run(1, flush());
        cluster.run(0, flush());
        // While what it wrote is on its way, it writes that again, and page 1.
        cluster.step(0, fault(0, Access::Read));
        let (to, asked) = cluster.waiting.pop_front().unwrap();
        cluster.step(to, asked);
        let (to, answer) = cluster.waiting.pop_front().unwrap();
        cluster.run(1, fault(0, Access::Write));
        let kept: PageSet = [PageId(1)].into_iter().collect();
        cluster.run(1, Input::Kept(kept.clone(), kept));
        cluster.run(1, flush());
        let read = cluster.step(to, answer);
        assert!(is_protected(&read, 0, Protection::Watched), "{read:?}");
        let came = cluster.run(0, fault(1, Access::Read));
        assert!(is_protected(&came, 0, Protection::None), "{came:?}");
    }

    /// Two pages come together. What is part of the first one tells the sequencer's node of
    /// intervals, one of which has written the second one.
    #[test]
    fn no_writes_are_expected_of_a_page_that_is_old_when_it_comes() {
        let mut cluster = Cluster::new(3);
        let barrier = |cluster: &mut Cluster| {
            (0..3).for_each(|at| drop(cluster.step(at, operation(Operation::Barrier))));
            cluster.deliver(0);
        };
        // Node 0 has written page 1, and looked elsewhere since, and then node 1 alone wrote it.
        cluster.run(0, fault(1, Access::Write));
        for page in [4, 7, 10, 13] {
            cluster.run(0, fault(page, Access::Read));
        }
        barrier(&mut cluster);
        cluster.run(1, fault(1, Access::Write));
        barrier(&mut cluster);
        // Node 2 reads page 0 and writes page 1, and then node 1 writes page 0 again.
        cluster.run(2, fault(0, Access::Read));
        cluster.run(2, fault(1, Access::Write));
        cluster.run(2, flush());
        cluster.run(1, fault(0, Access::Write));
        cluster.run(1, flush());
        let first = cluster.run(0, fault(0, Access::Read));
        assert!(is_protected(&first, 1, Protection::None), "{first:?}");
        let second = cluster.run(0, fault(1, Access::Read));
        let applied = |done: &String| done.starts_with("Apply(PageId(1)");
        assert!(second.iter().any(applied), "{second:?}");
    }
}
