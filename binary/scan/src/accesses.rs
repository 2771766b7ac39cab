//! From the addresses that a body's instructions access to patterns.

use crate::body::Assembly;
use crate::values::{Node, Substitution, Unknown, Value};
use crate::walk::{AccessFact, FrameId};
use fathomp_regions::{
    Access, AccessClass, Address, Base, Expr, Known, LoopId, Op, Reason, ReasonKind, Stride,
};

/// An access before it is put into a group.
pub(crate) struct Classified {
    pub(crate) access: Access,
    /// Loop, first address without constants, strides: what a group has in common.
    pub(crate) family: (Option<LoopId>, Option<Value>, Vec<(LoopId, Value)>),
    /// The constant of its first address.
    pub(crate) offset: i64,
    /// Bytes from iteration to iteration of its innermost loop, if constant.
    pub(crate) stride: Option<i64>,
}

impl Assembly<'_, '_> {
    /// An access with its pattern; none for what is no access of the program.
    pub(crate) fn classify(
        &mut self,
        frame: FrameId,
        at: u64,
        fact: &AccessFact,
    ) -> Option<Classified> {
        if fact.by_frame {
            return None;
        }
        let resolved = self.resolve(fact.address);
        let stack = self.walk.values.terms(resolved).iter().any(
            |term| matches!(&*term.factors, [only] if *self.walk.values.node(*only) == Node::Stack),
        );
        let usual = self.usual(resolved);
        let inside = fact.inside;
        let usual = match inside {
            Some(id) => {
                let outermost = self.outermost(id);
                self.unrounded(usual, outermost)
            }
            None => usual,
        };
        let class = match inside {
            _ if fact.repeats.is_some() => AccessClass::Unit,
            None => AccessClass::Invariant,
            Some(_) if fact.scattered => AccessClass::Indirect,
            Some(id) => self.class(usual, id, fact.bytes),
        };
        let mut rest = usual;
        let mut strides = Vec::new();
        let mut failed: Option<Reason> = None;
        let mut at_loop = inside;
        while let Some(id) = at_loop {
            at_loop = self.walk.facts.loops[id.0 as usize].parent;
            if !self.walk.values.varies(rest, id) {
                continue;
            }
            let iteration = self.walk.values.iteration(id);
            match self.walk.values.linear(rest, iteration) {
                Some((start, factor)) => {
                    if self.walk.values.as_constant(factor) != Some(0) {
                        strides.push((id, factor));
                    }
                    rest = start;
                    if self.walk.values.varies(rest, id) && failed.is_none() {
                        failed = Some(self.reason(rest, id));
                    }
                }
                None => failed = failed.or_else(|| Some(self.reason(rest, id))),
            }
        }
        let (base, offset) = self.walk.values.split_constant(rest);
        let stride = match (inside, strides.first()) {
            (Some(id), Some((over, factor))) if *over == id => {
                self.walk.values.as_constant(*factor)
            }
            _ => None,
        };
        let address = match failed {
            // What is no straight line over a loop stays in the start, as long as it can be
            // computed before the loops run: a thread's share, the bounds of a chunk.
            Some(reason) => match self.address(rest, &strides, stack) {
                Known::Known(address) if !fact.scattered && computable(&address.start) => {
                    Known::Known(address)
                }
                _ => Known::Unknown(reason),
            },
            None if fact.scattered => Known::Unknown(Reason::new(
                ReasonKind::Instruction,
                "a vector of addresses",
            )),
            None => self.address(rest, &strides, stack),
        };
        let base_expr = self.emit_on_stack(base).ok();
        let always = self.is_always(frame, fact.block);
        let weight = self.weight(inside);
        Some(Classified {
            access: Access {
                at,
                place: None,
                inside: inside.and_then(|id| self.numbers.of(id)),
                direction: fact.direction,
                bytes: fact.bytes,
                class,
                base: Base {
                    expr: base_expr.filter(|expr| *expr != Expr::Const(0) || stack),
                    name: None,
                    stack,
                },
                address,
                group: 0,
                coverage: 0.0,
                always,
                weight,
                non_temporal: fact.non_temporal,
            },
            family: (inside, Some(base), strides),
            offset,
            stride,
        })
    }

    /// The outermost of the loops around a loop, itself included.
    fn outermost(&self, mut id: LoopId) -> LoopId {
        while let Some(parent) = self.walk.facts.loops[id.0 as usize].parent {
            id = parent;
        }
        id
    }

    /// The pattern of an address in a loop.
    fn class(&mut self, address: Value, id: LoopId, bytes: u32) -> AccessClass {
        if !self.walk.values.varies(address, id) {
            return AccessClass::Invariant;
        }
        let iteration = self.walk.values.iteration(id);
        if let Some((rest, factor)) = self.walk.values.linear(address, iteration)
            && !self.walk.values.varies(rest, id)
            && !self.walk.values.varies(factor, id)
        {
            return match self.walk.values.as_constant(factor) {
                Some(by) if by.unsigned_abs() == u64::from(bytes) => AccessClass::Unit,
                Some(by) => AccessClass::Strided(by),
                None => AccessClass::SymbolicStride,
            };
        }
        let reason = self.reason(address, id);
        match reason.kind {
            ReasonKind::ChangedMemory if self.walk.reads_varying(address, id) => {
                AccessClass::Indirect
            }
            _ if self.is_indirect(address, id) => AccessClass::Indirect,
            _ => AccessClass::Unknown(reason),
        }
    }

    /// Whether an address depends on what is loaded from changing addresses.
    fn is_indirect(&self, address: Value, id: LoopId) -> bool {
        let mut found = self.walk.reads_varying(address, id);
        self.walk.values.walk(address, &mut |part, node| {
            if let Node::Unknown(unknown) = node {
                found |=
                    unknown.kind == ReasonKind::ChangedMemory && self.walk.values.varies(part, id);
            }
        });
        found
    }

    /// Why a value is not affine in a loop's iterations.
    fn reason(&self, value: Value, id: LoopId) -> Reason {
        if self.walk.reads_varying(value, id) {
            return Reason::new(
                ReasonKind::ChangedMemory,
                "an address that is read from memory",
            );
        }
        let mut found: Option<Reason> = None;
        self.walk.values.walk(value, &mut |part, node| {
            if let Node::Unknown(unknown) = node
                && found.is_none()
                && self.walk.values.varies(part, id)
            {
                found = Some(unknown.reason());
            }
        });
        found.unwrap_or_else(|| Reason::new(ReasonKind::NotAffine, ""))
    }

    /// A value with what is only known most of the time replaced by that, and choices that go
    /// one way in most iterations by that way: counters of collapsed loops that are set back.
    fn usual(&mut self, value: Value) -> Value {
        let mut parts = Substitution::default();
        let mut found: Vec<(Value, Value)> = Vec::new();
        let mut choices: Vec<(Value, Value, Value)> = Vec::new();
        self.walk.values.walk(value, &mut |part, node| match node {
            Node::Unknown(Unknown {
                usually: Some(usually),
                ..
            }) => found.push((part, *usually)),
            Node::Select(_, yes, no) => choices.push((part, *yes, *no)),
            _ => {}
        });
        if found.is_empty() {
            return value;
        }
        for (part, usually) in found {
            let usually = self.resolve(usually);
            parts.insert(part, usually);
        }
        for (part, yes, no) in choices {
            let counts = |value| {
                let mut found = false;
                self.walk.values.walk(value, &mut |_, node| {
                    found |= matches!(node, Node::Unknown(unknown) if unknown.usually.is_some());
                });
                found
            };
            let side = match (counts(yes), counts(no)) {
                (true, false) => yes,
                (false, true) => no,
                // One counts on only when another one is set back.
                (true, true) => match self.walk.values.terms(yes).len() {
                    1 => yes,
                    _ => no,
                },
                (false, false) => continue,
            };
            parts.insert(part, side);
        }
        parts.apply_all(&mut self.walk.values, value)
    }

    /// A value without the rounding that vectorised loops bring with them: what is cut off to
    /// a multiple of a vector's elements is taken as it was before.
    fn unrounded(&mut self, value: Value, id: LoopId) -> Value {
        let mut terms = self.walk.values.terms(value);
        let mut changed = false;
        let mut sum = self.walk.values.constant(0);
        for term in terms.drain(..) {
            let mut product = self.walk.values.constant(1);
            let mut coefficient = term.coefficient;
            for factor in &*term.factors {
                let mut factor = *factor;
                if self.walk.values.varies(factor, id) {
                    let (inner, divisor) = self.rounding(factor);
                    if inner != factor && coefficient % divisor == 0 {
                        coefficient /= divisor;
                        factor = self.unrounded(inner, id);
                        changed = true;
                    }
                }
                product = self.walk.values.mul(product, factor);
            }
            product = self.walk.values.scale(product, coefficient);
            sum = self.walk.values.add(sum, product);
        }
        if changed { sum } else { value }
    }

    /// What a value is rounded from, and what it is divided by.
    fn rounding(&self, value: Value) -> (Value, i64) {
        let values = &self.walk.values;
        let Node::Op(op, inner, by) = *values.node(value) else {
            return (value, 1);
        };
        match (op, values.as_constant(by)) {
            (Op::And, Some(mask)) if (-64..0).contains(&mask) && (-mask & (-mask - 1)) == 0 => {
                (inner, 1)
            }
            (Op::ShrS | Op::ShrU, Some(by)) if (1..=6).contains(&by) => (inner, 1 << by),
            (Op::DivS | Op::DivU, Some(by)) if (2..=64).contains(&by) => (inner, by),
            _ => (value, 1),
        }
    }

    fn address(
        &mut self,
        start: Value,
        strides: &[(LoopId, Value)],
        stack: bool,
    ) -> Known<Address> {
        let start = match stack {
            true => self.emit_on_stack(start),
            false => self.emit(start),
        };
        let start = match start {
            Ok(start) => start,
            Err(reason) => return Known::Unknown(reason),
        };
        let mut known = Vec::new();
        for (over, factor) in strides {
            let bytes = match self.emit(*factor) {
                Ok(bytes) => bytes,
                Err(reason) => return Known::Unknown(reason),
            };
            if bytes.depends_on_iterations() {
                return Known::Unknown(Reason::new(
                    ReasonKind::NotAffine,
                    "a distance that changes with another loop",
                ));
            }
            if let Some(over) = self.numbers.of(*over) {
                known.push(Stride { over, bytes });
            }
        }
        Known::Known(Address {
            start,
            strides: known,
        })
    }
}

/// Whether no memory is read that depends on iterations or chunks.
fn computable(start: &Expr) -> bool {
    let mut computable = true;
    start.walk(&mut |part| {
        if let Expr::Load { address, .. } = part {
            let mut moves = address.depends_on_iterations();
            address.walk(&mut |inner| {
                moves |= matches!(inner, Expr::Leaf(fathomp_regions::Leaf::Chunk(..)));
            });
            computable &= !moves;
        }
    });
    computable
}
