//! The trips of an execution as one expression, for whoever decides when a region begins.

use fathomp_regions::{Body, Expr, Known, Leaf, LoopId, Op};

/// Nodes that an expression may have to be evaluated each time that a region begins.
const NODES_MOST: usize = 400;

/// Iterations of innermost loops of an execution as an expression over the data block and
/// memory, to be evaluated with one thread, number 0. An enclosing loop that they depend on
/// stands with its middle iteration. Loops of which nothing is known are left out; what
/// contains them counts instead.
///
/// None if nothing is known, or the expression would be too large.
#[must_use]
pub fn trips(body: &Body) -> Option<Expr> {
    let mut known: Vec<Option<Expr>> = vec![None; body.loops.len()];
    let mut total: Vec<Option<Expr>> = vec![None; body.loops.len()];
    // A loop stands behind the one that encloses it.
    for (index, one) in body.loops.iter().enumerate() {
        let around = match one.parent {
            None => Expr::Const(1),
            Some(LoopId(parent)) if (parent as usize) < index => {
                match total[parent as usize].clone() {
                    Some(around) => around,
                    None => continue,
                }
            }
            Some(_) => continue,
        };
        let Known::Known(own) = &one.trips else {
            continue;
        };
        let Some(own) = settled(own, &known) else {
            continue;
        };
        let mut own = Expr::op(Op::MaxS, own, Expr::Const(0));
        if let Some(Known::Known(condition)) = &one.entered_if
            && let Some(condition) = settled(condition, &known)
        {
            own = match condition {
                Expr::Const(0) => Expr::Const(0),
                Expr::Const(_) => own,
                condition => {
                    Expr::Select(Box::new(condition), Box::new(own), Box::new(Expr::Const(0)))
                }
            };
        }
        total[index] = Some(Expr::op(Op::Mul, around, own.clone()));
        known[index] = Some(own);
    }
    let mut sum: Option<Expr> = None;
    for index in 0..body.loops.len() {
        let counted =
            body.loops.iter().zip(&total).any(|(inner, total)| {
                inner.parent == Some(LoopId(index as u32)) && total.is_some()
            });
        let Some(own) = total[index].clone().filter(|_| !counted) else {
            continue;
        };
        let next = match sum.clone() {
            None => own,
            Some(sum) => Expr::op(Op::Add, sum, own),
        };
        if next.nodes() > NODES_MOST {
            // What is there already says how large the work is, if less of it.
            break;
        }
        sum = Some(next);
    }
    sum
}

/// The expression with enclosing loops at their middle, and one thread; none if memory that
/// it reads depends on them.
fn settled(expr: &Expr, known: &[Option<Expr>]) -> Option<Expr> {
    Some(match expr {
        Expr::Const(_) => expr.clone(),
        Expr::Leaf(Leaf::Threads) => Expr::Const(1),
        Expr::Leaf(Leaf::Thread) => Expr::Const(0),
        Expr::Leaf(Leaf::Iteration(LoopId(id))) => {
            let trips = known.get(*id as usize)?.clone()?;
            let last = Expr::op(Op::Sub, trips, Expr::Const(1));
            let last = Expr::op(Op::MaxS, last, Expr::Const(0));
            Expr::op(Op::ShrS, last, Expr::Const(1))
        }
        Expr::Leaf(Leaf::Data | Leaf::Module(_)) => expr.clone(),
        Expr::Leaf(_) => return None,
        Expr::Load { address, .. } if address.depends_on_iterations() => return None,
        Expr::Load {
            address,
            bytes,
            signed,
        } => Expr::load(settled(address, known)?, *bytes, *signed),
        Expr::Op(op, left, right) => Expr::op(*op, settled(left, known)?, settled(right, known)?),
        Expr::Select(condition, yes, no) => match settled(condition, known)? {
            Expr::Const(0) => settled(no, known)?,
            Expr::Const(_) => settled(yes, known)?,
            condition => Expr::Select(
                Box::new(condition),
                Box::new(settled(yes, known)?),
                Box::new(settled(no, known)?),
            ),
        },
    })
}
