//! What clang writes beside each call of its OpenMP runtime: where in the source it is.
//!
//! The first argument of a `__kmpc_*` function points to an `ident_t`, which is constant, and in
//! it lies a pointer to `;file;function;line;column;;`. With debug information the compiler
//! fills it in, and it is still there when the debug information has been stripped; without,
//! it says `;unknown;unknown;0;0;;`.

use crate::decode::{Decoded, decode};
use crate::image::{Image, Target};
use crate::instruction::{is_call, writes};
use crate::registers::Registers;
use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register, UsedRegister,
};

/// What the names of LLVM's runtime's functions begin with.
const PREFIX: &str = "__kmpc_";
/// Where in an `ident_t` the pointer to the text is, behind four numbers.
const TEXT_AT: u64 = 16;
/// Longest text that is read.
const LONGEST: u64 = 8192;
/// Longer functions are not decoded for this.
const LONGEST_FUNCTION: u64 = 1 << 24;
/// Moves between registers that are followed.
const MOVES_MAX: usize = 8;

/// A place in the source, as the compiler wrote it into the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The function, as in the source; empty if it is not known.
    pub function: String,
    /// The line, from 1 on.
    pub line: u32,
    /// The column; 0 if it is not known.
    pub column: u32,
}

impl Written {
    /// Reads `;file;function;line;column;;`. None if it is anything else, or says that nothing
    /// is known.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.strip_prefix(';')?.strip_suffix(";;")?.rsplitn(4, ';');
        let column = fields.next()?.parse().ok()?;
        let line = fields.next()?.parse().ok().filter(|line| *line > 0)?;
        let function = fields.next()?;
        let file = fields.next().filter(|file| !file.is_empty())?;
        let readable = |text: &str| !text.chars().any(char::is_control);
        (readable(file) && readable(function)).then(|| Self {
            file: file.to_owned(),
            function: function.to_owned(),
            line,
            column,
        })
    }
}

/// What is written beside the call of LLVM's runtime in whose bytes `call` lies. None if there
/// is no such call, or if it cannot be told for certain what it is given.
#[must_use]
pub fn written_beside(image: &Image, call: u64) -> Option<Written> {
    let range = &image.function(image.function_at(call)?).range;
    let before = call.checked_sub(range.start)?;
    if before > LONGEST_FUNCTION {
        return None;
    }
    let length = range.end.checked_sub(range.start)?.min(before + 16);
    let code = image.bytes(range.start, length)?;
    let mut instructions = Vec::new();
    decode(code, range.start, |decoded, _| {
        if let Decoded::Instruction(instruction) = decoded
            && instruction.ip() <= call
        {
            instructions.push(*instruction);
        }
    });
    let calling = instructions.pop()?;
    let is_llvms = is_call(&calling)
        && calling.next_ip() > call
        && matches!(image.target(&calling), Some(Target::Import(name)) if name.starts_with(PREFIX));
    let ident = is_llvms.then(|| first_argument(&instructions)).flatten()?;
    text(image, image.constant(ident.checked_add(TEXT_AT)?, 8)?)
        .as_deref()
        .and_then(Written::parse)
}

/// The address that RDI holds behind these instructions, if the last that wrote it loaded a
/// constant one, or moved it from a register that did.
fn first_argument(instructions: &[Instruction]) -> Option<u64> {
    let mut factory = InstructionInfoFactory::new();
    let mut register = Register::RDI;
    let mut moves = 0;
    for instruction in instructions.iter().rev() {
        // What is kept in a register that calls leave alone was loaded further up, perhaps by
        // another way; any other is loaded where it is needed.
        let ends = !matches!(
            instruction.flow_control(),
            FlowControl::Next | FlowControl::ConditionalBranch
        );
        if ends && Registers::CALLER_SAVED.contains(register) {
            return None;
        }
        let changes = |used: &UsedRegister| {
            writes(used.access()) && used.register().full_register() == register
        };
        if !factory
            .info(instruction)
            .used_registers()
            .iter()
            .any(changes)
        {
            continue;
        }
        match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Lea, _) if instruction.is_ip_rel_memory_operand() => {
                return Some(instruction.ip_rel_memory_address());
            }
            (
                Mnemonic::Mov,
                OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64,
            ) => {
                return Some(instruction.immediate(1));
            }
            (Mnemonic::Mov, OpKind::Register) if moves < MOVES_MAX => {
                moves += 1;
                register = instruction.op1_register().full_register();
            }
            _ => return None,
        }
    }
    None
}

/// The text that ends in a zero at an address.
fn text(image: &Image, address: u64) -> Option<String> {
    let section = image.section_at(address)?;
    let length = (section.range.end - address).min(LONGEST);
    let bytes = image.bytes(address, length)?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, function: &str, line: u32, column: u32) -> Option<Written> {
        Some(Written {
            file: file.to_owned(),
            function: function.to_owned(),
            line,
            column,
        })
    }

    #[test]
    fn what_compilers_write_is_read() {
        for (text, expected) in [
            (";t.c;main;5;1;;", place("t.c", "main", 5, 1)),
            (";a;b.c;main;5;63;;", place("a;b.c", "main", 5, 63)),
            (";t.c;;7;0;;", place("t.c", "", 7, 0)),
            (";unknown;unknown;0;0;;", None),
            (";;main;5;1;;", None),
            (";t.c;main;5;;", None),
            (";t.c;main;-5;1;;", None),
            (";t.c\u{1b}[2J;main;5;1;;", None),
            (";t.c;main;99999999999;1;;", None),
            ("", None),
            (";", None),
            (";;;", None),
        ] {
            assert_eq!(Written::parse(text), expected, "{text:?}");
        }
    }

    fn argument(code: &[u8]) -> Option<u64> {
        let mut instructions = Vec::new();
        decode(code, 0x1000, |decoded, _| {
            if let Decoded::Instruction(instruction) = decoded {
                instructions.push(*instruction);
            }
        });
        first_argument(&instructions)
    }

    #[test]
    fn the_last_to_load_the_argument_counts() {
        // lea rdi, [rip+0x10]; xor eax, eax
        let loaded = [0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, 0x31, 0xc0];
        assert_eq!(argument(&loaded), Some(0x1017));
        // mov edi, 0x402000
        assert_eq!(argument(&[0xbf, 0, 0x20, 0x40, 0]), Some(0x40_2000));
        // lea rbx, [rip+0x10]; call +0; mov rdi, rbx
        let kept = [
            0x48, 0x8d, 0x1d, 0x10, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0x48, 0x89, 0xdf,
        ];
        assert_eq!(argument(&kept), Some(0x1017));
        // lea rdi, [rip+0x10]; call +0: the call may leave anything in it.
        let changed = [0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, 0xe8, 0, 0, 0, 0];
        assert_eq!(argument(&changed), None);
        // lea rdi, [rip+0x10]; jmp +0: what is behind comes from elsewhere.
        let elsewhere = [0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, 0xeb, 0];
        assert_eq!(argument(&elsewhere), None);
        // lea rdi, [rip+0x10]; mov rdi, [rax]
        let loaded_again = [0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, 0x48, 0x8b, 0x38];
        assert_eq!(argument(&loaded_again), None);
        assert_eq!(argument(&[]), None);
    }
}
