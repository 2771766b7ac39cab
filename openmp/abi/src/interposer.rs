//! Looking for the interposer (`paging/interposer`), which records paging where it is loaded.

use fathomp_omp::interposer::{self, Interposer};
use fathomp_types::interposer::{Function, Interface, SYMBOL, SharedCount, VERSION};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// Lets the runtime look for it when it starts.
pub(crate) fn expect() {
    interposer::expect(find);
}

/// Where the interposer's function is; null if no interposer is loaded.
#[must_use]
pub fn address() -> *mut c_void {
    // SAFETY: the name is a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, SYMBOL.as_ptr()) }
}

static INTERFACE: OnceLock<&'static Interface> = OnceLock::new();
static INTERPOSER: OnceLock<Interposer> = OnceLock::new();

/// The interposer, if there is one and it records in this process.
fn find() -> Option<&'static Interposer> {
    let function = address();
    if function.is_null() {
        return None;
    }
    // SAFETY: what has this name is the interposer's function, of this type.
    let function = unsafe { std::mem::transmute::<*mut c_void, Function>(function) };
    // SAFETY: any version may be asked for. What is returned is null or an interface of that
    // version in the interposer's own memory, and preloaded libraries stay.
    let found: &'static Interface = unsafe { function(VERSION).as_ref()? };
    let interface = INTERFACE.get_or_init(|| found);
    Some(INTERPOSER.get_or_init(|| Interposer {
        interface,
        number,
        counters,
    }))
}

fn number(text: &str) -> u32 {
    INTERFACE.get().map_or(0, |interface| {
        // SAFETY: so many bytes of UTF-8.
        unsafe { (interface.name)(text.as_ptr().cast(), text.len()) }
    })
}

fn counters(words: &'static [AtomicU64; SharedCount::COUNT]) {
    if let Some(interface) = INTERFACE.get() {
        // SAFETY: so many words, which stay for ever.
        unsafe { (interface.counters)(words.as_ptr()) };
    }
}
