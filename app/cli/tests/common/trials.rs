//! Trials that are named as the harness of the language names tests.

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
