//! Giving tasks to nodes that want some.

use super::ledger::Node;
use super::letter::{BACK_MAX, BATCH_MAX, Letter, Parcel, WORDS_MAX};
use super::{Away, Kind, Remote, State};
use crate::runtime::runtime;
use crate::task::block::{Task, Traits};
use crate::task::group::Group;
use crate::task::run;
use crate::team::Team;
use fathomp_sys::clock::monotonic_ns;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one node is to get.
struct Request {
    node: Node,
    /// Only what descends from these tasks of its, or is one of them.
    below: Option<Vec<u64>>,
    most: usize,
}

impl Remote {
    /// Gives tasks to all nodes that want some, as far as there are any.
    pub(super) fn serve(&self) {
        loop {
            let post = self.post();
            let begun_ns = monotonic_ns();
            let Some((node, letter)) = self.pack(begun_ns) else {
                return;
            };
            // What was written before the tasks were created.
            self.carrier.release();
            self.send(node, &letter);
            drop(post);
            let took_ns = monotonic_ns().saturating_sub(begun_ns);
            self.state().worth.cost(took_ns);
        }
    }

    /// The next batch and its receiver; none if nobody wants any of what there is.
    fn pack(&self, now_ns: u64) -> Option<(Node, Letter)> {
        let mut state = self.state();
        let team = state.team?;
        let requests = requests(&state, team);
        // Whoever queues a task must say so as long as nodes wait for it. Before looking.
        let wanted = !requests.is_empty();
        self.tell
            .store(wanted || state.ledger.must_tell(), Ordering::SeqCst);
        let is_cancelled = team.cancelled.load(Ordering::Relaxed);
        let mut refuses = false;
        for request in requests {
            // Only who waits for something must get it back: it will not be run.
            if is_cancelled && request.below.is_none() {
                continue;
            }
            let taken = self.take(&state, team, &request, now_ns, &mut refuses);
            if taken.is_empty() {
                continue;
            }
            let (mut parcels, mut home) = (Vec::new(), Vec::new());
            for task in taken {
                match task.origin.get() {
                    (node, number)
                        if node == request.node && task.traits().has(Traits::FOREIGN) =>
                    {
                        state.send_home(team, task);
                        home.push(number);
                    }
                    _ => parcels.push(self.wrap(&mut state, task, request.node)),
                }
            }
            state.ledger.gave(request.node);
            return Some((request.node, Letter::Batch { parcels, home }));
        }
        if refuses {
            // Until the next tick: there are tasks, and they do not pay.
            self.tell.store(state.ledger.must_tell(), Ordering::SeqCst);
        }
        None
    }

    /// Takes tasks out of the team's queues.
    fn take(
        &self,
        state: &State,
        team: &'static Team,
        request: &Request,
        now_ns: u64,
        refuses: &mut bool,
    ) -> Vec<&'static Task> {
        let mut taken = Vec::new();
        let mut words = 0;
        let mut refused = false;
        let mut wanted = |task: &'static Task| {
            if !self.may_have(task, request) {
                return false;
            }
            let kind = kind_of(task);
            let pays = request.below.is_some() || state.worth.allows(kind, request.most, now_ns);
            refused |= !pays;
            pays
        };
        while taken.len() < request.most && words <= WORDS_MAX {
            let found = team.tasks.commons.take(&mut wanted).or_else(|| {
                let mut members = (0..team.capacity()).map(|index| team.member(index));
                members.find_map(|member| member.task.deque.steal(&mut wanted))
            });
            let Some(task) = found else { break };
            words += task.sizes().0;
            taken.push(task);
        }
        *refuses |= refused;
        taken
    }

    /// Whether a task may go to the node that asks.
    fn may_have(&self, task: &'static Task, request: &Request) -> bool {
        let traits = task.traits();
        let stays = Traits::STAYS.with(Traits::EVENT).with(Traits::ICVS);
        if traits.has(stays) || task.sizes().0 > WORDS_MAX {
            return false;
        }
        if traits.has(Traits::FOREIGN) {
            // Nobody gives on what is another's: its node knows where it is.
            let (node, number) = task.origin.get();
            let is_asked = |below: &Vec<u64>| below.contains(&number);
            return node == request.node && request.below.as_ref().is_none_or(is_asked);
        }
        // A task that fulfils an event must do so on the event's node.
        if runtime().events.last.load(Ordering::Relaxed) != 0 {
            return false;
        }
        let known = |task: &Task| {
            let function = task.function();
            function.is_some_and(|function| self.carrier.knows(function.address()))
        };
        let below =
            |below: &Vec<u64>| above(task, request.node).any(|number| below.contains(&number));
        let is_of_use = || request.below.is_some() || !task.is_discarded();
        request.below.as_ref().is_none_or(below) && known(task) && is_of_use()
    }

    /// A task of this node's as it goes to `to`.
    fn wrap(&self, state: &mut State, task: &'static Task, to: Node) -> Parcel {
        state.last += 1;
        let number = state.last;
        let away = Away::new(task, to, kind_of(task));
        let group = away.group;
        let (align, words) = match task.traits().has(Traits::ROOM) {
            true => (0, vec![task.data().0 as u64]),
            false => {
                let (_, align) = task.sizes();
                let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
                let words = task.with_arguments(|words| words.iter().map(word).collect());
                (u32::try_from(align).unwrap_or(8).max(8), words)
            }
        };
        let parcel = Parcel {
            number,
            below: above(task, to).next().unwrap_or(0),
            function: task.function().map_or(0, |function| function.word()) as u64,
            priority: task.priority.get(),
            depth: task.depth(),
            is_final: task.traits().has(Traits::FINAL),
            in_group: away.in_group,
            is_cancelled: group.is_some_and(Group::is_cancelled),
            reductions: group.map_or(0, Group::reductions) as u64,
            align,
            words,
        };
        task.set_group(None);
        state.away.insert(number, away);
        self.away.fetch_add(1, Ordering::SeqCst);
        parcel
    }
}

/// What nodes want, those first whose threads wait for certain tasks.
fn requests(state: &State, team: &'static Team) -> Vec<Request> {
    let queued = (0..team.capacity())
        .map(|index| team.member(index).task.deque.len() as usize)
        .sum::<usize>()
        + team.tasks.commons.len();
    let share = |nodes: usize| queued.div_ceil(nodes + 1).clamp(1, BATCH_MAX);
    let back = state.ledger.waiting().map(|(node, tasks)| Request {
        node,
        below: Some(tasks.to_vec()),
        most: share(1),
    });
    let wanting = state.ledger.wanting().count();
    let others = state.ledger.wanting().map(|node| Request {
        node,
        below: None,
        most: share(wanting),
    });
    back.chain(others).collect()
}

fn kind_of(task: &Task) -> Kind {
    let function = task.function().map_or(0, |function| function.address());
    Kind::new(function, task.depth())
}

/// Tasks of `node` from which `task` descends, by that node's numbers: those that node still
/// waits for, the nearest first.
fn above(task: &'static Task, node: Node) -> impl Iterator<Item = u64> {
    let ancestors = std::iter::successors(task.parent(), |task| {
        // Strictly upwards, so it ends whatever is read.
        let parent = task.parent();
        parent.filter(|parent| parent.depth() < task.depth())
    });
    ancestors.filter_map(move |ancestor| {
        let traits = ancestor.traits();
        let (origin, number) = ancestor.origin.get();
        let is_its = traits.has(Traits::FOREIGN) && !traits.has(Traits::ENDED) && origin == node;
        is_its.then_some(number)
    })
}

impl State {
    /// A task that came from elsewhere and has not begun goes back.
    fn send_home(&mut self, team: &'static Team, task: &'static Task) {
        if let Some(group) = task.group().filter(|group| group.is_foreign()) {
            self.free_group(group);
        }
        let traits = task.traits();
        let parent = task.parent();
        run::free(None, team, task);
        if let Some(parent) = parent
            && parent.children.release()
        {
            run::recycle(None, team, parent);
        }
        team.tasks.count_outside(traits);
    }

    /// For which tasks of `node` it is to be told that threads wait: those of all members.
    pub(super) fn waited_for(&self, node: Node) -> Vec<u64> {
        let all = self.waits.values().flatten();
        let mut tasks: Vec<u64> = all
            .filter_map(|(at, number)| (*at == node).then_some(*number))
            .collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks.truncate(BACK_MAX);
        tasks
    }
}
