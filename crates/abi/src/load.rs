//! What happens when the library is loaded and when the process ends.

use fathomp_omp::runtime;

#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = runtime_finish;

extern "C" fn load() {
    runtime::read_environment();
}

extern "C" fn runtime_finish() {
    runtime::finish();
}
