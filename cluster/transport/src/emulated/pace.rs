//! Keeps the clocks of nodes in step whose time is emulated.
//!
//! Each node has a clock of its own, which the machine that runs them all moves
//! on when it likes. What happens at a node must nevertheless happen in the order of
//! these clocks: who asks for a lock first gets it. So a node does something only
//! when nothing can reach it any more that is earlier. That is a conservative
//! parallel simulation of discrete events (Chandy and Misra, "Distributed Simulation",
//! IEEE TSE 5(5), 1979), with the network's latency as its lookahead, in which
//! shared words stand for null messages.
//!
//! A node's *horizon* is the earliest moment at which its program can do something;
//! never while it waits, since then only messages can move it. A message on its way
//! holds back as much as the node that it will reach. Nobody may see a moment held by
//! neither sender nor message nor receiver: whoever takes a hold over makes its own
//! first, then counts a change, then gives the other one up; whoever looks does so
//! again if changes were counted meanwhile.

use crate::primitive::{AtomicU64, Ordering};

/// No moment.
pub(crate) const NEVER: u64 = u64::MAX - 1;
/// The horizon of a node that has left.
const GONE: u64 = u64::MAX;

/// What a node can wait for until others have come so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Its program's.
    Program = 0,
    /// That of a message.
    Message = 1,
}

impl Turn {
    const ALL: [Self; 2] = [Self::Program, Self::Message];
}

/// All nodes' words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<'a> {
    nodes: usize,
    latency_ns: u64,
    changes: &'a AtomicU64,
    horizons: &'a [AtomicU64],
    /// Per node and kind of turn: the moment that waits, 0 if none does.
    held: &'a [AtomicU64],
    /// Per receiver and sender: messages sent, and handled.
    sent: &'a [AtomicU64],
    handled: &'a [AtomicU64],
    /// Per receiver and sender: no message that is not handled is due earlier.
    due: &'a [AtomicU64],
}

impl<'a> Pace<'a> {
    /// Words for so many nodes.
    pub(crate) const fn words(nodes: usize) -> usize {
        1 + nodes * (1 + Turn::ALL.len()) + 3 * nodes * nodes
    }

    /// In these words, zero at first. Messages take at least `latency_ns`, which is not
    /// 0.
    pub(crate) fn new(words: &'a [AtomicU64], nodes: usize, latency_ns: u64) -> Self {
        let (changes, rest) = words.split_at(1);
        let (horizons, rest) = rest.split_at(nodes);
        let (held, rest) = rest.split_at(nodes * Turn::ALL.len());
        let (sent, rest) = rest.split_at(nodes * nodes);
        let (handled, rest) = rest.split_at(nodes * nodes);
        Self {
            nodes,
            latency_ns,
            changes: &changes[0],
            horizons,
            held,
            sent,
            handled,
            due: &rest[..nodes * nodes],
        }
    }

    fn pair(&self, from: usize, to: usize) -> usize {
        to * self.nodes + from
    }

    fn changed(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The earliest moment at which a node's program can do something.
    pub(crate) fn horizon(&self, node: usize) -> u64 {
        self.horizons[node].load(Ordering::SeqCst)
    }

    /// A node's program does nothing before that moment: [`NEVER`] if it waits.
    pub(crate) fn set_horizon(&self, node: usize, moment: u64) {
        self.changed();
        self.horizons[node].store(moment, Ordering::SeqCst);
    }

    /// The same for a program at work, unless its horizon has changed.
    pub(crate) fn raise_horizon(&self, node: usize, from: u64, to: u64) {
        self.changed();
        let (ok, err) = (Ordering::SeqCst, Ordering::Relaxed);
        let _ = self.horizons[node].compare_exchange(from, to, ok, err);
    }

    /// A node's program, if it waits, will go on at that moment.
    pub(crate) fn lower_horizon(&self, node: usize, moment: u64) {
        let (ok, err) = (Ordering::SeqCst, Ordering::Relaxed);
        let _ = self.horizons[node].compare_exchange(NEVER, moment, ok, err);
    }

    /// A node leaves.
    pub(crate) fn leave(&self, node: usize) {
        self.set_horizon(node, GONE);
    }

    /// A message sets out.
    pub(crate) fn send(&self, from: usize, to: usize) {
        self.sent[self.pair(from, to)].fetch_add(1, Ordering::SeqCst);
    }

    /// The receiver sees when the first message from a node is due. Whether that
    /// was not known.
    pub(crate) fn see(&self, from: usize, to: usize, due: u64) -> bool {
        let known = &self.due[self.pair(from, to)];
        if known.load(Ordering::Relaxed) >= due {
            return false;
        }
        known.store(due, Ordering::SeqCst);
        true
    }

    /// The receiver has handled the first message from a node.
    pub(crate) fn handle(&self, from: usize, to: usize) {
        self.changed();
        self.handled[self.pair(from, to)].fetch_add(1, Ordering::SeqCst);
    }

    /// The earliest moment of a message to a node that is not handled.
    pub(crate) fn pending(&self, node: usize) -> u64 {
        let waits = |pair: usize| {
            let handled = self.handled[pair].load(Ordering::SeqCst);
            self.sent[pair].load(Ordering::SeqCst) != handled
        };
        let pairs = (0..self.nodes).map(|from| self.pair(from, node));
        let due = |pair: usize| self.due[pair].load(Ordering::SeqCst);
        pairs
            .filter(|pair| waits(*pair))
            .map(due)
            .min()
            .unwrap_or(NEVER)
    }

    /// What others do reaches `node` at that moment or later, if it is not on its way
    /// yet.
    fn known_until(&self, node: usize) -> u64 {
        loop {
            let changes = self.changes.load(Ordering::SeqCst);
            let others = (0..self.nodes).filter(|other| *other != node);
            let hold = |other: usize| match self.horizon(other) {
                GONE => NEVER,
                horizon => horizon.min(self.pending(other)),
            };
            let least = others.map(hold).min().unwrap_or(NEVER);
            if self.changes.load(Ordering::SeqCst) == changes {
                return least.saturating_add(self.latency_ns);
            }
        }
    }

    /// Whether a node's program may do something at `moment`.
    fn may_act(&self, node: usize, moment: u64) -> bool {
        self.known_until(node) > moment && self.pending(node) >= moment
    }

    /// Whether a node may handle a message that is due at `moment`, the first of
    /// those it has.
    fn may_handle(&self, node: usize, moment: u64) -> bool {
        self.horizon(node) > moment && self.known_until(node) > moment
    }

    /// A node waits for a turn at `moment`; 0 if it no longer does. Has to look once
    /// more whether it may. Says whether this is new.
    pub(crate) fn hold(&self, node: usize, turn: Turn, moment: u64) -> bool {
        let held = &self.held[node * Turn::ALL.len() + turn as usize];
        held.swap(moment, Ordering::SeqCst) != moment
    }

    fn held(&self, node: usize, turn: Turn) -> Option<u64> {
        let held = self.held[node * Turn::ALL.len() + turn as usize].load(Ordering::SeqCst);
        (held != 0).then_some(held)
    }

    /// Whether a node's turn at `moment` has come.
    pub(crate) fn may(&self, node: usize, turn: Turn, moment: u64) -> bool {
        match turn {
            Turn::Program => self.may_act(node, moment),
            Turn::Message => self.may_handle(node, moment),
        }
    }

    /// Turns that nodes wait for and that have come.
    pub(crate) fn ready(&self) -> impl Iterator<Item = (usize, Turn)> {
        let turns = (0..self.nodes).flat_map(|node| Turn::ALL.map(|turn| (node, turn)));
        turns.filter(|(node, turn)| {
            let held = self.held(*node, *turn);
            held.is_some_and(|moment| self.may(*node, *turn, moment))
        })
    }

    /// Nodes at work for whose program one that waits for `moment` waits.
    pub(crate) fn behind(&self, node: usize, moment: u64) -> impl Iterator<Item = usize> {
        let until = move |other: usize| match self.horizon(other) {
            NEVER | GONE => NEVER,
            horizon => horizon.saturating_add(self.latency_ns),
        };
        (0..self.nodes).filter(move |other| *other != node && until(*other) < moment)
    }

    /// How far a node's program, whose clock shows `now`, has to come until
    /// somebody who waits for it may go on.
    pub(crate) fn wanted(&self, node: usize, now: u64) -> Option<u64> {
        let of = |other: usize, turn: Turn| {
            let held = self.held(other, turn)?;
            let lookahead = if other == node { 0 } else { self.latency_ns };
            held.saturating_sub(lookahead).checked_sub(now)
        };
        let own = of(node, Turn::Message);
        let others = (0..self.nodes).filter(|other| *other != node);
        others
            .flat_map(|other| Turn::ALL.map(|turn| of(other, turn)))
            .chain([own])
            .flatten()
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const LATENCY: u64 = 7;
    const SERVICE: u64 = 3;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum State {
        Computes,
        Comes,
        Waits,
        Left,
    }

    #[derive(Clone, Debug)]
    struct Node {
        /// How long the program computes, and whom it asks then.
        steps: VecDeque<(u64, usize)>,
        state: State,
        clock: u64,
        serves_until: u64,
        /// When it had its answers, and whom it served when.
        log: Vec<(usize, u64)>,
    }

    /// A cluster whose clocks are numbers and whose machine is `pick`, which says whose
    /// thread runs next. Returns what all nodes have seen.
    fn run(programs: &[Vec<(u64, usize)>], mut pick: impl FnMut(usize) -> usize) -> Vec<Node> {
        let count = programs.len();
        let words: Vec<_> = (0..Pace::words(count)).map(|_| AtomicU64::new(0)).collect();
        let pace = Pace::new(&words, count, LATENCY);
        let mut nodes: Vec<Node> = programs
            .iter()
            .map(|steps| Node {
                steps: steps.iter().copied().collect(),
                state: State::Computes,
                clock: 0,
                serves_until: 0,
                log: Vec::new(),
            })
            .collect();
        // By receiver and sender: when due, and whether it is an answer.
        let mut under_way = vec![vec![VecDeque::new(); count]; count];
        let mut stood_still = 0;
        while nodes.iter().any(|node| node.state != State::Left) {
            // Two things can happen at each: the program's and a message's.
            let turn = pick(count * 2);
            let (me, program) = (turn / 2, turn.is_multiple_of(2));
            stood_still += 1;
            assert!(stood_still < 10_000, "nobody may go on: {nodes:?}");
            let node = &mut nodes[me];
            let mut sends = None;
            match node.state {
                State::Computes if program => match node.steps.front() {
                    Some((time, _)) => {
                        node.clock += time;
                        node.state = State::Comes;
                        pace.set_horizon(me, node.clock);
                    }
                    None => {
                        node.state = State::Left;
                        pace.set_horizon(me, NEVER);
                    }
                },
                State::Comes if program && pace.may(me, Turn::Program, node.clock) => {
                    let (_, to) = node.steps.pop_front().unwrap();
                    sends = Some((to, node.clock, false));
                    node.state = State::Waits;
                }
                _ if !program => {
                    let front = |from: usize| under_way[me][from].front();
                    for from in 0..count {
                        if let Some((due, _)) = front(from) {
                            pace.see(from, me, *due);
                        }
                    }
                    let first = (0..count)
                        .filter_map(|from| front(from).map(|(due, _)| (*due, from)))
                        .min();
                    if let Some((due, from)) = first
                        && pace.may(me, Turn::Message, due)
                    {
                        let (_, answer) = under_way[me][from].pop_front().unwrap();
                        node.serves_until = node.serves_until.max(due) + SERVICE;
                        node.log.push((from, node.serves_until));
                        if answer {
                            node.clock = node.clock.max(node.serves_until);
                            node.state = State::Computes;
                            pace.lower_horizon(me, node.clock);
                        } else {
                            sends = Some((from, node.serves_until, true));
                        }
                        stood_still = 0;
                        if let Some((to, at, answer)) = sends.take() {
                            pace.send(me, to);
                            under_way[to][me].push_back((at + LATENCY, answer));
                        }
                        pace.handle(from, me);
                    }
                }
                _ => {}
            }
            if let Some((to, at, answer)) = sends {
                stood_still = 0;
                pace.send(me, to);
                under_way[to][me].push_back((at + LATENCY, answer));
                pace.set_horizon(me, NEVER);
            }
        }
        nodes
    }

    proptest! {
        /// However the machine distributes its processors: everybody sees the same at
        /// the same moments.
        #[test]
        fn who_runs_when_does_not_matter(
            steps in prop::collection::vec(prop::collection::vec((0..50_u64, 1..4_usize), 0..6), 2..5),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        ) {
            let count = steps.len();
            let programs: Vec<Vec<(u64, usize)>> = steps
                .into_iter()
                .enumerate()
                .map(|(me, steps)| {
                    let other = |(time, ahead): (u64, usize)| (time, (me + 1 + ahead % (count - 1)) % count);
                    steps.into_iter().map(other).collect()
                })
                .collect();
            let mut round = 0..;
            let in_turn = run(&programs, |of| round.next().unwrap_or(0) % of);
            let mut round = 0_usize..;
            let at_random = run(&programs, |of| {
                let round = round.next().unwrap_or(0);
                // At last everybody has a turn.
                if round % 3 == 0 { round / 3 % of } else { picks[round % picks.len()].index(of) }
            });
            for (one, other) in in_turn.iter().zip(&at_random) {
                prop_assert_eq!(&one.log, &other.log);
                prop_assert_eq!(one.clock, other.clock);
            }
        }
    }

    #[test]
    fn only_a_program_that_waits_is_told_when_to_go_on() {
        let words: Vec<_> = (0..Pace::words(2)).map(|_| AtomicU64::new(0)).collect();
        let pace = Pace::new(&words, 2, LATENCY);
        pace.set_horizon(1, NEVER);
        pace.set_horizon(0, 100);
        // What it will wait for next is there already; it must still let messages pass
        // that come before it.
        pace.lower_horizon(0, 90);
        pace.send(1, 0);
        pace.see(1, 0, 95);
        assert!(pace.may(0, Turn::Message, 95) && !pace.may(0, Turn::Program, 100));
        pace.handle(1, 0);
        assert!(pace.may(0, Turn::Program, 100));
        pace.set_horizon(0, NEVER);
        pace.lower_horizon(0, 120);
        assert_eq!(pace.horizon(0), 120);
    }

    #[test]
    fn a_program_waits_for_who_is_behind_and_no_longer() {
        let words: Vec<_> = (0..Pace::words(3)).map(|_| AtomicU64::new(0)).collect();
        let pace = Pace::new(&words, 3, LATENCY);
        pace.set_horizon(0, 100);
        pace.set_horizon(1, 90);
        pace.set_horizon(2, NEVER);
        assert!(pace.hold(0, Turn::Program, 100));
        assert!(!pace.may(0, Turn::Program, 100));
        assert_eq!(pace.behind(0, 100).collect::<Vec<_>>(), [1]);
        assert_eq!(pace.wanted(1, 90), Some(3));
        pace.raise_horizon(1, 90, 94);
        assert_eq!(pace.ready().collect::<Vec<_>>(), [(0, Turn::Program)]);
        // A message that is on its way to another holds as much as that one.
        pace.send(0, 2);
        assert!(!pace.may(0, Turn::Program, 100));
        pace.see(0, 2, 107);
        assert!(pace.may(0, Turn::Program, 100));
        // One that is on its way here comes first.
        pace.send(1, 0);
        pace.see(1, 0, 99);
        assert!(!pace.may(0, Turn::Program, 100) && pace.may(0, Turn::Message, 99));
        pace.handle(1, 0);
        assert!(pace.may(0, Turn::Program, 100));
        pace.leave(1);
        assert!(pace.may(0, Turn::Program, 113) && !pace.may(0, Turn::Program, 114));
    }
}
