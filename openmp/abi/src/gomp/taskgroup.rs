//! `taskgroup`.

use crate::entry::entries;
use fathomp_omp::{current, task};

entries! {
    /// `void GOMP_taskgroup_start(void)`
    fn GOMP_taskgroup_start() {
        task::group_start(current());
    }
    /// `void GOMP_taskgroup_end(void)`
    fn GOMP_taskgroup_end() {
        task::group_end(current());
    }
}
