//! Which names statements change.

use super::form::root;
use crate::ast::{Declaration, Expr, ExprKind, Header, Stmt, StmtKind};
use std::collections::HashSet;

/// Names that are changed; those of which an element or a part is have [`PART`] behind
/// them. With `by_reference`, what is handed to a called subroutine is changed, too.
pub(super) fn names(body: &[Stmt], by_reference: bool) -> HashSet<String> {
    let mut gathering = Gathering {
        found: HashSet::new(),
        by_reference,
    };
    gathering.statements(body);
    gathering.found
}

/// The same for an expression that is a statement.
pub(super) fn names_in(expr: &Expr, by_reference: bool) -> HashSet<String> {
    let mut gathering = Gathering {
        found: HashSet::new(),
        by_reference,
    };
    gathering.top(expr);
    gathering.found
}

/// Behind names of which a part is changed.
pub(super) const PART: &str = "[]";

struct Gathering {
    found: HashSet<String>,
    by_reference: bool,
}

impl Gathering {
    fn statements(&mut self, body: &[Stmt]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Block(inner) | StmtKind::Directive(_, inner) => self.statements(inner),
                StmtKind::Choice(conditions, parts) => {
                    conditions.iter().for_each(|one| self.expr(one));
                    self.statements(parts);
                }
                StmtKind::Expr(expr) => self.top(expr),
                StmtKind::Declare(declared) => self.declared(declared),
                StmtKind::Loop(one) => {
                    match &one.header {
                        Header::For {
                            declared,
                            first,
                            condition,
                            update,
                        } => {
                            self.declared(declared);
                            let parts = [first, condition, update];
                            parts.into_iter().flatten().for_each(|part| self.expr(part));
                        }
                        Header::Do { variable, .. } => {
                            self.found.insert(variable.clone());
                        }
                        Header::Range(declared, over) => {
                            self.declared(declared);
                            self.expr(over);
                        }
                        Header::While(condition) => {
                            condition.iter().for_each(|one| self.expr(one));
                        }
                    }
                    self.statements(&one.body);
                }
            }
        }
    }

    fn declared(&mut self, declared: &[Declaration]) {
        for one in declared {
            self.found.insert(one.name.clone());
            one.value.iter().for_each(|value| self.expr(value));
        }
    }

    fn top(&mut self, expr: &Expr) {
        if let ExprKind::Call(_, arguments) = &expr.kind
            && self.by_reference
        {
            arguments.iter().for_each(|argument| self.target(argument));
        }
        self.expr(expr);
    }

    fn target(&mut self, target: &Expr) {
        if let Some(root) = root(target) {
            let whole = matches!(target.plain().kind, ExprKind::Name(_));
            self.found
                .insert(format!("{root}{}", if whole { "" } else { PART }));
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Assign(_, target, _) | ExprKind::Update(_, target) => self.target(target),
            ExprKind::Call(_, arguments) => {
                for argument in arguments {
                    if let ExprKind::AddressOf(inner) = &argument.kind {
                        self.target(inner);
                    }
                }
            }
            ExprKind::Statements(inner) => self.statements(inner),
            _ => {}
        }
        let mut parts = Vec::new();
        expr.children(&mut |part| parts.push(part));
        parts.into_iter().for_each(|part| self.expr(part));
    }
}
