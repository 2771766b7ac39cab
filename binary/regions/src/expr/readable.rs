//! Expressions as people write them.

use super::{ChunkEnd, Expr, Leaf, Op};
use crate::model::Body;
use std::fmt;

/// Deepest nesting that is written out.
const DEPTH_MAX: u32 = 24;
/// Sums of more terms are written as they are.
const TERMS_MAX: usize = 16;

/// An expression in infix notation, with names where somebody knows them.
///
/// A thread's part of a loop that threads divide equally is written `share(n)`: that many
/// of `n` iterations, from iteration `first(n)` on. Extensions of narrow values are left
/// out and signs of comparison are the same for signed and unsigned ones: for reading, not
/// for evaluating.
#[derive(Clone, Copy)]
pub struct Readable<'a> {
    expr: &'a Expr,
    names: &'a dyn Fn(&Expr) -> Option<String>,
}

impl fmt::Debug for Readable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Readable({self})")
    }
}

impl<'a> Readable<'a> {
    /// `names` is asked for the whole and for each part, from the outside to the inside.
    #[must_use]
    pub fn new(expr: &'a Expr, names: &'a dyn Fn(&Expr) -> Option<String>) -> Self {
        Self { expr, names }
    }

    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        expr: &Expr,
        around: u8,
        depth: u32,
    ) -> fmt::Result {
        if let Some(name) = (self.names)(expr) {
            return f.write_str(&name);
        }
        if depth > DEPTH_MAX {
            return f.write_str("...");
        }
        let deeper = depth + 1;
        if let Some(times) = at_least_once(expr) {
            f.write_str("max(")?;
            self.write(f, times, 0, deeper)?;
            return f.write_str(", 1)");
        }
        if let Some((name, all)) = share(expr) {
            write!(f, "{name}(")?;
            self.write(f, all, 0, deeper)?;
            return f.write_str(")");
        }
        if let Some(shorter) = without_opposites(expr) {
            return self.write(f, &shorter, around, deeper);
        }
        match expr {
            Expr::Const(value) => write_constant(f, *value, around),
            Expr::Leaf(leaf) => write_leaf(f, *leaf),
            Expr::Load { address, bytes, .. } => self.write_load(f, address, *bytes, deeper),
            Expr::Op(Op::SignExtend | Op::ZeroExtend, inner, _) => {
                self.write(f, inner, around, depth)
            }
            Expr::Op(op, left, right) => self.write_op(f, (*op, left, right), around, deeper),
            Expr::Select(condition, yes, no) => {
                let parts = [(condition, " ? "), (yes, " : "), (no, "")];
                f.write_str("(")?;
                for (part, sign) in parts {
                    self.write(f, part, SELECT + 1, deeper)?;
                    f.write_str(sign)?;
                }
                f.write_str(")")
            }
        }
    }

    /// Memory: by how far it lies behind what points to it.
    fn write_load(
        &self,
        f: &mut fmt::Formatter<'_>,
        address: &Expr,
        bytes: u8,
        depth: u32,
    ) -> fmt::Result {
        match address {
            Expr::Leaf(Leaf::Module(offset)) => {
                write!(f, "word{}@{offset:#x}", u32::from(bytes) * 8)
            }
            Expr::Op(Op::Add, base, offset) if matches!(**offset, Expr::Const(_)) => {
                self.write(f, base, ATOM, depth)?;
                f.write_str("[")?;
                self.write(f, offset, 0, depth)?;
                f.write_str("]")
            }
            Expr::Leaf(_) | Expr::Load { .. } => {
                self.write(f, address, ATOM, depth)?;
                f.write_str("[0]")
            }
            _ => {
                f.write_str("*(")?;
                self.write(f, address, 0, depth)?;
                f.write_str(")")
            }
        }
    }

    fn write_op(
        &self,
        f: &mut fmt::Formatter<'_>,
        (op, left, right): (Op, &Expr, &Expr),
        around: u8,
        depth: u32,
    ) -> fmt::Result {
        let function = match op {
            Op::MinS | Op::MinU => Some("min"),
            Op::MaxS | Op::MaxU => Some("max"),
            _ => None,
        };
        if let Some(name) = function {
            write!(f, "{name}(")?;
            self.write(f, left, 0, depth)?;
            f.write_str(", ")?;
            self.write(f, right, 0, depth)?;
            return f.write_str(")");
        }
        // A constant that is subtracted, and powers of two.
        let mut subtracted = None;
        let (sign, level) = match (op, right) {
            (Op::Add, Expr::Const(value)) if *value < 0 && *value != i64::MIN => {
                subtracted = Some(Expr::Const(-value));
                ("-", SUM)
            }
            (Op::Sub, Expr::Const(value)) if *value < 0 && *value != i64::MIN => {
                subtracted = Some(Expr::Const(-value));
                ("+", SUM)
            }
            (Op::Shl, Expr::Const(by @ 0..=62)) => {
                subtracted = Some(Expr::Const(1 << by));
                ("*", PRODUCT)
            }
            (Op::ShrS | Op::ShrU, Expr::Const(by @ 0..=62)) => {
                subtracted = Some(Expr::Const(1 << by));
                ("/", PRODUCT)
            }
            _ => sign(op),
        };
        let right = subtracted.as_ref().unwrap_or(right);
        let wrapped = around > level;
        if wrapped {
            f.write_str("(")?;
        }
        self.write(f, left, level, depth)?;
        write!(f, " {sign} ")?;
        // A sum on the right needs none either, since sums wrap around.
        let right_level = if op == Op::Add { level } else { level + 1 };
        self.write(f, right, right_level, depth)?;
        if wrapped {
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// `n` of `max(n - 1, 0) + 1`, which loops have that run once before they look.
fn at_least_once(expr: &Expr) -> Option<&Expr> {
    let Expr::Op(Op::Add, more, one) = expr else {
        return None;
    };
    let Expr::Op(Op::MaxS, left, none) = &**more else {
        return None;
    };
    let (Expr::Const(1), Expr::Const(0)) = (&**one, &**none) else {
        return None;
    };
    match &**left {
        Expr::Op(Op::Add, n, by) if **by == Expr::Const(-1) => Some(n),
        Expr::Op(Op::Sub, n, by) if **by == Expr::Const(1) => Some(n),
        _ => None,
    }
}

impl fmt::Display for Readable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, self.expr, 0, 0)
    }
}

/// A thread's part of a loop that is divided into equal ones, as compilers compute it:
/// `share` iterations of all, from iteration `first` on.
fn share(expr: &Expr) -> Option<(&'static str, &Expr)> {
    match plain(expr) {
        Expr::Select(condition, yes, no) => {
            let (all, more, less) = parts(condition, yes, no)?;
            let (part, one) = sum(more)?;
            let is_share = *one == Expr::Const(1) && same(part, less, 0) && quotient(less, all);
            is_share.then_some(("share", all))
        }
        Expr::Op(Op::Add, left, right) => {
            let (product, rest) = match plain(left) {
                Expr::Op(Op::Mul, ..) => (left, right),
                _ => (right, left),
            };
            let Expr::Op(Op::Mul, one, other) = plain(product) else {
                return None;
            };
            let is_thread = |expr: &Expr| *plain(expr) == Expr::Leaf(Leaf::Thread);
            let part = if is_thread(one) {
                other
            } else if is_thread(other) {
                one
            } else {
                return None;
            };
            let ("share", all) = share(part)? else {
                return None;
            };
            let Expr::Select(condition, yes, no) = plain(rest) else {
                return None;
            };
            let (of, none, rest) = parts(condition, yes, no)?;
            let is_first = same(of, all, 0)
                && *plain(none) == Expr::Const(0)
                && remainder(rest).is_some_and(|of| same(of, all, 0));
            is_first.then_some(("first", all))
        }
        _ => None,
    }
}

/// A sum without the terms that are added and subtracted in it, if there are any.
fn without_opposites(expr: &Expr) -> Option<Expr> {
    let mut sum = Sum::default();
    sum.add(expr, false, 0);
    if sum.terms.len() > TERMS_MAX {
        return None;
    }
    let mut left: Vec<(bool, &Expr)> = Vec::new();
    for &(minus, term) in &sum.terms {
        let opposite = |&(other, one): &(bool, &Expr)| other != minus && same(one, term, 0);
        match left.iter().position(opposite) {
            Some(at) => drop(left.remove(at)),
            None => left.push((minus, term)),
        }
    }
    if left.len() == sum.terms.len() {
        return None;
    }
    // Those that are added first.
    left.sort_by_key(|(minus, _)| *minus);
    let mut terms = left.into_iter();
    let first = terms.next();
    let (mut whole, constant) = match first {
        Some((false, term)) => (term.clone(), sum.constant),
        Some((true, term)) => (Expr::op(Op::Sub, sum.constant.into(), term.clone()), 0),
        None => (sum.constant.into(), 0),
    };
    for (minus, term) in terms {
        let op = if minus { Op::Sub } else { Op::Add };
        whole = Expr::op(op, whole, term.clone());
    }
    if constant != 0 {
        whole = Expr::op(Op::Add, whole, constant.into());
    }
    Some(whole)
}

/// Terms of a sum, each with whether it is subtracted.
#[derive(Default)]
struct Sum<'e> {
    terms: Vec<(bool, &'e Expr)>,
    constant: i64,
}

impl<'e> Sum<'e> {
    fn add(&mut self, expr: &'e Expr, minus: bool, depth: u32) {
        match plain(expr) {
            Expr::Op(op @ (Op::Add | Op::Sub), left, right)
                if depth < DEPTH_MAX && self.terms.len() <= TERMS_MAX =>
            {
                self.add(left, minus, depth + 1);
                self.add(right, minus != (*op == Op::Sub), depth + 1);
            }
            Expr::Const(value) if minus => self.constant = self.constant.wrapping_sub(*value),
            Expr::Const(value) => self.constant = self.constant.wrapping_add(*value),
            term => self.terms.push((minus, term)),
        }
    }
}

/// Without extensions around it.
fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Op(Op::SignExtend | Op::ZeroExtend, inner, _) => plain(inner),
        expr => expr,
    }
}

/// `all` of `thread < all % threads`, then what is chosen if that holds, and if not.
fn parts<'e>(
    condition: &'e Expr,
    yes: &'e Expr,
    no: &'e Expr,
) -> Option<(&'e Expr, &'e Expr, &'e Expr)> {
    let is_thread = |expr: &Expr| *plain(expr) == Expr::Leaf(Leaf::Thread);
    match plain(condition) {
        Expr::Op(Op::LtS | Op::LtU, thread, rest) if is_thread(thread) => {
            Some((remainder(rest)?, yes, no))
        }
        Expr::Op(Op::LeS | Op::LeU, rest, thread) if is_thread(thread) => {
            Some((remainder(rest)?, no, yes))
        }
        _ => None,
    }
}

/// `all` of `all % threads`.
fn remainder(expr: &Expr) -> Option<&Expr> {
    match plain(expr) {
        Expr::Op(Op::RemS | Op::RemU, all, threads)
            if *plain(threads) == Expr::Leaf(Leaf::Threads) =>
        {
            Some(all)
        }
        _ => None,
    }
}

fn quotient(expr: &Expr, of: &Expr) -> bool {
    match plain(expr) {
        Expr::Op(Op::DivS | Op::DivU, all, threads) => {
            *plain(threads) == Expr::Leaf(Leaf::Threads) && same(all, of, 0)
        }
        _ => false,
    }
}

fn sum(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match plain(expr) {
        Expr::Op(Op::Add, left, right) => Some((left, right)),
        _ => None,
    }
}

/// Whether two expressions are the same but for extensions.
fn same(left: &Expr, right: &Expr, depth: u32) -> bool {
    let deeper = depth + 1;
    let inner = |left: &Expr, right: &Expr| same(left, right, deeper);
    depth <= DEPTH_MAX
        && match (plain(left), plain(right)) {
            (
                Expr::Load { address, bytes, .. },
                Expr::Load {
                    address: other,
                    bytes: b,
                    ..
                },
            ) => bytes == b && inner(address, other),
            (Expr::Op(op, a, b), Expr::Op(other, c, d)) => {
                op == other && inner(a, c) && inner(b, d)
            }
            (Expr::Select(a, b, c), Expr::Select(d, e, f)) => {
                inner(a, d) && inner(b, e) && inner(c, f)
            }
            (left, right) => left == right,
        }
}

const SELECT: u8 = 0;
const BITS: u8 = 1;
const COMPARISON: u8 = 2;
const SHIFT: u8 = 3;
const SUM: u8 = 4;
const PRODUCT: u8 = 5;
const ATOM: u8 = 7;

fn sign(op: Op) -> (&'static str, u8) {
    match op {
        Op::Add => ("+", SUM),
        Op::Sub => ("-", SUM),
        Op::Mul => ("*", PRODUCT),
        Op::DivS | Op::DivU => ("/", PRODUCT),
        Op::RemS | Op::RemU => ("%", PRODUCT),
        Op::And => ("&", BITS),
        Op::Or => ("|", BITS),
        Op::Xor => ("^", BITS),
        Op::Shl => ("<<", SHIFT),
        Op::ShrU | Op::ShrS => (">>", SHIFT),
        Op::Eq => ("==", COMPARISON),
        Op::Ne => ("!=", COMPARISON),
        Op::LtS | Op::LtU => ("<", COMPARISON),
        Op::LeS | Op::LeU => ("<=", COMPARISON),
        // Written otherwise above.
        Op::MinS | Op::MinU => ("min", ATOM),
        Op::MaxS | Op::MaxU => ("max", ATOM),
        Op::SignExtend | Op::ZeroExtend => ("", ATOM),
    }
}

fn write_constant(f: &mut fmt::Formatter<'_>, value: i64, around: u8) -> fmt::Result {
    if value < 0 && around > 0 {
        write!(f, "({value})")
    } else {
        write!(f, "{value}")
    }
}

fn write_leaf(f: &mut fmt::Formatter<'_>, leaf: Leaf) -> fmt::Result {
    match leaf {
        Leaf::Module(offset) => write!(f, "{offset:#x}"),
        Leaf::Chunk(ChunkEnd::Start, _) => f.write_str("chunk.start"),
        Leaf::Chunk(ChunkEnd::End, _) => f.write_str("chunk.end"),
        leaf => write!(f, "{leaf}"),
    }
}

impl Body {
    /// What its debugging information calls an expression.
    #[must_use]
    pub fn name_of(&self, expr: &Expr) -> Option<&str> {
        // Constants and plain leaves are no variables.
        if matches!(
            expr,
            Expr::Const(_) | Expr::Leaf(Leaf::Threads | Leaf::Thread | Leaf::Data)
        ) {
            return None;
        }
        let named = self.names.iter().find(|(known, _)| known == expr);
        let based = || {
            self.accesses.iter().find_map(|access| {
                let name = access.base.name.as_deref()?;
                let is_base = access.base.expr.as_ref() == Some(expr);
                // A variable that is read where the expression reads.
                let is_read = match (expr, access.address.known()) {
                    (Expr::Load { address, bytes, .. }, Some(found)) => {
                        u32::from(*bytes) == access.bytes
                            && found.strides.is_empty()
                            && found.start == **address
                    }
                    _ => false,
                };
                (is_base || is_read).then_some(name)
            })
        };
        named.map(|(_, name)| name.as_str()).or_else(based)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(text: &str) -> String {
        let expr: Expr = text.parse().unwrap();
        let named: Expr = "(load4 (+ data 8))".parse().unwrap();
        Readable::new(&expr, &|part| (*part == named).then(|| "n".to_owned())).to_string()
    }

    #[test]
    fn expressions_read_as_one_writes_them() {
        for (text, expected) in [
            (
                "(/ (+ (load4 (+ data 8)) (- threads 1)) threads)",
                "(n + threads - 1) / threads",
            ),
            ("(- 1 (- 2 i0))", "1 - (2 - i0)"),
            ("(+ (sx (load4 (+ data 8)) 32) -1)", "n - 1"),
            ("(* (<< i1 3) (+ i0 1))", "i1 * 8 * (i0 + 1)"),
            ("(load8 (+ (load8 data) 16))", "data[0][16]"),
            ("(load4 module+0x4010)", "word32@0x4010"),
            ("(load8 (+ (load8 data) (* 8 i0)))", "*(data[0] + 8 * i0)"),
            ("(min 4 (max i0 -1))", "min(4, max(i0, -1))"),
            ("(+ (max (+ i0 -1) 0) 1)", "max(i0, 1)"),
            (
                "(if (< thread 1) 7 (* -3 i0))",
                "(thread < 1 ? 7 : (-3) * i0)",
            ),
            (
                "(if (< thread (% (load4 (+ data 8)) threads)) (sx (+ (/ (load4 (+ data 8)) threads) 1) 32) (/ (load4 (+ data 8)) threads))",
                "share(n)",
            ),
            (
                "(if (<= (% 9 threads) thread) (/ 9 threads) (+ (/ 9 threads) 1))",
                "share(9)",
            ),
            (
                "(+ (* thread (if (< thread (% 9 threads)) (+ (/ 9 threads) 1) (/ 9 threads))) (if (< thread (% 9 threads)) 0 (% 9 threads)))",
                "first(9)",
            ),
            ("(/ i0 (* 2 i1))", "i0 / (2 * i1)"),
            ("(- (+ i0 1) i0)", "1"),
            ("(+ (- i1 (+ i0 2)) i0)", "i1 - 2"),
            ("(- 3 (- (+ i1 i0) (sx i0 32)))", "3 - i1"),
            (
                "(* 8 (- (load4 (+ data 8)) (- (load4 (+ data 8)) i0)))",
                "8 * i0",
            ),
            ("(- i0 -9223372036854775808)", "i0 - (-9223372036854775808)"),
        ] {
            assert_eq!(readable(text), expected, "{text}");
        }
    }

    #[test]
    fn deep_expressions_end_somewhere() {
        let mut expr = Expr::Leaf(Leaf::Thread);
        for _ in 0..200 {
            expr = Expr::Op(Op::Add, Box::new(expr), Box::new(Expr::Leaf(Leaf::Threads)));
        }
        let text = Readable::new(&expr, &|_| None).to_string();
        assert!(text.starts_with("..."), "{text}");
    }
}
