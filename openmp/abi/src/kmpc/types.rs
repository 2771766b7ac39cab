//! What LLVM's interface passes by address. The layouts are those of `kmp.h` in
//! `openmp/runtime/src` of LLVM, which compilers have relied on since 2013.

use std::ffi::{c_char, c_void};

/// `ident_t`: where a construct stands in the source.
#[derive(Debug)]
#[repr(C)]
pub struct Ident {
    reserved_1: i32,
    flags: i32,
    reserved_2: i32,
    reserved_3: i32,
    /// `;file;function;line;column;;`, or null.
    source: *const c_char,
}

/// What entry points begin with; may be null.
pub type Location = *const Ident;

impl Ident {
    /// An update that the compiler could do by atomic operations.
    pub(super) const ATOMIC_REDUCE: i32 = 0x10;
    /// Sections that the compiler divides as a loop.
    pub(super) const SECTIONS: i32 = 0x400;
    /// A barrier that the program wrote.
    pub(super) const BARRIER_EXPLICIT: i32 = 0x20;

    /// The flags of `location`.
    ///
    /// # Safety
    /// It is null or leads to an `ident_t`.
    #[inline]
    pub(super) unsafe fn flags(location: Location) -> i32 {
        // SAFETY: promised by our caller.
        unsafe { location.as_ref() }.map_or(0, |ident| ident.flags)
    }
}

/// `kmp_critical_name`: 32 bytes, zero at first, of which a lock takes the first four.
pub type CriticalName = fathomp_omp::sync::Lock;

/// `kmp_task_t`, behind which the task's own variables lie.
#[derive(Debug)]
#[repr(C)]
pub struct KmpTask {
    /// Address of the block with pointers to shared variables.
    pub(super) shareds: usize,
    pub(super) routine: Option<Routine>,
    /// Where an untied task goes on.
    pub(super) part_id: i32,
    /// What destroys the task's own variables, if there is something to destroy.
    pub(super) destructors: Option<Routine>,
    /// Its first four bytes are the value of the `priority` clause.
    pub(super) priority: u64,
}

const _: () = assert!(std::mem::offset_of!(KmpTask, destructors) == 24);
const _: () = assert!(std::mem::size_of::<KmpTask>() == 40);

/// `kmp_routine_entry_t`: a task's code.
pub type Routine = extern "C" fn(i32, *mut KmpTask) -> i32;

/// `kmp_depend_info_t`: an item of a `depend` clause.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DependInfo {
    pub(super) address: usize,
    pub(super) bytes: usize,
    pub(super) flags: u8,
}

const _: () = assert!(std::mem::size_of::<DependInfo>() == 24);

/// `kmp_dim`: a loop of a doacross nest.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Dim {
    pub(super) first: i64,
    /// The last value that is not beyond the loop.
    pub(super) last: i64,
    pub(super) step: i64,
}

/// `kmp_task_red_input_t`: a list item of a task reduction, until LLVM 8.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OldReductionInput {
    pub(super) shared: usize,
    pub(super) bytes: usize,
    pub(super) init: Option<extern "C" fn(*mut c_void)>,
    pub(super) fini: Option<extern "C" fn(*mut c_void)>,
    pub(super) combine: Option<extern "C" fn(*mut c_void, *mut c_void)>,
    pub(super) flags: u32,
}

/// `kmp_taskred_input_t`: the same since.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReductionInput {
    pub(super) shared: usize,
    pub(super) original: usize,
    pub(super) bytes: usize,
    pub(super) init: Option<extern "C" fn(*mut c_void, *mut c_void)>,
    pub(super) fini: Option<extern "C" fn(*mut c_void)>,
    pub(super) combine: Option<extern "C" fn(*mut c_void, *mut c_void)>,
    pub(super) flags: u32,
}
