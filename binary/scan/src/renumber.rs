//! Loops numbered without gaps.

use fathomp_regions::{Expr, Leaf, LoopId};

/// New numbers of loops, by their old ones; none for those that are left out.
pub(crate) struct Numbers(pub(crate) Vec<Option<LoopId>>);

impl Numbers {
    pub(crate) fn of(&self, id: LoopId) -> Option<LoopId> {
        self.0.get(id.0 as usize).copied().flatten()
    }

    /// An expression with the new numbers.
    pub(crate) fn expr(&self, expr: Expr) -> Expr {
        match expr {
            Expr::Leaf(Leaf::Iteration(id)) => {
                Expr::Leaf(Leaf::Iteration(self.of(id).unwrap_or(id)))
            }
            Expr::Const(_) | Expr::Leaf(_) => expr,
            Expr::Load {
                address,
                bytes,
                signed,
            } => Expr::load(self.expr(*address), bytes, signed),
            Expr::Op(op, left, right) => {
                Expr::Op(op, Box::new(self.expr(*left)), Box::new(self.expr(*right)))
            }
            Expr::Select(condition, yes, no) => Expr::Select(
                Box::new(self.expr(*condition)),
                Box::new(self.expr(*yes)),
                Box::new(self.expr(*no)),
            ),
        }
    }
}
