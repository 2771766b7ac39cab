//! Values with parts replaced by others.

use super::{Node, Term, Unknown, Value, Values};
use std::collections::HashMap;

/// Replacements: parts, and what stands for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Substitution {
    map: HashMap<Value, Value>,
    done: HashMap<Value, Value>,
}

/// Deepest nesting that is followed: what is nested deeper stays as it is.
const DEPTH_MAX: usize = 200;

impl Substitution {
    pub(crate) fn insert(&mut self, part: Value, by: Value) {
        self.map.insert(part, by);
        self.done.clear();
    }

    /// Adds all of another one.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.map.extend(&other.map);
        self.done.clear();
    }

    /// A value with its parts replaced, once: what is put in is not looked at again.
    pub(crate) fn apply(&mut self, values: &mut Values, value: Value) -> Value {
        if self.map.is_empty() {
            return value;
        }
        self.replace(values, value, false, 0)
    }

    /// The same, where what is put in is looked at again.
    pub(crate) fn apply_all(&mut self, values: &mut Values, value: Value) -> Value {
        if self.map.is_empty() {
            return value;
        }
        self.replace(values, value, true, 0)
    }

    fn replace(&mut self, values: &mut Values, value: Value, again: bool, depth: usize) -> Value {
        if let Some(done) = self.done.get(&value) {
            return *done;
        }
        if depth > DEPTH_MAX {
            return value;
        }
        // What refers to itself stays as it is.
        self.done.insert(value, value);
        let new = match self.map.get(&value).copied() {
            Some(by) if again && by != value => self.replace(values, by, again, depth + 1),
            Some(by) => by,
            None => self.rebuild(values, value, again, depth + 1),
        };
        self.done.insert(value, new);
        new
    }

    fn rebuild(&mut self, values: &mut Values, value: Value, again: bool, depth: usize) -> Value {
        match values.node(value).clone() {
            Node::Sum(terms) => {
                let mut changed = false;
                let mut parts: Vec<Vec<Value>> = Vec::with_capacity(terms.len());
                for term in &terms {
                    let mut new = Vec::with_capacity(term.factors.len());
                    for factor in &term.factors {
                        let by = self.replace(values, *factor, again, depth);
                        changed |= by != *factor;
                        new.push(by);
                    }
                    parts.push(new);
                }
                if !changed {
                    return value;
                }
                let mut sum = values.constant(0);
                for (Term { coefficient, .. }, factors) in terms.iter().zip(parts) {
                    let mut product = values.constant(*coefficient);
                    for factor in factors {
                        product = values.mul(product, factor);
                    }
                    sum = values.add(sum, product);
                }
                sum
            }
            Node::Load {
                address,
                bytes,
                signed,
            } => {
                let new = self.replace(values, address, again, depth);
                values.intern(Node::Load {
                    address: new,
                    bytes,
                    signed,
                })
            }
            Node::Op(op, left, right) => {
                let a = self.replace(values, left, again, depth);
                let b = self.replace(values, right, again, depth);
                match (a, b) == (left, right) {
                    true => value,
                    false => values.op(op, a, b),
                }
            }
            Node::Select(condition, yes, no) => {
                let c = self.replace(values, condition, again, depth);
                let y = self.replace(values, yes, again, depth);
                let n = self.replace(values, no, again, depth);
                match (c, y, n) == (condition, yes, no) {
                    true => value,
                    false => values.select(c, y, n),
                }
            }
            Node::Unknown(Unknown {
                usually: Some(usually),
                kind,
                at,
                what,
                inside,
            }) => {
                let usually = Some(self.replace(values, usually, again, depth));
                values.intern(Node::Unknown(Unknown {
                    kind,
                    at,
                    what,
                    inside,
                    usually,
                }))
            }
            Node::Leaf(_)
            | Node::Stack
            | Node::Carried(..)
            | Node::Chunk(..)
            | Node::Unknown(_) => value,
        }
    }
}
