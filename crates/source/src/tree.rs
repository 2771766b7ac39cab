//! Syntax trees: parsing within a time limit, and what could not be read.

use fathomp_regions::Language;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Time for any file.
const LIMIT: Duration = Duration::from_secs(10);
/// More for each of its MiB.
const LIMIT_PER_MIB: Duration = Duration::from_secs(4);

/// Parses a text; `None` if that takes too long.
pub(crate) fn parse(language: Language, text: &str) -> Option<Tree> {
    let mut parser = parser(language)?;
    let mib = u32::try_from(text.len() >> 20).unwrap_or(u32::MAX);
    let limit = LIMIT + LIMIT_PER_MIB.saturating_mul(mib);
    let begin = Instant::now();
    let mut in_time = |_: &tree_sitter::ParseState| {
        if begin.elapsed() > limit {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut in_time);
    let bytes = text.as_bytes();
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or(&[]),
        None,
        Some(options),
    )
}

/// A parser for small texts in a language; none if the grammar does not suit the library.
pub(crate) fn parser(language: Language) -> Option<Parser> {
    let grammar = match language {
        Language::C => tree_sitter_c::LANGUAGE,
        Language::Cpp => tree_sitter_cpp::LANGUAGE,
        Language::FortranFree | Language::FortranFixed => tree_sitter_fortran::LANGUAGE,
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar.into()).ok()?;
    Some(parser)
}

/// Bytes of the parts that are in no grammar.
pub(crate) fn errors(tree: &Tree) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        if node.is_error() || node.is_missing() {
            found.push((node.start_byte() as u32, node.end_byte() as u32));
        } else if node.has_error() {
            open.extend(children(node));
        }
    }
    found.sort_unstable();
    found
}

/// All children of a node.
pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// Its children that are no signs and no comments.
pub(crate) fn named(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk())
        .filter(|child| child.kind() != "comment")
        .collect()
}

/// Its first named child of this kind.
pub(crate) fn child_of_kind<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    named(node).into_iter().find(|child| child.kind() == kind)
}
