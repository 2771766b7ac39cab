//! The kernel's structures and requests, as `linux/userfaultfd.h` and
//! `linux/fs.h` of Linux 6.12 declare them.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A fault for each page that neither the mapping nor the file has.
pub(super) const MISSING_SHMEM: u64 = 1 << 5;
/// Faults raise SIGBUS instead of waiting for another thread.
pub(super) const SIGBUS: u64 = 1 << 7;
/// A fault for each page that the file has, but the mapping has not.
pub(super) const MINOR_SHMEM: u64 = 1 << 10;
/// Write protection of shared memory.
pub(super) const WP_SHMEM: u64 = 1 << 12;
/// Not needed, but came with [`CONTINUE_WP`] (6.4), which has no flag.
pub(super) const WP_UNPOPULATED: u64 = 1 << 13;
/// Write-protection faults are resolved by the kernel and leave a mark.
pub(super) const WP_ASYNC: u64 = 1 << 15;

pub(super) const REGISTER_MISSING: u64 = 1 << 0;
pub(super) const REGISTER_WP: u64 = 1 << 1;
pub(super) const REGISTER_MINOR: u64 = 1 << 2;
pub(super) const WRITEPROTECT_WP: u64 = 1 << 0;
pub(super) const CONTINUE_WP: u64 = 1 << 1;

/// First and length in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: u64,
    bytes: u64,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self {
            start: range.start as u64,
            bytes: range.len() as u64,
        }
    }
}

/// `struct uffdio_api`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Register {
    pub(super) range: Span,
    pub(super) mode: u64,
    pub(super) ioctls: u64,
}

/// `struct uffdio_writeprotect`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct WriteProtect {
    pub(super) range: Span,
    pub(super) mode: u64,
}

/// `struct uffdio_continue`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Continue {
    pub(super) range: Span,
    pub(super) mode: u64,
    /// Bytes done, or the negative error.
    pub(super) mapped: i64,
}

/// `_IOR(kind, number, T)`.
const fn read<T>(kind: u8, number: u8) -> libc::c_ulong {
    read_write::<T>(kind, number) & !(1 << 30)
}

/// `_IOWR(kind, number, T)`.
const fn read_write<T>(kind: u8, number: u8) -> libc::c_ulong {
    (3 << 30)
        | ((size_of::<T>() as libc::c_ulong) << 16)
        | ((kind as libc::c_ulong) << 8)
        | number as libc::c_ulong
}

const API: libc::c_ulong = read_write::<Api>(0xaa, 0x3f);
pub(super) const REGISTER: libc::c_ulong = read_write::<Register>(0xaa, 0x00);
pub(super) const UNREGISTER: libc::c_ulong = read::<Span>(0xaa, 0x01);
pub(super) const WRITEPROTECT: libc::c_ulong = read_write::<WriteProtect>(0xaa, 0x06);
pub(super) const CONTINUE: libc::c_ulong = read_write::<Continue>(0xaa, 0x07);
const PAGEMAP_SCAN: libc::c_ulong = read_write::<ScanArgument>(b'f', 16);

/// A new descriptor, for faults of the program only: needs no privilege, and a
/// system call on a page that is not there fails instead.
pub(super) fn open() -> io::Result<OwnedFd> {
    const USER_MODE_ONLY: libc::c_int = 1;
    // SAFETY: takes flags, makes a descriptor.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_userfaultfd,
            libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY,
        )
    };
    let fd = RawFd::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Agrees with the kernel on `features`; to be done once, first.
pub(super) fn agree(faults: &OwnedFd, features: u64) -> io::Result<()> {
    let mut api = Api {
        api: 0xaa,
        features,
        ioctls: 0,
    };
    // SAFETY: the structure that the request asks for.
    match unsafe { request(faults.as_raw_fd(), API, &raw mut api) } {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        done => done,
    }
}

/// An `ioctl` with a structure.
///
/// # Safety
/// `structure` is what `request` asks for.
pub(super) unsafe fn request<T>(
    fd: RawFd,
    request: libc::c_ulong,
    structure: *mut T,
) -> io::Result<()> {
    // SAFETY: promised by our caller.
    check(unsafe { libc::ioctl(fd, request, structure) })
}

/// Turns the C library's answer into ours.
pub(super) fn check(done: libc::c_int) -> io::Result<()> {
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// How far one request to install pages got.
pub(super) enum Copied {
    /// So many bytes, from the first on.
    Bytes(usize),
    /// Not even the first page: it was there already.
    WasThere,
}

impl Copied {
    /// From the answer and the field `mapped`.
    pub(super) fn of(done: io::Result<()>, mapped: i64) -> io::Result<Self> {
        match done {
            Ok(()) => Ok(Self::Bytes(usize::try_from(mapped).unwrap_or(0))),
            Err(error) => match error.raw_os_error() {
                Some(libc::EEXIST) => Ok(Self::WasThere),
                // Part of it; or nothing, because a mapping is changing at the
                // moment.
                Some(libc::EAGAIN) => Ok(Self::Bytes(usize::try_from(mapped).unwrap_or(0))),
                _ => Err(error),
            },
        }
    }
}

/// `PAGE_IS_WRITTEN`: not write-protected, or written since.
const WRITTEN: u64 = 1 << 1;
/// `PAGE_IS_PRESENT`.
const PRESENT: u64 = 1 << 3;
/// `PM_SCAN_WP_MATCHING`: protects what it reports.
const PROTECT_MATCHING: u64 = 1 << 0;
/// `PM_SCAN_CHECK_WPASYNC`: fails where that would make writes raise signals.
const CHECK_ASYNC: u64 = 1 << 1;

/// `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

impl PageRegion {
    /// The addresses.
    pub(super) fn range(&self) -> Range<usize> {
        // Addresses that came from a `usize`.
        self.start as usize..self.end as usize
    }
}

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    /// Where the walk ended.
    walk_end: u64,
    regions: u64,
    regions_max: u64,
    pages_max: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    reported: u64,
}

impl ScanArgument {
    /// Nothing to look at: fails only if the kernel does not know the request.
    pub(super) fn empty() -> Self {
        Self {
            size: size_of::<Self>() as u64,
            ..Self::default()
        }
    }

    /// Finds pages that may be written and protects them.
    pub(super) fn written(range: Range<usize>, regions: &mut [PageRegion]) -> Self {
        Self {
            flags: PROTECT_MATCHING | CHECK_ASYNC,
            start: range.start as u64,
            end: range.end as u64,
            regions: regions.as_mut_ptr() as u64,
            regions_max: regions.len() as u64,
            // A page that is not installed would count as written, too.
            all_of: WRITTEN | PRESENT,
            reported: WRITTEN,
            ..Self::empty()
        }
    }

    /// Where the walk ended.
    pub(super) fn walked(&self) -> usize {
        self.walk_end as usize
    }
}

/// `PAGEMAP_SCAN` on an open `/proc/self/pagemap`; number of regions found.
///
/// # Safety
/// `argument` is empty, or its regions are still borrowed for writing.
pub(super) unsafe fn scan(pagemap: RawFd, argument: &mut ScanArgument) -> io::Result<usize> {
    // SAFETY: the structure that the request asks for, with writable regions.
    let found = unsafe { libc::ioctl(pagemap, PAGEMAP_SCAN, argument) };
    usize::try_from(found).map_err(|_| io::Error::last_os_error())
}
