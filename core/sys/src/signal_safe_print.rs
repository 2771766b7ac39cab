//! Words to the user where nothing may be allocated and no lock be taken.

use std::fmt::{self, Write as _};

/// A line that takes so many bytes and leaves out the rest.
struct Line<const BYTES: usize> {
    text: [u8; BYTES],
    length: usize,
}

impl<const BYTES: usize> Line<BYTES> {
    /// Begins with nothing, and keeps room for the line's end.
    fn new(what: fmt::Arguments<'_>) -> Self {
        let mut line = Self {
            text: [b'\n'; BYTES],
            length: 0,
        };
        // What there is no room for is left out.
        let _ = line.write_fmt(what);
        line
    }

    fn bytes(&self) -> &[u8] {
        &self.text[..self.length + 1]
    }
}

impl<const BYTES: usize> fmt::Write for Line<BYTES> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.text[self.length..BYTES - 1];
        let taken = text.len().min(room.len());
        room[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        if taken == text.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

/// Says one line on standard error, from wherever: also from a signal handler that may have
/// interrupted anything. What is formatted must not allocate; of a long line the beginning
/// is said.
pub fn say_at_once(what: fmt::Arguments<'_>) {
    let line = Line::<1024>::new(what);
    let bytes = line.bytes();
    // Not by the C library's function, which somebody may stand in front of.
    // SAFETY: reads the bytes.
    unsafe {
        libc::syscall(
            libc::SYS_write,
            libc::STDERR_FILENO,
            bytes.as_ptr(),
            bytes.len(),
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_where_its_room_does() {
        let line = Line::<8>::new(format_args!("{} {:#x}", 12, 0x34));
        assert_eq!(line.bytes(), b"12 0x34\n");
        let line = Line::<8>::new(format_args!("{} {:#x} and more", 12, 0x345));
        assert_eq!(line.bytes(), b"12 0x34\n");
        assert_eq!(Line::<8>::new(format_args!("")).bytes(), b"\n");
    }
}
