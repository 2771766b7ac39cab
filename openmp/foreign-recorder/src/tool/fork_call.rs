//! In front of LLVM's call that begins regions: the region's code is noted, which OMPT does not
//! tell.

use crate::front::behind;
use fathomp_sys::dlsym_next::Next;
use std::arch::naked_asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// LLVM's function behind, once it has been looked for.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// In front of LLVM's `__kmpc_fork_call`, whose third argument is the region's code, and which has
/// any number of arguments: it is jumped to with all of them as they came.
#[unsafe(naked)]
#[unsafe(export_name = "fathomp_foreign_recorder_front___kmpc_fork_call")]
extern "C" fn kmpc_fork_call() {
    naked_asm!(
        "mov r10, qword ptr [rip + fathomp_forked_function@GOTTPOFF]",
        "mov qword ptr fs:[r10], rdx",
        "mov r11, qword ptr [rip + {next}]",
        "test r11, r11",
        "jz 2f",
        "jmp r11",
        // For the first time: what registers pass is kept; seven pushes align the stack.
        "2:",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "call {find}",
        "mov r11, rax",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp r11",
        next = sym NEXT,
        find = sym find,
    )
}

extern "C" fn find() -> *mut c_void {
    static CALL: Next = Next::new(c"__kmpc_fork_call");
    let found = behind(&CALL);
    NEXT.store(found, Ordering::Relaxed);
    found
}
