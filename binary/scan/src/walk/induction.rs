//! What iterations leave to the next, as expressions of their number.

use super::Walk;
use crate::machine::State;
use crate::values::{Location, Node, Substitution, Unknown, Value};
use fathomp_regions::{ChunkEnd, LoopId, Op, ReasonKind};

/// Something carried while it is solved.
struct Open {
    carried: Value,
    /// In the first iteration.
    first: Value,
    /// At the end of an iteration.
    next: Value,
}

impl Walk<'_> {
    /// Solves what a loop carries: `entry` is what it begins with, `begin` what an iteration
    /// begins with, `latch` what it leaves.
    pub(super) fn solve(
        &mut self,
        id: LoopId,
        entry: &State,
        begin: &State,
        latch: &State,
    ) -> Substitution {
        let mut open = self.carried(id, entry, begin, latch);
        let mut solved = Substitution::default();
        let mut progress = true;
        while progress {
            progress = false;
            let mut rest = Vec::new();
            for mut one in open {
                one.next = solved.apply(&mut self.values, one.next);
                match self.solve_one(id, &one) {
                    Some(value) => {
                        // What is solved already may contain it.
                        solved.insert(one.carried, value);
                        progress = true;
                    }
                    None => rest.push(one),
                }
            }
            open = rest;
        }
        self.odometers(id, &mut open, &mut solved);
        for one in open {
            let kind = self.why(one.next, id).unwrap_or(ReasonKind::MergedValue);
            let kind = match self.reads_varying(one.next, id) {
                true => ReasonKind::ChangedMemory,
                false => kind,
            };
            let (at, what) = match *self.values.node(one.carried) {
                Node::Carried(_, location) => (self.header(id), Some(location)),
                _ => (0, None),
            };
            let value = self.values.intern(Node::Unknown(Unknown {
                kind,
                at,
                what,
                inside: Some(id),
                usually: None,
            }));
            solved.insert(one.carried, value);
        }
        self.solved.extend(&solved);
        solved
    }

    /// Address of a loop's first block.
    pub(crate) fn header(&self, id: LoopId) -> u64 {
        let fact = &self.facts.loops[id.0 as usize];
        let flow = &self.frames[fact.frame.0 as usize].flow;
        flow.block(flow.cycle(fact.cycle).header).start
    }

    fn carried(&mut self, id: LoopId, entry: &State, begin: &State, latch: &State) -> Vec<Open> {
        let mut found = Vec::new();
        for number in 0..16_usize {
            let carried = begin.registers[number].value;
            let location = Location::Register(number as u8);
            if *self.values.node(carried) == Node::Carried(id, location) {
                found.push(Open {
                    carried,
                    first: entry.registers[number].value,
                    next: latch.registers[number].value,
                });
            }
        }
        for ((address, bytes), carried) in begin.memory.iter() {
            let location = Location::Memory(*address, *bytes);
            if *self.values.node(*carried) == Node::Carried(id, location) {
                let first = entry.get(&mut self.values, location);
                let next = latch.get(&mut self.values, location);
                found.push(Open {
                    carried: *carried,
                    first,
                    next,
                });
            }
        }
        found
    }

    fn solve_one(&mut self, id: LoopId, one: &Open) -> Option<Value> {
        if one.next == one.carried || one.next == one.first {
            return Some(one.first);
        }
        let step = self.values.sub(one.next, one.carried);
        if !self.values.varies(step, id) {
            let iteration = self.values.iteration(id);
            let distance = self.values.mul(step, iteration);
            return Some(self.values.add(one.first, distance));
        }
        if let Some(value) = self.geometric(id, one) {
            return Some(value);
        }
        if self.has_carried(one.next, id) {
            return None;
        }
        // What an iteration leaves is said by its number alone, such as what another place held,
        // or memory that is loaded one iteration ahead: one number less is what it begins with,
        // if that is right for the first one as well.
        let iteration = self.values.iteration(id);
        let before = self.values.offset(iteration, -1);
        let mut shift = Substitution::default();
        shift.insert(iteration, before);
        let shifted = shift.apply(&mut self.values, one.next);
        let zero = self.values.constant(0);
        let mut start = Substitution::default();
        start.insert(iteration, zero);
        if start.apply(&mut self.values, shifted) == one.first && shifted != one.first {
            return Some(shifted);
        }
        // Chunks are handed out by one call before the loop and one at its end.
        if let (Node::Chunk(a, call, _), Node::Chunk(b, ..)) =
            (self.values.node(one.first), self.values.node(one.next))
            && a == b
        {
            let (end, call): (ChunkEnd, u64) = (*a, *call);
            return Some(self.values.intern(Node::Chunk(end, call, Some(id))));
        }
        None
    }

    /// What is doubled, or halved, in each iteration.
    fn geometric(&mut self, id: LoopId, one: &Open) -> Option<Value> {
        let iteration = self.values.iteration(id);
        if let Node::Op(Op::ShrS | Op::ShrU, what, by) = *self.values.node(one.next)
            && what == one.carried
            && let Some(by) = self.values.as_constant(by)
        {
            let distance = self.values.scale(iteration, by);
            return Some(self.values.op(Op::ShrS, one.first, distance));
        }
        let (rest, factor) = self.values.linear(one.next, one.carried)?;
        let factor = self.values.as_constant(factor)?;
        if self.values.as_constant(rest) != Some(0) || factor < 2 || factor & (factor - 1) != 0 {
            return None;
        }
        let distance = self
            .values
            .scale(iteration, i64::from(factor.trailing_zeros()));
        let unit = self.values.constant(1);
        let power = self.values.op(Op::Shl, unit, distance);
        Some(self.values.mul(one.first, power))
    }

    /// Counters that are set back when they reach a bound, and those that then count on, as
    /// compilers make them of `collapse`: how they go on most of the time.
    fn odometers(&mut self, id: LoopId, open: &mut Vec<Open>, solved: &mut Substitution) {
        let mut rest = Vec::new();
        for one in open.drain(..) {
            let usual = self.usual(one.next, one.carried);
            let usually = usual.filter(|usual| {
                let step = self.values.sub(*usual, one.carried);
                !self.values.varies(step, id)
            });
            let Some(usual) = usually else {
                rest.push(one);
                continue;
            };
            let step = self.values.sub(usual, one.carried);
            let iteration = self.values.iteration(id);
            let distance = self.values.mul(step, iteration);
            let approximate = self.values.add(one.first, distance);
            let (at, what) = match *self.values.node(one.carried) {
                Node::Carried(_, location) => (self.header(id), Some(location)),
                _ => (0, None),
            };
            let value = self.values.intern(Node::Unknown(Unknown {
                kind: ReasonKind::MergedValue,
                at,
                what,
                inside: Some(id),
                usually: Some(approximate),
            }));
            solved.insert(one.carried, value);
        }
        *open = rest;
    }

    /// Of a choice, what goes on by the smallest step that is one; of one that goes on by none
    /// or is set back, the other.
    fn usual(&mut self, next: Value, carried: Value) -> Option<Value> {
        let Node::Select(_, yes, no) = *self.values.node(next) else {
            return None;
        };
        let mut sides = Vec::new();
        for side in [yes, no] {
            let side = match *self.values.node(side) {
                Node::Select(..) => self.usual(side, carried).unwrap_or(side),
                _ => side,
            };
            let step = self.values.sub(side, carried);
            sides.push((side, self.values.as_constant(step)));
        }
        match (sides[0], sides[1]) {
            // It stays mostly, and counts on when another one is set back.
            ((side, Some(0)), (_, Some(_))) | ((_, Some(_)), (side, Some(0))) => Some(side),
            ((side, Some(_)), (_, None)) | ((_, None), (side, Some(_))) => Some(side),
            _ => None,
        }
    }

    /// Whether a value contains something that a loop carries and that is not solved.
    fn has_carried(&self, value: Value, id: LoopId) -> bool {
        let mut found = false;
        self.values.walk(value, &mut |_, node| {
            found |= matches!(node, Node::Carried(of, _) if *of == id);
        });
        found
    }

    /// Whether a value contains memory at an address that changes in a loop.
    pub(crate) fn reads_varying(&self, value: Value, id: LoopId) -> bool {
        let mut found = false;
        self.values.walk(value, &mut |_, node| {
            if let Node::Load { address, .. } = node {
                found |= self.values.varies(*address, id);
            }
        });
        found
    }

    /// Why a value that changes in a loop is not known.
    pub(crate) fn why(&self, value: Value, id: LoopId) -> Option<ReasonKind> {
        let mut found = None;
        self.values.walk(value, &mut |part, node| {
            if let Node::Unknown(unknown) = node
                && self.values.varies(part, id)
                && unknown.usually.is_none()
            {
                found = found.or(Some(unknown.kind));
            }
        });
        found
    }
}
