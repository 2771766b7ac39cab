//! Which code allocated which block of the program's heap, noted where shared lines
//! are looked for.

use fathomp_sys::cluster::deferral;
use fathomp_sys::cluster::image;
use fathomp_sys::unwind::{self, Frame};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Frames that are kept.
const FRAMES: usize = 8;
/// Frames that are looked at: those of libraries are left out.
const FRAMES_LOOKED_AT: usize = 32;
/// Blocks that are kept from one barrier to the next; others have no name.
const BLOCKS_MAX: usize = 1 << 20;

/// A block that was allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocated {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    frames: [usize; FRAMES],
}

impl Allocated {
    /// Return addresses in the program, the innermost first.
    pub(crate) fn frames(&self) -> impl Iterator<Item = usize> {
        self.frames.into_iter().take_while(|frame| *frame != 0)
    }
}

/// The program's code, once blocks are noted.
static TEXT: OnceLock<Vec<Range<usize>>> = OnceLock::new();
static BLOCKS: Mutex<Vec<Allocated>> = Mutex::new(Vec::new());

fn blocks() -> MutexGuard<'static, Vec<Allocated>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes blocks from now on.
pub(crate) fn note_all() {
    TEXT.get_or_init(image::program_text);
}

/// A block was allocated by code that returns to `caller`.
#[inline]
pub(crate) fn note(address: usize, bytes: usize, caller: usize) {
    if let Some(text) = TEXT.get() {
        note_in(text, address, bytes, caller);
    }
}

#[cold]
fn note_in(text: &[Range<usize>], address: usize, bytes: usize, caller: usize) {
    let _inside = deferral::enter();
    let mut found = [Frame::default(); FRAMES_LOOKED_AT];
    let count = unwind::callers(&mut found);
    let mut block = Allocated {
        address,
        bytes,
        frames: [0; FRAMES],
    };
    let of_program = |frame: &usize| text.iter().any(|range| range.contains(frame));
    let all = found.iter().take(count).map(|frame| frame.instruction);
    let all = all.filter(of_program);
    for (place, frame) in block.frames.iter_mut().zip(all) {
        *place = frame;
    }
    // Code without tables for unwinding: who called is known all the same.
    if block.frames[0] == 0 && of_program(&caller) {
        block.frames[0] = caller;
    }
    let mut blocks = blocks();
    if blocks.len() < BLOCKS_MAX {
        blocks.push(block);
    }
}

/// The program's functions that are active in the calling thread, the innermost first.
pub(crate) fn frames() -> Vec<Frame> {
    let Some(text) = TEXT.get() else {
        return Vec::new();
    };
    let mut found = [Frame::default(); FRAMES_LOOKED_AT];
    let count = unwind::callers(&mut found);
    let of_program = |frame: &&Frame| text.iter().any(|range| range.contains(&frame.instruction));
    found[..count].iter().filter(of_program).copied().collect()
}

/// What was allocated since this was asked last.
pub(crate) fn take() -> Vec<Allocated> {
    std::mem::take(&mut *blocks())
}
