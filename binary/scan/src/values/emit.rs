//! Values as expressions of the schema.

use super::{Node, Term, Unknown, Value, Values};
use fathomp_regions::{Expr, Leaf, Op, Reason, ReasonKind};

/// Nodes of an expression, at most: a larger one says nothing to a reader and costs more to
/// evaluate than it is worth.
const NODES_MAX: usize = 400;
/// Deepest nesting of an expression.
const DEPTH_MAX: usize = 120;

/// Why a value is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TooLarge {
    Large,
    /// It depends on something that is not known.
    Unknown(Unknown),
    /// It depends on what an iteration leaves to the next.
    Carried(Value),
    /// It depends on the address of the stack.
    Stack,
}

impl TooLarge {
    /// The same as a reason.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Large => Reason::new(ReasonKind::TooLarge, ""),
            Self::Unknown(unknown) => unknown.reason(),
            Self::Carried(_) => Reason::new(ReasonKind::MergedValue, "what an iteration leaves"),
            Self::Stack => Reason::new(ReasonKind::Other, "the address of the stack"),
        }
    }
}

impl Unknown {
    pub(crate) fn reason(&self) -> Reason {
        let detail = match self.kind {
            ReasonKind::Call => format!("the call at {:#x}", self.at),
            ReasonKind::MergedValue => format!("ways that meet at {:#x}", self.at),
            _ => format!("the instruction at {:#x}", self.at),
        };
        Reason::new(self.kind, detail)
    }
}

impl Values {
    /// A value as an expression.
    pub(crate) fn expr(&self, value: Value) -> Result<Expr, TooLarge> {
        let mut left = NODES_MAX;
        self.emit(value, &mut left, 0)
    }

    fn emit(&self, value: Value, left: &mut usize, depth: usize) -> Result<Expr, TooLarge> {
        if depth > DEPTH_MAX {
            return Err(TooLarge::Large);
        }
        *left = left.checked_sub(1).ok_or(TooLarge::Large)?;
        match self.node(value) {
            Node::Sum(terms) => self.emit_sum(terms, left, depth + 1),
            Node::Leaf(leaf) => Ok(Expr::Leaf(*leaf)),
            Node::Chunk(end, call, _) => Ok(Expr::Leaf(Leaf::Chunk(*end, *call))),
            Node::Stack => Err(TooLarge::Stack),
            Node::Carried(..) => Err(TooLarge::Carried(value)),
            Node::Unknown(unknown) => Err(TooLarge::Unknown(unknown.clone())),
            Node::Load {
                address,
                bytes,
                signed,
            } => Ok(Expr::load(
                self.emit(*address, left, depth + 1)?,
                *bytes,
                *signed,
            )),
            Node::Op(op, a, b) => Ok(Expr::op(
                *op,
                self.emit(*a, left, depth + 1)?,
                self.emit(*b, left, depth + 1)?,
            )),
            Node::Select(condition, yes, no) => Ok(Expr::Select(
                Box::new(self.emit(*condition, left, depth + 1)?),
                Box::new(self.emit(*yes, left, depth + 1)?),
                Box::new(self.emit(*no, left, depth + 1)?),
            )),
        }
    }

    fn emit_sum(&self, terms: &[Term], left: &mut usize, depth: usize) -> Result<Expr, TooLarge> {
        let mut sum: Option<Expr> = None;
        let mut constant = 0_i64;
        // What is added first, so that differences read as such.
        let (added, taken): (Vec<&Term>, Vec<&Term>) = terms
            .iter()
            .partition(|term| term.factors.is_empty() || term.coefficient > 0);
        for term in added {
            match &*term.factors {
                [] => constant = term.coefficient,
                [only] if term.coefficient == 1 && self.is_module(*only) => {
                    let offset = terms.iter().find(|term| term.factors.is_empty());
                    let offset = offset.map_or(0, |term| term.coefficient);
                    let base = Expr::Leaf(Leaf::Module(offset as u64));
                    sum = Some(match sum.take() {
                        None => base,
                        Some(sum) => Expr::op(Op::Add, sum, base),
                    });
                    // Part of the leaf.
                    constant = 0;
                }
                _ => {
                    let product = self.emit_product(term, term.coefficient, left, depth)?;
                    sum = Some(match sum.take() {
                        None => product,
                        Some(sum) => Expr::op(Op::Add, sum, product),
                    });
                }
            }
        }
        if constant != 0 && (sum.is_none() || taken.is_empty() || constant > 0) {
            let by = Expr::Const(constant);
            sum = Some(match sum.take() {
                None => by,
                Some(sum) => plus(sum, constant),
            });
            constant = 0;
        }
        let mut sum = sum.unwrap_or(Expr::Const(0));
        for term in taken {
            let by = term.coefficient.wrapping_neg();
            let product = self.emit_product(term, by, left, depth)?;
            sum = Expr::op(Op::Sub, sum, product);
        }
        Ok(plus(sum, constant))
    }

    fn is_module(&self, value: Value) -> bool {
        matches!(self.node(value), Node::Leaf(Leaf::Module(0)))
    }

    fn emit_product(
        &self,
        term: &Term,
        coefficient: i64,
        left: &mut usize,
        depth: usize,
    ) -> Result<Expr, TooLarge> {
        let mut product: Option<Expr> = None;
        for factor in &*term.factors {
            let factor = self.emit(*factor, left, depth + 1)?;
            product = Some(match product.take() {
                None => factor,
                Some(product) => Expr::op(Op::Mul, product, factor),
            });
        }
        let product = product.unwrap_or(Expr::Const(1));
        Ok(Expr::op(Op::Mul, product, Expr::Const(coefficient)))
    }
}

/// A sum with a constant.
fn plus(sum: Expr, constant: i64) -> Expr {
    match constant {
        0 => sum,
        i64::MIN..0 if constant != i64::MIN => Expr::op(Op::Sub, sum, Expr::Const(-constant)),
        _ => Expr::op(Op::Add, sum, Expr::Const(constant)),
    }
}
