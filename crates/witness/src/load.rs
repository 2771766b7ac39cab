//! What happens when the library is loaded and when the program leaves by `exit`.

use crate::seen;

// Programs that merely link the crate, such as its tests, are not recorded.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = finish;

#[cfg_attr(test, allow(dead_code, reason = "only the library runs it"))]
extern "C" fn load() {
    seen::loaded();
}

#[cfg_attr(test, allow(dead_code, reason = "only the library runs it"))]
extern "C" fn finish() {
    seen::finish();
}
