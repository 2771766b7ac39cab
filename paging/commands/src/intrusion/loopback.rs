//! A recording host that is this one, in a process of its own: `fathomp collect --listen`.

use crate::plan::new_key;
use fathomp_console::failure::Failure;
use fathomp_launch::names::KEY;
use fathomp_launch::steering::PRELOAD;
use fathomp_paging::setup::Writer;
use fathomp_sys::peer::ends_within;
use nix::sys::signal::Signal;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Longer than the host takes to write what has come to it.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// What it says before its address.
const LISTENING: &str = "listening at ";

/// A recording host at work.
pub(super) struct Loopback {
    child: Child,
    /// How it is reached.
    pub(super) writer: Writer,
    /// What opens it.
    pub(super) key: String,
}

impl Loopback {
    /// Starts one that keeps what comes in `directory`, which must be empty or not there.
    pub(super) fn start(directory: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::new(format!(
                "cannot start a recording host: {error}: end some programs"
            ))
        };
        let key = new_key().map_err(failed)?;
        let own = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(own)
            .args(["collect", "--listen", "127.0.0.1:0", "-o"])
            .arg(directory)
            .env(KEY.name, &key)
            .env_remove(PRELOAD)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C is for the program.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut said = BufReader::new(
            child
                .stderr
                .take()
                .ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?,
        )
        .lines();
        let first = said.next().and_then(Result::ok).unwrap_or_default();
        // What it says besides is for nobody, but it must find room.
        thread::spawn(move || said.for_each(drop));
        let address = address(&first);
        let host = Self {
            child,
            writer: Writer::Remote(address.unwrap_or_default().to_owned()),
            key,
        };
        match address {
            Some(_) => Ok(host),
            None => Err(Failure::new(format!(
                "a recording host did not begin: {first}"
            ))),
        }
    }

    /// Waits until it has kept everything.
    pub(super) fn finish(self) -> Result<(), Failure> {
        for asked in [false, true] {
            if asked {
                // Nobody came, or somebody does not leave.
                fathomp_process::send(self.child.id(), Signal::SIGTERM);
            }
            match ends_within(self.child.id(), END_TIMEOUT) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => {
                    return Err(Failure::new(format!(
                        "the recording host is lost: {error}: leave loopback out of --writer"
                    )));
                }
            }
        }
        Err(Failure::new(
            "the recording host did not end: leave loopback out of --writer",
        ))
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The address in the first line that the host says.
fn address(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(LISTENING)?;
    let (address, _) = rest.split_once(": ")?;
    (!address.is_empty()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_what_is_said() {
        let line = "fathomp: listening at 127.0.0.1:4711: on other machines, `fathomp ..`";
        assert_eq!(address(line), Some("127.0.0.1:4711"));
        let refused = "fathomp: cannot listen at 127.0.0.1:1: permission denied";
        assert_eq!(address(refused), None);
        assert_eq!(address(""), None);
    }
}
