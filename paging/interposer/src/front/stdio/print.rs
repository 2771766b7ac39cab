//! Formatted output.
//!
//! How much it will be shows only afterwards. So it is taken to be like the last; what is
//! then written against expectation is recorded afterwards.
//!
//! Functions with any number of arguments are in `c/variadic.c` and come here.

use super::asked::{Asked, Guess};
use super::output::{effect, given, standard};
use super::stream::{File, Peek};
use crate::engine::{Call, Effect};
use crate::front::descriptors;
use fathomp_sys::clock;
use fathomp_types::Ticks;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// C's `va_list` as a parameter.
type Arguments = *mut c_void;

/// The least room in a buffer that is taken to suffice.
const ROOM_MIN: usize = 128;

/// Bytes of the last output, in any thread.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// A call begins.
struct Printing {
    file: File,
    asked: Option<Asked>,
    before: Peek,
    begin: Ticks,
}

impl Printing {
    fn begin(call: &Call, file: File) -> Self {
        let expected = ROOM_MIN.max(2 * LAST.load(Ordering::Relaxed));
        // SAFETY: promised by our caller's caller.
        unsafe {
            let asked = Asked::begin(call, file, |peek| match peek {
                peek if peek.is_unbuffered() => Guess::Yes,
                peek if peek.is_fresh() || peek.writes_lines() => Guess::Perhaps,
                peek if peek.room() < expected => Guess::Perhaps,
                _ => Guess::No,
            });
            Self {
                file,
                asked,
                before: Peek::of(file),
                begin: clock::now(),
            }
        }
    }

    fn end(self, call: &Call, result: c_int) {
        let accepted = usize::try_from(result).unwrap_or(0);
        LAST.store(accepted, Ordering::Relaxed);
        if self.asked.is_some() {
            return given(self.asked, self.file, accepted);
        }
        let descriptor = self.before.descriptor();
        if descriptor >= 0 {
            // SAFETY: promised by our caller's caller.
            let after = unsafe { Peek::of(self.file) };
            let effect = effect(&self.before, &after, accepted);
            if effect.written > 0 {
                call.did(descriptors::activity(descriptor), self.begin, effect);
            }
        }
    }
}

front! {
    |call| (call, Printing::begin(call, file)), |printing, result| printing.1.end(printing.0, result);
    vfprintf | _IO_vfprintf(file: File, format: *const c_char, arguments: Arguments) -> c_int;
    __vfprintf_chk(file: File, flag: c_int, format: *const c_char, arguments: Arguments) -> c_int;
}

front! {
    |call| (call, Printing::begin(call, standard())), |printing, result| printing.1.end(printing.0, result);
    vprintf(format: *const c_char, arguments: Arguments) -> c_int;
    __vprintf_chk(flag: c_int, format: *const c_char, arguments: Arguments) -> c_int;
}

front! {
    |call| call.enter(descriptors::activity(file)),
    |stay, result| stay.leave_with(Effect::written(result as isize));
    vdprintf(file: c_int, format: *const c_char, arguments: Arguments) -> c_int;
    __vdprintf_chk(file: c_int, flag: c_int, format: *const c_char, arguments: Arguments) -> c_int;
}

front! {
    |call| call.enter(descriptors::activity(libc::STDERR_FILENO)),
    |stay, result| stay.leave_with(Effect { counted: 1, ..Effect::NONE });
    perror(text: *const c_char) -> ();
}
