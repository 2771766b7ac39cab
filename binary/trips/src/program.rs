//! Expressions as programs of a stack machine.

use fathomp_regions::{Expr, Leaf, Op};

/// Steps of a program, at most.
pub const STEPS_MAX: usize = 512;
/// Values on the stack, at most.
const STACK: usize = 32;

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Pushes a constant.
    Push(i64),
    /// Pushes an input.
    Input(u16),
    /// Pushes the address of the data block.
    Data,
    /// Pushes the address of a byte of the module.
    Module(u64),
    /// Pushes the team's size.
    Threads,
    /// Pushes the thread's number.
    Thread,
    /// Replaces an address by what lies there.
    Load {
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Sign-extended rather than zero-extended.
        signed: bool,
    },
    /// Replaces two values by one.
    Apply(Op),
    /// Replaces a value by what it and a constant come to.
    ApplyConst(Op, i64),
    /// Takes a value; if it is 0, leaves so many steps out.
    SkipIfZero(u16),
    /// Leaves so many steps out.
    Skip(u16),
}

/// Why there is no program, or bytes are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// Too long, or its stack too deep.
    #[error("an expression is too large to be evaluated while a program runs")]
    TooLarge,
    /// It needs what is only known inside the region.
    #[error("an expression needs what is not known when a region begins")]
    Leaf,
    /// Steps that do not fit each other.
    #[error("the steps of an expression do not fit each other")]
    Malformed,
}

/// What a program is evaluated with.
pub trait Inputs {
    /// An input; `None` if it is not known.
    fn input(&self, number: u16) -> Option<i64>;
    /// Address of the data block.
    fn data(&self) -> u64;
    /// How far above the addresses in its file the module lies.
    fn bias(&self) -> u64;
    /// Size of the team and number of the thread.
    fn team(&self) -> (u32, u32);
    /// The bytes at an address, zero-extended; `None` if they cannot be read.
    fn load(&self, address: u64, bytes: u8) -> Option<u64>;
}

/// An expression, compiled. Whatever program there is can be evaluated: its jumps lead
/// forward to steps of it, and its stack is never empty nor too deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Box<[Step]>);

impl Program {
    /// The steps, if they fit each other.
    ///
    /// # Errors
    /// See [`ProgramError`].
    pub fn new(steps: Vec<Step>) -> Result<Self, ProgramError> {
        check(&steps)?;
        Ok(Self(steps.into()))
    }

    /// Compiles an expression. `input` gives loads, and whatever else it wants, numbers of
    /// inputs; other loads are made while the program runs.
    ///
    /// # Errors
    /// See [`ProgramError`].
    pub fn compile(
        expr: &Expr,
        input: &mut dyn FnMut(&Expr) -> Option<u16>,
    ) -> Result<Self, ProgramError> {
        let mut steps = Vec::new();
        emit(expr, input, &mut steps)?;
        Self::new(steps)
    }

    /// Its steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Evaluates it. `None` if an input or memory is not known, or for a division by zero.
    #[inline]
    #[must_use]
    pub fn evaluate(&self, inputs: &impl Inputs) -> Option<i64> {
        // A constant or an input alone is what most are.
        let mut stack = [0_i64; STACK];
        let mut depth = 0_usize;
        let mut at = 0_usize;
        while let Some(step) = self.0.get(at) {
            at += 1;
            let value = match *step {
                Step::Push(value) => value,
                Step::Input(number) => inputs.input(number)?,
                Step::Data => inputs.data() as i64,
                Step::Module(offset) => inputs.bias().wrapping_add(offset) as i64,
                Step::Threads => i64::from(inputs.team().0),
                Step::Thread => i64::from(inputs.team().1),
                Step::Load { bytes, signed } => {
                    depth = depth.checked_sub(1)?;
                    let address = *stack.get(depth)? as u64;
                    extend(inputs.load(address, bytes)?, bytes, signed)
                }
                Step::Apply(op) => {
                    depth = depth.checked_sub(2)?;
                    op.apply(*stack.get(depth)?, *stack.get(depth + 1)?)?
                }
                Step::ApplyConst(op, right) => {
                    depth = depth.checked_sub(1)?;
                    op.apply(*stack.get(depth)?, right)?
                }
                Step::SkipIfZero(steps) => {
                    depth = depth.checked_sub(1)?;
                    if *stack.get(depth)? == 0 {
                        at += usize::from(steps);
                    }
                    continue;
                }
                Step::Skip(steps) => {
                    at += usize::from(steps);
                    continue;
                }
            };
            *stack.get_mut(depth)? = value;
            depth += 1;
        }
        stack.get(depth.checked_sub(1)?).copied()
    }
}

/// What `bytes` zero-extended bytes are worth as a load.
#[inline]
#[must_use]
pub(crate) fn extend(value: u64, bytes: u8, signed: bool) -> i64 {
    match (bytes, signed) {
        (1, true) => i64::from(value as i8),
        (2, true) => i64::from(value as i16),
        (4, true) => i64::from(value as i32),
        (1, false) => i64::from(value as u8),
        (2, false) => i64::from(value as u16),
        (4, false) => i64::from(value as u32),
        _ => value as i64,
    }
}

fn emit(
    expr: &Expr,
    input: &mut dyn FnMut(&Expr) -> Option<u16>,
    steps: &mut Vec<Step>,
) -> Result<(), ProgramError> {
    if steps.len() > STEPS_MAX {
        return Err(ProgramError::TooLarge);
    }
    if let Some(number) = input(expr) {
        steps.push(Step::Input(number));
        return Ok(());
    }
    match expr {
        Expr::Const(value) => steps.push(Step::Push(*value)),
        Expr::Leaf(Leaf::Data) => steps.push(Step::Data),
        Expr::Leaf(Leaf::Module(offset)) => steps.push(Step::Module(*offset)),
        Expr::Leaf(Leaf::Threads) => steps.push(Step::Threads),
        Expr::Leaf(Leaf::Thread) => steps.push(Step::Thread),
        Expr::Leaf(_) => return Err(ProgramError::Leaf),
        Expr::Load {
            address,
            bytes,
            signed,
        } => {
            emit(address, input, steps)?;
            steps.push(Step::Load {
                bytes: *bytes,
                signed: *signed,
            });
        }
        Expr::Op(op, left, right) => {
            emit(left, input, steps)?;
            if let Expr::Const(right) = **right {
                steps.push(Step::ApplyConst(*op, right));
            } else {
                emit(right, input, steps)?;
                steps.push(Step::Apply(*op));
            }
        }
        Expr::Select(condition, yes, no) => {
            emit(condition, input, steps)?;
            let branch = steps.len();
            steps.push(Step::SkipIfZero(0));
            emit(yes, input, steps)?;
            let skip = steps.len();
            steps.push(Step::Skip(0));
            emit(no, input, steps)?;
            let distance = |from: usize, to: usize| {
                u16::try_from(to - from - 1).map_err(|_| ProgramError::TooLarge)
            };
            steps[branch] = Step::SkipIfZero(distance(branch, skip + 1)?);
            steps[skip] = Step::Skip(distance(skip, steps.len())?);
        }
    }
    Ok(())
}

/// Whether the steps leave exactly one value, whichever way is taken.
fn check(steps: &[Step]) -> Result<(), ProgramError> {
    if steps.len() > STEPS_MAX {
        return Err(ProgramError::TooLarge);
    }
    // The depth with which each step begins, as far as some way leads there.
    let mut depths = vec![None; steps.len() + 1];
    depths[0] = Some(0_usize);
    for (at, step) in steps.iter().enumerate() {
        // A step that no way leads to was not written by us.
        let depth = depths[at].ok_or(ProgramError::Malformed)?;
        let (takes, leaves) = match step {
            Step::Push(_)
            | Step::Input(_)
            | Step::Data
            | Step::Module(_)
            | Step::Threads
            | Step::Thread => (0, 1),
            Step::Load { bytes, .. } => {
                if !matches!(bytes, 1 | 2 | 4 | 8) {
                    return Err(ProgramError::Malformed);
                }
                (1, 1)
            }
            Step::ApplyConst(..) => (1, 1),
            Step::Apply(_) => (2, 1),
            Step::SkipIfZero(_) => (1, 0),
            Step::Skip(_) => (0, 0),
        };
        let after = depth.checked_sub(takes).ok_or(ProgramError::Malformed)? + leaves;
        if after > STACK {
            return Err(ProgramError::TooLarge);
        }
        let mut reach = |target: usize| {
            let known = depths.get_mut(target).ok_or(ProgramError::Malformed)?;
            match known {
                Some(known) if *known != after => Err(ProgramError::Malformed),
                _ => {
                    *known = Some(after);
                    Ok(())
                }
            }
        };
        match step {
            Step::Skip(distance) => reach(at + 1 + usize::from(*distance))?,
            Step::SkipIfZero(distance) => {
                reach(at + 1)?;
                reach(at + 1 + usize::from(*distance))?;
            }
            _ => reach(at + 1)?,
        }
    }
    match depths[steps.len()] {
        Some(1) => Ok(()),
        _ => Err(ProgramError::Malformed),
    }
}
