//! Writing to streams.

use super::asked::{Asked, Guess};
use super::stream::{File, Peek, writes};
use crate::engine::{Call, Effect};
use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    static stdout: File;
}

/// The standard output.
pub(super) fn standard() -> File {
    // SAFETY: a variable of the C library, which the program may set.
    unsafe { (&raw const stdout).read_volatile() }
}

/// A call begins that gives so many bytes, among which `ends_line` finds the end of a line.
#[inline]
fn give(call: &Call, file: File, bytes: usize, ends_line: impl FnOnce() -> bool) -> Option<Asked> {
    // SAFETY: promised by our caller's caller.
    unsafe {
        Asked::begin(call, file, |peek| match peek {
            peek if peek.is_fresh() => Guess::Perhaps,
            peek if bytes > peek.room() => Guess::Yes,
            peek if peek.writes_lines() && ends_line() => Guess::Yes,
            _ => Guess::No,
        })
    }
}

/// A call ends that gave so many bytes.
pub(super) fn given(asked: Option<Asked>, file: File, accepted: usize) {
    let Some(asked) = asked else { return };
    // SAFETY: promised by our caller's caller.
    let after = unsafe { Peek::of(file) };
    let effect = effect(&asked.before, &after, accepted);
    asked.end(effect);
}

/// What writing so many bytes did to a stream.
pub(super) fn effect(before: &Peek, after: &Peek, accepted: usize) -> Effect {
    let written = after.written_since(before, accepted);
    Effect {
        read: 0,
        written: written as u64,
        counted: writes(written, before.pending(), after.buffer_bytes()),
    }
}

const NEWLINE: c_int = b'\n' as c_int;

fn is_newline(byte: c_int) -> bool {
    // What is written is the lowest byte.
    byte & 0xff == NEWLINE
}

front! {
    |call| give(call, file, 1, || is_newline(byte)),
    |asked, result| given(asked, file, usize::from(result >= 0));
    fputc | putc | _IO_putc | fputc_unlocked | putc_unlocked(byte: c_int, file: File) -> c_int;
}

front! {
    |call| give(call, standard(), 1, || is_newline(byte)),
    |asked, result| given(asked, standard(), usize::from(result >= 0));
    putchar | putchar_unlocked(byte: c_int) -> c_int;
}

front! {
    // What the macros of the header call when the buffer is full or a line ends; or, with no
    // byte, to have it written.
    |call| give(call, file, if byte == -1 { usize::MAX } else { 1 }, || is_newline(byte)),
    |asked, result| given(asked, file, usize::from(byte != -1 && result >= 0));
    __overflow(file: File, byte: c_int) -> c_int;
}

fn length(text: *const c_char) -> usize {
    // SAFETY: a string; promised by our caller's caller.
    unsafe { libc::strlen(text) }
}

/// Whether a line ends among bytes.
fn holds_newline(bytes: *const c_void, length: usize) -> bool {
    // SAFETY: there are so many; promised by our caller's caller.
    unsafe { !libc::memchr(bytes, NEWLINE, length).is_null() }
}

front! {
    |call| {
        let bytes = length(text);
        (bytes, give(call, file, bytes, || holds_newline(text.cast(), bytes)))
    },
    |asked, result| given(asked.1, file, if result >= 0 { asked.0 } else { 0 });
    fputs | fputs_unlocked | _IO_fputs(text: *const c_char, file: File) -> c_int;
}

front! {
    |call| {
        let bytes = length(text) + 1;
        (bytes, give(call, standard(), bytes, || true))
    },
    |asked, result| given(asked.1, standard(), if result >= 0 { asked.0 } else { 0 });
    puts | _IO_puts(text: *const c_char) -> c_int;
}

front! {
    |call| {
        let bytes = size.saturating_mul(count);
        give(call, file, bytes, || holds_newline(buffer, bytes))
    },
    |asked, result| given(asked, file, size.saturating_mul(result));
    fwrite | fwrite_unlocked | _IO_fwrite(buffer: *const c_void, size: usize, count: usize, file: File) -> usize;
}
