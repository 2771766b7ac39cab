//! The C library's error number, kept over code that the program did not call.

/// Puts the calling thread's `errno` back when dropped: the program's next look
/// at it must find what its own last call left.
#[derive(Debug)]
pub struct Saved(libc::c_int);

impl Saved {
    /// Notes the present value.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        // SAFETY: always a valid pointer to this thread's own variable.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Default for Saved {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Saved {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 };
    }
}
