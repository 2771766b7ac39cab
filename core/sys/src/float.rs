//! The floating-point environment of the calling thread: rounding, precision, traps, and what
//! becomes of denormal numbers. Code that Rust compiles expects the usual one; the program's code
//! gets what the program has asked for.

/// Environments as bits: MXCSR's control bits 6 to 15 in bits 0 to 9, those of the x87 control
/// word (0 to 5, 8 to 11) in bits 10 to 19.
pub type Control = u32;

/// Bits of [`marks`]: results that are too small to be normal become zero.
pub const FLUSHES: u8 = 1;
/// Operands that are too small to be normal count as zero.
pub const DENORMALS_ARE_ZERO: u8 = 2;
/// Where in [`marks`] the direction of rounding is: 0 to nearest, 1 down, 2 up, 3 to zero.
pub const ROUNDING_SHIFT: u8 = 2;

/// Its control bits.
#[inline]
#[must_use]
pub fn control() -> Control {
    let (mxcsr, x87) = platform::read();
    mxcsr >> 6 & 0x3ff | (x87 & 0x3f) << 10 | (x87 >> 8 & 0xf) << 16
}

/// Gives the calling thread that environment. Flags of what has happened stay.
#[inline]
pub fn set(wanted: Control) {
    if control() != wanted {
        change(wanted);
    }
}

#[cold]
fn change(wanted: Control) {
    let (mxcsr, x87) = platform::read();
    let new = mxcsr & !0xffc0 | (wanted & 0x3ff) << 6;
    let new_x87 = x87 & !0xf3f | (wanted >> 10 & 0x3f) | (wanted >> 16 & 0xf) << 8;
    platform::write(new, new_x87, new_x87 != x87);
}

/// What of the environment changes results and speed, as 4 bits.
#[inline]
#[must_use]
pub fn marks() -> u8 {
    let mxcsr = platform::read_sse();
    (mxcsr >> 15 & 1 | (mxcsr >> 6 & 1) << 1 | (mxcsr >> 13 & 3) << 2) as u8
}

#[cfg(target_arch = "x86_64")]
mod platform {
    use std::arch::asm;

    #[inline]
    pub(super) fn read_sse() -> u32 {
        let mut mxcsr = 0_u32;
        // SAFETY: stores the register in that word.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) };
        mxcsr
    }

    #[inline]
    pub(super) fn read() -> (u32, u32) {
        let mut x87 = 0_u16;
        // SAFETY: stores the control word in that word.
        unsafe { asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack, preserves_flags)) };
        (read_sse(), u32::from(x87))
    }

    /// Both registers; the second if `both`.
    pub(super) fn write(mxcsr: u32, x87: u32, both: bool) {
        let x87 = x87 as u16;
        // SAFETY: only control bits differ from what the registers had, and those of MXCSR that
        // are reserved are as they were. This thread is about to run the program's code, which
        // asked for it; nothing in between computes with floating-point numbers.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags));
            if both {
                // A trap that is pending would be taken by the next instruction.
                asm!("fnclex", "fldcw [{}]", in(reg) &raw const x87, options(nostack, preserves_flags));
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod platform {
    pub(super) fn read_sse() -> u32 {
        0
    }

    pub(super) fn read() -> (u32, u32) {
        (0, 0)
    }

    pub(super) fn write(_mxcsr: u32, _x87: u32, _both: bool) {}
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_handed_on_whole() {
        let usual = control();
        assert_eq!(marks(), 0);
        // Flush to zero, denormals are zero, rounding up in both units.
        let other = usual | 1 << 9 | 1 | 2 << 7 | 2 << 18;
        set(other);
        let (seen, marks) = (control(), marks());
        set(usual);
        assert_eq!(
            (seen, marks),
            (other, FLUSHES | DENORMALS_ARE_ZERO | 2 << ROUNDING_SHIFT)
        );
        assert_eq!(control(), usual);
    }
}
