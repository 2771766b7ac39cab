//! Entry points that remember where they were called from.

/// Defines the C symbol `$name`, which notes its return address (see
/// `fathomp_sys::call_site`) and goes on in `$body` with all arguments as they
/// came.
///
/// `$body` must be an `extern "C"` function with the C signature of `$name`.
macro_rules! entry {
    ($($(#[$doc:meta])* $name:ident => $body:path;)+) => {$(
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            // At entry the return address is on top of the stack; r10 and r11
            // carry no arguments of the C calling convention and belong to
            // nobody across a call. The symbol is defined in `fathomp-sys`.
            std::arch::naked_asm!(
                "mov r10, qword ptr [rip + fathomp_call_site@GOTTPOFF]",
                "mov r11, qword ptr [rsp]",
                "mov qword ptr fs:[r10], r11",
                "jmp {body}",
                body = sym $body,
            )
        }
    )+};
}

pub(crate) use entry;
