//! The next library's version of a function that we stand in front of.

use std::ffi::{CStr, c_void};
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
