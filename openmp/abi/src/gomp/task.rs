//! `task`, `taskwait`, `taskyield` and detach events.

use super::task_depend;
use crate::entry::entries;
use fathomp_omp::cluster::process;
use fathomp_omp::observer::Announced;
use fathomp_omp::task::{self, Clauses, Dependence, EventHandle, Work};
use fathomp_omp::{current, observer};
use fathomp_sys::call_site::WATCH;
use fathomp_sys::outlined::{Opaque, Outlined};
use fathomp_sys::task_arguments::{Arguments, CopyFunction};
use std::ffi::{c_int, c_long, c_uint, c_void};

/// Bits of the flags that `GOMP_task` and `GOMP_taskloop` take. Untied tasks
/// are treated as tied, mergeable ones are not merged: both may be.
#[derive(Clone, Copy)]
pub(super) struct Flags(pub(super) c_uint);

impl Flags {
    const UNTIED: c_uint = 1;
    const FINAL: c_uint = 1 << 1;
    const MERGEABLE: c_uint = 1 << 2;
    const DEPEND: c_uint = 1 << 3;
    const PRIORITY: c_uint = 1 << 4;
    pub(super) const UP: c_uint = 1 << 8;
    pub(super) const GRAINSIZE: c_uint = 1 << 9;
    pub(super) const IF: c_uint = 1 << 10;
    pub(super) const NOGROUP: c_uint = 1 << 11;
    pub(super) const REDUCTION: c_uint = 1 << 12;
    const DETACH: c_uint = 1 << 13;
    pub(super) const STRICT: c_uint = 1 << 14;

    #[inline]
    pub(super) fn has(self, bit: c_uint) -> bool {
        self.0 & bit != 0
    }

    /// Those that observers are told.
    pub(super) fn told(self) -> Announced {
        Announced {
            untied: self.has(Self::UNTIED),
            mergeable: self.has(Self::MERGEABLE),
        }
    }

    #[inline]
    pub(super) fn is_final(self) -> bool {
        self.has(Self::FINAL)
    }

    /// The priority, if the caller passed one.
    #[inline]
    pub(super) fn priority(self, argument: c_int) -> u32 {
        if self.has(Self::PRIORITY) {
            u32::try_from(argument).unwrap_or(0)
        } else {
            0
        }
    }
}

entries! {
    /// `void GOMP_task(void (*fn)(void *), void *data, void (*cpyfn)(void *, void *),
    /// long arg_size, long arg_align, bool if_clause, unsigned flags, void **depend,
    /// int priority, void *detach)`
    fn GOMP_task(
        function: extern "C" fn(Opaque),
        data: Opaque,
        copy: Option<CopyFunction>,
        bytes: c_long,
        align: c_long,
        if_clause: bool,
        flags: c_uint,
        depend: *const *const c_void,
        priority: c_int,
        detach: *mut u64,
    ) {
        let flags = Flags(flags);
        // SAFETY: the interface promises it for as long as the task lives.
        let function = unsafe { Outlined::from_program(function) };
        let is_plain = copy.is_none() && !flags.has(Flags::DEPEND | Flags::DETACH);
        if !if_clause && is_plain && !WATCH.is_on() {
            return task::run_undeferred(current(), function, data, flags.is_final());
        }
        observer::announce(|| flags.told());
        // SAFETY: the interface promises it for the time of this call.
        let arguments = || unsafe { Arguments::from_program(data, size(bytes), size(align), copy) };
        let priority = flags.priority(priority);
        if flags.has(Flags::DEPEND | Flags::DETACH) {
            let work = Work {
                function,
                arguments: arguments(),
                head: &[],
            };
            let clauses = clauses(flags, if_clause, priority);
            // SAFETY: the flags say which of the arguments are there.
            unsafe { special_task(&work, clauses, flags, depend, detach) };
            return;
        }
        let work = Work {
            function,
            arguments: arguments(),
            head: &[],
        };
        plain_task(&work, data, clauses(flags, if_clause, priority));
    }
}

/// A task without dependences and events. Apart from the entry point, whose shortest way needs
/// fewer registers and no room on the stack.
#[inline(never)]
fn plain_task(work: &Work, data: Opaque, clauses: Clauses) {
    let Some(encounter) = task::encounter(current(), clauses.deferrable, clauses.priority) else {
        return;
    };
    if encounter.is_at_once() && !work.arguments.must_be_copied() {
        encounter.run(work.function, data, clauses.is_final);
    } else {
        encounter.create(work, clauses);
    }
}

#[inline]
fn clauses(flags: Flags, if_clause: bool, priority: u32) -> Clauses {
    Clauses {
        deferrable: if_clause,
        is_final: flags.is_final(),
        priority,
        stays: false,
    }
}

/// A task with dependences or an event.
///
/// # Safety
/// `depend` and `detach` are what the flags announce.
#[cold]
unsafe fn special_task(
    work: &Work,
    clauses: Clauses,
    flags: Flags,
    depend: *const *const c_void,
    detach: *mut u64,
) {
    let event = flags.has(Flags::DETACH).then(|| {
        let event = task::new_event();
        let handle = event.handle().0;
        // The task's own copy of the handle comes first in its block.
        work.arguments.set_head(&[handle]);
        // SAFETY: with this flag, `detach` is the program's event variable.
        unsafe { detach.write(handle) };
        event
    });
    let depend = if flags.has(Flags::DEPEND) {
        depend
    } else {
        std::ptr::null()
    };
    let create = |dependences: &[Dependence]| {
        task::create_special(current(), work, clauses, dependences, event.as_ref());
    };
    // SAFETY: with its flag, `depend` is the array of dependences.
    unsafe { task_depend::with_dependences(depend, create) };
}

/// What a task without code does.
extern "C" fn nothing(_data: Opaque) {}

/// A size or alignment that the compiler computed: never negative.
#[inline]
pub(super) fn size(value: c_long) -> usize {
    value.cast_unsigned() as usize
}

entries! {
    /// `void GOMP_taskwait(void)`
    fn GOMP_taskwait() {
        task::wait(current());
    }
    /// `void GOMP_taskwait_depend(void **depend)`
    fn GOMP_taskwait_depend(depend: *const *const c_void) {
        let wait = |dependences: &[Dependence]| task::wait_depend(current(), dependences);
        // SAFETY: promised by our caller.
        unsafe { task_depend::with_dependences(depend, wait) };
    }
    /// `void GOMP_taskwait_depend_nowait(void **depend)`: orders tasks as one without code would,
    /// and makes nobody wait.
    fn GOMP_taskwait_depend_nowait(depend: *const *const c_void) {
        observer::announce(|| Flags(0).told());
        // SAFETY: the code may be called with anything, and there is no block to copy.
        let work = unsafe {
            Work {
                function: Outlined::from_program(nothing),
                arguments: Arguments::from_program(Opaque(0), 0, 1, None),
                head: &[],
            }
        };
        let clauses = clauses(Flags(0), true, 0);
        let create = |dependences: &[Dependence]| {
            task::create_special(current(), &work, clauses, dependences, None);
        };
        // SAFETY: promised by our caller.
        unsafe { task_depend::with_dependences(depend, create) };
    }
    /// `void GOMP_taskyield(void)`
    fn GOMP_taskyield() {
        give_way();
    }
}

/// `taskyield`, which flushes (OpenMP 5.2, 1.4.6): on several nodes not at each call of a task
/// that polls.
#[inline]
pub(crate) fn give_way() {
    if task::yield_now(current())
        && let Some(process) = process()
    {
        process.flush();
    }
}

/// `void omp_fulfill_event(omp_event_handle_t event)`
#[unsafe(no_mangle)]
pub extern "C" fn omp_fulfill_event(event: u64) {
    if task::fulfill(EventHandle(event)).is_err() {
        crate::fatal::fatal(format_args!(
            "omp_fulfill_event was called with an event that is not pending; \
             fulfill each event of a detach clause exactly once"
        ));
    }
}

/// `omp_fulfill_event` as Fortran calls it: by value, which `omp_lib` declares
/// for this routine.
#[unsafe(no_mangle)]
pub extern "C" fn omp_fulfill_event_(event: u64) {
    omp_fulfill_event(event);
}
