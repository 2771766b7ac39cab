//! Expressions of Fortran.

use super::Lowering;
use crate::ast::{Binary, Expr, ExprKind, Unary};
use crate::tree::named;
use tree_sitter::Node;

impl Lowering<'_> {
    /// Lowers an expression; names become lower case.
    pub(super) fn f_expr(&mut self, node: Node<'_>) -> Expr {
        let span = self.span(node);
        let kind = self
            .deeper(node, |this| this.f_kind(node))
            .unwrap_or(ExprKind::Other);
        Expr { kind, span }
    }

    pub(super) fn f_name(&self, node: Node<'_>) -> String {
        self.node_text(node).trim().to_ascii_lowercase()
    }

    fn f_exprs(&mut self, nodes: Vec<Node<'_>>) -> Vec<Expr> {
        nodes.into_iter().map(|node| self.f_expr(node)).collect()
    }

    fn f_field(&mut self, node: Node<'_>, field: &str) -> Box<Expr> {
        Box::new(match node.child_by_field_name(field) {
            Some(inner) => self.f_expr(inner),
            None => self.other(node),
        })
    }

    fn f_kind(&mut self, node: Node<'_>) -> ExprKind {
        match node.kind() {
            "identifier" | "name" | "method_name" => ExprKind::Name(self.f_name(node)),
            "number_literal" => match integer(self.node_text(node)) {
                Some(value) => ExprKind::Integer(value),
                None => ExprKind::Other,
            },
            "parenthesized_expression" => {
                let inner = named(node);
                match inner.as_slice() {
                    [one] => self
                        .deeper(*one, |this| this.f_kind(*one))
                        .unwrap_or(ExprKind::Other),
                    _ => ExprKind::Several(self.f_exprs(inner)),
                }
            }
            "math_expression" => {
                let operator = node.child_by_field_name("operator");
                let operator = match operator.map(|sign| sign.kind()) {
                    Some("+") => Binary::Add,
                    Some("-") => Binary::Subtract,
                    Some("*") => Binary::Multiply,
                    Some("/") => Binary::Divide,
                    Some("**") => Binary::Power,
                    _ => Binary::Other,
                };
                let left = self.f_field(node, "left");
                ExprKind::Binary(operator, left, self.f_field(node, "right"))
            }
            "relational_expression" | "logical_expression" | "concatenation_expression" => {
                if node.child_by_field_name("left").is_none() {
                    return ExprKind::Unary(Unary::Other, self.f_field(node, "argument"));
                }
                let left = self.f_field(node, "left");
                ExprKind::Binary(Binary::Other, left, self.f_field(node, "right"))
            }
            "unary_expression" => {
                let operator = node.child_by_field_name("operator");
                let operator = match operator.map(|sign| sign.kind()) {
                    Some("-") => Unary::Minus,
                    Some("+") => Unary::Plus,
                    _ => Unary::Other,
                };
                let inner = node
                    .child_by_field_name("argument")
                    .or_else(|| named(node).into_iter().next_back());
                match inner {
                    Some(inner) => ExprKind::Unary(operator, Box::new(self.f_expr(inner))),
                    None => ExprKind::Other,
                }
            }
            "derived_type_member_expression" => {
                let parts = named(node);
                let (Some(base), Some(member)) = (parts.first(), parts.last()) else {
                    return ExprKind::Other;
                };
                let member = self.f_name(*member);
                ExprKind::Member(Box::new(self.f_expr(*base)), "%", member)
            }
            "call_expression" => {
                let parts = named(node);
                let mut parts = parts.into_iter();
                let Some(base) = parts.next() else {
                    return ExprKind::Other;
                };
                let mut expr = self.f_expr(base);
                for list in parts.filter(|part| part.kind() == "argument_list") {
                    let arguments = self.f_arguments(list);
                    let span = crate::ast::Span {
                        end: list.end_byte() as u32,
                        ..expr.span
                    };
                    expr = Expr {
                        kind: ExprKind::Call(Box::new(expr), arguments),
                        span,
                    };
                }
                expr.kind
            }
            "extent_specifier" => ExprKind::Section(self.f_exprs(named(node))),
            "keyword_argument" => match node.child_by_field_name("value") {
                Some(value) => self.f_expr(value).kind,
                None => ExprKind::Other,
            },
            "conditional_expression" => ExprKind::Conditional(
                self.f_field(node, "condition"),
                self.f_field(node, "consequence"),
                self.f_field(node, "alternative"),
            ),
            "array_literal"
            | "implied_do_loop_expression"
            | "complex_literal"
            | "output_item_list"
            | "input_item_list"
            | "argument_list" => ExprKind::Several(self.f_exprs(named(node))),
            _ => ExprKind::Other,
        }
    }

    /// Arguments between parentheses; an empty one, as in `a(:)`, counts.
    pub(super) fn f_arguments(&mut self, list: Node<'_>) -> Vec<Expr> {
        self.f_exprs(named(list))
    }
}

/// A whole number of Fortran, its kind left out.
fn integer(text: &str) -> Option<i64> {
    let digits = text.split('_').next()?;
    digits.parse().ok()
}
