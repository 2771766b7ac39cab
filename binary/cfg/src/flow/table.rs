//! Jump tables: where an indirect jump goes, if the way to it shows its table and how many
//! entries that has.

use super::blocks::{Code, Graph, Step};
use crate::image::Image;
use crate::instruction::writes;
use iced_x86::{
    ConditionCode, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register,
};
use std::collections::{BTreeSet, HashMap};

/// Entries of a table, at most.
const ENTRIES_MAX: u64 = 1 << 16;

/// Blocks before a jump in which the address of its table is looked for.
const BLOCKS_MAX: usize = 4096;

/// What is in a register, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Something, by a number: the same number is the same value.
    Number(u32),
    Constant(u64),
    /// A number times this.
    Scaled(u32, u64),
    /// An entry of the table at an address, by a number; of four bytes.
    Distance {
        table: u64,
        number: u32,
    },
    /// Such an entry, and the address that it is relative to.
    Relative {
        table: u64,
        number: u32,
        to: u64,
    },
    /// An entry that is an address.
    Absolute {
        table: u64,
        number: u32,
    },
}

/// The constant that an instruction puts into a 64-bit register.
fn constant(instruction: &Instruction) -> Option<u64> {
    match instruction.mnemonic() {
        Mnemonic::Lea if instruction.is_ip_rel_memory_operand() => {
            Some(instruction.memory_displacement64())
        }
        Mnemonic::Mov
            if matches!(
                instruction.op1_kind(),
                OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64
            ) && instruction.op0_kind() == OpKind::Register =>
        {
            Some(instruction.immediate(1))
        }
        _ => None,
    }
}

/// The constant that a register has at the beginning of a block, whatever way led there.
pub(super) fn reaching(
    code: &Code,
    graph: &Graph,
    block: usize,
    register: Register,
) -> Option<u64> {
    let mut factory = InstructionInfoFactory::new();
    let mut seen = BTreeSet::new();
    let mut work: Vec<usize> = graph.before(block);
    let mut found = None;
    if work.is_empty() {
        return None;
    }
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        if seen.len() > BLOCKS_MAX {
            return None;
        }
        let set = code.instructions[graph.blocks[at].instructions.clone()]
            .iter()
            .rev()
            .find(|i| {
                let clobbers =
                    crate::is_call(i) && crate::Registers::CALLER_SAVED.contains(register);
                let sets = factory.info(i).used_registers().iter().any(|used| {
                    writes(used.access()) && used.register().full_register() == register
                });
                clobbers || sets
            });
        match set.map(constant) {
            Some(Some(value)) if found.is_none_or(|found| found == value) => found = Some(value),
            Some(_) => return None,
            None => {
                let before = graph.before(at);
                if before.is_empty() {
                    return None;
                }
                work.extend(before);
            }
        }
    }
    found
}

/// Whether the indirect jump at the end of a way leaves the function: the stack is as it was when
/// the function began, as far as the way shows, and the target comes from no table. `begins` says
/// that the way is all there is before the jump.
pub(super) fn leaves(code: &Code, way: &[Step], begins: bool) -> bool {
    let Some((jump, before)) = way.split_last() else {
        return false;
    };
    let jump = &code.instructions[jump.0];
    let mut before = before.iter().rev().map(|(at, _)| &code.instructions[*at]);
    let indexed =
        |i: &Instruction| i.memory_index() != Register::None && !i.is_ip_rel_memory_operand();
    let comes_from_table = match jump.op0_kind() {
        OpKind::Register => {
            let target = jump.op0_register();
            let sets = |i: &&Instruction| {
                i.op0_kind() == OpKind::Register && i.op0_register().full_register() == target
            };
            let set = before.clone().find(sets);
            set.is_some_and(|i| i.mnemonic() != Mnemonic::Mov || indexed(i))
        }
        _ => indexed(jump),
    };
    let moves_stack = |i: &Instruction| {
        let by_hand = i.op0_kind() == OpKind::Register && i.op0_register() == Register::RSP;
        match i.mnemonic() {
            Mnemonic::Pop | Mnemonic::Leave => Some(true),
            Mnemonic::Add | Mnemonic::Lea | Mnemonic::Mov if by_hand => Some(true),
            Mnemonic::Push => Some(false),
            _ if by_hand => Some(false),
            _ => None,
        }
    };
    !comes_from_table && before.find_map(moves_stack).unwrap_or(begins)
}

/// The targets of the jump at the end of a way.
pub(super) fn targets(
    image: &Image,
    code: &Code,
    way: &[Step],
    before: &dyn Fn(Register) -> Option<u64>,
) -> Option<Vec<u64>> {
    let (jump, steps) = way.split_last()?;
    let mut state = State {
        before,
        unset: HashMap::new(),
        registers: HashMap::new(),
        slots: HashMap::new(),
        bounds: HashMap::new(),
        compared: None,
        numbers: 0,
        factory: InstructionInfoFactory::new(),
    };
    for (index, taken) in steps {
        state.step(&code.instructions[*index], *taken);
    }
    let jump = &code.instructions[jump.0];
    let value = match jump.op0_kind() {
        OpKind::Register => state.get(jump.op0_register()),
        _ => state.entry(jump, 8)?,
    };
    let (table, number, to) = match value {
        Value::Relative { table, number, to } => (table, number, Some(to)),
        Value::Absolute { table, number } => (table, number, None),
        _ => return None,
    };
    let entries = *state.bounds.get(&number)?;
    if entries == 0 || entries > ENTRIES_MAX {
        return None;
    }
    let bytes = if to.is_some() { 4 } else { 8 };
    let mut targets = BTreeSet::new();
    for entry in 0..entries {
        let at = table.wrapping_add(entry * u64::from(bytes));
        let value = image.constant(at, bytes)?;
        let target = match to {
            Some(to) => to.wrapping_add_signed(i64::from(value as u32 as i32)),
            None => value,
        };
        // Otherwise the table is shorter, as the compiler knew better what the index is.
        if !code.may_go_to(image, target) {
            return None;
        }
        targets.insert(target);
    }
    Some(targets.into_iter().collect())
}

/// Registers and variables on the stack along a way.
struct State<'a> {
    /// The constant that a register has where the way begins.
    before: &'a dyn Fn(Register) -> Option<u64>,
    /// Registers that had their value before, by its number.
    unset: HashMap<u32, Register>,
    registers: HashMap<Register, Value>,
    /// By the register they are found by, and the distance.
    slots: HashMap<(Register, u64), Value>,
    /// What a number is less than.
    bounds: HashMap<u32, u64>,
    /// What was compared last, with what.
    compared: Option<(u32, u64)>,
    numbers: u32,
    factory: InstructionInfoFactory,
}

impl State<'_> {
    fn fresh(&mut self) -> Value {
        self.numbers += 1;
        Value::Number(self.numbers)
    }

    /// The constant that a value is, perhaps from before the way.
    fn fixed(&self, value: Value) -> Option<u64> {
        match value {
            Value::Constant(constant) => Some(constant),
            Value::Number(number) => (self.before)(*self.unset.get(&number)?),
            _ => None,
        }
    }

    fn get(&mut self, register: Register) -> Value {
        let full = register.full_register();
        if let Some(value) = self.registers.get(&full) {
            return *value;
        }
        let value = self.fresh();
        if let Value::Number(number) = value {
            self.unset.insert(number, full);
        }
        self.registers.insert(full, value);
        value
    }

    /// A variable on the stack.
    fn slot(instruction: &Instruction) -> Option<(Register, u64)> {
        let base = instruction.memory_base();
        let own = matches!(base, Register::RSP | Register::RBP)
            && instruction.memory_index() == Register::None;
        own.then(|| (base, instruction.memory_displacement64()))
    }

    /// What an operand's value is.
    fn operand(&mut self, instruction: &Instruction, number: u32) -> Option<Value> {
        match instruction.op_kind(number) {
            OpKind::Register => {
                let register = instruction.op_register(number);
                register.is_gpr().then(|| self.get(register))
            }
            OpKind::Memory => {
                let slot = Self::slot(instruction)?;
                if let Some(value) = self.slots.get(&slot) {
                    return Some(*value);
                }
                let value = self.fresh();
                self.slots.insert(slot, value);
                Some(value)
            }
            _ => None,
        }
    }

    fn step(&mut self, instruction: &Instruction, taken: Option<bool>) {
        let value = self.value(instruction);
        let compared = self.compares(instruction);
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => {
                if let (Some(taken), Some((number, with))) = (taken, self.compared) {
                    self.learn(instruction.condition_code(), taken, number, with);
                }
                return;
            }
            FlowControl::Call | FlowControl::IndirectCall => {
                // What a function may change, it is taken to have changed.
                self.registers
                    .retain(|register, _| !crate::Registers::CALLER_SAVED.contains(*register));
                self.compared = None;
                return;
            }
            _ => {}
        }
        if instruction.rflags_modified() != 0 {
            self.compared = compared;
        }
        let mut written = vec![];
        for used in self.factory.info(instruction).used_registers() {
            if writes(used.access()) && used.register().is_gpr() {
                written.push(used.register().full_register());
            }
        }
        if written.contains(&Register::RSP) {
            self.slots.retain(|(base, _), _| *base != Register::RSP);
        }
        if written.contains(&Register::RBP) {
            self.slots.retain(|(base, _), _| *base != Register::RBP);
        }
        let target = match instruction.mnemonic() {
            // Its operand is implied.
            Mnemonic::Cdqe => Register::RAX,
            _ => instruction.op0_register().full_register(),
        };
        for register in written {
            let new = match value {
                Some(value) if register == target => value,
                _ => self.fresh(),
            };
            self.registers.insert(register, new);
        }
        if instruction.op0_kind() == OpKind::Memory
            && let Some(slot) = Self::slot(instruction)
            && !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test)
        {
            let value = match instruction.mnemonic() {
                Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => {
                    self.operand(instruction, 1)
                }
                _ => None,
            };
            let value = value.unwrap_or_else(|| self.fresh());
            self.slots.insert(slot, value);
        }
    }

    /// What an instruction puts into its first operand, if that matters.
    fn value(&mut self, instruction: &Instruction) -> Option<Value> {
        if let Some(constant) = constant(instruction) {
            return Some(Value::Constant(constant));
        }
        if instruction.op0_kind() != OpKind::Register {
            return None;
        }
        match instruction.mnemonic() {
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsxd => self.moved(instruction),
            Mnemonic::Cdqe => Some(self.get(Register::RAX)),
            Mnemonic::Lea => self.scaled(instruction),
            Mnemonic::Shl if instruction.op1_kind() == OpKind::Immediate8 => {
                let value = self.get(instruction.op0_register());
                match (value, instruction.immediate(1)) {
                    (Value::Number(number), by @ 2..=3) => Some(Value::Scaled(number, 1 << by)),
                    _ => None,
                }
            }
            Mnemonic::Add => {
                let one = self.operand(instruction, 0)?;
                let other = self.operand(instruction, 1)?;
                let (table, number, to) = match (one, other) {
                    (Value::Distance { table, number }, to)
                    | (to, Value::Distance { table, number }) => (table, number, to),
                    _ => return None,
                };
                let to = self.fixed(to)?;
                Some(Value::Relative { table, number, to })
            }
            Mnemonic::And => {
                let mask = match instruction.op1_kind() {
                    OpKind::Immediate8
                    | OpKind::Immediate32
                    | OpKind::Immediate8to32
                    | OpKind::Immediate8to64
                    | OpKind::Immediate32to64 => instruction.immediate(1),
                    _ => return None,
                };
                // The rest of the register is kept.
                let whole = instruction.op0_register().size() >= 4;
                let value = self.fresh();
                if let (Value::Number(number), true) = (value, whole && mask < ENTRIES_MAX) {
                    self.bounds.insert(number, mask + 1);
                }
                Some(value)
            }
            _ => None,
        }
    }

    fn moved(&mut self, instruction: &Instruction) -> Option<Value> {
        let bytes = match instruction.op1_kind() {
            OpKind::Register => instruction.op1_register().size(),
            _ => instruction.memory_size().size(),
        };
        // Part of a register is no new value of it.
        if instruction.op0_register().size() < 4 {
            return None;
        }
        if instruction.op1_kind() == OpKind::Memory && Self::slot(instruction).is_none() {
            if let Some(entry) = self.entry(instruction, bytes as u64) {
                return Some(entry);
            }
            return None;
        }
        // As wide as it was put there or compared, or not: that is how compilers use such.
        self.operand(instruction, 1)
    }

    /// `lea 0(,%rax,4),%rdx`
    fn scaled(&mut self, instruction: &Instruction) -> Option<Value> {
        if instruction.memory_base() != Register::None
            || instruction.memory_index() == Register::None
            || instruction.memory_displacement64() != 0
        {
            return None;
        }
        match self.get(instruction.memory_index()) {
            Value::Number(number) => {
                let scale = u64::from(instruction.memory_index_scale());
                Some(Value::Scaled(number, scale))
            }
            _ => None,
        }
    }

    /// The entry of a table that an instruction with a memory operand of so many bytes reads.
    fn entry(&mut self, instruction: &Instruction, bytes: u64) -> Option<Value> {
        if !matches!(bytes, 4 | 8) || instruction.segment_prefix() != Register::None {
            return None;
        }
        let mut table = Some(instruction.memory_displacement64());
        let mut number = None;
        let scale = u64::from(instruction.memory_index_scale());
        for (register, scale) in [
            (instruction.memory_base(), 1),
            (instruction.memory_index(), scale),
        ] {
            if register == Register::None {
                continue;
            }
            match self.get(register) {
                value if scale == 1 && self.fixed(value).is_some() => {
                    let constant = self.fixed(value).unwrap_or_default();
                    table = table.map(|table| table.wrapping_add(constant));
                }
                Value::Number(of) if scale == bytes && number.is_none() => number = Some(of),
                Value::Scaled(of, by) if by * scale == bytes && number.is_none() => {
                    number = Some(of);
                }
                _ => table = None,
            }
        }
        let (table, number) = (table?, number?);
        Some(match bytes {
            4 => Value::Distance { table, number },
            _ => Value::Absolute { table, number },
        })
    }

    /// What is compared with which constant.
    fn compares(&mut self, instruction: &Instruction) -> Option<(u32, u64)> {
        if instruction.mnemonic() != Mnemonic::Cmp {
            return None;
        }
        let with = match instruction.op1_kind() {
            OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64 => instruction.immediate(1),
            _ => return None,
        };
        match self.operand(instruction, 0)? {
            Value::Number(number) => Some((number, with)),
            _ => None,
        }
    }

    /// A branch on a comparison without sign went so.
    fn learn(&mut self, condition: ConditionCode, taken: bool, number: u32, with: u64) {
        let bound = match (condition, taken) {
            (ConditionCode::a, false) | (ConditionCode::be, true) => with.saturating_add(1),
            (ConditionCode::ae, false) | (ConditionCode::b, true) => with,
            _ => return,
        };
        let known = self.bounds.entry(number).or_insert(bound);
        *known = (*known).min(bound);
    }
}
