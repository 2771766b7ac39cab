//! The board that the programs of a session share.

use super::ShareError;
use fathomp_core_arbiter::Board;
use fathomp_core_arbiter::cores::CORES_MAX;
use fathomp_core_arbiter::layout::Shape;
use fathomp_launch::Seat;
use fathomp_sys::shm::{SharedFile, WORD};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// Memory without a name in any directory: it goes with the last process that uses it, and
/// nobody can cut it shorter.
pub(super) struct SharedBoard {
    /// Programs open it through our table of descriptors.
    _file: File,
    memory: SharedFile,
    path: PathBuf,
}

impl SharedBoard {
    /// A board for so many programs and these processors.
    pub(super) fn new(
        programs: usize,
        processors: &[u32],
        events: bool,
    ) -> Result<Self, ShareError> {
        let shape = Shape {
            slots: programs,
            cores: u32::try_from(processors.len())
                .unwrap_or(CORES_MAX)
                .min(CORES_MAX),
            events,
        };
        let failed = |error: nix::errno::Errno| ShareError::Memory(error.into());
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = File::from(memfd_create(c"fathomp-share", flags).map_err(failed)?);
        file.set_len((shape.words() * WORD) as u64)
            .map_err(ShareError::Memory)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).map_err(failed)?;
        let path = PathBuf::from(format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            file.as_raw_fd()
        ));
        let memory = SharedFile::open(&path).map_err(ShareError::Memory)?;
        Board::format(memory.words(), shape, processors)?;
        Ok(Self {
            _file: file,
            memory,
            path,
        })
    }

    pub(super) fn board(&self) -> Result<Board<'_>, ShareError> {
        Ok(Board::open(self.memory.words())?)
    }

    /// What the runtime of the program in `slot` is told of it.
    pub(super) fn seat(&self, slot: u32, watch: bool) -> Seat {
        Seat {
            slot,
            board: self.path.clone(),
            watch,
            advice: None,
        }
    }
}
