//! Opening, closing, moving within and writing out streams.

use super::asked::{Asked, Guess};
use super::stream::{File, Peek, WidePeek, pending};
use super::wide::written_out;
use crate::engine::{Call, Effect};
use crate::front::descriptors;
use fathomp_paging::Activity;
use std::ffi::{c_char, c_int, c_long, c_void};

/// The descriptor of a stream that was just opened is a file.
fn opened(file: File) {
    if !file.is_null() {
        // SAFETY: an open stream.
        descriptors::is_file(unsafe { Peek::of(file) }.descriptor());
    }
}

front! {
    |call| call.enter(Activity::Io), |stay, result| {
        opened(result);
        stay.leave_with(Effect::NONE);
    };
    fopen | fopen64 | _IO_fopen(path: *const c_char, mode: *const c_char) -> File;
    tmpfile | tmpfile64() -> File;
}

front! {
    |call| {
        // SAFETY: promised by our caller's caller.
        let (descriptor, effect) = unsafe { left(file) };
        descriptors::forget(descriptor);
        (call.enter(Activity::Io), effect)
    }, |stay, result| {
        opened(result);
        stay.0.leave_with(stay.1);
    };
    freopen | freopen64(path: *const c_char, mode: *const c_char, file: File) -> File;
}

/// A stream's descriptor, and what closing it will write.
///
/// # Safety
/// It is an open stream.
unsafe fn left(file: File) -> (c_int, Effect) {
    // SAFETY: promised by our caller.
    let peek = unsafe { Peek::of(file) };
    let bytes = peek.pending() as u64;
    // SAFETY: as above.
    let wide = written_out(unsafe { WidePeek::of(file) }.pending);
    let effect = Effect {
        read: 0,
        written: bytes + wide.written,
        counted: u64::from(bytes > 0) + wide.counted,
    };
    (peek.descriptor(), effect)
}

fn close(call: &Call, file: File, waits: bool) -> Option<(crate::engine::Stay, Effect)> {
    // SAFETY: promised by our caller's caller.
    let (descriptor, effect) = unsafe { left(file) };
    if descriptor < 0 {
        return None;
    }
    let activity = match waits {
        true => Activity::Communication,
        false => descriptors::activity(descriptor),
    };
    descriptors::forget(descriptor);
    Some((call.enter(activity), effect))
}

front! {
    |call| close(call, file, false), |stay, result| {
        if let Some((stay, effect)) = stay {
            stay.leave_with(effect);
        }
    };
    fclose | _IO_fclose(file: File) -> c_int;
}

front! {
    // Waits for the child at the other end.
    |call| close(call, file, true), |stay, result| {
        if let Some((stay, effect)) = stay {
            stay.leave_with(effect);
        }
    };
    pclose(file: File) -> c_int;
}

/// What a call that writes out what waits is about to do: for one stream, or for all.
enum Flush {
    One(Option<Asked>),
    All(crate::engine::Stay, (u64, u64)),
}

impl Flush {
    fn begin(call: &Call, file: File) -> Self {
        if file.is_null() {
            return Self::All(call.enter_perhaps(Activity::Io), pending());
        }
        // SAFETY: promised by our caller's caller.
        Self::One(unsafe {
            Asked::begin(call, file, |peek| match peek.pending() {
                0 => Guess::No,
                _ => Guess::Yes,
            })
        })
    }

    fn end(self, file: File) {
        match self {
            Self::One(asked) => super::output::given(asked, file, 0),
            Self::All(stay, (streams, bytes)) => {
                let (streams_left, bytes_left) = pending();
                let effect = Effect {
                    read: 0,
                    written: bytes.saturating_sub(bytes_left),
                    counted: streams.saturating_sub(streams_left),
                };
                match effect {
                    Effect::NONE => stay.take_back(),
                    effect => stay.leave_with(effect),
                }
            }
        }
    }
}

front! {
    |call| Flush::begin(call, file), |flush, result| flush.end(file);
    fflush | fflush_unlocked | _IO_fflush(file: File) -> c_int;
}

fn seek(call: &Call, file: File) -> Option<Asked> {
    // SAFETY: promised by our caller's caller.
    unsafe { Asked::begin(call, file, |_| Guess::Perhaps) }
}

fn sought(asked: Option<Asked>, file: File) {
    let Some(asked) = asked else { return };
    // SAFETY: promised by our caller's caller.
    let after = unsafe { Peek::of(file) };
    let written = after.written_since(&asked.before, 0);
    let read = after.read_by_seek(&asked.before);
    let effect = Effect {
        read: read as u64,
        written: written as u64,
        counted: u64::from(written > 0) + u64::from(read > 0),
    };
    asked.end(effect);
}

front! {
    |call| seek(call, file), |asked, result| sought(asked, file);
    fseek(file: File, offset: c_long, whence: c_int) -> c_int;
    fseeko | fseeko64(file: File, offset: i64, whence: c_int) -> c_int;
    fsetpos | fsetpos64(file: File, position: *const c_void) -> c_int;
    rewind(file: File) -> ();
}
