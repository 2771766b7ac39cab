//! Where the program called us from.
//!
//! Stable Rust cannot ask for a function's return address, so the entry points
//! that name regions and loops leave it in per-thread words before they jump
//! to their Rust body (see `fathomp-abi`'s `entry`).

use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering};

/// How this thread came through an entry point last. Zeros where entry points
/// cannot note it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The address to which the entry point returns.
    pub address: usize,
    /// Where that address is on the stack: just below the caller's frame.
    pub stack: usize,
    /// The caller's frame pointer, if its code keeps one.
    pub frame: usize,
}

/// Last byte of the call that brought this thread through an entry point last:
/// the return address less 1, because the return address itself may belong to
/// the next line. 0 where entry points cannot note it. Ask first thing in the
/// body: the next entry overwrites it.
#[inline]
#[must_use]
pub fn call_site() -> usize {
    platform::load::<ADDRESS>().saturating_sub(1)
}

/// All that is known of that call.
#[inline]
#[must_use]
pub fn call() -> Call {
    Call {
        address: platform::load::<ADDRESS>(),
        stack: platform::load::<STACK>(),
        frame: platform::load::<FRAME>(),
    }
}

/// Makes `call` the last one again, after the program's code has run.
pub fn note_again(call: Call) {
    platform::store::<ADDRESS>(call.address);
    platform::store::<STACK>(call.stack);
    platform::store::<FRAME>(call.frame);
}

/// What may have to be told of what the program does: a tool, a recorder. Nearly every entry
/// point looks at it first, so it lies on a line of its own, which nobody writes once the
/// runtime runs.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Watch {
    tool: AtomicBool,
    anybody: AtomicBool,
    regions: AtomicBool,
}

/// The one of this process.
pub static WATCH: Watch = Watch {
    tool: AtomicBool::new(true),
    anybody: AtomicBool::new(true),
    regions: AtomicBool::new(true),
};

impl Watch {
    /// Where entry points find, as a byte, whether there may be a tool.
    pub const TOOL: usize = offset_of!(Self, tool);
    /// The same of anybody.
    pub const ANYBODY: usize = offset_of!(Self, anybody);

    /// Whether there is a tool, or it is not known yet that there is none.
    #[inline]
    pub fn may_have_tool(&self) -> bool {
        self.tool.load(Ordering::Relaxed)
    }

    /// There is no tool, or no longer one.
    pub fn has_no_tool(&self) {
        self.tool.store(false, Ordering::Relaxed);
    }

    /// Whether somebody has to hear of what threads do, or it is not known yet that nobody has: a
    /// tool, a recording, other nodes. Where nobody has, constructs do only what the program
    /// asks for, without looking for each of these.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.anybody.load(Ordering::Relaxed)
    }

    /// The same where regions begin and end: of these some hear who hear of nothing else.
    #[inline]
    pub fn is_on_for_regions(&self) -> bool {
        self.regions.load(Ordering::Relaxed)
    }

    /// Says whether somebody has to hear: of all, and at least of regions.
    pub fn set(&self, on: bool, regions: bool) {
        self.anybody.store(on, Ordering::Relaxed);
        self.regions.store(on || regions, Ordering::Relaxed);
    }
}

/// Offsets of the words from the symbol, which [`noting_call_site`](crate::noting_call_site) knows
/// as well.
const ADDRESS: usize = 0;
const STACK: usize = 8;
const FRAME: usize = 16;
/// The word of [`crate::exit_frame`].
pub(crate) const EXIT: usize = 24;

/// Defines a C symbol, whose name in the library is `$symbol`, that notes its return address and
/// where on the stack that is (see [`call`]) and goes on in `$body` with all arguments as they came.
///
/// `$body` must be an `extern "C"` function with the C signature of that symbol.
#[macro_export]
macro_rules! noting_call_site {
    ($(#[$doc:meta])* $name:ident, $symbol:expr, $body:path) => {
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(export_name = $symbol)]
        pub extern "C" fn $name() {
            // At entry the return address is on top of the stack; r10 and r11
            // carry no arguments of the C calling convention and belong to
            // nobody across a call. The symbol is defined in `call_site`.
            std::arch::naked_asm!(
                "mov r10, qword ptr [rip + fathomp_call_site@GOTTPOFF]",
                "mov r11, qword ptr [rsp]",
                "mov qword ptr fs:[r10], r11",
                "mov qword ptr fs:[r10 + 8], rsp",
                "mov qword ptr fs:[r10 + 16], rbp",
                "jmp {body}",
                body = sym $body,
            )
        }
    };
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) mod platform {
    use std::arch::{asm, global_asm};

    global_asm!(
        ".section .tbss,\"awT\",@nobits",
        ".balign 32",
        ".globl fathomp_call_site",
        ".hidden fathomp_call_site",
        ".type fathomp_call_site, @object",
        ".size fathomp_call_site, 32",
        "fathomp_call_site:",
        ".zero 32",
        ".text",
    );

    #[inline]
    pub(crate) fn load<const OFFSET: usize>() -> usize {
        const { assert!(OFFSET <= 24) };
        let word: usize;
        // SAFETY: reads 8 of the 32 bytes of this thread's own copy of the
        // symbol defined above.
        unsafe {
            asm!(
                "mov {a}, qword ptr [rip + fathomp_call_site@GOTTPOFF]",
                "mov {a}, qword ptr fs:[{a} + {offset}]",
                a = out(reg) word,
                offset = const OFFSET,
                options(readonly, nostack, preserves_flags),
            );
        }
        word
    }

    #[inline]
    pub(crate) fn store<const OFFSET: usize>(word: usize) {
        const { assert!(OFFSET <= 24) };
        // SAFETY: writes 8 of the 32 bytes of this thread's own copy of the
        // symbol defined above, which nobody refers to but the functions here
        // and the entry points.
        unsafe {
            asm!(
                "mov {a}, qword ptr [rip + fathomp_call_site@GOTTPOFF]",
                "mov qword ptr fs:[{a} + {offset}], {word}",
                a = out(reg) _,
                word = in(reg) word,
                offset = const OFFSET,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(crate) mod platform {
    #[inline]
    pub(crate) fn load<const OFFSET: usize>() -> usize {
        0
    }

    #[inline]
    pub(crate) fn store<const OFFSET: usize>(_word: usize) {}
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_words_of_its_own() {
        let mine = Call {
            address: 11,
            stack: 22,
            frame: 33,
        };
        note_again(mine);
        let other = std::thread::spawn(|| {
            note_again(Call {
                address: 1,
                ..Call::default()
            });
            call_site()
        });
        assert_eq!(other.join().ok(), Some(0));
        assert_eq!((call(), call_site()), (mine, 10));
    }
}
