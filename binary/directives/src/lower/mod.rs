//! From syntax trees to what the languages have in common.

pub(crate) mod c;
mod c_declare;
mod c_expr;
pub(crate) mod fortran;
mod fortran_declare;
mod fortran_expr;

use crate::ast::{Expr, ExprKind, Span};
use crate::text::macros::Macros;
use crate::text::{Marked, Prepared};
use fathomp_regions::Language;
use std::collections::HashMap;
use tree_sitter::{Node, Parser};

/// Deepest nesting of statements and expressions together that is followed.
const DEPTH_MAX: u32 = 160;

/// What lowering needs and gathers.
pub(crate) struct Lowering<'a> {
    /// The file and expanded macros.
    pub(crate) texts: Vec<String>,
    /// Which text is being lowered.
    current: u32,
    language: Language,
    directives: &'a [Marked],
    macros: &'a Macros,
    depth: u32,
    /// Expansions by their text, with the number of their text.
    expanded: HashMap<String, Option<Expr>>,
    /// Expansions inside which one is being lowered.
    expanding: u32,
    parser: Option<Parser>,
    /// Lines of what was too deep.
    pub(crate) too_deep: Vec<Span>,
}

impl<'a> Lowering<'a> {
    /// Lowering of a prepared file.
    pub(crate) fn new(language: Language, prepared: &'a Prepared) -> Self {
        Self {
            texts: vec![prepared.text.clone()],
            current: 0,
            language,
            directives: &prepared.directives,
            macros: &prepared.macros,
            depth: 0,
            expanded: HashMap::new(),
            expanding: 0,
            parser: None,
            too_deep: Vec::new(),
        }
    }

    /// The text of a span.
    pub(crate) fn text(&self, span: Span) -> &str {
        self.texts
            .get(span.text as usize)
            .and_then(|text| text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }

    fn span(&self, node: Node<'_>) -> Span {
        Span {
            text: self.current,
            start: node.start_byte() as u32,
            end: node.end_byte() as u32,
        }
    }

    fn node_text(&self, node: Node<'_>) -> &str {
        self.text(self.span(node))
    }

    fn other(&self, node: Node<'_>) -> Expr {
        Expr {
            kind: ExprKind::Other,
            span: self.span(node),
        }
    }

    /// Runs `inner` one level deeper; `None` if that is too deep.
    fn deeper<T>(&mut self, node: Node<'_>, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= DEPTH_MAX {
            let span = self.span(node);
            self.too_deep.push(span);
            return None;
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        Some(result)
    }

    /// The directive whose place is at this byte.
    fn directive_at(&self, at: usize) -> Option<usize> {
        if self.current != 0 {
            return None;
        }
        let at = u32::try_from(at).ok()?;
        self.directives
            .binary_search_by_key(&at, |marked| marked.at)
            .ok()
    }
}
