//! Calling a task with its arguments on the stack of the thread that runs it.
//!
//! Code of the program may hand the address of an argument to tasks that it creates. Where these
//! may run on other nodes it must lie where those reach it: on a stack of the program's, and not
//! in the memory of the runtime.

use super::block::{ON_STACK_MAX, Task, Traits};
use crate::observer;
use fathomp_sys::outlined::Outlined;
use fathomp_sys::task_arguments::address_of;
use std::sync::atomic::{AtomicU64, Ordering};

/// Calls `task`'s code, whose arguments are on the stack unless they must [stay](Traits::STAYS).
#[inline]
pub(super) fn call(task: &'static Task) {
    let (words, align) = task.sizes();
    let Some(function) = task.function() else {
        return;
    };
    if words == 0 || task.traits().has(Traits::STAYS) {
        return observer::call_task(task, function, task.data());
    }
    match words + align / size_of::<u64>() {
        0..=16 => with_room::<16>(task, function),
        17..=128 => with_room::<128>(task, function),
        129..=2048 => with_room::<2048>(task, function),
        2049..=32_768 => with_room::<32_768>(task, function),
        _ => with_room::<ON_STACK_MAX>(task, function),
    }
}

#[inline(never)]
fn with_room<const WORDS: usize>(task: &'static Task, function: Outlined) {
    let room = [const { AtomicU64::new(0) }; WORDS];
    let (_, align) = task.sizes();
    let skip = address_of(&room[0]).0.wrapping_neg() & (align.max(1) - 1);
    let place = &room[skip / size_of::<u64>()..];
    task.with_arguments(|arguments| {
        for (to, from) in place.iter().zip(arguments) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    });
    observer::call_task(task, function, address_of(&place[0]));
}
