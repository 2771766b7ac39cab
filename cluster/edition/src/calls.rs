//! Calls that give the kernel something else than bytes of a file: names, and what it is
//! asked for. Those that programs use; what others give to the kernel must not lie in pages
//! that other nodes have written or read.

use super::before::{before, drain, drain_one, fill, fill_one, message, name};
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// What `ioctl` may read and write, as far as the request tells.
fn fill_by_request(request: c_ulong, argument: *mut c_void) {
    let told = usize::try_from(request >> 16 & 0x3fff).unwrap_or(0);
    fill(argument, told.max(1));
}

before! {
    fathomp_open => "open"(path: *const c_char, flags: c_int, mode: c_uint) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_openat => "openat"(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_fopen => "fopen"(path: *const c_char, mode: *const c_char) -> *mut libc::FILE, std::ptr::null_mut(),
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_opendir => "opendir"(path: *const c_char) -> *mut libc::DIR, std::ptr::null_mut(),
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_access => "access"(path: *const c_char, mode: c_int) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_unlink => "unlink"(path: *const c_char) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_remove => "remove"(path: *const c_char) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_rename => "rename"(from: *const c_char, to: *const c_char) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(from); name(to) };
    fathomp_mkdir => "mkdir"(path: *const c_char, mode: c_uint) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_rmdir => "rmdir"(path: *const c_char) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path) };
    fathomp_stat => "stat"(path: *const c_char, found: *mut libc::stat) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path); fill_one(found) };
    fathomp_lstat => "lstat"(path: *const c_char, found: *mut libc::stat) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path); fill_one(found) };
    fathomp_fstat => "fstat"(file: c_int, found: *mut libc::stat) -> c_int, -1,
        fill_one(found);
    fathomp_fstatat => "fstatat"(folder: c_int, path: *const c_char, found: *mut libc::stat, flags: c_int) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path); fill_one(found) };
    fathomp_xstat => "__xstat"(version: c_int, path: *const c_char, found: *mut libc::stat) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path); fill_one(found) };
    fathomp_lxstat => "__lxstat"(version: c_int, path: *const c_char, found: *mut libc::stat) -> c_int, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path); fill_one(found) };
    fathomp_fxstat => "__fxstat"(version: c_int, file: c_int, found: *mut libc::stat) -> c_int, -1,
        fill_one(found);
    fathomp_readlink => "readlink"(path: *const c_char, buffer: *mut c_char, bytes: usize) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path); fill(buffer.cast(), bytes) };
    fathomp_readlink_chk => "__readlink_chk"(path: *const c_char, buffer: *mut c_char, bytes: usize, most: usize) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { name(path); fill(buffer.cast(), bytes) };
    fathomp_getcwd => "getcwd"(buffer: *mut c_char, bytes: usize) -> *mut c_char, std::ptr::null_mut(),
        fill(buffer.cast(), bytes);
    fathomp_getcwd_chk => "__getcwd_chk"(buffer: *mut c_char, bytes: usize, most: usize) -> *mut c_char, std::ptr::null_mut(),
        fill(buffer.cast(), bytes);
    fathomp_getrandom => "getrandom"(buffer: *mut c_void, bytes: usize, flags: c_uint) -> isize, -1,
        fill(buffer, bytes);
    fathomp_getentropy => "getentropy"(buffer: *mut c_void, bytes: usize) -> c_int, -1,
        fill(buffer, bytes);
    fathomp_getrusage => "getrusage"(who: c_int, usage: *mut libc::rusage) -> c_int, -1,
        fill_one(usage);
    fathomp_getrlimit => "getrlimit"(resource: c_uint, limit: *mut libc::rlimit) -> c_int, -1,
        fill_one(limit);
    fathomp_times => "times"(times: *mut libc::tms) -> libc::clock_t, -1,
        fill_one(times);
    fathomp_uname => "uname"(names: *mut libc::utsname) -> c_int, -1,
        fill_one(names);
    fathomp_sysinfo => "sysinfo"(facts: *mut libc::sysinfo) -> c_int, -1,
        fill_one(facts);
    fathomp_getitimer => "getitimer"(timer: c_int, left: *mut libc::itimerval) -> c_int, -1,
        fill_one(left);
    fathomp_sched_getaffinity => "sched_getaffinity"(process: c_int, bytes: usize, set: *mut libc::cpu_set_t) -> c_int, -1,
        fill(set.cast(), bytes);
    fathomp_nanosleep => "nanosleep"(time: *const libc::timespec, left: *mut libc::timespec) -> c_int, -1,
        { drain_one(time); fill_one(left) };
    fathomp_poll => "poll"(files: *mut libc::pollfd, count: c_ulong, milliseconds: c_int) -> c_int, -1,
        fill(files.cast(), usize::try_from(count).unwrap_or(0).saturating_mul(size_of::<libc::pollfd>()));
    fathomp_select => "select"(count: c_int, reads: *mut libc::fd_set, writes: *mut libc::fd_set, others: *mut libc::fd_set, longest: *mut libc::timeval) -> c_int, -1,
        { fill_one(reads); fill_one(writes); fill_one(others); fill_one(longest) };
    fathomp_epoll_wait => "epoll_wait"(poll: c_int, events: *mut libc::epoll_event, most: c_int, milliseconds: c_int) -> c_int, -1,
        fill(events.cast(), usize::try_from(most).unwrap_or(0).saturating_mul(size_of::<libc::epoll_event>()));
    fathomp_recv => "recv"(socket: c_int, buffer: *mut c_void, bytes: usize, flags: c_int) -> isize, -1,
        fill(buffer, bytes);
    fathomp_recv_chk => "__recv_chk"(socket: c_int, buffer: *mut c_void, bytes: usize, most: usize, flags: c_int) -> isize, -1,
        fill(buffer, bytes);
    fathomp_send => "send"(socket: c_int, buffer: *const c_void, bytes: usize, flags: c_int) -> isize, -1,
        drain(buffer, bytes);
    fathomp_recvfrom => "recvfrom"(socket: c_int, buffer: *mut c_void, bytes: usize, flags: c_int, from: *mut libc::sockaddr, length: *mut libc::socklen_t) -> isize, -1,
        { fill(buffer, bytes); fill_one(from); fill_one(length) };
    fathomp_sendto => "sendto"(socket: c_int, buffer: *const c_void, bytes: usize, flags: c_int, to: *const libc::sockaddr, length: libc::socklen_t) -> isize, -1,
        { drain(buffer, bytes); drain(to.cast(), length as usize) };
    fathomp_recvmsg => "recvmsg"(socket: c_int, parts: *mut libc::msghdr, flags: c_int) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { message(parts, fill) };
    fathomp_sendmsg => "sendmsg"(socket: c_int, parts: *const libc::msghdr, flags: c_int) -> isize, -1,
        // SAFETY: promised by our caller.
        unsafe { message(parts, drain) };
    fathomp_ioctl => "ioctl"(file: c_int, request: c_ulong, argument: *mut c_void) -> c_int, -1,
        fill_by_request(request, argument);
}
