//! From what the execution of a body showed to its description.

use crate::accesses::Classified;
use crate::groups;
use crate::names::{Located, Watches};
use crate::places::Places;
use crate::renumber::Numbers;
use crate::values::{Node, Substitution, Value};
use crate::walk::{Frame, FrameId, Reach, Walk};
use fathomp_cfg::{BlockId, FlawKind, Flow, Leave, Sync, Target};
use fathomp_regions::{
    Atomic, AtomicKind, Body, Branch, Call, Callee, Coverage, Expr, Known, Leaf, Loop, LoopId,
    LoopRole, Op, Reason, ReasonKind, Schedule, ScheduleKind,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;

/// How often a loop is thought to run whose trips are not constant.
const WEIGHT: f64 = 100.0;

/// A body while it is described.
pub(crate) struct Assembly<'w, 'a> {
    pub(crate) walk: &'w mut Walk<'a>,
    pub(crate) numbers: Numbers,
    /// What an address relative to the stack is shown as.
    stack: Substitution,
    /// By frame: the call of it.
    pub(crate) callers: HashMap<FrameId, (FrameId, BlockId)>,
    /// Frames that take part.
    pub(crate) live: BTreeSet<FrameId>,
    weights: HashMap<LoopId, f64>,
}

impl<'w, 'a> Assembly<'w, 'a> {
    pub(crate) fn new(walk: &'w mut Walk<'a>) -> Self {
        let mut callers = HashMap::new();
        for ((frame, at), call) in &walk.facts.calls {
            if call.followed
                && let Some(callee) = walk.followed(*frame, *at)
            {
                callers.insert(callee, (*frame, call.block));
            }
        }
        let mut live = BTreeSet::from([FrameId(0)]);
        // Callees have larger numbers than their callers.
        for number in 0..walk.frames.len() as u32 {
            let id = FrameId(number);
            if callers
                .get(&id)
                .is_some_and(|(caller, _)| live.contains(caller))
            {
                live.insert(id);
            }
        }
        let mut numbers = Vec::new();
        let mut next = 0;
        for fact in &walk.facts.loops {
            let counts = fact.seen && live.contains(&fact.frame);
            numbers.push(counts.then(|| {
                next += 1;
                LoopId(next - 1)
            }));
        }
        let mut stack = Substitution::default();
        let pointer = walk.values.intern(Node::Stack);
        let zero = walk.values.constant(0);
        stack.insert(pointer, zero);
        Self {
            walk,
            numbers: Numbers(numbers),
            stack,
            callers,
            live,
            weights: HashMap::new(),
        }
    }

    /// The description.
    pub(crate) fn body(&mut self, places: &Mutex<Places>) -> Body {
        let root = self.frame(FrameId(0));
        let range = self.walk.image.function(root.function).range.clone();
        let symbol = self.walk.image.name(root.function).map(str::to_owned);
        let mut body = Body {
            address: range.start,
            bytes: range.end - range.start,
            symbol,
            ..Body::default()
        };
        body.loops = self.loops();
        body.divided = self.divided(places);
        body.accesses = self.accesses();
        body.data_bytes = self.data_bytes();
        body.calls = self.calls();
        body.branches = self.branches();
        self.instructions(&mut body);
        body.unknown = self.unknown();
        body.coverage = coverage(&body);
        body
    }

    /// Where the values of the body's variables lie when it begins.
    pub(crate) fn variables(&mut self, watches: &Watches) -> Located {
        let mut located = Located::new();
        for (address, at, number) in self.walk.facts.variables.clone() {
            let address = self.resolve(address);
            let Some(watch) = watches.get(&at).and_then(|here| here.get(number)) else {
                continue;
            };
            if let Ok(address) = self.emit(address)
                && !address.depends_on_iterations()
            {
                located
                    .entry(address)
                    .or_insert_with(|| (watch.name.clone(), watch.to));
            }
        }
        located
    }

    pub(crate) fn frame(&self, id: FrameId) -> &Frame {
        &self.walk.frames[id.0 as usize]
    }

    /// A value with all that loops carry expressed.
    pub(crate) fn resolve(&mut self, value: Value) -> Value {
        self.walk.solved.apply_all(&mut self.walk.values, value)
    }

    /// A resolved value as an expression.
    pub(crate) fn emit(&self, value: Value) -> Result<Expr, Reason> {
        let expr = self.walk.values.expr(value).map_err(|why| why.reason())?;
        Ok(self.numbers.expr(expr))
    }

    /// The same, addresses on the stack relative to where the stack is when the body begins.
    pub(crate) fn emit_on_stack(&mut self, value: Value) -> Result<Expr, Reason> {
        let value = self.stack.apply(&mut self.walk.values, value);
        self.emit(value)
    }

    fn loops(&mut self) -> Vec<Loop> {
        let mut loops = Vec::new();
        let mut shared: BTreeSet<LoopId> = BTreeSet::new();
        for number in 0..self.walk.facts.loops.len() {
            let old = LoopId(number as u32);
            let Some(id) = self.numbers.of(old) else {
                continue;
            };
            let fact = self.walk.facts.loops[number].clone();
            let trips = match fact.trips {
                Some(Ok(value)) => {
                    let value = self.resolve(value);
                    match self.emit(value) {
                        Ok(expr) => Known::Known(expr),
                        Err(reason) => Known::Unknown(reason),
                    }
                }
                Some(Err(reason)) => Known::Unknown(reason),
                None => Known::Unknown(Reason::new(ReasonKind::TooLarge, "")),
            };
            let parent = fact.parent.and_then(|parent| self.numbers.of(parent));
            let mut worksharing = None;
            if let Some(scheduled) = fact.chunks {
                let expr = |walk: &mut Self, value: Option<Value>| {
                    let value = walk.resolve(value?);
                    walk.emit(value).ok()
                };
                worksharing = Some(Schedule {
                    kind: scheduled.kind,
                    chunk: expr(self, scheduled.chunk),
                    total: expr(self, scheduled.total),
                });
            } else if let Known::Known(expr) = &trips
                && depends_on_thread(expr)
            {
                worksharing = Some(Schedule {
                    kind: ScheduleKind::Static,
                    chunk: None,
                    total: None,
                });
            }
            let within = parent.is_some_and(|parent| shared.contains(&parent));
            if worksharing.is_some() || within {
                shared.insert(id);
            }
            if within {
                worksharing = None;
            }
            let frame = self.frame(fact.frame);
            let cycle = frame.flow.cycle(fact.cycle);
            let header = frame.flow.block(cycle.header).start;
            let entered_if = self.entered(&fact.entered);
            loops.push(Loop {
                parent,
                depth: parent.map_or(0, |parent: LoopId| {
                    let parent: &Loop = &loops[parent.0 as usize];
                    parent.depth + 1
                }),
                innermost: true,
                header,
                place: None,
                trips,
                worksharing,
                role: LoopRole::Whole,
                entered_if,
            });
            if let Some(parent) = parent {
                loops[parent.0 as usize].innermost = false;
            }
        }
        loops
    }

    /// When something is reached, as an expression; none if it always is.
    pub(crate) fn entered(&mut self, reach: &Reach) -> Option<Known<Expr>> {
        let Some(ways) = reach.ways() else {
            let reason = Reason::new(ReasonKind::TooLarge, "the ways to it");
            return Some(Known::Unknown(reason));
        };
        let mut any: Option<Expr> = None;
        for way in ways {
            let mut all: Option<Expr> = None;
            let mut never = false;
            let mut seen = BTreeSet::new();
            for condition in way {
                let condition = self.resolve(*condition);
                if let Some(constant) = self.walk.values.as_constant(condition) {
                    never |= constant == 0;
                    continue;
                }
                if !seen.insert(condition) {
                    continue;
                }
                let expr = match self.emit_parts(condition) {
                    Ok(expr) => expr,
                    Err(_) if self.is_overlap(condition).is_some() => {
                        never |= self.is_overlap(condition) == Some(true);
                        continue;
                    }
                    Err(reason) => return Some(Known::Unknown(reason)),
                };
                all = Some(match all {
                    None => expr,
                    Some(all) => Expr::op(Op::And, all, expr),
                });
            }
            if never {
                continue;
            }
            let all = all?;
            any = Some(match any {
                None => all,
                Some(any) => Expr::op(Op::Or, any, all),
            });
        }
        Some(Known::Known(any.unwrap_or(Expr::Const(0))))
    }

    /// A condition, what it is composed of one by one: each may be as large as an expression can
    /// be.
    fn emit_parts(&mut self, condition: Value) -> Result<Expr, Reason> {
        match *self.walk.values.node(condition) {
            Node::Op(op @ (Op::And | Op::Or), left, right) => {
                let (left, right) = (self.emit_parts(left)?, self.emit_parts(right)?);
                Ok(Expr::op(op, left, right))
            }
            _ => self.emit(condition),
        }
    }

    /// Whether a condition asks if arrays overlap, as compilers do before a vectorised loop:
    /// whether it says that they do.
    fn is_overlap(&self, condition: Value) -> Option<bool> {
        let values = &self.walk.values;
        let (overlaps, apart) = match *values.node(condition) {
            Node::Op(Op::Eq, apart, zero) if values.as_constant(zero) == Some(0) => (true, apart),
            Node::Op(Op::Ne, apart, zero) if values.as_constant(zero) == Some(0) => (false, apart),
            _ => (false, condition),
        };
        match *values.node(apart) {
            Node::Op(Op::Or | Op::And, left, right)
                if values.is_condition(left) && values.is_condition(right) =>
            {
                Some(overlaps)
            }
            _ => None,
        }
    }

    fn accesses(&mut self) -> Vec<fathomp_regions::Access> {
        let facts: Vec<_> = self
            .walk
            .facts
            .accesses
            .iter()
            .filter(|((frame, ..), _)| self.live.contains(frame))
            .map(|((frame, at, _), fact)| (*frame, *at, fact.clone()))
            .collect();
        let classified: Vec<Classified> = facts
            .into_iter()
            .filter_map(|(frame, at, fact)| self.classify(frame, at, &fact))
            .collect();
        groups::group(classified)
    }

    fn data_bytes(&mut self) -> u32 {
        let data = self.walk.values.leaf(Leaf::Data);
        let mut bytes = 0;
        for fact in self.walk.facts.accesses.values() {
            let (base, offset) = self.walk.values.split_constant(fact.address);
            if base == data
                && let Ok(offset) = u32::try_from(offset)
            {
                bytes = bytes.max(offset.saturating_add(fact.bytes));
            }
        }
        bytes
    }

    fn calls(&self) -> Vec<Call> {
        let calls = self.walk.facts.calls.iter();
        let mut found: Vec<Call> = calls
            .filter(|((frame, _), _)| self.live.contains(frame))
            .map(|((_, at), fact)| Call {
                at: *at,
                inside: fact.inside.and_then(|id| self.numbers.of(id)),
                callee: match &fact.target {
                    Target::Import(name) => Callee::Import(name.to_string()),
                    Target::Local(address) => Callee::Local(*address, fact.name.clone()),
                    Target::Unknown => Callee::Indirect,
                },
                kind: fact.kind,
                followed: fact.followed,
            })
            .collect();
        found.sort_by_key(|call| call.at);
        found
    }

    /// Conditions known before the body runs, under which loops of its own run or not.
    fn branches(&mut self) -> Vec<Branch> {
        let flow = self.frame(FrameId(0)).flow.clone();
        let mut found = Vec::new();
        for id in flow.order() {
            let block = flow.block(*id);
            let (Some(taken), Some(passed)) = (block.taken, block.passed) else {
                continue;
            };
            if taken == passed || flow.cycle_of(*id).is_some() {
                continue;
            }
            let Some(condition) = self.frame(FrameId(0)).condition(*id) else {
                continue;
            };
            let condition = self.resolve(condition);
            if self.walk.values.as_constant(condition).is_some() {
                continue;
            }
            let Ok(taken_if) = self.emit(condition) else {
                continue;
            };
            let loops = |to: BlockId| -> Vec<LoopId> {
                let single = flow
                    .block(to)
                    .predecessors
                    .iter()
                    .all(|before| before == id || flow.dominators().dominates(to, *before));
                let cycles = flow.cycles.iter().enumerate();
                cycles
                    .filter(|(_, cycle)| {
                        single
                            && cycle.parent.is_none()
                            && flow.dominators().dominates(to, cycle.header)
                    })
                    .filter_map(|(number, _)| self.numbers.of(self.frame(FrameId(0)).loops[number]))
                    .collect()
            };
            let (taken, passed) = (loops(taken), loops(passed));
            if taken.is_empty() && passed.is_empty() {
                continue;
            }
            let at = flow.code(*id).last().map_or(block.start, |last| last.ip());
            found.push(Branch {
                at,
                taken_if,
                taken,
                passed,
            });
        }
        found
    }

    /// What is counted by instructions: themselves, arithmetic, atomics.
    fn instructions(&mut self, body: &mut Body) {
        let mut counts: BTreeMap<Option<LoopId>, u32> = BTreeMap::new();
        let mut arithmetic = crate::arithmetic::Counts::default();
        for id in self.live.clone() {
            let flow = self.frame(id).flow.clone();
            let useful = crate::arithmetic::Useful::of(&flow);
            for block in flow.ids().filter(|block| flow.block(*block).reachable) {
                let inside = self.frame(id).inside(block);
                let inside = inside.and_then(|inside| self.numbers.of(inside));
                let code = flow.code(block);
                *counts.entry(inside).or_default() += code.len() as u32;
                let conditional = !self.is_always(id, block);
                for (number, instruction) in code.iter().enumerate() {
                    if let Some(sync) = fathomp_cfg::sync(instruction) {
                        body.atomics.push(atomic(instruction, sync, inside));
                    }
                    if useful.counts(block, number) {
                        arithmetic.add(instruction, inside, conditional);
                    }
                }
            }
        }
        body.atomics.sort_by_key(|atomic| atomic.at);
        body.instructions = counts.into_iter().collect();
        body.arithmetic = arithmetic.finish();
    }

    fn unknown(&mut self) -> Vec<Reason> {
        let mut found = Vec::new();
        for id in &self.live {
            for flaw in &self.walk.frames[id.0 as usize].flow.flaws {
                let kind = match flaw.kind {
                    FlawKind::Undecodable | FlawKind::JumpAstray => ReasonKind::Undecodable,
                    FlawKind::IndirectJump => ReasonKind::IndirectJump,
                    FlawKind::Parts | FlawKind::Depth => ReasonKind::TooLarge,
                };
                found.push(Reason::new(kind, format!("at {:#x}", flaw.at)));
            }
        }
        if self.walk.exhausted {
            let what = "it has more code and paths than are followed for one body";
            found.push(Reason::new(ReasonKind::TooLarge, what));
        }
        found
    }

    /// Whether a block is executed in every iteration of the loop around it, or every time
    /// that the body is.
    pub(crate) fn is_always(&self, frame: FrameId, block: BlockId) -> bool {
        let flow = &self.frame(frame).flow;
        let dominates = |of: &BlockId| flow.dominators().dominates(block, *of);
        if let Some(cycle) = flow.cycle_of(block) {
            return flow.cycle(cycle).latches.iter().all(dominates);
        }
        let mut ends = flow.ids().filter(|id| ends(flow, *id));
        if !ends.all(|end| dominates(&end)) {
            return false;
        }
        match self.callers.get(&frame) {
            Some((caller, call)) => self.is_always(*caller, *call),
            None => true,
        }
    }

    /// How often something in a loop is thought to run.
    pub(crate) fn weight(&mut self, inside: Option<LoopId>) -> f64 {
        let Some(id) = inside else {
            return 1.0;
        };
        if let Some(weight) = self.weights.get(&id) {
            return *weight;
        }
        let fact = &self.walk.facts.loops[id.0 as usize];
        let parent = fact.parent;
        let trips = match fact.trips {
            Some(Ok(trips)) => {
                let trips = self.resolve(trips);
                self.walk.values.as_constant(trips)
            }
            _ => None,
        };
        let times = trips.map_or(WEIGHT, |trips| trips.clamp(1, 1 << 40) as f64);
        let weight = times * self.weight(parent);
        self.weights.insert(id, weight);
        weight
    }
}

fn ends(flow: &Flow, id: BlockId) -> bool {
    let block = flow.block(id);
    block.reachable && matches!(block.leaves, Some(Leave::Return | Leave::Tail(_)))
}

fn depends_on_thread(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |part| {
        found |= matches!(part, Expr::Leaf(Leaf::Thread));
    });
    found
}

fn atomic(instruction: &iced_x86::Instruction, sync: Sync, inside: Option<LoopId>) -> Atomic {
    let kind = match sync {
        Sync::Fence => AtomicKind::Fence,
        Sync::CompareExchange => AtomicKind::CompareExchange,
        Sync::Update => AtomicKind::Update,
    };
    let bytes = match kind {
        AtomicKind::Fence => 0,
        _ => instruction.memory_size().size() as u32,
    };
    Atomic {
        at: instruction.ip(),
        inside,
        kind,
        bytes,
    }
}

/// How much of a body was understood.
fn coverage(body: &Body) -> Coverage {
    let mut coverage = Coverage::default();
    let mut reasons: BTreeMap<ReasonKind, u64> = BTreeMap::new();
    let weights = loop_weights(body);
    for (number, one) in body.loops.iter().enumerate() {
        let known = one.trips.known().is_some();
        coverage.trips.count(known, weights[number]);
        if let Some(reason) = one.trips.reason() {
            *reasons.entry(reason.kind).or_default() += 1;
        }
    }
    for access in &body.accesses {
        let Some(inside) = access.inside else {
            continue;
        };
        let innermost = body
            .loops
            .get(inside.0 as usize)
            .is_some_and(|one| one.innermost);
        let share = match innermost {
            true => &mut coverage.innermost_accesses,
            false => &mut coverage.outer_accesses,
        };
        match &access.class {
            fathomp_regions::AccessClass::Unknown(reason) => {
                share.count(false, access.weight);
                *reasons.entry(reason.kind).or_default() += 1;
            }
            _ => share.count(true, access.weight),
        }
    }
    coverage.unknown = reasons.into_iter().collect();
    coverage
        .unknown
        .sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), *kind));
    coverage
}

/// How often each loop is thought to be entered.
fn loop_weights(body: &Body) -> Vec<f64> {
    let mut inside: Vec<f64> = Vec::with_capacity(body.loops.len());
    let mut entered = Vec::with_capacity(body.loops.len());
    for one in &body.loops {
        let around = one
            .parent
            .and_then(|parent| inside.get(parent.0 as usize).copied())
            .unwrap_or(1.0);
        let times = match &one.trips {
            Known::Known(Expr::Const(trips)) => (*trips).clamp(1, 1 << 40) as f64,
            _ => WEIGHT,
        };
        entered.push(around);
        inside.push(around * times);
    }
    entered
}
