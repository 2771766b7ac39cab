//! The connections of one program with the nodes of other hosts: which there have to be, and
//! which have come.
//!
//! Programs on a host that ask for connections are counted, on all hosts alike, so a
//! connection says which program it is for. The agent of the lower node makes it, and does not
//! wait for the other host's program to ask; so those for the next program may come early.

use crate::control::Place;
use crate::mesh::{Goal, Hello};
use crate::plan::Hosts;
use std::collections::HashMap;

/// A pair of nodes of different hosts, the lower one first.
type Pair = (u16, u16);

/// What there is, by program; `W` is a connection.
pub(super) struct Meeting<W> {
    hosts: Hosts,
    me: u16,
    secure: bool,
    generation: u32,
    /// Of this program and of the next.
    wires: HashMap<(u32, Pair), W>,
}

impl<W> Meeting<W> {
    pub(super) fn new(hosts: Hosts, me: u16, secure: bool) -> Self {
        Self {
            hosts,
            me,
            secure,
            generation: 0,
            wires: HashMap::new(),
        }
    }

    /// How many programs have asked.
    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    /// A program asks. Gives the connections that are to be made from here.
    pub(super) fn begin(&mut self, places: &[Place]) -> Vec<Goal> {
        self.generation = self.generation.saturating_add(1);
        let generation = self.generation;
        self.wires.retain(|(of, _), _| *of >= generation);
        let here = self.hosts.nodes_of(self.me);
        let pairs = self.pairs().filter(|(from, _)| here.contains(from));
        let goal = |(from, to)| {
            let host = self.hosts.host_of(to)?;
            let place = places.get(usize::from(host))?;
            let name = self.hosts.all().get(usize::from(host))?;
            Some(Goal {
                hello: Hello {
                    generation,
                    from,
                    to,
                    secure: self.secure,
                },
                // What means the launcher's machine there means this one here.
                name: (!name.is_here()).then(|| name.name.clone()),
                port: place.port,
                addresses: place.addresses.clone(),
            })
        };
        pairs.filter_map(goal).collect()
    }

    /// A connection has come. It is closed if nothing waits for it.
    pub(super) fn add(&mut self, hello: Hello, wire: W) {
        let early = self.generation.saturating_add(1);
        if (self.generation..=early).contains(&hello.generation) {
            let pair = (hello.from, hello.to);
            self.wires.entry((hello.generation, pair)).or_insert(wire);
        }
    }

    /// All connections of the program that asked last, as the node here, the node there and the
    /// connection; none before they are all there.
    pub(super) fn take(&mut self) -> Option<Vec<(u16, u16, W)>> {
        let pairs: Vec<Pair> = self.pairs().collect();
        let generation = self.generation;
        let all_here = pairs
            .iter()
            .all(|pair| self.wires.contains_key(&(generation, *pair)));
        if !all_here {
            return None;
        }
        let here = self.hosts.nodes_of(self.me);
        let taken = pairs.into_iter().filter_map(|(low, high)| {
            let wire = self.wires.remove(&(generation, (low, high)))?;
            Some(match here.contains(&low) {
                true => (low, high, wire),
                false => (high, low, wire),
            })
        });
        Some(taken.collect())
    }

    /// All pairs of a node here and one elsewhere.
    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair> + use<W> {
        let here = self.hosts.nodes_of(self.me);
        let nodes = self.hosts.nodes();
        let others = {
            let here = here.clone();
            move || {
                (0..nodes).filter({
                    let here = here.clone();
                    move |node| !here.contains(node)
                })
            }
        };
        here.flat_map(move |mine| others().map(move |other| (mine.min(other), mine.max(other))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(generation: u32, from: u16, to: u16) -> Hello {
        Hello {
            generation,
            from,
            to,
            secure: false,
        }
    }

    fn places() -> Vec<Place> {
        (1..=3)
            .map(|port| Place {
                port,
                addresses: vec![],
            })
            .collect()
    }

    #[test]
    fn the_lower_node_connects_and_all_pairs_are_waited_for() {
        let mut meeting = Meeting::new(Hosts::parse("a,b:2,localhost").unwrap(), 1, false);
        let goals = meeting.begin(&places());
        let found: Vec<_> = goals
            .iter()
            .map(|goal| {
                (
                    goal.hello.from,
                    goal.hello.to,
                    goal.port,
                    goal.name.is_some(),
                )
            })
            .collect();
        assert_eq!(found, [(1, 3, 3, false), (2, 3, 3, false)]);
        assert!(meeting.take().is_none());
        for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
            assert!(meeting.take().is_none());
            meeting.add(hello(1, from, to), (from, to));
        }
        let mut taken = meeting.take().unwrap();
        taken.sort_unstable();
        assert_eq!(
            taken,
            [
                (1, 0, (0, 1)),
                (1, 3, (1, 3)),
                (2, 0, (0, 2)),
                (2, 3, (2, 3))
            ]
        );
    }

    #[test]
    fn connections_of_the_next_program_may_come_early_and_others_not() {
        let mut meeting = Meeting::new(Hosts::parse("a,b").unwrap(), 1, false);
        meeting.add(hello(1, 0, 1), 1);
        meeting.add(hello(2, 0, 1), 2);
        meeting.add(hello(1, 0, 1), 3);
        assert!(meeting.begin(&places()).is_empty());
        assert_eq!(meeting.take(), Some(vec![(1, 0, 1)]));
        meeting.add(hello(2, 0, 1), 4);
        meeting.begin(&places());
        assert_eq!(meeting.take(), Some(vec![(1, 0, 4)]));
        meeting.add(hello(1, 0, 1), 5);
        meeting.begin(&places());
        assert_eq!(meeting.take(), None);
    }

    #[test]
    fn nodes_of_one_host_need_no_connection() {
        let mut meeting = Meeting::<()>::new(Hosts::parse("a:4").unwrap(), 0, false);
        assert!(meeting.begin(&places()).is_empty());
        assert_eq!(meeting.take(), Some(vec![]));
    }
}
