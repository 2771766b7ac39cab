//! Entry points that remember where they were called from.

/// Defines the C symbol `$name`, which notes its return address, and where on
/// the stack that is (see `fathomp_sys::call_site`), and goes on in `$body` with
/// all arguments as they came.
///
/// `$body` must be an `extern "C"` function with the C signature of `$name`.
macro_rules! entry {
    ($($(#[$doc:meta])* $name:ident => $body:path;)+) => {$(
        fathomp_sys::noting_call_site! { $(#[$doc])* $name, stringify!($name), $body }
    )+};
}

/// Defines entry points of which only a tool wants to know where they were called from: they note
/// that as [`entry!`] does unless it is known that there is no tool. The body of `NAME` is
/// `NAME::body`, for code of the runtime that wants the same.
///
/// Arguments are what compiled code passes: pointers lead to what the interface says, as long as
/// it says.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)+) => {
        $crate::entry::noting_if! { TOOL, $($(#[$doc])* fn $name($($argument: $type),*) $(-> $result)? $body)+ }
    };
}

/// The same for entry points of which a recording wants to know it as well.
macro_rules! watched {
    ($($(#[$doc:meta])* fn $name:ident ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)+) => {
        $crate::entry::noting_if! { ANYBODY, $($(#[$doc])* fn $name($($argument: $type),*) $(-> $result)? $body)+ }
    };
}

/// Defines entry points that note their call if that byte of [`fathomp_sys::call_site::Watch`]
/// says so.
macro_rules! noting_if {
    ($who:ident, $($(#[$doc:meta])* fn $name:ident ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)+) => {$(
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            std::arch::naked_asm!(
                "cmp byte ptr [rip + {watch} + {who}], 0",
                "je {body}",
                "mov r10, qword ptr [rip + fathomp_call_site@GOTTPOFF]",
                "mov r11, qword ptr [rsp]",
                "mov qword ptr fs:[r10], r11",
                "mov qword ptr fs:[r10 + 8], rsp",
                "mov qword ptr fs:[r10 + 16], rbp",
                "jmp {body}",
                watch = sym fathomp_sys::call_site::WATCH,
                who = const fathomp_sys::call_site::Watch::$who,
                body = sym $name::body,
            )
        }

        pub(crate) mod $name {
            #[allow(unused_imports, reason = "some bodies need nothing from outside")]
            use super::*;

            /// # Safety
            /// As the arguments of the entry point are promised to be.
            pub(crate) unsafe extern "C" fn body($($argument: $type),*) $(-> $result)? $body
        }
    )+};
}

/// Defines a variadic function of words, which notes its return address as [`entry!`] does and
/// stores its arguments as a [`Frame`](crate::entry::Frame), whose address it passes to
/// `$body`.
macro_rules! variadic {
    ($($(#[$doc:meta])* $name:ident => $body:path;)+) => {$(
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            // 56 bytes align the stack for the call, which found it 8 off. What unwinds the stack
            // finds the caller behind them.
            std::arch::naked_asm!(
                ".cfi_startproc",
                "mov r10, qword ptr [rip + fathomp_call_site@GOTTPOFF]",
                "mov r11, qword ptr [rsp]",
                "mov qword ptr fs:[r10], r11",
                "mov qword ptr fs:[r10 + 8], rsp",
                "mov qword ptr fs:[r10 + 16], rbp",
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                "mov qword ptr [rsp], rdi",
                "mov qword ptr [rsp + 8], rsi",
                "mov qword ptr [rsp + 16], rdx",
                "mov qword ptr [rsp + 24], rcx",
                "mov qword ptr [rsp + 32], r8",
                "mov qword ptr [rsp + 40], r9",
                "mov rdi, rsp",
                "call {body}",
                "add rsp, 56",
                ".cfi_def_cfa_offset 8",
                "ret",
                ".cfi_endproc",
                body = sym $body,
            )
        }
    )+};
}

/// Words that a function was called with: those that came in registers, which `variadic!`
/// stores, and behind what belongs to that function those that its caller left on the stack.
#[repr(C)]
pub(crate) struct Frame {
    pub(crate) registers: [usize; 6],
    own: [usize; 2],
    stack: [usize; 0],
}

impl Frame {
    /// One that a function makes for itself.
    pub(crate) const fn new(registers: [usize; 6]) -> Self {
        Self {
            registers,
            own: [0; 2],
            stack: [],
        }
    }

    /// Argument `index`.
    ///
    /// # Safety
    /// The function was called with more than `index` arguments, and has not returned.
    #[inline]
    pub(crate) unsafe fn argument(this: *const Self, index: usize) -> usize {
        // SAFETY: promised by our caller: the frame is there, and so are arguments on the
        // stack, in order, where the calling convention and `variadic!` have put them.
        unsafe {
            match index.checked_sub(6) {
                None => (*this).registers[index],
                Some(on_stack) => (&raw const (*this).stack)
                    .cast::<usize>()
                    .add(on_stack)
                    .read(),
            }
        }
    }
}

pub(crate) use {entries, entry, noting_if, variadic, watched};
