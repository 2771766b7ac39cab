//! What the code of a region contains.

use super::{INDENT, ScanOptions, nested, some, wrapped_behind};
use crate::text::{Grid, printable};
use fathomp_regions::{
    Access, AccessClass, Arithmetic, ArithmeticKind, AtomicKind, Body, CallKind, Callee, Construct,
    Direction, ElementKind, Expr, Known, Leaf, LoopId, LoopRole, Op, Readable, Schedule,
    ScheduleKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// Longer expressions are cut.
const EXPR_MAX: usize = 120;

pub(super) fn describe(
    text: &mut String,
    body: &Body,
    construct: Option<&Construct>,
    options: &ScanOptions,
) {
    let body = &Shown { body, construct };
    text.push_str(&wrapped_behind(&body.head(), options.width));
    if !body.body.loops.is_empty() {
        for line in body.loops().render(options.width - INDENT.len()).lines() {
            text.push_str(&format!("{INDENT}{line}\n"));
        }
    }
    for inside in body.places() {
        for line in body.contents(inside, options.verbose) {
            text.push_str(&wrapped_behind(&format!("{INDENT}{line}"), options.width));
        }
    }
    for line in body.rest() {
        text.push_str(&wrapped_behind(&format!("{INDENT}{line}"), options.width));
    }
    if options.verbose {
        text.push_str(&body.every_access(options.width));
    }
}

/// What is said of one loop, or of what stands outside all.
pub(crate) struct Part {
    /// Its name, with the line; empty outside loops.
    pub(crate) name: String,
    /// Loops around it.
    pub(crate) depth: u32,
    /// Its line; 0 if not known.
    pub(crate) line: u32,
    /// Whether threads share its iterations.
    pub(crate) shared: bool,
    /// Iterations, or why they are not known; empty outside loops.
    pub(crate) iterations: String,
    /// What it accesses, computes and calls in an iteration, without its name.
    pub(crate) contents: Vec<String>,
}

/// What a body contains: what stands outside loops first, if anything does.
pub(crate) fn parts(body: &Body, construct: Option<&Construct>) -> Vec<Part> {
    let shown = Shown { body, construct };
    let all = shown.places().map(|inside| {
        let contents = shown.contents(inside, false);
        let prefix = shown.place_of(inside);
        let contents = contents
            .into_iter()
            .map(|line| line.strip_prefix(&prefix).unwrap_or(&line).to_owned())
            .collect();
        let Some((number, one)) = inside.and_then(|LoopId(number)| {
            let number = number as usize;
            Some((number, body.loops.get(number)?))
        }) else {
            return Part {
                name: String::new(),
                depth: 0,
                line: 0,
                shared: false,
                iterations: String::new(),
                contents,
            };
        };
        Part {
            name: shown.loop_name(number),
            depth: one.depth,
            line: one.place.as_ref().map_or(0, |place| place.line),
            shared: one.worksharing.is_some(),
            iterations: shown.iterations(&one.trips),
            contents,
        }
    });
    all.filter(|part| !part.name.is_empty() || !part.contents.is_empty())
        .collect()
}

struct Shown<'a> {
    body: &'a Body,
    construct: Option<&'a Construct>,
}

impl Shown<'_> {
    /// Threads and schedules.
    fn head(&self) -> String {
        let mut threads = BTreeSet::new();
        for start in &self.body.starts {
            threads.insert(match start.threads {
                Some(0) => "as many threads as the runtime decides".to_owned(),
                Some(1) => "1 thread".to_owned(),
                Some(count) => format!("{count} threads"),
                None => "a number of threads that is computed".to_owned(),
            });
        }
        let mut parts: Vec<String> = threads.into_iter().collect();
        if self.body.starts.is_empty() {
            parts.push("started from elsewhere".to_owned());
        }
        let mut schedules = BTreeSet::new();
        for one in &self.body.loops {
            schedules.extend(one.worksharing.as_ref().map(|one| self.schedule(one)));
        }
        parts.extend(schedules);
        format!("{INDENT}{}", parts.join("; "))
    }

    fn schedule(&self, schedule: &Schedule) -> String {
        let kind = match schedule.kind {
            ScheduleKind::Static => "static",
            ScheduleKind::Dynamic => "dynamic",
            ScheduleKind::Guided => "guided",
            ScheduleKind::Runtime => "runtime",
        };
        match &schedule.chunk {
            Some(chunk) => format!("schedule({kind}, {})", self.readable(chunk)),
            None => format!("schedule({kind})"),
        }
    }

    /// An expression with the names that are known.
    fn readable(&self, expr: &Expr) -> String {
        let names = |part: &Expr| match part {
            Expr::Leaf(Leaf::Iteration(id)) => Some(self.iteration(*id)),
            part => self.body.name_of(part).map(str::to_owned),
        };
        let text = printable(&Readable::new(expr, &names).to_string());
        match text.char_indices().nth(EXPR_MAX) {
            Some((at, _)) => format!("{}...", &text[..at]),
            None => text,
        }
    }

    /// What one calls the number of a loop's iteration: from 0 on, whatever its variable.
    fn iteration(&self, id: LoopId) -> String {
        match self.variable(id) {
            Some(name) => format!("#{name}"),
            None => format!("#{}", id.0),
        }
    }

    /// The variable of a loop, if the source has just one loop at its line and so has the
    /// code: compilers give a nest's loops each other's lines.
    fn variable(&self, id: LoopId) -> Option<String> {
        let own = self.body.loops.get(id.0 as usize)?;
        let line = own.place.as_ref()?.line;
        let mut others = self.body.loops.iter().filter(|one| {
            one.depth != own.depth && one.place.as_ref().is_some_and(|place| place.line == line)
        });
        if others.next().is_some() {
            return None;
        }
        let loops = &self.construct?.loops;
        let mut at_line = loops.iter().filter(|one| one.place.line == line);
        let one = at_line.next()?;
        let name = one.variable.known()?;
        at_line.next().is_none().then(|| printable(name))
    }

    fn loop_name(&self, number: usize) -> String {
        let id = LoopId(number as u32);
        let one = &self.body.loops[number];
        let place = one.place.as_ref().filter(|place| place.line > 0);
        let mut name = match (self.variable(id), place) {
            (Some(variable), Some(place)) => format!("{variable}, line {}", place.line),
            (None, Some(place)) => format!("line {}", place.line),
            _ => format!("at {:#x}", one.header),
        };
        name.push_str(match one.role {
            LoopRole::Whole => "",
            LoopRole::Main => " (main part)",
            LoopRole::Remainder => " (remainder)",
        });
        name
    }

    fn iterations(&self, trips: &Known<Expr>) -> String {
        match trips {
            Known::Known(trips) => self.readable(trips),
            Known::Unknown(reason) if reason.detail.is_empty() => "not known".to_owned(),
            Known::Unknown(reason) => format!("not known: {}", printable(&reason.detail)),
        }
    }

    /// What stands before what is said of a place.
    fn place_of(&self, inside: Option<LoopId>) -> String {
        match inside {
            Some(id) => format!("{}: ", self.loop_name(id.0 as usize)),
            None => "outside loops: ".to_owned(),
        }
    }

    fn loops(&self) -> Grid {
        let mut grid = Grid::new("Loop")
            .words("Iterations", 0)
            .column("Bytes/iteration", 1);
        for (number, one) in self.body.loops.iter().enumerate() {
            let trips = self.iterations(&one.trips);
            let shared = one.worksharing.as_ref().map_or("", |_| ", shared");
            let inside = Some(LoopId(number as u32));
            let accesses = self.body.accesses.iter();
            let moving = accesses
                .filter(|access| access.inside == inside && access.class != AccessClass::Invariant);
            let bytes: u64 = moving.map(|access| u64::from(access.bytes)).sum();
            grid.row(
                format!(
                    "{}{}{shared}",
                    nested(one.depth as usize),
                    self.loop_name(number)
                ),
                vec![trips, bytes.to_string()],
            );
        }
        grid
    }

    /// Loops, and what stands outside all.
    fn places(&self) -> impl Iterator<Item = Option<LoopId>> + use<> {
        let loops = self.body.loops.len() as u32;
        std::iter::once(None).chain((0..loops).map(|number| Some(LoopId(number))))
    }

    /// What one loop accesses, computes and calls in an iteration.
    fn contents(&self, inside: Option<LoopId>, all: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for (reads, verb) in [(true, "reads"), (false, "writes")] {
            let mut by_class: BTreeMap<&'static str, (u64, Vec<String>)> = BTreeMap::new();
            for access in self.body.accesses.iter().filter(|one| one.inside == inside) {
                let applies = match access.direction {
                    Direction::Read => reads,
                    Direction::Write => !reads,
                    Direction::ReadWrite => true,
                };
                if !applies {
                    continue;
                }
                let (bytes, names) = by_class.entry(class(&access.class)).or_default();
                *bytes += u64::from(access.bytes);
                let name = self.base(access);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            let parts = by_class.into_iter().map(|(class, (bytes, names))| {
                format!("{bytes} B {class} ({})", some(&names, all))
            });
            let parts: Vec<String> = parts.collect();
            if !parts.is_empty() {
                lines.push(format!("{verb} {}", parts.join(", ")));
            }
        }
        let computed = self
            .body
            .arithmetic
            .iter()
            .filter(|one| one.inside == inside);
        let computed: Vec<String> = computed.map(arithmetic).collect();
        if !computed.is_empty() {
            lines.push(format!("computes {}", computed.join(", ")));
        }
        let mut calls: BTreeMap<String, u64> = BTreeMap::new();
        for call in self.body.calls.iter().filter(|one| one.inside == inside) {
            let name = match &call.callee {
                Callee::Import(name) | Callee::Local(_, Some(name)) => printable(name),
                Callee::Local(address, None) => format!("{address:#x}"),
                Callee::Indirect => "through a pointer".to_owned(),
            };
            let how = match (call.followed, call.kind) {
                (true, _) => " (followed)",
                (false, CallKind::Other) => " (not followed)",
                _ => "",
            };
            *calls.entry(format!("{name}{how}")).or_default() += 1;
        }
        if !calls.is_empty() {
            lines.push(format!("calls {}", counted(calls).join(", ")));
        }
        let mut atomics: BTreeMap<String, u64> = BTreeMap::new();
        for atomic in self.body.atomics.iter().filter(|one| one.inside == inside) {
            let kind = match atomic.kind {
                AtomicKind::Fence => "fence".to_owned(),
                AtomicKind::CompareExchange => {
                    format!("compare-and-exchange of {} B", atomic.bytes)
                }
                AtomicKind::Update => format!("update of {} B", atomic.bytes),
            };
            *atomics.entry(kind).or_default() += 1;
        }
        if !atomics.is_empty() {
            lines.push(format!("atomics: {}", counted(atomics).join(", ")));
        }
        let place = self.place_of(inside);
        lines
            .into_iter()
            .map(|line| format!("{place}{line}"))
            .collect()
    }

    fn base(&self, access: &Access) -> String {
        let base = &access.base;
        match (&base.name, &base.expr) {
            (Some(name), _) => printable(name),
            (None, _) if base.stack => "stack".to_owned(),
            (None, Some(expr)) => self.readable(pointer(expr).unwrap_or(expr)),
            (None, None) => "?".to_owned(),
        }
    }

    /// What was not understood.
    fn rest(&self) -> Vec<String> {
        let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
        for access in &self.body.accesses {
            if let AccessClass::Unknown(reason) = &access.class {
                let detail = printable(&reason.detail);
                *reasons.entry(format!("an access: {detail}")).or_default() += 1;
            }
        }
        for reason in &self.body.unknown {
            *reasons.entry(printable(&reason.detail)).or_default() += 1;
        }
        let reasons = counted(reasons).into_iter();
        reasons
            .map(|reason| format!("not known: {reason}"))
            .collect()
    }

    fn every_access(&self, width: usize) -> String {
        let mut grid = Grid::new("Access")
            .words("", 0)
            .column("Bytes", 0)
            .words("Class", 0)
            .words("Address", 1);
        for access in &self.body.accesses {
            let address = match &access.address {
                Known::Known(address) => {
                    let strides = address.strides.iter().map(|stride| {
                        let over = self.iteration(stride.over);
                        format!(" + {over} * {}", self.readable(&stride.bytes))
                    });
                    self.readable(&address.start) + &strides.collect::<String>()
                }
                Known::Unknown(reason) => printable(&reason.detail),
            };
            let line = access
                .place
                .as_ref()
                .map(|place| format!(" line {}", place.line));
            grid.row(
                format!("{:#x}{}", access.at, line.unwrap_or_default()),
                vec![
                    match access.direction {
                        Direction::Read => "read".to_owned(),
                        Direction::Write => "write".to_owned(),
                        Direction::ReadWrite => "both".to_owned(),
                    },
                    access.bytes.to_string(),
                    match access.class {
                        AccessClass::Strided(bytes) => format!("stride {bytes}"),
                        ref other => class(other).to_owned(),
                    },
                    format!("{}: {address}", self.base(access)),
                ],
            );
        }
        if grid.is_empty() {
            return String::new();
        }
        let lines = grid.render(width - INDENT.len());
        lines
            .lines()
            .map(|line| format!("{INDENT}{line}\n"))
            .collect()
    }
}

/// The part of a sum that says where an array lies: a pointer from memory, or a variable.
fn pointer(sum: &Expr) -> Option<&Expr> {
    match sum {
        Expr::Op(Op::Add, left, right) => pointer(left).or_else(|| pointer(right)),
        Expr::Op(Op::Sub, left, _) => pointer(left),
        Expr::Load { bytes: 8, .. } | Expr::Leaf(Leaf::Module(1..)) => Some(sum),
        Expr::Leaf(Leaf::Argument(_) | Leaf::ThreadStatic) => Some(sum),
        _ => None,
    }
}

fn class(class: &AccessClass) -> &'static str {
    match class {
        AccessClass::Invariant => "invariant",
        AccessClass::Unit => "unit",
        AccessClass::Dense => "dense",
        AccessClass::Strided(_) => "strided",
        AccessClass::SymbolicStride => "strided by a value of the run",
        AccessClass::Indirect => "indirect",
        AccessClass::Unknown(_) => "not known",
    }
}

fn arithmetic(one: &Arithmetic) -> String {
    let kind = match one.kind {
        ArithmeticKind::Add => "add",
        ArithmeticKind::Multiply => "multiply",
        ArithmeticKind::FusedMultiplyAdd => "multiply-add",
        ArithmeticKind::Divide => "divide",
        ArithmeticKind::SquareRoot => "square root",
        ArithmeticKind::Compare => "compare",
        ArithmeticKind::Logic => "logic",
        ArithmeticKind::Convert => "convert",
        ArithmeticKind::Shuffle => "shuffle",
    };
    let element = match one.element {
        ElementKind::Integer => "int",
        ElementKind::Float => "float",
        ElementKind::Double => "double",
        ElementKind::LongDouble => "long double",
    };
    let lanes = if one.lanes > 1 {
        format!(" x{}", one.lanes)
    } else {
        String::new()
    };
    format!("{} {kind} ({element}{lanes})", one.instructions)
}

/// Things with how often there are.
fn counted(things: BTreeMap<String, u64>) -> Vec<String> {
    let counted = things.into_iter().map(|(thing, times)| match times {
        1 => thing,
        times => format!("{thing} ({times} times)"),
    });
    counted.collect()
}
