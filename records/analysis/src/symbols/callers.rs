//! From where execution is in a function to where its caller goes on, by the tables that
//! compilers write for exceptions (`.eh_frame`).

use super::module::read;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, ParsedEhFrameHdr,
    Register, RegisterRule, UnwindContext, UnwindSection,
};
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags};
use std::path::Path;

/// DWARF numbers of x86-64's registers.
const STACK_POINTER: usize = 7;
const RETURN_ADDRESS: usize = 16;
const COUNT: usize = 17;

/// Registers by their DWARF numbers: the last is where execution is.
pub type Frame = [u64; COUNT];

/// A part of a file that is mapped with permission to execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Executable {
    offset: u64,
    address: u64,
    bytes: u64,
}

/// The tables of a program or library.
#[derive(Debug, Default)]
pub struct Callers {
    frames: Vec<u8>,
    index: Vec<u8>,
    bases: BaseAddresses,
    executable: Vec<Executable>,
}

impl Callers {
    /// Those of a file. None if it has none.
    #[must_use]
    pub fn read(path: &Path) -> Option<Self> {
        let content = read(path)?;
        let file = object::File::parse(&content).ok()?;
        let section = |name| {
            let found = file.section_by_name(name)?;
            Some((found.address(), found.data().ok()?.to_vec()))
        };
        let (frames_at, frames) = section(".eh_frame")?;
        let (index_at, index) = section(".eh_frame_hdr")?;
        let is_executable = |flags: SegmentFlags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.contains(object::elf::PF_X));
        let executable = file.segments().filter(|part| is_executable(part.flags()));
        let executable = executable.map(|part| Executable {
            offset: part.file_range().0,
            address: part.address(),
            bytes: part.size(),
        });
        let mut bases = BaseAddresses::default()
            .set_eh_frame(frames_at)
            .set_eh_frame_hdr(index_at);
        if let Some(text) = file.section_by_name(".text") {
            bases = bases.set_text(text.address());
        }
        Some(Self {
            frames,
            index,
            bases,
            executable: executable.collect(),
        })
    }

    /// The address that the byte at `offset` of the file has in the module.
    #[must_use]
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let mut parts = self.executable.iter();
        parts.find_map(|part| {
            let within = offset.checked_sub(part.offset)?;
            (within < part.bytes).then(|| part.address.wrapping_add(within))
        })
    }

    fn index(&self) -> Option<ParsedEhFrameHdr<EndianSlice<'_, LittleEndian>>> {
        EhFrameHdr::new(&self.index, LittleEndian)
            .parse(&self.bases, 8)
            .ok()
    }

    /// Where the function around `address` begins.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<u64> {
        let tables = EhFrame::new(&self.frames, LittleEndian);
        let index = self.index()?;
        let found =
            index
                .table()?
                .fde_for_address(&tables, &self.bases, address, EhFrame::cie_from_offset);
        let found = found.ok().filter(|found| found.contains(address))?;
        Some(found.initial_address())
    }

    /// The registers of the caller. `lookup` is the address in the module for which tables are
    /// asked; `word` reads eight bytes of the program's memory.
    pub fn caller(
        &self,
        frame: &Frame,
        lookup: u64,
        word: impl Fn(u64) -> Option<u64>,
    ) -> Option<Frame> {
        let tables = EhFrame::new(&self.frames, LittleEndian);
        let index = self.index()?;
        let mut context = UnwindContext::new();
        let row = index
            .table()?
            .unwind_info_for_address(
                &tables,
                &self.bases,
                &mut context,
                lookup,
                EhFrame::cie_from_offset,
            )
            .ok()?;
        let below = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => frame
                .get(usize::from(register.0))?
                .wrapping_add_signed(*offset),
            // Only stubs of other modules' functions need more than that: each of 16 bytes
            // pushes a word in its middle.
            CfaRule::Expression(_) => {
                let pushed = u64::from(lookup & 15 >= 11) * 8;
                frame[STACK_POINTER].wrapping_add(8 + pushed)
            }
        };
        let mut caller = *frame;
        for (number, value) in caller.iter_mut().enumerate() {
            let rule = row.register(Register(u16::try_from(number).ok()?));
            match rule {
                Some(RegisterRule::Offset(offset)) => {
                    *value = word(below.wrapping_add_signed(offset))?;
                }
                Some(RegisterRule::ValOffset(offset)) => *value = below.wrapping_add_signed(offset),
                Some(RegisterRule::Register(other)) => {
                    *value = *frame.get(usize::from(other.0))?;
                }
                // The first function of a thread says that there is no caller.
                Some(RegisterRule::Undefined) if number == RETURN_ADDRESS => return None,
                _ => {}
            }
        }
        caller[STACK_POINTER] = below;
        // A stack that does not shrink leads nowhere.
        (below > frame[STACK_POINTER] && caller[RETURN_ADDRESS] != 0).then_some(caller)
    }
}
