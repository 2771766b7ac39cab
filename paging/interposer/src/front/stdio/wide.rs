//! Wide characters.
//!
//! A stream converts them between a buffer of characters and one of bytes. What is read shows
//! in the second; what is written passes through it unseen and shows in the first, as if each
//! character were a byte.

use super::asked::{Asked, Guess};
use super::stream::{File, Peek, WidePeek};
use super::{input, output};
use crate::engine::{Call, Effect};
use std::ffi::{c_int, c_void};

/// C's `va_list` as a parameter.
type Arguments = *mut c_void;
/// C's `wchar_t`.
type Wide = libc::wchar_t;
/// C's `wint_t`.
type WideOrEnd = u32;

/// C's `WEOF`.
const END: WideOrEnd = WideOrEnd::MAX;

/// A call for a stream begins, unless the buffer answers it.
fn begin(
    call: &Call,
    file: File,
    is_answered: impl FnOnce(&WidePeek) -> bool,
) -> Option<(Asked, WidePeek)> {
    // SAFETY: promised by our caller's caller.
    unsafe {
        let before = WidePeek::of(file);
        if is_answered(&before) {
            return None;
        }
        Some((Asked::begin(call, file, |_| Guess::Perhaps)?, before))
    }
}

/// It ends, and has given so many characters to the stream.
fn end(asked: Option<(Asked, WidePeek)>, file: File, accepted: usize) {
    let Some((asked, wide)) = asked else { return };
    // SAFETY: promised by our caller's caller.
    let (after, wide_after) = unsafe { (Peek::of(file), WidePeek::of(file)) };
    let filled = after.was_filled(&asked.before);
    let written = (wide.pending + accepted).saturating_sub(wide_after.pending);
    let effect = Effect {
        read: if filled { after.in_buffer() as u64 } else { 0 },
        counted: u64::from(filled) + written_out(written).counted,
        ..written_out(written)
    };
    asked.end(effect);
}

/// Writing out so many characters. The C library converts them in pieces of `MB_LEN_MAX` bytes
/// and has each piece written.
pub(super) fn written_out(characters: usize) -> Effect {
    const PIECE_BYTES: usize = 16;
    Effect {
        read: 0,
        written: characters as u64,
        counted: characters.div_ceil(PIECE_BYTES) as u64,
    }
}

fn accepted(result: c_int) -> usize {
    usize::try_from(result).unwrap_or(0)
}

/// Characters of a text.
fn length(text: *const Wide) -> usize {
    unsafe extern "C" {
        fn wcslen(text: *const Wide) -> usize;
    }
    // SAFETY: a text; promised by our caller's caller.
    unsafe { wcslen(text) }
}

front! {
    |call| begin(call, file, |wide| wide.is_ahead), |asked, result| end(asked, file, 0);
    fgetwc | getwc | fgetwc_unlocked | getwc_unlocked | __wuflow | __wunderflow(file: File) -> WideOrEnd;
}

front! {
    |call| begin(call, input::standard(), |wide| wide.is_ahead),
    |asked, result| end(asked, input::standard(), 0);
    getwchar | getwchar_unlocked() -> WideOrEnd;
}

front! {
    |call| begin(call, file, |wide| wide.has_room),
    |asked, result| end(asked, file, usize::from(result != END));
    fputwc | putwc | fputwc_unlocked | putwc_unlocked(character: Wide, file: File) -> WideOrEnd;
    __woverflow(file: File, character: WideOrEnd) -> WideOrEnd;
}

front! {
    |call| begin(call, output::standard(), |wide| wide.has_room),
    |asked, result| end(asked, output::standard(), usize::from(result != END));
    putwchar | putwchar_unlocked(character: Wide) -> WideOrEnd;
}

front! {
    |call| begin(call, file, |_| false),
    |asked, result| end(asked, file, if result >= 0 { length(text) } else { 0 });
    fputws | fputws_unlocked(text: *const Wide, file: File) -> c_int;
}

front! {
    |call| begin(call, file, |_| false), |asked, result| end(asked, file, accepted(result));
    vfwprintf(file: File, format: *const Wide, arguments: Arguments) -> c_int;
    __vfwprintf_chk(file: File, flag: c_int, format: *const Wide, arguments: Arguments) -> c_int;
}

front! {
    |call| begin(call, output::standard(), |_| false),
    |asked, result| end(asked, output::standard(), accepted(result));
    vwprintf(format: *const Wide, arguments: Arguments) -> c_int;
    __vwprintf_chk(flag: c_int, format: *const Wide, arguments: Arguments) -> c_int;
}

front! {
    |call| begin(call, file, |_| false), |asked, result| end(asked, file, 0);
    fgetws | fgetws_unlocked(buffer: *mut Wide, characters: c_int, file: File) -> *mut Wide;
    vfwscanf | __isoc99_vfwscanf | __isoc23_vfwscanf(file: File, format: *const Wide, arguments: Arguments) -> c_int;
}

front! {
    |call| begin(call, input::standard(), |_| false),
    |asked, result| end(asked, input::standard(), 0);
    vwscanf | __isoc99_vwscanf | __isoc23_vwscanf(format: *const Wide, arguments: Arguments) -> c_int;
}
