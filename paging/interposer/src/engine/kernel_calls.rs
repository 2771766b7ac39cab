//! How many reading and writing calls the kernel counted for a thread.
//!
//! What it says of a process contains those of children that the process has waited for, so
//! threads are asked one by one.

use std::ffi::CStr;
use std::io::Write;

/// Calls that read or write of a thread of this process since it began, as the kernel counts
/// them. `None` if it does not say. That it is asked is itself a call of the thread that
/// asks, in the next answer.
pub(super) fn of(os_id: u32) -> Option<u64> {
    let mut path = [0_u8; 64];
    // Room for the number, and a zero that stays at the end.
    let room = path.get_mut(..63)?;
    write!(&mut *room, "/proc/self/task/{os_id}/io").ok()?;
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let mut text = [0_u8; 512];
    // SAFETY: a string, and a buffer of the length given. By system calls: the C library's
    // functions are those that the interposer stands in front of.
    let got = unsafe {
        let file = libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        if file < 0 {
            return None;
        }
        let got = libc::syscall(libc::SYS_read, file, text.as_mut_ptr(), text.len());
        libc::syscall(libc::SYS_close, file);
        got
    };
    let text = text.get(..usize::try_from(got).ok()?)?;
    calls_in(std::str::from_utf8(text).ok()?)
}

/// The sum of `syscr` and `syscw` in what the kernel says.
fn calls_in(text: &str) -> Option<u64> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    value("syscr:")?.checked_add(value("syscw:")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_sys::counters::os_thread_id;

    #[test]
    fn the_kernels_calls_are_added_up() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 30\nsyscw: 4\nread_bytes: 0\n";
        assert_eq!(calls_in(text), Some(34));
        assert_eq!(calls_in("syscr: 30\n"), None);
        assert_eq!(calls_in("syscr: x\nsyscw: 4\n"), None);
    }

    #[test]
    fn each_answer_counts_the_question_before() {
        if let Some(before) = of(os_thread_id()) {
            assert_eq!(of(os_thread_id()), Some(before + 1));
        }
        assert_eq!(of(u32::MAX), None);
    }
}
