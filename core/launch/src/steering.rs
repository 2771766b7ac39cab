//! Which variables steer OpenMP runtimes, the loader and us: one list for all that keep
//! them from a program that is to be measured, or note them of one that is recorded.

use crate::names::KEY;

/// What puts libraries in front of those that a program asks for.
pub const PRELOAD: &str = "LD_PRELOAD";
/// Tools that runtimes with OMPT try in turn.
pub const TOOL_LIBRARIES: &str = "OMP_TOOL_LIBRARIES";
/// Makes the loader bind all functions before the program begins.
pub const BIND_NOW: &str = "LD_BIND_NOW";
/// Where the loader looks for libraries first.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

const PREFIXES: [&str; 5] = ["OMP_", "GOMP_", "KMP_", "FATHOMP_", "LD_"];

/// Whether a variable steers OpenMP runtimes, the loader or us.
#[must_use]
pub fn steers(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether recordings note a variable: those that steer, but no secrets. Others than those
/// that steer may be secrets, too.
#[must_use]
pub fn is_noted(name: &str) -> bool {
    steers(name) && name != KEY.name
}

/// Whether a variable is kept from programs that are measured: the user may have set it for
/// other programs. Where libraries lie is no such wish: without it compilers' own runtimes
/// may not be found.
#[must_use]
pub fn is_kept_from_measurements(name: &str) -> bool {
    steers(name) && name != LIBRARY_PATH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_we_set_steers() {
        let ours = crate::names::ALL.iter().map(|variable| variable.name);
        for name in ours.chain([PRELOAD, BIND_NOW, "OMP_NUM_THREADS", "GOMP_SPINCOUNT"]) {
            assert!(steers(name) && is_kept_from_measurements(name), "{name}");
        }
        assert!(!steers("PATH") && !steers("MY_OMP_NUM_THREADS"));
        assert!(steers(LIBRARY_PATH) && !is_kept_from_measurements(LIBRARY_PATH));
    }

    #[test]
    fn keys_are_not_noted() {
        assert!(is_noted("FATHOMP_DSM") && is_noted(PRELOAD));
        assert!(!is_noted(KEY.name) && !is_noted("HOME"));
    }
}
