//! Functions and statements of C and C++.

use super::Lowering;
use crate::ast::{Expr, ExprKind, Function, Header, Loop, Stmt, StmtKind, Unit};
use crate::text::directive::squeeze;
use crate::tree::named;
use tree_sitter::{Node, Tree};

/// Lowers a file.
pub(crate) fn unit(lowering: &mut Lowering<'_>, tree: &Tree) -> Unit {
    let mut unit = Unit::default();
    let mut open = vec![tree.root_node()];
    // Depth first, in order, without recursion: files may nest whatever they like.
    while let Some(node) = open.pop() {
        match node.kind() {
            "function_definition" => {
                if let Some(function) = lowering.function(node) {
                    unit.functions.push(function);
                }
            }
            "declaration" | "field_declaration" => {
                if node.kind() == "declaration" {
                    unit.globals.extend(lowering.declarations(node));
                } else {
                    // Members: found by the last part of a path.
                    unit.types
                        .extend(lowering.declarations(node).into_iter().map(|mut one| {
                            one.name.insert(0, '.');
                            one
                        }));
                }
                open.extend(node.child_by_field_name("type"));
            }
            "type_definition" => {
                unit.types.extend(lowering.declarations(node));
                open.extend(node.child_by_field_name("type"));
            }
            "alias_declaration" => {
                let name = node.child_by_field_name("name");
                let ty = node.child_by_field_name("type");
                if let (Some(name), Some(ty)) = (name, ty) {
                    let name = lowering.node_text(name).to_owned();
                    let ty = squeeze(lowering.node_text(ty));
                    unit.types.push(crate::ast::Declaration {
                        name,
                        ty,
                        ..crate::ast::Declaration::default()
                    });
                }
            }
            "enumerator_list" => unit.globals.extend(lowering.enumerators(node)),
            "expression_statement" | "compound_statement" => {
                // What the grammar took for statements outside functions, such as macros
                // around their heads.
                let body = lowering.statements(node);
                if !body.is_empty() {
                    unit.functions.push(Function {
                        body,
                        ..Function::default()
                    });
                }
            }
            _ => {
                let children = named(node);
                open.extend(children.into_iter().rev());
            }
        }
    }
    unit
}

impl Lowering<'_> {
    fn function(&mut self, node: Node<'_>) -> Option<Function> {
        let body = node.child_by_field_name("body");
        let mut declarator = node.child_by_field_name("declarator");
        let mut head = None;
        while let Some(inner) = declarator {
            if inner.kind() == "function_declarator" {
                head = Some(inner);
            }
            declarator = inner.child_by_field_name("declarator").or_else(|| {
                let wraps = matches!(
                    inner.kind(),
                    "reference_declarator" | "parenthesized_declarator" | "attributed_declarator"
                );
                wraps.then(|| named(inner).into_iter().next()).flatten()
            });
        }
        let name = head.and_then(|head| head.child_by_field_name("declarator"));
        let name = name.map(|name| squeeze(self.node_text(name)));
        // Try blocks of whole functions have no body field.
        let body = match body {
            Some(body) => self.statements(body),
            None => {
                let parts = named(node).into_iter();
                let parts = parts.filter(|part| part.kind() == "try_statement");
                parts.flat_map(|part| self.statement(part)).collect()
            }
        };
        let declared = head.map(|head| self.parameters(head)).unwrap_or_default();
        Some(Function {
            name,
            declared,
            body,
            ..Function::default()
        })
    }

    /// The statements inside a node.
    pub(super) fn statements(&mut self, node: Node<'_>) -> Vec<Stmt> {
        named(node)
            .into_iter()
            .filter_map(|child| self.statement(child))
            .collect()
    }

    /// A statement; none if nothing of it matters.
    pub(super) fn statement(&mut self, node: Node<'_>) -> Option<Stmt> {
        let span = self.span(node);
        let kind = self.deeper(node, |this| this.statement_kind(node))??;
        Some(Stmt { kind, span })
    }

    fn some(&mut self, node: Option<Node<'_>>) -> Vec<Stmt> {
        node.and_then(|node| self.statement(node))
            .into_iter()
            .collect()
    }

    fn statement_kind(&mut self, node: Node<'_>) -> Option<StmtKind> {
        Some(match node.kind() {
            "compound_statement"
            | "else_clause"
            | "catch_clause"
            | "linkage_specification"
            | "declaration_list"
            | "ERROR" => StmtKind::Block(self.statements(node)),
            "labeled_statement" => {
                let inner = named(node).into_iter().next_back();
                let inner = inner.filter(|inner| inner.kind() != "statement_identifier");
                match self.directive_at(node.start_byte()) {
                    Some(directive) => StmtKind::Directive(directive, self.some(inner)),
                    None => {
                        return inner
                            .and_then(|inner| self.statement(inner))
                            .map(|s| s.kind);
                    }
                }
            }
            "for_statement" => self.for_statement(node),
            "for_range_loop" => {
                let declared = self.declarations(node);
                let over = node.child_by_field_name("right")?;
                let over = self.expr(over);
                let body = self.some(node.child_by_field_name("body"));
                loop_of(Header::Range(declared, over), body)
            }
            "while_statement" | "do_statement" => {
                let condition = node.child_by_field_name("condition");
                let condition = condition.map(|condition| self.expr(condition));
                let body = self.some(node.child_by_field_name("body"));
                loop_of(Header::While(condition), body)
            }
            "if_statement" => self.if_statement(node),
            "switch_statement" => {
                let condition = node.child_by_field_name("condition");
                let condition = condition.map(|condition| self.expr(condition));
                let body = self.some(node.child_by_field_name("body"));
                StmtKind::Choice(condition.into_iter().collect(), body)
            }
            "case_statement" | "try_statement" | "attributed_statement" => {
                let value = node.child_by_field_name("value");
                let parts = named(node).into_iter().filter(|part| Some(*part) != value);
                StmtKind::Block(parts.filter_map(|part| self.statement(part)).collect())
            }
            "declaration" => StmtKind::Declare(self.declarations(node)),
            "expression_statement"
            | "return_statement"
            | "throw_statement"
            | "co_return_statement"
            | "co_yield_statement" => {
                let parts = named(node);
                let mut parts: Vec<Expr> = parts.into_iter().map(|part| self.expr(part)).collect();
                match parts.len() {
                    0 => return None,
                    1 => StmtKind::Expr(parts.remove(0)),
                    _ => StmtKind::Expr(Expr {
                        kind: ExprKind::Several(parts),
                        span: self.span(node),
                    }),
                }
            }
            "function_definition" => {
                // Nested functions, and what macros in front of blocks look like.
                let body = node.child_by_field_name("body")?;
                StmtKind::Block(self.statements(body))
            }
            "break_statement"
            | "continue_statement"
            | "goto_statement"
            | "type_definition"
            | "struct_specifier"
            | "class_specifier"
            | "union_specifier"
            | "enum_specifier"
            | "using_declaration"
            | "alias_declaration"
            | "static_assert_declaration" => {
                return None;
            }
            kind if kind.ends_with("_expression") || kind == "identifier" => {
                StmtKind::Expr(self.expr(node))
            }
            _ => return None,
        })
    }

    fn for_statement(&mut self, node: Node<'_>) -> StmtKind {
        let first = node.child_by_field_name("initializer");
        let mut declared = Vec::new();
        let mut expr = None;
        match first {
            Some(first) if first.kind() == "declaration" => declared = self.declarations(first),
            Some(first) => expr = Some(self.expr(first)),
            None => {}
        }
        let mut part = |field| {
            let part = node.child_by_field_name(field);
            part.map(|part| self.expr(part))
        };
        let header = Header::For {
            declared,
            first: expr,
            condition: part("condition"),
            update: part("update"),
        };
        let body = self.some(node.child_by_field_name("body"));
        loop_of(header, body)
    }

    /// An `if` with all its `else if`s, which may be many.
    fn if_statement(&mut self, node: Node<'_>) -> StmtKind {
        let mut conditions = Vec::new();
        let mut parts = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next.take() {
            let condition = node.child_by_field_name("condition");
            conditions.extend(condition.map(|condition| self.expr(condition)));
            parts.push(self.block(node.child_by_field_name("consequence")));
            let Some(mut other) = node.child_by_field_name("alternative") else {
                break;
            };
            if other.kind() == "else_clause" {
                match named(other).into_iter().next() {
                    Some(inner) => other = inner,
                    None => break,
                }
            }
            if other.kind() == "if_statement" {
                next = Some(other);
            } else {
                parts.push(self.block(Some(other)));
            }
        }
        StmtKind::Choice(conditions, parts.into_iter().flatten().collect())
    }

    /// A statement as a block of its own, so that parts of a choice stay apart.
    fn block(&mut self, node: Option<Node<'_>>) -> Option<Stmt> {
        let node = node?;
        let inner = self.statement(node)?;
        let span = inner.span;
        Some(match inner.kind {
            StmtKind::Block(_) => inner,
            _ => Stmt {
                kind: StmtKind::Block(vec![inner]),
                span,
            },
        })
    }
}

fn loop_of(header: Header, body: Vec<Stmt>) -> StmtKind {
    StmtKind::Loop(Box::new(Loop { header, body }))
}
