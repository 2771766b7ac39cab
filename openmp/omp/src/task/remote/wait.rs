//! Waiting while tasks may be on other nodes.

use super::Remote;
use super::habits::Habits;
use super::ledger::{Node, Settled};
use super::letter::Letter;
use crate::cluster::{IDLE, Why, installed};
use crate::task::block::Task;
use crate::task::help::{help, phase_is_complete, run_available};
use crate::team::{Member, Team};
use fathomp_sys::cluster::deferral;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

/// In a barrier's word: the node had tasks for others.
const HELD: u64 = 8;

/// A member that attends to letters of other nodes while it waits.
struct Attending(&'static Team);

impl Attending {
    fn begin(team: &'static Team) -> Self {
        team.tasks.attending.fetch_add(1, Ordering::SeqCst);
        Self(team)
    }

    /// How often something has happened that it may wait for.
    fn events(&self) -> u32 {
        self.0.tasks.events.load(Ordering::SeqCst)
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        self.0.tasks.attending.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Remote {
    /// All members of this node have come to a barrier, `member` as the last. Returns when this
    /// node may come, too: as a rule when all nodes have and the tasks of all are complete. `word`
    /// is what this one says there.
    pub(crate) fn gather(&self, member: &'static Member, word: impl Fn() -> u64) {
        let team = member.team();
        let expects = || {
            let _inside = deferral::enter();
            self.habits().expects(self.region.load(Ordering::Relaxed))
        };
        if !team.tasks.is_used() && !expects() {
            return;
        }
        let parity = member.phase.get() as usize & 1;
        self.state().parity = parity;
        self.unsettled.store(true, Ordering::SeqCst);
        self.gathers.store(true, Ordering::SeqCst);
        let attending = Attending::begin(team);
        loop {
            let events = attending.events();
            help(member, || false);
            if self.carrier.all_have_come() {
                self.gathers.store(false, Ordering::SeqCst);
                return;
            }
            self.settle(team, parity, word() | IDLE);
            let is_settled = || {
                self.unsettled.load(Ordering::SeqCst) && phase_is_complete(team, parity)
                    || self.unreported.load(Ordering::SeqCst) != 0
            };
            self.carrier.wait_until(Why::Barrier, &|| {
                attending.events() != events || self.carrier.all_have_come() || is_settled()
            });
        }
    }

    /// What this node adds to its word at a barrier.
    pub(crate) fn held(&self) -> u64 {
        match self.state().ledger.must_tell() {
            true => 0,
            false => HELD,
        }
    }

    /// A barrier's word is known.
    pub(crate) fn learn(&self, words: u64) {
        let _inside = deferral::enter();
        let region = self.region.load(Ordering::Relaxed);
        self.habits().learn(region, words & HELD != 0);
    }

    fn habits(&self) -> MutexGuard<'_, Habits> {
        self.habits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The members find nothing to run: reports it, asks for tasks, and comes to the barrier if
    /// this node's are complete.
    fn settle(&self, team: &'static Team, parity: usize, word: u64) {
        let _post = self.post();
        let mut notes = Vec::new();
        let (reports, settled) = {
            let mut state = self.state();
            let is_complete = phase_is_complete(team, parity);
            let settled = match is_complete && self.unsettled.swap(false, Ordering::SeqCst) {
                true => state.ledger.settle(),
                false => Settled::Nothing,
            };
            if settled != Settled::Come {
                state.ledger.is_idle(&mut notes);
            }
            (state.take_reports(&self.unreported), settled)
        };
        let pays = match settled {
            Settled::Pay(node) => Some(node),
            Settled::Come | Settled::Nothing => None,
        };
        self.send_reports(reports, pays);
        self.send_notes(notes);
        if settled == Settled::Come {
            self.carrier.arrive(word);
        }
    }

    /// Returns when `done` says so, which is asked again whenever something has happened in the
    /// team. Runs what descends from `task` meanwhile, the one that waits, wherever it is.
    pub(in crate::task) fn wait_inside(
        &self,
        member: &'static Member,
        task: &'static Task,
        done: &dyn Fn() -> bool,
    ) {
        let team = member.team();
        let attending = Attending::begin(team);
        let mut asks = false;
        loop {
            let events = attending.events();
            run_available(member, Some(task), done);
            if done() {
                break;
            }
            self.deliver();
            if self.away.load(Ordering::SeqCst) != 0 || asks {
                asks = self.ask_for(member, Some(task));
            }
            if let Some(nodes) = installed() {
                nodes.tell_own_blocks();
            }
            self.carrier
                .wait_until(Why::Tasks, &|| attending.events() != events || done());
        }
        if asks {
            self.ask_for(member, None);
        }
    }

    /// Says for which tasks on other nodes the member waits in `task`, if that is new. Whether
    /// it waits for any.
    fn ask_for(&self, member: &'static Member, task: Option<&'static Task>) -> bool {
        let _post = self.post();
        let mut letters: Vec<(Node, Letter)> = Vec::new();
        let waits = {
            let mut state = self.state();
            let state = &mut *state;
            let index = member.index();
            state.waits.remove(&index);
            if let Some(task) = task {
                let below = state
                    .away
                    .iter()
                    .filter(|(_, away)| !away.has_ended && away.task.descends_from(task));
                let below: Vec<_> = below.map(|(number, away)| (away.to, *number)).collect();
                if !below.is_empty() {
                    state.waits.insert(index, below);
                }
            }
            for node in 0..state.told.len() {
                let to = node as Node;
                let tasks = state.waited_for(to);
                if tasks != state.told[node] {
                    state.told[node].clone_from(&tasks);
                    let epoch = state.ledger.epoch();
                    letters.push((to, Letter::Waits { epoch, tasks }));
                }
            }
            state.waits.contains_key(&index)
        };
        for (to, letter) in letters {
            self.send(to, &letter);
        }
        waits
    }
}
