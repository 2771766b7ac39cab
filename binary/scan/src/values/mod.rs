//! Values that code computes: polynomials over what is not known before it runs, each of
//! them once.
//!
//! Arithmetic is that of 64-bit registers. A value of 32 bits is kept as the whole number
//! that it stands for as a signed one, so that extending it changes nothing; that is right
//! as long as nothing overflows, as C and Fortran promise of signed numbers and compilers
//! rely on.

mod emit;
mod ops;
mod substitute;

pub(crate) use substitute::Substitution;

use fathomp_regions::{ChunkEnd, Leaf, LoopId, Op, ReasonKind};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A value: a number in [`Values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(u32);

/// Terms of a sum beyond this make it a value of its own that is not looked into.
const TERMS_MAX: usize = 48;
/// Factors of a product beyond this are not multiplied out.
const FACTORS_MAX: usize = 6;

/// Where code keeps values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Location {
    /// A general register, by its number in machine code.
    Register(u8),
    /// The low 64 bits of a vector register.
    Vector(u8),
    /// Memory: address and bytes.
    Memory(Value, u8),
}

/// A product of values with a constant factor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    /// Sorted; none for a constant.
    pub(crate) factors: Box<[Value]>,
    pub(crate) coefficient: i64,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// A sum, its terms in order of their factors, no factor itself a sum, no coefficient 0.
    Sum(Box<[Term]>),
    /// What only a run knows.
    Leaf(Leaf),
    /// The stack pointer when the body begins.
    Stack,
    /// What a place holds when an iteration of a loop begins, not (yet) expressed otherwise.
    Carried(LoopId, Location),
    /// Memory.
    Load {
        address: Value,
        bytes: u8,
        signed: bool,
    },
    /// An operation that is no sum or product.
    Op(Op, Value, Value),
    /// The second if the first is not 0, otherwise the third.
    Select(Value, Value, Value),
    /// A bound of a chunk that was handed out by the call at an address, inside a loop.
    Chunk(ChunkEnd, u64, Option<LoopId>),
    /// Not known.
    Unknown(Unknown),
}

/// Something that is not known, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Unknown {
    pub(crate) kind: ReasonKind,
    /// Address of the instruction in question.
    pub(crate) at: u64,
    /// What it is that is not known there.
    pub(crate) what: Option<Location>,
    /// The innermost loop in which it changes.
    pub(crate) inside: Option<LoopId>,
    /// A value that it comes from, if that says more of it: what it is most of the time.
    pub(crate) usually: Option<Value>,
}

/// All values of a body.
pub(crate) struct Values {
    nodes: Vec<Node>,
    known: HashMap<Node, Value>,
    /// The loops in which parts of a value change, by value.
    births: Vec<Rc<[LoopId]>>,
    /// The loop around each loop.
    parents: Vec<Option<LoopId>>,
    /// Pairs of which the first is known to be at most the second.
    at_most: HashSet<(Value, Value)>,
}

impl Values {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            known: HashMap::new(),
            births: Vec::new(),
            parents: Vec::new(),
            at_most: HashSet::new(),
        }
    }

    /// Notes that `value` is at most `bound`.
    pub(crate) fn note_at_most(&mut self, value: Value, bound: Value) {
        self.at_most.insert((value, bound));
    }

    /// Values made so far.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, value: Value) -> &Node {
        &self.nodes[value.0 as usize]
    }

    /// A new loop inside another one.
    pub(crate) fn new_loop(&mut self, parent: Option<LoopId>) -> LoopId {
        self.parents.push(parent);
        LoopId(self.parents.len() as u32 - 1)
    }

    /// Whether a loop is another one or lies inside it.
    pub(crate) fn is_inside(&self, mut inner: LoopId, outer: LoopId) -> bool {
        loop {
            if inner == outer {
                return true;
            }
            match self.parents.get(inner.0 as usize).copied().flatten() {
                Some(parent) => inner = parent,
                None => return false,
            }
        }
    }

    /// Whether a value may differ between two iterations of a loop.
    pub(crate) fn varies(&self, value: Value, inside: LoopId) -> bool {
        let births = &self.births[value.0 as usize];
        births.iter().any(|birth| self.is_inside(*birth, inside))
    }

    /// A value that was made.
    pub(crate) fn find(&self, node: &Node) -> Option<Value> {
        self.known.get(node).copied()
    }

    pub(crate) fn intern(&mut self, node: Node) -> Value {
        if let Some(value) = self.known.get(&node) {
            return *value;
        }
        let value = Value(self.nodes.len() as u32);
        self.births.push(self.births_of(&node));
        self.known.insert(node.clone(), value);
        self.nodes.push(node);
        value
    }

    fn births_of(&self, node: &Node) -> Rc<[LoopId]> {
        let mut all: Vec<LoopId> = Vec::new();
        let add = |value: &Value, all: &mut Vec<LoopId>| {
            all.extend(self.births[value.0 as usize].iter());
        };
        match node {
            Node::Sum(terms) => {
                for factor in terms.iter().flat_map(|term| term.factors.iter()) {
                    add(factor, &mut all);
                }
            }
            Node::Leaf(Leaf::Iteration(id)) | Node::Carried(id, _) => all.push(*id),
            Node::Leaf(_) | Node::Stack => {}
            Node::Load { address, .. } => add(address, &mut all),
            Node::Op(_, left, right) => {
                add(left, &mut all);
                add(right, &mut all);
            }
            Node::Select(condition, yes, no) => {
                add(condition, &mut all);
                add(yes, &mut all);
                add(no, &mut all);
            }
            Node::Chunk(_, _, inside) => all.extend(inside),
            Node::Unknown(unknown) => all.extend(unknown.inside),
        }
        all.sort_unstable();
        all.dedup();
        all.into()
    }

    pub(crate) fn constant(&mut self, value: i64) -> Value {
        let terms: Box<[Term]> = match value {
            0 => Box::new([]),
            coefficient => Box::new([Term {
                factors: Box::new([]),
                coefficient,
            }]),
        };
        self.intern(Node::Sum(terms))
    }

    pub(crate) fn leaf(&mut self, leaf: Leaf) -> Value {
        self.intern(Node::Leaf(leaf))
    }

    /// The number of the current iteration of a loop.
    pub(crate) fn iteration(&mut self, id: LoopId) -> Value {
        self.leaf(Leaf::Iteration(id))
    }

    /// An address of the module's file.
    pub(crate) fn module(&mut self, address: u64) -> Value {
        let base = self.leaf(Leaf::Module(0));
        let offset = self.constant(address as i64);
        self.add(base, offset)
    }

    /// Something that is not known.
    pub(crate) fn unknown(
        &mut self,
        kind: ReasonKind,
        at: u64,
        what: Option<Location>,
        inside: Option<LoopId>,
    ) -> Value {
        self.intern(Node::Unknown(Unknown {
            kind,
            at,
            what,
            inside,
            usually: None,
        }))
    }

    /// Its value, if it is a constant.
    pub(crate) fn as_constant(&self, value: Value) -> Option<i64> {
        match self.node(value) {
            Node::Sum(terms) => match &**terms {
                [] => Some(0),
                [only] if only.factors.is_empty() => Some(only.coefficient),
                _ => None,
            },
            _ => None,
        }
    }

    /// The terms of a value: of anything but a sum, itself.
    pub(crate) fn terms(&self, value: Value) -> Vec<Term> {
        match self.node(value) {
            Node::Sum(terms) => terms.to_vec(),
            _ => vec![Term {
                factors: Box::new([value]),
                coefficient: 1,
            }],
        }
    }

    /// A value and a constant that add up to it.
    pub(crate) fn split_constant(&mut self, value: Value) -> (Value, i64) {
        let mut terms = self.terms(value);
        let at = terms.iter().position(|term| term.factors.is_empty());
        let constant = at.map_or(0, |at| terms.remove(at).coefficient);
        (self.sum(terms), constant)
    }

    /// Calls `visit` with all values inside a value, itself included, each once.
    pub(crate) fn walk(&self, value: Value, visit: &mut impl FnMut(Value, &Node)) {
        let mut seen = std::collections::HashSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            let node = self.node(value);
            visit(value, node);
            match node {
                Node::Sum(terms) => {
                    open.extend(terms.iter().flat_map(|term| term.factors.iter()));
                }
                Node::Load { address, .. } => open.push(*address),
                Node::Op(_, left, right) => open.extend([*left, *right]),
                Node::Select(condition, yes, no) => open.extend([*condition, *yes, *no]),
                Node::Leaf(_)
                | Node::Stack
                | Node::Carried(..)
                | Node::Chunk(..)
                | Node::Unknown(_) => {}
            }
        }
    }
}
