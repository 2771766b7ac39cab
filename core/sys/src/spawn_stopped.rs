//! Processes that wait, before they become a program, until all is ready for it.

use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts `command`, but calls `prepare` with the number of its process before that
/// becomes the program: so it can be watched, or put into a group of its own, from its
/// first instruction on. `prepare` runs on another thread while this one waits, and says
/// whether the process may go on.
///
/// # Errors
/// If no process or thread can be made, the program cannot be started or it may not go on.
pub fn spawn(command: &mut Command, prepare: impl FnOnce(u32) -> bool + Send) -> io::Result<Child> {
    let (told, tell) = pipe()?;
    let (wait, go) = pipe()?;
    let hold = Hold {
        tell: tell.as_raw_fd(),
        wait: wait.as_raw_fd(),
        go: go.as_raw_fd(),
    };
    // SAFETY: the hook only writes to, reads from and closes descriptors, by system
    // calls that are safe after a fork of a process with threads; it does not allocate.
    unsafe { command.pre_exec(move || hold.hold()) };
    std::thread::scope(|scope| {
        std::thread::Builder::new().spawn_scoped(scope, move || release(told, go, prepare))?;
        let child = command.spawn();
        // If there is no child, this tells the other thread so.
        drop(tell);
        drop(wait);
        child
    })
}

/// The parent's side.
fn release(mut told: PipeReader, mut go: PipeWriter, prepare: impl FnOnce(u32) -> bool) {
    let mut pid = [0; 4];
    if told.read_exact(&mut pid).is_ok() && prepare(u32::from_ne_bytes(pid)) {
        // A child that was killed meanwhile needs nothing any more.
        let _ = go.write_all(&[1]);
    }
}

/// The child's side: descriptors that the parent keeps open until the child has gone on.
#[derive(Clone, Copy)]
struct Hold {
    tell: RawFd,
    wait: RawFd,
    go: RawFd,
}

impl Hold {
    fn hold(self) -> io::Result<()> {
        let mut byte = 0_u8;
        // SAFETY: plain system calls on descriptors of the child's own table and memory
        // of its own stack. Its copy of `go` is closed so that it does not wait for
        // itself should the parent die.
        let got = unsafe {
            libc::close(self.go);
            let pid = libc::getpid().cast_unsigned().to_ne_bytes();
            if libc::write(self.tell, pid.as_ptr().cast(), pid.len()) < 0 {
                return Err(io::Error::last_os_error());
            }
            loop {
                let got = libc::read(self.wait, (&raw mut byte).cast(), 1);
                if got >= 0 || *libc::__errno_location() != libc::EINTR {
                    break got;
                }
            }
        };
        match got {
            1 => Ok(()),
            // A number: making a message would allocate.
            _ => Err(io::Error::from_raw_os_error(libc::ECANCELED)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;
    use std::sync::Mutex;

    #[test]
    fn all_is_prepared_before_the_program_begins() {
        let directory = std::env::temp_dir();
        let mark = directory.join(format!("fathomp-held-{}", std::process::id()));
        let seen = Mutex::new(None);
        let mut command = Command::new("cat");
        command.arg(&mark).stdout(Stdio::piped());
        let child = spawn(&mut command, |pid| {
            *seen.lock().unwrap() = Some((pid, mark.exists()));
            std::fs::write(&mark, b"prepared").is_ok()
        })
        .unwrap();
        let pid = child.id();
        let output = child.wait_with_output().unwrap();
        std::fs::remove_file(&mark).unwrap();
        assert_eq!(*seen.lock().unwrap(), Some((pid, false)));
        assert_eq!(output.stdout, b"prepared");
    }

    #[test]
    fn what_cannot_be_started_is_said() {
        let error = spawn(&mut Command::new("/no/such/program"), |_| true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_may_not_go_on_does_not() {
        let error = spawn(&mut Command::new("true"), |_| false).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
    }
}
