//! The next library's version of a function that we stand in front of.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function found by name at its first use.
#[derive(Debug)]
pub struct Next {
    name: &'static CStr,
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
}

impl Next {
    /// The function of that name.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            version: None,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The function of that name and symbol version, or of that name, if nobody has that
    /// version.
    #[must_use]
    pub const fn of_version(name: &'static CStr, version: &'static CStr) -> Self {
        Self {
            name,
            version: Some(version),
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The function's name.
    #[must_use]
    pub fn name(&self) -> &'static CStr {
        self.name
    }

    /// Its address in the libraries that come after ours; null if there is none.
    #[inline]
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    /// The function itself, unless there is none.
    ///
    /// # Safety
    /// A function of that name has the type `F`, which is one of functions.
    #[inline]
    #[must_use]
    pub unsafe fn function<F>(&self) -> Option<F> {
        let address = self.address();
        // SAFETY: promised by our caller.
        (!address.is_null()).then(|| unsafe { function(address) })
    }

    /// Makes that address known.
    pub fn set(&self, address: *mut c_void) {
        self.found.store(address, Ordering::Relaxed);
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let mut found = std::ptr::null_mut();
        if let Some(version) = self.version {
            // SAFETY: both are C strings.
            found = unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()) };
        }
        if found.is_null() {
            // SAFETY: the name is a C string.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        }
        // Not a tail call of `dlsym`: it looks at its return address to find out whose
        // next library is meant.
        self.set(found);
        found
    }
}

/// Turns the address of a function into the function.
///
/// # Safety
/// The function there has the type `F`, which is one of functions.
#[inline(always)]
#[must_use]
pub unsafe fn function<F>(address: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: promised by our caller; both are addresses.
    unsafe { std::mem::transmute_copy(&address) }
}

/// A text that ends with a null byte, as macros put names together, as a C string; an empty one
/// if there is another null byte, or none.
#[must_use]
pub const fn c_string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

/// The function of that name in any loaded library whose path is wanted, also in those that only
/// some other library knows, as with interpreters that load modules privately. Null if there is
/// none.
#[must_use]
pub fn in_any(name: &CStr, is_wanted: impl Fn(&[u8]) -> bool) -> *mut c_void {
    let mut paths = Vec::<CString>::new();
    // SAFETY: the function gets what it expects, and is not kept.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut paths).cast()) };
    for path in paths.iter().filter(|path| is_wanted(path.to_bytes())) {
        // The library stays as long as others keep it, and is not loaded anew. Ours does not
        // count among what it needs.
        // SAFETY: a path, and no constructors run.
        let found = unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                continue;
            }
            libc::dlsym(library, name.as_ptr())
        };
        if !found.is_null() {
            return found;
        }
    }
    std::ptr::null_mut()
}

/// The last part of a path: the folder that a library lies in says nothing about the library.
#[must_use]
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

unsafe extern "C" fn collect(
    module: *mut libc::dl_phdr_info,
    _bytes: usize,
    paths: *mut c_void,
) -> c_int {
    // SAFETY: as `dl_iterate_phdr` promises, and what it was given above.
    let (path, paths) = unsafe {
        let path: *const c_char = (*module).dlpi_name;
        if path.is_null() {
            return 0;
        }
        (CStr::from_ptr(path), &mut *paths.cast::<Vec<CString>>())
    };
    if !path.is_empty() {
        paths.push(path.to_owned());
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_are_not_wanted_are_passed_over() {
        let c_library = |path: &[u8]| path.windows(7).any(|part| part == b"libc.so");
        assert!(!in_any(c"getpid", c_library).is_null());
        assert!(in_any(c"getpid", |_| false).is_null());
        assert!(in_any(c"no_such_function", |_| true).is_null());
    }
}
