//! What passes by pointer.

use crate::{DependenceType, FrameFlags};

/// A word that belongs to the tool: the runtime keeps it for a thread, a
/// parallel region or a task, and never looks inside (`ompt_data_t`, in C a
/// union of a number and a pointer).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Data {
    /// The word, as a number.
    pub value: u64,
}

impl Data {
    /// What a tool finds where it has not put anything (`ompt_data_none`).
    pub const NONE: Self = Self { value: 0 };
}

/// Where the frames of the runtime on a task's stack begin and end
/// (`ompt_frame_t`), so that a tool can leave them out of a backtrace.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame {
    /// The frame of the runtime from which the task's code was called.
    pub exit_frame: Data,
    /// The frame of the task's code that called the runtime, while it is there.
    pub enter_frame: Data,
    /// What [`Frame::exit_frame`] is an address of.
    pub exit_frame_flags: FrameFlags,
    /// What [`Frame::enter_frame`] is an address of.
    pub enter_frame_flags: FrameFlags,
}

/// One item of a `depend` clause, or one iteration of a doacross loop that is
/// posted or waited for (`ompt_dependence_t`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dependence {
    /// The address of the list item, or the value of the loop's variable.
    pub variable: Data,
    /// How it is depended on.
    pub dependence_type: DependenceType,
}

/// The iterations of one chunk, where [`Data`] of a dispatch points to one
/// (`ompt_dispatch_chunk_t`, from version 5.2).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DispatchChunk {
    /// The first iteration's number.
    pub start: u64,
    /// How many iterations.
    pub iterations: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_in_memory_as_in_c() {
        assert_eq!(size_of::<Data>(), 8);
        assert_eq!(size_of::<Frame>(), 24);
        assert_eq!(core::mem::offset_of!(Frame, enter_frame_flags), 20);
        assert_eq!(size_of::<Dependence>(), 16);
    }
}
