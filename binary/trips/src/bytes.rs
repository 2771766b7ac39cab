//! Plans as bytes.
//!
//! | Bytes | What |
//! |---|---|
//! | 8 | `FTHPLAN` and the version |
//! | 4 | CRC-32 of all that follows |
//! | ... | modules, each with its identity and bodies |
//!
//! Numbers are little endian; lists begin with their length. Whatever the bytes, they are a
//! plan within its limits or refused.

use crate::dry::{Answer, CALLS_MAX, DryPlan, LOOPS_MAX, LoopPlan};
use crate::plan::{
    BodyPlan, Identity, MODULES_MAX, ModulePlan, Plan, SLOTS_MAX, Slot, SlotKind, WORDS_MAX,
    WordPlan,
};
use crate::program::{Program, ProgramError, STEPS_MAX, Step};
use fathomp_regions::Op;

const MAGIC: [u8; 8] = *b"FTHPLAN\x01";
/// Bodies of a module, at most.
const BODIES_MAX: usize = 1 << 20;
/// Bytes of a path or build-id, at most.
const NAME_MAX: usize = 1 << 14;

/// Why bytes are no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// They begin otherwise.
    #[error("it is no plan of this version")]
    Magic,
    /// The checksum is another.
    #[error("its checksum is wrong")]
    Checksum,
    /// It ends too early, or goes on after its end.
    #[error("it has the wrong length")]
    Length,
    /// A number in it is out of range.
    #[error("a number in it is out of range")]
    Range,
    /// A program in it is none.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl Plan {
    /// The plan as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writing(Vec::new());
        out.list(&self.modules, |out, module| {
            match &module.identity {
                Identity::BuildId(id) => {
                    out.byte(0);
                    out.bytes(id);
                }
                Identity::File {
                    path,
                    size,
                    changed_unix_ns,
                } => {
                    out.byte(1);
                    out.bytes(path);
                    out.long(*size);
                    out.long(*changed_unix_ns);
                }
            }
            out.list(&module.bodies, |out, body| {
                out.long(body.address);
                out.list(&body.cheap, |out, slot| {
                    out.byte(match slot.kind {
                        SlotKind::Data => 0,
                        SlotKind::Module => 1,
                    });
                    out.long(slot.offset);
                    out.byte(slot.bytes | u8::from(slot.signed) << 7);
                });
                out.list(&body.words, |out, word| match word {
                    WordPlan::Cheap(slot) => {
                        out.byte(0);
                        out.short(*slot);
                    }
                    WordPlan::Behind(program) => {
                        out.byte(1);
                        out.program(program);
                    }
                });
                out.byte(u8::from(body.total.is_some()));
                if let Some(total) = &body.total {
                    out.program(total);
                }
                out.byte(u8::from(body.dry.is_some()));
                if let Some(dry) = &body.dry {
                    out.dry(dry);
                }
            });
        });
        let mut bytes = MAGIC.to_vec();
        bytes.extend(crc32fast::hash(&out.0).to_le_bytes());
        bytes.extend(out.0);
        bytes
    }

    /// The plan that the bytes are.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PlanError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(PlanError::Magic)?;
        let (checksum, rest) = rest.split_first_chunk().ok_or(PlanError::Length)?;
        if crc32fast::hash(rest) != u32::from_le_bytes(*checksum) {
            return Err(PlanError::Checksum);
        }
        let mut reading = Reading(rest);
        let modules = reading.list(MODULES_MAX, Reading::module)?;
        if !reading.0.is_empty() {
            return Err(PlanError::Length);
        }
        Ok(Self { modules })
    }
}

struct Writing(Vec<u8>);

impl Writing {
    fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    fn short(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn long(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        // Longer lists than the reader takes are refused there.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.0.extend(length.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend(bytes);
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.length(items.len());
        for item in items {
            write(self, item);
        }
    }

    fn dry(&mut self, dry: &DryPlan) {
        self.list(&dry.loops, |out, looped| {
            out.short(u16::try_from(looped.id).unwrap_or(u16::MAX));
            out.long(looped.header);
            out.short(looped.parent.unwrap_or(u16::MAX));
            out.byte(u8::from(looped.trips.is_some()));
            if let Some(trips) = &looped.trips {
                out.program(trips);
            }
        });
        self.list(&dry.calls, |out, (at, answer)| {
            out.long(*at);
            let (kind, value) = match *answer {
                Answer::GiveUp => (0, 0),
                Answer::Unknown => (1, 0),
                Answer::Value(value) => (2, value),
                Answer::LoopStart { chunked } => (3, chunked.into()),
            };
            out.byte(kind);
            out.long(value);
        });
    }

    fn program(&mut self, program: &Program) {
        self.list(program.steps(), |out, step| match *step {
            Step::Push(value) => {
                out.byte(0);
                out.long(value as u64);
            }
            Step::Input(number) => {
                out.byte(1);
                out.short(number);
            }
            Step::Data => out.byte(2),
            Step::Module(offset) => {
                out.byte(3);
                out.long(offset);
            }
            Step::Threads => out.byte(4),
            Step::Thread => out.byte(5),
            Step::Load { bytes, signed } => {
                out.byte(6);
                out.byte(bytes | u8::from(signed) << 7);
            }
            Step::Apply(op) => {
                out.byte(7);
                out.byte(op.number());
            }
            Step::ApplyConst(op, value) => {
                out.byte(8);
                out.byte(op.number());
                out.long(value as u64);
            }
            Step::SkipIfZero(steps) => {
                out.byte(9);
                out.short(steps);
            }
            Step::Skip(steps) => {
                out.byte(10);
                out.short(steps);
            }
        });
    }
}

struct Reading<'a>(&'a [u8]);

impl Reading<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], PlanError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(PlanError::Length)?;
        self.0 = rest;
        Ok(*array)
    }

    fn byte(&mut self) -> Result<u8, PlanError> {
        self.array().map(u8::from_le_bytes)
    }

    fn short(&mut self) -> Result<u16, PlanError> {
        self.array().map(u16::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, PlanError> {
        self.array().map(u64::from_le_bytes)
    }

    fn length(&mut self, most: usize) -> Result<usize, PlanError> {
        let length = self.array().map(u32::from_le_bytes)? as usize;
        // Every item takes a byte or more.
        if length > most || length > self.0.len() {
            return Err(PlanError::Range);
        }
        Ok(length)
    }

    fn bytes(&mut self) -> Result<Vec<u8>, PlanError> {
        let length = self.length(NAME_MAX)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(PlanError::Length)?;
        self.0 = rest;
        Ok(bytes.to_vec())
    }

    fn list<T>(
        &mut self,
        most: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, PlanError>,
    ) -> Result<Vec<T>, PlanError> {
        let length = self.length(most)?;
        (0..length).map(|_| read(self)).collect()
    }

    fn module(&mut self) -> Result<ModulePlan, PlanError> {
        let identity = match self.byte()? {
            0 => Identity::BuildId(self.bytes()?),
            1 => Identity::File {
                path: self.bytes()?,
                size: self.long()?,
                changed_unix_ns: self.long()?,
            },
            _ => return Err(PlanError::Range),
        };
        let bodies = self.list(BODIES_MAX, Self::body)?;
        let ascending = bodies
            .windows(2)
            .all(|pair| pair[0].address < pair[1].address);
        if !ascending {
            return Err(PlanError::Range);
        }
        Ok(ModulePlan { identity, bodies })
    }

    fn body(&mut self) -> Result<BodyPlan, PlanError> {
        let address = self.long()?;
        let cheap = self.list(SLOTS_MAX, Self::slot)?;
        let slots = cheap.len();
        let words = self.list(WORDS_MAX, |reading| {
            Ok(match reading.byte()? {
                0 => {
                    let slot = reading.short()?;
                    if usize::from(slot) >= slots {
                        return Err(PlanError::Range);
                    }
                    WordPlan::Cheap(slot)
                }
                1 => WordPlan::Behind(reading.program(slots)?),
                _ => return Err(PlanError::Range),
            })
        })?;
        let total = match self.byte()? {
            0 => None,
            1 => Some(self.program(words.len())?),
            _ => return Err(PlanError::Range),
        };
        let dry = match self.byte()? {
            0 => None,
            1 => Some(self.dry(words.len())?),
            _ => return Err(PlanError::Range),
        };
        Ok(BodyPlan {
            address,
            cheap,
            words,
            total,
            dry,
        })
    }

    fn dry(&mut self, words: usize) -> Result<DryPlan, PlanError> {
        let loops = self.list(LOOPS_MAX, |reading| {
            Ok(LoopPlan {
                id: reading.short()?.into(),
                header: reading.long()?,
                parent: Some(reading.short()?).filter(|parent| *parent != u16::MAX),
                trips: match reading.byte()? {
                    0 => None,
                    1 => Some(reading.program(words)?),
                    _ => return Err(PlanError::Range),
                },
            })
        })?;
        let calls = self.list(CALLS_MAX, |reading| {
            let (at, kind, value) = (reading.long()?, reading.byte()?, reading.long()?);
            let answer = match kind {
                0 => Answer::GiveUp,
                1 => Answer::Unknown,
                2 => Answer::Value(value),
                3 => Answer::LoopStart {
                    chunked: value != 0,
                },
                _ => return Err(PlanError::Range),
            };
            Ok((at, answer))
        })?;
        if !calls.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(PlanError::Range);
        }
        Ok(DryPlan { loops, calls })
    }

    fn slot(&mut self) -> Result<Slot, PlanError> {
        /// No data block is larger by far, and what a module holds lies behind 2^47.
        const OFFSETS: [u64; 2] = [1 << 20, 1 << 47];
        let kind = match self.byte()? {
            0 => SlotKind::Data,
            1 => SlotKind::Module,
            _ => return Err(PlanError::Range),
        };
        let offset = self.long()?;
        if offset >= OFFSETS[kind as usize] {
            return Err(PlanError::Range);
        }
        let (bytes, signed) = self.load()?;
        Ok(Slot {
            kind,
            offset,
            bytes,
            signed,
        })
    }

    fn load(&mut self) -> Result<(u8, bool), PlanError> {
        let both = self.byte()?;
        let bytes = both & 0x7f;
        if !matches!(bytes, 1 | 2 | 4 | 8) {
            return Err(PlanError::Range);
        }
        Ok((bytes, both & 0x80 != 0))
    }

    fn op(&mut self) -> Result<Op, PlanError> {
        Op::from_number(self.byte()?).ok_or(PlanError::Range)
    }

    /// A program with so many inputs.
    fn program(&mut self, inputs: usize) -> Result<Program, PlanError> {
        let steps = self.list(STEPS_MAX, |reading| {
            Ok(match reading.byte()? {
                0 => Step::Push(reading.long()? as i64),
                1 => {
                    let number = reading.short()?;
                    if usize::from(number) >= inputs {
                        return Err(PlanError::Range);
                    }
                    Step::Input(number)
                }
                2 => Step::Data,
                3 => Step::Module(reading.long()?),
                4 => Step::Threads,
                5 => Step::Thread,
                6 => {
                    let (bytes, signed) = reading.load()?;
                    Step::Load { bytes, signed }
                }
                7 => Step::Apply(reading.op()?),
                8 => Step::ApplyConst(reading.op()?, reading.long()? as i64),
                9 => Step::SkipIfZero(reading.short()?),
                10 => Step::Skip(reading.short()?),
                _ => return Err(PlanError::Range),
            })
        })?;
        Ok(Program::new(steps)?)
    }
}
