//! What does the work of divided loops: loops, and calls that fill or copy memory.

use crate::body::Assembly;
use crate::values::{Node, Substitution, Value};
use crate::walk::{DivisionFact, FrameId, Reach};
use fathomp_cfg::BlockId;
use fathomp_regions::{CallKind, Divided, Known, Leaf, LoopId, Op, Reason, ReasonKind};
use std::rc::Rc;

/// A thread's part by which loops are told from those that do what others leave over: vectors
/// and unrolling divide the first by some hundred at most.
const PART: i64 = 1_000_000_007;
/// What is left over is less.
const REST: i64 = 100_000;

/// Not to be told.
pub(super) fn unknown(kind: ReasonKind, detail: impl Into<String>) -> Divided {
    Divided {
        loops: Vec::new(),
        total: Known::Unknown(Reason::new(kind, detail)),
        each: None,
        chunk: None,
    }
}

/// A loop, or a call.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// The loop.
    pub(super) id: Option<LoopId>,
    pub(super) frame: FrameId,
    pub(super) block: BlockId,
    pub(super) at: u64,
    /// Where it is left.
    pub(super) exit: u64,
    pub(super) parent: Option<LoopId>,
    /// What is divided, and whether that is a signed number.
    pub(super) number: Value,
    pub(super) signed: bool,
    /// Bits of it; 0 if not known.
    pub(super) bits: u8,
    pub(super) chunk: Option<Value>,
    pub(super) reach: Rc<Reach>,
    /// Whether it does more than what others leave over.
    pub(super) full: bool,
}

/// Quotients and rests of numbers by the team's size.
#[derive(Default)]
struct Parts {
    /// What is divided, the node, and whether the number is signed.
    quotients: Vec<(Value, Value, bool)>,
    rests: Vec<(Value, Value)>,
}

impl Parts {
    /// The only number of which there are both, and whether it is signed.
    fn only(&self) -> Result<Option<(Value, bool)>, ()> {
        let mut found: Option<(Value, bool)> = None;
        for (number, _, signed) in &self.quotients {
            if self.rests.iter().any(|(rest, _)| rest == number) {
                if found.is_some_and(|(known, _)| known != *number) {
                    return Err(());
                }
                found = Some((*number, *signed));
            }
        }
        Ok(found)
    }
}

impl Assembly<'_, '_> {
    /// All units, and what looks like one without being understood.
    pub(super) fn units(&mut self) -> (Vec<Unit>, Vec<(u64, Divided)>) {
        let mut units: Vec<Unit> = Vec::new();
        let mut found = Vec::new();
        let mut inside: Vec<LoopId> = Vec::new();
        let mut others = Vec::new();
        for number in 0..self.walk.facts.loops.len() {
            let id = LoopId(number as u32);
            if self.numbers.of(id).is_none() {
                continue;
            }
            let parent = self.walk.facts.loops[number].parent;
            if parent.is_some_and(|parent| inside.contains(&parent)) {
                inside.push(id);
                continue;
            }
            match self.unit(id) {
                Ok(None) => {
                    others.push(id);
                    continue;
                }
                Ok(Some(unit)) => units.push(unit),
                Err(()) => found.push(self.not_told(id)),
            }
            inside.push(id);
        }
        self.calls_that_fill(&inside, &mut units, &mut found);
        for id in others {
            if self.may_be_divided(id, &inside) {
                found.push(self.not_told(id));
            }
        }
        (units, found)
    }

    /// A loop of which it does not show how threads divide it.
    fn not_told(&self, id: LoopId) -> (u64, Divided) {
        let at = self.walk.header(id);
        let what = format!("how threads divide the loop at {at:#x}");
        let mut divided = unknown(ReasonKind::MergedValue, what);
        divided.loops.extend(self.numbers.of(id));
        (at, divided)
    }

    /// Whether a loop of unknown trips, none of whose inner ones is a unit, accesses what a
    /// thread's part begins with.
    fn may_be_divided(&mut self, id: LoopId, inside: &[LoopId]) -> bool {
        let fact = &self.walk.facts.loops[id.0 as usize];
        let values = &self.walk.values;
        let is_around = |inner: &LoopId| values.is_inside(*inner, id);
        if matches!(fact.trips, Some(Ok(_)))
            || fact.chunks.is_some()
            || inside.iter().any(is_around)
        {
            return false;
        }
        let accesses = self.walk.facts.accesses.values();
        let here = accesses.filter(|access| access.inside == Some(id));
        let addresses: Vec<Value> = here.map(|access| access.address).collect();
        addresses.into_iter().any(|address| {
            let address = self.resolve(address);
            self.is_of_threads(address, true)
        })
    }

    /// A loop as a unit; an error if threads divide it in another way.
    fn unit(&mut self, id: LoopId) -> Result<Option<Unit>, ()> {
        let fact = self.walk.facts.loops[id.0 as usize].clone();
        if fact.chunks.is_some() {
            return Ok(None);
        }
        let flow = self.frame(fact.frame).flow.clone();
        let ends: Vec<Value> = fact.ends.iter().filter_map(|(_, end)| *end).collect();
        let ends: Vec<Value> = ends.into_iter().map(|end| self.resolve(end)).collect();
        // What is the same in all iterations is no end of theirs.
        let values = &self.walk.values;
        let ends: Vec<Value> = ends
            .into_iter()
            .filter(|end| values.varies(*end, id))
            .collect();
        let parts = self.parts(ends.iter().copied());
        let trips = fact.trips.and_then(Result::ok);
        let trips = trips.map(|trips| self.resolve(trips));
        let block = flow.cycle(fact.cycle).header;
        let exit = fact.ends.first().map_or(block, |(from, _)| *from);
        let mut unit = Unit {
            id: Some(id),
            frame: fact.frame,
            block,
            at: flow.block(block).start,
            exit: flow.code(exit).last().map_or(0, |last| last.ip()),
            parent: fact.parent,
            number: self.walk.values.constant(0),
            signed: true,
            bits: 0,
            chunk: None,
            reach: Rc::new(fact.entered),
            full: true,
        };
        if let Some((number, signed)) = parts.only()? {
            (unit.number, unit.signed) = (number, signed);
            unit.bits = self.bits(number);
            unit.full = trips.is_none_or(|trips| {
                let parts = self.parts(std::iter::once(trips));
                self.is_full(trips, &parts)
            });
            return Ok(Some(unit));
        }
        if !ends.iter().any(|end| self.is_of_threads(*end, true)) {
            return Ok(None);
        }
        let mut in_turn = ends.iter().filter_map(|end| self.in_turn(*end, id));
        let (number, chunk, signed) = in_turn.next().ok_or(())?;
        (unit.number, unit.chunk, unit.signed) = (number, Some(chunk), signed);
        Ok(Some(unit))
    }

    /// Bits of a number that is divided.
    fn bits(&mut self, number: Value) -> u8 {
        let divisions: Vec<_> = self.walk.facts.divisions.values().cloned().collect();
        let of = |fact: &&DivisionFact| self.resolve(fact.number) == number;
        divisions.iter().find(of).map_or(64, |fact| fact.bits)
    }

    fn parts(&mut self, values: impl Iterator<Item = Value>) -> Parts {
        let threads = self.walk.values.leaf(Leaf::Threads);
        let mut parts = Parts::default();
        for value in values {
            self.walk.values.walk(value, &mut |part, node| match node {
                Node::Op(op @ (Op::DivS | Op::DivU), number, by) if *by == threads => {
                    parts.quotients.push((*number, part, *op == Op::DivS));
                }
                Node::Op(Op::RemS | Op::RemU, number, by) if *by == threads => {
                    parts.rests.push((*number, part));
                }
                _ => {}
            });
        }
        parts
    }

    /// Whether a loop with these trips does more than what others leave over.
    fn is_full(&mut self, trips: Value, parts: &Parts) -> bool {
        let values = &mut self.walk.values;
        let (part, one, none) = (
            values.constant(PART),
            values.constant(1),
            values.constant(0),
        );
        let mut known = Substitution::default();
        for (leaf, value) in [(Leaf::Threads, one), (Leaf::Thread, none)] {
            let leaf = values.leaf(leaf);
            known.insert(leaf, value);
        }
        for (_, node, _) in &parts.quotients {
            known.insert(*node, part);
        }
        for (_, node) in &parts.rests {
            known.insert(*node, none);
        }
        let trips = known.apply(values, trips);
        values.as_constant(trips).is_none_or(|trips| trips >= REST)
    }

    /// Whether something is said of the team's size or the thread's number; of both, if `both`.
    pub(super) fn is_of_threads(&self, value: Value, both: bool) -> bool {
        let (mut size, mut number) = (false, false);
        self.walk.values.walk(value, &mut |_, node| {
            size |= *node == Node::Leaf(Leaf::Threads);
            number |= *node == Node::Leaf(Leaf::Thread);
        });
        if both { size && number } else { size || number }
    }

    /// Of a loop over chunks in turn: the number of its iterations, those of a chunk, and whether
    /// the number is a signed one. It goes on while
    /// `(trip * threads + thread) * chunk (+ threads * chunk) < number`.
    fn in_turn(&mut self, goes_on: Value, id: LoopId) -> Option<(Value, Value, bool)> {
        let values = &mut self.walk.values;
        let (op, left, right) = match *values.node(goes_on) {
            Node::Op(op @ (Op::LtS | Op::LtU), left, right) => (op, left, right),
            Node::Op(op @ (Op::LeS | Op::LeU), left, right) => (op, left, values.offset(right, 1)),
            _ => return None,
        };
        let (iteration, thread, threads) = (
            values.iteration(id),
            values.leaf(Leaf::Thread),
            values.leaf(Leaf::Threads),
        );
        let (begin, step) = values.linear(left, iteration)?;
        let chunk = values.exact_quotient_by(step, threads)?;
        let (begin, by_thread) = values.linear(begin, thread)?;
        let (begin, by_threads) = values.linear(begin, threads)?;
        let begins = by_threads == chunk || values.as_constant(by_threads) == Some(0);
        let number = values.sub(right, begin);
        let mut fixed = true;
        for value in [begin, number, chunk] {
            values.walk(value, &mut |_, node| {
                fixed &= !matches!(
                    node,
                    Node::Leaf(Leaf::Thread | Leaf::Threads | Leaf::Iteration(_)) | Node::Stack
                );
            });
        }
        // Addresses would be compared in bytes.
        let is_address = values.terms(begin).iter().any(|term| {
            let mut factors = term.factors.iter();
            factors.any(|factor| matches!(values.node(*factor), Node::Leaf(_)))
        });
        let right_kind = by_thread == chunk && values.as_constant(chunk) != Some(0);
        (begins && fixed && !is_address && right_kind).then_some((
            number,
            chunk,
            matches!(op, Op::LtS | Op::LeS),
        ))
    }

    /// Calls that fill or copy what a loop would have.
    fn calls_that_fill(
        &mut self,
        inside: &[LoopId],
        units: &mut Vec<Unit>,
        found: &mut Vec<(u64, Divided)>,
    ) {
        let is_outside = |within: Option<LoopId>| within.is_none_or(|id| !inside.contains(&id));
        let calls: Vec<_> = self
            .walk
            .facts
            .calls
            .iter()
            .filter(|((frame, _), call)| {
                self.live.contains(frame)
                    && call.kind == CallKind::Memory
                    && is_outside(call.inside)
            })
            .map(|((frame, at), call)| (*frame, *at, call.clone()))
            .collect();
        for (frame, at, call) in calls {
            let arguments = call.arguments.map(|argument| self.resolve(argument));
            if !arguments
                .iter()
                .any(|argument| self.is_of_threads(*argument, false))
            {
                continue;
            }
            let parts = self.parts(arguments.into_iter());
            let Ok(Some((number, signed))) = parts.only() else {
                let what = format!("how threads divide what the call at {at:#x} does");
                found.push((at, unknown(ReasonKind::MergedValue, what)));
                continue;
            };
            units.push(Unit {
                id: None,
                frame,
                block: call.block,
                at,
                exit: at,
                parent: call.inside,
                number,
                signed,
                bits: self.bits(number),
                chunk: None,
                reach: call.reach,
                full: true,
            });
        }
        let repeats: Vec<_> = self
            .walk
            .facts
            .accesses
            .iter()
            .filter(|((frame, ..), access)| self.live.contains(frame) && is_outside(access.inside))
            .filter_map(|((_, at, _), access)| Some((*at, access.repeats?)))
            .collect();
        for (at, times) in repeats {
            let times = self.resolve(times);
            if self.is_of_threads(times, false) {
                let what = format!("how threads divide what the instruction at {at:#x} does");
                found.push((at, unknown(ReasonKind::MergedValue, what)));
            }
        }
    }
}
