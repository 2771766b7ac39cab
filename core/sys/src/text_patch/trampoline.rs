//! The code that an atomic instruction, a fence or a branch becomes.
//!
//! Position-dependent machine code with its own three words of data behind it,
//! so that it can lie anywhere within 2 GiB of the instruction. An atomic instruction:
//!
//! ```text
//!     lea  rsp, [rsp - 136]       the red zone belongs to the program
//!     push [record]
//!     call [enter]
//!     jmp  [rsp]                  which says where to go on
//! here:
//!     lea  rsp, [rsp + 144]       as it was, without touching flags
//!     <the instruction>
//!     ... a call of [leave] ...
//!     jmp  <behind the instruction>
//! elsewhere:                      if there is another form of it
//!     lea  rsp, [rsp + 8]
//!     xchg [rsp], <register>      which is free for the operand's address
//!     <the instruction on what it points to>
//!     mov  <register>, [rsp]
//!     lea  rsp, [rsp + 136]
//!     ... a call of [leave] ...
//!     jmp  <behind the instruction>
//!     record, enter, leave        addresses
//! ```
//!
//! A fence:
//!
//! ```text
//!     lea  rsp, [rsp - 128]
//!     push [record]
//!     call [enter]
//!     lea  rsp, [rsp + 136]
//!     <the instruction>
//!     jmp  <behind the instruction>
//!     record, enter, leave
//! ```
//!
//! A branch:
//!
//! ```text
//!     jcc  taken
//!     ... a call of [enter], if that way means something ...
//!     jmp  <behind the instruction>
//! taken:
//!     ... a call of [leave], if this one does ...
//!     jmp  <its target>
//!     record, enter, leave
//! ```

use super::calls::{Record, Stubs};
use super::{Branch, Kind, Moved, Site, Way};

/// Size of a jump with a 32-bit distance.
pub(super) const JUMP: usize = 5;
/// The one-byte breakpoint, INT3.
pub(super) const BREAKPOINT: u8 = 0xcc;
/// Size of one address in the data.
const WORD: usize = 8;

/// Bytes below the stack pointer that a function may use without moving it
/// (System V ABI, AMD64 supplement, 3.2.2).
pub(super) const RED_ZONE: usize = 128;

/// What does not depend on where the trampoline will be.
pub(super) struct Trampoline<'a> {
    site: &'a Site,
    record: &'static Record,
    stubs: Stubs,
}

impl<'a> Trampoline<'a> {
    pub(super) fn new(site: &'a Site, record: &'static Record, stubs: Stubs) -> Self {
        Self {
            site,
            record,
            stubs,
        }
    }

    /// Size in bytes, wherever it is.
    pub(super) fn size(&self) -> usize {
        let code = match self.site.kind {
            Kind::Fence => CALL + self.site.length + JUMP,
            Kind::Atomic(_) => ENTER + self.parts().iter().sum::<usize>(),
            Kind::Branch(branch) => BRANCH + way(branch.passed) + way(branch.taken),
        };
        code + 3 * WORD
    }

    /// Sizes of what an atomic instruction becomes for its operand, and for another one.
    fn parts(&self) -> [usize; 2] {
        let moved = self.site.moved.as_ref();
        [
            DROP + self.site.length + CALL + JUMP,
            moved.map_or(0, |moved| MOVE + moved.code.len() + CALL + JUMP),
        ]
    }

    /// Its bytes for the place `at`; `None` if something is out of reach.
    pub(super) fn at(&self, at: usize) -> Option<Vec<u8>> {
        let data = at.checked_add(self.size() - 3 * WORD)?;
        let (record, enter, leave) = (data, data + WORD, data + 2 * WORD);
        let mut code = Code { at, bytes: vec![] };
        let end = self.site.end();
        match self.site.kind {
            Kind::Branch(branch) => code.branch(branch, end, record, [enter, leave])?,
            Kind::Fence => {
                code.call(record, enter)?;
                code.copy_of(self.site)?;
                code.distance(&[JUMP_OPCODE], end)?;
            }
            Kind::Atomic(_) => {
                code.enter(record, enter)?;
                code.drop(SLOTS + RED_ZONE)?;
                code.copy_of(self.site)?;
                code.call(record, leave)?;
                code.distance(&[JUMP_OPCODE], end)?;
                if let Some(moved) = &self.site.moved {
                    code.moved(moved)?;
                    code.call(record, leave)?;
                    code.distance(&[JUMP_OPCODE], end)?;
                }
            }
        }
        let before = match self.site.kind {
            Kind::Atomic(_) => self.stubs.enter,
            Kind::Fence | Kind::Branch(_) => self.stubs.before,
        };
        let words = [
            std::ptr::from_ref(self.record) as usize,
            before,
            self.stubs.after,
        ];
        for word in words {
            code.bytes.extend(word.to_le_bytes());
        }
        Some(code.bytes)
    }
}

/// Size of what [`Code::drop`] emits.
const DROP: usize = 8;
/// Size of what [`Code::call`] emits.
const CALL: usize = 5 + 6 + 6 + DROP;
/// Size of what [`Code::enter`] emits.
const ENTER: usize = 8 + 6 + 6 + 3;
/// Size of what [`Code::moved`] emits around the instruction.
const MOVE: usize = 2 * DROP + 2 * 4;
/// What a trampoline tells of an atomic instruction on the stack, and is told there: two
/// words.
const SLOTS: usize = 2 * WORD;

/// How far from where [`Code::enter`] ends an atomic instruction's other form begins.
pub(super) fn elsewhere(site: &Site) -> usize {
    DROP + site.length + CALL + JUMP
}

/// Size of a conditional jump with a 32-bit distance.
const BRANCH: usize = 6;

/// Size of one way of a branch.
fn way(way: Way) -> usize {
    match way {
        Way::Free => JUMP,
        Way::Flushes | Way::Waits | Way::Came => CALL + JUMP,
    }
}

struct Code {
    at: usize,
    bytes: Vec<u8>,
}

impl Code {
    /// A call of the runtime that leaves no trace in registers and memory.
    fn call(&mut self, record: usize, function: usize) -> Option<()> {
        self.bytes.extend([0x48, 0x8d, 0x64, 0x24, 0x80]);
        self.distance(&[0xff, 0x35], record)?;
        self.distance(&[0xff, 0x15], function)?;
        self.drop(RED_ZONE + WORD)
    }

    /// Moves the stack pointer up without touching flags.
    fn drop(&mut self, bytes: usize) -> Option<()> {
        self.bytes.extend([0x48, 0x8d, 0xa4, 0x24]);
        self.bytes.extend(i32::try_from(bytes).ok()?.to_le_bytes());
        Some(())
    }

    /// A call of the runtime that leaves two words on the stack: where to go on, which is
    /// done, and perhaps the address of an operand.
    fn enter(&mut self, record: usize, function: usize) -> Option<()> {
        self.bytes.extend([0x48, 0x8d, 0xa4, 0x24]);
        let slot = i32::try_from(RED_ZONE + SLOTS - WORD).ok()?;
        self.bytes.extend(slot.checked_neg()?.to_le_bytes());
        self.distance(&[0xff, 0x35], record)?;
        self.distance(&[0xff, 0x15], function)?;
        self.bytes.extend([0xff, 0x24, 0x24]);
        Some(())
    }

    /// The instruction, its operand where the second of these words says.
    fn moved(&mut self, moved: &Moved) -> Option<()> {
        // REX.W, and REX.R for the upper eight registers; [rsp] needs a SIB byte.
        let register = moved.register & 0xf;
        let rex = 0x48 | (register >> 3) << 2;
        let on_stack = |opcode| [rex, opcode, 0x04 | (register & 7) << 3, 0x24];
        self.drop(WORD)?;
        self.bytes.extend(on_stack(0x87));
        self.bytes.extend(&moved.code);
        self.bytes.extend(on_stack(0x8b));
        self.drop(RED_ZONE + SLOTS - WORD)
    }

    /// A branch and its two ways, on which the two functions are called.
    fn branch(
        &mut self,
        branch: Branch,
        end: usize,
        record: usize,
        [passed, taken]: [usize; 2],
    ) -> Option<()> {
        let there = self.at + self.bytes.len() + BRANCH + way(branch.passed);
        self.distance(&[0x0f, 0x80 | branch.condition & 0xf], there)?;
        let ways = [
            (branch.passed, passed, end),
            (branch.taken, taken, branch.target),
        ];
        for (way, function, target) in ways {
            if way != Way::Free {
                self.call(record, function)?;
            }
            self.distance(&[JUMP_OPCODE], target)?;
        }
        Some(())
    }

    /// An instruction that ends in the distance from its end to `target`.
    fn distance(&mut self, opcode: &[u8], target: usize) -> Option<()> {
        self.bytes.extend(opcode);
        let end = self.at + self.bytes.len() + 4;
        self.bytes.extend(distance(end, target)?.to_le_bytes());
        Some(())
    }

    /// The instruction itself, its operand as far from the copy as it takes.
    fn copy_of(&mut self, site: &Site) -> Option<()> {
        let start = self.bytes.len();
        self.bytes.extend(site.instruction());
        if let Some(offset) = site.relative {
            let field = self.bytes.get_mut(start + offset..start + offset + 4)?;
            let from_original = i32::from_le_bytes(field.try_into().ok()?);
            let moved = distance(self.at + start + site.length, site.end())?;
            field.copy_from_slice(&from_original.checked_add(moved)?.to_le_bytes());
        }
        Some(())
    }
}

/// A prefix (REX.W) that changes nothing about a jump.
const PREFIX: u8 = 0x48;
/// The jump's first byte.
const JUMP_OPCODE: u8 = 0xe9;

/// The jump that belongs at `from`, behind some prefixes.
pub(super) fn jump(from: usize, prefixes: usize, to: usize) -> Option<Vec<u8>> {
    let end = from.checked_add(prefixes + JUMP)?;
    let mut code = vec![PREFIX; prefixes];
    code.push(JUMP_OPCODE);
    code.extend(distance(end, to)?.to_le_bytes());
    Some(code)
}

/// Where such a jump can go if only the first `length` bytes, up to four, may
/// differ from `code`: first and last address.
pub(super) fn reach(
    from: usize,
    length: usize,
    prefixes: usize,
    code: &[u8],
) -> Option<(usize, usize)> {
    // Bytes of the distance, the low ones, that we choose.
    let free = length.checked_sub(prefixes + 1)?;
    let end = prefixes + JUMP;
    let mut low = [0; 4];
    low.get_mut(free..)?.copy_from_slice(code.get(length..end)?);
    let first = from
        .checked_add(end)?
        .checked_add_signed(i32::from_le_bytes(low) as isize)?;
    Some((first, first.checked_add((1 << (8 * free)) - 1)?))
}

fn distance(from: usize, to: usize) -> Option<i32> {
    i32::try_from(to.wrapping_sub(from).cast_signed()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tight_jump_goes_where_its_fixed_bytes_say() {
        let code = [0xf0, 0x0f, 0xc1, 0x07, 0x48, 0x83];
        let (first, last) = reach(0x40_0000, 4, 0, &code).unwrap();
        assert_eq!(first, 0x40_0005 + 0x4800_0000);
        assert_eq!(last - first, 0xff_ffff);
        for to in [first, last] {
            assert_eq!(jump(0x40_0000, 0, to).unwrap()[4..], code[4..5]);
        }
        let (first, last) = reach(0x5555_5555_4000, 2, 0, &[0x87, 0x07, 1, 2, 0x83]).unwrap();
        assert_eq!(last - first, 0xff);
        let code = jump(0x5555_5555_4000, 0, first + 7).unwrap();
        assert_eq!(code[1..], [7, 1, 2, 0x83]);
        // Below address 0.
        assert_eq!(
            reach(0x40_0000, 3, 0, &[0xf0, 0xff, 0x07, 0x48, 0x83]),
            None
        );
        // The code ends.
        assert_eq!(reach(0x40_0000, 3, 0, &[0xf0, 0xff, 0x07, 0x48]), None);
    }

    #[test]
    fn a_prefix_lets_other_bytes_decide() {
        let code = [0xf0, 0xff, 0x07, 0x48, 0x83, 0x10];
        let (first, last) = reach(0x40_0000, 3, 1, &code).unwrap();
        assert_eq!(first, 0x40_0006 + 0x1083_4800);
        assert_eq!(last - first, 0xff);
        let entry = jump(0x40_0000, 1, first + 9).unwrap();
        assert_eq!(entry, [0x48, 0xe9, 9, 0x48, 0x83, 0x10]);
        // All bytes of the distance are given, then there are no more.
        let (first, last) = reach(0x40_0000, 2, 1, &code).unwrap();
        assert_eq!(first, last);
        assert_eq!(reach(0x40_0000, 2, 2, &code), None);
    }

    #[test]
    fn what_is_out_of_reach_is_refused() {
        let far = |distance| jump(0x1000, 0, 0x1000 + JUMP + distance);
        assert_eq!(far(0x7fff_ffff).unwrap()[4], 0x7f);
        assert_eq!(far(0x8000_0000), None);
    }
}
