//! Reading and writing, and whose the standard input is.

use super::before::{before, drain, each, fill};
use fathomp_node::start;
use fathomp_omp::cluster::Cluster as _;
use std::ffi::{c_char, c_int, c_void};

/// Ends a program that reads its standard input on another node than 0: what one
/// node reads ahead would be missing on the others.
pub(super) extern "C" fn refuse_input(_: *mut c_void, _: *mut c_char, _: usize) -> isize {
    if let Some(node) = start::node() {
        node.fail(
            "the program reads its standard input here, and node 0 has it: \
             let the primary thread read it (masked, not single), or read a file",
        );
    }
    -1
}

/// A file will be read, which may be the standard input.
fn check_input(file: c_int) {
    if file == libc::STDIN_FILENO && start::node().is_some_and(|node| node.me().0 != 0) {
        refuse_input(std::ptr::null_mut(), std::ptr::null_mut(), 0);
    }
}

before! {
    fathomp_read => "read"(file: c_int, buffer: *mut c_void, bytes: usize) -> isize, -1,
        { check_input(file); fill(buffer, bytes) };
    fathomp_read_chk => "__read_chk"(file: c_int, buffer: *mut c_void, bytes: usize, most: usize) -> isize, -1,
        { check_input(file); fill(buffer, bytes) };
    fathomp_pread => "pread"(file: c_int, buffer: *mut c_void, bytes: usize, at: i64) -> isize, -1,
        fill(buffer, bytes);
    fathomp_pread_chk => "__pread_chk"(file: c_int, buffer: *mut c_void, bytes: usize, at: i64, most: usize) -> isize, -1,
        fill(buffer, bytes);
    fathomp_write => "write"(file: c_int, buffer: *const c_void, bytes: usize) -> isize, -1,
        drain(buffer, bytes);
    fathomp_pwrite => "pwrite"(file: c_int, buffer: *const c_void, bytes: usize, at: i64) -> isize, -1,
        drain(buffer, bytes);
    fathomp_readv => "readv"(file: c_int, vectors: *const libc::iovec, count: c_int) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { check_input(file); each(vectors, count, fill) };
    fathomp_writev => "writev"(file: c_int, vectors: *const libc::iovec, count: c_int) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { each(vectors, count, drain) };
    fathomp_preadv => "preadv"(file: c_int, vectors: *const libc::iovec, count: c_int, at: i64) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { each(vectors, count, fill) };
    fathomp_pwritev => "pwritev"(file: c_int, vectors: *const libc::iovec, count: c_int, at: i64) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { each(vectors, count, drain) };
}

/// Bytes of a stream that are on their way at a time.
const PIECE_BYTES: usize = 64 << 10;

/// C's `fread`.
type Fread = unsafe extern "C" fn(*mut c_void, usize, usize, *mut libc::FILE) -> usize;
/// C's `fwrite`.
type Fwrite = unsafe extern "C" fn(*const c_void, usize, usize, *mut libc::FILE) -> usize;

unsafe extern "C" {
    fn flockfile(file: *mut libc::FILE);
    fn funlockfile(file: *mut libc::FILE);
}

/// Moves bytes between a stream and shared memory, by a piece of memory of our own: pages
/// may be taken back at any time, for instance if another thread of this node has a fault,
/// and a stream that has failed cannot be asked again. `step` moves so many bytes from or to
/// that offset, and says how many it has moved.
///
/// # Safety
/// The stream is one.
unsafe fn in_pieces(
    file: *mut libc::FILE,
    bytes: usize,
    mut step: impl FnMut(&mut [u8], usize) -> usize,
) -> usize {
    let mut piece = vec![0; bytes.min(PIECE_BYTES)];
    let mut done = 0;
    // SAFETY: promised by our caller. Nobody else comes in between two pieces.
    unsafe { flockfile(file) };
    while done < bytes {
        let wanted = piece.len().min(bytes - done);
        let moved = step(&mut piece[..wanted], done);
        done += moved;
        if moved < wanted {
            break;
        }
    }
    // SAFETY: as above.
    unsafe { funlockfile(file) };
    done
}

/// Whether nodes share what lies there.
fn is_shared(buffer: *const c_void) -> bool {
    start::node().is_some_and(|node| node.is_shared(buffer.addr()))
}

/// As `fread`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_fread(
    buffer: *mut c_void,
    size: usize,
    count: usize,
    file: *mut libc::FILE,
) -> usize {
    let Some(next) = real!(c"fread" as Fread) else {
        return 0;
    };
    let bytes = size.checked_mul(count).filter(|_| is_shared(buffer));
    let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else {
        // SAFETY: promised by our caller.
        return unsafe { next(buffer, size, count, file) };
    };
    // SAFETY: the stream and the buffer are as promised by our caller; a piece is as long
    // as it says, and no part of the buffer.
    let read = unsafe {
        in_pieces(file, bytes, |piece, at| {
            let read = next(piece.as_mut_ptr().cast(), 1, piece.len(), file);
            let place = buffer.cast::<u8>().add(at);
            place.copy_from_nonoverlapping(piece.as_ptr(), read);
            read
        })
    };
    read / size
}

/// As `__fread_chk`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_fread_chk(
    buffer: *mut c_void,
    room: usize,
    size: usize,
    count: usize,
    file: *mut libc::FILE,
) -> usize {
    if size.checked_mul(count).is_none_or(|bytes| bytes > room) {
        std::process::abort();
    }
    // SAFETY: promised by our caller.
    unsafe { fathomp_fread(buffer, size, count, file) }
}

/// As `fwrite`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_fwrite(
    buffer: *const c_void,
    size: usize,
    count: usize,
    file: *mut libc::FILE,
) -> usize {
    let Some(next) = real!(c"fwrite" as Fwrite) else {
        return 0;
    };
    let bytes = size.checked_mul(count).filter(|_| is_shared(buffer));
    let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else {
        // SAFETY: promised by our caller.
        return unsafe { next(buffer, size, count, file) };
    };
    // SAFETY: as for `fread`.
    let written = unsafe {
        in_pieces(file, bytes, |piece, at| {
            let place = buffer.cast::<u8>().add(at);
            place.copy_to_nonoverlapping(piece.as_mut_ptr(), piece.len());
            next(piece.as_ptr().cast(), 1, piece.len(), file)
        })
    };
    written / size
}

/// As `sched_yield`. Whoever calls it often waits for a variable to change.
#[unsafe(no_mangle)]
pub extern "C" fn fathomp_sched_yield() -> c_int {
    if let Some(node) = start::node() {
        fathomp_omp::cluster::tell(false);
        node.yielding();
    }
    fathomp_sys::process::yield_now();
    0
}
