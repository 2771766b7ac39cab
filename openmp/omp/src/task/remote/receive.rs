//! Taking in what other nodes have sent.

use super::ledger::Node;
use super::letter::{BadLetter, Letter, Parcel, Report};
use super::{Away, Remote, State};
use crate::cluster::installed;
use crate::task::block::{Task, Traits};
use crate::task::group::Group;
use crate::task::run;
use crate::team::Team;
use fathomp_sys::clock::monotonic_ns;
use std::sync::atomic::Ordering;

impl Remote {
    /// Handles the letters that have come.
    pub(super) fn receive(&self) {
        let mail = std::mem::take(&mut self.state().mail);
        if mail.is_empty() {
            return;
        }
        self.carrier.acquire();
        for (from, letter) in mail {
            let taken = match letter {
                Letter::Batch { parcels, home } => self.take_in(from, &parcels, &home),
                Letter::Reports { reports, pays } => self.take_reports(from, &reports, pays),
                Letter::Cancelled { tasks } => {
                    self.cancel_here(from, &tasks);
                    Some(())
                }
                // Handled when they came.
                Letter::Note { .. } | Letter::Waits { .. } => None,
            };
            if taken.is_none() {
                let problem = BadLetter { bytes: 0 };
                self.fail(&format!(
                    "node {from} has sent tasks that cannot be: {problem}"
                ));
            }
        }
        let team = self.state().team;
        if let Some(team) = team {
            team.ring_all();
        }
    }

    /// A batch has come. `None` if it makes no sense.
    fn take_in(&self, from: Node, parcels: &[Parcel], home: &[u64]) -> Option<()> {
        let mut notes = Vec::new();
        let pays = {
            let mut state = self.state();
            let team = state.team?;
            team.tasks.mark_used();
            let pays = state.ledger.got(from);
            state.told.get_mut(from as usize)?.clear();
            for number in home {
                let away = state.away.remove(number).filter(|away| away.to == from)?;
                self.away.fetch_sub(1, Ordering::SeqCst);
                away.task.set_group(away.group);
                team.tasks.commons.put(away.task);
            }
            for parcel in parcels {
                let task = self.unpack(&mut state, team, from, parcel)?;
                team.tasks.commons.put(task);
            }
            state.ledger.holds(&mut notes);
            self.unsettled.store(true, Ordering::SeqCst);
            pays
        };
        self.send_notes(notes);
        if pays {
            let reports = Vec::new();
            self.send(from, &Letter::Reports { reports, pays });
        }
        Some(())
    }

    /// A task as another node has sent it. `None` if it makes no sense.
    fn unpack(
        &self,
        state: &mut State,
        team: &'static Team,
        from: Node,
        parcel: &Parcel,
    ) -> Option<&'static Task> {
        let function = installed()?.code(usize::try_from(parcel.function).ok()?)?;
        if !self.carrier.knows(function.address()) {
            return None;
        }
        let (above, parity) = match parcel.below {
            0 => (self.root, state.parity),
            number => {
                let above = state.away.get(&number).filter(|away| away.to == from)?;
                // Until it has ended, whatever becomes of the task above.
                (above.task, above.task.traits().parity())
            }
        };
        above.children.hold();
        let spare = team.tasks.spare.take(1).pop();
        let task = spare.unwrap_or_else(|| Task::leak(team));
        task.children.reset();
        let traits = Traits::of_phase(parity as u32)
            .with(Traits::COUNTED)
            .with(Traits::FOREIGN)
            .with_if(Traits::FINAL, parcel.is_final)
            // Its arguments are where the program has made them.
            .with_if(Traits::OBJECTS, parcel.align == 0);
        task.begin(above, traits);
        task.set_depth(parcel.depth.max(above.depth().saturating_add(1)));
        task.set_function(function);
        task.priority.set(parcel.priority);
        task.origin.set(from, parcel.number);
        task.take_arguments(&parcel.words, parcel.align);
        let group = match parcel.in_group {
            true => {
                let group = state.take_group();
                let table = usize::try_from(parcel.reductions).ok()?;
                group.stand_for(from, parcel.number, table);
                group
                    .cancelled
                    .store(parcel.is_cancelled, Ordering::Relaxed);
                Some(group)
            }
            false => team.tasks.region_group(),
        };
        task.set_group(group);
        team.tasks.count_arrival(traits);
        Some(task)
    }

    /// Tasks of this node have ended, or left their group, elsewhere. `None` if that makes no
    /// sense.
    fn take_reports(&self, from: Node, reports: &[Report], pays: bool) -> Option<()> {
        let now_ns = monotonic_ns();
        for report in reports {
            let (task, group, cancelled) = {
                let mut state = self.state();
                let state = &mut *state;
                let away = state.away.get_mut(&report.number);
                let away = away.filter(|away| away.to == from)?;
                if report.ended && std::mem::replace(&mut away.has_ended, true) {
                    return None;
                }
                if report.ended {
                    state.worth.learn(away.kind, report.took_ns, now_ns);
                }
                let group = away.group.filter(|_| away.in_group);
                let cancelled = group.filter(|_| report.cancelled);
                if report.left_group {
                    away.in_group = false;
                }
                let task = report.ended.then_some(away.task);
                if away.has_ended && !away.in_group {
                    state.away.remove(&report.number);
                    self.away.fetch_sub(1, Ordering::SeqCst);
                }
                (task, group.filter(|_| report.left_group), cancelled)
            };
            if let Some(group) = cancelled {
                self.cancel_upwards(group);
            }
            // The task first: it may be what opened groups outside.
            let team = task.and_then(Task::team).or_else(|| self.state().team);
            if let Some(task) = task {
                run::complete(None, task);
            }
            if let (Some(group), Some(team)) = (group, team)
                && run::leave_group(None, team, group)
            {
                team.tasks.ring_waiters(team);
            }
        }
        if pays {
            self.state().ledger.paid()?;
            self.unsettled.store(true, Ordering::SeqCst);
        }
        Some(())
    }

    fn cancel_upwards(&self, group: &'static Group) {
        if !group.is_cancelled() {
            let group = group.innermost_of_program();
            group.cancelled.store(true, Ordering::Relaxed);
            self.cancel(group);
        }
    }

    /// The groups of tasks that `from` gave away are cancelled there.
    fn cancel_here(&self, from: Node, tasks: &[u64]) {
        let found: Vec<&'static Group> = {
            let state = self.state();
            let of = |group: &&'static Group| {
                let (node, number) = group.origin.get();
                node == from && tasks.contains(&number)
            };
            state.groups.iter().copied().filter(of).collect()
        };
        for group in found {
            // Whoever told it need not be told, and it may have ended meanwhile.
            if !group.cancelled.swap(true, Ordering::Relaxed) {
                self.cancel_elsewhere(group);
            }
        }
    }
}

impl Away {
    /// A task that goes to `to`.
    pub(super) fn new(task: &'static Task, to: Node, kind: super::Kind) -> Self {
        let group = task.group();
        Self {
            task,
            to,
            kind,
            group,
            has_ended: false,
            in_group: group.is_some_and(Group::is_awaited),
        }
    }
}
