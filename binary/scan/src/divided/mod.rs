//! Worksharing loops that threads divide by the code, and how many iterations they have.
//!
//! The evidence is the division, not the loop behind it. gcc computes `n / threads` and
//! `n % threads` before a loop of equal parts, and compares the begin of each chunk with `n` where
//! chunks are dealt in turn; LLVM's interface is told the bounds. Whatever is done to the loop
//! afterwards (vectors, unrolling, peeling, a call that fills memory), `n` stays what it was.
//!
//! What is left to tell is how many loops share a division, as gcc makes it but once, and how
//! often each is come to. Where that does not show, the total is not known.

mod total;
mod units;

use crate::body::Assembly;
use crate::places::Places;
use crate::values::{Node, Value};
use crate::walk::FrameId;
use fathomp_cfg::{BlockId, FunctionId, Target};
use fathomp_regions::{CallKind, Divided, Leaf, LoopId, Op, ReasonKind};
use std::sync::{Mutex, PoisonError};
use units::{Unit, unknown};

/// What units of one loop have in common.
#[derive(PartialEq)]
struct Alike {
    frame: FrameId,
    parent: Option<LoopId>,
    number: Value,
    chunk: Option<Value>,
    /// See [`Assembly::section`].
    section: Vec<u64>,
}

/// A file, and a line of it.
type Line = (String, u32);

/// Units at one line, and the lines that their accesses are at.
struct AtLine<'u> {
    line: Line,
    units: Vec<(&'u Unit, Vec<Line>)>,
}

impl AtLine<'_> {
    /// Whether a line lies between theirs.
    fn is_around(&self, (file, line): &Line) -> bool {
        let own = self.units.iter().flat_map(|(_, lines)| lines);
        let own = own.chain([&self.line]).filter(|(known, _)| known == file);
        let (mut before, mut behind) = (false, false);
        for (_, known) in own {
            before |= known <= line;
            behind |= known >= line;
        }
        before && behind
    }
}

impl Assembly<'_, '_> {
    /// The loops that threads divide by the code.
    pub(crate) fn divided(&mut self, places: &Mutex<Places>) -> Vec<Divided> {
        let (units, mut found) = self.units();
        let mut groups: Vec<(Alike, Vec<Unit>)> = Vec::new();
        for unit in units {
            let alike = Alike {
                frame: unit.frame,
                parent: unit.parent,
                number: unit.number,
                chunk: unit.chunk,
                section: self.section(&unit),
            };
            match groups.iter_mut().find(|(known, _)| *known == alike) {
                Some((_, group)) => group.push(unit),
                None => groups.push((alike, vec![unit])),
            }
        }
        let matched: Vec<Value> = groups.iter().map(|(alike, _)| alike.number).collect();
        for (_, group) in groups {
            match self.loops_of(&group, places) {
                Ok(loops) => {
                    for units in loops {
                        found.push((units[0].at, self.count(&units)));
                    }
                }
                Err(why) => {
                    let mut divided = unknown(ReasonKind::MergedValue, why);
                    let ids = group.iter().filter_map(|unit| unit.id);
                    divided.loops = ids.filter_map(|id| self.numbers.of(id)).collect();
                    found.push((group[0].at, divided));
                }
            }
        }
        self.unmatched(&matched, &mut found);
        self.told(&mut found);
        self.elsewhere(&mut found);
        found.into_iter().map(|(_, divided)| divided).collect()
    }

    /// The barriers that are passed on all ways to a unit: no loop has parts on both sides of one.
    fn section(&self, unit: &Unit) -> Vec<u64> {
        let flow = &self.frame(unit.frame).flow;
        let calls = self.walk.facts.calls.iter();
        let before = calls.filter(|((frame, _), call)| {
            *frame == unit.frame
                && call.kind == CallKind::Barrier
                && call.inside == unit.parent
                && flow.dominators().dominates(call.block, unit.block)
        });
        // In the same block, those in front of it.
        let before = before.filter(|((_, at), call)| call.block != unit.block || *at < unit.at);
        before.map(|((_, at), _)| *at).collect()
    }

    /// Units of one division between two barriers, by loop as written.
    fn loops_of<'u>(
        &mut self,
        group: &'u [Unit],
        places: &Mutex<Places>,
    ) -> Result<Vec<Vec<&'u Unit>>, &'static str> {
        let full: Vec<&Unit> = group.iter().filter(|unit| unit.full).collect();
        let pairs = || {
            let pairs = full.iter().enumerate();
            pairs.flat_map(|(at, one)| full[at + 1..].iter().map(move |other| (*one, *other)))
        };
        if !pairs().any(|(one, other)| self.follow_each_other(one, other)) {
            return Ok(vec![group.iter().collect()]);
        }
        let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = |at: u64| {
            let place = places.of(at).filter(|place| place.line > 0)?;
            Some((place.file, place.line))
        };
        // A compiler that splits a loop leaves its way out at the line where it was.
        const NO_LINES: &str =
            "one loop that was split, or several: without lines that is not known";
        let mut at_lines: Vec<AtLine<'u>> = Vec::new();
        for unit in &full {
            let Some(id) = unit.id else { continue };
            let own = line(unit.exit).ok_or(NO_LINES)?;
            let mut lines: Vec<Line> = Vec::new();
            for at in self.accesses_in(id) {
                let known = line(at);
                lines.extend(known.filter(|known| !lines.contains(known)));
            }
            let Some(known) = at_lines.iter_mut().find(|known| known.line == own) else {
                let units = vec![(*unit, lines)];
                at_lines.push(AtLine { line: own, units });
                continue;
            };
            // An unrolled loop around it: the same again.
            for (other, lines_of) in &known.units {
                if lines == *lines_of && self.follow_each_other(unit, other) {
                    return Err("one loop, or the same several times");
                }
            }
            known.units.push((unit, lines));
        }
        let mut calls: Vec<Vec<&Unit>> = vec![Vec::new(); at_lines.len()];
        for unit in full.iter().filter(|unit| unit.id.is_none()) {
            let own = line(unit.at).ok_or(NO_LINES)?;
            let all = at_lines.iter().zip(&mut calls);
            let mut fitting = all.filter(|(known, _)| known.is_around(&own));
            match (fitting.next(), fitting.next()) {
                (Some((_, calls)), None) => calls.push(unit),
                _ => return Err("memory filled by a call, as part of a loop or for one by itself"),
            }
        }
        let loops = at_lines.into_iter().zip(calls);
        Ok(loops
            .map(|(known, calls)| {
                known
                    .units
                    .iter()
                    .map(|(unit, _)| *unit)
                    .chain(calls)
                    .collect()
            })
            .collect())
    }

    /// Whether both may run, one after the other, before the loop around them goes on.
    fn follow_each_other(&self, one: &Unit, other: &Unit) -> bool {
        let flow = &self.frame(one.frame).flow;
        let stop = one.parent.map(|parent| {
            let fact = &self.walk.facts.loops[parent.0 as usize];
            (fact.frame, flow.cycles.get(fact.cycle.index()))
        });
        let stop = stop.and_then(|(frame, cycle)| (frame == one.frame).then_some(cycle?.header));
        let reaches = |from: BlockId, to: BlockId| {
            let mut seen = vec![false; flow.blocks.len()];
            let mut open = vec![from];
            while let Some(at) = open.pop() {
                for next in &flow.block(at).successors {
                    if *next == to {
                        return true;
                    }
                    if Some(*next) != stop && !std::mem::replace(&mut seen[next.index()], true) {
                        open.push(*next);
                    }
                }
            }
            false
        };
        one.block == other.block
            || reaches(one.block, other.block)
            || reaches(other.block, one.block)
    }

    /// Addresses of accesses in a loop.
    fn accesses_in(&self, id: LoopId) -> Vec<u64> {
        let accesses = self.walk.facts.accesses.iter();
        let inside = |inside: Option<LoopId>| {
            inside.is_some_and(|inside| self.walk.values.is_inside(inside, id))
        };
        let here = accesses.filter(|(_, access)| inside(access.inside));
        here.map(|((_, at, _), _)| *at).collect()
    }

    fn loops_in(&self, units: &[&Unit]) -> Vec<LoopId> {
        let ids = units.iter().filter_map(|unit| unit.id);
        ids.filter_map(|id| self.numbers.of(id)).collect()
    }

    /// Divisions as before a loop, without a loop.
    fn unmatched(&mut self, matched: &[Value], found: &mut Vec<(u64, Divided)>) {
        let thread = self.walk.values.leaf(Leaf::Thread);
        let threads = self.walk.values.leaf(Leaf::Threads);
        let divisions: Vec<_> = self.walk.facts.divisions.iter().collect();
        let mut asked: Vec<(Value, u64)> = Vec::new();
        for ((frame, at), fact) in divisions {
            let values = &self.walk.values;
            let compared = [Op::RemS, Op::RemU].into_iter().any(|op| {
                let rest = values.find(&Node::Op(op, fact.number, threads));
                let less = |rest| {
                    let is = |node| values.find(&node).is_some();
                    [Op::LtS, Op::LtU]
                        .into_iter()
                        .any(|op| is(Node::Op(op, thread, rest)))
                        || [Op::LeS, Op::LeU]
                            .into_iter()
                            .any(|op| is(Node::Op(op, rest, thread)))
                };
                rest.is_some_and(less)
            });
            if self.live.contains(frame) && compared {
                asked.push((fact.number, *at));
            }
        }
        for (number, at) in asked {
            if !matched.contains(&self.resolve(number)) {
                let detail = format!("what is divided at {at:#x}");
                found.push((at, unknown(ReasonKind::MergedValue, detail)));
            }
        }
    }

    /// Functions that are called without being followed, or code that was not looked at, may
    /// share loops, too.
    fn elsewhere(&mut self, found: &mut Vec<(u64, Divided)>) {
        let mut asked: Vec<(u64, FunctionId)> = Vec::new();
        for ((frame, at), call) in &self.walk.facts.calls {
            if let Target::Local(address) = call.target
                && !call.followed
                && call.kind == CallKind::Other
                && self.live.contains(frame)
                && let Some(id) = self.walk.image.function_from(address)
            {
                asked.push((*at, id));
            }
        }
        let root = self.frame(FrameId(0)).function;
        if self.walk.exhausted || self.has_flaws() {
            asked.push((self.walk.image.function(root).range.start, root));
        }
        for (at, id) in asked {
            if self.walk.may_divide(id) {
                let detail = format!("the call at {at:#x}");
                found.push((at, unknown(ReasonKind::Call, detail)));
            }
        }
    }

    fn has_flaws(&self) -> bool {
        let frames = self.live.iter();
        frames
            .map(|frame| self.frame(*frame))
            .any(|frame| !frame.flow.flaws.is_empty())
    }
}
