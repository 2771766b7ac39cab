//! What single instructions of a program's file do to memory.

use crate::{AnalyseError, Program, analyse, functions};
use fathomp_sys::text_patch::Kind;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};
use object::{Object, ObjectSection, ReadCache, SectionKind};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// An atomic instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// Address in the program's file.
    pub address: u64,
    /// Such as `lock xadd`.
    pub instruction: String,
}

/// The code of a program.
#[derive(Clone, Debug, Default)]
pub struct Code {
    sections: Vec<(u64, Vec<u8>)>,
    functions: Vec<Range<u64>>,
    atomics: Vec<Atomic>,
}

impl Code {
    /// Reads the program in the file `path`.
    ///
    /// # Errors
    /// See [`AnalyseError`].
    pub fn open(path: &Path) -> Result<Self, AnalyseError> {
        let found = analyse(path, 0)?;
        let read = |error| AnalyseError::Read {
            path: path.to_owned(),
            error,
        };
        let parse = |error| AnalyseError::Parse {
            path: path.to_owned(),
            error,
        };
        let content = ReadCache::new(File::open(path).map_err(read)?);
        let file = Program::parse(&content).map_err(parse)?;
        let mut code = Self {
            functions: functions::ranges(&file),
            ..Self::default()
        };
        for section in file.sections() {
            if section.kind() == SectionKind::Text {
                let bytes = section.data().map_err(parse)?;
                code.sections.push((section.address(), bytes.to_vec()));
            }
        }
        let sites = found.sites.iter().filter(|site| is_atomic(&site.kind));
        let addresses: Vec<_> = sites.map(|site| site.address as u64).collect();
        code.atomics = addresses
            .into_iter()
            .filter_map(|address| code.atomic(address))
            .collect();
        Ok(code)
    }

    fn decode(&self, address: u64) -> Option<Instruction> {
        let inside = |(start, bytes): &&(u64, Vec<u8>)| {
            address >= *start && address - start < bytes.len() as u64
        };
        let (start, bytes) = self.sections.iter().find(inside)?;
        // Inside the section.
        let rest = bytes.get((address - start) as usize..)?;
        let mut decoder = Decoder::with_ip(64, rest, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    /// Whether an address of the file is one of its code.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        let inside = |(start, bytes): &(u64, Vec<u8>)| {
            address >= *start && address - start < bytes.len() as u64
        };
        self.sections.iter().any(inside)
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
        let contains = |range: &&Range<u64>| range.contains(&function);
        let Some(range) = self.functions.iter().find(contains) else {
            return Vec::new();
        };
        let inside = |atomic: &&Atomic| range.contains(&atomic.address);
        self.atomics.iter().filter(inside).cloned().collect()
    }
}

fn is_atomic(kind: &Kind) -> bool {
    matches!(kind, Kind::Atomic(..))
}
