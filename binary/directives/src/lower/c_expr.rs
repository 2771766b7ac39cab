//! Expressions of C and C++.

use super::Lowering;
use crate::ast::{Binary, Expr, ExprKind, Unary};
use crate::text::macros;
use crate::tree::{self, named};
use tree_sitter::Node;

/// Expansions inside one another that are followed.
const EXPANDING_MAX: u32 = 4;
/// Longer expansions are not followed.
const EXPANSION_BYTES_MAX: usize = 2000;
/// Different expansions in a file that are followed.
const EXPANSIONS_MAX: usize = 20_000;

impl Lowering<'_> {
    /// Lowers an expression.
    pub(super) fn expr(&mut self, node: Node<'_>) -> Expr {
        let span = self.span(node);
        let kind = self
            .deeper(node, |this| this.expr_kind(node))
            .unwrap_or(ExprKind::Other);
        Expr { kind, span }
    }

    fn boxed(&mut self, node: Option<Node<'_>>, whole: Node<'_>) -> Box<Expr> {
        Box::new(match node {
            Some(node) => self.expr(node),
            None => self.other(whole),
        })
    }

    fn field(&mut self, node: Node<'_>, field: &str) -> Box<Expr> {
        self.boxed(node.child_by_field_name(field), node)
    }

    fn expr_kind(&mut self, node: Node<'_>) -> ExprKind {
        match node.kind() {
            "identifier"
            | "this"
            | "qualified_identifier"
            | "field_identifier"
            | "template_function" => ExprKind::Name(self.node_text(node).to_owned()),
            "number_literal" => match macros::number(self.node_text(node)) {
                Some(value) => ExprKind::Integer(value),
                None => ExprKind::Other,
            },
            "parenthesized_expression" | "condition_clause" | "init_statement" => {
                let inner = named(node);
                match inner.as_slice() {
                    [one] => self.inside(*one),
                    several => ExprKind::Several(several.iter().map(|n| self.expr(*n)).collect()),
                }
            }
            "compound_statement" => ExprKind::Statements(self.statements(node)),
            "lambda_expression" => match node.child_by_field_name("body") {
                Some(body) => ExprKind::Statements(self.statements(body)),
                None => ExprKind::Other,
            },
            "field_expression" => {
                let name = node.child_by_field_name("field");
                let name = name.map_or("", |name| self.node_text(name)).to_owned();
                let sign = node.child_by_field_name("operator");
                let sign = match sign.map(|sign| sign.kind()) {
                    Some("->") => "->",
                    _ => ".",
                };
                ExprKind::Member(self.field(node, "argument"), sign, name)
            }
            "subscript_expression" => {
                let base = self.field(node, "argument");
                let indices = match node.child_by_field_name("index") {
                    Some(index) => vec![self.expr(index)],
                    None => node
                        .child_by_field_name("indices")
                        .map(named)
                        .unwrap_or_default()
                        .into_iter()
                        .map(|index| self.expr(index))
                        .collect(),
                };
                ExprKind::Subscript(base, indices)
            }
            "call_expression" => self.call(node),
            "unary_expression" => {
                let operator = node.child_by_field_name("operator");
                let operator = match operator.map(|sign| sign.kind()) {
                    Some("-") => Unary::Minus,
                    Some("+") => Unary::Plus,
                    _ => Unary::Other,
                };
                ExprKind::Unary(operator, self.field(node, "argument"))
            }
            "pointer_expression" => {
                let is_address = node
                    .child_by_field_name("operator")
                    .is_some_and(|sign| sign.kind() == "&");
                let inner = self.field(node, "argument");
                if is_address {
                    ExprKind::AddressOf(inner)
                } else {
                    ExprKind::Dereference(inner)
                }
            }
            "binary_expression" => {
                let sign = node.child_by_field_name("operator");
                let operator = binary(sign.map_or("", |sign| sign.kind()));
                let left = self.field(node, "left");
                ExprKind::Binary(operator, left, self.field(node, "right"))
            }
            "assignment_expression" => {
                let sign = node.child_by_field_name("operator");
                let sign = sign.map_or("", |sign| sign.kind());
                let operator = match sign.strip_suffix('=') {
                    None | Some("") => None,
                    Some(sign) => Some(binary(sign)),
                };
                let left = self.field(node, "left");
                ExprKind::Assign(operator, left, self.field(node, "right"))
            }
            "update_expression" => {
                let sign = node.child_by_field_name("operator");
                let by = if sign.is_some_and(|sign| sign.kind() == "--") {
                    -1
                } else {
                    1
                };
                ExprKind::Update(by, self.field(node, "argument"))
            }
            "conditional_expression" => ExprKind::Conditional(
                self.field(node, "condition"),
                self.field(node, "consequence"),
                self.field(node, "alternative"),
            ),
            "cast_expression" => ExprKind::Cast(self.field(node, "value")),
            "comma_expression"
            | "initializer_list"
            | "argument_list"
            | "compound_literal_expression"
            | "initializer_pair"
            | "new_expression"
            | "co_await_expression"
            | "parameter_pack_expansion"
            | "throw_statement"
            | "subscript_argument_list" => {
                let parts = named(node).into_iter();
                let parts = parts.filter(|part| part.kind() != "type_descriptor");
                ExprKind::Several(parts.map(|part| self.expr(part)).collect())
            }
            _ => ExprKind::Other,
        }
    }

    /// What stands between parentheses: the same expression, its span without them.
    fn inside(&mut self, node: Node<'_>) -> ExprKind {
        self.deeper(node, |this| this.expr_kind(node))
            .unwrap_or(ExprKind::Other)
    }

    fn call(&mut self, node: Node<'_>) -> ExprKind {
        let arguments = node.child_by_field_name("arguments");
        let Some(function) = node.child_by_field_name("function") else {
            return ExprKind::Other;
        };
        if function.kind() == "identifier"
            && let Some(expanded) = self.expand(function, arguments)
        {
            return expanded.kind;
        }
        // static_cast<T>(x) and T(x) are calls in this grammar.
        let is_cast = function.kind() == "primitive_type"
            || function.kind() == "template_function"
                && self.node_text(function).contains("_cast<");
        let mut lowered: Vec<Expr> = arguments
            .map(named)
            .unwrap_or_default()
            .into_iter()
            .map(|argument| self.expr(argument))
            .collect();
        if is_cast && lowered.len() == 1 {
            return ExprKind::Cast(Box::new(lowered.remove(0)));
        }
        ExprKind::Call(Box::new(self.expr(function)), lowered)
    }

    /// What a macro with parameters stands for, if that is an expression.
    fn expand(&mut self, function: Node<'_>, arguments: Option<Node<'_>>) -> Option<Expr> {
        let found = self.macros.get(self.node_text(function))?;
        let parameters = found.parameters.as_ref()?;
        let texts: Vec<&str> = arguments
            .map(named)
            .unwrap_or_default()
            .into_iter()
            .map(|argument| self.node_text(argument))
            .collect();
        if self.expanding >= EXPANDING_MAX || texts.len() != parameters.len() {
            return None;
        }
        let text = substitute(&found.body, parameters, &texts)?;
        if let Some(known) = self.expanded.get(&text) {
            return known.clone();
        }
        if self.expanded.len() >= EXPANSIONS_MAX {
            return None;
        }
        let expr = self.parse_expression(&text);
        self.expanded.insert(text, expr.clone());
        expr
    }

    /// Parses an expression that does not stand in the file itself.
    fn parse_expression(&mut self, text: &str) -> Option<Expr> {
        const BEFORE: &str = "void f(){x=";
        let whole = format!("{BEFORE}{text};}}");
        let mut parser = match self.parser.take() {
            Some(parser) => parser,
            None => tree::parser(self.language).ok()?,
        };
        let tree = parser.parse(&whole, None);
        self.parser = Some(parser);
        let tree = tree?;
        if tree.root_node().has_error() {
            return None;
        }
        let from = BEFORE.len();
        let node = tree
            .root_node()
            .named_descendant_for_byte_range(from, from + text.len())?;
        // Statements, or an assignment that takes the one in front apart.
        if node.start_byte() != from || node.end_byte() != from + text.len() {
            return None;
        }
        let before = self.current;
        self.current = u32::try_from(self.texts.len()).ok()?;
        self.texts.push(whole);
        self.expanding += 1;
        let expr = self.expr(node);
        self.expanding -= 1;
        self.current = before;
        Some(expr)
    }
}

/// A macro's body with arguments in the place of parameters; `None` if it grows too long
/// or pastes names together.
fn substitute(body: &str, parameters: &[String], arguments: &[&str]) -> Option<String> {
    if body.contains('#') {
        return None;
    }
    let mut out = String::new();
    let mut rest = body;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let length = if length == 0 {
            rest.find(is_word).unwrap_or(rest.len())
        } else {
            length
        };
        let (part, behind) = rest.split_at(length);
        match parameters.iter().position(|name| name == part) {
            Some(index) => out.push_str(arguments.get(index)?),
            None => out.push_str(part),
        }
        if out.len() > EXPANSION_BYTES_MAX {
            return None;
        }
        rest = behind;
    }
    Some(out)
}

fn binary(sign: &str) -> Binary {
    match sign {
        "+" => Binary::Add,
        "-" => Binary::Subtract,
        "*" => Binary::Multiply,
        "/" => Binary::Divide,
        "%" => Binary::Remainder,
        "<<" => Binary::ShiftLeft,
        ">>" => Binary::ShiftRight,
        "<" => Binary::Compare("<"),
        "<=" => Binary::Compare("<="),
        ">" => Binary::Compare(">"),
        ">=" => Binary::Compare(">="),
        "!=" | "not_eq" => Binary::Compare("!="),
        "==" => Binary::Compare("=="),
        _ => Binary::Other,
    }
}
