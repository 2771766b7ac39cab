//! Processes that begin, end, or become other programs.

use super::macros::missing;
use crate::engine::turn::{Turn, frame};
use crate::engine::{Call, process};
use fathomp_paging::Ending;
use fathomp_sys::dlsym_next::function;
use std::arch::global_asm;
use std::ffi::{c_char, c_int, c_void};

front! {
    |call| (), |_stay, result| if result == 0 { process::forked() };
    fork | __fork() -> c_int;
}

front! {
    // What may be called in the child is little; until it becomes another program, its calls
    // pass through.
    |call| (), |_stay, result| if result == 0 { process::not_recorded() };
    _Fork() -> c_int;
}

front! {
    |call| process::may_end(), |_stay, result| {
        if result != 0 {
            process::goes_on();
        }
    };
    // The parent ends inside; the process that returns is the child.
    daemon(keeps_folder: c_int, keeps_streams: c_int) -> c_int;
}

front! {
    // SAFETY: promised by our caller's caller.
    |call| unsafe { process::becomes(environment) }, |_stay, result| process::goes_on();
    execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
    execvpe(file: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
    fexecve(file: c_int, arguments: *const *const c_char, environment: *const *const c_char) -> c_int;
    execveat(folder: c_int, path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char, flags: c_int) -> c_int;
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

front! {
    // SAFETY: the process's environment, which only the program itself changes.
    |call| unsafe { process::becomes(environ) }, |_stay, result| process::goes_on();
    execv(path: *const c_char, arguments: *const *const c_char) -> c_int;
    execvp(file: *const c_char, arguments: *const *const c_char) -> c_int;
}

front! {
    // Whoever does the second is likely to restrict calls of the kernel by another way next.
    |call| if matches!(option, libc::PR_SET_SECCOMP | libc::PR_SET_NO_NEW_PRIVS) {
        process::restrict();
    }, |_stay, result| ();
    prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int;
}

/// As `_exit`.
///
/// # Safety
/// As of the function behind.
#[unsafe(export_name = "fathomp_paging_front__exit")]
unsafe extern "C" fn leave(status: c_int) {
    process::end(Ending::Exit);
    // The C library's function does no more than this.
    loop {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// As `_Exit`.
///
/// # Safety
/// As of the function behind.
#[unsafe(export_name = "fathomp_paging_front__Exit")]
unsafe extern "C" fn leave_c99(status: c_int) {
    // SAFETY: the same function by another name.
    unsafe { leave(status) }
}

// `vfork` returns twice, and between its returns the child runs on its parent's stack. So
// nothing may lie there when it returns, not even the address to return to: that waits in a
// register that the kernel keeps. The child's calls pass through until its parent, in whose
// memory it runs, goes on.
global_asm!(
    ".globl fathomp_paging_front_vfork",
    ".type fathomp_paging_front_vfork, @function",
    "fathomp_paging_front_vfork:",
    ".cfi_startproc",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call {pause}",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    ".cfi_register rip, rdi",
    "mov eax, {number}",
    "syscall",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_offset rip, -8",
    "test eax, eax",
    "jz 2f",
    "mov edi, eax",
    "jmp {resume}",
    "2: ret",
    ".cfi_endproc",
    ".size fathomp_paging_front_vfork, . - fathomp_paging_front_vfork",
    pause = sym before_vfork,
    resume = sym after_vfork,
    number = const libc::SYS_vfork,
);

extern "C" fn before_vfork() {
    if let Some(turn) = Turn::take(frame()) {
        turn.thread().pause();
    }
}

/// In the parent; gives what `vfork` returns.
extern "C" fn after_vfork(result: c_int) -> c_int {
    process::resume_after_vfork();
    if result >= 0 {
        return result;
    }
    // SAFETY: the thread's own `errno`.
    unsafe { *libc::__errno_location() = -result };
    -1
}

/// A function for the child of `clone`, and its argument.
struct Child {
    run: *mut c_void,
    argument: *mut c_void,
}

unsafe extern "C" fn child_begins(child: *mut c_void) -> c_int {
    // SAFETY: a copy of the parent's memory, in which `clone` has not returned yet.
    let Child { run, argument } = unsafe { child.cast::<Child>().read() };
    process::forked();
    // SAFETY: what the program gave to `clone`.
    let status = unsafe { function::<unsafe extern "C" fn(*mut c_void) -> c_int>(run)(argument) };
    // The C library ends the child by the system call itself.
    process::end(Ending::Exit);
    status
}

/// As `clone`.
///
/// A child with its own memory is as after `fork`. One in our memory and with our
/// thread-local variables would take itself for the calling thread, which therefore is
/// recorded no longer.
///
/// # Safety
/// As of the function behind.
#[unsafe(export_name = "fathomp_paging_front_clone")]
unsafe extern "C" fn clone(
    run: *mut c_void,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: *mut c_void,
    tls: *mut c_void,
    child_id: *mut c_void,
) -> c_int {
    type Clone = unsafe extern "C" fn(
        *mut c_void,
        *mut c_void,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
    ) -> c_int;
    static CALL: Call = call!("clone");
    // SAFETY: the function of this name has this type.
    let Some(next) = (unsafe { CALL.next.function::<Clone>() }) else {
        return missing();
    };
    if flags & libc::CLONE_VM == 0 {
        let child = Child { run, argument };
        let begins: unsafe extern "C" fn(*mut c_void) -> c_int = child_begins;
        let argument = (&raw const child).cast_mut().cast();
        // SAFETY: promised by our caller; the child has a copy of `child`.
        return unsafe {
            next(
                begins as *mut c_void,
                stack,
                flags,
                argument,
                parent_id,
                tls,
                child_id,
            )
        };
    }
    let shares = flags & libc::CLONE_SETTLS == 0;
    let waits = flags & libc::CLONE_VFORK != 0;
    if shares && waits {
        before_vfork();
    } else if shares && let Some(turn) = Turn::take(frame()) {
        turn.thread().silence();
    }
    // SAFETY: promised by our caller.
    let result = unsafe { next(run, stack, flags, argument, parent_id, tls, child_id) };
    if shares && waits {
        process::resume_after_vfork();
    }
    result
}
