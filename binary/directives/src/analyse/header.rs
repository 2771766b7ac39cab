//! Heads of loops.

use super::form::Form;
use super::{Walker, assigned};
use crate::ast::{Binary, Expr, ExprKind, Header, Loop};
use fathomp_regions::{Known, Reason, ReasonKind};
use std::collections::HashSet;

/// What a head says.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) variable: Known<String>,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) comparison: String,
    pub(super) step: String,
    pub(super) trips: Option<u64>,
    pub(super) depends_on: Vec<usize>,
}

impl Head {
    fn unknown(kind: ReasonKind, detail: &str) -> Self {
        Self {
            variable: Known::Unknown(Reason::new(kind, detail)),
            from: String::new(),
            to: String::new(),
            comparison: String::new(),
            step: String::new(),
            trips: None,
            depends_on: Vec::new(),
        }
    }
}

/// A counted loop.
struct Counted<'a> {
    variable: &'a str,
    from: &'a Expr,
    to: &'a Expr,
    comparison: &'static str,
    step: Step<'a>,
}

/// What is added to the variable.
enum Step<'a> {
    One(i64),
    By(i64, &'a Expr),
}

impl Walker<'_> {
    /// Reads a head. `changed` is what the body changes.
    pub(super) fn head(&self, one: &Loop, changed: &HashSet<String>) -> Head {
        let counted = match &one.header {
            Header::For {
                declared,
                first,
                condition,
                update,
            } => {
                let condition = condition.as_ref();
                let (Some(condition), Some(update)) = (condition, update.as_ref()) else {
                    let missing = "a part of its head is missing";
                    return Head::unknown(ReasonKind::DataDependentExit, missing);
                };
                match self.counted(condition, update) {
                    Ok((variable, comparison, to, step)) => {
                        let declared = declared.iter().find(|one| one.name == variable);
                        let from = declared.and_then(|one| one.value.as_ref());
                        let from = from.or_else(|| {
                            first
                                .as_ref()
                                .and_then(|first| first_value(first, variable))
                        });
                        let Some(from) = from else {
                            let reason = "its variable gets its first value elsewhere";
                            return Head::unknown(ReasonKind::NotAffine, reason);
                        };
                        Counted {
                            variable,
                            from,
                            to,
                            comparison,
                            step,
                        }
                    }
                    Err(reason) => return Head::unknown(ReasonKind::NotAffine, reason),
                }
            }
            Header::Do {
                variable,
                from,
                to,
                step,
            } => Counted {
                variable,
                from,
                to,
                comparison: "<=",
                step: step.as_ref().map_or(Step::One(1), |step| Step::By(1, step)),
            },
            Header::Range(..) => {
                let reason = "iterates over a container, which need not be in order of memory";
                return Head::unknown(ReasonKind::NotAffine, reason);
            }
            Header::While(_) => {
                let reason = "a `while` loop";
                return Head::unknown(ReasonKind::DataDependentExit, reason);
            }
        };
        // Fortran forbids to change a variable of `do`, and what is handed to a subroutine
        // counts as changed.
        let is_c = matches!(one.header, Header::For { .. });
        if is_c && changed.contains(counted.variable) {
            let reason = format!("`{}` changes in its body", counted.variable);
            return Head::unknown(ReasonKind::NotAffine, &reason);
        }
        if is_c && let Some(name) = changed_name(counted.to, changed) {
            let reason = format!("its bound depends on `{name}`, which changes in its body");
            return Head::unknown(ReasonKind::ChangedMemory, &reason);
        }
        self.describe(&counted)
    }

    fn describe(&self, counted: &Counted<'_>) -> Head {
        let step = match counted.step {
            Step::One(value) => Form::constant(value),
            Step::By(sign, expr) => {
                let form = self.form(expr);
                match form.value() {
                    Some(value) => Form::constant(value.saturating_mul(sign)),
                    None => form,
                }
            }
        };
        let (from, to) = (self.form(counted.from), self.form(counted.to));
        let mut depends_on: Vec<usize> = [&from, &to, &step]
            .into_iter()
            .flat_map(|form| form.factors.keys().copied())
            .collect();
        depends_on.sort_unstable();
        depends_on.dedup();
        let trips = match (from.value(), to.value(), step.value()) {
            (Some(from), Some(to), Some(step)) => trips(from, to, step, counted.comparison),
            _ => None,
        };
        // A Fortran loop that counts down has its last value below the first.
        let comparison = match (counted.comparison, step.value()) {
            ("<=", Some(step)) if step < 0 => ">=",
            (comparison, _) => comparison,
        };
        Head {
            variable: Known::Known(counted.variable.to_owned()),
            from: self.squeezed(counted.from),
            to: self.squeezed(counted.to),
            comparison: comparison.to_owned(),
            step: match counted.step {
                Step::One(value) => value.to_string(),
                Step::By(1, expr) => self.squeezed(expr),
                Step::By(_, expr) => match self.form(expr).value() {
                    Some(value) => value.saturating_neg().to_string(),
                    None => format!("-({})", self.squeezed(expr)),
                },
            },
            trips,
            depends_on,
        }
    }

    /// Variable, comparison, bound and step, or what is not canonical.
    #[allow(clippy::type_complexity)] // four parts of one head, used once
    fn counted<'e>(
        &self,
        condition: &'e Expr,
        update: &'e Expr,
    ) -> Result<(&'e str, &'static str, &'e Expr, Step<'e>), &'static str> {
        let ExprKind::Binary(Binary::Compare(sign), left, right) = &condition.plain().kind else {
            return Err("its condition is no single comparison");
        };
        let steps = steps(update);
        for (side, other, sign) in [(left, right, *sign), (right, left, mirrored(sign))] {
            let ExprKind::Name(name) = &side.plain().kind else {
                continue;
            };
            let step = steps.iter().find(|(stepped, _)| stepped == name);
            if let Some((name, step)) = step {
                if sign == "==" {
                    return Err("its condition asks for equality");
                }
                let step = match step {
                    Step::One(by) => Step::One(*by),
                    Step::By(sign, by) => Step::By(*sign, by),
                };
                return Ok((name, sign, other, step));
            }
        }
        Err("its condition and its third part share no variable")
    }
}

fn changed_name<'a>(bound: &'a Expr, changed: &HashSet<String>) -> Option<&'a str> {
    if let ExprKind::Name(name) = &bound.kind {
        return changed.contains(name).then_some(name);
    }
    let mut found = None;
    bound.children(&mut |part| {
        if found.is_none() {
            found = changed_name(part, changed);
        }
    });
    found
}

/// Variables that a third part steps, each with its step.
fn steps(update: &Expr) -> Vec<(&str, Step<'_>)> {
    let mut found = Vec::new();
    match &update.plain().kind {
        ExprKind::Several(parts) => found.extend(parts.iter().flat_map(steps)),
        ExprKind::Update(by, target) => {
            if let ExprKind::Name(name) = &target.kind {
                found.push((name.as_str(), Step::One(*by)));
            }
        }
        ExprKind::Assign(operator, target, value) => {
            let ExprKind::Name(name) = &target.kind else {
                return found;
            };
            match operator {
                Some(Binary::Add) => found.push((name, Step::By(1, value))),
                Some(Binary::Subtract) => found.push((name, Step::By(-1, value))),
                None => {
                    let is_it = |expr: &Expr| matches!(&expr.plain().kind, ExprKind::Name(other) if other == name);
                    match &value.plain().kind {
                        ExprKind::Binary(Binary::Add, left, right) if is_it(left) => {
                            found.push((name, Step::By(1, right)));
                        }
                        ExprKind::Binary(Binary::Add, left, right) if is_it(right) => {
                            found.push((name, Step::By(1, left)));
                        }
                        ExprKind::Binary(Binary::Subtract, left, right) if is_it(left) => {
                            found.push((name, Step::By(-1, right)));
                        }
                        _ => {}
                    }
                }
                Some(_) => {}
            }
        }
        _ => {}
    }
    found
}

fn first_value<'a>(first: &'a Expr, variable: &str) -> Option<&'a Expr> {
    match &first.kind {
        ExprKind::Several(parts) => parts.iter().find_map(|part| first_value(part, variable)),
        ExprKind::Assign(None, target, value) => match &target.kind {
            ExprKind::Name(name) if name == variable => Some(value),
            // `a = b = 0`
            _ => first_value(value, variable),
        },
        _ => None,
    }
}

fn mirrored(sign: &'static str) -> &'static str {
    match sign {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        same => same,
    }
}

/// Iterations of a loop with constants in its head; none if it does not end by counting.
fn trips(from: i64, to: i64, step: i64, comparison: &str) -> Option<u64> {
    let (from, to, step) = (i128::from(from), i128::from(to), i128::from(step));
    let distance = match comparison {
        "<" if step > 0 => to - from,
        "<=" if step > 0 => to - from + 1,
        ">" if step < 0 => from - to,
        ">=" | "<=" if step < 0 => from - to + 1,
        "!=" if step != 0 && (to - from) % step == 0 && (to - from) / step >= 0 => {
            return u64::try_from((to - from) / step).ok();
        }
        _ => return None,
    };
    let by = step.abs();
    u64::try_from(((distance + by - 1) / by).max(0)).ok()
}

/// Names that a head changes besides the loop's own variable.
pub(super) fn also_changed(header: &Header, by_reference: bool) -> HashSet<String> {
    match header {
        Header::For {
            update: Some(update),
            ..
        } => assigned::names_in(update, by_reference),
        Header::While(Some(condition)) => assigned::names_in(condition, by_reference),
        _ => HashSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::trips;

    #[test]
    fn iterations_are_counted_as_the_languages_do() {
        assert_eq!(trips(0, 10, 1, "<"), Some(10));
        assert_eq!(trips(0, 10, 3, "<"), Some(4));
        assert_eq!(trips(1, 10, 3, "<="), Some(4));
        assert_eq!(trips(10, 0, -1, ">="), Some(11));
        assert_eq!(trips(10, 1, -3, "<="), Some(4));
        assert_eq!(trips(5, 0, 1, "<"), Some(0));
        assert_eq!(trips(0, 10, 2, "!="), Some(5));
        assert_eq!(trips(0, 10, 3, "!="), None);
        assert_eq!(trips(0, 10, -1, "<"), None);
        assert_eq!(trips(i64::MIN, i64::MAX, 1, "<"), Some(u64::MAX));
    }
}
