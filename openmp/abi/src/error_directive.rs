//! What gcc makes of `#pragma omp error at(execution)`.

use crate::entry::entries;
use crate::fatal::{fatal, warn};
use fathomp_omp::observer::{self, Severity};
use std::ffi::CStr;
use std::slice;

/// How many bytes a message has: a length the compiler does not know is all ones, and C strings
/// end in a NUL.
///
/// # Safety
/// `length` bytes can be read at `message`, or it is null.
unsafe fn known(message: *const u8, length: usize) -> usize {
    if message.is_null() {
        return 0;
    }
    match length {
        // SAFETY: promised by the caller.
        usize::MAX => unsafe { CStr::from_ptr(message.cast()) }.count_bytes(),
        length => length,
    }
}

/// The text of an `error` directive.
///
/// # Safety
/// `length` bytes can be read at `message`, or it is null.
unsafe fn directive(message: *const u8, length: usize) -> String {
    if message.is_null() {
        return "error directive encountered".to_owned();
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { slice::from_raw_parts(message, known(message, length)) };
    let text = String::from_utf8_lossy(bytes);
    format!("error directive encountered: {text}")
}

entries! {
    /// `void GOMP_warning(const char *msg, size_t msglen)`: `#pragma omp error`
    /// with `severity(warning)`.
    fn GOMP_warning(message: *const u8, length: usize) {
        // SAFETY: these are the arguments of the entry point.
        unsafe { warning(message, length) };
    }
    /// `void GOMP_error(const char *msg, size_t msglen)`: `#pragma omp error`.
    fn GOMP_error(message: *const u8, length: usize) {
        // SAFETY: these are the arguments of the entry point.
        unsafe { error(message, length) };
    }
}

/// What `GOMP_warning` does.
///
/// # Safety
/// As of [`directive`].
pub(crate) unsafe fn warning(message: *const u8, length: usize) {
    // SAFETY: promised by the caller.
    let length = unsafe { known(message, length) };
    observer::error(Severity::Warning, message.cast(), length);
    // SAFETY: promised by the caller.
    let text = unsafe { directive(message, length) };
    warn(format_args!("{text}"));
}

/// What `GOMP_error` does.
///
/// # Safety
/// As of [`directive`].
pub(crate) unsafe fn error(message: *const u8, length: usize) {
    // SAFETY: promised by the caller.
    let length = unsafe { known(message, length) };
    observer::error(Severity::Fatal, message.cast(), length);
    // SAFETY: promised by the caller.
    let text = unsafe { directive(message, length) };
    fatal(format_args!("{text}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn tools_are_told_how_long_a_message_is() {
        // SAFETY: strings of those lengths, or with a NUL.
        let lengths = unsafe {
            [
                known(ptr::null(), usize::MAX),
                known(b"oops".as_ptr(), 2),
                known(c"oops".as_ptr().cast(), usize::MAX),
            ]
        };
        assert_eq!(lengths, [0, 2, 4]);
    }

    #[test]
    fn the_text_of_an_error_directive() {
        // SAFETY: strings of those lengths, or with a NUL.
        let texts = unsafe {
            [
                directive(ptr::null(), 0),
                directive(b"oops".as_ptr(), 2),
                directive(c"oops".as_ptr().cast(), usize::MAX),
            ]
        };
        assert_eq!(
            texts,
            [
                "error directive encountered",
                "error directive encountered: oo",
                "error directive encountered: oops"
            ]
        );
    }
}
