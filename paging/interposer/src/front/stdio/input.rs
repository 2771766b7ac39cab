//! Reading from streams.

use super::asked::{Asked, Guess};
use super::stream::{File, Peek, block_reads};
use crate::engine::{Call, Effect};
use std::ffi::{c_char, c_int, c_void};
use std::slice;

unsafe extern "C" {
    static stdin: File;
}

/// The standard input.
pub(super) fn standard() -> File {
    // SAFETY: a variable of the C library, which the program may set.
    unsafe { (&raw const stdin).read_volatile() }
}

/// A call begins that wants one byte.
fn byte(call: &Call, file: File) -> Option<Asked> {
    // SAFETY: promised by our caller's caller.
    unsafe {
        Asked::begin(call, file, |peek| match peek {
            peek if peek.ahead() > 0 || peek.is_at_end() => Guess::No,
            peek if peek.is_in_backup() => Guess::Perhaps,
            _ => Guess::Yes,
        })
    }
}

/// It ends.
fn byte_read(asked: Option<Asked>, file: File, result: c_int) {
    if let Some(asked) = asked {
        read(asked, file, usize::from(result >= 0));
    }
}

/// A call ends that was given so many bytes.
fn read(asked: Asked, file: File, delivered: usize) {
    // SAFETY: promised by our caller's caller.
    let after = unsafe { Peek::of(file) };
    let read = after.read_since(&asked.before, delivered);
    let blocks = read.div_ceil(after.buffer_bytes()).max(1);
    // A file that ends within what was wanted was asked once more.
    let end = u64::from(read > 0 && after.is_at_end());
    end_with(asked, &after, read, blocks as u64 + end);
}

fn end_with(asked: Asked, after: &Peek, read: usize, counted: u64) {
    let changed = read > 0 || after.was_filled(&asked.before) || after.is_at_end();
    let effect = Effect {
        read: read as u64,
        written: 0,
        counted: if changed { counted } else { 0 },
    };
    asked.end(effect);
}

front! {
    |call| byte(call, file), |asked, result| byte_read(asked, file, result);
    fgetc | getc | _IO_getc | fgetc_unlocked | getc_unlocked(file: File) -> c_int;
    __uflow | __underflow(file: File) -> c_int;
}

front! {
    |call| byte(call, standard()), |asked, result| byte_read(asked, standard(), result);
    getchar | getchar_unlocked() -> c_int;
}

/// A call begins that wants so many bytes.
fn block(call: &Call, file: File, bytes: usize) -> Option<Asked> {
    // SAFETY: promised by our caller's caller.
    unsafe {
        Asked::begin(call, file, |peek| {
            let by_buffer = peek.is_at_end() && bytes < peek.buffer_bytes();
            match peek {
                peek if peek.ahead() >= bytes || by_buffer => Guess::No,
                peek if peek.is_in_backup() => Guess::Perhaps,
                _ => Guess::Yes,
            }
        })
    }
}

/// It ends, and got `got` of `wanted` bytes.
fn block_read(asked: Option<Asked>, file: File, wanted: usize, got: usize) {
    let Some(asked) = asked else { return };
    // SAFETY: promised by our caller's caller.
    let after = unsafe { Peek::of(file) };
    let ahead = asked.before.ahead();
    let counted = block_reads(
        wanted.saturating_sub(ahead),
        got.saturating_sub(ahead),
        after.buffer_bytes(),
    );
    let read = after.read_since(&asked.before, got);
    end_with(asked, &after, read, counted);
}

front! {
    |call| block(call, file, size.saturating_mul(count)),
    |asked, result| block_read(asked, file, size.saturating_mul(count), size.saturating_mul(result));
    fread | fread_unlocked | _IO_fread(buffer: *mut c_void, size: usize, count: usize, file: File) -> usize;
    __fread_chk | __fread_unlocked_chk(buffer: *mut c_void, room: usize, size: usize, count: usize, file: File) -> usize;
}

/// A call begins that wants bytes up to one like `end`, but no more than so many.
fn line(call: &Call, file: File, end: c_int, most: usize) -> Option<Asked> {
    // SAFETY: promised by our caller's caller.
    unsafe {
        Asked::begin(call, file, |peek| {
            let ahead = peek.ahead().min(most);
            // The bytes that were read ahead; another thread that reads the same stream
            // moves on within the same buffer.
            let known = (ahead > 0).then(|| slice::from_raw_parts(peek.ahead_at(), ahead));
            let has_end = known.is_some_and(|known| holds(known, end));
            match peek {
                _ if has_end || ahead == most => Guess::No,
                peek if peek.is_at_end() && ahead == 0 => Guess::No,
                peek if peek.is_in_backup() => Guess::Perhaps,
                _ => Guess::Yes,
            }
        })
    }
}

fn holds(bytes: &[u8], end: c_int) -> bool {
    // SAFETY: looks at as many bytes as there are.
    unsafe { !libc::memchr(bytes.as_ptr().cast(), end, bytes.len()).is_null() }
}

/// It ends; there are so many bytes in the line.
fn line_read(asked: Option<Asked>, file: File, bytes: usize) {
    if let Some(asked) = asked {
        read(asked, file, bytes);
    }
}

/// Length of the line that `fgets` gave.
fn length(text: *const c_char) -> usize {
    if text.is_null() {
        return 0;
    }
    // SAFETY: `fgets` ends what it gives with a zero.
    unsafe { libc::strlen(text) }
}

fn most(bytes: c_int) -> usize {
    usize::try_from(bytes).unwrap_or(0).saturating_sub(1)
}

const NEWLINE: c_int = b'\n' as c_int;

front! {
    |call| line(call, file, NEWLINE, most(bytes)),
    |asked, result| if asked.is_some() { line_read(asked, file, length(result)) };
    fgets | fgets_unlocked | _IO_fgets(buffer: *mut c_char, bytes: c_int, file: File) -> *mut c_char;
    __fgets_chk | __fgets_unlocked_chk(buffer: *mut c_char, room: usize, bytes: c_int, file: File) -> *mut c_char;
}

front! {
    |call| line(call, file, NEWLINE, usize::MAX),
    |asked, result| line_read(asked, file, usize::try_from(result).unwrap_or(0));
    getline(buffer: *mut *mut c_char, room: *mut usize, file: File) -> isize;
}

front! {
    |call| line(call, file, end, usize::MAX),
    |asked, result| line_read(asked, file, usize::try_from(result).unwrap_or(0));
    getdelim | __getdelim(buffer: *mut *mut c_char, room: *mut usize, end: c_int, file: File) -> isize;
}
