//! Routines that LLVM's runtime has beside OpenMP's: `kmp_*`.
//!
//! What waiting and stacks are like is settled before the program begins (`OMP_WAIT_POLICY`,
//! `OMP_STACKSIZE`, `KMP_BLOCKTIME`, `KMP_STACKSIZE`); what a program sets later is remembered and
//! told, and changes nothing. Threads that are bound one by one are bound as for the C library.

use crate::api;
use fathomp_omp::env::{TargetOffload, WaitPolicy};
use fathomp_omp::{current, runtime};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Milliseconds that a thread waits actively, as LLVM has them by default, and for ever.
const BLOCKTIME: i32 = 200;
const BLOCKTIME_MAX: i32 = i32::MAX;

/// Bytes of a thread's stack where nobody says.
const STACK_BYTES: usize = 4 << 20;

/// What the program has set; negative while it has not.
static SET_BLOCKTIME: AtomicI32 = AtomicI32::new(-1);
/// The same; 0 while it has not.
static SET_STACK: AtomicUsize = AtomicUsize::new(0);

fn stack_bytes() -> usize {
    match SET_STACK.load(Ordering::Relaxed) {
        0 => runtime().settings.stack_size.unwrap_or(STACK_BYTES),
        set => set,
    }
}

/// Defines a routine that takes nothing or numbers, for C and, by address, for Fortran.
macro_rules! plain {
    ($($(#[$doc:meta])* fn $name:ident, $fortran:ident ($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)+) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) $(-> $result)? $body
        /// The same in Fortran.
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran($($argument: &$type),*) $(-> $result)? {
            $name($(*$argument),*)
        }
    )+};
}

plain! {
    /// `int kmp_get_blocktime(void)`
    fn kmp_get_blocktime, kmp_get_blocktime_() -> c_int {
        match SET_BLOCKTIME.load(Ordering::Relaxed) {
            set if set >= 0 => set,
            _ => match runtime().settings.wait_policy {
                Some(WaitPolicy::Active) => BLOCKTIME_MAX,
                Some(WaitPolicy::Passive) => 0,
                None => BLOCKTIME,
            },
        }
    }
    /// `void kmp_set_blocktime(int msec)`
    fn kmp_set_blocktime, kmp_set_blocktime_(milliseconds: c_int) {
        SET_BLOCKTIME.store(milliseconds.max(0), Ordering::Relaxed);
    }
    /// `int kmp_get_stacksize(void)`
    fn kmp_get_stacksize, kmp_get_stacksize_() -> c_int {
        c_int::try_from(stack_bytes()).unwrap_or(c_int::MAX)
    }
    /// `size_t kmp_get_stacksize_s(void)`
    fn kmp_get_stacksize_s, kmp_get_stacksize_s_() -> usize {
        stack_bytes()
    }
    /// `void kmp_set_stacksize(int bytes)`
    fn kmp_set_stacksize, kmp_set_stacksize_(bytes: c_int) {
        SET_STACK.store(usize::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
    }
    /// `void kmp_set_stacksize_s(size_t bytes)`
    fn kmp_set_stacksize_s, kmp_set_stacksize_s_(bytes: usize) {
        SET_STACK.store(bytes, Ordering::Relaxed);
    }
    /// `int kmp_get_library(void)`: 1 to 3 are serial, turnaround and throughput.
    fn kmp_get_library, kmp_get_library_() -> c_int {
        match runtime().settings.wait_policy {
            Some(WaitPolicy::Active) => 2,
            _ => 3,
        }
    }
    /// `void kmp_set_library(int)`
    fn kmp_set_library, kmp_set_library_(kind: c_int) {
        if kind == 1 {
            kmp_set_library_serial();
        }
    }
    /// `void kmp_set_library_serial(void)`
    fn kmp_set_library_serial, kmp_set_library_serial_() {
        api::update_icvs(|icvs| icvs.num_threads = 1);
    }
    /// `void kmp_set_library_turnaround(void)`
    fn kmp_set_library_turnaround, kmp_set_library_turnaround_() {}
    /// `void kmp_set_library_throughput(void)`
    fn kmp_set_library_throughput, kmp_set_library_throughput_() {}
    /// `void kmp_set_disp_num_buffers(int)`: there are as many as are needed.
    fn kmp_set_disp_num_buffers, kmp_set_disp_num_buffers_(_number: c_int) {}
    /// `void kmp_set_warnings_on(void)`
    fn kmp_set_warnings_on, kmp_set_warnings_on_() {}
    /// `void kmp_set_warnings_off(void)`
    fn kmp_set_warnings_off, kmp_set_warnings_off_() {}
    /// `int kmp_get_num_known_threads(void)`
    fn kmp_get_num_known_threads, kmp_get_num_known_threads_() -> c_int {
        current().team().size().cast_signed()
    }
    /// `int kmp_get_affinity_max_proc(void)`: processors that a mask may name.
    fn kmp_get_affinity_max_proc, kmp_get_affinity_max_proc_() -> c_int {
        libc::CPU_SETSIZE
    }
}

/// What the program has set of `OMP_TARGET_OFFLOAD`, as the interface numbers it; negative while it
/// has not.
static SET_OFFLOAD: AtomicI32 = AtomicI32::new(-1);

/// Settings as in the environment, `NAME=VALUE`, several with `|` between them. Of those that count
/// after the program has begun only `OMP_TARGET_OFFLOAD` can be set.
fn set_defaults(text: &[u8]) {
    for setting in text.split(|byte| *byte == b'|') {
        if let Some(value) = setting.strip_prefix(b"OMP_TARGET_OFFLOAD=") {
            let is = |word: &str| value.trim_ascii().eq_ignore_ascii_case(word.as_bytes());
            let offload = match () {
                () if is("disabled") => TargetOffload::Disabled,
                () if is("mandatory") => TargetOffload::Mandatory,
                () => TargetOffload::Default,
            };
            SET_OFFLOAD.store(number(offload), Ordering::Relaxed);
        }
    }
}

kmpc! {
    /// `void kmp_set_defaults(const char *)`
    fn kmp_set_defaults(text: *const c_char) {
        if !text.is_null() {
            // SAFETY: promised by our caller: it ends in a NUL.
            set_defaults(unsafe { CStr::from_ptr(text) }.to_bytes());
        }
    }
    /// Fortran: `subroutine kmp_set_defaults(string)`
    fn kmp_set_defaults_(text: *const c_char, length: usize) {
        if !text.is_null() {
            // SAFETY: promised by our caller: a text of that length.
            set_defaults(unsafe { std::slice::from_raw_parts(text.cast(), length) });
        }
    }
}

/// A set of processors, to which a program has the address.
type Mask = libc::cpu_set_t;

kmpc! {
    /// `void kmp_create_affinity_mask(kmp_affinity_mask_t *)`
    fn kmp_create_affinity_mask(mask: *mut *mut Mask) {
        // SAFETY: promised by our caller; an empty set is all zeros.
        unsafe { mask.write(Box::into_raw(Box::new(std::mem::zeroed()))) };
    }
    /// `void kmp_destroy_affinity_mask(kmp_affinity_mask_t *)`
    fn kmp_destroy_affinity_mask(mask: *mut *mut Mask) {
        // SAFETY: promised by our caller: it is from `kmp_create_affinity_mask`, or null.
        unsafe {
            let old = mask.replace(std::ptr::null_mut());
            if !old.is_null() {
                drop(Box::from_raw(old));
            }
        }
    }
    /// `int kmp_set_affinity(kmp_affinity_mask_t *)`: binds the calling thread; 0 if it could.
    fn kmp_set_affinity(mask: *const *const Mask) -> c_int {
        // SAFETY: promised by our caller.
        unsafe { libc::sched_setaffinity(0, size_of::<Mask>(), mask.read()) }
    }
    /// `int kmp_get_affinity(kmp_affinity_mask_t *)`
    fn kmp_get_affinity(mask: *const *mut Mask) -> c_int {
        // SAFETY: promised by our caller.
        unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), mask.read()) }
    }
    /// `int kmp_set_affinity_mask_proc(int proc, kmp_affinity_mask_t *)`: 0, -1 or -2 as LLVM
    /// has it.
    fn kmp_set_affinity_mask_proc(processor: c_int, mask: *const *mut Mask) -> c_int {
        let Some(processor) = known(processor) else { return -1 };
        // SAFETY: promised by our caller.
        unsafe { libc::CPU_SET(processor, &mut *mask.read()) };
        0
    }
    /// `int kmp_unset_affinity_mask_proc(int proc, kmp_affinity_mask_t *)`
    fn kmp_unset_affinity_mask_proc(processor: c_int, mask: *const *mut Mask) -> c_int {
        let Some(processor) = known(processor) else { return -1 };
        // SAFETY: promised by our caller.
        unsafe { libc::CPU_CLR(processor, &mut *mask.read()) };
        0
    }
    /// `int kmp_get_affinity_mask_proc(int proc, kmp_affinity_mask_t *)`: whether it is in.
    fn kmp_get_affinity_mask_proc(processor: c_int, mask: *const *mut Mask) -> c_int {
        let Some(processor) = known(processor) else { return -1 };
        // SAFETY: promised by our caller.
        c_int::from(unsafe { libc::CPU_ISSET(processor, &*mask.read()) })
    }
}

/// The same routines under their other names: Fortran's, which pass numbers by address, and those of
/// C in LLVM's header.
macro_rules! other_names {
    ($($name:ident $fortran:ident ($mask:ty) -> $result:ty;)+) => { kmpc! {$(
        /// The same in Fortran.
        fn $fortran(mask: $mask) -> $result {
            // SAFETY: promised by our caller.
            unsafe { $name(mask) }
        }
    )+} };
    ($($name:ident $fortran:ident $c:ident;)+) => { kmpc! {$(
        /// The same in Fortran.
        fn $fortran(processor: *const c_int, mask: *const *mut Mask) -> c_int {
            // SAFETY: promised by our caller.
            unsafe { $name(processor.read(), mask) }
        }
        /// The same by the name that a header gives it.
        fn $c(processor: c_int, mask: *const *mut Mask) -> c_int {
            // SAFETY: promised by our caller.
            unsafe { $name(processor, mask) }
        }
    )+} };
}

other_names! {
    kmp_create_affinity_mask kmp_create_affinity_mask_ (*mut *mut Mask) -> ();
    kmp_destroy_affinity_mask kmp_destroy_affinity_mask_ (*mut *mut Mask) -> ();
    kmp_set_affinity kmp_set_affinity_ (*const *const Mask) -> c_int;
    kmp_get_affinity kmp_get_affinity_ (*const *mut Mask) -> c_int;
}

other_names! {
    kmp_set_affinity_mask_proc kmp_set_affinity_mask_proc_ kmpc_set_affinity_mask_proc;
    kmp_unset_affinity_mask_proc kmp_unset_affinity_mask_proc_ kmpc_unset_affinity_mask_proc;
    kmp_get_affinity_mask_proc kmp_get_affinity_mask_proc_ kmpc_get_affinity_mask_proc;
}

fn known(processor: c_int) -> Option<usize> {
    let processor = usize::try_from(processor).ok()?;
    (processor < libc::CPU_SETSIZE as usize).then_some(processor)
}

/// `int __kmpc_get_target_offload(void)`: what `OMP_TARGET_OFFLOAD` says.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_get_target_offload() -> c_int {
    match SET_OFFLOAD.load(Ordering::Relaxed) {
        set if set >= 0 => set,
        _ => number(runtime().settings.target_offload),
    }
}

fn number(offload: TargetOffload) -> c_int {
    match offload {
        TargetOffload::Disabled => 0,
        TargetOffload::Default => 1,
        TargetOffload::Mandatory => 2,
    }
}

kmpc! {
    /// `int __kmpc_pause_resource(kmp_pause_status_t)`
    fn __kmpc_pause_resource(kind: c_int) -> c_int {
        api::control::omp_pause_resource_all(kind)
    }
    /// `kmp_uint64 __kmpc_get_taskid(void)`: a number of the task that runs.
    fn __kmpc_get_taskid() -> u64 {
        fathomp_omp::task::number(current())
    }
    /// `kmp_uint64 __kmpc_get_parent_taskid(void)`
    fn __kmpc_get_parent_taskid() -> u64 {
        fathomp_omp::task::parent_number(current())
    }
    /// `void *__kmpc_omp_get_target_async_handle_ptr(kmp_int32 gtid)`: the host's work is not
    /// asynchronous.
    fn __kmpc_omp_get_target_async_handle_ptr(_gtid: i32) -> *mut c_void {
        std::ptr::null_mut()
    }
    /// `bool __kmpc_omp_has_task_team(kmp_int32 gtid)`
    fn __kmpc_omp_has_task_team(_gtid: i32) -> bool {
        current().team().size() > 1
    }
}
