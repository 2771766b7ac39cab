//! Formatted input. Functions with any number of arguments are in `c/variadic.c`.

use super::asked::{Asked, Guess};
use super::input::standard;
use super::stream::{File, Peek};
use crate::engine::{Call, Effect};
use std::ffi::{c_char, c_int, c_void};

/// C's `va_list` as a parameter.
type Arguments = *mut c_void;

/// Bytes in a buffer that are taken to suffice.
const AHEAD_MIN: usize = 256;

fn begin(call: &Call, file: File) -> Option<Asked> {
    // SAFETY: promised by our caller's caller.
    unsafe {
        Asked::begin(call, file, |peek| match peek {
            peek if peek.ahead() >= AHEAD_MIN => Guess::No,
            peek if peek.ahead() == 0 && !peek.is_at_end() && !peek.is_in_backup() => Guess::Yes,
            _ => Guess::Perhaps,
        })
    }
}

fn end(asked: Option<Asked>, file: File) {
    let Some(asked) = asked else { return };
    // SAFETY: promised by our caller's caller.
    let after = unsafe { Peek::of(file) };
    let filled = after.was_filled(&asked.before);
    let met_end = after.is_at_end() && !asked.before.is_at_end();
    let effect = Effect {
        read: if filled { after.in_buffer() as u64 } else { 0 },
        written: 0,
        counted: u64::from(filled) + u64::from(met_end),
    };
    asked.end(effect);
}

front! {
    |call| begin(call, file), |asked, result| end(asked, file);
    vfscanf | __isoc99_vfscanf | __isoc23_vfscanf(file: File, format: *const c_char, arguments: Arguments) -> c_int;
}

front! {
    |call| begin(call, standard()), |asked, result| end(asked, standard());
    vscanf | __isoc99_vscanf | __isoc23_vscanf(format: *const c_char, arguments: Arguments) -> c_int;
}
