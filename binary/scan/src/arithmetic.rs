//! What instructions compute.
//!
//! Counted are all floating-point and vector computations; of computations with whole numbers
//! in general registers, those whose result ends in memory, in a floating-point number, in an
//! argument of a call or in what is returned. What only makes addresses or counts iterations is
//! left out, and so are comparisons that only branches use.

use fathomp_cfg::{BlockId, Flow, is_call, writes};
use fathomp_regions::{Arithmetic, ArithmeticKind, ElementKind, LoopId};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use std::collections::BTreeMap;

/// Instructions of a body, by loop and what they do.
#[derive(Debug, Default)]
pub(crate) struct Counts(BTreeMap<Key, Count>);

/// Loop, what is computed, on what, and on how many at once.
type Key = (Option<LoopId>, ArithmeticKind, ElementKind, u32);
/// Instructions, and those of them under a condition.
type Count = (u32, u32);

impl Counts {
    pub(crate) fn add(
        &mut self,
        instruction: &Instruction,
        inside: Option<LoopId>,
        conditional: bool,
    ) {
        let Some((kind, element, lanes)) = what(instruction) else {
            return;
        };
        let count = self.0.entry((inside, kind, element, lanes)).or_default();
        count.0 += 1;
        count.1 += u32::from(conditional);
    }

    pub(crate) fn finish(self) -> Vec<Arithmetic> {
        self.0
            .into_iter()
            .map(
                |((inside, kind, element, lanes), (instructions, conditional))| Arithmetic {
                    inside,
                    kind,
                    element,
                    lanes,
                    instructions,
                    conditional,
                },
            )
            .collect()
    }
}

/// What an instruction computes, on what, and on how many at once.
pub(crate) fn what(instruction: &Instruction) -> Option<(ArithmeticKind, ElementKind, u32)> {
    if let Some(kind) = whole(instruction.mnemonic()) {
        return Some((kind, ElementKind::Integer, 1));
    }
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    if let Some(kind) = x87(&name) {
        return Some((kind, ElementKind::LongDouble, 1));
    }
    let vector = (0..instruction.op_count())
        .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand))
        .filter(|register| register.is_vector_register())
        .map(Register::size)
        .max()?;
    let name = match name.strip_prefix('v') {
        Some(rest) => rest,
        None => &name,
    };
    floating(name, vector).or_else(|| packed(name, vector))
}

fn whole(mnemonic: Mnemonic) -> Option<ArithmeticKind> {
    use ArithmeticKind as Kind;
    Some(match mnemonic {
        Mnemonic::Add
        | Mnemonic::Sub
        | Mnemonic::Inc
        | Mnemonic::Dec
        | Mnemonic::Neg
        | Mnemonic::Adc
        | Mnemonic::Sbb
        | Mnemonic::Lea
        | Mnemonic::Xadd => Kind::Add,
        Mnemonic::Imul | Mnemonic::Mul | Mnemonic::Mulx => Kind::Multiply,
        Mnemonic::Idiv | Mnemonic::Div => Kind::Divide,
        Mnemonic::Cmova
        | Mnemonic::Cmovae
        | Mnemonic::Cmovb
        | Mnemonic::Cmovbe
        | Mnemonic::Cmove
        | Mnemonic::Cmovne
        | Mnemonic::Cmovg
        | Mnemonic::Cmovge
        | Mnemonic::Cmovl
        | Mnemonic::Cmovle
        | Mnemonic::Cmovs
        | Mnemonic::Cmovns => Kind::Compare,
        Mnemonic::And
        | Mnemonic::Or
        | Mnemonic::Xor
        | Mnemonic::Not
        | Mnemonic::Andn
        | Mnemonic::Shl
        | Mnemonic::Sal
        | Mnemonic::Shr
        | Mnemonic::Sar
        | Mnemonic::Shlx
        | Mnemonic::Shrx
        | Mnemonic::Sarx
        | Mnemonic::Rol
        | Mnemonic::Ror
        | Mnemonic::Rorx
        | Mnemonic::Popcnt
        | Mnemonic::Bswap
        | Mnemonic::Lzcnt
        | Mnemonic::Tzcnt
        | Mnemonic::Bsf
        | Mnemonic::Bsr => Kind::Logic,
        _ => return None,
    })
}

fn x87(name: &str) -> Option<ArithmeticKind> {
    use ArithmeticKind as Kind;
    let rest = name.strip_prefix('f')?;
    let rest = rest
        .strip_prefix('i')
        .filter(|_| {
            rest.starts_with("ia")
                || rest.starts_with("is")
                || rest.starts_with("im")
                || rest.starts_with("id")
        })
        .unwrap_or(rest);
    Some(match rest {
        "add" | "addp" | "sub" | "subp" | "subr" | "subrp" | "chs" => Kind::Add,
        "mul" | "mulp" => Kind::Multiply,
        "div" | "divp" | "divr" | "divrp" => Kind::Divide,
        "sqrt" => Kind::SquareRoot,
        "abs" | "com" | "comp" | "compp" | "comi" | "comip" | "ucom" | "ucomp" | "ucompp"
        | "ucomi" | "ucomip" => Kind::Compare,
        _ => return None,
    })
}

/// Floating-point instructions, by their names without the `v` of AVX.
fn floating(name: &str, vector: usize) -> Option<(ArithmeticKind, ElementKind, u32)> {
    use ArithmeticKind as Kind;
    if name.starts_with("cvt") {
        let to_single = name.ends_with("ss") || name.ends_with("ps");
        let element = if to_single {
            ElementKind::Float
        } else {
            ElementKind::Double
        };
        let scalar = name.contains("sd") || name.contains("ss") || name.contains("si");
        let lanes = if scalar { 1 } else { (vector / 8) as u32 };
        return Some((Kind::Convert, element, lanes));
    }
    if matches!(name, "comisd" | "ucomisd") {
        return Some((Kind::Compare, ElementKind::Double, 1));
    }
    if matches!(name, "comiss" | "ucomiss") {
        return Some((Kind::Compare, ElementKind::Float, 1));
    }
    let (stem, element, scalar) = if let Some(stem) = name.strip_suffix("sd") {
        (stem, ElementKind::Double, true)
    } else if let Some(stem) = name.strip_suffix("ss") {
        (stem, ElementKind::Float, true)
    } else if let Some(stem) = name.strip_suffix("pd") {
        (stem, ElementKind::Double, false)
    } else if let Some(stem) = name.strip_suffix("ps") {
        (stem, ElementKind::Float, false)
    } else {
        return None;
    };
    let kind = match stem {
        "add" | "sub" | "addsub" | "hadd" | "hsub" => Kind::Add,
        "mul" => Kind::Multiply,
        "div" | "rcp" => Kind::Divide,
        "sqrt" | "rsqrt" => Kind::SquareRoot,
        "min" | "max" | "round" => Kind::Compare,
        "and" | "andn" | "or" | "xor" => Kind::Logic,
        "shuf" | "unpckh" | "unpckl" | "blend" | "blendv" | "perm" | "permil" | "insert"
        | "extract" | "movh" | "movl" | "movhl" | "movlh" | "broadcasts" => Kind::Shuffle,
        _ if stem.starts_with("fm") || stem.starts_with("fnm") => Kind::FusedMultiplyAdd,
        _ if stem.starts_with("cmp") => Kind::Compare,
        _ => return None,
    };
    let bytes = if element == ElementKind::Double { 8 } else { 4 };
    let lanes = if scalar { 1 } else { (vector / bytes) as u32 };
    Some((kind, element, lanes))
}

/// Vectors of whole numbers, by their names without the `v` of AVX.
fn packed(name: &str, vector: usize) -> Option<(ArithmeticKind, ElementKind, u32)> {
    use ArithmeticKind as Kind;
    let stem = match name {
        "movddup" | "movshdup" | "movsldup" => "shuf",
        _ if name.starts_with("broadcast") || name.starts_with("perm") => "shuf",
        _ if name.starts_with("insert") || name.starts_with("extract") => "shuf",
        _ => name.strip_prefix('p')?,
    };
    let kind = if stem.starts_with("add") || stem.starts_with("sub") || stem.starts_with("hadd") {
        Kind::Add
    } else if stem.starts_with("madd") {
        Kind::FusedMultiplyAdd
    } else if stem.starts_with("mul") {
        Kind::Multiply
    } else if stem.starts_with("cmp")
        || stem.starts_with("min")
        || stem.starts_with("max")
        || stem.starts_with("abs")
    {
        Kind::Compare
    } else if stem.starts_with("and")
        || stem.starts_with("or")
        || stem.starts_with("xor")
        || stem.starts_with("sll")
        || stem.starts_with("srl")
        || stem.starts_with("sra")
        || stem.starts_with("ternlog")
    {
        Kind::Logic
    } else if stem.starts_with("shuf")
        || stem.starts_with("unpck")
        || stem.starts_with("blend")
        || stem.starts_with("alignr")
        || stem.starts_with("insr")
        || stem.starts_with("extr")
        || stem.starts_with("ack")
    {
        Kind::Shuffle
    } else if stem.starts_with("movzx") || stem.starts_with("movsx") {
        Kind::Convert
    } else {
        return None;
    };
    let bytes = match name.chars().last() {
        Some('b') => 1,
        Some('w') => 2,
        Some('q') => 8,
        _ => 4,
    };
    Some((kind, ElementKind::Integer, (vector / bytes).max(1) as u32))
}

/// Which computations of a function with whole numbers have results that are data.
pub(crate) struct Useful {
    /// By block and instruction.
    counts: Vec<Vec<bool>>,
}

impl Useful {
    /// Looks at a function, backwards from where data end.
    pub(crate) fn of(flow: &Flow) -> Self {
        let mut factory = InstructionInfoFactory::new();
        let mut before = vec![0_u16; flow.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for id in flow.order().iter().rev() {
                let live = Self::behind(flow, *id, &before);
                let live = Self::back(flow, *id, live, &mut factory, &mut |_, _| {});
                if live & !before[id.index()] != 0 {
                    before[id.index()] |= live;
                    changed = true;
                }
            }
        }
        let mut counts: Vec<Vec<bool>> = flow
            .ids()
            .map(|id| vec![false; flow.code(id).len()])
            .collect();
        for id in flow.ids() {
            let live = Self::behind(flow, id, &before);
            Self::back(flow, id, live, &mut factory, &mut |number, data| {
                counts[id.index()][number] = data;
            });
        }
        Self { counts }
    }

    /// Whether an instruction of a block counts.
    pub(crate) fn counts(&self, block: BlockId, number: usize) -> bool {
        let block = self.counts.get(block.index());
        block
            .and_then(|block| block.get(number))
            .copied()
            .unwrap_or(false)
    }

    /// Registers that hold data behind a block.
    fn behind(flow: &Flow, id: BlockId, before: &[u16]) -> u16 {
        let block = flow.block(id);
        let live = block.successors.iter().map(|to| before[to.index()]);
        let returned = u16::from(block.leaves.is_some());
        live.fold(returned, |all, live| all | live)
    }

    /// Goes back through a block; says of each instruction whether it makes data.
    fn back(
        flow: &Flow,
        id: BlockId,
        mut live: u16,
        factory: &mut InstructionInfoFactory,
        visit: &mut dyn FnMut(usize, bool),
    ) -> u16 {
        let mut flags = false;
        for (number, instruction) in flow.code(id).iter().enumerate().rev() {
            if is_call(instruction) {
                // Arguments, as far as they were set for it; nothing else outlives it for sure.
                live &= !0b1111_1100_0111;
                live |= ARGUMENTS;
                visit(number, false);
                continue;
            }
            let info = factory.info(instruction);
            let mut written = 0_u16;
            for used in info.used_registers() {
                if writes(used.access()) {
                    written |= bit(used.register());
                }
            }
            written &= !(1 << 4);
            let stores = info
                .used_memory()
                .iter()
                .any(|memory| writes(memory.access()))
                && !matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Call);
            let vector = is_vector(instruction);
            let sets =
                instruction.mnemonic() != Mnemonic::Cmp && instruction.mnemonic() != Mnemonic::Test;
            let makes = written & live != 0 || stores || vector || !sets && flags;
            visit(
                number,
                makes && !(stores && written == 0 && !is_computing_store(instruction)),
            );
            if makes {
                let code = instruction.condition_code();
                if code != iced_x86::ConditionCode::None {
                    flags = true;
                }
            }
            if instruction.rflags_modified() != 0 && makes && !sets {
                flags = false;
            }
            if instruction.condition_code() == iced_x86::ConditionCode::None {
                live &= !written;
            }
            if makes {
                for operand in 0..instruction.op_count() {
                    if instruction.op_kind(operand) == OpKind::Register {
                        let only_written = operand == 0
                            && matches!(
                                instruction.mnemonic(),
                                Mnemonic::Mov
                                    | Mnemonic::Movzx
                                    | Mnemonic::Movsx
                                    | Mnemonic::Movsxd
                                    | Mnemonic::Lea
                            );
                        if !only_written {
                            live |= bit(instruction.op_register(operand));
                        }
                    }
                }
                if instruction.mnemonic() == Mnemonic::Lea {
                    live |= bit(instruction.memory_base()) | bit(instruction.memory_index());
                }
                live &= !(1 << 4);
            }
        }
        live
    }
}

/// RCX, RDX, RSI, RDI, R8, R9.
const ARGUMENTS: u16 = 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9;

fn bit(register: Register) -> u16 {
    let full = register.full_register();
    match full.is_gpr64() {
        true => 1 << full.number(),
        false => 0,
    }
}

fn is_vector(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && (instruction.op_register(operand).is_vector_register()
                || instruction.op_register(operand).is_st())
    })
}

/// Whether an instruction that writes to memory computes what it writes.
fn is_computing_store(instruction: &Instruction) -> bool {
    whole(instruction.mnemonic()).is_some() || is_vector(instruction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn decoded(bytes: &[u8]) -> Instruction {
        Decoder::new(64, bytes, DecoderOptions::NONE).decode()
    }

    #[test]
    fn instructions_have_kind_element_and_lanes() {
        let cases: [(&[u8], _); 6] = [
            // addsd xmm0, xmm1
            (
                &[0xf2, 0x0f, 0x58, 0xc1],
                (ArithmeticKind::Add, ElementKind::Double, 1),
            ),
            // mulpd xmm0, xmm1
            (
                &[0x66, 0x0f, 0x59, 0xc1],
                (ArithmeticKind::Multiply, ElementKind::Double, 2),
            ),
            // vdivps ymm0, ymm0, ymm1
            (
                &[0xc5, 0xfc, 0x5e, 0xc1],
                (ArithmeticKind::Divide, ElementKind::Float, 8),
            ),
            // paddd xmm0, xmm1
            (
                &[0x66, 0x0f, 0xfe, 0xc1],
                (ArithmeticKind::Add, ElementKind::Integer, 4),
            ),
            // cvtsi2sd xmm0, rax
            (
                &[0xf2, 0x48, 0x0f, 0x2a, 0xc0],
                (ArithmeticKind::Convert, ElementKind::Double, 1),
            ),
            // faddp
            (
                &[0xde, 0xc1],
                (ArithmeticKind::Add, ElementKind::LongDouble, 1),
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(what(&decoded(bytes)), Some(expected), "{bytes:x?}");
        }
        assert_eq!(what(&decoded(&[0x0f, 0x28, 0xc1])), None, "movaps");
    }
}
