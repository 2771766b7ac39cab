//! What single instructions of a program's file do to memory.

use crate::{AnalyseError, analyse};
use fathomp_cfg::Image;
use fathomp_sys::text_patch::Kind;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};
use std::path::Path;

/// Bytes of an instruction, at most.
const INSTRUCTION_MAX: u64 = 15;

/// An atomic instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// Address in the program's file.
    pub address: u64,
    /// Such as `lock xadd`.
    pub instruction: String,
}

/// The code of a program; by default of one that has none.
#[derive(Debug, Default)]
pub struct Code {
    image: Option<Image>,
    atomics: Vec<Atomic>,
}

impl Code {
    /// Reads the program in the file `path`.
    ///
    /// # Errors
    /// See [`AnalyseError`].
    pub fn open(path: &Path) -> Result<Self, AnalyseError> {
        let found = analyse(path, 0)?;
        let mut code = Self {
            image: Some(Image::read(path)?),
            atomics: vec![],
        };
        let sites = found.sites.iter().filter(|site| is_atomic(&site.kind));
        let addresses: Vec<_> = sites.map(|site| site.address as u64).collect();
        code.atomics = addresses
            .into_iter()
            .filter_map(|address| code.atomic(address))
            .collect();
        Ok(code)
    }

    fn decode(&self, address: u64) -> Option<Instruction> {
        let image = self.image.as_ref()?;
        let section = image.section_at(address).filter(|s| s.execute)?;
        let rest = (section.range.end - address).min(INSTRUCTION_MAX);
        let bytes = image.bytes(address, rest)?;
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    /// Whether an address of the file is one of its code.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        let image = self.image.as_ref();
        image.is_some_and(|image| image.is_code(address))
    }

    /// Bytes that the instruction at an address of the file accesses in memory; none if
    /// there is no such instruction, or it accesses memory of a length that its registers
    /// say.
    #[must_use]
    pub fn access_bytes(&self, address: u64) -> Option<u64> {
        let instruction = self.decode(address)?;
        if instruction.is_string_instruction() && instruction.has_rep_prefix() {
            return None;
        }
        let bytes = instruction.memory_size().size() as u64;
        (bytes > 0).then_some(bytes)
    }

    /// The atomic instruction at an address of the file.
    #[must_use]
    pub fn atomic(&self, address: u64) -> Option<Atomic> {
        let instruction = self.decode(address)?;
        let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let locked = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
        let prefix = if instruction.has_lock_prefix() {
            "lock "
        } else {
            ""
        };
        locked.then(|| Atomic {
            address,
            instruction: format!("{prefix}{name}"),
        })
    }

    /// Whether there are atomic instructions.
    #[must_use]
    pub fn has_atomics(&self) -> bool {
        !self.atomics.is_empty()
    }

    /// The atomic instructions of the function that contains an address of the file.
    #[must_use]
    pub fn atomics_of(&self, function: u64) -> Vec<Atomic> {
        let image = self.image.as_ref();
        let range = image.and_then(|image| {
            let id = image.function_at(function)?;
            Some(image.function(id).range.clone())
        });
        let Some(range) = range else {
            return Vec::new();
        };
        let inside = |atomic: &&Atomic| range.contains(&atomic.address);
        self.atomics.iter().filter(inside).cloned().collect()
    }
}

fn is_atomic(kind: &Kind) -> bool {
    matches!(kind, Kind::Atomic(..))
}
