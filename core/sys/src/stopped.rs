//! A look at a thread of a child process: stopped for a moment, its registers and the top of
//! its stack copied, and let go on as if nothing had been.
//!
//! The thread is traced for that moment only, so that signals of the program are nobody
//! else's before and after. System calls in which it waited go on.

use std::io;

/// Registers of x86-64 that take part in finding callers, by their DWARF numbers.
pub const REGISTERS: usize = 17;
/// DWARF number of the stack pointer.
pub const STACK_POINTER: usize = 7;
/// DWARF number of the place where execution is, or a caller goes on.
pub const RETURN_ADDRESS: usize = 16;

/// A thread at one moment.
#[derive(Clone, Debug, Default)]
pub struct Stopped {
    /// By DWARF number.
    pub registers: [u64; REGISTERS],
    /// The system call that it was in.
    pub system_call: Option<u64>,
    /// Memory from the stack pointer upwards.
    pub stack: Vec<u8>,
}

/// Looks at thread `thread` of the child process `process`, at no more than `most` bytes of its
/// stack.
///
/// # Errors
///
/// The thread has ended, or the system does not permit it.
pub fn look(process: i32, thread: i32, most: usize) -> io::Result<Stopped> {
    imp::look(process, thread, most)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod imp {
    use super::{REGISTERS, Stopped};
    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr::{null_mut, without_provenance_mut};

    const PAGE: usize = 4096;

    pub(super) fn look(process: i32, thread: i32, most: usize) -> io::Result<Stopped> {
        request(libc::PTRACE_SEIZE, thread, null_mut())?;
        let seen = stop_and_copy(process, thread, most);
        if seen.is_err() && thread != process {
            reap(thread);
        }
        seen
    }

    /// Stops a traced thread, copies its registers and stack, and lets it go: it is not traced
    /// afterwards. After an error the thread has ended, or is about to.
    fn stop_and_copy(process: i32, thread: i32, most: usize) -> io::Result<Stopped> {
        request(libc::PTRACE_INTERRUPT, thread, null_mut())?;
        let signal = wait(thread, thread == process)?;
        let seen = copy(process, thread, most);
        // A signal that stopped it first is delivered now.
        request(libc::PTRACE_DETACH, thread, without_provenance_mut(signal))?;
        seen
    }

    /// A thread that ended while it was traced is kept until its tracer waits for it, and its
    /// process does not end before that.
    fn reap(thread: i32) {
        let Ok(id) = libc::id_t::try_from(thread) else {
            return;
        };
        let flags = libc::WEXITED | libc::__WALL;
        loop {
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            // SAFETY: `info` has room for what is written.
            let done = unsafe { libc::waitid(libc::P_PID, id, info.as_mut_ptr(), flags) };
            if done != 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                // It was waited for already.
                return;
            }
        }
    }

    fn request(what: libc::c_uint, thread: i32, data: *mut libc::c_void) -> io::Result<()> {
        // SAFETY: the requests made here read nothing of ours but `data`, which is a number,
        // except PTRACE_GETREGS, for which it points to room for all registers.
        match unsafe { libc::ptrace(what, thread, null_mut::<libc::c_void>(), data) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Waits until the thread is stopped. The signal that stopped it, 0 if it was us.
    fn wait(thread: i32, first: bool) -> io::Result<usize> {
        loop {
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            // Whoever started the program learns of its end, not we.
            let left = if first { libc::WNOWAIT } else { 0 };
            let flags = libc::WSTOPPED | libc::WEXITED | libc::__WALL | left;
            let id = libc::id_t::try_from(thread).map_err(io::Error::other)?;
            // SAFETY: `info` has room for what is written.
            if unsafe { libc::waitid(libc::P_PID, id, info.as_mut_ptr(), flags) } != 0 {
                match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => continue,
                    error => return Err(error),
                }
            }
            // SAFETY: zeroed, and then written by the kernel for a child.
            let (code, status) = unsafe {
                let info = info.assume_init();
                (info.si_code, info.si_status())
            };
            if !matches!(code, libc::CLD_TRAPPED | libc::CLD_STOPPED) {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            let event = status >> 8;
            return Ok(match event {
                0 => usize::try_from(status & 0x7f).unwrap_or(0),
                _ => 0,
            });
        }
    }

    fn copy(process: i32, thread: i32, most: usize) -> io::Result<Stopped> {
        let mut all = MaybeUninit::<libc::user_regs_struct>::zeroed();
        request(libc::PTRACE_GETREGS, thread, all.as_mut_ptr().cast())?;
        // SAFETY: zeroed, and then written by the kernel.
        let all = unsafe { all.assume_init() };
        let registers: [u64; REGISTERS] = [
            all.rax, all.rdx, all.rcx, all.rbx, all.rsi, all.rdi, all.rbp, all.rsp, all.r8, all.r9,
            all.r10, all.r11, all.r12, all.r13, all.r14, all.r15, all.rip,
        ];
        // What no system call is has a negative number here.
        let system_call = i64::try_from(all.orig_rax).ok().map(|_| all.orig_rax);
        Ok(Stopped {
            registers,
            system_call,
            stack: stack(process, all.rsp, most),
        })
    }

    /// As much of the stack as there is, page by page.
    fn stack(process: i32, from: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0_u8; most];
        let mut at = usize::try_from(from).unwrap_or(0);
        let mut left = most;
        let mut pages = Vec::new();
        while left > 0 {
            let length = (PAGE - at % PAGE).min(left);
            pages.push(libc::iovec {
                iov_base: without_provenance_mut(at),
                iov_len: length,
            });
            at = at.wrapping_add(length);
            left -= length;
        }
        let here = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        // SAFETY: the kernel writes at most `most` bytes to `bytes`, and checks the other
        // process's addresses by itself.
        let read = unsafe {
            libc::process_vm_readv(
                process,
                &raw const here,
                1,
                pages.as_ptr(),
                pages.len() as u64,
                0,
            )
        };
        bytes.truncate(usize::try_from(read).unwrap_or(0));
        bytes
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod imp {
    pub(super) fn look(_: i32, _: i32, _: usize) -> std::io::Result<super::Stopped> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn a_child_is_looked_at_and_goes_on() {
        let mut child = Command::new("sleep").arg("0.5").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let mut asleep = 0;
        for _ in 0..20 {
            let Ok(seen) = look(pid, pid, 8192) else {
                break;
            };
            assert_ne!(seen.registers[RETURN_ADDRESS], 0);
            assert!(!seen.stack.is_empty());
            asleep += usize::from(seen.system_call.is_some());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(asleep > 0);
        assert!(child.wait().unwrap().success());
        assert!(look(pid, pid, 8192).is_err());
    }

    /// Whether a child has ended, which stays to be waited for: it may be stopped as well, which
    /// the thread that looks has to learn of.
    fn has_ended(pid: i32) -> bool {
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
        let id = libc::id_t::try_from(pid).unwrap();
        // SAFETY: `info` has room for what is written.
        let done = unsafe { libc::waitid(libc::P_PID, id, info.as_mut_ptr(), flags) };
        assert_eq!(done, 0);
        // SAFETY: zeroed, and perhaps written by the kernel since.
        let code = unsafe { info.assume_init() }.si_code;
        matches!(code, libc::CLD_EXITED | libc::CLD_KILLED)
    }

    const ROLE: &str = "TEST_OF_THREADS_THAT_END";

    /// No test of its own: the program of the test below, which ends while its threads run.
    #[test]
    fn threads_that_end() {
        // It ends the whole process, so only the child that the test starts may run it.
        if std::env::var_os(ROLE).is_none() {
            return;
        }
        for _ in 0..8 {
            std::thread::spawn(|| {
                loop {
                    std::hint::spin_loop();
                }
            });
        }
        std::thread::sleep(Duration::from_millis(5));
        std::process::exit(0);
    }

    #[test]
    fn a_child_ends_while_its_threads_are_looked_at() {
        for _ in 0..60 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "stopped::tests::threads_that_end"])
                .env(ROLE, "")
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let pid = i32::try_from(child.id()).unwrap();
            let over = Arc::new(AtomicBool::new(false));
            let looking = std::thread::spawn({
                let over = over.clone();
                move || {
                    while !over.load(Ordering::Relaxed) {
                        let entries = std::fs::read_dir(format!("/proc/{pid}/task"));
                        for entry in entries.into_iter().flatten().flatten() {
                            let name = entry.file_name();
                            let thread = name.to_string_lossy().parse().unwrap();
                            let _ = look(pid, thread, 8192);
                        }
                    }
                }
            });
            let deadline = Instant::now() + Duration::from_secs(20);
            while !has_ended(pid) {
                assert!(Instant::now() < deadline, "the child never ended");
                std::thread::sleep(Duration::from_millis(1));
            }
            over.store(true, Ordering::Relaxed);
            looking.join().unwrap();
            assert!(child.wait().unwrap().success());
        }
    }
}
