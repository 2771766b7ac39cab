//! Which function called which, by the tables that compilers write for unwinding.

use std::ffi::{c_int, c_void};
use std::ptr;

/// Goes on with the next caller.
const NO_REASON: c_int = 0;
/// Stops.
const END_OF_STACK: c_int = 5;

/// A function's activation, as the unwinder sees it.
#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut Context, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
    fn _Unwind_GetGR(context: *mut Context, register: c_int) -> usize;
}

/// An active function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Where it goes on: the return address of its call.
    pub instruction: usize,
    /// Its frame as DWARF counts (the CFA): the stack pointer before it was called. 0 if it
    /// is not known.
    pub address: usize,
    /// Its stack pointer at the call.
    pub stack: usize,
    /// Its frame pointer at the call, in which functions need not keep one.
    pub pointer: usize,
}

/// The frame pointer's number in debug information.
const FRAME_POINTER: c_int = 6;

struct Walk<'a> {
    into: &'a mut [Frame],
    count: usize,
}

extern "C" fn visit(context: *mut Context, data: *mut c_void) -> c_int {
    // SAFETY: `callers` passes its own `Walk`, which nobody else uses meanwhile.
    let walk = unsafe { &mut *data.cast::<Walk<'_>>() };
    // SAFETY: the unwinder passes a context that is valid for this call.
    let (instruction, stack) = unsafe { (_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
    // SAFETY: as above; every frame has this register.
    let pointer = unsafe { _Unwind_GetGR(context, FRAME_POINTER) };
    // What the unwinder calls a frame's CFA is the stack pointer in it, at its call: the
    // CFA of the function that it has called.
    if let Some(called) = walk
        .count
        .checked_sub(1)
        .and_then(|at| walk.into.get_mut(at))
    {
        called.address = stack;
    }
    let Some(place) = walk.into.get_mut(walk.count) else {
        return END_OF_STACK;
    };
    *place = Frame {
        instruction,
        address: 0,
        stack,
        pointer,
    };
    walk.count += 1;
    NO_REASON
}

/// Writes the functions that are active in the calling thread into `into`, the innermost
/// first, and returns how many there are; fewer where code has no tables for unwinding. Allocates nothing, but takes the dynamic loader's lock: not for handlers
/// of signals.
#[must_use]
pub fn callers(into: &mut [Frame]) -> usize {
    let mut walk = Walk { into, count: 0 };
    // SAFETY: `visit` has the type that the unwinder calls, and `walk` outlives the call.
    unsafe { _Unwind_Backtrace(visit, ptr::from_mut(&mut walk).cast()) };
    walk.count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_lie_in_code() {
        let here = 0_u8;
        let mut frames = [Frame::default(); 3];
        assert_eq!(callers(&mut frames), 3);
        assert!(frames.iter().all(|frame| frame.instruction != 0));
        // The stack grows downwards, and this function's frame is one of them.
        assert!(frames.is_sorted_by_key(|frame| frame.address));
        assert!(frames[2].address > (&raw const here).addr());
        assert_eq!(callers(&mut []), 0);
    }
}
