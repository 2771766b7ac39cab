//! Events as bytes: differences to what came before, as numbers of variable
//! length. A block begins anew, so that each can be read alone.
//!
//! An event is a tag, the difference of its time to the event before, and what
//! its kind has. The tag's low two bits are the kind. A fault's further bits:
//! whether it is of the same thread as the fault before (4), whether it has the
//! instruction of that thread's fault before (8), and what was found (16, 32). The other kinds have their number in the bits above.

use super::event::{Fault, FaultEvent, Found, Mapping};
use std::collections::HashMap;

/// Tags of the other kinds.
mod tag {
    pub(super) const FAULT: u8 = 0;
    pub(super) const MAPPING: u8 = 1;
    pub(super) const STACK: u8 = 1 | 4;
    pub(super) const PROGRAM: u8 = 1 | 8;
    pub(super) const FORK: u8 = 1 | 12;
    pub(super) const SERVED: u8 = 1 | 16;
    pub(super) const KIND: u8 = 3;
    pub(super) const SAME_THREAD: u8 = 4;
    pub(super) const SAME_INSTRUCTION: u8 = 8;
    pub(super) const FOUND: u8 = 4;
}

/// Names longer than this are cut; paths are not.
const NAME_BYTES_MAX: usize = 4096;

/// What differences are taken to; the same at both ends.
#[derive(Debug, Default)]
struct DifferenceBase {
    at: u64,
    process: u32,
    thread: u32,
    /// Address and instruction of the last fault of each thread.
    threads: HashMap<u32, (u64, u64)>,
}

/// Packs the events of one block.
#[derive(Debug, Default)]
pub(super) struct Packer {
    bytes: Vec<u8>,
    before: DifferenceBase,
}

impl Packer {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the block's bytes and begins another.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.before = DifferenceBase::default();
        std::mem::take(&mut self.bytes)
    }

    pub(super) fn put(&mut self, event: &FaultEvent) {
        match event {
            FaultEvent::Fault(fault) => self.fault(fault),
            FaultEvent::Served {
                at,
                process,
                thread,
                address,
            } => {
                self.begin(tag::SERVED, *at);
                self.numbers([(*process).into(), (*thread).into(), *address]);
            }
            FaultEvent::Mapping(mapping) => self.mapping(mapping),
            FaultEvent::Stack {
                at,
                process,
                thread,
                pointer,
            } => {
                self.begin(tag::STACK, *at);
                self.numbers([(*process).into(), (*thread).into(), *pointer]);
            }
            FaultEvent::Program { at, process, name } => {
                self.begin(tag::PROGRAM, *at);
                self.numbers([(*process).into()]);
                self.text(name);
            }
            FaultEvent::Fork {
                at,
                process,
                parent,
            } => {
                self.begin(tag::FORK, *at);
                self.numbers([(*process).into(), (*parent).into()]);
            }
        }
    }

    fn fault(&mut self, fault: &Fault) {
        let before = &mut self.before;
        let same_thread = (before.process, before.thread) == (fault.process, fault.thread);
        let last = before.threads.entry(fault.thread).or_default();
        let (address, instruction) = *last;
        *last = (fault.address, fault.instruction);
        let same_instruction = instruction == fault.instruction;
        (before.process, before.thread) = (fault.process, fault.thread);
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let tag = tag::FAULT
            | bit(same_thread, tag::SAME_THREAD)
            | bit(same_instruction, tag::SAME_INSTRUCTION)
            | (fault.found as u8) << tag::FOUND;
        self.begin(tag, fault.at);
        if !same_thread {
            self.numbers([fault.process.into(), fault.thread.into()]);
        }
        self.difference(address, fault.address);
        if !same_instruction {
            self.difference(instruction, fault.instruction);
        }
    }

    fn mapping(&mut self, mapping: &Mapping) {
        self.begin(tag::MAPPING, mapping.at);
        self.numbers([
            mapping.process.into(),
            mapping.start,
            mapping.end.wrapping_sub(mapping.start),
            mapping.offset,
            mapping.protection.into(),
            mapping.flags.into(),
        ]);
        self.text(&mapping.name);
    }

    fn begin(&mut self, tag: u8, at: u64) {
        self.bytes.push(tag);
        self.difference(self.before.at, at);
        self.before.at = at;
    }

    fn difference(&mut self, from: u64, to: u64) {
        let difference = to.wrapping_sub(from).cast_signed();
        self.number((difference << 1 ^ difference >> 63).cast_unsigned());
    }

    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        for number in numbers {
            self.number(number);
        }
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn text(&mut self, text: &str) {
        let mut length = text.len().min(NAME_BYTES_MAX);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        self.number(length as u64);
        self.bytes.extend(&text.as_bytes()[..length]);
    }
}

/// The events of a block; ends where the bytes are not what a packer makes.
#[derive(Debug)]
pub(super) struct Unpacker<'a> {
    rest: &'a [u8],
    before: DifferenceBase,
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            before: DifferenceBase::default(),
        }
    }

    fn event(&mut self) -> Option<FaultEvent> {
        let (&tag, rest) = self.rest.split_first()?;
        self.rest = rest;
        let at = self.difference(self.before.at)?;
        self.before.at = at;
        if tag & tag::KIND == tag::FAULT {
            return self.fault(tag, at).map(FaultEvent::Fault);
        }
        Some(match tag {
            tag::MAPPING => {
                let process = self.short()?;
                let start = self.number()?;
                FaultEvent::Mapping(Mapping {
                    at,
                    process,
                    start,
                    end: start.checked_add(self.number()?)?,
                    offset: self.number()?,
                    protection: self.short()?,
                    flags: self.short()?,
                    name: self.text()?,
                })
            }
            tag::SERVED => FaultEvent::Served {
                at,
                process: self.short()?,
                thread: self.short()?,
                address: self.number()?,
            },
            tag::STACK => FaultEvent::Stack {
                at,
                process: self.short()?,
                thread: self.short()?,
                pointer: self.number()?,
            },
            tag::PROGRAM => FaultEvent::Program {
                at,
                process: self.short()?,
                name: self.text()?,
            },
            tag::FORK => FaultEvent::Fork {
                at,
                process: self.short()?,
                parent: self.short()?,
            },
            _ => return None,
        })
    }

    fn fault(&mut self, tag: u8, at: u64) -> Option<Fault> {
        if tag & tag::SAME_THREAD == 0 {
            self.before.process = self.short()?;
            self.before.thread = self.short()?;
        }
        let (process, thread) = (self.before.process, self.before.thread);
        let last = self.before.threads.get(&thread).copied();
        let (address, instruction) = last.unwrap_or_default();
        let address = self.difference(address)?;
        let instruction = match tag & tag::SAME_INSTRUCTION {
            0 => self.difference(instruction)?,
            _ => instruction,
        };
        self.before.threads.insert(thread, (address, instruction));
        Some(Fault {
            at,
            process,
            thread,
            address,
            instruction,
            found: *Found::ALL.get(usize::from(tag >> tag::FOUND))?,
        })
    }

    fn difference(&mut self, from: u64) -> Option<u64> {
        let number = self.number()?;
        let difference = (number >> 1) ^ (number & 1).wrapping_neg();
        Some(from.wrapping_add(difference))
    }

    fn short(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for (index, byte) in self.rest.iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f).checked_shl(index as u32 * 7)?;
            if byte & 0x80 == 0 {
                self.rest = self.rest.get(index + 1..)?;
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl Iterator for Unpacker<'_> {
    type Item = FaultEvent;

    fn next(&mut self) -> Option<FaultEvent> {
        let begin = self.rest;
        let event = self.event();
        if event.is_none() {
            self.rest = begin;
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event() -> impl Strategy<Value = FaultEvent> {
        let fault = (
            any::<u64>(),
            0..3_u32,
            0..4_u32,
            any::<u64>(),
            0..3_u64,
            0..3_usize,
        )
            .prop_map(|(at, process, thread, address, instruction, found)| {
                FaultEvent::Fault(Fault {
                    at,
                    process,
                    thread,
                    address,
                    instruction,
                    found: Found::ALL[found],
                })
            });
        let mapping = (any::<u64>(), any::<u32>(), any::<u32>(), ".{0,20}").prop_map(
            |(at, process, length, name)| {
                FaultEvent::Mapping(Mapping {
                    at,
                    process,
                    start: at >> 1,
                    end: (at >> 1) + u64::from(length),
                    offset: at,
                    protection: process,
                    flags: length,
                    name,
                })
            },
        );
        let other = (any::<u64>(), any::<u32>(), any::<u32>(), ".{0,9}", 0..4).prop_map(
            |(at, process, thread, name, which)| match which {
                0 => FaultEvent::Stack {
                    at,
                    process,
                    thread,
                    pointer: !at,
                },
                1 => FaultEvent::Program { at, process, name },
                2 => FaultEvent::Served {
                    at,
                    process,
                    thread,
                    address: at / 3,
                },
                _ => FaultEvent::Fork {
                    at,
                    process,
                    parent: thread,
                },
            },
        );
        prop_oneof![4 => fault, 1 => mapping, 1 => other]
    }

    proptest! {
        #[test]
        fn events_come_back_as_packed(events in prop::collection::vec(event(), 0..60)) {
            let mut packer = Packer::default();
            for event in &events {
                packer.put(event);
            }
            let bytes = packer.take();
            let mut unpacker = Unpacker::new(&bytes);
            let back: Vec<_> = unpacker.by_ref().collect();
            prop_assert_eq!(back, events);
            prop_assert!(unpacker.rest.is_empty());
        }

        #[test]
        fn any_bytes_are_events_up_to_some_point(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            // It ends, whatever the bytes are.
            let count = Unpacker::new(&bytes).count();
            prop_assert!(count <= bytes.len());
        }
    }

    #[test]
    fn a_thread_that_touches_page_after_page_takes_few_bytes() {
        let mut packer = Packer::default();
        for page in 0..1000 {
            packer.put(&FaultEvent::Fault(Fault {
                at: 1_000_000 + page * 1_700,
                process: 7,
                thread: 8,
                address: 0x7000_0000_0000 + page * 4096,
                instruction: 0x40_1234,
                found: Found::Nothing,
            }));
        }
        assert!(packer.len() < 6_000, "{}", packer.len());
    }
}
