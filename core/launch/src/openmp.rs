//! OpenMP's own variables, as far as launchers set them.

use crate::value::{Lookup, Variables};
use std::ffi::OsString;

/// Number of threads (OpenMP 5.1, section 6.2).
pub const NUM_THREADS: &str = "OMP_NUM_THREADS";
/// Whether teams may be smaller than asked for (section 6.3).
pub const DYNAMIC: &str = "OMP_DYNAMIC";
/// Whether and how threads are bound to places (section 6.4).
pub const PROC_BIND: &str = "OMP_PROC_BIND";
/// The places (section 6.5).
pub const PLACES: &str = "OMP_PLACES";
/// The schedule of loops that leave it open (section 6.1).
pub const SCHEDULE: &str = "OMP_SCHEDULE";
/// How threads wait (section 6.7).
pub const WAIT_POLICY: &str = "OMP_WAIT_POLICY";

/// What OpenMP's own variables are set to; what is none is left as the user has it. The
/// runtime judges the texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenMp {
    /// Threads in all, those of all nodes together.
    pub threads: Option<u32>,
    /// Whether teams may be smaller than asked for.
    pub dynamic: Option<bool>,
    /// How threads are bound.
    pub proc_bind: Option<OsString>,
    /// To which places.
    pub places: Option<OsString>,
    /// How loops are scheduled that leave it open.
    pub schedule: Option<OsString>,
    /// How threads wait.
    pub wait_policy: Option<OsString>,
}

impl OpenMp {
    /// What the environment says, where it says something that launchers may set.
    #[must_use]
    pub fn from_env(get: Lookup<'_>) -> Self {
        let truth = |value: OsString| match value.to_str()?.trim() {
            word if word.eq_ignore_ascii_case("true") => Some(true),
            word if word.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        };
        Self {
            threads: get(NUM_THREADS).and_then(|list| first_of_list(list.to_str()?)),
            dynamic: get(DYNAMIC).and_then(truth),
            proc_bind: get(PROC_BIND),
            places: get(PLACES),
            schedule: get(SCHEDULE),
            wait_policy: get(WAIT_POLICY),
        }
    }

    pub(crate) fn variables(&self, to: &mut Variables) {
        let threads = self.threads.map(|threads| threads.to_string().into());
        let dynamic = self.dynamic.map(|dynamic| dynamic.to_string().into());
        let all = [
            (NUM_THREADS, threads),
            (DYNAMIC, dynamic),
            (PROC_BIND, self.proc_bind.clone()),
            (PLACES, self.places.clone()),
            (SCHEDULE, self.schedule.clone()),
            (WAIT_POLICY, self.wait_policy.clone()),
        ];
        let set = |(name, value): (&'static str, Option<OsString>)| Some((name, value?));
        to.extend(all.into_iter().filter_map(set));
    }
}

/// Threads of the first level in a list as [`NUM_THREADS`] has it.
#[must_use]
pub fn first_of_list(list: &str) -> Option<u32> {
    let first = list.split(',').next()?.trim().parse().ok();
    first.filter(|threads| *threads > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_begin_with_the_outer_level() {
        assert_eq!(first_of_list("4"), Some(4));
        assert_eq!(first_of_list(" 8 , 2"), Some(8));
        for bad in ["", ",2", "0", "-1", "many", "4294967296"] {
            assert_eq!(first_of_list(bad), None, "{bad}");
        }
    }
}
