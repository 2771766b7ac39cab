//! What the program may do to pages, and how mappings say so.

use fathomp_types::PAGE_BYTES;
use std::io;

/// What the program may do to a page without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Read and write.
    ReadWrite,
}

impl Permission {
    fn bits(self) -> libc::c_int {
        match self {
            Self::None => libc::PROT_NONE,
            Self::Read => libc::PROT_READ,
            Self::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        }
    }
}

/// Changes what the program may do to mapped pages. Not for others than the
/// modules beside this one: any address would do.
pub(super) fn protect(address: usize, pages: usize, what: Permission) -> io::Result<()> {
    // SAFETY: only called for pages of ours; the program's accesses to them
    // fault or not, which is what it is for.
    let done = unsafe {
        libc::mprotect(
            std::ptr::with_exposed_provenance_mut(address),
            pages * PAGE_BYTES,
            what.bits(),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
