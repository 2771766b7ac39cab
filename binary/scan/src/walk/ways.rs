//! The trips of loops whose ways out are looked at in some iterations only: what holds on the
//! ways to them says in which.

use super::trips::{Ends, LoopExit};
use super::{Reach, Walk};
use crate::values::{Substitution, Value};
use fathomp_regions::{LoopId, Op};

/// A way out of a loop: in which iteration, and what else has to hold, the same in all of them.
struct ExitRule {
    iteration: Value,
    holds: Reach,
}

impl Walk<'_> {
    /// The last iteration of a loop with these ways out, and those of each of them; none if not
    /// all can be known.
    pub(super) fn by_ways(
        &mut self,
        id: LoopId,
        leaves: &[LoopExit],
        solved: &mut Substitution,
    ) -> Option<(Value, Ends)> {
        let mut ways: Vec<ExitRule> = Vec::new();
        let mut ends = Ends::default();
        for leaving in leaves {
            let reach = leaving.reach.ways()?.to_vec();
            let mut same: Option<Value> = None;
            let mut single = true;
            for conditions in &reach {
                let Some(way) = self.way(id, conditions, solved)? else {
                    continue;
                };
                single &= same.is_none_or(|same| same == way.iteration);
                same = Some(way.iteration);
                ways.push(way);
            }
            if let (Some(iteration), true) = (same, single) {
                ends.iterations
                    .insert((leaving.from, leaving.to), iteration);
            }
        }
        // Ways that end in the same iteration are taken together.
        let mut joined: Vec<ExitRule> = Vec::new();
        for way in ways {
            match joined
                .iter_mut()
                .find(|known| known.iteration == way.iteration)
            {
                Some(known) => known.holds.or(&mut self.values, &way.holds),
                None => joined.push(way),
            }
        }
        // One of them is taken for sure.
        let mut all = joined.first()?.holds.clone();
        for way in &joined[1..] {
            all.or(&mut self.values, &way.holds);
        }
        if all != Reach::always() {
            return None;
        }
        let mut last: Option<Value> = None;
        // First those that are taken in any case.
        joined.sort_by_key(|way| way.holds != Reach::always());
        for way in joined {
            let Some(before) = last else {
                last = Some(way.iteration);
                continue;
            };
            let sooner = self.values.op(Op::MinS, before, way.iteration);
            let chosen = match way.holds == Reach::always() {
                true => sooner,
                false => {
                    let condition = self.condition(&way.holds)?;
                    let certain = all_others_fail(&way.holds);
                    let then = if certain { way.iteration } else { sooner };
                    self.values.select(condition, then, before)
                }
            };
            last = Some(chosen);
        }
        Some((last?, ends))
    }

    /// Conditions as one value.
    fn condition(&mut self, reach: &Reach) -> Option<Value> {
        let mut any = self.values.constant(0);
        for way in reach.ways()?.to_vec() {
            let mut all = self.values.constant(1);
            for condition in way {
                all = match self.values.as_constant(all) {
                    Some(1) => condition,
                    _ => self.values.op(Op::And, all, condition),
                };
            }
            any = match self.values.as_constant(any) {
                Some(0) => all,
                _ => self.values.op(Op::Or, any, all),
            };
        }
        Some(any)
    }

    /// One way out; none inside if it cannot be taken, none at all if it is not understood.
    #[allow(clippy::option_option)]
    fn way(
        &mut self,
        id: LoopId,
        conditions: &std::collections::BTreeSet<Value>,
        solved: &mut Substitution,
    ) -> Option<Option<ExitRule>> {
        let mut holds = Reach::always();
        let mut iteration: Option<Value> = None;
        let mut late: Vec<Value> = Vec::new();
        for condition in conditions {
            let condition = solved.apply(&mut self.values, *condition);
            match self.values.as_constant(condition) {
                Some(0) => return Some(None),
                Some(_) => continue,
                None => {}
            }
            if !self.values.varies(condition, id) {
                holds.and(&mut self.values, condition);
                continue;
            }
            let goes_on = self.values.not(condition);
            match self.last_iteration(goes_on, id) {
                Some(end) if iteration.is_none_or(|known| known == end) => iteration = Some(end),
                Some(_) => return None,
                // It holds in the first iterations, up to one that comes later, as is believed.
                None if self.last_iteration(condition, id).is_some() => late.push(condition),
                None => return None,
            }
        }
        if holds.ways().is_some_and(<[_]>::is_empty) {
            return Some(None);
        }
        match iteration {
            Some(iteration) => Some(Some(ExitRule { iteration, holds })),
            None if late.is_empty() => {
                let iteration = self.values.constant(0);
                Some(Some(ExitRule { iteration, holds }))
            }
            None => None,
        }
    }
}

/// Whether conditions are one way only, so that its opposite is what the others need.
fn all_others_fail(reach: &Reach) -> bool {
    reach
        .ways()
        .is_some_and(|ways| ways.len() == 1 && ways[0].len() == 1)
}
