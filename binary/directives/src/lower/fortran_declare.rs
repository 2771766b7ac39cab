//! Declarations of Fortran.

use super::Lowering;
use crate::ast::{Declaration, Expr, ExprKind};
use crate::text::directive::squeeze;
use crate::tree::named;
use tree_sitter::Node;

/// Nodes that declare and do nothing.
pub(super) const DECLARING: [&str; 17] = [
    "variable_declaration",
    "variable_modification",
    "parameter_statement",
    "common_statement",
    "implicit_statement",
    "use_statement",
    "import_statement",
    "include_statement",
    "data_statement",
    "save_statement",
    "namelist_statement",
    "equivalence_statement",
    "derived_type_definition",
    "interface",
    "private_statement",
    "public_statement",
    "format_statement",
];

impl Lowering<'_> {
    /// Adds what a node declares. Names may be declared in parts: type, dimensions, value.
    pub(super) fn f_declare(&mut self, node: Node<'_>, declared: &mut Vec<Declaration>) {
        match node.kind() {
            "variable_declaration" | "variable_modification" => {
                let ty = node.child_by_field_name("type").map(|ty| self.f_type(ty));
                let mut common = Declaration {
                    ty: ty.unwrap_or_default(),
                    ..Declaration::default()
                };
                let mut attributes: Vec<Node<'_>> = node
                    .children_by_field_name("attribute", &mut node.walk())
                    .collect();
                if node.kind() == "variable_modification" {
                    attributes.extend(named(node).into_iter().filter(|part| {
                        matches!(part.kind(), "type_qualifier" | "variable_attributes")
                    }));
                }
                for attribute in attributes {
                    let text = self.node_text(attribute).trim().to_ascii_lowercase();
                    common.constant |= text.starts_with("parameter");
                    if text.starts_with("dimension") {
                        let list = named(attribute).into_iter().next();
                        common.dimensions = list.map(|list| self.f_size(list)).unwrap_or_default();
                    }
                }
                for declarator in node.children_by_field_name("declarator", &mut node.walk()) {
                    self.f_declarator(declarator, &common, declared);
                }
            }
            "common_statement" => {
                for part in descendants(node, "sized_declarator") {
                    self.f_declarator(part, &Declaration::default(), declared);
                }
            }
            "parameter_statement" => {
                for assignment in named(node) {
                    let parts = named(assignment);
                    if let [name, value] = parts.as_slice() {
                        let one = Declaration {
                            name: self.f_name(*name),
                            constant: true,
                            value: Some(self.f_constant(*value)),
                            span: self.span(assignment),
                            ..Declaration::default()
                        };
                        merge(declared, one);
                    }
                }
            }
            _ => {}
        }
    }

    fn f_declarator(
        &mut self,
        node: Node<'_>,
        common: &Declaration,
        declared: &mut Vec<Declaration>,
    ) {
        let mut one = common.clone();
        one.span = self.span(node);
        let mut name = node;
        if matches!(
            node.kind(),
            "init_declarator" | "pointer_init_declarator" | "data_declarator"
        ) {
            let value = node.child_by_field_name("right");
            one.value = value
                .filter(|_| one.constant)
                .map(|value| self.f_constant(value));
            match node.child_by_field_name("left") {
                Some(left) => name = left,
                None => return,
            }
        }
        if name.kind() == "sized_declarator" {
            for part in named(name) {
                match part.kind() {
                    "identifier" => one.name = self.f_name(part),
                    "size" => one.dimensions = self.f_size(part),
                    _ => {}
                }
            }
        } else {
            one.name = self.f_name(name);
        }
        if !one.name.is_empty() {
            merge(declared, one);
        }
    }

    /// A constant; kinds are what they are on x86-64.
    fn f_constant(&mut self, node: Node<'_>) -> Expr {
        const SINGLE_DIGITS: i64 = 6;
        const INTEGER_DIGITS: i64 = 9;
        let text = self.node_text(node).to_ascii_lowercase().replace(' ', "");
        let digits = |text: &str| {
            let digits: String = text
                .chars()
                .skip_while(|c| !c.is_ascii_digit())
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse::<i64>().unwrap_or(0)
        };
        let of = |name: &str| text.strip_prefix(name);
        let is_double = of("kind(")
            .map(|of| of.contains('d'))
            .or_else(|| of("selected_real_kind(").map(|of| digits(of) > SINGLE_DIGITS))
            .or_else(|| of("selected_int_kind(").map(|of| digits(of) > INTEGER_DIGITS));
        let bytes = is_double.map(|is_double| if is_double { 8 } else { 4 });
        match bytes {
            Some(bytes) => Expr {
                kind: ExprKind::Integer(bytes),
                span: self.span(node),
            },
            None => self.f_expr(node),
        }
    }

    /// Dimensions as written, slowest first.
    fn f_size(&self, node: Node<'_>) -> Vec<String> {
        let parts = named(node).into_iter().rev();
        let texts = parts.map(|part| squeeze(self.node_text(part)));
        let texts: Vec<String> = texts.collect();
        // `(*)` and the like have no named parts.
        if texts.is_empty() {
            vec![String::new()]
        } else {
            texts
        }
    }

    fn f_type(&self, node: Node<'_>) -> String {
        let text = self.node_text(node).to_ascii_lowercase();
        let text = squeeze(&text);
        match text.split_once(['(', '*']) {
            Some(_) => text.replace(' ', ""),
            None => text,
        }
    }

    /// Components of a derived type, named `.x`, since paths lead to them.
    pub(super) fn f_components(&mut self, node: Node<'_>) -> Vec<Declaration> {
        let mut declared = Vec::new();
        for part in named(node) {
            self.f_declare(part, &mut declared);
        }
        for one in &mut declared {
            one.name.insert(0, '.');
        }
        declared
    }

    /// Types of names that are not declared: first letter, last letter, type.
    pub(super) fn f_implicit(&self, node: Node<'_>) -> Vec<(char, char, String)> {
        let mut rules = Vec::new();
        let mut ty = String::new();
        for part in named(node) {
            if part.kind() == "implicit_range" {
                let text = self.node_text(part).to_ascii_lowercase();
                let letters: Vec<char> = text.chars().filter(char::is_ascii_lowercase).collect();
                if let (Some(first), Some(last)) = (letters.first(), letters.last()) {
                    rules.push((*first, *last, ty.clone()));
                }
            } else {
                ty = self.f_type(part);
            }
        }
        rules
    }
}

/// Adds a declaration, or what it says in addition to an earlier one of the same name.
pub(super) fn merge(declared: &mut Vec<Declaration>, one: Declaration) {
    let Some(known) = declared.iter_mut().find(|known| known.name == one.name) else {
        declared.push(one);
        return;
    };
    if known.ty.is_empty() {
        known.ty = one.ty;
    }
    if known.dimensions.is_empty() {
        known.dimensions = one.dimensions;
    }
    known.constant |= one.constant;
    if known.value.is_none() {
        known.value = one.value;
    }
}

/// All nodes of a kind inside one.
pub(super) fn descendants<'t>(node: Node<'t>, kind: &str) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    let mut open = vec![node];
    while let Some(next) = open.pop() {
        for child in named(next).into_iter().rev() {
            open.push(child);
        }
        if next.kind() == kind {
            found.push(next);
        }
    }
    found
}
