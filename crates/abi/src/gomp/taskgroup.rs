//! `taskgroup`.

use fathomp_omp::{current, task};

/// `void GOMP_taskgroup_start(void)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_start() {
    task::group_start(current());
}

/// `void GOMP_taskgroup_end(void)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_end() {
    task::group_end(current());
}
