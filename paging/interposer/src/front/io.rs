//! Reading and writing by descriptors.

use super::descriptors::activity;
use crate::engine::Effect;
use fathomp_paging::Activity;
use libc::{iovec, off64_t};
use std::ffi::{c_int, c_uint, c_void};

front! {
    io |call| call.enter(activity(file)), |stay, result| stay.leave_with(Effect::read(result));
    read | __read(file: c_int, buffer: *mut c_void, bytes: usize) -> isize;
    __read_chk(file: c_int, buffer: *mut c_void, bytes: usize, most: usize) -> isize;
    pread | pread64 | __pread64(file: c_int, buffer: *mut c_void, bytes: usize, at: off64_t) -> isize;
    __pread_chk | __pread64_chk(file: c_int, buffer: *mut c_void, bytes: usize, at: off64_t, most: usize) -> isize;
    readv(file: c_int, vectors: *const iovec, count: c_int) -> isize;
    preadv | preadv64(file: c_int, vectors: *const iovec, count: c_int, at: off64_t) -> isize;
    preadv2 | preadv64v2(file: c_int, vectors: *const iovec, count: c_int, at: off64_t, flags: c_int) -> isize;
}

front! {
    io |call| call.enter(activity(file)), |stay, result| stay.leave_with(Effect::written(result));
    write | __write(file: c_int, buffer: *const c_void, bytes: usize) -> isize;
    pwrite | pwrite64 | __pwrite64(file: c_int, buffer: *const c_void, bytes: usize, at: off64_t) -> isize;
    writev(file: c_int, vectors: *const iovec, count: c_int) -> isize;
    pwritev | pwritev64(file: c_int, vectors: *const iovec, count: c_int, at: off64_t) -> isize;
    pwritev2 | pwritev64v2(file: c_int, vectors: *const iovec, count: c_int, at: off64_t, flags: c_int) -> isize;
}

front! {
    io |call| call.enter(activity(to)), |stay, result| stay.leave_with(moved(result, 2));
    sendfile | sendfile64(to: c_int, from: c_int, at: *mut off64_t, bytes: usize) -> isize;
    copy_file_range(from: c_int, from_at: *mut off64_t, to: c_int, to_at: *mut off64_t, bytes: usize, flags: c_uint) -> isize;
}

front! {
    io |call| call.enter(activity(to)), |stay, result| stay.leave_with(moved(result, 0));
    splice(from: c_int, from_at: *mut off64_t, to: c_int, to_at: *mut off64_t, bytes: usize, flags: c_uint) -> isize;
    tee(from: c_int, to: c_int, bytes: usize, flags: c_uint) -> isize;
}

front! {
    io |call| call.enter(Activity::Io), |stay, result| {
        stay.leave_with(Effect { counted: 0, ..Effect::written(result) });
    };
    vmsplice(file: c_int, vectors: *const iovec, count: usize, flags: c_uint) -> isize;
}

/// Bytes that went from one file to another; the kernel counts that as so many calls.
fn moved(result: isize, counted: u64) -> Effect {
    Effect {
        read: Effect::read(result).read,
        written: Effect::written(result).written,
        counted,
    }
}
