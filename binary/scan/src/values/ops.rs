//! Operations on values, simplified as far as that is cheap.

use super::{FACTORS_MAX, Node, TERMS_MAX, Term, Value, Values};
use fathomp_regions::{ChunkEnd, Leaf, Op};

impl Values {
    /// The sum of terms in any order.
    pub(crate) fn sum(&mut self, mut terms: Vec<Term>) -> Value {
        terms.sort_by(|left, right| left.factors.cmp(&right.factors));
        let mut merged: Vec<Term> = Vec::with_capacity(terms.len());
        for term in terms {
            match merged.last_mut() {
                Some(last) if last.factors == term.factors => {
                    last.coefficient = last.coefficient.wrapping_add(term.coefficient);
                }
                _ => merged.push(term),
            }
        }
        merged.retain(|term| term.coefficient != 0);
        if let [only] = &*merged
            && only.coefficient == 1
            && let [atom] = &*only.factors
        {
            return *atom;
        }
        self.intern(Node::Sum(merged.into()))
    }

    pub(crate) fn add(&mut self, left: Value, right: Value) -> Value {
        let mut terms = self.terms(left);
        terms.extend(self.terms(right));
        if terms.len() > TERMS_MAX {
            return self.intern(Node::Op(Op::Add, left, right));
        }
        self.sum(terms)
    }

    pub(crate) fn sub(&mut self, left: Value, right: Value) -> Value {
        let right = self.scale(right, -1);
        self.add(left, right)
    }

    pub(crate) fn scale(&mut self, value: Value, by: i64) -> Value {
        let mut terms = self.terms(value);
        for term in &mut terms {
            term.coefficient = term.coefficient.wrapping_mul(by);
        }
        self.sum(terms)
    }

    pub(crate) fn offset(&mut self, value: Value, by: i64) -> Value {
        let by = self.constant(by);
        self.add(value, by)
    }

    pub(crate) fn mul(&mut self, left: Value, right: Value) -> Value {
        let (a, b) = (self.terms(left), self.terms(right));
        let widest = |terms: &[Term]| terms.iter().map(|t| t.factors.len()).max().unwrap_or(0);
        if a.len() * b.len() > TERMS_MAX || widest(&a) + widest(&b) > FACTORS_MAX {
            let (left, right) = (left.min(right), left.max(right));
            return self.intern(Node::Op(Op::Mul, left, right));
        }
        let mut terms = Vec::with_capacity(a.len() * b.len());
        for x in &a {
            for y in &b {
                let mut factors: Vec<Value> =
                    x.factors.iter().chain(&*y.factors).copied().collect();
                factors.sort_unstable();
                terms.push(Term {
                    factors: factors.into(),
                    coefficient: x.coefficient.wrapping_mul(y.coefficient),
                });
            }
        }
        self.sum(terms)
    }

    /// A value divided by a constant, if all its terms are multiples of it.
    pub(crate) fn exact_quotient(&mut self, value: Value, by: i64) -> Option<Value> {
        if by == 0 {
            return None;
        }
        let mut terms = self.terms(value);
        for term in &mut terms {
            if term.coefficient.checked_rem(by)? != 0 {
                return None;
            }
            term.coefficient /= by;
        }
        Some(self.sum(terms))
    }

    /// A value divided by another one, if that leaves nothing over whatever both are.
    pub(crate) fn exact_quotient_by(&mut self, value: Value, by: Value) -> Option<Value> {
        if let Some(by) = self.as_constant(by) {
            return self.exact_quotient(value, by);
        }
        // By a single product, whose factors all terms have.
        let divisor = self.terms(by);
        let [divisor] = &*divisor else {
            return (value == by).then(|| self.constant(1));
        };
        let mut terms = self.terms(value);
        for term in &mut terms {
            if term.coefficient.checked_rem(divisor.coefficient)? != 0 {
                return None;
            }
            term.coefficient /= divisor.coefficient;
            let mut factors = term.factors.to_vec();
            for factor in &*divisor.factors {
                let at = factors.iter().position(|known| known == factor)?;
                factors.remove(at);
            }
            term.factors = factors.into();
        }
        Some(self.sum(terms))
    }

    pub(crate) fn op(&mut self, op: Op, left: Value, right: Value) -> Value {
        let (a, b) = (self.as_constant(left), self.as_constant(right));
        if let (Some(a), Some(b)) = (a, b)
            && let Some(value) = op.apply(a, b)
        {
            return self.constant(value);
        }
        match (op, b) {
            (Op::Add, _) => return self.add(left, right),
            (Op::Sub, _) => return self.sub(left, right),
            (Op::Mul, _) => return self.mul(left, right),
            (Op::Shl, Some(by)) => return self.scale(left, 1_i64.wrapping_shl(by as u32 & 63)),
            (Op::ShrS | Op::ShrU, Some(by)) if (0..62).contains(&by) => {
                if let Some(quotient) = self.exact_quotient(left, 1 << by) {
                    return quotient;
                }
            }
            (Op::DivS | Op::DivU, Some(by)) if by > 0 => {
                if let Some(quotient) = self.exact_quotient(left, by) {
                    return quotient;
                }
            }
            (Op::And, Some(0)) => return right,
            (Op::And, Some(-1)) | (Op::Or | Op::Xor, Some(0)) => return left,
            _ => {}
        }
        if matches!(op, Op::MinS | Op::MinU) {
            if self.at_most.contains(&(left, right)) {
                return left;
            }
            if self.at_most.contains(&(right, left)) {
                return right;
            }
        }
        if left == right {
            match op {
                Op::And | Op::Or | Op::MinS | Op::MaxS | Op::MinU | Op::MaxU => return left,
                Op::Xor | Op::Ne | Op::LtS | Op::LtU => return self.constant(0),
                Op::Eq | Op::LeS | Op::LeU => return self.constant(1),
                _ => {}
            }
        }
        if matches!(op, Op::And | Op::Or | Op::Xor) && a.is_some() && b.is_none() {
            return self.op(op, right, left);
        }
        if let Some(decided) = self.decide(op, left, right) {
            return self.constant(i64::from(decided));
        }
        // The opposite of a comparison, and a comparison that is tested again.
        if let (Op::Eq | Op::Ne, Some(0)) = (op, b)
            && self.is_condition(left)
        {
            return if op == Op::Ne { left } else { self.not(left) };
        }
        self.intern(Node::Op(op, left, right))
    }

    /// A comparison of values that differ by a constant only.
    fn decide(&mut self, op: Op, left: Value, right: Value) -> Option<bool> {
        if !matches!(op, Op::Eq | Op::Ne | Op::LtS | Op::LeS) {
            return None;
        }
        let difference = self.sub(left, right);
        let constant = self.as_constant(difference);
        let Some(difference) = constant else {
            // Shares of threads begin and end at 0 or behind it.
            let negative = self.scale(difference, -1);
            return match op {
                Op::LeS if self.is_share(negative) => Some(true),
                Op::LtS if self.is_share(difference) => Some(false),
                _ => None,
            };
        };
        Some(match op {
            Op::Eq => difference == 0,
            Op::Ne => difference != 0,
            Op::LtS => difference < 0,
            _ => difference <= 0,
        })
    }

    /// Whether a value is a bound of a thread's share of iterations that cannot be negative:
    /// something of the thread's number or of a chunk, with nothing taken away. Numbers of
    /// iterations in memory are taken not to be negative.
    fn is_share(&self, value: Value) -> bool {
        let mut shared = false;
        self.walk(value, &mut |_, node| {
            shared |= matches!(
                node,
                Node::Leaf(Leaf::Thread) | Node::Chunk(ChunkEnd::Start, ..)
            );
        });
        shared && self.is_count(value, true, 0)
    }

    fn is_count(&self, value: Value, strict: bool, depth: usize) -> bool {
        if depth > 12 {
            return false;
        }
        let exactly = |value: &Value| self.is_count(*value, true, depth + 1);
        // Of what is divided, a constant that is taken away is not looked at.
        let about = |value: &Value| self.is_count(*value, false, depth + 1);
        match self.node(value) {
            Node::Sum(terms) => terms.iter().all(|term| {
                (term.coefficient > 0 || term.factors.is_empty() && !strict)
                    && term.factors.iter().all(exactly)
            }),
            Node::Leaf(Leaf::Thread | Leaf::Threads | Leaf::Iteration(_))
            | Node::Chunk(ChunkEnd::Start, ..)
            | Node::Load { .. } => true,
            Node::Op(
                Op::DivS | Op::DivU | Op::RemS | Op::RemU | Op::ShrS | Op::ShrU,
                left,
                right,
            ) => about(left) && exactly(right),
            Node::Op(Op::MaxS, left, right) => exactly(left) || exactly(right),
            Node::Op(Op::MinS, left, right) => exactly(left) && exactly(right),
            Node::Select(_, yes, no) => exactly(yes) && exactly(no),
            _ => false,
        }
    }

    /// Whether a value is 0 or 1 as the answer of a comparison.
    pub(crate) fn is_condition(&self, value: Value) -> bool {
        match *self.node(value) {
            Node::Op(Op::Eq | Op::Ne | Op::LtS | Op::LeS | Op::LtU | Op::LeU, ..) => true,
            Node::Op(Op::And | Op::Or, left, right) => {
                self.is_condition(left) && self.is_condition(right)
            }
            _ => matches!(self.as_constant(value), Some(0 | 1)),
        }
    }

    /// The opposite of a condition.
    pub(crate) fn not(&mut self, condition: Value) -> Value {
        if let Some(constant) = self.as_constant(condition) {
            return self.constant(i64::from(constant == 0));
        }
        match *self.node(condition) {
            Node::Op(Op::Eq, a, b) => self.intern(Node::Op(Op::Ne, a, b)),
            Node::Op(Op::Ne, a, b) => self.intern(Node::Op(Op::Eq, a, b)),
            Node::Op(Op::LtS, a, b) => self.intern(Node::Op(Op::LeS, b, a)),
            Node::Op(Op::LeS, a, b) => self.intern(Node::Op(Op::LtS, b, a)),
            Node::Op(Op::LtU, a, b) => self.intern(Node::Op(Op::LeU, b, a)),
            Node::Op(Op::LeU, a, b) => self.intern(Node::Op(Op::LtU, b, a)),
            _ => {
                let zero = self.constant(0);
                self.intern(Node::Op(Op::Eq, condition, zero))
            }
        }
    }

    pub(crate) fn select(&mut self, condition: Value, yes: Value, no: Value) -> Value {
        if yes == no {
            return yes;
        }
        if let Some(constant) = self.as_constant(condition) {
            return if constant == 0 { no } else { yes };
        }
        if let Node::Op(op, a, b) = *self.node(condition) {
            let (least, most) = match op {
                Op::LtS | Op::LeS => (Op::MinS, Op::MaxS),
                Op::LtU | Op::LeU => (Op::MinU, Op::MaxU),
                // `a != b ? x : y` reads better, and meets its like, the other way round.
                Op::Ne => {
                    let equal = self.not(condition);
                    return self.select(equal, no, yes);
                }
                _ => return self.intern(Node::Select(condition, yes, no)),
            };
            if (yes, no) == (a, b) {
                return self.op(least, a, b);
            }
            if (yes, no) == (b, a) {
                return self.op(most, a, b);
            }
        }
        self.intern(Node::Select(condition, yes, no))
    }

    /// A value as a polynomial of one of its parts, up to the first power: what does not
    /// depend on it, and the factor of it. None if it occurs otherwise.
    pub(crate) fn linear(&mut self, value: Value, part: Value) -> Option<(Value, Value)> {
        let mut rest = Vec::new();
        let mut factor = Vec::new();
        for mut term in self.terms(value) {
            let times = term.factors.iter().filter(|known| **known == part).count();
            if term
                .factors
                .iter()
                .any(|known| *known != part && self.contains(*known, part))
            {
                return None;
            }
            match times {
                0 => rest.push(term),
                1 => {
                    term.factors = term
                        .factors
                        .iter()
                        .copied()
                        .filter(|f| *f != part)
                        .collect();
                    factor.push(term);
                }
                _ => return None,
            }
        }
        Some((self.sum(rest), self.sum(factor)))
    }

    /// Whether a value is part of another one.
    pub(crate) fn contains(&self, value: Value, part: Value) -> bool {
        // What is part of something was made before it.
        if part > value {
            return false;
        }
        let mut found = false;
        self.walk(value, &mut |inner, _| found |= inner == part);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_have_one_form() {
        let mut values = Values::new();
        let (n, t) = (values.leaf(Leaf::Data), values.leaf(Leaf::Thread));
        let a = values.add(n, t);
        let square = values.mul(a, a);
        let (nn, tt, nt) = (values.mul(n, n), values.mul(t, t), values.mul(t, n));
        let twice = values.scale(nt, 2);
        let expanded = values.add(nn, tt);
        let expanded = values.add(twice, expanded);
        assert_eq!(square, expanded);
        let none = values.sub(square, expanded);
        assert_eq!(values.as_constant(none), Some(0));
        let (rest, factor) = values.linear(a, t).unwrap();
        assert_eq!((rest, values.as_constant(factor)), (n, Some(1)));
        assert!(values.linear(square, t).is_none());
        let eight = values.scale(a, 8);
        let three = values.constant(3);
        assert_eq!(values.op(Op::ShrS, eight, three), a);
        assert_eq!(values.exact_quotient_by(nt, t), Some(n));
    }

    #[test]
    fn choices_become_minima() {
        let mut values = Values::new();
        let (n, t) = (values.leaf(Leaf::Data), values.leaf(Leaf::Thread));
        let less = values.op(Op::LtS, n, t);
        let min = values.select(less, n, t);
        assert_eq!(min, values.op(Op::MinS, n, t));
        let more = values.not(less);
        let max = values.select(more, n, t);
        assert_eq!(*values.node(max), Node::Op(Op::MaxS, t, n));
    }
}
