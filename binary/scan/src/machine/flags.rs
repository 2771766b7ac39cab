//! The flags as what set them, and the conditions of jumps on them.

use crate::values::{Value, Values};
use fathomp_regions::Op;
use iced_x86::ConditionCode;

/// What set the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flags {
    Unknown,
    /// A comparison or difference of two values.
    Compared(Value, Value),
    /// A result that is compared with 0.
    Result(Value),
    /// The sum of a value and a constant.
    Sum(Value, i64),
}

impl Flags {
    /// The condition under which a jump is taken, if it is known.
    pub(crate) fn condition(self, values: &mut Values, code: ConditionCode) -> Option<Value> {
        let zero = values.constant(0);
        let (left, right) = match self {
            Self::Unknown => return None,
            Self::Compared(left, right) => (left, right),
            Self::Result(result) => match code {
                ConditionCode::e
                | ConditionCode::ne
                | ConditionCode::l
                | ConditionCode::ge
                | ConditionCode::le
                | ConditionCode::g
                | ConditionCode::s
                | ConditionCode::ns => (result, zero),
                // There is no carry.
                ConditionCode::be => return Some(values.op(Op::Eq, result, zero)),
                ConditionCode::a => return Some(values.op(Op::Ne, result, zero)),
                _ => return None,
            },
            Self::Sum(value, by) => {
                let sum = values.offset(value, by);
                match code {
                    ConditionCode::e | ConditionCode::ne | ConditionCode::s | ConditionCode::ns => {
                        (sum, zero)
                    }
                    // Signed conditions see the true sum.
                    ConditionCode::l | ConditionCode::ge | ConditionCode::le | ConditionCode::g => {
                        let by = values.constant(by.wrapping_neg());
                        (value, by)
                    }
                    // It carries unless the value is less than what is taken away.
                    ConditionCode::b | ConditionCode::ae if by < 0 => {
                        let by = values.constant(by.wrapping_neg());
                        let less = values.op(Op::LtU, value, by);
                        return Some(match code {
                            ConditionCode::b => values.not(less),
                            _ => less,
                        });
                    }
                    _ => return None,
                }
            }
        };
        Some(match code {
            ConditionCode::e => values.op(Op::Eq, left, right),
            ConditionCode::ne => values.op(Op::Ne, left, right),
            ConditionCode::l => values.op(Op::LtS, left, right),
            ConditionCode::ge => values.op(Op::LeS, right, left),
            ConditionCode::le => values.op(Op::LeS, left, right),
            ConditionCode::g => values.op(Op::LtS, right, left),
            ConditionCode::b => values.op(Op::LtU, left, right),
            ConditionCode::ae => values.op(Op::LeU, right, left),
            ConditionCode::be => values.op(Op::LeU, left, right),
            ConditionCode::a => values.op(Op::LtU, right, left),
            // The difference as such; no overflow is thought of.
            ConditionCode::s => values.op(Op::LtS, left, right),
            ConditionCode::ns => values.op(Op::LeS, right, left),
            _ => return None,
        })
    }
}
