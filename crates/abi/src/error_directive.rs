//! What gcc makes of `#pragma omp error at(execution)`.

use crate::fatal::{fatal, warn};
use std::ffi::CStr;
use std::slice;

/// The text of an `error` directive.
///
/// # Safety
/// `length` bytes can be read at `message`, or it is null.
unsafe fn directive(message: *const u8, length: usize) -> String {
    if message.is_null() {
        return "error directive encountered".to_owned();
    }
    // A length the compiler does not know is all ones; C strings end in a NUL.
    let bytes = if length == usize::MAX {
        // SAFETY: promised by the caller.
        unsafe { CStr::from_ptr(message.cast()) }.to_bytes()
    } else {
        // SAFETY: promised by the caller.
        unsafe { slice::from_raw_parts(message, length) }
    };
    let text = String::from_utf8_lossy(bytes);
    format!("error directive encountered: {text}")
}

/// `void GOMP_warning(const char *msg, size_t msglen)`: `#pragma omp error`
/// with `severity(warning)`.
///
/// # Safety
/// `length` bytes can be read at `message`, or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_warning(message: *const u8, length: usize) {
    // SAFETY: promised by the caller.
    let text = unsafe { directive(message, length) };
    warn(format_args!("{text}"));
}

/// `void GOMP_error(const char *msg, size_t msglen)`: `#pragma omp error`.
///
/// # Safety
/// As for [`GOMP_warning`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_error(message: *const u8, length: usize) {
    // SAFETY: promised by the caller.
    let text = unsafe { directive(message, length) };
    fatal(format_args!("{text}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

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
