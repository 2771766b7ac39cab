//! Names of what accesses are based on, from debugging information and symbols.
//!
//! What a body shares lies in its data block, whose type (`struct .omp_data_s.N`) gcc
//! describes as that of the body's parameter: a value loaded from the block is the variable of
//! the member there, or points to it. Variables with addresses of their own are looked up by
//! their addresses.

mod read;

use fathomp_regions::{Body, Expr, Leaf, Op};
use std::collections::BTreeMap;

/// A structure's members: offset, name, and the structure that the member points to or is.
#[derive(Debug, Default)]
struct Structure {
    members: BTreeMap<u64, (String, Option<usize>)>,
}

/// Variables that are to be looked for before an instruction.
pub(crate) type Watches = BTreeMap<u64, Vec<Watch>>;

/// A variable of a body that is to be looked for.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) name: String,
    /// Number of the structure that it is or points to.
    pub(crate) to: Option<usize>,
    pub(crate) place: WatchedPlace,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchedPlace {
    /// In a register.
    Value(u8),
    /// In memory at what a register holds and a distance.
    At(u8, i64),
    /// In memory at an address that lies there.
    Behind(u8, i64),
    /// On the stack, from the frame's address (the DWARF CFA) on.
    Frame(i64),
}

/// Variables of a body: the address where the value lies when the body begins, name, number of
/// the structure that it is or points to.
pub(crate) type Located = BTreeMap<Expr, (String, Option<usize>)>;

/// Names of a program's variables.
#[derive(Debug, Default)]
pub(crate) struct Names {
    structures: Vec<Structure>,
    /// The data block's structure by the address of the body.
    blocks: BTreeMap<u64, usize>,
    /// Variables: address, bytes, name.
    variables: BTreeMap<u64, (u64, String, Option<usize>)>,
    /// Variables of bodies, by the instructions before which they are at their places.
    pub(crate) watches: Watches,
    /// Parameters of functions: function, number from 1 on.
    parameters: BTreeMap<(u64, u8), (String, Option<usize>)>,
}

/// Parts of an expression that are looked through, at most.
const DEPTH_MAX: u32 = 12;

impl Names {
    /// Fills in the names of what a body's accesses are based on.
    pub(crate) fn fill(&self, body: &mut Body, located: &Located) {
        let names = Lookup {
            names: self,
            body: body.address,
            located,
        };
        for access in &mut body.accesses {
            let start = access.address.known().map(|address| &address.start);
            let expr = access.base.expr.as_ref();
            let found = start
                .and_then(|start| names.exactly(start).or_else(|| names.of(start)))
                .or_else(|| expr.and_then(|expr| names.of(expr)));
            access.base.name = found;
        }
    }
}

/// Names as one body sees them.
struct Lookup<'a> {
    names: &'a Names,
    body: u64,
    located: &'a Located,
}

impl Lookup<'_> {
    /// The name of the variable whose value lies at an address.
    fn exactly(&self, address: &Expr) -> Option<String> {
        let found = match address {
            Expr::Leaf(Leaf::Module(address)) => self.variable(*address),
            _ => None,
        };
        let found = found.or_else(|| self.located.get(address).cloned());
        found.map(|(name, _)| name)
    }

    /// The name of what an address leads to.
    fn of(&self, address: &Expr) -> Option<String> {
        let mut best = None;
        self.pointers(address, DEPTH_MAX, &mut |part, offset| {
            if best.is_none() {
                best = self.name(part, offset, DEPTH_MAX).map(|(name, _)| name);
            }
        });
        best
    }

    /// Calls `visit` with the terms of a sum that may be pointers, each with the constant of
    /// the sum.
    fn pointers<'e>(&self, address: &'e Expr, depth: u32, visit: &mut dyn FnMut(&'e Expr, i64)) {
        let mut terms = Vec::new();
        let mut constant = 0_i64;
        sum(address, 1, depth, &mut terms, &mut constant);
        for term in terms {
            visit(term, constant);
        }
    }

    /// The name of the thing `offset` bytes behind what an expression points to, and its
    /// structure.
    fn name(&self, pointer: &Expr, offset: i64, depth: u32) -> Option<(String, Option<usize>)> {
        let depth = depth.checked_sub(1)?;
        match pointer {
            Expr::Leaf(Leaf::Data) => self.member(*self.names.blocks.get(&self.body)?, offset),
            Expr::Leaf(Leaf::Module(address)) => {
                let address = address.wrapping_add_signed(offset);
                self.variable(address)
                    .or_else(|| self.variable(address.wrapping_add_signed(-offset)))
            }
            Expr::Leaf(Leaf::Argument(number)) => {
                let (name, to) = self.names.parameters.get(&(self.body, *number))?;
                Some(self.behind(name, *to, offset))
            }
            Expr::Load {
                address, bytes: 8, ..
            } => {
                let mut found = match &**address {
                    Expr::Leaf(Leaf::Module(at)) => self.variable(*at),
                    _ => None,
                };
                found = found.or_else(|| self.located.get(address).cloned());
                self.pointers(address, depth, &mut |part, inner| {
                    if found.is_none() {
                        found = self.name(part, inner, depth);
                    }
                });
                let (name, to) = found?;
                Some(self.behind(&name, to, offset))
            }
            _ => None,
        }
    }

    /// What lies behind a pointer with a name.
    fn behind(&self, name: &str, to: Option<usize>, offset: i64) -> (String, Option<usize>) {
        match to.and_then(|to| self.member(to, offset)) {
            Some((member, to)) => (format!("{name}->{member}"), to),
            None => (name.to_owned(), None),
        }
    }

    fn member(&self, structure: usize, offset: i64) -> Option<(String, Option<usize>)> {
        let offset = u64::try_from(offset).ok()?;
        let members = &self.names.structures.get(structure)?.members;
        let (_, (name, to)) = members.range(..=offset).next_back()?;
        Some((name.clone(), *to))
    }

    fn variable(&self, address: u64) -> Option<(String, Option<usize>)> {
        let (start, (bytes, name, to)) = self.names.variables.range(..=address).next_back()?;
        (address - start < (*bytes).max(1)).then(|| (name.clone(), *to))
    }
}

/// The terms of a sum with a positive sign, and its constant.
fn sum<'e>(expr: &'e Expr, sign: i64, depth: u32, terms: &mut Vec<&'e Expr>, constant: &mut i64) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match expr {
        Expr::Const(value) => *constant = constant.wrapping_add(value.wrapping_mul(sign)),
        Expr::Op(Op::Add, left, right) => {
            sum(left, sign, depth, terms, constant);
            sum(right, sign, depth, terms, constant);
        }
        Expr::Op(Op::Sub, left, right) => {
            sum(left, sign, depth, terms, constant);
            sum(right, -sign, depth, terms, constant);
        }
        _ if sign > 0 => terms.push(expr),
        _ => {}
    }
}
