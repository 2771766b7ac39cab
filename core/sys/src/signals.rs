//! Which signals a thread takes.

use std::mem::MaybeUninit;

/// While it lives, the thread that made it takes no signals; threads that it starts
/// meanwhile never do.
#[derive(Debug)]
pub struct Blocked(Option<libc::sigset_t>);

/// Blocks all signals for the calling thread.
#[must_use = "they are unblocked when it is dropped"]
pub fn block_all() -> Blocked {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `all` is writable, and filled before it is read; `before` is written by the call
    // if it succeeds, and read only then.
    Blocked(unsafe {
        libc::sigfillset(all.as_mut_ptr());
        let blocked =
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0;
        blocked.then(|| before.assume_init())
    })
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: reads the set that the kernel gave for this thread.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks_usr1() -> bool {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        let blocked = u64::from_str_radix(blocked.unwrap().trim(), 16).unwrap();
        blocked >> (libc::SIGUSR1 - 1) & 1 != 0
    }

    #[test]
    fn signals_are_blocked_for_as_long_as_asked_and_in_threads_started_meanwhile() {
        assert!(!blocks_usr1());
        let blocked = block_all();
        assert!(blocks_usr1());
        let child = std::thread::spawn(blocks_usr1);
        drop(blocked);
        assert!(!blocks_usr1());
        assert!(child.join().unwrap());
    }
}
