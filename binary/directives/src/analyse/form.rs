//! How an expression depends on the loops around it.

use super::assigned::PART;
use super::{EnclosingLoop, Walker};
use crate::ast::{Binary, Expr, ExprKind, Unary};
use crate::text::directive::squeeze;
use std::collections::BTreeMap;

/// A value as a sum over loops: each one's variable times a factor, a constant, and parts
/// that are the same in every iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Form {
    /// Factors by loop; of what is irregular, the loops that it is known to depend on.
    pub(super) factors: BTreeMap<usize, Factor>,
    /// What is added to them.
    pub(super) constant: i64,
    /// What else is added and does not vary, as written.
    pub(super) invariant: Option<String>,
    /// Whether it varies in another way.
    pub(super) irregular: bool,
}

/// What a loop's variable is multiplied with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Factor {
    /// A constant.
    Constant(i64),
    /// A value that does not vary, as written.
    Symbolic(String),
}

/// Functions whose values depend on their arguments alone, or on the thread.
const PURE: [&str; 16] = [
    "min", "max", "MIN", "MAX", "std::min", "std::max", "abs", "mod", "int", "nint", "floor",
    "ceil", "size", "ubound", "lbound", "ishft",
];

impl Form {
    /// A constant.
    pub(super) fn constant(value: i64) -> Self {
        Self {
            constant: value,
            ..Self::default()
        }
    }

    /// Something that does not vary.
    pub(super) fn invariant(text: impl Into<String>) -> Self {
        Self {
            invariant: Some(text.into()),
            ..Self::default()
        }
    }

    /// The variable of a loop.
    pub(super) fn variable(index: usize) -> Self {
        Self {
            factors: BTreeMap::from([(index, Factor::Constant(1))]),
            ..Self::default()
        }
    }

    /// Something that varies with these loops, nobody knows how.
    pub(super) fn irregular<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let loops = parts.into_iter().flat_map(|part| part.factors.keys());
        Self {
            factors: loops.map(|index| (*index, Factor::Constant(0))).collect(),
            irregular: true,
            ..Self::default()
        }
    }

    /// Its value, if that is a constant.
    pub(super) fn value(&self) -> Option<i64> {
        let plain = self.factors.is_empty() && self.invariant.is_none() && !self.irregular;
        plain.then_some(self.constant)
    }

    /// Whether it varies with a loop.
    pub(super) fn varies(&self) -> bool {
        self.irregular || !self.factors.is_empty()
    }

    fn add(self, other: Self, sign: i64) -> Self {
        if self.irregular || other.irregular {
            return Self::irregular([&self, &other]);
        }
        let mut sum = self;
        for (index, factor) in other.factors {
            let factor = if sign < 0 { factor.scaled(-1) } else { factor };
            let merged = match (sum.factors.remove(&index), factor) {
                (None, factor) => factor,
                (Some(Factor::Constant(left)), Factor::Constant(right)) => {
                    Factor::Constant(left.saturating_add(right))
                }
                (Some(left), right) => {
                    Factor::Symbolic(format!("{} + {}", left.text(), right.text()))
                }
            };
            if merged != Factor::Constant(0) {
                sum.factors.insert(index, merged);
            }
        }
        sum.constant = sum
            .constant
            .saturating_add(other.constant.saturating_mul(sign));
        sum.invariant = match (sum.invariant, other.invariant) {
            (Some(left), Some(right)) => Some(format!(
                "{left} {} {right}",
                if sign < 0 { '-' } else { '+' }
            )),
            (None, Some(right)) if sign < 0 => Some(format!("-{}", grouped(&right))),
            (left, right) => left.or(right),
        };
        sum
    }

    fn scaled(self, by: i64) -> Self {
        if by == 0 && !self.irregular {
            return Self::constant(0);
        }
        Self {
            factors: self
                .factors
                .into_iter()
                .map(|(index, factor)| (index, factor.scaled(by)))
                .collect(),
            constant: self.constant.saturating_mul(by),
            invariant: self.invariant.map(|text| {
                if by == 1 {
                    text
                } else {
                    format!("{by} * {}", grouped(&text))
                }
            }),
            irregular: self.irregular,
        }
    }

    /// The product with something that does not vary; `text` is how that is written.
    fn times(self, text: &str) -> Self {
        let factors = self.factors.into_iter().map(|(index, factor)| {
            let factor = match factor {
                Factor::Constant(1) => text.to_owned(),
                factor => format!("{} * {}", factor.text(), grouped(text)),
            };
            (index, Factor::Symbolic(factor))
        });
        Self {
            factors: factors.collect(),
            constant: 0,
            invariant: (self.constant != 0 || self.invariant.is_some()).then(|| text.to_owned()),
            irregular: self.irregular,
        }
    }

    fn multiply(self, other: Self, texts: [&str; 2]) -> Self {
        if let Some(value) = self.value() {
            return other.scaled(value);
        }
        if let Some(value) = other.value() {
            return self.scaled(value);
        }
        match (self.varies(), other.varies()) {
            (true, true) => Self::irregular([&self, &other]),
            (true, false) => self.times(texts[1]),
            (false, true) => other.times(texts[0]),
            (false, false) => {
                Self::invariant(format!("{} * {}", grouped(texts[0]), grouped(texts[1])))
            }
        }
    }
}

impl Factor {
    fn scaled(self, by: i64) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(value.saturating_mul(by)),
            Self::Symbolic(text) if by == 1 => Self::Symbolic(text),
            Self::Symbolic(text) => Self::Symbolic(format!("{by} * {}", grouped(&text))),
        }
    }

    /// As one would write it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Constant(value) => value.to_string(),
            Self::Symbolic(text) => text.clone(),
        }
    }
}

/// A text in parentheses unless it is one word or has some.
fn grouped(text: &str) -> String {
    let one = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%');
    let wrapped = text.starts_with('(') && text.ends_with(')');
    if wrapped || text.chars().all(one) {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

impl Walker<'_> {
    /// How an expression depends on the loops around this place.
    pub(super) fn form(&self, expr: &Expr) -> Form {
        match &expr.kind {
            ExprKind::Integer(value) => Form::constant(*value),
            ExprKind::Name(name) => self.form_of_name(name),
            ExprKind::Cast(inner) | ExprKind::Unary(Unary::Plus, inner) => self.form(inner),
            ExprKind::Unary(Unary::Minus, inner) => self.form(inner).scaled(-1),
            ExprKind::Binary(operator, left, right) => {
                let (l, r) = (self.form(left), self.form(right));
                self.form_of_binary(*operator, (l, left), (r, right))
                    .unwrap_or_else(|| self.form_of_other(expr))
            }
            ExprKind::Assign(None, _, right) => self.form(right),
            ExprKind::Several(parts) => match parts.last() {
                Some(last) => self.form(last),
                None => Form::irregular([]),
            },
            ExprKind::Update(..) | ExprKind::Assign(..) | ExprKind::Statements(_) => {
                Form::irregular([])
            }
            _ => self.form_of_other(expr),
        }
    }

    fn form_of_binary(
        &self,
        operator: Binary,
        (l, left): (Form, &Expr),
        (r, right): (Form, &Expr),
    ) -> Option<Form> {
        Some(match operator {
            Binary::Add => l.add(r, 1),
            Binary::Subtract => l.add(r, -1),
            Binary::Multiply => {
                let texts = [self.squeezed(left), self.squeezed(right)];
                l.multiply(r, [&texts[0], &texts[1]])
            }
            Binary::ShiftLeft => {
                let by = u32::try_from(r.value()?).ok().filter(|by| *by < 63)?;
                l.scaled(1 << by)
            }
            Binary::Divide => Form::constant(l.value()?.checked_div(r.value()?)?),
            Binary::Remainder => Form::constant(l.value()?.checked_rem(r.value()?)?),
            Binary::ShiftRight => {
                let by = u32::try_from(r.value()?).ok()?;
                Form::constant(l.value()?.checked_shr(by)?)
            }
            Binary::Power => {
                let power = u32::try_from(r.value()?).ok()?;
                Form::constant(l.value()?.checked_pow(power)?)
            }
            Binary::Compare(_) | Binary::Other => return None,
        })
    }

    fn form_of_name(&self, name: &str) -> Form {
        let own = self.loops.iter().rev();
        if let Some(around) = own
            .clone()
            .find(|one| one.variable.as_deref() == Some(name))
        {
            return match around.index {
                Some(index) => Form::variable(index),
                None => Form::invariant(name),
            };
        }
        if let Some(known) = self.values.get(name) {
            return known.clone();
        }
        if let Some(value) = self.constant(name) {
            return Form::constant(value);
        }
        self.changing(name, "")
            .unwrap_or_else(|| Form::invariant(name))
    }

    /// The form of a name that loops around this place change, or parts of which they do.
    fn changing(&self, name: &str, part: &str) -> Option<Form> {
        let part = format!("{name}{part}");
        let changes =
            |one: &&EnclosingLoop| one.assigned.contains(name) || one.assigned.contains(&part);
        let changing = self.loops.iter().filter(changes);
        let forms: Vec<Form> = changing
            .filter_map(|one| one.index)
            .map(Form::variable)
            .collect();
        (!forms.is_empty()).then(|| Form::irregular(&forms))
    }

    /// What is neither a name nor a sum: the same in every iteration if all its parts are.
    fn form_of_other(&self, expr: &Expr) -> Form {
        let mut forms = Vec::new();
        let mut known = true;
        match &expr.kind {
            ExprKind::Call(function, arguments) => {
                let name = self.squeezed(function);
                let is_array = self.is_array(function);
                let is_pure = PURE.contains(&name.as_str()) || name.starts_with("omp_get_");
                let is_getter =
                    arguments.is_empty() && matches!(function.kind, ExprKind::Member(..));
                known = is_array || is_pure || is_getter;
                forms.extend(arguments.iter().map(|argument| self.form(argument)));
                if let Some(root) = root(function).filter(|_| is_array) {
                    forms.extend(self.changing(root, PART));
                }
            }
            _ => {
                if let Some(root) = root(expr) {
                    forms.extend(self.changing(root, PART));
                }
                let mut parts = Vec::new();
                expr.children(&mut |part| parts.push(part));
                forms.extend(parts.into_iter().map(|part| self.form(part)));
            }
        }
        if known && forms.iter().all(|form| !form.varies()) {
            Form::invariant(self.squeezed(expr))
        } else {
            Form::irregular(&forms)
        }
    }

    /// An expression as written, on one line.
    pub(super) fn squeezed(&self, expr: &Expr) -> String {
        const LONG: usize = 200;
        let text = self.lowering.text(expr.span);
        if text.len() <= LONG {
            return squeeze(text);
        }
        let short: String = text.chars().take(LONG).collect();
        squeeze(&short) + "..."
    }
}

/// The name at the root of a path.
pub(super) fn root(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Member(inner, ..)
        | ExprKind::Subscript(inner, _)
        | ExprKind::Call(inner, _)
        | ExprKind::Cast(inner)
        | ExprKind::Dereference(inner)
        | ExprKind::AddressOf(inner) => root(inner),
        _ => None,
    }
}
