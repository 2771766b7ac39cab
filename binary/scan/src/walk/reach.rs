//! When a place is reached, each time that an iteration of the loop around it begins.

use crate::values::{Node, Value, Values};
use fathomp_regions::Op;
use std::collections::BTreeSet;

/// Ways, at most: more say nothing to anybody.
const WAYS_MAX: usize = 8;
/// Conditions on a way, at most.
const CONDITIONS_MAX: usize = 40;

/// Conditions under which a place is reached: all of one of several sets. None if there are
/// too many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach(Option<Vec<BTreeSet<Value>>>);

impl Reach {
    /// Whatever happens.
    pub(crate) fn always() -> Self {
        Self(Some(vec![BTreeSet::new()]))
    }

    /// Whether it is never reached.
    pub(crate) fn is_never(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }

    /// The sets; none if there are too many.
    pub(crate) fn ways(&self) -> Option<&[BTreeSet<Value>]> {
        self.0.as_deref()
    }

    /// If a condition holds as well.
    pub(crate) fn and(&mut self, values: &mut Values, condition: Value) {
        match values.as_constant(condition) {
            Some(0) => {
                self.0 = Some(Vec::new());
                return;
            }
            Some(_) => return,
            None => {}
        }
        let opposite = values.not(condition);
        let Some(ways) = &mut self.0 else {
            return;
        };
        ways.retain(|way| {
            let mut known = way.iter();
            !way.contains(&opposite) && !known.any(|known| excludes(values, *known, condition))
        });
        for way in ways.iter_mut() {
            way.insert(condition);
        }
        if ways.iter().any(|way| way.len() > CONDITIONS_MAX) {
            self.0 = None;
        }
    }

    /// If either holds.
    pub(crate) fn or(&mut self, values: &mut Values, other: &Self) {
        let (Some(ways), Some(more)) = (&mut self.0, &other.0) else {
            self.0 = None;
            return;
        };
        ways.extend(more.iter().cloned());
        simplify(values, ways);
        if ways.len() > WAYS_MAX {
            self.0 = None;
        }
    }
}

/// Whether two conditions cannot both hold, as far as that is told cheaply.
fn excludes(values: &Values, one: Value, other: Value) -> bool {
    let (Node::Op(a, left, right), Node::Op(b, first, second)) =
        (values.node(one), values.node(other))
    else {
        return false;
    };
    let same = (left, right) == (first, second);
    let turned = (left, right) == (second, first);
    match (a, b) {
        (Op::Eq, Op::LtS | Op::LtU) | (Op::LtS | Op::LtU, Op::Eq) => same || turned,
        (Op::LtS, Op::LtS) | (Op::LtU, Op::LtU) => turned,
        _ => false,
    }
}

/// Joins ways that differ by one condition and its opposite, and leaves out what others cover.
fn simplify(values: &mut Values, ways: &mut Vec<BTreeSet<Value>>) {
    let mut changed = true;
    while changed {
        changed = false;
        'pairs: for a in 0..ways.len() {
            for b in 0..ways.len() {
                if a == b {
                    continue;
                }
                if ways[a].is_subset(&ways[b]) {
                    ways.remove(b);
                    changed = true;
                    break 'pairs;
                }
                // What `a` has beyond `b` is one condition, whose opposite `b` has: then `b`
                // needs no such condition.
                let mut beyond = ways[a].difference(&ways[b]).copied();
                if let (Some(only), None) = (beyond.next(), beyond.next()) {
                    let opposite = values.not(only);
                    if ways[b].contains(&opposite) {
                        ways[b].remove(&opposite);
                        changed = true;
                        break 'pairs;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_regions::Leaf;

    #[test]
    fn ways_that_meet_again_say_nothing() {
        let mut values = Values::new();
        let (a, b) = (values.leaf(Leaf::Thread), values.leaf(Leaf::Data));
        let first = values.op(Op::LtS, a, b);
        let seven = values.constant(7);
        let second = values.op(Op::Eq, a, seven);
        let with = |values: &mut Values, conditions: &[Value]| {
            let mut reach = Reach::always();
            for condition in conditions {
                reach.and(values, *condition);
            }
            reach
        };
        let (not_first, not_second) = (values.not(first), values.not(second));
        let mut met = with(&mut values, &[first, second]);
        let other = with(&mut values, &[first, not_second]);
        met.or(&mut values, &other);
        assert_eq!(met, with(&mut values, &[first]));
        let other = with(&mut values, &[not_first]);
        met.or(&mut values, &other);
        assert_eq!(met, Reach::always());
        // Not both: two ways.
        let mut either = with(&mut values, &[not_first]);
        let other = with(&mut values, &[first, not_second]);
        either.or(&mut values, &other);
        assert_eq!(either.ways().map(<[_]>::len), Some(2));
    }
}
