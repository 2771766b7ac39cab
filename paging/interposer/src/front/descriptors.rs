//! Which descriptors are sockets, and which are the interposer's own.
//!
//! What reads a socket communicates, what reads a file does I/O, and both are called `read`.
//! So the kind of each descriptor is asked once and kept until it is closed.

use crate::engine::process;
use fathomp_paging::Activity;
use fathomp_sys::errno::Saved;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

/// Descriptors whose kind is kept; those beyond are asked each time.
const KEPT: usize = 1 << 16;

const UNKNOWN: u8 = 0;
const FILE: u8 = 1;
const SOCKET: u8 = 2;

static KINDS: [AtomicU8; KEPT] = [const { AtomicU8::new(UNKNOWN) }; KEPT];

fn place(descriptor: c_int) -> Option<&'static AtomicU8> {
    KINDS.get(usize::try_from(descriptor).ok()?)
}

/// What a thread does that reads or writes there.
#[inline]
pub(super) fn activity(descriptor: c_int) -> Activity {
    // Where nothing is recorded, or the kernel must not be asked, it does not matter.
    if process::sink().is_none() || !process::may_ask() {
        return Activity::Io;
    }
    let kind = match place(descriptor) {
        Some(place) => match place.load(Ordering::Relaxed) {
            UNKNOWN => {
                let kind = ask(descriptor);
                place.store(kind, Ordering::Relaxed);
                kind
            }
            kind => kind,
        },
        None => ask(descriptor),
    };
    match kind {
        SOCKET => Activity::Communication,
        _ => Activity::Io,
    }
}

#[cold]
fn ask(descriptor: c_int) -> u8 {
    let errno = Saved::new();
    let mut kind: c_int = 0;
    let mut bytes = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: both places are writable and as large as said.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_getsockopt,
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            &raw mut kind,
            &raw mut bytes,
        )
    };
    // SAFETY: the thread's own `errno`.
    let error = unsafe { *libc::__errno_location() };
    drop(errno);
    match answer {
        0 => SOCKET,
        _ if error == libc::ENOTSOCK => FILE,
        _ => UNKNOWN,
    }
}

/// The descriptor is new or closed: what it was is forgotten.
#[inline]
pub(super) fn forget(descriptor: c_int) {
    if let Some(place) = place(descriptor) {
        place.store(UNKNOWN, Ordering::Relaxed);
    }
}

/// All from `first` to `last` are closed.
pub(super) fn forget_from(first: u32, last: u32) {
    let last = (last as usize).min(KEPT - 1);
    for place in KINDS.get(first as usize..=last).unwrap_or_default() {
        // Reading is free where nothing was ever written, writing takes memory.
        if place.load(Ordering::Relaxed) != UNKNOWN {
            place.store(UNKNOWN, Ordering::Relaxed);
        }
    }
}

/// The descriptor was opened as a file.
#[inline]
pub(super) fn is_file(descriptor: c_int) {
    if let Some(place) = place(descriptor) {
        place.store(FILE, Ordering::Relaxed);
    }
}

/// The descriptor is a socket, or waits for sockets.
pub(super) fn is_socket(descriptor: c_int) {
    if let Some(place) = place(descriptor) {
        place.store(SOCKET, Ordering::Relaxed);
    }
}

front! {
    |call| (), |_stay, result| forget(result);
    dup(descriptor: c_int) -> c_int;
}

front! {
    |call| forget(to), |_stay, result| forget(result);
    dup2(from: c_int, to: c_int) -> c_int;
    dup3(from: c_int, to: c_int, flags: c_int) -> c_int;
}

front! {
    |call| (), |_stay, result| {
        if result == 0 {
            // SAFETY: the call has filled both in.
            let (one, other) = unsafe { (*pair, *pair.add(1)) };
            is_file(one);
            is_file(other);
        }
    };
    pipe(pair: *mut c_int) -> c_int;
    pipe2(pair: *mut c_int, flags: c_int) -> c_int;
}

front! {
    |call| (), |_stay, result| {
        if result == 0 {
            // SAFETY: the call has filled both in.
            let (one, other) = unsafe { (*pair, *pair.add(1)) };
            is_socket(one);
            is_socket(other);
        }
    };
    socketpair(family: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int;
}

front! {
    |call| (), |_stay, result| is_socket(result);
    socket(family: c_int, kind: c_int, protocol: c_int) -> c_int;
}

front! {
    |call| (), |_stay, result| {
        // What waits for a socket communicates.
        if operation == libc::EPOLL_CTL_ADD && activity(descriptor) == Activity::Communication {
            is_socket(waiting);
        }
    };
    epoll_ctl(waiting: c_int, operation: c_int, descriptor: c_int, event: *mut libc::epoll_event) -> c_int;
}

front! {
    |call| forget_from(first, last), |_stay, result| ();
    close_range(first: u32, last: u32, flags: c_int) -> c_int;
}

front! {
    |call| forget_from(u32::try_from(first).unwrap_or(0), u32::MAX), |_stay, result| ();
    closefrom(first: c_int) -> ();
}
