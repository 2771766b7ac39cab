//! Files shared between processes as arrays of atomic words.
//!
//! Another process may write the same words at any time, so they are only ever
//! touched as atomics. What no mapping can guard against is a file that is cut
//! shorter by somebody else: touching the missing pages raises SIGBUS. Only the
//! owner of the file could do that, and none of our processes does.

use crate::errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Size of a word in bytes.
pub const WORD: usize = size_of::<u64>();

/// A file mapped for reading and writing, shared with all others who map it.
#[derive(Debug)]
pub struct SharedFile {
    base: NonNull<AtomicU64>,
    words: usize,
    path: PathBuf,
}

// SAFETY: the mapping belongs to the process, not to a thread, and its contents
// are only reachable as atomics.
unsafe impl Send for SharedFile {}
// SAFETY: as above.
unsafe impl Sync for SharedFile {}

impl SharedFile {
    /// Makes a new file of `words` zero words that takes no space yet, for the
    /// present user only.
    ///
    /// # Errors
    /// If the file exists or cannot be made or mapped.
    pub fn create(path: &Path, words: usize) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let bytes = words.checked_mul(WORD).ok_or(io::ErrorKind::InvalidInput)?;
        // Beyond this limit the kernel would not just refuse, but kill us.
        if bytes as u64 > file_size_limit() {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        file.set_len(bytes as u64)?;
        Self::map(&file, words, path)
    }

    /// Maps a file that several processes need, whichever of them comes first: whoever comes
    /// second finds `words` zero words that have memory, or what others have put there.
    ///
    /// # Errors
    /// If it cannot be made, opened or mapped.
    pub fn open_or_create(path: &Path, words: usize) -> io::Result<Self> {
        if !path.exists() {
            let draft = path.with_extension(std::process::id().to_string());
            let made = Self::create(&draft, words).and_then(|file| file.populate(0..words));
            let linked = made.and_then(|()| std::fs::hard_link(&draft, path));
            let _ = std::fs::remove_file(&draft);
            match linked {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Self::open(path)
    }

    /// Maps all whole words of an existing file.
    ///
    /// # Errors
    /// If the file cannot be opened or mapped, or is shorter than a word.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let bytes = usize::try_from(file.metadata()?.len())
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        Self::map(&file, bytes / WORD, path)
    }

    fn map(file: &File, words: usize, path: &Path) -> io::Result<Self> {
        if words == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a new mapping at an address of the kernel's choice overlaps
        // nothing; length and descriptor are valid.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                words * WORD,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            base,
            words,
            path: path.to_owned(),
        })
    }

    /// The words.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: `base` is the page-aligned start of a mapping of `words`
        // words that lives as long as `self`; every bit pattern is a valid
        // AtomicU64; the memory is shared with other processes only as atomics.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }

    /// Keeps the mapping for the rest of the process.
    #[must_use]
    pub fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    /// Makes sure that the pages of a range of words exist, so that touching
    /// them neither faults nor fails for want of space. `errno` stays as it was.
    ///
    /// # Errors
    /// If there is no room for them (or the range is outside the file).
    pub fn populate(&self, range: Range<usize>) -> io::Result<()> {
        /// `MADV_POPULATE_WRITE`, Linux 5.14.
        const POPULATE_WRITE: libc::c_int = 23;
        if range.start > range.end || range.end > self.words {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let _errno = errno::Saved::new();
        let page = page_size();
        let first = range.start * WORD / page * page;
        let length = range.end * WORD - first;
        // SAFETY: the range lies inside the mapping (checked above); the call
        // changes no contents.
        let done = unsafe {
            libc::madvise(
                self.base.as_ptr().cast::<u8>().add(first).cast(),
                length,
                POPULATE_WRITE,
            )
        };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINVAL) => self.allocate(first, length),
            // The kernel reports a file system without space as a bus error
            // would be reported; name the cause.
            Some(libc::EFAULT) => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
            _ => Err(error),
        }
    }

    /// Older kernels: allocate the range in the file, opened anew because
    /// programs close descriptors they do not know.
    fn allocate(&self, first: usize, length: usize) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        let first = libc::off_t::try_from(first).map_err(|_| io::ErrorKind::InvalidInput)?;
        let length = libc::off_t::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the descriptor is open for writing; no memory is involved.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), first, length) } {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this base and length, and
        // the borrow of `words` has ended.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.words * WORD) };
    }
}

/// Asks the processor to fetch a word's cache line for writing, in the
/// background. Worth it where another processor has read the line since and it
/// will be written soon. Does nothing where we do not know how.
#[inline(always)]
pub fn prefetch_for_write(word: &AtomicU64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes no memory, register or flag and never faults;
    // processors without it treat it as a no-operation.
    unsafe {
        std::arch::asm!(
            "prefetchw [{}]",
            in(reg) std::ptr::from_ref(word),
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

/// Largest file this process may make, in bytes (`RLIMIT_FSIZE`). A write
/// beyond it does not just fail: it kills the process (SIGXFSZ).
#[must_use]
pub fn file_size_limit() -> u64 {
    soft_limit(libc::RLIMIT_FSIZE)
}

/// Most addresses this process may have, in bytes (`RLIMIT_AS`), also for what it only
/// reserves; none if it may have all.
#[must_use]
pub fn address_limit() -> Option<u64> {
    let limit = soft_limit(libc::RLIMIT_AS);
    (limit != libc::RLIM_INFINITY).then_some(limit)
}

/// Largest stack of the first thread of a program, in bytes (`RLIMIT_STACK`); none if it may
/// grow as long as there are addresses.
#[must_use]
pub fn stack_limit() -> Option<u64> {
    let limit = soft_limit(libc::RLIMIT_STACK);
    (limit != libc::RLIM_INFINITY).then_some(limit)
}

/// Whether the system promises no more memory than it has: what is reserved to be written
/// counts as if it were used (`vm.overcommit_memory`).
#[must_use]
pub fn reserves_nothing() -> bool {
    let setting = std::fs::read_to_string("/proc/sys/vm/overcommit_memory");
    setting.is_ok_and(|setting| setting.trim() == "2")
}

fn soft_limit(of: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: `limit` is writable for the call; it is unchanged on failure.
    unsafe { libc::getrlimit(of, &raw mut limit) };
    limit.rlim_cur
}

/// Size of a page of memory in bytes.
#[must_use]
pub fn page_size() -> usize {
    // SAFETY: reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096).max(4096)
}

/// Bytes that an unprivileged user may still write below `directory`.
///
/// # Errors
/// If the directory cannot be examined.
pub fn free_bytes(directory: &Path) -> io::Result<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(directory.as_os_str().as_bytes())?;
    // SAFETY: all-zero bytes are a valid statvfs.
    let mut space: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `path` is a C string and `space` is writable, both for the call.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut space) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("fathomp-shm-{}-{name}", std::process::id()))
    }

    #[test]
    fn two_mappings_of_a_file_share_its_words() {
        let path = scratch("share");
        let ours = SharedFile::create(&path, 1024).unwrap();
        let theirs = SharedFile::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        ours.populate(0..1024).unwrap();
        ours.words()[1000].store(7, Relaxed);
        assert_eq!(theirs.words().len(), 1024);
        assert_eq!(theirs.words()[1000].load(Relaxed), 7);
    }

    #[test]
    fn an_existing_file_is_not_taken_over() {
        let path = scratch("exists");
        let _ours = SharedFile::create(&path, 1).unwrap();
        let second = SharedFile::create(&path, 1);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_range_outside_the_file_is_refused() {
        let path = scratch("outside");
        let ours = SharedFile::create(&path, 512).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(ours.populate(0..513).is_err());
    }

    #[test]
    fn an_empty_file_is_refused() {
        let path = scratch("empty");
        std::fs::write(&path, b"").unwrap();
        let opened = SharedFile::open(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(opened.is_err());
    }

    #[test]
    fn the_temporary_directory_has_room() {
        assert!(free_bytes(&std::env::temp_dir()).unwrap() > 0);
    }
}
