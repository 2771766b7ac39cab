//! Which accesses go to the same array, and where in it.

use super::fit::Fit;
use fathomp_regions::{Expr, Leaf, Op};

/// Arrays seen so far, by the pointer that their addresses start from.
#[derive(Default)]
pub(super) struct Arrays {
    roots: Vec<Root>,
}

enum Root {
    Pointer(Expr),
    Name(String),
    Unknown,
}

impl Arrays {
    /// Number of the array that an address lies in, and the address; relative to the
    /// pointer where that is not known.
    pub(super) fn place(&mut self, address: &Expr, fit: &Fit<'_>) -> (u32, f64) {
        let mut terms = Vec::new();
        summands(address, &mut terms);
        // A pointer is the largest of the values that may be one.
        let pointer = terms
            .iter()
            .enumerate()
            .filter(|(_, (term, factor))| *factor == 1 && may_be_pointer(term))
            .max_by(|(_, (left, _)), (_, (right, _))| {
                let value = |term| fit.value(term).unwrap_or(0.0);
                value(left).total_cmp(&value(right))
            })
            .map(|(index, _)| index);
        let value = fit.value(address);
        let Some(pointer) = pointer else {
            return (self.pointer(address.clone()), value.unwrap_or(0.0));
        };
        let (root, _) = terms.swap_remove(pointer);
        if let Some(value) = value {
            return (self.pointer(root.clone()), value);
        }
        let mut offset = 0.0;
        for (term, factor) in &terms {
            match fit.value(term) {
                Some(value) => offset += value * *factor as f64,
                // Somewhere else in the array: like another one.
                None => return (self.pointer(address.clone()), 0.0),
            }
        }
        (self.pointer(root.clone()), offset)
    }

    fn pointer(&mut self, root: Expr) -> u32 {
        let known = self
            .roots
            .iter()
            .position(|known| matches!(known, Root::Pointer(known) if *known == root));
        known.map_or_else(|| self.add(Root::Pointer(root)), |index| index as u32)
    }

    /// Number of an array of which only the name is known.
    pub(super) fn named(&mut self, name: &str) -> u32 {
        let known = self
            .roots
            .iter()
            .position(|known| matches!(known, Root::Name(known) if known == name));
        known.map_or_else(
            || self.add(Root::Name(name.to_owned())),
            |index| index as u32,
        )
    }

    /// Number of an array of which nothing is known.
    pub(super) fn unknown(&mut self) -> u32 {
        self.add(Root::Unknown)
    }

    fn add(&mut self, root: Root) -> u32 {
        self.roots.push(root);
        (self.roots.len() - 1) as u32
    }
}

/// The terms of a sum, each with its factor.
fn summands<'a>(expr: &'a Expr, found: &mut Vec<(&'a Expr, i64)>) {
    let mut open = vec![(expr, 1_i64)];
    while let Some((expr, factor)) = open.pop() {
        match expr {
            Expr::Op(Op::Add, left, right) => {
                open.push((right, factor));
                open.push((left, factor));
            }
            Expr::Op(Op::Sub, left, right) => {
                open.push((right, factor.wrapping_neg()));
                open.push((left, factor));
            }
            _ => found.push((expr, factor)),
        }
    }
}

fn may_be_pointer(term: &Expr) -> bool {
    match term {
        Expr::Load { bytes: 8, .. } => true,
        Expr::Leaf(leaf) => matches!(
            leaf,
            Leaf::Data | Leaf::Module(_) | Leaf::Argument(_) | Leaf::ThreadStatic
        ),
        _ => false,
    }
}
