//! What one library does at the end of a process.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// C's `Elf64_Dyn`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Entry {
    tag: i64,
    value: u64,
}

/// The begin of the C library's `struct link_map`.
#[repr(C)]
struct LinkMap {
    bias: usize,
    name: *const libc::c_char,
    dynamic: *const Entry,
}

/// Tags of entries, and what `dladdr1` is asked for (`elf.h`, `dlfcn.h`).
const NULL: i64 = 0;
const FINI_ARRAY: i64 = 26;
const FINI_ARRAY_BYTES: i64 = 28;
const LINK_MAP: libc::c_int = 2;

/// Runs the functions that the library with code at `address` has for the end of a process, in
/// the order in which they run there: the last one first.
///
/// # Safety
/// They are not run otherwise, and bear being run now, on this thread.
pub unsafe fn run(address: *const c_void) {
    let mut found = MaybeUninit::uninit();
    let mut map: *mut LinkMap = ptr::null_mut();
    // SAFETY: places for what the loader tells; with this request, that is a link map.
    let known =
        unsafe { libc::dladdr1(address, found.as_mut_ptr(), (&raw mut map).cast(), LINK_MAP) };
    if known == 0 {
        return;
    }
    // SAFETY: null or the library's, which stays loaded: our caller runs its functions.
    let Some(map) = (unsafe { map.as_ref() }) else {
        return;
    };
    let (mut functions, mut bytes) = (None, 0);
    let mut at = map.dynamic;
    // SAFETY: the loader has read this table, up to an entry of that tag.
    while !at.is_null() && unsafe { (*at).tag } != NULL {
        // SAFETY: as above.
        let Entry { tag, value } = unsafe { *at };
        match (tag, usize::try_from(value)) {
            (FINI_ARRAY, Ok(value)) => functions = map.bias.checked_add(value),
            (FINI_ARRAY_BYTES, Ok(value)) => bytes = value,
            _ => {}
        }
        at = at.wrapping_add(1);
    }
    let Some(functions) = functions else {
        return;
    };
    let functions: *const extern "C" fn() = ptr::with_exposed_provenance(functions);
    for number in (0..bytes / size_of::<extern "C" fn()>()).rev() {
        // SAFETY: there are so many, which the loader has relocated.
        let function = unsafe { functions.add(number).read() };
        function();
    }
}
