//! Finds loops that only another thread can end: they look at memory again and
//! again by ordinary loads, as `while (!atomic_load(&flag));` does.
//!
//! A compiler takes a load out of a loop in which nothing changes what it loads,
//! unless the program forbids that by an atomic or volatile access. So a loop in
//! compiled code that loads from an address which stays the same, and ends by
//! what it finds there, waits.

use crate::context::ProgramContext;
use crate::lead::{self, Ways};
use fathomp_cfg::{
    Registers, is_call, is_fence, is_site, jump_target, makes_frame, reads, successors, writes,
};
use fathomp_sys::text_patch::Way;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Register, UsedMemory};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Instructions from a loop's first to its last, at most: loops that wait are
/// short.
const LOOP_MAX: usize = 32;
/// Instructions behind a loop among which its flush is looked for.
const BEHIND: usize = 8;

/// A loop that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Where it begins.
    pub address: usize,
    /// It flushes before it looks at anything else, by an instruction that is a
    /// [site](crate::Analysis::sites).
    pub flushes: bool,
    /// Its [branches](crate::Analysis::branches) tell when it has waited, if it does not flush,
    /// and that it waits, if nothing else does.
    pub led: bool,
}

/// What a loop keeps from one instruction to the next, beside other memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Register(Register),
    /// A variable of the function, at this distance from a register.
    Slot(Register, u64),
    Flags,
}

/// What a value depends on.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    /// Memory at an address that is the same in each round.
    memory: bool,
    /// What an earlier round or a function left, or memory at addresses that are
    /// not always the same.
    other: bool,
    /// A bit for each place of these that a round leaves for the next, in the order of
    /// [`carried`].
    places: u64,
}

impl Origin {
    const OTHER: Self = Self {
        memory: false,
        other: true,
        places: 0,
    };

    /// Of what an earlier round left at the place with that number.
    fn carried(number: usize) -> Self {
        Self {
            places: 1_u64.checked_shl(number as u32).unwrap_or(0),
            ..Self::OTHER
        }
    }

    fn and(self, more: Self) -> Self {
        Self {
            memory: self.memory || more.memory,
            other: self.other || more.other,
            places: self.places | more.places,
        }
    }
}

/// What an instruction reads and writes.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    pub(crate) reads: Vec<Place>,
    pub(crate) writes: Vec<Place>,
    /// It reads memory that is no variable of the function.
    pub(crate) loads: bool,
    /// It writes such memory.
    stores: bool,
}

/// A loop that waits, as it was found.
pub(crate) struct Loop<'a> {
    /// The instructions on ways from its first to its last and back.
    pub(crate) body: Vec<&'a Instruction>,
    /// Where it goes on when it has waited, and whether it has passed a fence since it looked.
    exits: Vec<(u64, bool)>,
    /// What the runtime is to be told while it waits, at least.
    pub(crate) meanwhile: Way,
}

impl Loop<'_> {
    /// Whether an instruction is part of it.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.body
            .iter()
            .any(|instruction| instruction.ip() == address)
    }
}

/// All loops that wait in a function, whose instructions follow each other, and the branches by
/// which they tell.
pub(crate) fn find(function: &[Instruction], around: &ProgramContext) -> (Vec<Wait>, Ways) {
    let mut found: BTreeMap<usize, Wait> = BTreeMap::new();
    let mut ways = Ways::new();
    let mut effects = Effects {
        factory: InstructionInfoFactory::new(),
        frame: function.iter().any(makes_frame),
    };
    for (last, jump) in function.iter().enumerate() {
        let Some(first) = jump_target(jump).filter(|to| *to <= jump.ip()) else {
            continue;
        };
        let Ok(first) = function.binary_search_by_key(&first, Instruction::ip) else {
            continue;
        };
        if last - first >= LOOP_MAX {
            continue;
        }
        let Some(waits) = effects.waits(function, first..=last, around) else {
            continue;
        };
        let mut exits = waits.exits.iter();
        let flushes = exits.all(|(exit, fenced)| *fenced || flushes_first(function, *exit));
        let mut tests = Vec::new();
        if !flushes {
            let effect = |instruction: &Instruction| effects.of(instruction, around);
            tests = lead::tests(function, first, &waits, effect);
        }
        let effect = |instruction: &Instruction| effects.of(instruction, around);
        let led = lead::lead(function, &waits, flushes, &tests, effect);
        let address = function[first].ip() as usize;
        let wait = found.entry(address).or_insert(Wait {
            address,
            flushes,
            led: true,
        });
        wait.flushes &= flushes;
        wait.led &= led.is_some();
        lead::join(&mut ways, led.unwrap_or_default());
    }
    (found.into_values().collect(), ways)
}

/// True if the code from an address on flushes before it does anything by which it could use
/// what it has waited for.
fn flushes_first(function: &[Instruction], address: u64) -> bool {
    let mut next = address;
    for _ in 0..BEHIND {
        let Ok(at) = function.binary_search_by_key(&next, Instruction::ip) else {
            return false;
        };
        let instruction = &function[at];
        next = match instruction.flow_control() {
            _ if is_site(instruction) => return true,
            FlowControl::Next => instruction.next_ip(),
            FlowControl::UnconditionalBranch => instruction.near_branch_target(),
            _ => return false,
        };
    }
    false
}

/// True if the code from an address on lets time pass before anything else is decided.
fn pauses(function: &[Instruction], address: u64, around: &ProgramContext) -> bool {
    let at = function.binary_search_by_key(&address, Instruction::ip);
    let behind = at.map_or(&[][..], |at| &function[at..]);
    let mut near = behind.iter().take(BEHIND);
    near.find(|i| i.flow_control() != FlowControl::Next)
        .is_some_and(|i| is_call(i) && around.calls(i))
}

/// Finds out what instructions do.
pub(crate) struct Effects {
    factory: InstructionInfoFactory,
    /// RBP points into the function's part of the stack.
    frame: bool,
}

impl Effects {
    pub(crate) fn of(&mut self, instruction: &Instruction, around: &ProgramContext) -> Effect {
        let mut effect = Effect::default();
        let info = self.factory.info(instruction);
        let mut used = |place, access| {
            if reads(access) {
                effect.reads.push(place);
            }
            if writes(access) {
                effect.writes.push(place);
            }
        };
        for register in info.used_registers() {
            let full = register.register().full_register();
            used(Place::Register(full), register.access());
        }
        for memory in info.used_memory() {
            match slot(memory, self.frame) {
                Some(slot) => used(slot, memory.access()),
                None if around.is_constant(memory) => {}
                None => {
                    effect.loads |= reads(memory.access());
                    effect.stores |= writes(memory.access());
                }
            }
        }
        if instruction.rflags_read() != 0 {
            effect.reads.push(Place::Flags);
        }
        if instruction.rflags_modified() != 0 {
            effect.writes.push(Place::Flags);
        }
        effect
    }

    /// The loop that begins with the first and jumps back with the last of some instructions of a
    /// function, if it waits.
    fn waits<'a>(
        &mut self,
        function: &'a [Instruction],
        code: RangeInclusive<usize>,
        around: &ProgramContext,
    ) -> Option<Loop<'a>> {
        let body = cycle(&function[code]);
        let inside = |ip| body.iter().any(|instruction| instruction.ip() == ip);
        let effects: Vec<Effect> = body.iter().map(|i| self.of(i, around)).collect();
        // Whoever stores or calls is at work, and an atomic operation is seen anyway. A fence
        // is too, but comes before what the loop finds in its last round.
        let works = |(instruction, effect): (&&Instruction, &Effect)| match is_call(instruction) {
            true => !around.calls(instruction),
            false => (effect.stores || is_site(instruction)) && !is_fence(instruction),
        };
        if body.iter().zip(&effects).any(works) {
            return None;
        }
        let carried = carried(&body, &effects);
        let numbered = carried.iter().enumerate();
        let mut origins: BTreeMap<Place, Origin> = numbered
            .map(|(number, place)| (*place, Origin::carried(number)))
            .collect();
        let (mut exits, mut counts, mut counted) = (vec![], vec![], vec![]);
        let mut fenced = false;
        for (instruction, effect) in body.iter().zip(&effects) {
            fenced = !effect.loads && (fenced || is_fence(instruction));
            let mut origin = effect.reads.iter().fold(Origin::default(), |sum, place| {
                sum.and(origins.get(place).copied().unwrap_or_default())
            });
            if instruction.flow_control() == FlowControl::ConditionalBranch {
                let outside = successors(instruction).filter(|to| !inside(*to));
                if origin.memory && !origin.other {
                    exits.extend(outside.map(|to| (to, fenced)));
                } else if origin.places != 0 {
                    let before = counted.len();
                    counted.extend(outside);
                    if counted.len() > before {
                        counts.push(origin.places);
                    }
                }
                continue;
            }
            origin.memory |= effect.loads;
            for place in &effect.writes {
                origins.insert(*place, origin);
            }
            if is_call(instruction) {
                for register in Registers::CALLER_SAVED.general() {
                    origins.insert(Place::Register(register), Origin::OTHER);
                }
            }
        }
        // Part of a larger loop that counts its rounds: there the variable may change, and
        // here it has to be looked at again for that alone.
        for count in counts {
            let chosen = |number: usize| count >> number & 1 != 0;
            let counters: Vec<Place> = (0..64.min(carried.len()))
                .filter(|number| chosen(*number))
                .map(|number| carried[number])
                .collect();
            exits.retain(|(exit, _)| !self.goes_on(function, *exit, &inside, &counters, around));
        }
        // Or after so many rounds it lets time pass, which is heard early enough.
        let is_heard = body.iter().any(|i| is_call(i))
            || counted.iter().any(|exit| pauses(function, *exit, around));
        let meanwhile = match body.iter().any(|i| is_fence(i)) {
            _ if is_heard => Way::Free,
            true => Way::Flushes,
            false => Way::Waits,
        };
        (!exits.is_empty()).then_some(Loop {
            body,
            exits,
            meanwhile,
        })
    }

    /// Whether the program may come from `exit` back to where it is `inside` without
    /// beginning to count anew.
    fn goes_on(
        &mut self,
        function: &[Instruction],
        exit: u64,
        inside: &impl Fn(u64) -> bool,
        counters: &[Place],
        around: &ProgramContext,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![exit];
        while let Some(ip) = next.pop() {
            if inside(ip) {
                return true;
            }
            let Ok(at) = function.binary_search_by_key(&ip, Instruction::ip) else {
                continue;
            };
            if !seen.insert(at) {
                continue;
            }
            let instruction = &function[at];
            let effect = self.of(instruction, around);
            let is_call = is_call(instruction);
            // What is used behind a call was not changed by it, but for what it returns; and
            // what comes from the function's own memory was put aside there.
            let restores = effect.reads.iter().any(|p| matches!(p, Place::Slot(..)));
            let begins = |place: &Place| match place {
                Place::Register(register) if is_call => *register == Register::RAX,
                _ => {
                    let sets = effect.writes.contains(place) && !effect.reads.contains(place);
                    sets && !restores
                }
            };
            if !counters.iter().any(begins) {
                next.extend(successors(instruction));
            }
        }
        false
    }
}

/// The instructions on ways from the first of `code` to the last and back.
fn cycle(code: &[Instruction]) -> Vec<&Instruction> {
    let number = |ip| code.binary_search_by_key(&ip, Instruction::ip).ok();
    let mut reached = vec![false; code.len()];
    let mut next = vec![0];
    while let Some(at) = next.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            next.extend(successors(&code[at]).filter_map(number));
        }
    }
    // Who reaches the last: a few rounds, because ways back are short.
    let mut returns = vec![false; code.len()];
    returns[code.len() - 1] = true;
    loop {
        let mut more = false;
        for at in (0..code.len()).rev() {
            let reaches = |to| number(to).is_some_and(|to| returns[to]);
            if !returns[at] && successors(&code[at]).any(reaches) {
                returns[at] = true;
                more = true;
            }
        }
        if !more {
            break;
        }
    }
    let on_way = reached
        .iter()
        .zip(&returns)
        .map(|(there, back)| *there && *back);
    code.iter()
        .zip(on_way)
        .filter_map(|(i, on)| on.then_some(i))
        .collect()
}

/// Places that a round leaves for the next.
fn carried(body: &[&Instruction], effects: &[Effect]) -> Vec<Place> {
    let mut written = BTreeSet::new();
    let mut exposed = BTreeSet::new();
    for (instruction, effect) in body.iter().zip(effects) {
        exposed.extend(
            effect
                .reads
                .iter()
                .filter(|place| !written.contains(*place)),
        );
        written.extend(&effect.writes);
        if is_call(instruction) {
            written.extend(Registers::CALLER_SAVED.general().map(Place::Register));
        }
    }
    // Calls move the stack pointer to and fro.
    written.remove(&Place::Register(Register::RSP));
    exposed.intersection(&written).copied().collect()
}

/// A variable of the function: found from the stack's pointers without an index.
fn slot(memory: &UsedMemory, frame: bool) -> Option<Place> {
    let own = memory.base() == Register::RSP || frame && memory.base() == Register::RBP;
    (own && memory.index() == Register::None)
        .then(|| Place::Slot(memory.base(), memory.displacement()))
}
