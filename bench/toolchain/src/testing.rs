//! What tests of several crates need.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a file that can be started at once. A child writes it: if this process had it
/// open, another thread that starts a program meanwhile would hand it on, and the
/// kernel starts no file that somebody may write.
///
/// # Errors
/// If it cannot be written.
pub fn write_executable(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut child = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()?;
    let written = child.stdin.take().map(|mut pipe| pipe.write_all(content));
    let status = child.wait()?;
    written.unwrap_or(Ok(()))?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{} was not written",
            path.display()
        ))),
    }
}
