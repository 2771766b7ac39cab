//! What is kept for the tool in threads, teams and tasks.
//!
//! The tool gets addresses of the words that are its own and of frames. They are atomics, so
//! that Rust may keep references to them while C code writes them; nobody else does meanwhile.

use crate::own::{Own, OwnWord};
use crate::task::Task;
use fathomp_ompt::{Data, Frame, FrameFlags, State};
use fathomp_sys::call_site::Call;
use fathomp_sys::static_ref::AtomicRef;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A word that is the tool's.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Word(AtomicU64);

impl Word {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Its address, for the tool.
    pub(crate) fn pointer(&self) -> *mut Data {
        self.0.as_ptr().cast()
    }

    /// It is somebody else's from now on.
    pub(super) fn clear(&self) {
        self.0.store(Data::NONE.value, Ordering::Relaxed);
    }

    /// The same for a while; what is in it is to be [put back](Self::put_back).
    pub(super) fn take(&self) -> u64 {
        self.0.swap(Data::NONE.value, Ordering::Relaxed)
    }

    pub(super) fn put_back(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A [`Frame`] of C. Exit frames are frame pointers, and the flags call them canonical frame
/// addresses as LLVM's library does: tools that are written for that refuse another flag.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FrameWords {
    exit: AtomicU64,
    enter: AtomicU64,
    exit_flags: AtomicU32,
    enter_flags: AtomicU32,
}

const _: () = assert!(size_of::<FrameWords>() == size_of::<Frame>());
const _: () = assert!(std::mem::offset_of!(FrameWords, enter_flags) == 20);

impl FrameWords {
    const fn new() -> Self {
        Self {
            exit: AtomicU64::new(0),
            enter: AtomicU64::new(0),
            exit_flags: AtomicU32::new(FrameFlags::RUNTIME.with(FrameFlags::CFA).0),
            enter_flags: AtomicU32::new(FrameFlags::RUNTIME.with(FrameFlags::CFA).0),
        }
    }

    pub(super) fn pointer(&self) -> *mut Frame {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn clear(&self) {
        self.exit.store(0, Ordering::Relaxed);
        self.enter.store(0, Ordering::Relaxed);
        let flags = FrameFlags::RUNTIME.with(FrameFlags::CFA);
        self.exit_flags.store(flags.0, Ordering::Relaxed);
    }

    /// Where the frame is stored from which the task's code is called.
    pub(super) fn exit(&self) -> &AtomicU64 {
        &self.exit
    }

    /// The task's code is through.
    pub(super) fn is_back(&self) {
        self.exit.store(0, Ordering::Relaxed);
    }

    /// The program calls the task's code itself, in the frame of `call`.
    pub(super) fn called_by_program(&self, call: Call) {
        self.exit.store(call.frame as u64, Ordering::Relaxed);
        let flags = FrameFlags::APPLICATION.with(FrameFlags::CFA);
        self.exit_flags.store(flags.0, Ordering::Relaxed);
    }

    /// The task's code calls the runtime.
    pub(super) fn enters(&self, call: Call) {
        // The frame of the entry point begins above its return address.
        let frame = match call.stack {
            0 => 0,
            stack => stack + size_of::<usize>(),
        };
        self.enter.store(frame as u64, Ordering::Relaxed);
    }

    /// The runtime returns to the task's code.
    pub(super) fn returns(&self) {
        self.enter.store(0, Ordering::Relaxed);
    }
}

/// Iterations of a `taskloop` construct: the first one's number, and how many.
#[derive(Debug)]
pub(super) struct Piece([AtomicU64; 2]);

impl Piece {
    const fn none() -> Self {
        Self([const { AtomicU64::new(0) }; 2])
    }

    pub(super) fn set(&self, piece: [u64; 2]) {
        for (word, value) in self.0.iter().zip(piece) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// What was set last; afterwards none.
    pub(super) fn take(&self) -> [u64; 2] {
        let piece = self.0.each_ref().map(|word| word.load(Ordering::Relaxed));
        self.set([0; 2]);
        piece
    }
}

/// Of a thread.
#[derive(Debug)]
pub(crate) struct ThreadWords {
    pub(super) data: Word,
    /// Whether the tool knows the thread.
    pub(super) known: Own,
    /// A [`State`], and what is waited for.
    pub(super) state: Own,
    pub(super) wait: OwnWord,
    /// Flags of the next task that the thread makes, besides those that the runtime knows.
    pub(super) announced: Own,
    /// What that task runs of a `taskloop` construct.
    pub(super) piece: Piece,
    /// Why the thread goes to another task, if not because it has to wait.
    pub(super) yields: Own,
    /// The last number that no other call gives; 0 before the first.
    pub(super) unique: AtomicU64,
}

impl ThreadWords {
    pub(crate) const fn new() -> Self {
        Self {
            data: Word::new(),
            known: Own::new(0),
            state: Own::new(State::UNDEFINED.0),
            wait: OwnWord::new(),
            announced: Own::new(0),
            piece: Piece::none(),
            yields: Own::new(0),
            unique: AtomicU64::new(0),
        }
    }
}

/// Of a team.
#[derive(Debug)]
pub(crate) struct TeamWords {
    /// The region's data.
    pub(super) data: Word,
    /// Where the region began in the program.
    pub(super) call: AtomicU64,
    /// The number of the order whose region has ended last.
    pub(super) ended: AtomicU32,
    /// Whether its members' implicit tasks are initial tasks.
    pub(super) initial: Own,
}

impl TeamWords {
    pub(crate) const fn new() -> Self {
        Self {
            data: Word::new(),
            call: AtomicU64::new(0),
            ended: AtomicU32::new(0),
            initial: Own::new(0),
        }
    }
}

/// Of a member of a team.
#[derive(Debug)]
pub(crate) struct MemberWords {
    /// The construct of worksharing that it is in, 0 if it is in none, and how much work that is.
    pub(super) work: Own,
    pub(super) amount: OwnWord,
    /// It runs the block of a `single` construct of which no call says the end.
    pub(super) single: Own,
    /// It waits at the end of the region, whose order has this number, if it does.
    pub(super) at_end: Own,
    pub(super) order: Own,
}

impl MemberWords {
    pub(crate) const fn new() -> Self {
        Self {
            work: Own::new(0),
            amount: OwnWord::new(),
            single: Own::new(0),
            at_end: Own::new(0),
            order: Own::new(0),
        }
    }
}

/// Of a task.
#[derive(Debug)]
pub(crate) struct TaskWords {
    pub(super) data: Word,
    pub(super) frame: FrameWords,
    /// [`fathomp_ompt::TaskFlags`].
    pub(super) flags: Own,
    /// What it runs of a `taskloop` construct, until it begins.
    pub(super) piece: Piece,
    /// What its thread left for it; none if that is the implicit task.
    pub(super) below: AtomicRef<Task>,
}

impl TaskWords {
    pub(crate) const fn new() -> Self {
        Self {
            data: Word::new(),
            frame: FrameWords::new(),
            flags: Own::new(0),
            piece: Piece::none(),
            below: AtomicRef::new(None),
        }
    }

    /// They are those of a new task.
    pub(super) fn begin(&self, flags: u32) {
        self.data.clear();
        self.frame.clear();
        self.flags.set(flags);
        self.piece.set([0; 2]);
        self.below.store(None, Ordering::Relaxed);
    }

    /// What another task puts back that uses the words for a while.
    pub(super) fn put_aside(&self) -> Aside {
        Aside {
            data: self.data.take(),
            frame: [&self.frame.exit, &self.frame.enter].map(|word| word.load(Ordering::Relaxed)),
            exit_flags: self.frame.exit_flags.load(Ordering::Relaxed),
            flags: self.flags.get(),
        }
    }

    pub(super) fn put_back(&self, aside: &Aside) {
        let [exit, enter] = aside.frame;
        self.data.put_back(aside.data);
        self.frame.exit.store(exit, Ordering::Relaxed);
        self.frame.enter.store(enter, Ordering::Relaxed);
        self.frame
            .exit_flags
            .store(aside.exit_flags, Ordering::Relaxed);
        self.flags.set(aside.flags);
    }
}

/// A task's words while another uses them.
pub(super) struct Aside {
    data: u64,
    frame: [u64; 2],
    exit_flags: u32,
    flags: u32,
}

/// No data: of a region that has ended.
pub(super) const NOTHING: *mut Data = std::ptr::null_mut();

/// An address in the program's code, as C has it.
pub(super) fn code(address: usize) -> *const c_void {
    std::ptr::without_provenance(address)
}
