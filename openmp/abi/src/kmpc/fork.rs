//! `parallel` constructs.
//!
//! A region's code takes two numbers of its thread by address and then an argument for each
//! shared variable. The block that the runtime passes on is the [`Frame`] of the call that began
//! the region: its arguments 0 to 2 are the location, the number of arguments and the code, and
//! those of the region follow. It is on the stack of the thread that waits for the region's end,
//! where other nodes reach it.

use super::threads::{global_number, team_number};
use super::types::Location;
use crate::api::update_icvs;
use crate::entry::{Frame, entry, variadic};
use fathomp_omp::icv::{ProcBind, kept_list};
use fathomp_omp::parallel::{self, Caller, Fork};
use fathomp_omp::places::display;
use fathomp_omp::{cluster, current};
use fathomp_sys::call_site::call_site;
use fathomp_sys::exit_frame::take_wanted;
use fathomp_sys::outlined::{Opaque, Outlined, Way};
use std::cell::Cell;

/// Arguments before those of the region's code.
const BEFORE: usize = 3;

thread_local! {
    /// Clauses of the region that this thread begins next.
    static CLAUSES: Cell<Clauses> = const { Cell::new(Clauses::NONE) };
}

#[derive(Clone, Copy)]
struct Clauses {
    threads: u32,
    /// Threads of the regions inside, outermost first; empty if they are not said.
    threads_inside: &'static [u32],
    bind: Option<ProcBind>,
}

impl Clauses {
    const NONE: Self = Self {
        threads: 0,
        threads_inside: &[],
        bind: None,
    };

    fn take() -> Self {
        // A thread that ends has no clauses left.
        CLAUSES
            .try_with(|clauses| clauses.replace(Self::NONE))
            .unwrap_or(Self::NONE)
    }

    fn change(change: impl FnOnce(&mut Self)) {
        let _ = CLAUSES.try_with(|clauses| {
            let mut changed = clauses.get();
            change(&mut changed);
            clauses.set(changed);
        });
    }
}

/// The code and the arguments of `frame`, for the runtime to pass on.
///
/// # Safety
/// `frame` is that of a call whose argument 2 is code of a region with as many arguments behind
/// it as argument 1 says, and stays until the region has ended.
pub(super) unsafe fn region_of(frame: *const Frame) -> (Outlined, Opaque) {
    // SAFETY: promised by our caller.
    unsafe {
        let code = Frame::argument(frame, BEFORE - 1);
        (
            Outlined::called_by(Way::Region, code),
            Opaque(frame.expose_provenance()),
        )
    }
}

/// Runs the region of `frame`.
///
/// # Safety
/// As of [`region_of`].
unsafe fn run(frame: *const Frame, caller: Caller) {
    let call = call_site();
    display::region_like_libomp();
    let clauses = Clauses::take();
    // SAFETY: promised by our caller.
    let (function, data) = unsafe { region_of(frame) };
    let fork = Fork {
        function,
        data,
        threads: match caller {
            Caller::LlvmIfFalse => 1,
            _ => clauses.threads,
        },
        bind: clauses.bind,
        call,
        preset: None,
        called_by_program: false,
        caller,
        prepare: None,
    };
    match clauses.threads_inside {
        [] => parallel::parallel(&fork),
        // Nodes tell each other lists of the environment alone.
        _ if cluster::is_node() => parallel::parallel(&fork),
        inside => with_threads_inside(&fork, inside),
    }
}

/// Runs a region whose `num_threads` clause is a list (OpenMP 6.0, 12.1.2): what follows its first
/// number is for the regions inside. The encountering task has its own numbers again afterwards.
#[cold]
fn with_threads_inside(fork: &Fork, inside: &'static [u32]) {
    let before = current().icvs();
    update_icvs(|icvs| icvs.num_threads_inner = inside);
    parallel::parallel(fork);
    update_icvs(|icvs| {
        icvs.num_threads_inner = before.num_threads_inner;
    });
}

variadic! {
    /// `void __kmpc_fork_call(ident_t *, kmp_int32 argc, kmpc_micro microtask, ...)`
    __kmpc_fork_call => fork_call;
}

extern "C" fn fork_call(frame: *const Frame) {
    // SAFETY: it is the frame of `__kmpc_fork_call`.
    unsafe { run(frame, Caller::Llvm) };
}

entry! {
    /// `void __kmpc_fork_call_if(ident_t *, kmp_int32 argc, kmpc_micro microtask, kmp_int32 cond,
    /// void *args)`: with one argument, or none if that is null.
    __kmpc_fork_call_if => fork_call_if;
    /// `void __kmpc_serialized_parallel(ident_t *, kmp_int32 gtid)`: the calling thread alone
    /// is a region, whose code it calls itself.
    __kmpc_serialized_parallel => serialized_parallel;
}

extern "C" fn fork_call_if(
    location: Location,
    _count: i32,
    code: usize,
    condition: i32,
    argument: usize,
) {
    let count = usize::from(argument != 0);
    let frame = Frame::new([location.expose_provenance(), count, code, argument, 0, 0]);
    let caller = match condition {
        0 => Caller::LlvmIfFalse,
        _ => Caller::Llvm,
    };
    // SAFETY: the frame has a region's code and its arguments, and waits for its end.
    unsafe { run(&raw const frame, caller) };
}

extern "C" fn nothing(_data: Opaque) {}

extern "C" fn serialized_parallel(_location: Location, _gtid: i32) {
    let call = call_site();
    display::region_like_libomp();
    let clauses = Clauses::take();
    parallel::begin_legacy(&Fork {
        // SAFETY: it does nothing; the program calls the region's code itself.
        function: unsafe { Outlined::from_program(nothing) },
        data: Opaque(0),
        threads: 1,
        bind: clauses.bind,
        call,
        preset: None,
        called_by_program: false,
        caller: Caller::LlvmIfFalse,
        prepare: None,
    });
}

/// `void __kmpc_end_serialized_parallel(ident_t *, kmp_int32 gtid)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_serialized_parallel(_location: Location, _gtid: i32) {
    parallel::end_legacy();
}

/// `void __kmpc_push_num_threads(ident_t *, kmp_int32 gtid, kmp_int32 num_threads)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads(_location: Location, _gtid: i32, threads: i32) {
    Clauses::change(|clauses| clauses.threads = u32::try_from(threads).unwrap_or(0));
}

/// `void __kmpc_push_num_threads_strict(ident_t *, kmp_int32 gtid, kmp_int32 num_threads,
/// int severity, const char *message)`: what is said if there are fewer is left out.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads_strict(
    location: Location,
    gtid: i32,
    threads: i32,
    _severity: i32,
    _message: usize,
) {
    __kmpc_push_num_threads(location, gtid, threads);
}

kmpc! {
    /// `void __kmpc_push_num_threads_list(ident_t *, kmp_int32 gtid, kmp_uint32 length,
    /// kmp_int32 *list)`: the first is for the next region, the others for those inside.
    fn __kmpc_push_num_threads_list(location: Location, gtid: i32, length: u32, list: *const i32) {
        if length > 0 {
            // SAFETY: promised by our caller.
            let list = unsafe { std::slice::from_raw_parts(list, length as usize) };
            __kmpc_push_num_threads(location, gtid, list[0]);
            let inside: Vec<u32> = list[1..].iter().map(|&threads| threads.max(1) as u32).collect();
            Clauses::change(|clauses| clauses.threads_inside = kept_list(&inside));
        }
    }
    /// The same with the arguments of `__kmpc_push_num_threads_strict`.
    fn __kmpc_push_num_threads_list_strict(location: Location, gtid: i32, length: u32,
        list: *const i32, _severity: i32, _message: usize) {
        // SAFETY: promised by our caller.
        unsafe { __kmpc_push_num_threads_list(location, gtid, length, list) };
    }
}

/// `void __kmpc_pop_num_threads(ident_t *, kmp_int32 gtid)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_pop_num_threads(_location: Location, _gtid: i32) {
    Clauses::change(|clauses| {
        clauses.threads = 0;
        clauses.threads_inside = &[];
    });
}

/// The policy `primary`, which has another number than when it was called `master`.
const PRIMARY: i32 = 5;

/// `void __kmpc_push_proc_bind(ident_t *, kmp_int32 gtid, int proc_bind)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_proc_bind(_location: Location, _gtid: i32, policy: i32) {
    let bind = match policy {
        PRIMARY => Some(ProcBind::Primary),
        2..=4 => ProcBind::from_number(policy.unsigned_abs()),
        _ => None,
    };
    Clauses::change(|clauses| clauses.bind = bind);
}

/// Calls the code of a region with the arguments in `data`, a [`Frame`].
pub(super) extern "C" fn call_region(_code: usize, data: Opaque) {
    let global = global_number();
    let bound = team_number();
    let frame = std::ptr::with_exposed_provenance(data.0);
    let exit = take_wanted();
    // SAFETY: regions called this way have such a frame, see `region_of`.
    unsafe { invoke(frame, &raw const global, &raw const bound, exit) };
}

/// Calls the code of the region that `frame` describes with the two numbers and the region's
/// arguments.
///
/// # Safety
/// As of [`region_of`]; `global` and `bound` stay as long. `exit` is null or where the frame pointer
/// is to be stored.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn invoke(
    frame: *const Frame,
    global: *const i32,
    bound: *const i32,
    exit: *mut u64,
) {
    // Arguments 3 to 5 of the frame are its words 3 to 5, those from 6 on its words from 8 on;
    // they become the called function's arguments from 2 on.
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "test rcx, rcx",
        "jz 4f",
        "mov qword ptr [rcx], rbp",
        "4:",
        "mov r10, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "movsxd rax, dword ptr [r10 + 8]",
        "sub rax, 3",
        "jle 3f",
        "mov r9, qword ptr [r10 + 64]",
        "dec rax",
        "jz 3f",
        "lea rcx, [rax + 1]",
        "and rcx, -2",
        "shl rcx, 3",
        "sub rsp, rcx",
        "2:",
        "mov rcx, qword ptr [r10 + 8*rax + 64]",
        "mov qword ptr [rsp + 8*rax - 8], rcx",
        "dec rax",
        "jnz 2b",
        "3:",
        "mov rdx, qword ptr [r10 + 24]",
        "mov rcx, qword ptr [r10 + 32]",
        "mov r8, qword ptr [r10 + 40]",
        "call qword ptr [r10 + 16]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static SEEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

    extern "C" fn ten(
        global: *const i32,
        bound: *const i32,
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
        g: usize,
    ) {
        // SAFETY: numbers of the test's own.
        let numbers = unsafe { [*global as usize, *bound as usize] };
        let mut seen = SEEN.lock().unwrap();
        seen.extend(numbers);
        seen.extend([a, b, c, d, e, f, g]);
    }

    #[test]
    fn arguments_reach_the_code_in_order() {
        // A frame as `variadic!` makes it: six words, two of its own, the rest of the stack.
        let mut words = [
            0,
            7,
            ten as *const () as usize,
            11,
            12,
            13,
            0,
            0,
            14,
            15,
            16,
            17,
        ];
        let (global, bound) = (40, 41);
        for count in [7, 4, 3] {
            SEEN.lock().unwrap().clear();
            words[1] = count;
            // SAFETY: the words are a frame; with fewer arguments the function sees what it
            // happens to find, which is not looked at.
            unsafe {
                let frame = words.as_ptr().cast();
                invoke(
                    frame,
                    &raw const global,
                    &raw const bound,
                    std::ptr::null_mut(),
                );
            };
            let seen = SEEN.lock().unwrap();
            assert_eq!(
                seen[..2 + count],
                [40, 41, 11, 12, 13, 14, 15, 16, 17][..2 + count]
            );
        }
    }
}
