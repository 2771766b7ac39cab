//! Notes the accesses of instructions.

use super::{AccessFact, FrameId, Walk};
use crate::machine::{State, gpr};
use fathomp_cfg::{BlockId, memory_access, reads, writes};
use fathomp_regions::Direction;
use iced_x86::{Instruction, Mnemonic, Register, UsedMemory};

impl Walk<'_> {
    /// Notes what of memory an instruction accesses, before it is executed.
    pub(super) fn note_accesses(
        &mut self,
        frame: FrameId,
        block: BlockId,
        instruction: &Instruction,
        state: &State,
    ) {
        if is_bookkeeping(instruction) || fathomp_cfg::is_fence(instruction) {
            return;
        }
        let used: Vec<UsedMemory> = self
            .machine
            .factory
            .info(instruction)
            .used_memory()
            .iter()
            .filter(|memory| memory_access(memory.access()))
            .copied()
            .collect();
        for (number, memory) in used.iter().enumerate() {
            let address = self.machine.used_address(&mut self.values, state, memory);
            let access = memory.access();
            let direction = match (reads(access), writes(access)) {
                (true, true) => Direction::ReadWrite,
                (false, true) => Direction::Write,
                _ => Direction::Read,
            };
            let index = memory.index();
            let repeats = (instruction.has_rep_prefix() || instruction.has_repne_prefix())
                .then(|| state.registers[1].value)
                .filter(|_| is_string(instruction));
            let by_frame = index == Register::None
                && matches!(gpr(memory.base()), Some(4 | 5))
                && self.is_stack(address);
            self.facts.accesses.insert(
                (frame, instruction.ip(), number as u8),
                AccessFact {
                    block,
                    inside: self.frames[frame.0 as usize].inside(block),
                    address,
                    bytes: memory.memory_size().size() as u32,
                    direction,
                    scattered: index != Register::None && gpr(index).is_none(),
                    repeats,
                    by_frame,
                    non_temporal: is_non_temporal(instruction),
                },
            );
        }
    }
}

/// Whether an instruction's memory is what calls and saved registers need.
fn is_bookkeeping(instruction: &Instruction) -> bool {
    fathomp_cfg::is_call(instruction)
        || matches!(
            instruction.mnemonic(),
            Mnemonic::Push
                | Mnemonic::Pop
                | Mnemonic::Ret
                | Mnemonic::Leave
                | Mnemonic::Enter
                | Mnemonic::Lea
                | Mnemonic::Nop
                | Mnemonic::Jmp
                | Mnemonic::Prefetcht0
                | Mnemonic::Prefetcht1
                | Mnemonic::Prefetcht2
                | Mnemonic::Prefetchnta
                | Mnemonic::Prefetchw
        )
}

fn is_string(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Movsb
            | Mnemonic::Movsw
            | Mnemonic::Movsd
            | Mnemonic::Movsq
            | Mnemonic::Stosb
            | Mnemonic::Stosw
            | Mnemonic::Stosd
            | Mnemonic::Stosq
            | Mnemonic::Cmpsb
            | Mnemonic::Scasb
    )
}

/// Whether an instruction writes past the caches.
fn is_non_temporal(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Movnti
            | Mnemonic::Movntps
            | Mnemonic::Movntpd
            | Mnemonic::Movntdq
            | Mnemonic::Vmovntps
            | Mnemonic::Vmovntpd
            | Mnemonic::Vmovntdq
    )
}
