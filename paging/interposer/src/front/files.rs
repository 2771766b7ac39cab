//! Opening, closing, naming and securing files: I/O that moves no bytes.

use super::descriptors::{forget, is_file};
use crate::engine::Effect;
use fathomp_paging::Activity;
use libc::{dirent, mode_t, off64_t};
use std::ffi::{c_char, c_int, c_uint, c_void};

// The mode is there only if the flags say so; passing on what lies in its place otherwise
// does no harm.
front! {
    io |call| call.enter(Activity::Io), |stay, result| {
        is_file(result);
        stay.leave_with(Effect::NONE);
    };
    open | open64 | __open | __open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    __open_2 | __open64_2(path: *const c_char, flags: c_int) -> c_int;
    openat | openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    __openat_2 | __openat64_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int;
    creat | creat64(path: *const c_char, mode: mode_t) -> c_int;
    mkstemp | mkstemp64(template: *mut c_char) -> c_int;
    mkostemp | mkostemp64(template: *mut c_char, flags: c_int) -> c_int;
    mkstemps | mkstemps64(template: *mut c_char, suffix: c_int) -> c_int;
    mkostemps | mkostemps64(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int;
}

front! {
    io |call| {
        forget(file);
        call.enter(Activity::Io)
    }, |stay, result| stay.leave_with(Effect::NONE);
    close | __close(file: c_int) -> c_int;
}

front! {
    io |call| call.enter(Activity::Io), |stay, result| stay.leave_with(Effect::NONE);
    fsync(file: c_int) -> c_int;
    fdatasync(file: c_int) -> c_int;
    syncfs(file: c_int) -> c_int;
    sync() -> ();
    sync_file_range(file: c_int, at: off64_t, bytes: off64_t, flags: c_uint) -> c_int;
    msync(address: *mut c_void, bytes: usize, flags: c_int) -> c_int;
    fallocate | fallocate64(file: c_int, mode: c_int, at: off64_t, bytes: off64_t) -> c_int;
    posix_fallocate | posix_fallocate64(file: c_int, at: off64_t, bytes: off64_t) -> c_int;
    ftruncate | ftruncate64(file: c_int, bytes: off64_t) -> c_int;
    truncate | truncate64(path: *const c_char, bytes: off64_t) -> c_int;
    getdents64(folder: c_int, entries: *mut c_void, bytes: usize) -> isize;
    readahead(file: c_int, at: off64_t, bytes: usize) -> isize;
    flock(file: c_int, operation: c_int) -> c_int;
    lockf | lockf64(file: c_int, operation: c_int, bytes: off64_t) -> c_int;
    unlink(path: *const c_char) -> c_int;
    unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int;
    remove(path: *const c_char) -> c_int;
    rename(from: *const c_char, to: *const c_char) -> c_int;
    renameat(from_folder: c_int, from: *const c_char, to_folder: c_int, to: *const c_char) -> c_int;
    renameat2(from_folder: c_int, from: *const c_char, to_folder: c_int, to: *const c_char, flags: c_uint) -> c_int;
    link(from: *const c_char, to: *const c_char) -> c_int;
    linkat(from_folder: c_int, from: *const c_char, to_folder: c_int, to: *const c_char, flags: c_int) -> c_int;
    symlink(target: *const c_char, path: *const c_char) -> c_int;
    symlinkat(target: *const c_char, folder: c_int, path: *const c_char) -> c_int;
    mkdir(path: *const c_char, mode: mode_t) -> c_int;
    mkdirat(folder: c_int, path: *const c_char, mode: mode_t) -> c_int;
    rmdir(path: *const c_char) -> c_int;
    opendir(path: *const c_char) -> *mut libc::DIR;
    closedir(folder: *mut libc::DIR) -> c_int;
}

/// The beginning of the C library's `DIR`: a descriptor, a lock, and a buffer's size, of
/// which so much is filled and so much was taken out.
#[repr(C)]
struct Folder {
    _file: c_int,
    _lock: c_int,
    _room: usize,
    filled: usize,
    taken: usize,
}

/// Whether the next entry of a folder has to be read.
fn is_at_end(folder: *const libc::DIR) -> bool {
    // SAFETY: null, or a `DIR`; our caller's caller promised the C library that much.
    unsafe { folder.cast::<Folder>().as_ref() }.is_some_and(|folder| folder.taken >= folder.filled)
}

front! {
    io |call| is_at_end(folder).then(|| call.enter(Activity::Io)), |stay, result| {
        if let Some(stay) = stay {
            stay.leave_with(Effect::NONE);
        }
    };
    readdir | readdir64(folder: *mut libc::DIR) -> *mut dirent;
}

/// Whether a command of `fcntl` waits for a lock.
fn waits(command: c_int) -> bool {
    matches!(command, libc::F_SETLKW | libc::F_OFD_SETLKW)
}

front! {
    io |call| waits(command).then(|| call.enter(Activity::Io)), |stay, result| {
        if let Some(stay) = stay {
            stay.leave_with(Effect::NONE);
        } else if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
            forget(result);
        }
    };
    fcntl | fcntl64(file: c_int, command: c_int, argument: usize) -> c_int;
}
