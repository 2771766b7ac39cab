//! How often loops run, from the conditions of their exits.

use super::{FrameId, Reach, Walk};
use crate::values::{Node, Substitution, Value};
use fathomp_cfg::{BlockId, CycleId, Flow};
use fathomp_regions::{LoopId, Op, Reason, ReasonKind};
use std::collections::BTreeMap;
use std::rc::Rc;

/// One way out of a loop.
struct Exit {
    from: BlockId,
    to: BlockId,
    bound: Bound,
}

/// What is known of a way out.
enum Bound {
    /// It is taken in this iteration, if no other one was before and it is looked at.
    Iteration(Value),
    /// It is taken at once unless this holds, which is the same in all iterations.
    Unless(Value),
    /// Not known.
    Open(Reason),
}

/// A way out of a loop as it is left.
pub(super) struct LoopExit {
    pub(super) from: BlockId,
    pub(super) to: BlockId,
    /// When it is reached in an iteration.
    pub(super) reach: Rc<Reach>,
}

/// What is known of ways out.
#[derive(Default)]
pub(super) struct Ends {
    /// The iteration in which the loop ends there.
    pub(super) iterations: BTreeMap<(BlockId, BlockId), Value>,
    /// What must not hold, the same in all iterations, for the loop to end there.
    pub(super) unless: BTreeMap<(BlockId, BlockId), Value>,
}

/// Whether a block ends by looking whether its compare-and-exchange succeeded.
fn is_retry(flow: &Flow, block: BlockId) -> bool {
    let mut code = flow.code(block).iter().rev().skip(1);
    let sets = code.find(|instruction| instruction.rflags_modified() != 0);
    sets.is_some_and(|sets| fathomp_cfg::sync(sets) == Some(fathomp_cfg::Sync::CompareExchange))
}

fn open(flow: &Flow, from: BlockId, what: &str) -> Bound {
    let at = flow.code(from).last().map_or(0, |last| last.ip());
    let detail = format!("{what} at {at:#x}");
    Bound::Open(Reason::new(ReasonKind::DataDependentExit, detail))
}

impl Walk<'_> {
    /// Finds the trips of a loop with these ways out; `solved` is what it carries. Returns the
    /// iteration in which each way out is taken, as far as that is known.
    pub(super) fn find_trips(
        &mut self,
        frame: FrameId,
        cycle: CycleId,
        id: LoopId,
        leaves: &[LoopExit],
        solved: &mut Substitution,
    ) -> Ends {
        let flow = self.frames[frame.0 as usize].flow.clone();
        let shape = flow.cycle(cycle);
        self.facts.loops[id.0 as usize].seen = true;
        self.facts.loops[id.0 as usize].chunks = None;
        let mut exits = Vec::new();
        let mut kept = Vec::new();
        for LoopExit { from, to, .. } in leaves {
            let (from, to) = (*from, *to);
            kept.push((from, self.goes_on(frame, &flow, from, to, solved)));
            if self.frames[frame.0 as usize].hopeful[to.index()] {
                let bound = match flow.cycle_of(from) == Some(cycle) {
                    true => self.bound(frame, &flow, id, from, to, solved),
                    false => open(&flow, from, "the way out of a loop inside"),
                };
                exits.push(Exit { from, to, bound });
            }
        }
        let zero = self.values.constant(0);
        let mut ends = Ends::default();
        let mut last: Option<Value> = None;
        let mut unless: Vec<Value> = Vec::new();
        let mut reason: Option<Reason> = None;
        let mut empty_headers = true;
        for exit in &exits {
            // One of those that end in the same iteration is looked at in each.
            let together = |other: &Exit| match (&other.bound, &exit.bound) {
                (Bound::Iteration(a), Bound::Iteration(b))
                | (Bound::Unless(a), Bound::Unless(b)) => a == b,
                _ => false,
            };
            let passed = |latch: &BlockId| {
                let mut all = exits.iter().filter(|other| together(other));
                all.any(|other| flow.dominators().dominates(other.from, *latch))
            };
            if let Bound::Open(why) = &exit.bound {
                reason = reason.or(Some(why.clone()));
                continue;
            }
            if !shape.latches.iter().all(passed) {
                let Bound::Open(why) = open(&flow, exit.from, "the way out") else {
                    continue;
                };
                reason = reason.or(Some(why));
                continue;
            }
            match exit.bound {
                Bound::Iteration(value) => {
                    ends.iterations.insert((exit.from, exit.to), value);
                    empty_headers &= exit.from == shape.header
                        && shape.blocks.len() > 1
                        && self.is_empty_header(&flow, shape.header);
                    last = Some(match last {
                        None => value,
                        Some(other) if other == value => other,
                        Some(other) => self.values.op(Op::MinS, other, value),
                    });
                }
                Bound::Unless(condition) => {
                    ends.iterations.insert((exit.from, exit.to), zero);
                    ends.unless.insert((exit.from, exit.to), condition);
                    unless.push(condition);
                }
                Bound::Open(_) => {}
            }
        }
        if reason.is_some()
            && let Some((value, more)) = self.by_ways(id, leaves, solved)
        {
            reason = None;
            last = Some(value);
            unless.clear();
            empty_headers = false;
            ends = more;
        }
        if shape.is_irreducible() {
            reason = Some(Reason::new(
                ReasonKind::Irreducible,
                format!("entries at {:#x} and elsewhere", self.header(id)),
            ));
        }
        let trips = match (last, reason) {
            (Some(mut last), None) => {
                for condition in unless {
                    last = self.values.select(condition, last, zero);
                }
                // A test before anything else is passed once more than the iterations.
                Ok(match empty_headers {
                    true => last,
                    false => self.values.offset(last, 1),
                })
            }
            (_, Some(reason)) => Err(reason),
            (None, None) => Err(Reason::new(
                ReasonKind::DataDependentExit,
                "no way out that depends on a number",
            )),
        };
        let fact = &mut self.facts.loops[id.0 as usize];
        fact.trips = Some(trips);
        fact.last = match (exits.split_first(), &fact.trips) {
            (Some((one, others)), Some(Ok(_))) => {
                let last = |exit: &Exit| ends.iterations.get(&(exit.from, exit.to)).copied();
                let first = last(one);
                first.filter(|_| others.iter().all(|other| last(other) == first))
            }
            _ => None,
        };
        fact.ends = kept;
        ends
    }

    /// What holds as long as a loop is not left by a way out.
    fn goes_on(
        &mut self,
        frame: FrameId,
        flow: &Flow,
        from: BlockId,
        to: BlockId,
        solved: &mut Substitution,
    ) -> Option<Value> {
        let block = flow.block(from);
        let condition = self.frames[frame.0 as usize].conditions[from.index()]?;
        if block.taken == block.passed {
            return None;
        }
        let condition = solved.apply(&mut self.values, condition);
        Some(match block.taken == Some(to) {
            true => self.values.not(condition),
            false => condition,
        })
    }

    /// Whether a block accesses no memory: nothing but a loop's test.
    fn is_empty_header(&self, flow: &Flow, header: BlockId) -> bool {
        !flow.code(header).iter().any(|instruction| {
            fathomp_cfg::is_call(instruction)
                || instruction.mnemonic() != iced_x86::Mnemonic::Lea
                    && instruction
                        .op_kinds()
                        .any(|kind| kind == iced_x86::OpKind::Memory)
        })
    }

    fn bound(
        &mut self,
        frame: FrameId,
        flow: &Flow,
        id: LoopId,
        from: BlockId,
        to: BlockId,
        solved: &mut Substitution,
    ) -> Bound {
        if is_retry(flow, from) {
            // It succeeds at once unless another thread interferes.
            return Bound::Iteration(self.values.constant(0));
        }
        let Some(goes_on) = self.goes_on(frame, flow, from, to, solved) else {
            return open(flow, from, "the branch");
        };
        if let Some(scheduled) = self.handed_out(goes_on) {
            let trips = self.chunk_trips(&scheduled);
            self.facts.loops[id.0 as usize].chunks = Some(scheduled);
            return match trips {
                Some(trips) => Bound::Iteration(trips),
                None => open(flow, from, "chunks handed out by the runtime, tested"),
            };
        }
        if !self.values.varies(goes_on, id) {
            return Bound::Unless(goes_on);
        }
        if let Some(last) = self.last_iteration(goes_on, id) {
            return Bound::Iteration(last);
        }
        let kind = match self.reads_varying(goes_on, id) {
            true => ReasonKind::DataDependentExit,
            false => self
                .why(goes_on, id)
                .unwrap_or(ReasonKind::DataDependentExit),
        };
        let Bound::Open(reason) = open(flow, from, "the branch") else {
            return Bound::Unless(goes_on);
        };
        Bound::Open(Reason { kind, ..reason })
    }

    /// The number of the first iteration in which a condition to go on does not hold.
    pub(super) fn last_iteration(&mut self, goes_on: Value, id: LoopId) -> Option<Value> {
        let Node::Op(op, left, right) = *self.values.node(goes_on) else {
            return None;
        };
        // Less, as a rule: left - right < 0.
        match op {
            Op::Ne => self.meeting(left, right, id),
            Op::LtS | Op::LtU => self.crossing(left, right, id, false),
            Op::LeS | Op::LeU => self.crossing(left, right, id, true),
            // Whoever goes on as long as two things are equal stops when they are not: at once,
            // unless neither changes.
            _ => None,
        }
    }

    /// When two values meet that were different before.
    fn meeting(&mut self, left: Value, right: Value, id: LoopId) -> Option<Value> {
        // A mask's bits: (x & c) != 0 and the like are no such thing.
        let difference = self.values.sub(left, right);
        let iteration = self.values.iteration(id);
        let (start, step) = self.values.linear(difference, iteration)?;
        if self.values.varies(start, id) || self.values.varies(step, id) {
            return None;
        }
        let step = self.values.scale(step, -1);
        if self.values.as_constant(step) == Some(0) {
            return None;
        }
        if let Some(exact) = self.values.exact_quotient_by(start, step) {
            return Some(exact);
        }
        Some(self.values.op(Op::DivS, start, step))
    }

    /// When a value that was less than another one (or equal, if `equal`) no longer is.
    fn crossing(&mut self, left: Value, right: Value, id: LoopId, equal: bool) -> Option<Value> {
        let distance = self.values.sub(right, left);
        let iteration = self.values.iteration(id);
        let (start, step) = self.values.linear(distance, iteration)?;
        if self.values.varies(start, id) || self.values.varies(step, id) {
            return None;
        }
        // It goes on while start + step * i > 0 (or >= 0).
        let step = self.values.scale(step, -1);
        match self.values.as_constant(step) {
            Some(0) => return None,
            Some(by) if by < 0 => return None,
            _ => {}
        }
        // The least i with step * i >= start (> start).
        let start = match equal {
            true => self.values.offset(start, 1),
            false => start,
        };
        let quotient = match self.values.exact_quotient_by(start, step) {
            Some(exact) => exact,
            None => {
                let up = self.values.add(start, step);
                let up = self.values.offset(up, -1);
                self.values.op(Op::DivS, up, step)
            }
        };
        let zero = self.values.constant(0);
        Some(self.values.op(Op::MaxS, quotient, zero))
    }
}
