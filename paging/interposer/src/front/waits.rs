//! Waiting for descriptors, children and other threads.
//!
//! What does not wait changes no state: a wait for nothing (a timeout of 0, `WNOHANG`), a
//! lock that is free.

use super::descriptors::activity;
use crate::engine::Stay;
use fathomp_paging::Activity;
use libc::{epoll_event, fd_set, pollfd, sigset_t, timespec, timeval};
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// Descriptors of a wait that are looked at to find out whether it is for a socket.
const LOOKED_AT: usize = 16;

/// What a thread does that waits for these.
fn of_polled(list: *const pollfd, count: c_ulong) -> Activity {
    let count = usize::try_from(count).unwrap_or(0).min(LOOKED_AT);
    for at in 0..if list.is_null() { 0 } else { count } {
        // SAFETY: the list has so many; our caller's caller promised that to the C library.
        let one = unsafe { (*list.add(at)).fd };
        if one >= 0 && activity(one) == Activity::Communication {
            return Activity::Communication;
        }
    }
    Activity::Io
}

/// What a thread does that waits for those among the first `count` descriptors.
fn of_selected(count: c_int, sets: [*const fd_set; 3]) -> Activity {
    let mut looked_at = 0;
    for one in 0..count.clamp(0, libc::FD_SETSIZE as c_int) {
        // SAFETY: null, or a set; promised as above.
        let chosen = sets
            .iter()
            .any(|set| !set.is_null() && unsafe { libc::FD_ISSET(one, *set) });
        if chosen && activity(one) == Activity::Communication {
            return Activity::Communication;
        }
        looked_at += usize::from(chosen);
        if looked_at == LOOKED_AT {
            break;
        }
    }
    Activity::Io
}

/// Whether a timeout is one of no time.
fn is_none<T: Copy>(timeout: *const T, is_zero: fn(T) -> bool) -> bool {
    // SAFETY: null, or a time; promised as above.
    unsafe { timeout.as_ref() }.is_some_and(|time| is_zero(*time))
}

fn is_no_time(time: timespec) -> bool {
    time.tv_sec == 0 && time.tv_nsec == 0
}

fn is_no_interval(time: timeval) -> bool {
    time.tv_sec == 0 && time.tv_usec == 0
}

fn leave(stay: Option<Stay>) {
    if let Some(stay) = stay {
        stay.leave();
    }
}

front! {
    |call| (timeout != 0).then(|| call.enter(of_polled(list, count))), |stay, result| leave(stay);
    poll(list: *mut pollfd, count: c_ulong, timeout: c_int) -> c_int;
    __poll_chk(list: *mut pollfd, count: c_ulong, timeout: c_int, most: usize) -> c_int;
}

front! {
    |call| (!is_none(timeout, is_no_time)).then(|| call.enter(of_polled(list, count))),
    |stay, result| leave(stay);
    ppoll(list: *mut pollfd, count: c_ulong, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    __ppoll_chk(list: *mut pollfd, count: c_ulong, timeout: *const timespec, mask: *const sigset_t, most: usize) -> c_int;
}

front! {
    |call| (!is_none(timeout, is_no_interval)).then(|| call.enter(of_selected(count, [read, write, other]))),
    |stay, result| leave(stay);
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, timeout: *mut timeval) -> c_int;
}

front! {
    |call| (!is_none(timeout, is_no_time)).then(|| call.enter(of_selected(count, [read, write, other]))),
    |stay, result| leave(stay);
    pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, timeout: *const timespec, mask: *const sigset_t) -> c_int;
}

front! {
    |call| (timeout != 0).then(|| call.enter(activity(waiting))), |stay, result| leave(stay);
    epoll_wait(waiting: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> c_int;
    epoll_pwait(waiting: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: *const sigset_t) -> c_int;
}

front! {
    |call| (!is_none(timeout, is_no_time)).then(|| call.enter(activity(waiting))),
    |stay, result| leave(stay);
    epoll_pwait2(waiting: c_int, events: *mut epoll_event, most: c_int, timeout: *const timespec, mask: *const sigset_t) -> c_int;
}

front! {
    |call| (options & libc::WNOHANG == 0).then(|| call.enter(Activity::Communication)),
    |stay, result| leave(stay);
    waitpid | __waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int;
    wait4(child: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int;
    waitid(kind: c_uint, child: c_uint, information: *mut c_void, options: c_int) -> c_int;
}

front! {
    |call| call.enter(Activity::Communication), |stay, result| stay.leave();
    wait | __wait(status: *mut c_int) -> c_int;
    system(command: *const c_char) -> c_int;
    pthread_join(thread: usize, value: *mut *mut c_void) -> c_int;
    thrd_join(thread: usize, value: *mut c_int) -> c_int;
    pthread_barrier_wait(barrier: *mut c_void) -> c_int;
    pthread_cond_wait @ "GLIBC_2.3.2"(condition: *mut c_void, mutex: *mut c_void) -> c_int;
    pthread_cond_timedwait @ "GLIBC_2.3.2"(condition: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int;
    pthread_cond_clockwait(condition: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const timespec) -> c_int;
    cnd_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int;
    cnd_timedwait(condition: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int;
}

/// Functions that are tried without waiting first, by another function: only if the attempt
/// says `busy` the thread enters a state and waits.
macro_rules! wait_after_trying {
    ($($name:ident tries $attempt:ident, busy $busy:expr, ($object:ident $(, $argument:ident: $type:ty)*);)+) => {$(
        #[doc = concat!("As `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As of the function behind.
        #[unsafe(export_name = concat!("fathomp_paging_front_", stringify!($name)))]
        unsafe extern "C" fn $name($object: *mut c_void $(, $argument: $type)*) -> c_int {
            static CALL: crate::engine::Call = call!(stringify!($name));
            static ATTEMPT: crate::engine::Call = call!(stringify!($attempt));
            type Attempt = unsafe extern "C" fn(*mut c_void) -> c_int;
            type Next = unsafe extern "C" fn(*mut c_void $(, $type)*) -> c_int;
            // SAFETY: the functions of these names have these types.
            let found = unsafe { (CALL.next.function::<Next>(), ATTEMPT.next.function::<Attempt>()) };
            let (Some(next), Some(attempt)) = found else {
                return libc::ENOSYS;
            };
            let errno = fathomp_sys::errno::Saved::new();
            // SAFETY: promised by our caller.
            let tried = unsafe { attempt($object) };
            drop(errno);
            if !$busy(tried) {
                return tried;
            }
            let stay = CALL.enter(Activity::Communication);
            // SAFETY: promised by our caller.
            let result = unsafe { next($object $(, $argument)*) };
            stay.leave();
            result
        }
    )+};
}

fn is_busy(tried: c_int) -> bool {
    tried == libc::EBUSY
}

/// C11's `thrd_busy`.
fn is_thrd_busy(tried: c_int) -> bool {
    tried == 1
}

/// The semaphore is at zero, or none. Waiting for one is a point where a thread may be
/// cancelled, even if there is nothing to wait for; trying is not.
fn is_taken(tried: c_int) -> bool {
    if tried == 0 {
        // SAFETY: nothing is borrowed here that unwinding would leave in disorder.
        unsafe { pthread_testcancel() };
    }
    tried != 0
}

unsafe extern "C" {
    fn pthread_testcancel();
}

wait_after_trying! {
    pthread_mutex_lock tries pthread_mutex_trylock, busy is_busy, (mutex);
    pthread_mutex_timedlock tries pthread_mutex_trylock, busy is_busy, (mutex, until: *const timespec);
    pthread_mutex_clocklock tries pthread_mutex_trylock, busy is_busy, (mutex, clock: c_int, until: *const timespec);
    pthread_rwlock_rdlock tries pthread_rwlock_tryrdlock, busy is_busy, (lock);
    pthread_rwlock_wrlock tries pthread_rwlock_trywrlock, busy is_busy, (lock);
    pthread_rwlock_timedrdlock tries pthread_rwlock_tryrdlock, busy is_busy, (lock, until: *const timespec);
    pthread_rwlock_timedwrlock tries pthread_rwlock_trywrlock, busy is_busy, (lock, until: *const timespec);
    mtx_lock tries mtx_trylock, busy is_thrd_busy, (mutex);
    sem_wait tries sem_trywait, busy is_taken, (semaphore);
    sem_timedwait tries sem_trywait, busy is_taken, (semaphore, until: *const timespec);
    sem_clockwait tries sem_trywait, busy is_taken, (semaphore, clock: c_int, until: *const timespec);
}
