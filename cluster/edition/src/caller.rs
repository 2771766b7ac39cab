//! Functions that behave differently for different callers.

/// Defines `$name`, which goes on in `$body` with its return address as one more
/// argument, in `$register`.
macro_rules! with_caller {
    ($($(#[$doc:meta])* $name:ident => $body:ident, $register:literal;)+) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            // At entry the return address is on top of the stack; the register
            // is that of the first argument that the C function does not have.
            std::arch::naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {body}",
                body = sym $body,
            )
        }
    )+};
}

pub(super) use with_caller;
