//! What the score is computed from, whoever found it out: the source, or the binary.

use fathomp_regions::{
    AccessClass, Address, ArithmeticKind, Body, CallKind, Construct, Direction, Expr, Known, Loop,
    LoopRole, Region, SourceAccess, SourceLoop,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Statements of a region.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Kernel {
    /// Statements in loops, in order. Of a binary, what one loop holds is one statement.
    pub statements: Vec<Statement>,
    /// Whether it was made from a source, rather than from a binary.
    pub from_source: bool,
}

/// A statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statement {
    /// Its line; 0 if not known.
    pub line: u32,
    /// Loops around it.
    pub loops: usize,
    /// Its accesses to arrays.
    pub accesses: Vec<Access>,
    /// What it computes.
    pub operations: Operations,
    /// How often it is thought to run: the product of its loops' iterations, 100 for a loop
    /// whose iterations are no constant.
    pub iterations: f64,
}

/// Numbers of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Operations {
    /// Sums, differences, comparisons.
    pub additions: f64,
    /// Products.
    pub multiplications: f64,
    /// Quotients, remainders, roots.
    pub divisions: f64,
    /// Calls.
    pub calls: f64,
}

/// An access to an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Access {
    /// As written, or what is known of its base.
    pub text: String,
    /// Whether it writes.
    pub writes: bool,
    /// Dimensions whose subscript varies with a loop.
    pub dimensions: u32,
    /// Loops that it varies with, as places in the order of loops around its statement
    /// (0 is the outermost), each once, in that order.
    pub uses: Vec<usize>,
    /// Whether the next iteration of the innermost loop goes to the next elements.
    pub consecutive: bool,
    /// Whether a subscript is read from memory.
    pub irregular: bool,
}

/// Why a region has no score.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKernel {
    /// Neither side was scanned.
    #[error("neither the source nor the code of the region is known: scan its program")]
    Nothing,
    /// Nothing that the score looks at.
    #[error("the region has no loop with arithmetic or accesses to arrays")]
    NoLoop,
}

/// Iterations of a loop where they are no constant.
const ITERATIONS: f64 = 100.0;
/// Bytes of a line: what goes on by less is consecutive.
const LINE: i64 = 64;
/// Bytes of an element of which the type is not seen.
const ELEMENT: u32 = 8;

impl Kernel {
    /// From the source of a region if that is known, otherwise from its code.
    ///
    /// # Errors
    /// See [`NoKernel`].
    pub fn of(region: &Region) -> Result<Self, NoKernel> {
        let sources = region.construct.as_ref().map(Self::of_construct);
        let kernel = match (sources, &region.body) {
            (Some(kernel), _) if !kernel.statements.is_empty() => kernel,
            (_, Some(body)) => Self::of_body(body),
            (Some(kernel), None) => kernel,
            (None, None) => return Err(NoKernel::Nothing),
        };
        if kernel.statements.is_empty() {
            return Err(NoKernel::NoLoop);
        }
        Ok(kernel)
    }

    /// From the source.
    #[must_use]
    pub fn of_construct(construct: &Construct) -> Self {
        let mut statements = Vec::new();
        for statement in &construct.statements {
            let around = chain(statement.inside, construct.loops.len(), |index| {
                construct.loops[index].parent
            });
            if around.is_empty() {
                continue;
            }
            let accesses = statement.accesses.iter();
            statements.push(Statement {
                line: statement.line,
                loops: around.len(),
                accesses: accesses
                    .map(|one| source_access(construct, &around, one))
                    .collect(),
                operations: Operations {
                    additions: f64::from(statement.additions),
                    multiplications: f64::from(statement.multiplications),
                    divisions: f64::from(statement.divisions),
                    calls: f64::from(statement.calls),
                },
                iterations: around
                    .iter()
                    .map(|index| source_iterations(&construct.loops[*index]))
                    .product(),
            });
        }
        Self {
            statements,
            from_source: true,
        }
    }

    /// From the code.
    #[must_use]
    pub fn of_body(body: &Body) -> Self {
        let mut by_loop: BTreeMap<usize, Statement> = BTreeMap::new();
        let parent = |index: usize| body.loops[index].parent.map(|parent| parent.0 as usize);
        let mut around_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, one) in body.loops.iter().enumerate() {
            // The rest of a vectorised loop is the same statement once more.
            if one.role == LoopRole::Remainder {
                continue;
            }
            let around = chain(Some(index), body.loops.len(), parent);
            let statement = Statement {
                line: one.place.as_ref().map_or(0, |place| place.line),
                loops: around.len(),
                iterations: around
                    .iter()
                    .map(|index| iterations(&body.loops[*index]))
                    .product(),
                ..Statement::default()
            };
            by_loop.insert(index, statement);
            around_of.insert(index, around);
        }
        let place =
            |inside: Option<fathomp_regions::LoopId>| inside.map(|inside| inside.0 as usize);
        for access in &body.accesses {
            let Some(inside) = place(access.inside) else {
                continue;
            };
            if let (Some(statement), Some(around)) =
                (by_loop.get_mut(&inside), around_of.get(&inside))
            {
                let one = code_access(around, access);
                if access.direction == Direction::ReadWrite {
                    statement.accesses.push(Access {
                        writes: false,
                        ..one.clone()
                    });
                }
                statement.accesses.push(one);
            }
        }
        for arithmetic in &body.arithmetic {
            let statement = place(arithmetic.inside).and_then(|inside| by_loop.get_mut(&inside));
            let Some(statement) = statement else { continue };
            let (count, operations) = (
                f64::from(arithmetic.instructions),
                &mut statement.operations,
            );
            match arithmetic.kind {
                ArithmeticKind::Add | ArithmeticKind::Compare => operations.additions += count,
                ArithmeticKind::Multiply => operations.multiplications += count,
                ArithmeticKind::FusedMultiplyAdd => {
                    operations.additions += count;
                    operations.multiplications += count;
                }
                ArithmeticKind::Divide | ArithmeticKind::SquareRoot => {
                    operations.divisions += count
                }
                ArithmeticKind::Logic | ArithmeticKind::Convert | ArithmeticKind::Shuffle => {}
            }
        }
        for call in &body.calls {
            let statement = place(call.inside).and_then(|inside| by_loop.get_mut(&inside));
            if let (Some(statement), CallKind::Math | CallKind::Other, false) =
                (statement, call.kind, call.followed)
            {
                statement.operations.calls += 1.0;
            }
        }
        Self {
            statements: by_loop
                .into_values()
                .filter(|one| !one.accesses.is_empty() || one.operations != Operations::default())
                .collect(),
            from_source: false,
        }
    }
}

/// Loops around, outermost first.
fn chain(
    inside: Option<usize>,
    loops: usize,
    parent: impl Fn(usize) -> Option<usize>,
) -> Vec<usize> {
    let mut around = Vec::new();
    let mut next = inside.filter(|index| *index < loops);
    while let Some(index) = next {
        around.push(index);
        // A parent stands before its loops: what says otherwise ends here.
        next = parent(index).filter(|parent| *parent < index);
    }
    around.reverse();
    around
}

fn source_iterations(one: &SourceLoop) -> f64 {
    one.trips.map_or(ITERATIONS, |trips| trips as f64)
}

fn iterations(one: &Loop) -> f64 {
    match &one.trips {
        Known::Known(Expr::Const(trips)) if *trips >= 0 => *trips as f64,
        _ => ITERATIONS,
    }
}

fn source_access(construct: &Construct, around: &[usize], access: &SourceAccess) -> Access {
    let depth_of = |index: &usize| around.iter().position(|one| one == index);
    let mut uses = Vec::new();
    let mut dimensions = 0;
    for subscript in &access.subscripts {
        let factors = subscript.factors.iter().filter(|(_, factor)| *factor != 0);
        let plain: Vec<usize> = factors.filter_map(|(index, _)| depth_of(index)).collect();
        let symbolic: Vec<usize> = subscript
            .symbolic
            .iter()
            .filter_map(|(index, _)| depth_of(index))
            .collect();
        // `a[i * n + j]` is a matrix written as a vector.
        let written_out = symbolic.len() as u32 + u32::from(!plain.is_empty());
        dimensions += written_out.max(u32::from(subscript.irregular));
        uses.extend(plain);
        uses.extend(symbolic);
    }
    uses.sort_unstable();
    uses.dedup();
    let bytes = construct
        .arrays
        .get(access.array)
        .and_then(|array| array.element_bytes)
        .unwrap_or(ELEMENT);
    let innermost = around.last();
    let (slower, fastest) = match access.subscripts.split_last() {
        Some((fastest, slower)) => (slower, Some(fastest)),
        None => (&access.subscripts[..], None),
    };
    let moves = |subscript: &fathomp_regions::Subscript| {
        let factors = subscript.factors.iter();
        factors
            .filter(|(index, _)| Some(index) == innermost)
            .map(|(_, factor)| *factor)
            .chain(
                subscript
                    .symbolic
                    .iter()
                    .filter(|(index, _)| Some(index) == innermost)
                    .map(|_| i64::MAX),
            )
            .fold(0_i64, |sum, factor| sum.saturating_add(factor))
    };
    Access {
        text: access.text.clone(),
        writes: access.writes,
        dimensions,
        uses,
        consecutive: slower.iter().all(|subscript| moves(subscript) == 0)
            && fastest.is_none_or(|subscript| {
                moves(subscript)
                    .saturating_abs()
                    .saturating_mul(i64::from(bytes))
                    < LINE
            }),
        irregular: access
            .subscripts
            .iter()
            .any(|subscript| subscript.irregular),
    }
}

fn code_access(around: &[usize], access: &fathomp_regions::Access) -> Access {
    let text = access.base.name.clone().unwrap_or_else(|| {
        let base = access.base.expr.as_ref();
        base.map_or_else(|| format!("{:#x}", access.at), ToString::to_string)
    });
    let innermost = around.len() - 1;
    let mut uses: Vec<usize> = match &access.address {
        Known::Known(Address { strides, .. }) => strides
            .iter()
            .filter(|stride| stride.bytes != Expr::Const(0))
            .filter_map(|stride| {
                let over = stride.over.0 as usize;
                around.iter().position(|one| *one == over)
            })
            .collect(),
        Known::Unknown(_) if access.class != AccessClass::Invariant => vec![innermost],
        Known::Unknown(_) => Vec::new(),
    };
    uses.sort_unstable();
    uses.dedup();
    let irregular = matches!(
        access.class,
        AccessClass::Indirect | AccessClass::Unknown(_)
    );
    Access {
        text,
        writes: access.direction != Direction::Read,
        dimensions: (uses.len() as u32).max(u32::from(irregular)),
        uses,
        consecutive: match access.class {
            AccessClass::Invariant | AccessClass::Unit | AccessClass::Dense => true,
            AccessClass::Strided(bytes) => bytes.saturating_abs() < LINE,
            _ => false,
        },
        irregular,
    }
}
