//! Decodes code and picks out what threads meet by.

use crate::Analysis;
use fathomp_sys::text_patch::{Kind, Operand, Site};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::ops::Range;

/// Bytes of a site and of what follows that the patcher wants to know: those
/// of a jump.
const JUMP: usize = 5;

/// A pass over all code of a program.
pub(crate) struct Sweep {
    bias: u64,
    analysis: Analysis,
    /// Where direct branches go, unsorted.
    targets: Vec<u64>,
}

impl Sweep {
    pub(crate) fn new(bias: u64) -> Self {
        Self {
            bias,
            analysis: Analysis::default(),
            targets: vec![],
        }
    }

    /// Decodes the section at `address` function by function, and what lies
    /// between them.
    pub(crate) fn section(&mut self, address: u64, code: &[u8], functions: &[Range<u64>]) {
        let end = address.saturating_add(code.len() as u64);
        let first = functions.partition_point(|function| function.end <= address);
        let mut at = address;
        for function in functions[first..]
            .iter()
            .take_while(|function| function.start < end)
        {
            let start = function.start.max(at);
            self.between(address, code, at..start);
            at = function.end.min(end).max(start);
            self.function(address, code, start..at);
        }
        self.between(address, code, at..end);
    }

    /// What follows something that is no instruction is not trusted.
    fn function(&mut self, address: u64, code: &[u8], range: Range<u64>) {
        let mut found = Found::default();
        self.decode(address, code, range, &mut found);
        self.analysis.sites.append(&mut found.sites);
        self.analysis.doubtful.append(&mut found.doubtful);
    }

    /// Code without a name: trusted only as a whole.
    fn between(&mut self, address: u64, code: &[u8], range: Range<u64>) {
        let mut found = Found::default();
        self.decode(address, code, range, &mut found);
        if found.damaged {
            let sites = found.sites.iter().map(|site| site.address);
            self.analysis.doubtful.extend(sites);
            self.analysis.doubtful.append(&mut found.doubtful);
        } else {
            self.analysis.sites.append(&mut found.sites);
        }
    }

    fn decode(&mut self, address: u64, code: &[u8], range: Range<u64>, found: &mut Found) {
        let offset = |address_within: u64| (address_within - address) as usize;
        let (start, end) = (offset(range.start), offset(range.end));
        let Some(bytes) = code.get(start..end) else {
            return;
        };
        let at = range.start.wrapping_add(self.bias);
        let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            let position = decoder.position();
            decoder.decode_out(&mut instruction);
            self.analysis.instructions += 1;
            if instruction.is_invalid() {
                found.damaged = true;
                continue;
            }
            if is_branch(&instruction) {
                self.targets.push(instruction.near_branch_target());
                continue;
            }
            if !is_site(&instruction) {
                continue;
            }
            let address = instruction.ip() as usize;
            let Some(kind) = kind(&instruction).filter(|_| !found.damaged) else {
                found.doubtful.push(address);
                continue;
            };
            let relative = instruction.is_ip_rel_memory_operand().then(|| {
                decoder
                    .get_constant_offsets(&instruction)
                    .displacement_offset()
            });
            let length = instruction.len();
            let from = start + position;
            let to = (from + length.max(JUMP)).min(code.len());
            found.sites.push(Site {
                address,
                length,
                code: code[from..to].to_vec(),
                kind,
                relative,
                entered_inside: false,
            });
        }
    }

    /// What was found.
    pub(crate) fn finish(mut self) -> Analysis {
        self.targets.sort_unstable();
        for site in &mut self.analysis.sites {
            let inside = site.address as u64 + 1;
            let next = self.targets.partition_point(|target| *target < inside);
            site.entered_inside = self
                .targets
                .get(next)
                .is_some_and(|target| *target < (site.address + site.length) as u64);
        }
        self.analysis.sites.sort_by_key(|site| site.address);
        self.analysis
    }
}

/// Of one range.
#[derive(Default)]
struct Found {
    sites: Vec<Site>,
    doubtful: Vec<usize>,
    /// Something was no instruction.
    damaged: bool,
}

fn is_branch(instruction: &Instruction) -> bool {
    matches!(
        instruction.op0_kind(),
        OpKind::NearBranch64 | OpKind::NearBranch32 | OpKind::NearBranch16
    )
}

/// Whether threads can meet by this instruction.
fn is_site(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Mfence => true,
        // Atomic without a prefix, if with memory.
        Mnemonic::Xchg => (0..2).any(|i| instruction.op_kind(i) == OpKind::Memory),
        _ => instruction.has_lock_prefix(),
    }
}

/// What a site is to other nodes; `None` for what we cannot follow.
fn kind(instruction: &Instruction) -> Option<Kind> {
    if instruction.mnemonic() == Mnemonic::Mfence || is_idle(instruction) {
        Some(Kind::Fence)
    } else {
        operand(instruction).map(Kind::Atomic)
    }
}

/// Whether it changes nothing on the thread's own stack: `lock or $0, (%rsp)`
/// and the like, which compilers prefer to MFENCE as a full fence.
fn is_idle(instruction: &Instruction) -> bool {
    let neutral = match instruction.mnemonic() {
        Mnemonic::Or | Mnemonic::Add | Mnemonic::Sub | Mnemonic::Xor => 0,
        Mnemonic::And => u64::MAX,
        _ => return false,
    };
    let immediate = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    );
    let bits = u32::try_from(instruction.memory_size().size() * 8).unwrap_or(64);
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    immediate
        && instruction.memory_base() == Register::RSP
        && instruction.memory_index() == Register::None
        && instruction.immediate(1) & mask == neutral & mask
}

/// Its memory operand. `None` for what user programs of Linux do not contain:
/// addresses of 32 bits and the segment GS.
fn operand(instruction: &Instruction) -> Option<Operand> {
    let thread_local = match instruction.segment_prefix() {
        Register::FS => true,
        Register::GS => return None,
        _ => false,
    };
    let base = match instruction.memory_base() {
        // The displacement is the address: iced adds them up.
        Register::None | Register::RIP => None,
        register => Some(number(register)?),
    };
    let index = match instruction.memory_index() {
        Register::None => None,
        register => {
            let factor = u8::try_from(instruction.memory_index_scale()).ok()?;
            Some((number(register)?, factor))
        }
    };
    let bit = match instruction.mnemonic() {
        Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
            if instruction.op1_kind() == OpKind::Register =>
        {
            Some(number(instruction.op1_register().full_register())?)
        }
        _ => None,
    };
    Some(Operand {
        base,
        index,
        displacement: instruction.memory_displacement64(),
        thread_local,
        bit,
        bytes: u8::try_from(instruction.memory_size().size()).ok()?,
    })
}

/// Number of a 64-bit general register in machine code.
fn number(register: Register) -> Option<u8> {
    register
        .is_gpr64()
        .then(|| u8::try_from(register.number()).ok())
        .flatten()
}
