//! From a region's body and the facts of a run to a nest in numbers.

mod arrays;
mod fit;

use crate::nest::{Nest, NestAccess, NestLoop, NestWork, Pattern, Trips, bounded};
use arrays::Arrays;
use fathomp_regions::{
    Access, AccessClass, Address, Body, DryLoop, Environment, Expr, Known, Leaf, LoopId, LoopRole,
};
use fit::Fit;

/// What is taken for granted where a run does not tell.
#[derive(Clone, Copy, Debug)]
pub struct Assume<'a> {
    /// Iterations of a loop of which nothing is known.
    pub trips: f64,
    /// Loops that a dry run counted.
    pub dry: &'a [DryLoop],
    /// Address of an access, and bytes of the array that it goes to, where that is known.
    pub array_bytes: &'a [(u64, f64)],
    /// Iterations of a chunk that a worksharing loop of the ABI hands out, where the
    /// schedule does not say.
    pub chunk: f64,
}

impl Default for Assume<'_> {
    fn default() -> Self {
        Self {
            trips: 100.0,
            dry: &[],
            array_bytes: &[],
            chunk: 1.0,
        }
    }
}

impl Nest {
    /// The nest of one execution of `body` by the thread that `environment` speaks of.
    /// What it does not know is assumed, and said.
    #[must_use]
    pub fn of(body: &Body, environment: &dyn Environment, assume: &Assume<'_>) -> Self {
        let mut making = Making {
            body,
            fit: Fit::new(body, environment, assume),
            assume,
            nest: Self::default(),
        };
        making.loops();
        making.accesses();
        making.work();
        making.nest
    }
}

struct Making<'a> {
    body: &'a Body,
    fit: Fit<'a>,
    assume: &'a Assume<'a>,
    nest: Nest,
}

impl Making<'_> {
    fn loops(&mut self) {
        let body = self.body;
        for (index, one) in body.loops.iter().enumerate() {
            let parent = one.parent.map(|parent| parent.0 as usize);
            let id = LoopId(index as u32);
            let dry = self.assume.dry.iter().find(|dry| dry.id == id);
            let found = match &one.trips {
                Known::Known(expr) => self.fit.trips(index, expr),
                Known::Unknown(_) => None,
            };
            let counted = dry
                .filter(|dry| dry.entries > 0.0)
                .map(|dry| Trips::of(dry.iterations / dry.entries));
            let chunked = self.fit.chunked(index);
            let mut trips = match chunked.or(found).or(counted) {
                Some(trips) => trips,
                None => {
                    self.assumed(format!(
                        "{} is taken to make {} iterations{}",
                        described(body, index),
                        self.assume.trips,
                        match &one.trips {
                            Known::Unknown(reason) if !reason.detail.is_empty() =>
                                format!(": {}", reason.detail),
                            _ => String::new(),
                        }
                    ));
                    Trips::of(self.assume.trips)
                }
            };
            let mut entered = 1.0;
            if let Some(Known::Known(condition)) = &one.entered_if {
                entered *= self.fit.share(index, condition);
            }
            for branch in &body.branches {
                let taken = branch.taken.contains(&id);
                if taken || branch.passed.contains(&id) {
                    let share = self.fit.share(index, &branch.taken_if);
                    entered *= if taken { share } else { 1.0 - share };
                }
            }
            if self.is_other_version(index, &trips) {
                entered = 0.0;
                self.assumed(format!(
                    "{} is taken not to run: its vectorised version does",
                    described(body, index)
                ));
            }
            trips.constant *= entered;
            trips.slopes.iter_mut().for_each(|slope| slope.1 *= entered);
            self.nest.loops.push(NestLoop {
                parent,
                at: one.header,
                trips: trips.clone(),
            });
            self.fit.decided(index, &trips);
        }
    }

    /// Whether a loop beside a vectorised one is no remainder of it but the same loop again,
    /// for arrays that overlap: it makes as many iterations as a remainder never does.
    fn is_other_version(&self, index: usize, trips: &Trips) -> bool {
        let one = &self.body.loops[index];
        if one.role != LoopRole::Remainder || trips.constant < REMAINDER_MAX {
            return false;
        }
        self.body.loops.iter().any(|main| {
            main.role == LoopRole::Main
                && main.parent == one.parent
                && main
                    .trips
                    .known()
                    .and_then(|expr| self.fit.value(expr))
                    .is_some_and(|count| trips.constant >= count)
        })
    }

    fn accesses(&mut self) {
        let mut arrays = Arrays::default();
        for access in &self.body.accesses {
            let pattern = self.pattern(access);
            let (base, pattern) = match (&access.address, pattern) {
                (Known::Known(address), Pattern::Affine { strides, .. }) => {
                    let (base, start) = arrays.place(&address.start, &self.fit);
                    (base, Pattern::Affine { start, strides })
                }
                (_, pattern) => {
                    let base = match (&access.base.expr, &access.base.name) {
                        (Some(expr), _) => arrays.place(expr, &self.fit).0,
                        (None, Some(name)) => arrays.named(name),
                        (None, None) => arrays.unknown(),
                    };
                    (base, pattern)
                }
            };
            self.nest.accesses.push(NestAccess {
                at: access.at,
                inside: access.inside.map(|inside| inside.0 as usize),
                direction: access.direction,
                bytes: f64::from(access.bytes),
                base,
                pattern,
                probability: if access.always { 1.0 } else { CONDITIONAL },
                non_temporal: access.non_temporal,
            });
        }
    }

    fn pattern(&mut self, access: &Access) -> Pattern {
        if let Known::Known(address) = &access.address {
            return self.affine(access, address);
        }
        let range = self
            .assume
            .array_bytes
            .iter()
            .find(|(at, _)| *at == access.at)
            .map(|(_, bytes)| *bytes);
        let inside = access.inside.map(|inside| inside.0 as usize);
        let step = match &access.class {
            AccessClass::Indirect => {
                if range.is_none() {
                    self.assumed(format!(
                        "{} may hit or miss: the size of its array is not known",
                        access_described(access)
                    ));
                }
                return Pattern::Random(range);
            }
            AccessClass::Unknown(_) => {
                self.assumed(format!(
                    "{} may hit or miss: its address is not understood",
                    access_described(access)
                ));
                return Pattern::Random(range);
            }
            AccessClass::Invariant => 0.0,
            AccessClass::Unit | AccessClass::Dense => f64::from(access.bytes),
            AccessClass::Strided(bytes) => *bytes as f64,
            AccessClass::SymbolicStride => FAR,
        };
        // Known in its innermost loop only: other loops are taken to go on from there.
        let mut strides = Vec::new();
        let mut reach = step;
        let mut over = inside;
        while let Some(index) = over.filter(|index| *index < self.nest.loops.len()) {
            strides.push((index, reach));
            reach = bounded(reach * self.fit.mean(index));
            over = self.nest.parent_of(index);
        }
        if step != 0.0 {
            self.assumed(format!(
                "{} is taken to go on where it was in loops around its innermost one",
                access_described(access)
            ));
        }
        Pattern::Affine {
            start: 0.0,
            strides,
        }
    }

    fn affine(&mut self, access: &Access, address: &Address) -> Pattern {
        let mut strides = Vec::new();
        for stride in &address.strides {
            let index = stride.over.0 as usize;
            let bytes = self.fit.value(&stride.bytes).unwrap_or_else(|| {
                self.assumed(format!(
                    "{} is taken to move by {FAR} bytes in {}",
                    access_described(access),
                    described(self.body, index)
                ));
                FAR
            });
            strides.push((index, bytes));
        }
        strides.extend(self.fit.moves(access, &address.start));
        Pattern::Affine {
            start: 0.0,
            strides,
        }
    }

    fn work(&mut self) {
        for one in &self.body.arithmetic {
            let conditional = f64::from(one.conditional.min(one.instructions));
            self.nest.work.push(NestWork {
                inside: one.inside.map(|inside| inside.0 as usize),
                kind: one.kind,
                element: one.element,
                lanes: one.lanes,
                instructions: f64::from(one.instructions) - conditional * (1.0 - CONDITIONAL),
            });
        }
        let instructions = self.body.instructions.iter();
        self.nest.instructions = instructions
            .map(|(inside, count)| (inside.map(|inside| inside.0 as usize), f64::from(*count)))
            .collect();
    }

    fn assumed(&mut self, sentence: String) {
        if self.nest.assumed.len() < SENTENCES_MAX && !self.nest.assumed.contains(&sentence) {
            self.nest.assumed.push(sentence);
        }
    }
}

/// How often what stands under a condition is executed.
const CONDITIONAL: f64 = 0.5;
/// No remainder of a vectorised loop makes as many iterations.
const REMAINDER_MAX: f64 = 16.0;
/// A stride that is not known, bytes: beyond a page, and no power of two.
const FAR: f64 = 8256.0;
/// Sentences kept.
const SENTENCES_MAX: usize = 50;

fn described(body: &Body, index: usize) -> String {
    let place = body.loops.get(index).and_then(|one| one.place.as_ref());
    match (place, body.loops.get(index)) {
        (Some(place), _) if place.line > 0 => {
            format!("the loop at {}:{}", place.file, place.line)
        }
        (_, Some(one)) => format!("the loop at {:#x}", one.header),
        (_, None) => "a loop".to_owned(),
    }
}

fn access_described(access: &Access) -> String {
    let name = access.base.name.as_deref().unwrap_or("memory");
    match &access.place {
        Some(place) if place.line > 0 => {
            format!("the access to {name} at {}:{}", place.file, place.line)
        }
        _ => format!("the access to {name} at {:#x}", access.at),
    }
}

/// Whether an expression needs the bounds of chunks.
fn needs_chunk(expr: &Expr) -> bool {
    let mut needs = false;
    expr.walk(&mut |part| needs |= matches!(part, Expr::Leaf(Leaf::Chunk(..))));
    needs
}
