//! Names as the programmer wrote them.

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};
use std::fmt;

/// Longest name kept; longer ones end in an ellipsis.
const LONGEST: usize = 240;

/// Endings compilers give to functions they make out of others, each followed
/// by nothing or by a dot and a number.
const ENDINGS: [&str; 12] = [
    "_omp_fn",
    "_omp_cpyfn",
    "omp_outlined",
    "omp_outlined_debug__",
    "omp_task_entry",
    "constprop",
    "isra",
    "part",
    "cold",
    "lto_priv",
    "localalias",
    "extracted",
];

/// The name a programmer knows a symbol by: demangled, without parameters, and
/// with outlined pieces named after the function they were cut from
/// (`main._omp_fn.0` is `main`).
#[must_use]
pub fn readable(symbol: &str) -> String {
    let stem = without_endings(symbol);
    // Rust first: its older mangling is C++'s with a hash at the end.
    let name = rust(stem)
        .or_else(|| cpp(stem))
        .or_else(|| fortran(stem))
        .unwrap_or_else(|| stem.to_owned());
    shorten(&name)
}

/// Whether an outlined function's symbol does not tell what it was cut from.
pub(super) fn is_nameless(symbol: &str) -> bool {
    symbol.starts_with(".omp_")
}

/// Procedures of Fortran modules, as gfortran names them: `__module_MOD_name`.
fn fortran(symbol: &str) -> Option<String> {
    let (module, procedure) = symbol.strip_prefix("__")?.split_once("_MOD_")?;
    let whole = !module.is_empty() && !procedure.is_empty();
    whole.then(|| format!("{module}::{procedure}"))
}

/// The symbol that compilers made this one of.
pub(super) fn without_endings(symbol: &str) -> &str {
    let mut stem = symbol;
    loop {
        let unnumbered = match stem.rsplit_once('.') {
            Some((before, number))
                if !before.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                before
            }
            _ => stem,
        };
        match unnumbered.rsplit_once('.') {
            Some((before, ending)) if !before.is_empty() && ENDINGS.contains(&ending) => {
                stem = before;
            }
            _ => return stem,
        }
    }
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let parsed =
        Symbol::new_with_options(symbol, &ParseOptions::default().recursion_limit(96)).ok()?;
    let mut name = Bounded::default();
    let options = DemangleOptions::new().no_params().no_return_type();
    let done = parsed.structured_demangle(&mut name, &options);
    // Substitutions can make a short symbol explode; what was written until
    // then is still the beginning of its name.
    (done.is_ok() || name.full).then_some(name.text)
}

fn rust(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let mut text = Bounded::default();
    let done = fmt::write(&mut text, format_args!("{name:#}"));
    (done.is_ok() || text.full).then_some(text.text)
}

/// A string that takes a bounded amount of text.
#[derive(Default)]
struct Bounded {
    text: String,
    full: bool,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len() + text.len() > 16 * LONGEST {
            self.full = true;
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

fn shorten(name: &str) -> String {
    let clean: String = name
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    match clean.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", &clean[..cut]),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn outlined_functions_are_named_after_their_origin() {
        for (symbol, name) in [
            ("main._omp_fn.0", "main"),
            ("main._omp_fn.1._omp_fn.12", "main"),
            ("step.omp_outlined", "step"),
            ("step.omp_outlined.3", "step"),
            ("solve.constprop.0.isra.0", "solve"),
            ("_Z4stepRSt6vectorIdSaIdEE._omp_fn.2", "step"),
            ("_ZN4mesh6Domain4sortEv", "mesh::Domain::sort"),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
                "core::fmt::Formatter::pad",
            ),
            ("__solver_MOD_step._omp_fn.0", "solver::step"),
            ("MAIN__._omp_fn.0", "MAIN__"),
            ("my.part", "my"),
            (".part", ".part"),
            ("a.b.c", "a.b.c"),
            ("", ""),
        ] {
            assert_eq!(readable(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        let name = readable(&"x".repeat(10_000));
        assert_eq!(name.len(), LONGEST + 3);
    }

    proptest! {
        #[test]
        fn any_text_has_a_name(symbol in "(_Z|_R|\\.)?\\PC{0,200}") {
            let _ = readable(&symbol);
        }

        #[test]
        fn mangled_looking_text_has_a_name(symbol in "_Z[A-Za-z0-9_.]{0,200}") {
            let _ = readable(&symbol);
        }
    }
}
