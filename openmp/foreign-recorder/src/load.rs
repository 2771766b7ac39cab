//! What happens when the library is loaded and when the program leaves by `exit`.

use crate::seen;
use fathomp_sys::private_heap;

/// The loader calls it: `fathomp-runtime`'s build script puts it into the library's list of what is
/// to run first. Programs that merely link the crate, such as its tests, are not recorded.
#[unsafe(no_mangle)]
extern "C" fn fathomp_foreign_recorder_load() {
    private_heap::use_always();
    seen::loaded();
}

/// The loader calls it at the process's end, likewise.
#[unsafe(no_mangle)]
extern "C" fn fathomp_foreign_recorder_finish() {
    seen::finish();
}
