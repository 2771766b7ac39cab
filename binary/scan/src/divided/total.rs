//! How many iterations divided loops have, over all times that they are come to.

use super::units::{Unit, unknown};
use crate::body::Assembly;
use crate::values::Value;
use crate::walk::{FrameId, Reach};
use fathomp_cfg::BlockId;
use fathomp_regions::{CallKind, Divided, Expr, Known, LoopId, Op, Reason, ReasonKind};
use std::rc::Rc;

/// A place in the code.
#[derive(Clone, Copy)]
struct At {
    frame: FrameId,
    block: BlockId,
    parent: Option<LoopId>,
}

/// What is divided: its value, whether that is a signed number, and its bits (0 if not known).
struct Work {
    number: Value,
    signed: bool,
    bits: u8,
}

/// What is not known: it has no value.
fn no_value() -> Expr {
    Expr::op(Op::DivS, Expr::Const(0), Expr::Const(0))
}

fn constant(value: i64) -> Expr {
    Expr::Const(value)
}

fn select(condition: Option<&Expr>, yes: Expr, no: Expr) -> Expr {
    match condition {
        None => yes,
        Some(Expr::Const(0)) => no,
        Some(Expr::Const(_)) => yes,
        Some(condition) => Expr::Select(Box::new(condition.clone()), yes.into(), no.into()),
    }
}

fn too_many_ways() -> Reason {
    Reason::new(ReasonKind::TooLarge, "the ways to it")
}

impl Assembly<'_, '_> {
    /// A loop as written, whose work these units do.
    pub(super) fn count(&mut self, units: &[&Unit]) -> Divided {
        let first = units[0];
        let at = At {
            frame: first.frame,
            block: first.block,
            parent: first.parent,
        };
        let chunk = first.chunk.and_then(|chunk| self.emit(chunk).ok());
        let work = Work {
            number: first.number,
            signed: first.signed,
            bits: first.bits,
        };
        let mut divided = self.divided_when(first);
        // The nearest one on all ways, if there is one.
        let flow = self.frame(first.frame).flow.clone();
        let over = |one: BlockId, other: BlockId| flow.dominators().dominates(one, other);
        let nearest = divided
            .iter()
            .filter(|(block, _)| over(*block, first.block));
        let nearest = nearest.reduce(|a, b| if over(a.0, b.0) { b } else { a });
        if let Some(nearest) = nearest.cloned() {
            divided = vec![nearest];
        }
        let reaches = match self.leads_there(&divided, units) {
            true => divided.iter().map(|(_, reach)| reach.clone()).collect(),
            false => units.iter().map(|unit| unit.reach.clone()).collect(),
        };
        let divided = divided.into_iter().map(|(_, reach)| reach).collect();
        let counted = match self.is_come_to_each_time(first) {
            true => self.counted(at, &work, reaches, Some(divided)),
            false => Err(Reason::new(
                ReasonKind::MergedValue,
                "a loop around it that may have been inside it",
            )),
        };
        divided_loop(counted, self.loops_in(units), chunk)
    }

    /// Loops of LLVM's interface, which is told their bounds.
    pub(super) fn told(&mut self, found: &mut Vec<(u64, Divided)>) {
        let calls: Vec<_> = self
            .walk
            .facts
            .calls
            .iter()
            .filter(|((frame, _), _)| self.live.contains(frame))
            .filter_map(|((frame, at), call)| {
                let told = self.walk.facts.statics.get(at)?.clone();
                Some((*frame, *at, call.clone(), told))
            })
            .collect();
        for (frame, address, call, told) in calls {
            let at = At {
                frame,
                block: call.block,
                parent: call.inside,
            };
            let chunk = told.chunk.map(|chunk| self.resolve(chunk));
            let chunk = chunk.and_then(|chunk| self.emit(chunk).ok());
            let counted = match told.total {
                Some(total) => {
                    let total = self.resolve(total);
                    let work = Work {
                        number: total,
                        signed: true,
                        bits: 64,
                    };
                    self.counted(at, &work, vec![call.reach], None)
                }
                None => Err(Reason::new(ReasonKind::Other, "the step of a loop")),
            };
            found.push((address, divided_loop(counted, Vec::new(), chunk)));
        }
    }

    /// When the number is divided that a unit's part is made of.
    fn divided_when(&mut self, unit: &Unit) -> Vec<(BlockId, Rc<Reach>)> {
        if unit.chunk.is_some() {
            let calls = self.walk.facts.calls.iter();
            let asks = calls.filter(|((frame, _), call)| {
                let name = call.name.as_deref().unwrap_or_default();
                *frame == unit.frame
                    && call.inside == unit.parent
                    && name.starts_with("omp_get_num_threads")
            });
            return asks
                .map(|(_, call)| (call.block, self.reach(unit, call.block, &call.reach)))
                .collect();
        }
        let divisions: Vec<_> = self
            .walk
            .facts
            .divisions
            .iter()
            .filter(|((frame, _), fact)| *frame == unit.frame && fact.inside == unit.parent)
            .map(|(_, fact)| fact.clone())
            .collect();
        let mut found = Vec::new();
        for fact in divisions {
            if self.resolve(fact.number) == unit.number {
                found.push((fact.block, self.reach(unit, fact.block, &fact.reach)));
            }
        }
        found
    }

    /// When a block is come to that may be always.
    fn reach(&self, unit: &Unit, block: BlockId, known: &Rc<Reach>) -> Rc<Reach> {
        match self.is_always(unit.frame, block) {
            true => Rc::new(Reach::always()),
            false => known.clone(),
        }
    }

    /// Whether whoever comes to where the number is divided comes to a unit, unless that depends on
    /// the thread.
    fn leads_there(&mut self, divided: &[(BlockId, Rc<Reach>)], units: &[&Unit]) -> bool {
        let unit = units[0];
        let flow = self.frame(unit.frame).flow.clone();
        let over = |block: BlockId| flow.dominators().dominates(block, unit.block);
        let Some((from, _)) = divided.iter().find(|(block, _)| over(*block)) else {
            return false;
        };
        let header = unit
            .parent
            .map(|parent| &self.walk.facts.loops[parent.0 as usize]);
        let header = header.filter(|fact| fact.frame == unit.frame);
        let header = header.map(|fact| flow.cycle(fact.cycle).header);
        let search = |first: &[BlockId], stop: &[BlockId], back: bool| {
            let mut seen = vec![false; flow.blocks.len()];
            let mut open = first.to_vec();
            while let Some(at) = open.pop() {
                if std::mem::replace(&mut seen[at.index()], true) || stop.contains(&at) {
                    continue;
                }
                let block = flow.block(at);
                let next = if back {
                    &block.predecessors
                } else {
                    &block.successors
                };
                open.extend(next.iter().filter(|next| back || Some(**next) != header));
            }
            seen
        };
        let targets: Vec<BlockId> = units.iter().map(|unit| unit.block).collect();
        let ahead = search(&[*from], &targets, false);
        let behind = search(&targets, &[*from], true);
        for block in flow
            .ids()
            .filter(|id| ahead[id.index()] && behind[id.index()])
        {
            let next = &flow.block(block).successors;
            if targets.contains(&block) || next.iter().all(|next| behind[next.index()]) {
                continue;
            }
            let condition = self.frame(unit.frame).condition(block);
            let condition = condition.map(|condition| self.resolve(condition));
            if !condition.is_some_and(|condition| self.is_of_threads(condition, false)) {
                return false;
            }
        }
        true
    }

    /// Whether a unit is a worksharing loop in each iteration of the loops around it. If nothing
    /// is divided inside these, nor waited for, compilers may have put an inner loop around it.
    fn is_come_to_each_time(&mut self, unit: &Unit) -> bool {
        let Some(parent) = unit.parent else {
            return true;
        };
        let values = &self.walk.values;
        let is_inside =
            |inside: Option<LoopId>| inside.is_some_and(|inside| values.is_inside(inside, parent));
        let waits = self.walk.facts.calls.values().any(|call| {
            let name = call.name.as_deref().unwrap_or_default();
            is_inside(call.inside)
                && (call.kind == CallKind::Barrier || name.starts_with("omp_get_num_threads"))
        });
        waits || {
            let divisions = self.walk.facts.divisions.values();
            divisions.into_iter().any(|fact| is_inside(fact.inside))
        }
    }

    /// Iterations in all, and each time if always the same. `number` are those of one time, if
    /// any of `reaches` leads there. If none does, there are none, or where it is divided
    /// (`divided`) without coming there it is not known what became of them.
    fn counted(
        &mut self,
        at: At,
        work: &Work,
        reaches: Vec<Rc<Reach>>,
        divided: Option<Vec<Rc<Reach>>>,
    ) -> Result<(Expr, Option<Expr>), Reason> {
        let once = self.emit(work.number)?;
        // Of a narrow number the upper half is what its arithmetic left there.
        let narrow = |op, expr: &Expr| Expr::op(op, expr.clone(), constant(32));
        let certain = |expr| Expr::op(Op::MaxS, expr, constant(0));
        let once = match (work.signed, work.bits) {
            (true, 32) if is_composed(&once) => certain(narrow(Op::SignExtend, &once)),
            (true, 0) if is_composed(&once) => {
                let same = Expr::op(Op::Eq, narrow(Op::SignExtend, &once), once.clone());
                select(Some(&same), certain(once), no_value())
            }
            (true, _) => certain(once),
            (false, 32) => narrow(Op::ZeroExtend, &once),
            (false, _) => once,
        };
        let comes = self.condition(&reaches, at.parent)?;
        let otherwise = match (&comes, divided) {
            (Some(comes), Some(divided)) if !divided.is_empty() => {
                match self.condition(&divided, at.parent)? {
                    None => no_value(),
                    Some(divided) if divided == *comes => constant(0),
                    Some(divided) => select(Some(&divided), no_value(), constant(0)),
                }
            }
            (Some(_), Some(_)) => no_value(),
            _ => constant(0),
        };
        let each = select(comes.as_ref(), once, otherwise);
        let mut total = each.clone();
        let (mut frame, mut block, mut parent) = (at.frame, at.block, at.parent);
        while let Some(around) = parent {
            let fact = self.walk.facts.loops[around.0 as usize].clone();
            while fact.frame != frame {
                let caller = self.callers.get(&frame).copied();
                (frame, block) = caller.ok_or_else(too_many_ways)?;
            }
            let times = self.times(around, block)?;
            total = if total.depends_on_iterations() {
                if comes.is_some() || Some(around) != at.parent {
                    let what = "it differs from one iteration around it to the next";
                    return Err(Reason::new(ReasonKind::Other, what));
                }
                self.sum(work.number, around, &times)?
            } else {
                Expr::op(Op::Mul, total, Expr::op(Op::MaxS, times, constant(0)))
            };
            let entered = self.condition(&[Rc::new(fact.entered)], fact.parent)?;
            total = select(entered.as_ref(), total, constant(0));
            block = self.frame(frame).flow.cycle(fact.cycle).header;
            parent = fact.parent;
        }
        if total.depends_on_iterations() {
            return Err(Reason::new(ReasonKind::Other, "the loops around it"));
        }
        let each = (!each.depends_on_iterations()).then_some(each);
        Ok((total, each))
    }

    /// The sum of a number over the iterations of a loop, if it changes evenly and is never
    /// negative.
    fn sum(&mut self, number: Value, around: LoopId, times: &Expr) -> Result<Expr, Reason> {
        let uneven = || Reason::new(ReasonKind::Other, "it changes unevenly around it");
        let iteration = self.walk.values.iteration(around);
        let linear = self.walk.values.linear(number, iteration);
        let (first, step) = linear.ok_or_else(uneven)?;
        let (first, step) = (self.emit(first)?, self.emit(step)?);
        if first.depends_on_iterations() || step.depends_on_iterations() {
            return Err(uneven());
        }
        let last = Expr::op(Op::Sub, times.clone(), constant(1));
        let all = Expr::op(Op::Mul, step, last);
        let end = Expr::op(Op::Add, first.clone(), all);
        let ends = Expr::op(Op::Add, first.clone(), end.clone());
        let twice = Expr::op(Op::Mul, ends, times.clone());
        let sum = Expr::op(Op::DivS, twice, constant(2));
        let least = Expr::op(Op::MinS, first, end);
        let even = Expr::op(Op::LeS, constant(0), least);
        let some = Expr::op(Op::LtS, constant(0), times.clone());
        Ok(select(
            Some(&some),
            select(Some(&even), sum, no_value()),
            constant(0),
        ))
    }

    /// How often a block is come to in a loop, if nothing inside leads past it.
    fn times(&mut self, around: LoopId, block: BlockId) -> Result<Expr, Reason> {
        let fact = self.walk.facts.loops[around.0 as usize].clone();
        let last = match (fact.last, fact.trips) {
            (Some(last), Some(Ok(_))) => last,
            (_, Some(Err(reason))) => return Err(reason),
            _ => {
                let what = "a loop around it that may end in several ways";
                return Err(Reason::new(ReasonKind::DataDependentExit, what));
            }
        };
        let flow = self.frame(fact.frame).flow.clone();
        let header = flow.cycle(fact.cycle).header;
        let tests: Vec<BlockId> = fact.ends.iter().map(|(from, _)| *from).collect();
        // Whether it is come to from one of these without passing one of those, nor the loop's
        // first block again.
        let comes = |first: &[BlockId], past: &[BlockId]| {
            let mut seen = vec![false; flow.blocks.len()];
            let mut open: Vec<BlockId> = first.to_vec();
            while let Some(at) = open.pop() {
                let next = flow.block(at).successors.iter();
                for next in next.filter(|next| **next != header) {
                    if *next == block {
                        return true;
                    }
                    if !past.contains(next) && !std::mem::replace(&mut seen[next.index()], true) {
                        open.push(*next);
                    }
                }
            }
            false
        };
        let starts = match tests.contains(&header) {
            true => Vec::new(),
            false => vec![header],
        };
        let before = block == header || comes(&starts, &tests);
        let times = match (before, comes(&tests, &[])) {
            (false, true) => last,
            (true, false) => self.walk.values.offset(last, 1),
            _ => {
                let what = "a loop around it that is tested before and behind it";
                return Err(Reason::new(ReasonKind::DataDependentExit, what));
            }
        };
        let times = self.resolve(times);
        self.emit(times)
    }

    /// When one of several places is come to, whatever thread it is, in an iteration that `around`
    /// is not left in; none if always.
    fn condition(
        &mut self,
        reaches: &[Rc<Reach>],
        around: Option<LoopId>,
    ) -> Result<Option<Expr>, Reason> {
        let ends = around.map(|around| self.walk.facts.loops[around.0 as usize].ends.clone());
        let ends = ends.into_iter().flatten().filter_map(|(_, end)| end);
        let ends: Vec<Value> = ends.collect();
        let ends: Vec<Value> = ends.into_iter().map(|end| self.resolve(end)).collect();
        let mut any: Option<Reach> = None;
        for reach in reaches {
            for way in reach.ways().ok_or_else(too_many_ways)?.to_vec() {
                let mut all = Reach::always();
                for condition in way {
                    let condition = self.resolve(condition);
                    if !ends.contains(&condition) && !self.is_of_threads(condition, false) {
                        all.and(&mut self.walk.values, condition);
                    }
                }
                match &mut any {
                    Some(any) => any.or(&mut self.walk.values, &all),
                    None => any = Some(all),
                }
            }
        }
        let Some(any) = any else {
            return Ok(Some(constant(0)));
        };
        match self.entered(&any) {
            None => Ok(None),
            Some(Known::Known(condition)) => Ok(Some(condition)),
            Some(Known::Unknown(reason)) => Err(reason),
        }
    }
}

/// Whether an expression is more than sums and products of signed numbers, which do not overflow.
fn is_composed(expr: &Expr) -> bool {
    let mut composed = false;
    expr.walk(&mut |part| {
        composed |= match part {
            Expr::Op(op, ..) => !matches!(op, Op::Add | Op::Sub | Op::Mul | Op::MinS | Op::MaxS),
            Expr::Load { bytes, signed, .. } => *bytes == 4 && !signed,
            _ => false,
        }
    });
    composed
}

fn divided_loop(
    counted: Result<(Expr, Option<Expr>), Reason>,
    loops: Vec<LoopId>,
    chunk: Option<Expr>,
) -> Divided {
    match counted {
        Ok((total, each)) => Divided {
            loops,
            total: Known::Known(total),
            each,
            chunk,
        },
        Err(reason) => Divided {
            loops,
            chunk,
            total: Known::Unknown(reason),
            ..unknown(ReasonKind::Other, "")
        },
    }
}
