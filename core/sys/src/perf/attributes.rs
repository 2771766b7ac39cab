//! What is asked of `perf_event_open`.

use crate::descriptor::move_up;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `struct perf_event_attr` up to the clock (its third published size, Linux 4.1).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) kind: u32,
    /// Bytes that count: [`Attributes::FIRST_SIZE`] or [`Attributes::SIZE`].
    pub(crate) size: u32,
    pub(crate) config: u64,
    pub(crate) sample_period: u64,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) flags: u64,
    pub(crate) wakeup: u32,
    pub(crate) breakpoint_type: u32,
    pub(crate) config1: u64,
    pub(crate) config2: u64,
    pub(crate) branches: u64,
    pub(crate) user_registers: u64,
    pub(crate) user_stack: u32,
    pub(crate) clock: i32,
}

impl Attributes {
    /// What every kernel accepts.
    pub(crate) const FIRST_SIZE: u32 = 64;
    /// All of the structure.
    pub(crate) const SIZE: u32 = size_of::<Self>() as u32;
}

/// Kinds of events.
pub(crate) mod kind {
    /// Of the processor.
    pub(crate) const HARDWARE: u32 = 0;
    /// Of the kernel.
    pub(crate) const SOFTWARE: u32 = 1;
}

/// Events of the kernel.
pub(crate) mod software {
    pub(crate) const PAGE_FAULTS: u64 = 2;
    pub(crate) const CONTEXT_SWITCHES: u64 = 3;
    pub(crate) const MINOR_FAULTS: u64 = 5;
    pub(crate) const MAJOR_FAULTS: u64 = 6;
}

/// Bits of [`Attributes::flags`].
pub(crate) mod flag {
    pub(crate) const DISABLED: u64 = 1;
    pub(crate) const INHERIT: u64 = 1 << 1;
    pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub(crate) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    pub(crate) const MAPS: u64 = 1 << 8;
    pub(crate) const NAMES: u64 = 1 << 9;
    pub(crate) const ENABLE_ON_EXEC: u64 = 1 << 12;
    pub(crate) const TASKS: u64 = 1 << 13;
    pub(crate) const WATERMARK: u64 = 1 << 14;
    pub(crate) const DATA_MAPS: u64 = 1 << 17;
    pub(crate) const IDENTIFY_ALL: u64 = 1 << 18;
    pub(crate) const MAPS_IN_DETAIL: u64 = 1 << 23;
    pub(crate) const NAMES_OF_EXEC: u64 = 1 << 24;
    pub(crate) const OWN_CLOCK: u64 = 1 << 25;
}

/// Bits of [`Attributes::sample_type`].
pub(crate) mod sample {
    pub(crate) const INSTRUCTION: u64 = 1;
    pub(crate) const THREAD: u64 = 1 << 1;
    pub(crate) const TIME: u64 = 1 << 2;
    pub(crate) const ADDRESS: u64 = 1 << 3;
    pub(crate) const USER_REGISTERS: u64 = 1 << 12;
    pub(crate) const IDENTIFIER: u64 = 1 << 16;
    /// Linux 5.11.
    pub(crate) const PAGE_SIZE: u64 = 1 << 22;
}

/// Bits of [`Attributes::read_format`].
pub(crate) mod format {
    pub(crate) const TIME_ENABLED: u64 = 1;
    pub(crate) const TIME_RUNNING: u64 = 2;
    pub(crate) const GROUP: u64 = 8;
}

/// Whose events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventScope {
    /// A thread by the kernel's number, 0 for the calling one.
    pub(crate) thread: libc::pid_t,
    /// Only while it runs on that processor; -1 for all.
    pub(crate) processor: libc::c_int,
}

impl EventScope {
    /// The calling thread's, wherever it runs.
    pub(crate) const MINE: Self = Self {
        thread: 0,
        processor: -1,
    };
}

/// Opens an event, in the group of `leader` if there is one; closed by `exec`.
pub(crate) fn open_event(
    attributes: &Attributes,
    whose: EventScope,
    leader: Option<&OwnedFd>,
) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let group = leader.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: `attributes` is a valid perf_event_attr at least as long as the size that
    // it states; the other arguments are numbers.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const *attributes,
            whose.thread,
            whose.processor,
            group,
            CLOSE_ON_EXEC,
        )
    };
    let descriptor = libc::c_int::try_from(descriptor)
        .ok()
        .filter(|&descriptor| descriptor >= 0)
        .ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(move_up(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}
