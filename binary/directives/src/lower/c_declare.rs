//! Declarations of C and C++.

use super::Lowering;
use crate::ast::Declaration;
use crate::text::directive::squeeze;
use crate::tree::named;
use tree_sitter::Node;

impl Lowering<'_> {
    /// What a declaration declares, without functions.
    pub(super) fn declarations(&mut self, node: Node<'_>) -> Vec<Declaration> {
        let ty = self.declared_type(node);
        let constant = named(node).iter().any(|child| {
            child.kind() == "type_qualifier"
                && matches!(self.node_text(*child), "const" | "constexpr")
        });
        let mut declared = Vec::new();
        for declarator in node.children_by_field_name("declarator", &mut node.walk()) {
            let mut one = Declaration {
                ty: ty.clone(),
                constant,
                span: self.span(declarator),
                ..Declaration::default()
            };
            if self.declarator(declarator, &mut one) {
                declared.push(one);
            }
        }
        declared
    }

    fn declared_type(&self, node: Node<'_>) -> String {
        node.child_by_field_name("type")
            .map(|ty| squeeze(self.node_text(ty)))
            .unwrap_or_default()
    }

    /// Follows a declarator to its name; false if it declares a function or nothing.
    fn declarator(&mut self, node: Node<'_>, into: &mut Declaration) -> bool {
        let mut node = node;
        // From the name's outside to its inside: the last dimension comes first.
        let mut dimensions = Vec::new();
        loop {
            match node.kind() {
                "identifier" | "field_identifier" | "type_identifier" | "qualified_identifier" => {
                    into.name = self.node_text(node).to_owned();
                    dimensions.reverse();
                    into.dimensions = dimensions;
                    return true;
                }
                "init_declarator" => {
                    if let Some(value) = node.child_by_field_name("value") {
                        into.value = Some(self.expr(value));
                    }
                }
                "array_declarator" => {
                    let size = node.child_by_field_name("size");
                    dimensions
                        .push(size.map_or_else(String::new, |size| squeeze(self.node_text(size))));
                }
                "pointer_declarator" => {
                    if dimensions.is_empty() {
                        into.pointers += 1;
                    } else {
                        // `(*a)[N]`: one more dimension, of unknown size.
                        dimensions.push(String::new());
                    }
                }
                "function_declarator" => {
                    // A macro around a parameter's name, as in POLYBENCH_2D(A,N,M): its
                    // first argument. Anything else declares a function.
                    let Some(parameters) = node.child_by_field_name("parameters") else {
                        return false;
                    };
                    let bare = named(parameters);
                    let is_macro = bare.len() > 1
                        && bare.iter().all(|one| {
                            one.kind() == "parameter_declaration"
                                && one.child_by_field_name("declarator").is_none()
                        });
                    let inner = node.child_by_field_name("declarator");
                    let named_like_macro = inner.is_some_and(|inner| {
                        inner.kind() == "identifier"
                            && !self.node_text(inner).chars().any(char::is_lowercase)
                    });
                    if !(is_macro && named_like_macro) {
                        return false;
                    }
                    into.name = squeeze(self.node_text(bare[0]));
                    return true;
                }
                "reference_declarator"
                | "parenthesized_declarator"
                | "attributed_declarator"
                | "variadic_declarator"
                | "bitfield_clause" => {}
                _ => return false,
            }
            let inner = node.child_by_field_name("declarator").or_else(|| {
                let mut inner = named(node).into_iter();
                inner.rfind(|child| {
                    let kind = child.kind();
                    kind.ends_with("declarator") || kind.ends_with("identifier")
                })
            });
            match inner {
                Some(inner) => node = inner,
                None => return false,
            }
        }
    }

    /// Parameters of a function, given its declarator.
    pub(super) fn parameters(&mut self, declarator: Node<'_>) -> Vec<Declaration> {
        let mut declared = Vec::new();
        if let Some(list) = declarator.child_by_field_name("parameters") {
            for parameter in named(list) {
                declared.extend(self.declarations(parameter));
            }
        }
        declared
    }

    /// Constants of an enumeration, in order, with their values' expressions.
    pub(super) fn enumerators(&mut self, list: Node<'_>) -> Vec<Declaration> {
        let mut declared = Vec::new();
        for enumerator in named(list) {
            if let Some(name) = enumerator.child_by_field_name("name") {
                let value = enumerator.child_by_field_name("value");
                let span = self.span(enumerator);
                declared.push(Declaration {
                    name: self.node_text(name).to_owned(),
                    ty: "enum".to_owned(),
                    constant: true,
                    value: value.map(|value| self.expr(value)),
                    span,
                    ..Declaration::default()
                });
            }
        }
        declared
    }
}
