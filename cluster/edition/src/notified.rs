//! `timer_create` and `mq_notify`: the C library starts threads by itself to notify a
//! program (`SIGEV_THREAD`), and blocks all signals in them, also those by which pages are
//! shared.

use fathomp_node::start;
use fathomp_sys::signal_chain;
use std::ffi::{c_int, c_void};

/// C's `struct sigevent`, as far as it is known here; all of its 64 bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Event {
    value: *mut c_void,
    signal: c_int,
    how: c_int,
    function: Option<Function>,
    attributes: *mut c_void,
    rest: [u64; 4],
}

/// Called on a new thread. C's `union sigval` is passed like its pointer.
type Function = unsafe extern "C" fn(*mut c_void);

/// What the program wants called, and with what.
struct Wanted {
    function: Function,
    value: *mut c_void,
}

/// Called in the place of what the program wants called.
///
/// # Safety
/// `wanted` is a [`Wanted`] that nobody changes.
unsafe extern "C" fn notify(wanted: *mut c_void) {
    signal_chain::unblock_faults();
    // SAFETY: promised by our caller.
    let Wanted { function, value } = unsafe { &*wanted.cast::<Wanted>() };
    // SAFETY: the program's function, and what it is to be called with.
    unsafe { function(*value) };
}

/// What to ask the C library for instead, if it is to start threads on a node: they take no
/// part in barriers, so their node has to know of them.
fn ours(event: &Event) -> Option<Event> {
    let node = start::node().filter(|_| event.how == libc::SIGEV_THREAD)?;
    let function = event.function?;
    node.expect_strangers();
    let value = event.value;
    // Never given back: a notification may be on its way when its timer is deleted.
    let wanted = Box::leak(Box::new(Wanted { function, value }));
    Some(Event {
        value: std::ptr::from_mut(wanted).cast(),
        function: Some(notify),
        ..*event
    })
}

/// Calls the C library's `next` by `call` with what it is to be asked for instead of
/// `event`; -1 if there is no such function.
///
/// # Safety
/// `event` is null or valid.
unsafe fn ask<F>(
    next: Option<F>,
    event: *const Event,
    call: impl FnOnce(F, *const Event) -> c_int,
) -> c_int {
    let Some(next) = next else {
        return -1;
    };
    // SAFETY: promised by our caller.
    let ours = unsafe { event.as_ref() }.and_then(ours);
    call(next, ours.as_ref().map_or(event, std::ptr::from_ref))
}

/// As `timer_create`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_timer_create(
    clock: c_int,
    event: *const Event,
    timer: *mut c_void,
) -> c_int {
    type TimerCreate = unsafe extern "C" fn(c_int, *const Event, *mut c_void) -> c_int;
    let next = real!(c"timer_create" as TimerCreate);
    let call = |next: TimerCreate, event| {
        // SAFETY: promised by our caller; an event of ours lives until it has returned.
        unsafe { next(clock, event, timer) }
    };
    // SAFETY: promised by our caller.
    unsafe { ask(next, event, call) }
}

/// As `mq_notify`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_mq_notify(queue: c_int, event: *const Event) -> c_int {
    type MqNotify = unsafe extern "C" fn(c_int, *const Event) -> c_int;
    let next = real!(c"mq_notify" as MqNotify);
    let call = |next: MqNotify, event| {
        // SAFETY: promised by our caller; an event of ours lives until it has returned.
        unsafe { next(queue, event) }
    };
    // SAFETY: promised by our caller.
    unsafe { ask(next, event, call) }
}

const _: () = assert!(size_of::<Event>() == size_of::<libc::sigevent>());
