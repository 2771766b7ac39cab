//! Syntax trees: parsing within a time limit, and what could not be read.

use fathomp_grammars::{Grammar, LoadError};
use fathomp_regions::Language;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tree_sitter::{LanguageError, Node, ParseOptions, Parser, Tree};

/// Time for any file.
const PARSE_TIMEOUT: Duration = Duration::from_secs(10);
/// More for each of its MiB.
const PARSE_TIMEOUT_PER_MIB: Duration = Duration::from_secs(4);

/// Why a text was not parsed.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Parsing it takes too long.
    #[error("takes too long to parse: leave it out")]
    TooLong,
    /// The grammar of its language cannot be had.
    #[error(transparent)]
    Grammar(#[from] LoadError),
    /// The grammar of its language is of another generation than the library that parses.
    #[error("the grammar does not suit the parser ({0}): please report this as a bug of fathomp")]
    Version(LanguageError),
}

/// Parses a text.
pub(crate) fn parse(language: Language, text: &str) -> Result<Tree, ParseError> {
    let mut parser = parser(language)?;
    let mib = u32::try_from(text.len() >> 20).unwrap_or(u32::MAX);
    let limit = PARSE_TIMEOUT + PARSE_TIMEOUT_PER_MIB.saturating_mul(mib);
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
    let tree = parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or(&[]),
        None,
        Some(options),
    );
    tree.ok_or(ParseError::TooLong)
}

/// A parser for small texts in a language.
pub(crate) fn parser(language: Language) -> Result<Parser, ParseError> {
    let grammar = match language {
        Language::C => Grammar::C,
        Language::Cpp => Grammar::Cpp,
        Language::FortranFree | Language::FortranFixed => Grammar::Fortran,
    };
    let mut parser = Parser::new();
    let grammar = fathomp_grammars::language(grammar)?;
    parser.set_language(&grammar).map_err(ParseError::Version)?;
    Ok(parser)
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
