//! The pages: templates filled, style and script put in.

use crate::runtimes::Comparison;
use crate::section::Section;
use crate::{Input, compare, view};
use fathomp_advise::evaluate::Evaluation;
use fathomp_bench::summary::Summary;
use fathomp_diagnosis::Verdict;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value, context};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use thiserror::Error;

const TEMPLATES: [(&str, &str); 8] = [
    ("head.html", include_str!("assets/head.html")),
    ("parts.html", include_str!("assets/parts.html")),
    ("page.html", include_str!("assets/page.html")),
    ("bench.html", include_str!("assets/bench.html")),
    ("evaluation.html", include_str!("assets/evaluation.html")),
    ("comparison.html", include_str!("assets/comparison.html")),
    ("share.html", include_str!("assets/share.html")),
    ("runtimes.html", include_str!("assets/runtimes.html")),
];
const STYLE: &str = include_str!("assets/style.css");
/// Parts of one script: what comes first is known to what follows. Between both are those of
/// sections.
const SCRIPT_BEGIN: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("assets/page.js"),
    include_str!("assets/plane.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/shades.js"),
    include_str!("assets/ranks.js"),
    include_str!("assets/share.js"),
);
const SCRIPT_END: &str = concat!(include_str!("assets/start.js"), "})();\n");

/// Why a page could not be made.
#[derive(Debug, Error)]
pub enum PageError {
    /// The template and the data do not fit together.
    #[error("the report page could not be filled in ({0}); please report this as a bug of fathomp")]
    Template(#[from] minijinja::Error),
}

/// One HTML page with everything in it, and what `verdict` concludes from that
/// ([`Input::conclude`]).
///
/// It loads nothing and needs no network; its content policy admits only its
/// own script and style, by their hashes.
///
/// # Errors
/// If the template does not fit the data, which is a bug.
pub fn page(input: &Input<'_>, verdict: &Verdict) -> Result<String, PageError> {
    let (page, data) = view::build(input, verdict);
    let data = Value::from(Serde(&data));
    render_with(input.sections, "page.html", &page, data)
}

/// One HTML page about benchmark results, likewise complete; `notes` are added
/// to what makes it doubtful.
///
/// # Errors
/// If the template does not fit the data, which is a bug.
pub fn bench_page(summary: &Summary, notes: &[String]) -> Result<String, PageError> {
    render(
        "bench.html",
        &view::bench::build(summary, notes),
        Value::UNDEFINED,
    )
}

/// One HTML page about an evaluation of predictions, likewise complete; `notes` say how it
/// was measured.
///
/// # Errors
/// If the template does not fit the data, which is a bug.
pub fn evaluation_page(evaluation: &Evaluation, notes: &[String]) -> Result<String, PageError> {
    render(
        "evaluation.html",
        &view::evaluation::build(evaluation, notes),
        Value::UNDEFINED,
    )
}

/// One HTML page about one program on several runtimes, likewise complete.
///
/// # Errors
/// If the template does not fit the data, which is a bug.
pub fn runtimes_page(comparison: &Comparison<'_>) -> Result<String, PageError> {
    render(
        "runtimes.html",
        &view::runtimes::build(comparison),
        Value::UNDEFINED,
    )
}

/// One HTML page about a program before and after a change, likewise complete.
///
/// # Errors
/// If the template does not fit the data, which is a bug.
pub fn comparison_page(comparison: &compare::Comparison) -> Result<String, PageError> {
    render(
        "comparison.html",
        &view::comparison::build(comparison),
        Value::UNDEFINED,
    )
}

pub(crate) fn render<T: Serialize>(
    template: &str,
    page: &T,
    data: Value,
) -> Result<String, PageError> {
    render_with(&[], template, page, data)
}

/// The same with what sections bring.
fn render_with<T: Serialize>(
    sections: &[&dyn Section],
    template: &str,
    page: &T,
    data: Value,
) -> Result<String, PageError> {
    let brought: String = sections.iter().map(|one| one.script()).collect();
    let script = [SCRIPT_BEGIN, &brought, SCRIPT_END].concat();
    let script_hash = hash(&script);
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("length", length);
    environment.add_filter("tojson", to_json);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    for section in sections {
        environment.add_template(section.id(), section.template())?;
    }
    let html = environment.get_template(template)?.render(context! {
        page => Value::from(Serde(page)),
        data => data,
        version => env!("CARGO_PKG_VERSION"),
        style => STYLE,
        script => script,
        style_hash => hash(STYLE),
        script_hash,
    })?;
    Ok(html)
}

/// Number of elements of a list.
fn length(list: &Value) -> Result<usize, minijinja::Error> {
    let no_list = || minijinja::Error::new(ErrorKind::InvalidOperation, "length of no list");
    list.len().ok_or_else(no_list)
}

/// JSON that can stand inside a script: no character of it means anything to HTML.
fn to_json(value: &Value) -> Result<Value, minijinja::Error> {
    let json = serde_json::to_string(value)
        .map_err(|error| minijinja::Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            // They stand in texts alone, where JSON admits this instead.
            '<' | '>' | '&' | '\'' => {
                // Writing to a string does not fail.
                let _ = write!(safe, "\\u{:04x}", u32::from(character));
            }
            _ => safe.push(character),
        }
    }
    Ok(Value::from_safe_string(safe))
}

/// The hash of an inline script or style as a content policy wants it.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = 0u32;
        for (index, byte) in chunk.iter().enumerate() {
            group |= u32::from(*byte) << (16 - 8 * index);
        }
        for index in 0..4 {
            if index <= chunk.len() {
                let digit = group >> (18 - 6 * index) & 63;
                text.push(DIGITS[digit as usize] as char);
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base64, to_json};
    use minijinja::Value;

    #[test]
    fn json_inside_a_script_means_nothing_to_html() {
        let said = "</script><!-- & it's \u{e9}";
        let json = to_json(&Value::from(said)).unwrap();
        let json = json.as_str().unwrap();
        assert!(!json.contains(['<', '>', '&', '\'']), "{json}");
        let read: String = serde_json::from_str(json).unwrap();
        assert_eq!(read, said);
    }

    #[test]
    fn base64_follows_the_examples_of_rfc_4648() {
        for (text, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }
}
