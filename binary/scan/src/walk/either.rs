//! What holds where ways meet that have nothing in common: one way or the other was taken.

use super::Walk;
use crate::values::Value;
use fathomp_regions::Op;
use std::collections::BTreeSet;

/// Ways, and conditions of all of them, that are taken together at most.
const WAYS_MAX: usize = 8;
const CONDITIONS_MAX: usize = 16;

impl Walk<'_> {
    /// The condition that all of what holds on one of some ways does, beside what is `common` to
    /// them; none if that is always so, or too long to be of use.
    pub(super) fn either(
        &mut self,
        ways: &[&BTreeSet<Value>],
        common: &BTreeSet<Value>,
    ) -> Option<Value> {
        let own: BTreeSet<Vec<Value>> = ways
            .iter()
            .map(|way| way.difference(common).copied().collect())
            .collect();
        let conditions: usize = own.iter().map(Vec::len).sum();
        if own.len() > WAYS_MAX || conditions > CONDITIONS_MAX {
            return None;
        }
        let own: Vec<Vec<Value>> = own.into_iter().collect();
        if self.is_always(&own) {
            return None;
        }
        // A part of one way that is the opposite of another whole way adds nothing: `a`, or not
        // `a` and `b`, is `a` or `b`.
        let single: Vec<Value> = own
            .iter()
            .filter_map(|way| match way[..] {
                [only] => Some(only),
                _ => None,
            })
            .collect();
        let opposite: Vec<Value> = single.iter().map(|only| self.values.not(*only)).collect();
        let mut all: Option<Value> = None;
        for way in own {
            let mut this: Option<Value> = None;
            for condition in way.into_iter().filter(|c| !opposite.contains(c)) {
                this = Some(match this {
                    Some(this) => self.values.op(Op::And, this, condition),
                    None => condition,
                });
            }
            let this = this?;
            all = Some(match all {
                Some(all) => self.values.op(Op::Or, all, this),
                None => this,
            });
        }
        all
    }

    /// Whether at least one of some ways is taken whatever holds.
    fn is_always(&mut self, ways: &[Vec<Value>]) -> bool {
        if ways.iter().any(Vec::is_empty) {
            return true;
        }
        let Some(condition) = ways.first().and_then(|way| way.first()).copied() else {
            return false;
        };
        let opposite = self.values.not(condition);
        // Each time there is one condition less to look at.
        let given = |holds: Value, fails: Value| -> Vec<Vec<Value>> {
            let possible = ways.iter().filter(|way| !way.contains(&fails));
            let rest = |way: &Vec<Value>| way.iter().copied().filter(|c| *c != holds).collect();
            possible.map(rest).collect()
        };
        let (yes, no) = (given(condition, opposite), given(opposite, condition));
        self.is_always(&yes) && self.is_always(&no)
    }
}
