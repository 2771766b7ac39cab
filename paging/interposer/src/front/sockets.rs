//! Sockets and message queues: communication.

use super::descriptors::is_socket;
use fathomp_paging::Activity;
use libc::{mqd_t, msghdr, sembuf, sockaddr, socklen_t, timespec};
use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

front! {
    |call| call.enter(Activity::Communication), |stay, result| stay.leave();
    connect(socket: c_int, address: *const sockaddr, bytes: socklen_t) -> c_int;
    recv(socket: c_int, buffer: *mut c_void, bytes: usize, flags: c_int) -> isize;
    __recv_chk(socket: c_int, buffer: *mut c_void, bytes: usize, most: usize, flags: c_int) -> isize;
    recvfrom(socket: c_int, buffer: *mut c_void, bytes: usize, flags: c_int, from: *mut sockaddr, from_bytes: *mut socklen_t) -> isize;
    __recvfrom_chk(socket: c_int, buffer: *mut c_void, bytes: usize, most: usize, flags: c_int, from: *mut sockaddr, from_bytes: *mut socklen_t) -> isize;
    recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> isize;
    recvmmsg(socket: c_int, messages: *mut c_void, count: c_uint, flags: c_int, timeout: *mut timespec) -> c_int;
    send(socket: c_int, buffer: *const c_void, bytes: usize, flags: c_int) -> isize;
    sendto(socket: c_int, buffer: *const c_void, bytes: usize, flags: c_int, to: *const sockaddr, to_bytes: socklen_t) -> isize;
    sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> isize;
    sendmmsg(socket: c_int, messages: *mut c_void, count: c_uint, flags: c_int) -> c_int;
    getaddrinfo(name: *const c_char, service: *const c_char, hints: *const c_void, found: *mut *mut c_void) -> c_int;
    msgsnd(queue: c_int, message: *const c_void, bytes: usize, flags: c_int) -> c_int;
    msgrcv(queue: c_int, message: *mut c_void, bytes: usize, kind: c_long, flags: c_int) -> isize;
    semop(semaphores: c_int, operations: *mut sembuf, count: usize) -> c_int;
    semtimedop(semaphores: c_int, operations: *mut sembuf, count: usize, timeout: *const timespec) -> c_int;
    mq_send(queue: mqd_t, message: *const c_char, bytes: usize, priority: c_uint) -> c_int;
    mq_timedsend(queue: mqd_t, message: *const c_char, bytes: usize, priority: c_uint, until: *const timespec) -> c_int;
    mq_receive(queue: mqd_t, message: *mut c_char, bytes: usize, priority: *mut c_uint) -> isize;
    mq_timedreceive(queue: mqd_t, message: *mut c_char, bytes: usize, priority: *mut c_uint, until: *const timespec) -> isize;
}

front! {
    |call| call.enter(Activity::Communication), |stay, result| {
        is_socket(result);
        stay.leave();
    };
    accept(socket: c_int, address: *mut sockaddr, bytes: *mut socklen_t) -> c_int;
    accept4(socket: c_int, address: *mut sockaddr, bytes: *mut socklen_t, flags: c_int) -> c_int;
}
