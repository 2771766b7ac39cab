//! A look at a stream's buffer.
//!
//! The C library calls the kernel for a stream by itself, where nobody stands in front of it.
//! But the macros of its header have always used the first words of a `FILE`, so that their
//! places cannot change: from these it shows before a call whether the buffer answers it, and
//! after one what the kernel was asked.

use std::ffi::{c_int, c_void};
use std::mem;

/// A `FILE`.
pub(crate) type File = *mut c_void;

/// The part of the C library's `struct _IO_FILE` that is looked at.
#[repr(C)]
struct Layout {
    flags: c_int,
    read_at: usize,
    read_end: usize,
    read_base: usize,
    write_base: usize,
    write_at: usize,
    write_end: usize,
    buffer: usize,
    buffer_end: usize,
    saved: [usize; 3],
    markers: usize,
    chain: File,
    descriptor: c_int,
    flags2: c_int,
    old_offset: i64,
    column: u16,
    vtable_offset: i8,
    short: [u8; 1],
    lock: usize,
    offset: i64,
    codecvt: usize,
    wide: *const Wide,
    freed_next: usize,
    freed_buffer: usize,
    pad: usize,
    mode: c_int,
}

/// The beginning of the C library's `struct _IO_wide_data`.
#[repr(C)]
struct Wide {
    read_at: usize,
    read_end: usize,
    read_base: usize,
    write_base: usize,
    write_at: usize,
    write_end: usize,
}

/// What the buffer of wide characters held at a moment, which a stream has beside that of
/// bytes once wide characters were read or written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WidePeek {
    /// A character was read ahead.
    pub(super) is_ahead: bool,
    /// There is room for one.
    pub(super) has_room: bool,
    /// Characters that wait to be written.
    pub(super) pending: usize,
}

impl WidePeek {
    /// Of that stream.
    ///
    /// # Safety
    /// It is an open stream.
    pub(super) unsafe fn of(file: File) -> Self {
        // SAFETY: every stream begins so; volatile, since other threads may write to it.
        let wide = unsafe {
            let layout = file.cast::<Layout>();
            // Others may have no such buffer, or none that is a valid address.
            if (&raw const (*layout).mode).read_volatile() <= 0 {
                return Self::default();
            }
            let wide = (&raw const (*layout).wide).read_volatile();
            if wide.is_null() {
                return Self::default();
            }
            wide.read_volatile()
        };
        Self {
            is_ahead: wide.read_at < wide.read_end,
            has_room: wide.write_at < wide.write_end,
            pending: wide.write_at.saturating_sub(wide.write_base) / size_of::<libc::wchar_t>(),
        }
    }
}

const UNBUFFERED: c_int = 0x2;
const END_SEEN: c_int = 0x10;
const IN_BACKUP: c_int = 0x100;
const LINE_BUFFERED: c_int = 0x200;
const WRITING: c_int = 0x800;
const OF_FILE: c_int = 0x2000;

/// What a stream's buffer held at a moment. Another thread may change it meanwhile: then a
/// call that reads or writes is taken for one that does not, or the reverse.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peek {
    flags: c_int,
    read_at: usize,
    read_end: usize,
    write_base: usize,
    write_at: usize,
    buffer: usize,
    buffer_end: usize,
    offset: i64,
    descriptor: c_int,
}

impl Peek {
    /// Of that stream.
    ///
    /// # Safety
    /// It is an open stream.
    #[inline]
    pub(super) unsafe fn of(file: File) -> Self {
        let layout = file.cast::<Layout>();
        // SAFETY: every stream begins so; volatile, since other threads may write to it.
        unsafe {
            Self {
                flags: (&raw const (*layout).flags).read_volatile(),
                read_at: (&raw const (*layout).read_at).read_volatile(),
                read_end: (&raw const (*layout).read_end).read_volatile(),
                write_base: (&raw const (*layout).write_base).read_volatile(),
                write_at: (&raw const (*layout).write_at).read_volatile(),
                buffer: (&raw const (*layout).buffer).read_volatile(),
                buffer_end: (&raw const (*layout).buffer_end).read_volatile(),
                offset: (&raw const (*layout).offset).read_volatile(),
                descriptor: (&raw const (*layout).descriptor).read_volatile(),
            }
        }
    }

    /// The stream's descriptor; negative if it has none, but is in memory or calls functions
    /// of the program.
    #[inline]
    pub(super) fn descriptor(&self) -> c_int {
        match self.flags & OF_FILE {
            0 => -1,
            _ => self.descriptor,
        }
    }

    /// Bytes that were read ahead.
    #[inline]
    pub(super) fn ahead(&self) -> usize {
        self.read_end.saturating_sub(self.read_at)
    }

    /// Where the bytes are that were read ahead.
    pub(super) fn ahead_at(&self) -> *const u8 {
        std::ptr::with_exposed_provenance(self.read_at)
    }

    /// Whether the end of the file was seen: readers are told so without asking again.
    pub(super) fn is_at_end(&self) -> bool {
        self.flags & END_SEEN != 0
    }

    /// Whether bytes were pushed back: what is read ahead says little then.
    pub(super) fn is_in_backup(&self) -> bool {
        self.flags & IN_BACKUP != 0
    }

    /// Bytes that wait to be written.
    #[inline]
    pub(super) fn pending(&self) -> usize {
        match self.flags & WRITING {
            0 => 0,
            _ => self.write_at.saturating_sub(self.write_base),
        }
    }

    /// Bytes that can be written before the kernel is asked, if no line ends among them.
    #[inline]
    pub(super) fn room(&self) -> usize {
        match self.flags & (WRITING | UNBUFFERED) {
            WRITING => self.buffer_end.saturating_sub(self.write_at),
            _ => 0,
        }
    }

    /// Whether lines are written when they end.
    #[inline]
    pub(super) fn writes_lines(&self) -> bool {
        self.flags & LINE_BUFFERED != 0
    }

    /// Whether the stream has no buffer that would hold what is read or written.
    pub(super) fn is_unbuffered(&self) -> bool {
        self.flags & UNBUFFERED != 0
    }

    /// Whether the stream was not yet written to, or was read from last: then not even an
    /// empty buffer means that the kernel will be asked.
    pub(super) fn is_fresh(&self) -> bool {
        self.flags & WRITING == 0 && !self.is_unbuffered()
    }

    /// Bytes in the buffer.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.buffer_end.saturating_sub(self.buffer).max(1)
    }

    /// Bytes of the file that the buffer holds, used or not.
    pub(super) fn in_buffer(&self) -> usize {
        self.read_end.saturating_sub(self.buffer)
    }

    /// Bytes that a seek since `before` has read.
    pub(super) fn read_by_seek(&self, before: &Self) -> usize {
        let moved = self.offset != before.offset && self.offset >= 0;
        match moved {
            true => self.in_buffer(),
            false => 0,
        }
    }

    /// Bytes that were read from the kernel since `before`, if the caller got so many.
    #[inline]
    pub(super) fn read_since(&self, before: &Self, delivered: usize) -> usize {
        (delivered + self.ahead()).saturating_sub(before.ahead())
    }

    /// Bytes that were written by the kernel since `before`, if the caller gave so many.
    #[inline]
    pub(super) fn written_since(&self, before: &Self, accepted: usize) -> usize {
        (before.pending() + accepted).saturating_sub(self.pending())
    }

    /// Whether the stream shows that bytes were read since `before`.
    pub(super) fn was_filled(&self, before: &Self) -> bool {
        self.read_end != before.read_end || self.read_at < before.read_at
    }
}

/// Writes that a stream needs for so many bytes, when so many waited before: what waited and
/// what filled the buffer up, then whole blocks directly.
pub(super) fn writes(bytes: usize, pending: usize, buffer_bytes: usize) -> u64 {
    match bytes {
        0 => 0,
        _ if bytes > buffer_bytes && pending > 0 => 2,
        _ => 1,
    }
}

/// Reads of a stream that had nothing left and whose caller wanted so many bytes and got some.
pub(super) fn block_reads(wanted: usize, got: usize, buffer_bytes: usize) -> u64 {
    // Whole blocks are read directly, what remains through the buffer.
    let direct = wanted >= buffer_bytes;
    if got < wanted {
        // The end of the file was met: one more read has told so.
        return 1 + u64::from(got > 0);
    }
    1 + u64::from(direct && !wanted.is_multiple_of(buffer_bytes))
}

/// What the program's streams hold that will be written when it leaves by `exit`: number of
/// streams, and bytes.
pub(crate) fn pending() -> (u64, u64) {
    /// Streams that are looked at; a program has few.
    const STREAMS_MAX: usize = 1024;
    let (mut streams, mut bytes) = (0, 0);
    // SAFETY: the C library's list of streams under its own lock, which it takes itself when
    // it writes them all.
    unsafe {
        _IO_list_lock();
        let mut file = (&raw const _IO_list_all).read_volatile();
        for _ in 0..STREAMS_MAX {
            if file.is_null() {
                break;
            }
            let stream = Peek::of(file);
            if stream.descriptor() >= 0 && stream.pending() > 0 {
                streams += 1;
                bytes += stream.pending() as u64;
            }
            file = (&raw const (*file.cast::<Layout>()).chain).read_volatile();
        }
        _IO_list_unlock();
    }
    (streams, bytes)
}

unsafe extern "C" {
    static _IO_list_all: File;
    fn _IO_list_lock();
    fn _IO_list_unlock();
}

/// As the C library lays streams out; its header's macros, and programs compiled decades ago,
/// depend on it.
const _: () = {
    assert!(mem::offset_of!(Layout, descriptor) == 112);
    assert!(mem::offset_of!(Layout, offset) == 144);
    assert!(mem::offset_of!(Layout, wide) == 160);
    assert!(mem::offset_of!(Layout, mode) == 192);
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    unsafe extern "C" {
        fn fopen(path: *const std::ffi::c_char, mode: *const std::ffi::c_char) -> File;
        fn fclose(file: File) -> c_int;
        fn fputs(text: *const std::ffi::c_char, file: File) -> c_int;
        fn fgetc(file: File) -> c_int;
        fn fflush(file: File) -> c_int;
    }

    #[test]
    fn the_c_librarys_streams_look_as_expected() {
        let path = std::env::temp_dir().join(format!("fathomp-stream-{}", std::process::id()));
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: strings, and streams that are open.
        unsafe {
            let file = fopen(name.as_ptr(), c"w".as_ptr());
            assert!(!file.is_null());
            assert!(Peek::of(file).is_fresh());
            assert_eq!(fputs(c"twelve bytes".as_ptr(), file), 1);
            let before = Peek::of(file);
            assert_eq!(before.pending(), 12);
            assert_eq!(before.room(), before.buffer_bytes() - 12);
            let (streams, bytes) = pending();
            assert!(streams >= 1 && bytes >= 12);
            assert_eq!(fflush(file), 0);
            assert_eq!(Peek::of(file).written_since(&before, 0), 12);
            assert_eq!(fclose(file), 0);

            let file = fopen(name.as_ptr(), c"r".as_ptr());
            let before = Peek::of(file);
            assert_eq!(before.ahead(), 0);
            assert_eq!(fgetc(file), c_int::from(b't'));
            let after = Peek::of(file);
            assert_eq!(after.ahead(), 11);
            assert_eq!(after.ahead_at().read(), b'w');
            assert_eq!(after.read_since(&before, 1), 12);
            assert!(after.was_filled(&before));
            assert!(!after.is_at_end());
            while fgetc(file) != -1 {}
            assert!(Peek::of(file).is_at_end());
            assert_eq!(fclose(file), 0);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn calls_for_blocks_are_those_of_the_c_library() {
        assert_eq!(writes(0, 0, 4096), 0);
        assert_eq!(writes(4096, 4000, 4096), 1);
        assert_eq!(writes(8192, 0, 4096), 1);
        assert_eq!(writes(8192, 10, 4096), 2);
        assert_eq!(block_reads(100, 100, 4096), 1);
        assert_eq!(block_reads(8192, 8192, 4096), 1);
        assert_eq!(block_reads(8200, 8200, 4096), 2);
        assert_eq!(block_reads(8200, 100, 4096), 2);
        assert_eq!(block_reads(8200, 0, 4096), 1);
    }
}
