//! Expressions over what is known when a region begins.

mod readable;
mod text;

pub use readable::Readable;
pub use text::ExprError;

use crate::model::LoopId;
use serde::{Deserialize, Serialize};

/// What a region's code computes, as far as it can be computed before the region runs.
///
/// Values are 64-bit patterns with wrapping arithmetic, as in registers. Narrower results
/// are made by [`Op::SignExtend`] and [`Op::ZeroExtend`]; comparisons yield 0 or 1.
/// The textual form ([`std::fmt::Display`], [`std::str::FromStr`]) is what stands in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Expr {
    /// A constant.
    Const(i64),
    /// Something that only a run knows.
    Leaf(Leaf),
    /// Memory as it is when the region begins. `signed` says how fewer than eight
    /// bytes become a value.
    Load {
        /// Where.
        address: Box<Expr>,
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Sign-extended rather than zero-extended.
        signed: bool,
    },
    /// An operation on one or two operands; of one operand, the second is its parameter.
    Op(Op, Box<Expr>, Box<Expr>),
    /// The second if the first is not 0, otherwise the third. Only that one is evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// What only a run knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leaf {
    /// The body's argument: address of the data block that the region was started with
    /// (`data`).
    Data,
    /// Address at which a byte of the module's file is loaded: this many bytes above where
    /// the module was linked to lie (`module+0x4010`).
    Module(u64),
    /// Threads in the team (`threads`).
    Threads,
    /// The thread's number in the team, from 0 (`thread`).
    Thread,
    /// Number of the current iteration of an enclosing loop, from 0 (`i3`).
    Iteration(LoopId),
    /// Bound of the chunk that a worksharing loop of the ABI handed out last (`chunk.start`,
    /// `chunk.end`), by the address of the loop's `*_start` or `*_next` call.
    Chunk(ChunkEnd, u64),
    /// A value that the function got in a register and that is not its data block: the
    /// argument with this number, from 1 on (`argument1`).
    Argument(u8),
    /// Address of the thread's own static data (`tls`).
    ThreadStatic,
}

/// Which bound of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChunkEnd {
    /// Its first value.
    Start,
    /// The value that is no longer part of it.
    End,
}

/// Bits of a value.
pub type Width = u8;

/// An operation. Division by zero and the overflow of division have no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Signed quotient, towards zero.
    DivS,
    /// Signed remainder, with the sign of the dividend.
    RemS,
    /// Unsigned quotient.
    DivU,
    /// Unsigned remainder.
    RemU,
    /// Bits of both.
    And,
    /// Bits of either.
    Or,
    /// Bits of one.
    Xor,
    /// To the left; the distance counts modulo 64.
    Shl,
    /// To the right, filled with zeros.
    ShrU,
    /// To the right, filled with the sign.
    ShrS,
    /// The smaller, signed.
    MinS,
    /// The larger, signed.
    MaxS,
    /// The smaller, unsigned.
    MinU,
    /// The larger, unsigned.
    MaxU,
    /// Whether equal.
    Eq,
    /// Whether not equal.
    Ne,
    /// Whether less, signed.
    LtS,
    /// Whether less or equal, signed.
    LeS,
    /// Whether less, unsigned.
    LtU,
    /// Whether less or equal, unsigned.
    LeU,
    /// Sign-extension of the first operand's low bits; the second, a constant, is how many.
    SignExtend,
    /// Zero-extension of the first operand's low bits; the second, a constant, is how many.
    ZeroExtend,
}

impl Op {
    /// Its name in the textual form.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(op, _)| *op == self)
            .map_or("?", |(_, name)| name)
    }

    /// A number for it, for compact forms of expressions.
    #[must_use]
    pub fn number(self) -> u8 {
        let at = Self::NAMES.iter().position(|(op, _)| *op == self);
        at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
    }

    /// The operation with that number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::NAMES.get(usize::from(number)).map(|(op, _)| *op)
    }

    pub(crate) const NAMES: [(Self, &'static str); 25] = [
        (Self::Add, "+"),
        (Self::Sub, "-"),
        (Self::Mul, "*"),
        (Self::DivS, "/"),
        (Self::RemS, "%"),
        (Self::DivU, "/u"),
        (Self::RemU, "%u"),
        (Self::And, "&"),
        (Self::Or, "|"),
        (Self::Xor, "^"),
        (Self::Shl, "<<"),
        (Self::ShrU, ">>u"),
        (Self::ShrS, ">>"),
        (Self::MinS, "min"),
        (Self::MaxS, "max"),
        (Self::MinU, "minu"),
        (Self::MaxU, "maxu"),
        (Self::Eq, "=="),
        (Self::Ne, "!="),
        (Self::LtS, "<"),
        (Self::LeS, "<="),
        (Self::LtU, "<u"),
        (Self::LeU, "<=u"),
        (Self::SignExtend, "sx"),
        (Self::ZeroExtend, "zx"),
    ];
}

impl Expr {
    /// An operation, evaluated if both operands are constants, without what changes nothing.
    #[must_use]
    pub fn op(op: Op, left: Self, right: Self) -> Self {
        if let (Self::Const(left), Self::Const(right)) = (&left, &right)
            && let Some(value) = op.apply(*left, *right)
        {
            return Self::Const(value);
        }
        match (op, &left, &right) {
            (Op::Add | Op::Or | Op::Xor, Self::Const(0), _) => right,
            (Op::Mul, Self::Const(1), _) => right,
            (
                Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::ShrU | Op::ShrS,
                _,
                Self::Const(0),
            )
            | (Op::Mul | Op::DivS | Op::DivU, _, Self::Const(1))
            | (Op::SignExtend | Op::ZeroExtend, _, Self::Const(64..)) => left,
            (Op::Mul | Op::And, _, Self::Const(0)) | (Op::Mul | Op::And, Self::Const(0), _) => {
                Self::Const(0)
            }
            _ => Self::Op(op, Box::new(left), Box::new(right)),
        }
    }

    /// A load.
    #[must_use]
    pub fn load(address: Self, bytes: u8, signed: bool) -> Self {
        Self::Load {
            address: Box::new(address),
            bytes,
            signed,
        }
    }

    /// Calls `visit` with this expression and all inside it, outermost first.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        match self {
            Self::Const(_) | Self::Leaf(_) => {}
            Self::Load { address, .. } => address.walk(visit),
            Self::Op(_, left, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            Self::Select(condition, yes, no) => {
                condition.walk(visit);
                yes.walk(visit);
                no.walk(visit);
            }
        }
    }

    /// Nodes in it: a measure of what evaluation costs.
    #[must_use]
    pub fn nodes(&self) -> usize {
        let mut nodes = 0;
        self.walk(&mut |_| nodes += 1);
        nodes
    }

    /// Whether it depends on the iteration of an enclosing loop.
    #[must_use]
    pub fn depends_on_iterations(&self) -> bool {
        let mut depends = false;
        self.walk(&mut |part| depends |= matches!(part, Self::Leaf(Leaf::Iteration(_))));
        depends
    }

    /// The outermost loads in it that read the same whatever iteration and thread: the
    /// *words* that a recording notes of an execution.
    pub fn words<'a>(&'a self, found: &mut Vec<&'a Self>) {
        match self {
            Self::Const(_) | Self::Leaf(_) => {}
            Self::Load { address, .. } if self.is_word() => {
                let _ = address;
                if !found.contains(&self) {
                    found.push(self);
                }
            }
            Self::Load { address, .. } => address.words(found),
            Self::Op(_, left, right) => {
                left.words(found);
                right.words(found);
            }
            Self::Select(condition, yes, no) => {
                condition.words(found);
                yes.words(found);
                no.words(found);
            }
        }
    }

    fn is_word(&self) -> bool {
        let mut fixed = matches!(self, Self::Load { .. });
        self.walk(&mut |part| {
            fixed &= match part {
                Self::Leaf(leaf) => matches!(leaf, Leaf::Data | Leaf::Module(_)),
                _ => true,
            };
        });
        fixed
    }
}

impl From<Leaf> for Expr {
    fn from(leaf: Leaf) -> Self {
        Self::Leaf(leaf)
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        Self::Const(value)
    }
}
