//! What expressions are worth.

use crate::expr::{Expr, Leaf, Op};

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    /// The environment does not know one of its leaves.
    #[error("a value that it needs is not known")]
    Leaf,
    /// Memory that it needs cannot be read, or was not noted.
    #[error("memory that it needs cannot be read")]
    Memory,
    /// It divides by zero, or the quotient does not fit.
    #[error("it divides by zero")]
    Division,
}

/// Where leaves and memory get their values from.
pub trait Environment {
    /// The value of a leaf; `None` if it is not known here.
    fn leaf(&self, leaf: Leaf) -> Option<i64>;

    /// The `bytes` bytes at `address`, zero-extended; `None` if they cannot be read.
    fn memory(&self, address: u64, bytes: u8) -> Option<u64>;

    /// The value of a load as a whole, for environments that hold such instead of memory.
    fn word(&self, load: &Expr) -> Option<i64> {
        let _ = load;
        None
    }
}

impl Op {
    /// Applies it; `None` where it has no value.
    #[must_use]
    pub fn apply(self, left: i64, right: i64) -> Option<i64> {
        let (unsigned, by) = (left as u64, right as u64);
        let distance = (right & 63) as u32;
        Some(match self {
            Self::Add => left.wrapping_add(right),
            Self::Sub => left.wrapping_sub(right),
            Self::Mul => left.wrapping_mul(right),
            Self::DivS => left.checked_div(right)?,
            Self::RemS => left.checked_rem(right)?,
            Self::DivU => unsigned.checked_div(by)? as i64,
            Self::RemU => unsigned.checked_rem(by)? as i64,
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
            Self::Shl => left.wrapping_shl(distance),
            Self::ShrU => unsigned.wrapping_shr(distance) as i64,
            Self::ShrS => left.wrapping_shr(distance),
            Self::MinS => left.min(right),
            Self::MaxS => left.max(right),
            Self::MinU => unsigned.min(by) as i64,
            Self::MaxU => unsigned.max(by) as i64,
            Self::Eq => i64::from(left == right),
            Self::Ne => i64::from(left != right),
            Self::LtS => i64::from(left < right),
            Self::LeS => i64::from(left <= right),
            Self::LtU => i64::from(unsigned < by),
            Self::LeU => i64::from(unsigned <= by),
            Self::SignExtend => sign_extend(left, right),
            Self::ZeroExtend => zero_extend(left, right),
        })
    }
}

fn sign_extend(value: i64, bits: i64) -> i64 {
    match bits {
        1..=63 => (value << (64 - bits)) >> (64 - bits),
        _ => value,
    }
}

fn zero_extend(value: i64, bits: i64) -> i64 {
    match bits {
        1..=63 => value & ((1 << bits) - 1),
        _ => value,
    }
}

impl Expr {
    /// Its value.
    ///
    /// # Errors
    /// See [`NoValue`].
    pub fn evaluate(&self, environment: &dyn Environment) -> Result<i64, NoValue> {
        match self {
            Self::Const(value) => Ok(*value),
            Self::Leaf(leaf) => environment.leaf(*leaf).ok_or(NoValue::Leaf),
            Self::Load {
                address,
                bytes,
                signed,
            } => {
                if let Some(value) = environment.word(self) {
                    return Ok(value);
                }
                let address = address.evaluate(environment)? as u64;
                let value = environment.memory(address, *bytes).ok_or(NoValue::Memory)? as i64;
                let bits = i64::from(*bytes) * 8;
                Ok(if *signed {
                    sign_extend(value, bits)
                } else {
                    zero_extend(value, bits)
                })
            }
            Self::Op(op, left, right) => {
                let (left, right) = (left.evaluate(environment)?, right.evaluate(environment)?);
                op.apply(left, right).ok_or(NoValue::Division)
            }
            Self::Select(condition, yes, no) => {
                if condition.evaluate(environment)? == 0 {
                    no.evaluate(environment)
                } else {
                    yes.evaluate(environment)
                }
            }
        }
    }
}
