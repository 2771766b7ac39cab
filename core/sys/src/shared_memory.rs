//! Memory that a process shares with all that it forks afterwards, or with one that it hands
//! a descriptor of it.
//!
//! Other processes may write it at any time, so it is only ever touched as
//! atomics: 32-bit words to sleep on, 64-bit counters, and bytes, which are
//! copied in and out in runs.

use crate::descriptor::move_up;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Each section begins on a multiple of this.
const SECTION_BYTES: usize = 4096;

/// How much there is of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// Number of 32-bit words.
    pub halves: usize,
    /// Number of 64-bit words.
    pub words: usize,
    /// Number of bytes.
    pub bytes: usize,
}

impl Sections {
    /// Where words and bytes begin and how long it is altogether, in bytes.
    /// `None` if that is more than an address space holds.
    fn layout(self) -> Option<[usize; 3]> {
        let section = |start: usize, count: usize, size: usize| {
            start
                .checked_add(count.checked_mul(size)?)?
                .checked_next_multiple_of(SECTION_BYTES)
        };
        let words = section(0, self.halves, size_of::<AtomicU32>())?;
        let bytes = section(words, self.words, size_of::<AtomicU64>())?;
        let end = section(bytes, self.bytes, 1)?;
        (end <= isize::MAX as usize).then_some([words, bytes, end])
    }
}

/// Zeroed memory in three sections. It takes space only where it was touched.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    sections: Sections,
    words_at: usize,
    bytes_at: usize,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and its contents
// are only reachable as atomics.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Maps new memory.
    ///
    /// # Errors
    /// If the kernel refuses so large a mapping.
    pub fn new(sections: Sections) -> io::Result<Self> {
        Self::map(sections, None)
    }

    /// Maps new memory, which a process that gets the descriptor [maps](Self::of_descriptor), too.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn with_descriptor(sections: Sections) -> io::Result<(Self, OwnedFd)> {
        let [.., length] = sections.layout().ok_or(io::ErrorKind::InvalidInput)?;
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a string; the call gives a new descriptor or -1.
        let file = unsafe { libc::memfd_create(c"fathomp".as_ptr(), flags) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        let file = move_up(unsafe { OwnedFd::from_raw_fd(file) });
        let length = libc::off_t::try_from(length.max(SECTION_BYTES))
            .map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: both take numbers only, and change a file that nobody else knows.
        let done = unsafe {
            libc::ftruncate(file.as_raw_fd(), length) == 0
                && libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, Self::SEALS) == 0
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
        let memory = Self::map(sections, Some(&file))?;
        Ok((memory, file))
    }

    /// A process that maps the memory finds all of it there, then and later.
    const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

    /// Maps the memory that another process has made in the same sections.
    ///
    /// # Errors
    /// If the descriptor is of something else, or the kernel refuses.
    pub fn of_descriptor(file: BorrowedFd<'_>, sections: Sections) -> io::Result<Self> {
        let [.., length] = sections.layout().ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: all-zero bytes are a valid status, which the kernel fills in.
        let (has, seals) = unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            if libc::fstat(file.as_raw_fd(), &raw mut status) != 0 {
                return Err(io::Error::last_os_error());
            }
            let seals = libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS);
            (status.st_size, seals)
        };
        let whole = usize::try_from(has).is_ok_and(|has| has >= length.max(SECTION_BYTES));
        if !whole || seals < 0 || seals & Self::SEALS != Self::SEALS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Self::map(sections, Some(&file))
    }

    fn map(sections: Sections, file: Option<&dyn AsRawFd>) -> io::Result<Self> {
        let [words_at, bytes_at, length] = sections.layout().ok_or(io::ErrorKind::InvalidInput)?;
        let (kind, descriptor) = match file {
            None => (libc::MAP_ANONYMOUS, -1),
            Some(file) => (0, file.as_raw_fd()),
        };
        // SAFETY: a new mapping at an address of the kernel's choice overlaps
        // nothing; a file is sealed at a length that covers it.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length.max(SECTION_BYTES),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE | kind,
                descriptor,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            base: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            sections,
            words_at,
            bytes_at,
            length: length.max(SECTION_BYTES),
        })
    }

    /// The 32-bit words.
    #[inline]
    #[must_use]
    pub fn halves(&self) -> &[AtomicU32] {
        // SAFETY: the section starts page-aligned at `base`, holds that many
        // words, overlaps no other and lives as long as `self`; every bit
        // pattern is valid, and everybody touches it as atomics only.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast(), self.sections.halves) }
    }

    /// The 64-bit words.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: as in `halves`; `words_at` lies inside the mapping.
        unsafe {
            let start = self.base.as_ptr().add(self.words_at);
            std::slice::from_raw_parts(start.cast(), self.sections.words)
        }
    }

    /// The bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[AtomicU8] {
        // SAFETY: as in `halves`; `bytes_at` lies inside the mapping.
        unsafe {
            let start = self.base.as_ptr().add(self.bytes_at);
            std::slice::from_raw_parts(start.cast(), self.sections.bytes)
        }
    }

    /// Makes the pages of a range of bytes present in this process, so that the
    /// first to touch them does not pay for it. Only advice: failure shows, if
    /// ever, when the pages are touched.
    pub fn populate(&self, bytes: Range<usize>) {
        /// `MADV_POPULATE_WRITE`, Linux 5.14.
        const POPULATE_WRITE: libc::c_int = 23;
        if bytes.start >= bytes.end || bytes.end > self.sections.bytes {
            return;
        }
        let first = (self.bytes_at + bytes.start) / SECTION_BYTES * SECTION_BYTES;
        // SAFETY: the range lies inside the mapping; contents do not change.
        unsafe {
            let start = self.base.as_ptr().add(first);
            libc::madvise(
                start.cast(),
                self.bytes_at + bytes.end - first,
                POPULATE_WRITE,
            );
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this base and length; the borrows of its
        // contents have ended.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// Shorter copies are not worth the start of a string instruction.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const STRING_BYTES_MIN: usize = 64;

/// Copies `from` to the start of `to`, which is at least as long, byte by byte
/// in no particular order, each relaxed.
///
/// # Panics
/// If `to` is shorter.
#[inline]
pub fn copy_in(to: &[AtomicU8], from: &[u8]) {
    let to = &to[..from.len()];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if from.len() >= STRING_BYTES_MIN {
        // SAFETY: both ranges are `from.len()` bytes long and do not overlap,
        // `from` being borrowed and not atomic. As machine code, what others
        // do to `to` meanwhile is a race of relaxed byte accesses.
        unsafe { copy(to.as_ptr() as *mut u8, from.as_ptr(), from.len()) };
        return;
    }
    for (to, from) in to.iter().zip(from) {
        to.store(*from, Ordering::Relaxed);
    }
}

/// Appends the bytes `from` to `to`, each loaded relaxed, in no particular
/// order.
#[inline]
pub fn append(from: &[AtomicU8], to: &mut Vec<u8>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if from.len() >= STRING_BYTES_MIN {
        to.reserve(from.len());
        // SAFETY: there is room for `from.len()` bytes behind the vector's
        // contents, which the copy fills before they count; the rest is as in
        // `copy_in`.
        unsafe {
            copy(
                to.as_mut_ptr().add(to.len()),
                from.as_ptr().cast(),
                from.len(),
            );
            to.set_len(to.len() + from.len());
        }
        return;
    }
    to.extend(from.iter().map(|byte| byte.load(Ordering::Relaxed)));
}

/// Copies the bytes `from`, each loaded relaxed, in no particular order, as far as there
/// is room for them in `to`.
#[inline]
pub fn copy_out(from: &[AtomicU8], to: &mut [u8]) {
    let count = from.len().min(to.len());
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if count >= STRING_BYTES_MIN {
        // SAFETY: both have so many bytes, and `to` is ours alone; the rest is as in
        // `copy_in`.
        unsafe { copy(to.as_mut_ptr(), from.as_ptr().cast(), count) };
        return;
    }
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.load(Ordering::Relaxed);
    }
}

/// A copy the compiler can see nothing of: it may neither repeat a load nor
/// assume that memory stays as it was loaded.
///
/// # Safety
/// `to` must be valid for writing and `from` for reading `count` bytes, and the
/// two must not overlap.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn copy(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: by the caller's promise; the direction flag is clear, as it always
    // is between instructions of compiled code.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rdi") to => _,
            inout("rsi") from => _,
            inout("rcx") count => _,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> SharedMemory {
        SharedMemory::new(Sections {
            halves: 3,
            words: 5,
            bytes: 10_000,
        })
        .unwrap()
    }

    #[test]
    fn sections_are_apart_and_zero() {
        let memory = memory();
        memory.populate(100..9_000);
        memory.halves()[2].store(u32::MAX, Ordering::Relaxed);
        memory.words()[4].store(u64::MAX, Ordering::Relaxed);
        assert!(
            memory.halves()[..2]
                .iter()
                .all(|half| half.load(Ordering::Relaxed) == 0)
        );
        assert!(
            memory.words()[..4]
                .iter()
                .all(|word| word.load(Ordering::Relaxed) == 0)
        );
        assert!(
            memory
                .bytes()
                .iter()
                .all(|byte| byte.load(Ordering::Relaxed) == 0)
        );
        let lengths = (
            memory.halves().len(),
            memory.words().len(),
            memory.bytes().len(),
        );
        assert_eq!(lengths, (3, 5, 10_000));
    }

    #[test]
    fn who_gets_the_descriptor_sees_the_same_memory() {
        use std::os::fd::AsFd;
        let sections = Sections {
            halves: 0,
            words: 2,
            bytes: 5_000,
        };
        let (here, file) = SharedMemory::with_descriptor(sections).unwrap();
        let there = SharedMemory::of_descriptor(file.as_fd(), sections).unwrap();
        here.words()[1].store(9, Ordering::Relaxed);
        there.bytes()[4_999].store(3, Ordering::Relaxed);
        assert_eq!(there.words()[1].load(Ordering::Relaxed), 9);
        assert_eq!(here.bytes()[4_999].load(Ordering::Relaxed), 3);
        let larger = Sections {
            bytes: 50_000,
            ..sections
        };
        assert!(SharedMemory::of_descriptor(file.as_fd(), larger).is_err());
        let other = std::fs::File::open("/dev/zero").unwrap();
        assert!(SharedMemory::of_descriptor(other.as_fd(), sections).is_err());
    }

    #[test]
    fn copies_of_every_length_come_back() {
        let memory = memory();
        for length in (0..200).chain([4096, 9_999]) {
            let sent: Vec<u8> = (0..length).map(|i| (i * 7 + length) as u8).collect();
            copy_in(&memory.bytes()[1..], &sent);
            let mut back = vec![99];
            append(&memory.bytes()[1..=length], &mut back);
            assert_eq!(back[0], 99);
            assert_eq!(back[1..], sent);
        }
    }

    #[test]
    fn sizes_beyond_the_address_space_are_refused() {
        for (halves, words, bytes) in [
            (0, 0, usize::MAX),
            (usize::MAX, 0, 0),
            (0, usize::MAX / 8, 1),
        ] {
            let sections = Sections {
                halves,
                words,
                bytes,
            };
            assert!(SharedMemory::new(sections).is_err());
        }
    }
}
