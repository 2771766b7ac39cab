//! Nesting of regions.

use super::{ask, ask_with, count, update_icvs};
use fathomp_omp::icv::SUPPORTED_ACTIVE_LEVELS;
use fathomp_omp::{current, query};

ask! {
    /// Enclosing regions.
    omp_get_level, omp_get_level_ -> i32 = count(current().team().level());
    /// Enclosing regions of more than one thread.
    omp_get_active_level, omp_get_active_level_ -> i32 = count(current().team().active_level());
    /// `max-active-levels-var`.
    omp_get_max_active_levels, omp_get_max_active_levels_ -> i32 =
        i32::from(current().icvs().max_active_levels);
    /// Largest value of `max-active-levels-var`.
    omp_get_supported_active_levels, omp_get_supported_active_levels_ -> i32 =
        i32::from(SUPPORTED_ACTIVE_LEVELS);
    /// Whether a region met now could be active inside others (deprecated).
    omp_get_nested, omp_get_nested_ -> i32 = {
        let levels = u32::from(current().icvs().max_active_levels);
        i32::from(levels > 1 && levels > current().team().active_level())
    };
}

ask_with! {
    /// Sets `max-active-levels-var`. A negative number has no effect, one
    /// above the supported number counts as that.
    omp_set_max_active_levels, omp_set_max_active_levels_, omp_set_max_active_levels_8_
    (levels) -> () = {
        if levels >= 0 {
            let levels = u8::try_from(levels).unwrap_or(SUPPORTED_ACTIVE_LEVELS);
            update_icvs(|icvs| icvs.max_active_levels = levels);
        }
    };
    /// Allows or forbids active regions inside others (deprecated).
    omp_set_nested, omp_set_nested_, omp_set_nested_8_ (nested) -> () = update_icvs(|icvs| {
        icvs.max_active_levels = match nested {
            0 => icvs.max_active_levels.min(1),
            _ => SUPPORTED_ACTIVE_LEVELS,
        };
    });
    /// Thread number of the caller's ancestor at a nesting level; -1 if there
    /// is no such level.
    omp_get_ancestor_thread_num, omp_get_ancestor_thread_num_, omp_get_ancestor_thread_num_8_
    (level) -> i32 = query::ancestor_thread_num(level);
    /// Size of the team at a nesting level; -1 if there is no such level.
    omp_get_team_size, omp_get_team_size_, omp_get_team_size_8_ (level) -> i32 =
        query::team_size(level);
}
