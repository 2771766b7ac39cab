//! Compiled programs, looked at by tools that may be missing.

/// A trial for each test function, under the names of its module and itself:
/// `trials!["module", &[GXX] => a, b]` with tools, `trials!["module", a, b]` without.
macro_rules! trials {
    ($module:literal, $tools:expr => $($check:ident),+ $(,)?) => {
        [$(fathomp_requirements::with_tools(concat!($module, "::", stringify!($check)), $tools, $check)),+]
    };
    ($module:literal, $($check:ident),+ $(,)?) => {
        [$(fathomp_requirements::plain(concat!($module, "::", stringify!($check)), $check)),+]
    };
}

mod extents;
mod places;

use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [extents::trials(), places::trials()]
        .into_iter()
        .flatten()
        .collect();
    fathomp_requirements::run(all)
}
