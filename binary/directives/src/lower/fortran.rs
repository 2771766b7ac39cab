//! Program units and statements of Fortran.

use super::Lowering;
use super::fortran_declare::{DECLARING, merge};
use crate::ast::{Declaration, Expr, ExprKind, Function, Header, Loop, Stmt, StmtKind, Unit};
use crate::text::directive::{self, Applies};
use crate::tree::{child_of_kind, named};
use std::collections::HashSet;
use tree_sitter::{Node, Tree};

/// Lowers a file.
pub(crate) fn unit(lowering: &mut Lowering<'_>, tree: &Tree) -> Unit {
    let mut unit = Unit::default();
    // With what each unit inherits from the one around it.
    let mut open: Vec<(Node<'_>, Vec<Declaration>)> = vec![(tree.root_node(), Vec::new())];
    while let Some((node, inherited)) = open.pop() {
        match node.kind() {
            "program" | "subroutine" | "function" | "module_procedure" => {
                let (function, inner) = lowering.f_function(node, &inherited, &mut unit);
                let declared = function.declared.clone();
                unit.functions.push(function);
                open.extend(inner.into_iter().rev().map(|one| (one, declared.clone())));
            }
            "module" | "submodule" => {
                let mut declared = Vec::new();
                let mut inner = Vec::new();
                for part in named(node) {
                    match part.kind() {
                        "internal_procedures" => inner.push(part),
                        "derived_type_definition" => {
                            unit.types.extend(lowering.f_components(part));
                        }
                        _ => lowering.f_declare(part, &mut declared),
                    }
                }
                unit.globals.extend(declared);
                open.extend(inner.into_iter().rev().map(|one| (one, Vec::new())));
            }
            "interface" => {}
            kind if DECLARING.contains(&kind) => {
                lowering.f_declare(node, &mut unit.globals);
            }
            _ => {
                let parts = named(node);
                let is_root = matches!(node.kind(), "translation_unit" | "ERROR");
                let statements = is_root
                    && parts.iter().any(|part| {
                        part.kind().ends_with("_statement") || part.kind() == "do_loop"
                    });
                if statements {
                    // What the grammar could not take for a unit.
                    let (function, _) = lowering.f_function(node, &inherited, &mut unit);
                    unit.functions.push(function);
                }
                let units = parts.into_iter().rev();
                open.extend(units.map(|part| (part, inherited.clone())));
            }
        }
    }
    unit
}

impl Lowering<'_> {
    /// A unit, and the parts that contain further ones.
    fn f_function<'t>(
        &mut self,
        node: Node<'t>,
        inherited: &[Declaration],
        unit: &mut Unit,
    ) -> (Function, Vec<Node<'t>>) {
        let mut function = Function::default();
        let mut own = Vec::new();
        let mut statements = Vec::new();
        let mut inner = Vec::new();
        for part in named(node) {
            match part.kind() {
                "subroutine_statement"
                | "function_statement"
                | "program_statement"
                | "module_procedure_statement" => {
                    function.name = part
                        .child_by_field_name("name")
                        .or_else(|| child_of_kind(part, "name"))
                        .map(|name| self.f_name(name));
                }
                "internal_procedures" => inner.push(part),
                "implicit_statement" => function.implicit.extend(self.f_implicit(part)),
                "derived_type_definition" => unit.types.extend(self.f_components(part)),
                "subroutine" | "function" | "program" | "module" | "module_procedure"
                | "submodule" => {}
                kind if DECLARING.contains(&kind) => {
                    if self
                        .node_text(part)
                        .to_ascii_lowercase()
                        .starts_with("external")
                    {
                        let names = named(part).into_iter();
                        unit.procedures.extend(names.map(|name| self.f_name(name)));
                    }
                    self.f_declare(part, &mut own);
                }
                _ => statements.push(part),
            }
        }
        function.body = self.f_statements(statements);
        for one in inherited {
            if !own.iter().any(|known| known.name == one.name) {
                own.push(one.clone());
            }
        }
        // Names that are only ever subscripted on left sides are arrays, too.
        let mut subscripted = HashSet::new();
        assigned_elements(&function.body, &mut subscripted);
        let mut subscripted: Vec<String> = subscripted.into_iter().collect();
        subscripted.sort_unstable();
        let globals = &unit.globals;
        for name in subscripted {
            if !globals
                .iter()
                .any(|known| known.name == name && !known.dimensions.is_empty())
            {
                merge(
                    &mut own,
                    Declaration {
                        name,
                        dimensions: vec![String::new()],
                        ..Declaration::default()
                    },
                );
            }
        }
        for one in own.iter_mut().filter(|one| one.ty.is_empty()) {
            one.ty = implicit_type(&one.name, &function.implicit);
        }
        function.declared = own;
        (function, inner)
    }

    /// Statements in order, those behind directives inside these.
    pub(super) fn f_statements(&mut self, nodes: Vec<Node<'_>>) -> Vec<Stmt> {
        let mut flat = Vec::new();
        for node in nodes {
            flat.extend(self.f_statement(node));
        }
        self.group(flat)
    }

    fn f_inside(&mut self, node: Node<'_>) -> Vec<Stmt> {
        self.f_statements(named(node))
    }

    fn f_statement(&mut self, node: Node<'_>) -> Option<Stmt> {
        let span = self.span(node);
        let kind = self.deeper(node, |this| this.f_statement_kind(node))??;
        Some(Stmt { kind, span })
    }

    fn f_statement_kind(&mut self, node: Node<'_>) -> Option<StmtKind> {
        Some(match node.kind() {
            "subroutine_call" => {
                if let Some(directive) = self.directive_at(node.start_byte()) {
                    return Some(StmtKind::Directive(directive, Vec::new()));
                }
                let target = node.child_by_field_name("subroutine")?;
                let arguments = child_of_kind(node, "argument_list");
                let arguments = arguments
                    .map(|list| self.f_arguments(list))
                    .unwrap_or_default();
                StmtKind::Expr(Expr {
                    kind: ExprKind::Call(Box::new(self.f_expr(target)), arguments),
                    span: self.span(node),
                })
            }
            "assignment_statement" => {
                let left = self.f_expr(node.child_by_field_name("left")?);
                let right = self.f_expr(node.child_by_field_name("right")?);
                StmtKind::Expr(Expr {
                    kind: ExprKind::Assign(None, Box::new(left), Box::new(right)),
                    span: self.span(node),
                })
            }
            "do_loop" => return self.f_do(node),
            "if_statement"
            | "select_case_statement"
            | "select_type_statement"
            | "select_rank_statement"
            | "where_statement" => self.f_choice(node),
            "forall_statement"
            | "block_construct"
            | "associate_statement"
            | "ERROR"
            | "coarray_critical_statement"
            | "coarray_team_statement"
            | "end_do_label_loop_statement" => StmtKind::Block(self.f_inside(node)),
            "write_statement"
            | "print_statement"
            | "read_statement"
            | "keyword_statement"
            | "pointer_association_statement"
            | "arithmetic_if_statement" => {
                let parts = named(node).into_iter();
                let parts = parts.filter(|part| {
                    !matches!(
                        part.kind(),
                        "unit_identifier" | "format_identifier" | "keyword_argument"
                    )
                });
                StmtKind::Expr(Expr {
                    kind: ExprKind::Several(parts.map(|part| self.f_expr(part)).collect()),
                    span: self.span(node),
                })
            }
            _ => return None,
        })
    }

    /// `if`, `select`, `where`: what is decided by, and what may be executed.
    fn f_choice(&mut self, node: Node<'_>) -> StmtKind {
        let mut conditions = Vec::new();
        let mut parts = Vec::new();
        let mut first = Vec::new();
        for part in named(node) {
            match part.kind() {
                "parenthesized_expression" | "selector" | "case_value_range_list" => {
                    conditions.push(self.f_expr(part));
                }
                "elseif_clause" | "else_clause" | "elsewhere_clause" | "case_statement"
                | "type_statement" | "rank_statement" => {
                    let mut statements = Vec::new();
                    for inner in named(part) {
                        if inner.kind() == "parenthesized_expression" {
                            conditions.push(self.f_expr(inner));
                        } else {
                            statements.push(inner);
                        }
                    }
                    let body = self.f_statements(statements);
                    parts.push(Stmt {
                        kind: StmtKind::Block(body),
                        span: self.span(part),
                    });
                }
                _ => first.push(part),
            }
        }
        let body = self.f_statements(first);
        parts.insert(
            0,
            Stmt {
                kind: StmtKind::Block(body),
                span: self.span(node),
            },
        );
        StmtKind::Choice(conditions, parts)
    }

    fn f_do(&mut self, node: Node<'_>) -> Option<StmtKind> {
        let mut headers = Vec::new();
        let mut statements = Vec::new();
        for part in named(node) {
            match part.kind() {
                "do_statement" => headers = self.f_headers(part),
                "end_do_loop_statement" | "block_label_start_expression" | "statement_label" => {}
                _ => statements.push(part),
            }
        }
        let mut body = self.f_statements(statements);
        let span = self.span(node);
        // A nest, if one head has several variables.
        let first = headers.remove(0);
        for header in headers.into_iter().rev() {
            let kind = StmtKind::Loop(Box::new(Loop { header, body }));
            body = vec![Stmt { kind, span }];
        }
        Some(StmtKind::Loop(Box::new(Loop {
            header: first,
            body,
        })))
    }

    /// Heads of a `do`, outermost first; at least one.
    fn f_headers(&mut self, node: Node<'_>) -> Vec<Header> {
        let mut headers = Vec::new();
        for part in named(node) {
            match part.kind() {
                "loop_control_expression" => {
                    let parts = named(part);
                    if let [variable, from, to, rest @ ..] = parts.as_slice() {
                        headers.push(Header::Do {
                            variable: self.f_name(*variable),
                            from: self.f_expr(*from),
                            to: self.f_expr(*to),
                            step: rest.first().map(|step| self.f_expr(*step)),
                        });
                    }
                }
                "while_statement" => {
                    let condition = named(part).into_iter().next();
                    let condition = condition.map(|condition| self.f_expr(condition));
                    headers.push(Header::While(condition));
                }
                "concurrent_statement" => {
                    let controls = super::fortran_declare::descendants(part, "concurrent_control");
                    for control in controls {
                        let name = child_of_kind(control, "identifier");
                        let from = control.child_by_field_name("initial");
                        let to = control.child_by_field_name("final");
                        if let (Some(name), Some(from), Some(to)) = (name, from, to) {
                            let step = control.child_by_field_name("step");
                            headers.push(Header::Do {
                                variable: self.f_name(name),
                                from: self.f_expr(from),
                                to: self.f_expr(to),
                                step: step.map(|step| self.f_expr(step)),
                            });
                        }
                    }
                }
                _ => {}
            }
        }
        if headers.is_empty() {
            headers.push(Header::While(None));
        }
        headers
    }

    /// Puts statements into the directives in front of them.
    fn group(&self, flat: Vec<Stmt>) -> Vec<Stmt> {
        let mut open: Vec<(usize, Stmt)> = Vec::new();
        let mut out: Vec<Stmt> = Vec::new();
        // Directives that wait for their statement.
        let mut waiting: Vec<(usize, Stmt)> = Vec::new();
        for mut stmt in flat {
            let StmtKind::Directive(number, body) = &stmt.kind else {
                for (number, directive) in waiting.drain(..).rev() {
                    stmt = inside(number, &directive, vec![stmt]);
                }
                collector(&mut open, &mut out).push(stmt);
                continue;
            };
            if !body.is_empty() {
                collector(&mut open, &mut out).push(stmt);
                continue;
            }
            let number = *number;
            let name = self.name_of(number);
            if let Some(ended) = name.strip_prefix("end ") {
                for (number, directive) in waiting.drain(..) {
                    let empty = inside(number, &directive, Vec::new());
                    collector(&mut open, &mut out).push(empty);
                }
                let place = open
                    .iter()
                    .rposition(|(open, _)| self.name_of(*open) == ended);
                if let Some(place) = place {
                    while open.len() > place {
                        close(&mut open, &mut out, stmt.span.end);
                    }
                }
                continue;
            }
            if name == "section" {
                let in_section = open
                    .last()
                    .is_some_and(|(last, _)| self.name_of(*last) == name);
                if in_section {
                    close(&mut open, &mut out, stmt.span.start);
                }
            }
            match directive::applies(&self.directives[number].directive) {
                Applies::Alone => {}
                Applies::Statement | Applies::Loop => waiting.push((number, stmt)),
                Applies::Block => open.push((number, stmt)),
            }
        }
        let end = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Directive(_, body) => body.last().map_or(stmt.span.end, |one| one.span.end),
            _ => stmt.span.end,
        };
        while let Some((_, last)) = open.last() {
            let end = end(last);
            close(&mut open, &mut out, end);
        }
        out
    }

    fn name_of(&self, number: usize) -> &str {
        self.directives
            .get(number)
            .map_or("", |marked| marked.directive.name.as_str())
    }
}

/// Where the next statement belongs.
fn collector<'v>(open: &'v mut [(usize, Stmt)], out: &'v mut Vec<Stmt>) -> &'v mut Vec<Stmt> {
    match open.last_mut() {
        Some((
            _,
            Stmt {
                kind: StmtKind::Directive(_, body),
                ..
            },
        )) => body,
        _ => out,
    }
}

/// Ends the last open directive.
fn close(open: &mut Vec<(usize, Stmt)>, out: &mut Vec<Stmt>, end: u32) {
    if let Some((_, mut stmt)) = open.pop() {
        stmt.span.end = stmt.span.end.max(end);
        collector(open, out).push(stmt);
    }
}

fn inside(number: usize, directive: &Stmt, body: Vec<Stmt>) -> Stmt {
    let mut span = directive.span;
    if let Some(last) = body.last() {
        span.end = span.end.max(last.span.end);
    }
    Stmt {
        kind: StmtKind::Directive(number, body),
        span,
    }
}

fn implicit_type(name: &str, rules: &[(char, char, String)]) -> String {
    let first = name.chars().next().unwrap_or('x');
    let rule = rules
        .iter()
        .find(|(from, to, _)| (*from..=*to).contains(&first));
    match rule {
        Some((.., ty)) => ty.clone(),
        None if ('i'..='n').contains(&first) => "integer".to_owned(),
        None => "real".to_owned(),
    }
}

/// Names that are assigned to with parentheses behind them.
fn assigned_elements(body: &[Stmt], found: &mut HashSet<String>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Block(inner) | StmtKind::Directive(_, inner) | StmtKind::Choice(_, inner) => {
                assigned_elements(inner, found);
            }
            StmtKind::Loop(one) => assigned_elements(&one.body, found),
            StmtKind::Expr(expr) => {
                if let ExprKind::Assign(_, target, _) = &expr.kind
                    && let ExprKind::Call(base, _) = &target.kind
                    && let ExprKind::Name(name) = &base.kind
                {
                    found.insert(name.clone());
                }
            }
            StmtKind::Declare(_) => {}
        }
    }
}
