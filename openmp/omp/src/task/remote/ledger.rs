//! Who has nothing to do, who gets tasks, and when the tasks of all nodes are complete:
//! one node's part in deciding it, as a state machine without tasks, messages or time.
//!
//! **Who gets tasks.** A node that has nothing to do says so once, to node 0 (the *broker*). A
//! node that has tasks for others says so once between two barriers. The broker tells each of
//! the latter of each of the former. A node that gives a batch to another forgets that this one
//! wanted some; the other says it anew when it is through. So each batch costs a bounded number
//! of messages, and a node that finds nothing sends nothing until it has got something.
//!
//! **When all are complete.** As Dijkstra and Scholten's termination detection, with a node that
//! has not yet come to the barrier in the place of their root. Each batch is a debt of the node
//! that gets it. A node that has not come pays at once: the barrier waits for it anyway. A node
//! that has come, and owes nothing, owes it until it is *settled*: its members have nothing to
//! run, its tasks are complete, also those that it gave away, and all its batches are paid back.
//! If it owes already, it pays the new one at once. A node comes when it is settled for the first
//! time. Following debts from a node with tasks leads to one that has not come, so when all have
//! come there are no tasks.
//!
//! **Who gets back what it waits for.** A node whose threads wait inside tasks for some that it
//! gave away asks the node that has them for those, or for what they have created: nobody
//! else's may run in these threads.

/// A node's number.
pub(crate) type Node = u32;

/// What nodes tell each other beside tasks and their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// To the broker: I have nothing to do.
    Idle,
    /// To the broker: I have tasks that others may have.
    Holds,
    /// From the broker: that node has nothing to do.
    Wanted(Node),
}

/// A note on its way, about the barrier with that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) to: Node,
    pub(crate) epoch: u32,
    pub(crate) note: Note,
}

/// What a node does that has nothing to run and whose tasks are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It comes to the barrier, which also says that it is idle.
    Come,
    /// It pays that node's batch back.
    Pay(Node),
    /// Batches of its own are not yet paid back, or it has come and owes nothing.
    Nothing,
}

/// Where the broker is.
pub(crate) const BROKER: Node = 0;

/// What one node knows.
#[derive(Debug)]
pub(crate) struct Ledger {
    me: Node,
    /// Barriers passed.
    epoch: u32,
    has_come: bool,
    /// Whose batch is not yet paid back.
    owes: Option<Node>,
    /// Own batches not yet paid back.
    open: u32,
    /// The broker knows that this node has tasks.
    holds: bool,
    /// The broker knows that this node has nothing to do.
    asks: bool,
    /// Of each node, the barrier before which it has nothing to do, plus 1.
    wanted: Vec<u32>,
    /// Tasks given to this node, by number, which threads of that node wait for.
    back: Vec<Vec<u64>>,
    /// The broker's, like `wanted`.
    idle: Vec<u32>,
    holding: Vec<u32>,
}

impl Ledger {
    pub(crate) fn new(me: Node, nodes: u32) -> Self {
        let nobody = || vec![0; nodes as usize];
        Self {
            me,
            epoch: 0,
            has_come: false,
            owes: None,
            open: 0,
            holds: false,
            asks: false,
            wanted: nobody(),
            back: vec![Vec::new(); nodes as usize],
            idle: nobody(),
            holding: nobody(),
        }
    }

    /// Barriers passed.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The node has tasks that others may have.
    pub(crate) fn holds(&mut self, out: &mut Vec<Posted>) {
        if !std::mem::replace(&mut self.holds, true) {
            self.tell_broker(Note::Holds, out);
        }
    }

    /// Whether the broker must still be told that there are tasks.
    pub(crate) fn must_tell(&self) -> bool {
        !self.holds
    }

    /// All members have come and find nothing to run.
    pub(crate) fn is_idle(&mut self, out: &mut Vec<Posted>) {
        if !std::mem::replace(&mut self.asks, true) {
            self.tell_broker(Note::Idle, out);
        }
    }

    fn tell_broker(&mut self, note: Note, out: &mut Vec<Posted>) {
        if self.me == BROKER {
            // Its own epoch is never stale.
            let _ = self.hear(BROKER, self.epoch, note, out);
        } else {
            let (to, epoch) = (BROKER, self.epoch);
            out.push(Posted { to, epoch, note });
        }
    }

    /// A note has come, about the barrier after `epoch` others. `None` if it makes no sense.
    #[must_use]
    pub(crate) fn hear(
        &mut self,
        from: Node,
        epoch: u32,
        note: Note,
        out: &mut Vec<Posted>,
    ) -> Option<()> {
        let mark = epoch.checked_add(1)?;
        let raise = |place: &mut u32| *place = mark.max(*place);
        match note {
            Note::Idle | Note::Holds if self.me != BROKER => return None,
            Note::Idle => {
                raise(self.idle.get_mut(from as usize)?);
                self.match_up(mark, out, |idle, _| idle == from);
            }
            Note::Holds => {
                raise(self.holding.get_mut(from as usize)?);
                self.match_up(mark, out, |_, holder| holder == from);
            }
            Note::Wanted(_) if from != BROKER => return None,
            Note::Wanted(node) => raise(self.wanted.get_mut(node as usize)?),
        }
        Some(())
    }

    /// Tells nodes with tasks of nodes without, of all such pairs those that `news` is about.
    fn match_up(&mut self, mark: u32, out: &mut Vec<Posted>, news: impl Fn(Node, Node) -> bool) {
        let with = |marks: &[u32]| -> Vec<Node> {
            let all = (0..).zip(marks);
            all.filter_map(|(node, of)| (*of == mark).then_some(node))
                .collect()
        };
        let (idle, holding) = (with(&self.idle), with(&self.holding));
        for holder in holding {
            for &node in idle.iter().filter(|idle| **idle != holder) {
                if !news(node, holder) {
                    continue;
                }
                if holder == self.me {
                    self.wanted[node as usize] = mark.max(self.wanted[node as usize]);
                } else {
                    out.push(Posted {
                        to: holder,
                        epoch: mark - 1,
                        note: Note::Wanted(node),
                    });
                }
            }
        }
    }

    /// Nodes that want tasks of this one.
    pub(crate) fn wanting(&self) -> impl Iterator<Item = Node> {
        let wanted = (0..).zip(&self.wanted);
        wanted.filter_map(|(node, mark)| (*mark == self.epoch + 1).then_some(node))
    }

    /// Threads of `node` wait for these tasks, which it gave to this node: from now on for
    /// these alone. `epoch` barriers were before: what comes late is about tasks that are
    /// complete. `None` if there is no such node.
    #[must_use]
    pub(crate) fn waits(&mut self, node: Node, epoch: u32, tasks: Vec<u64>) -> Option<()> {
        let known = self.back.get_mut(node as usize)?;
        if epoch == self.epoch {
            *known = tasks;
        }
        Some(())
    }

    /// Nodes whose threads wait for tasks, and for which.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Node, &[u64])> {
        let all = (0..).zip(&self.back);
        all.filter_map(|(node, tasks)| (!tasks.is_empty()).then_some((node, &tasks[..])))
    }

    /// A batch leaves for `node`, which wanted one or waits for part of it.
    pub(crate) fn gave(&mut self, node: Node) {
        self.open += 1;
        if let Some(mark) = self.wanted.get_mut(node as usize) {
            *mark = 0;
        }
        if let Some(tasks) = self.back.get_mut(node as usize) {
            tasks.clear();
        }
    }

    /// A batch has come. `true` if it has to be paid back at once.
    #[must_use]
    pub(crate) fn got(&mut self, from: Node) -> bool {
        self.asks = false;
        let owes = self.has_come && self.owes.is_none();
        if owes {
            self.owes = Some(from);
        }
        !owes
    }

    /// A batch of this node's is paid back. `None` if there is none.
    #[must_use]
    pub(crate) fn paid(&mut self) -> Option<()> {
        self.open = self.open.checked_sub(1)?;
        Some(())
    }

    /// All members have come, there is nothing to run, and all tasks of this node are complete,
    /// also those that it gave away.
    pub(crate) fn settle(&mut self) -> Settled {
        if self.open != 0 {
            return Settled::Nothing;
        }
        if let Some(node) = self.owes.take() {
            return Settled::Pay(node);
        }
        if std::mem::replace(&mut self.has_come, true) {
            return Settled::Nothing;
        }
        self.asks = true;
        Settled::Come
    }

    /// The node has passed the barrier. `None` if that cannot be: a batch is not paid back.
    #[must_use]
    pub(crate) fn pass(&mut self) -> Option<()> {
        self.epoch += 1;
        self.has_come = false;
        self.holds = false;
        self.asks = false;
        self.back.iter_mut().for_each(Vec::clear);
        (self.open == 0 && self.owes.is_none()).then_some(())
    }
}

#[cfg(test)]
#[path = "simulate.rs"]
mod simulate;
