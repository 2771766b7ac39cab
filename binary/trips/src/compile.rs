//! From bodies to plans.

use crate::plan::{BodyPlan, SLOTS_MAX, Slot, SlotKind, WORDS_MAX, WordPlan};
use crate::program::{Program, Step};
use crate::shared::total;
use fathomp_regions::{Body, BodyKind, Expr, Known, Leaf, Op};
use std::collections::HashSet;

/// The loads whose values a recording notes of `body`: those that its expressions of trips,
/// conditions and strides read, whatever iteration and thread; at most [`WORDS_MAX`].
///
/// Where accesses begin is left out: addresses say nothing of costs, and would make every
/// allocation another set of words.
#[must_use]
pub fn words(body: &Body) -> Vec<Expr> {
    let mut found: Vec<&Expr> = Vec::new();
    for looped in &body.loops {
        let schedule = looped.worksharing.as_ref();
        let parts = [
            looped.trips.known(),
            schedule.and_then(|schedule| schedule.total.as_ref()),
            schedule.and_then(|schedule| schedule.chunk.as_ref()),
        ];
        let parts = parts.into_iter().flatten();
        parts.for_each(|part| collect(part, &mut found));
    }
    for divided in &body.divided {
        let parts = [
            divided.total.known(),
            divided.each.as_ref(),
            divided.chunk.as_ref(),
        ];
        let parts = parts.into_iter().flatten();
        parts.for_each(|part| collect(part, &mut found));
    }
    for access in &body.accesses {
        let strides = access.address.known().map(|address| &address.strides);
        for stride in strides.into_iter().flatten() {
            collect(&stride.bytes, &mut found);
        }
    }
    // Conditions compare pointers, too, to see whether arrays overlap.
    let pointers = pointers(body);
    let mut asked = Vec::new();
    for looped in &body.loops {
        let condition = looped.entered_if.as_ref().and_then(Known::known);
        condition
            .into_iter()
            .for_each(|one| collect(one, &mut asked));
    }
    for branch in &body.branches {
        collect(&branch.taken_if, &mut asked);
    }
    for one in asked {
        if !pointers.contains(one) && !found.contains(&one) {
            found.push(one);
        }
    }
    found.truncate(WORDS_MAX);
    found.into_iter().cloned().collect()
}

/// Loads that accesses begin at.
fn pointers(body: &Body) -> HashSet<&Expr> {
    fn terms<'a>(expr: &'a Expr, found: &mut HashSet<&'a Expr>) {
        match expr {
            Expr::Load { bytes: 8, .. } => {
                found.insert(expr);
            }
            Expr::Op(Op::Add | Op::Sub, left, right) => {
                terms(left, found);
                terms(right, found);
            }
            _ => {}
        }
    }
    let mut found = HashSet::new();
    for access in &body.accesses {
        if let Some(address) = access.address.known() {
            terms(&address.start, &mut found);
        }
        access
            .base
            .expr
            .iter()
            .for_each(|base| terms(base, &mut found));
    }
    found
}

/// The outermost loads of fixed address. Those that only lead to a load that differs by
/// iteration are of no use: that one cannot be evaluated afterwards.
fn collect<'a>(expr: &'a Expr, found: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Const(_) | Expr::Leaf(_) => {}
        Expr::Load { .. } => {
            if is_fixed(expr) && !found.contains(&expr) {
                found.push(expr);
            }
        }
        Expr::Op(_, left, right) => {
            collect(left, found);
            collect(right, found);
        }
        Expr::Select(condition, yes, no) => {
            collect(condition, found);
            collect(yes, found);
            collect(no, found);
        }
    }
}

fn is_fixed(expr: &Expr) -> bool {
    let mut fixed = true;
    expr.walk(&mut |part| {
        if let Expr::Leaf(leaf) = part {
            fixed &= matches!(leaf, Leaf::Data | Leaf::Module(_));
        }
    });
    fixed
}

/// The plan for a body; `None` if no parallel region is begun with it, or nothing in it
/// depends on a run.
#[must_use]
pub fn compile(body: &Body) -> Option<BodyPlan> {
    let parallel = matches!(
        body.kind,
        BodyKind::Parallel | BodyKind::ParallelLoop | BodyKind::ParallelSections
    );
    if !parallel {
        return None;
    }
    let words = if body.words.is_empty() {
        self::words(body)
    } else {
        body.words.clone()
    };
    let mut slots = Slots {
        data_bytes: body.data_bytes,
        found: Vec::new(),
    };
    let mut plans = Vec::new();
    for word in words.iter().take(WORDS_MAX) {
        plans.push(match slots.number(word) {
            Some(number) => WordPlan::Cheap(number),
            None => match Program::compile(word, &mut |part| slots.number(part)) {
                Ok(program) => WordPlan::Behind(program),
                // Its value stays unknown: a program without a value.
                Err(_) => WordPlan::Behind(never()?),
            },
        });
    }
    let number = |part: &Expr| {
        let at = words.iter().take(WORDS_MAX).position(|word| word == part)?;
        u16::try_from(at).ok()
    };
    // What it loads beside the words would be read each time.
    let loads = |step: &Step| matches!(step, Step::Load { .. });
    let total = total(body)
        .and_then(|total| Program::compile(&total, &mut |part| number(part)).ok())
        .filter(|program| !program.steps().iter().any(loads));
    let dry = crate::dry::plan(body, words.get(..plans.len())?);
    (!plans.is_empty() || total.is_some() || dry.is_some()).then_some(BodyPlan {
        dry,
        address: body.address,
        cheap: slots.found,
        words: plans,
        total,
    })
}

/// A program that has no value.
fn never() -> Option<Program> {
    let zero = Expr::Op(Op::DivU, Box::new(Expr::Const(0)), Box::new(Expr::Const(0)));
    Program::compile(&zero, &mut |_| None).ok()
}

/// Loads at fixed places, numbered.
struct Slots {
    data_bytes: u32,
    found: Vec<Slot>,
}

impl Slots {
    fn number(&mut self, expr: &Expr) -> Option<u16> {
        let slot = self.slot(expr)?;
        let at = match self.found.iter().position(|known| *known == slot) {
            Some(at) => at,
            None if self.found.len() < SLOTS_MAX => {
                self.found.push(slot);
                self.found.len() - 1
            }
            None => return None,
        };
        u16::try_from(at).ok()
    }

    fn slot(&self, expr: &Expr) -> Option<Slot> {
        let Expr::Load {
            address,
            bytes,
            signed,
        } = expr
        else {
            return None;
        };
        let (leaf, offset) = match &**address {
            Expr::Leaf(leaf) => (*leaf, 0),
            Expr::Op(Op::Add, left, right) => match (&**left, &**right) {
                (Expr::Leaf(leaf), Expr::Const(offset))
                | (Expr::Const(offset), Expr::Leaf(leaf)) => (*leaf, *offset),
                _ => return None,
            },
            _ => return None,
        };
        let (kind, offset) = match leaf {
            Leaf::Data => {
                let offset = u64::try_from(offset).ok()?;
                // Beyond what the body itself reads, nothing may be there.
                if offset.checked_add(u64::from(*bytes))? > u64::from(self.data_bytes) {
                    return None;
                }
                (SlotKind::Data, offset)
            }
            Leaf::Module(base) => (SlotKind::Module, base.wrapping_add_signed(offset)),
            _ => return None,
        };
        Some(Slot {
            kind,
            offset,
            bytes: *bytes,
            signed: *signed,
        })
    }
}
