//! Dry runs: a body's code is interpreted with one thread, to see how often its loops run
//! where no expression says it. Stores go to a shadow, reads cannot fault, floating point is
//! not followed.
//!
//! What is not known may decide a branch; then the way straight on is taken, and the result
//! is not exact. A run that is too long ends early, and what its outermost loop had left, if
//! its trips are known, is extrapolated from the iterations that were run.

mod execute;
mod machine;
mod plan;

pub use machine::Memory;
pub use plan::{Answer, DryPlan, LoopPlan, plan};
pub(crate) use plan::{CALLS_MAX, LOOPS_MAX};

use fathomp_regions::{DryLoop, LoopId};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpKind, Register,
};
use machine::Machine;
use std::collections::HashMap;

/// Where the run's stack lies: nowhere in the program.
const STACK: u64 = 0x7ead_0000_0000;
/// Where the function returns to.
const END: u64 = 0x7ead_ffff_0000;
/// Calls inside each other.
const DEPTH_MAX: usize = 64;

/// Why a run says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GiveUp {
    /// Code that cannot be read or is none.
    #[error("its code cannot be read")]
    Code,
    /// A jump or call to an address that is not known.
    #[error("it goes to an address that is not known")]
    Target,
    /// A call that is not answered.
    #[error("it calls what is not followed")]
    Call,
    /// Calls nested too deeply.
    #[error("its calls are nested too deeply")]
    Depth,
    /// Too much memory.
    #[error("it uses too much memory")]
    Memory,
    /// Too long, and no loop from which the rest follows.
    #[error("it runs too long")]
    Steps,
}

/// What to run, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// What is known of the body.
    pub plan: &'a DryPlan,
    /// Address of the function.
    pub function: u64,
    /// How far above the addresses in its file the module lies.
    pub bias: u64,
    /// Where its code begins and ends: what lies elsewhere is not followed.
    pub code: (u64, u64),
    /// Address of the data block.
    pub data: u64,
    /// Trips of the plan's loops, all threads together, where they are known and the same
    /// each time.
    pub trips: &'a [Option<u64>],
    /// Instructions, at most.
    pub steps_max: u32,
}

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Of each of the plan's loops.
    pub loops: Vec<DryLoop>,
    /// Instructions that were run.
    pub steps: u32,
}

/// Counts of a loop.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    entries: u64,
    iterations: u64,
    /// In the present entry.
    here: u64,
}

struct Run<'a> {
    start: Start<'a>,
    machine: Machine<'a>,
    memory: &'a dyn Memory,
    decoded: HashMap<u64, Instruction>,
    headers: HashMap<u64, usize>,
    counts: Vec<Count>,
    depth: usize,
    exact: bool,
    steps: u32,
}

/// Runs a body dry.
///
/// # Errors
/// See [`GiveUp`].
pub fn run(start: Start<'_>, memory: &dyn Memory) -> Result<Found, GiveUp> {
    let headers = (0..).zip(&start.plan.loops);
    let mut run = Run {
        machine: Machine::new(memory),
        memory,
        decoded: HashMap::new(),
        headers: headers
            .map(|(number, looped)| (looped.header.wrapping_add(start.bias), number))
            .collect(),
        counts: vec![Count::default(); start.plan.loops.len()],
        depth: 0,
        exact: true,
        steps: 0,
        start,
    };
    run.machine.set_register(Register::RSP, Some(STACK));
    run.machine.set_register(Register::RDI, Some(start.data));
    run.machine.push(Some(END));
    let finished = run.go()?;
    run.result(finished)
}

impl Run<'_> {
    /// Whether the function has returned; otherwise it ran too long.
    fn go(&mut self) -> Result<bool, GiveUp> {
        let mut info = InstructionInfoFactory::new();
        let mut at = self.start.function;
        let mut from = 0;
        loop {
            if at == END {
                return Ok(true);
            }
            if self.steps >= self.start.steps_max {
                return Ok(false);
            }
            self.steps += 1;
            if let Some(count) = self
                .headers
                .get(&at)
                .and_then(|number| self.counts.get_mut(*number))
            {
                // Compilers lay loops out so that they go on by a jump back.
                if from < at {
                    count.entries += 1;
                    count.here = 0;
                }
                count.iterations += 1;
                count.here += 1;
            }
            let instruction = self.decode(at)?;
            from = at;
            at = self.step(&instruction, &mut info)?;
            if self.machine.overrun {
                return Err(GiveUp::Memory);
            }
        }
    }

    fn decode(&mut self, at: u64) -> Result<Instruction, GiveUp> {
        if let Some(known) = self.decoded.get(&at) {
            return Ok(*known);
        }
        let mut bytes = [0; 15];
        let read = self.memory.read(at, &mut bytes);
        let bytes = bytes.get(..read).ok_or(GiveUp::Code)?;
        let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
        if instruction.code() == Code::INVALID {
            return Err(GiveUp::Code);
        }
        self.decoded.insert(at, instruction);
        Ok(instruction)
    }

    /// Executes an instruction: where the next one lies.
    fn step(
        &mut self,
        instruction: &Instruction,
        info: &mut InstructionInfoFactory,
    ) -> Result<u64, GiveUp> {
        let next = instruction.next_ip();
        match instruction.flow_control() {
            FlowControl::Next => {
                // How often it is repeated does not matter, but what it leaves is unknown.
                self.machine.execute(instruction, info);
                Ok(next)
            }
            FlowControl::UnconditionalBranch => {
                let target = instruction.near_branch_target();
                // A call at the end of the function.
                match self.answer(instruction.ip()) {
                    Some(answer) => {
                        self.answered(answer)?;
                        self.leave()
                    }
                    None => Ok(target),
                }
            }
            FlowControl::ConditionalBranch => {
                let condition = match instruction.mnemonic() {
                    Mnemonic::Jrcxz => self.machine.register(Register::RCX).map(|rcx| rcx == 0),
                    Mnemonic::Jecxz => self.machine.register(Register::ECX).map(|ecx| ecx == 0),
                    Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne => None,
                    _ => self.machine.holds(instruction.condition_code()),
                };
                self.exact &= condition.is_some();
                Ok(if condition == Some(true) {
                    instruction.near_branch_target()
                } else {
                    next
                })
            }
            FlowControl::Call if instruction.op0_kind() == OpKind::NearBranch64 => {
                if let Some(answer) = self.answer(instruction.ip()) {
                    self.answered(answer)?;
                    return Ok(next);
                }
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(GiveUp::Depth);
                }
                self.machine.push(Some(next));
                Ok(instruction.near_branch_target())
            }
            FlowControl::IndirectCall => match self.answer(instruction.ip()) {
                Some(answer) => {
                    self.answered(answer)?;
                    Ok(next)
                }
                None => Err(GiveUp::Target),
            },
            FlowControl::Return => self.leave(),
            FlowControl::IndirectBranch => {
                if let Some(answer) = self.answer(instruction.ip()) {
                    self.answered(answer)?;
                    return self.leave();
                }
                let target = match instruction.op0_kind() {
                    OpKind::Register => self.machine.register(instruction.op0_register()),
                    _ => match self.machine.address(instruction) {
                        Some(address) => self.machine.load(address, 8),
                        None => None,
                    },
                };
                let target = target.ok_or(GiveUp::Target)?;
                let (begin, end) = self.start.code;
                if (begin..end).contains(&target) {
                    return Ok(target);
                }
                // From the linker's stub to a function of another module.
                self.exact = false;
                self.answered(Answer::Unknown)?;
                self.leave()
            }
            _ => Err(GiveUp::Code),
        }
    }

    fn leave(&mut self) -> Result<u64, GiveUp> {
        self.depth = self.depth.saturating_sub(1);
        self.machine.pop().ok_or(GiveUp::Target)
    }

    fn answer(&self, at: u64) -> Option<Answer> {
        self.start.plan.answer(at.wrapping_sub(self.start.bias))
    }

    /// A call that is not followed has returned.
    fn answered(&mut self, answer: Answer) -> Result<(), GiveUp> {
        /// What a callee may change.
        const CHANGED: [Register; 9] = [
            Register::RAX,
            Register::RCX,
            Register::RDX,
            Register::RSI,
            Register::RDI,
            Register::R8,
            Register::R9,
            Register::R10,
            Register::R11,
        ];
        let value = match answer {
            Answer::GiveUp => return Err(GiveUp::Call),
            Answer::Unknown => None,
            Answer::Value(value) => Some(value),
            Answer::LoopStart { chunked } => Some(self.hand_out(chunked)?),
        };
        for register in CHANGED {
            self.machine.set_register(register, None);
        }
        self.machine.set_register(Register::RAX, value);
        self.machine.flags = None;
        Ok(())
    }

    /// `GOMP_loop_*_start`: the only thread gets all iterations at once.
    fn hand_out(&mut self, chunked: bool) -> Result<u64, GiveUp> {
        let argument = |register| self.machine.register(register).ok_or(GiveUp::Target);
        let (first, last) = match chunked {
            true => (argument(Register::R8)?, argument(Register::R9)?),
            false => (argument(Register::RCX)?, argument(Register::R8)?),
        };
        let (begin, end, by) = (
            self.machine.register(Register::RDI),
            self.machine.register(Register::RSI),
            argument(Register::RDX)? as i64,
        );
        self.machine.store(first, 8, begin);
        self.machine.store(last, 8, end);
        let some = begin.zip(end).map(|(begin, end)| match by < 0 {
            true => begin as i64 > end as i64,
            false => (begin as i64) < end as i64,
        });
        self.exact &= some.is_some();
        Ok(u64::from(some.unwrap_or(true)))
    }

    /// Counts as they are, or extrapolated.
    fn result(self, finished: bool) -> Result<Found, GiveUp> {
        let plans = &self.start.plan.loops;
        let open = match finished {
            true => None,
            false => Some(self.open().ok_or(GiveUp::Steps)?),
        };
        let inside = |number: usize, open: usize| {
            let outer = |number: &usize| plans.get(*number)?.parent.map(usize::from);
            std::iter::successors(Some(number), outer)
                .take(plans.len())
                .any(|around| around == open)
        };
        let loops = (0..).zip(plans.iter().zip(&self.counts));
        let found = loops.map(|(number, (plan, count))| {
            let (entries, iterations) = (count.entries as f64, count.iterations as f64);
            let (entries, iterations) = match open {
                Some((open, trips, _)) if number == open => (entries, trips as f64),
                Some((open, _, factor)) if inside(number, open) => {
                    (entries * factor, iterations * factor)
                }
                _ => (entries, iterations),
            };
            DryLoop {
                id: LoopId(plan.id),
                entries,
                iterations,
                exact: self.exact && finished,
            }
        });
        Ok(Found {
            loops: found.collect(),
            steps: self.steps,
        })
    }

    /// The outermost loop that was under way, was entered once and is known to go on: its
    /// trips, and how many times as many as were run.
    fn open(&self) -> Option<(usize, u64, f64)> {
        (0..self.counts.len()).find_map(|number| {
            let count = self.counts.get(number)?;
            let trips = (*self.start.trips.get(number)?)?;
            // The iteration under way does not count.
            let run = count.here.checked_sub(1).filter(|run| *run > 0)?;
            let going = count.entries == 1 && trips > run;
            going.then(|| (number, trips, trips as f64 / run as f64))
        })
    }
}
