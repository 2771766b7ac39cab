//! A task's memory: what the runtime knows of it, what the program has in it, pointers to what it
//! shares.
//!
//! The program fills memory in before the task exists, and takes addresses in it: variables of
//! the task's own are made there by their constructors. So the memory stays where it is. Only
//! where tasks may leave their node, memory that may be moved is copied: that which leads nowhere
//! into itself and has nothing to destroy.

use super::task_stock;
use super::threads::global_number;
use super::types::{KmpTask, Routine};
use crate::reachable;
use fathomp_omp::cluster;
use fathomp_omp::observer::Announced;
use fathomp_omp::task::{self, Included, NewEvent};
use fathomp_sys::exit_frame::{self, take_wanted};
use fathomp_sys::outlined::Opaque;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

/// What every vector of the processor is aligned to, and a cache line.
const ALIGN: usize = task_stock::ALIGN;

/// It is not to go on on another thread.
const TIED: i32 = 1;
/// Flags of a task that the compiler passes.
pub(super) const FINAL: i32 = 1 << 1;
const MERGEABLE: i32 = 1 << 2;
const DESTRUCTORS: i32 = 1 << 3;
const PROXY: i32 = 1 << 4;
pub(super) const PRIORITY: i32 = 1 << 5;

/// What is known of a task, right before its memory.
#[repr(C, align(64))]
struct Header {
    source: Source,
    /// A task that its creator runs, if it has begun.
    included: Option<Included>,
    event: Option<Box<NewEvent>>,
    /// How many will say that they do not need the memory any more.
    holders: AtomicU32,
    sizes: Sizes,
}

/// Where memory is from, and goes again.
#[derive(Clone, Copy)]
enum Source {
    /// What all nodes reach.
    Reachable,
    /// What is kept for tasks.
    Stock,
    /// The C library.
    Library,
    /// The stack of the thread that runs the task.
    Stack,
}

/// What a copy needs as well: the last 16 bytes before the task's memory.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Sizes {
    /// Of the structure that the program describes.
    task: u32,
    /// Of the pointers behind it.
    shareds: u32,
    flags: i32,
    /// Whether its code is running, and has asked to go on.
    state: u32,
}

const RUNNING: u32 = 1;
const AGAIN: u32 = 2;

const _: () = assert!(std::mem::size_of::<Sizes>() == 16);
const _: () = assert!(std::mem::offset_of!(Header, sizes) + 16 <= std::mem::size_of::<Header>());

/// Bytes of a structure that is short enough to be copied to the stack.
const SHORT_BYTES: usize = 512;

/// Room for the memory of such a task.
#[repr(C, align(64))]
struct Room {
    _header: Header,
    _task: [u8; SHORT_BYTES],
}

const _: () = assert!(std::mem::offset_of!(Room, _task) == std::mem::size_of::<Header>());

/// Memory of a task, as the program knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskMemory(*mut KmpTask);

/// Bytes of the structure, so that the pointers behind it are aligned.
fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(size_of::<usize>())
}

impl TaskMemory {
    /// Memory for a task with this code. Sizes are in bytes, `task` that of the structure.
    pub(super) fn new(flags: i32, task: usize, shareds: usize, routine: Option<Routine>) -> Self {
        let lead = size_of::<Header>();
        let bytes = lead + rounded(task) + shareds;
        let (source, begin) = match cluster::is_node() {
            true => (Source::Reachable, reachable::allocate(bytes, ALIGN)),
            false if bytes <= task_stock::BYTES => (Source::Stock, task_stock::take()),
            false => {
                // SAFETY: plain C allocation; checked below.
                let begin = unsafe { libc::aligned_alloc(ALIGN, bytes.next_multiple_of(ALIGN)) };
                (Source::Library, begin.expose_provenance())
            }
        };
        if begin == 0 {
            reachable::out_of_memory(bytes);
        }
        let new = Self(std::ptr::with_exposed_provenance_mut(begin + lead));
        let header = Header {
            source,
            included: None,
            event: None,
            holders: AtomicU32::new(1),
            sizes: Sizes {
                // Larger ones could not have been allocated.
                task: u32::try_from(task).unwrap_or(u32::MAX),
                shareds: u32::try_from(shareds).unwrap_or(u32::MAX),
                flags,
                state: 0,
            },
        };
        // SAFETY: the memory is fresh, aligned, and large enough for both.
        unsafe {
            new.header().write(header);
            new.sizes().write((*new.header()).sizes);
            new.0.write(KmpTask {
                shareds: match shareds {
                    0 => 0,
                    _ => new.address() + rounded(task),
                },
                routine,
                part_id: 0,
                destructors: None,
                priority: 0,
            });
        }
        if flags & PROXY != 0 {
            // Complete when somebody says so, perhaps long before or after its code is through.
            new.set_event(task::new_event());
            // SAFETY: just written.
            unsafe { (*new.header()).holders = AtomicU32::new(2) };
        }
        new
    }

    /// The memory that the program has.
    ///
    /// # Safety
    /// It comes from [`Self::new`] and has not been freed.
    pub(super) unsafe fn of(task: *mut KmpTask) -> Self {
        Self(task)
    }

    pub(super) fn pointer(self) -> *mut KmpTask {
        self.0
    }

    pub(super) fn address(self) -> usize {
        self.0.expose_provenance()
    }

    fn header(self) -> *mut Header {
        self.0.wrapping_byte_sub(size_of::<Header>()).cast()
    }

    fn sizes(self) -> *mut Sizes {
        self.0.wrapping_byte_sub(size_of::<Sizes>()).cast()
    }

    fn get(self) -> Sizes {
        // SAFETY: whoever has the value has the memory (`new`, `of`), and only its thread.
        unsafe { self.sizes().read() }
    }

    fn set_state(self, state: u32) {
        // SAFETY: as in `get`.
        unsafe { (*self.sizes()).state = state };
    }

    pub(super) fn flags(self) -> i32 {
        self.get().flags
    }

    /// Those that observers are told.
    pub(super) fn told(self) -> Announced {
        let flags = self.flags();
        Announced {
            untied: flags & TIED == 0,
            mergeable: flags & MERGEABLE != 0,
        }
    }

    /// What is in the program's part.
    fn task(self) -> KmpTask {
        // SAFETY: as in `get`.
        unsafe { self.0.read() }
    }

    /// The value of the `priority` clause; 0 if there is none.
    pub(super) fn priority(self) -> u32 {
        match self.flags() & PRIORITY {
            0 => 0,
            _ => u32::try_from(self.task().priority as i32).unwrap_or(0),
        }
    }

    /// Where its code is.
    pub(super) fn code(self) -> usize {
        self.task().routine.map_or(0, |routine| routine as usize)
    }

    /// Its event, which goes with it from now on.
    pub(super) fn event(self) -> Option<&'static NewEvent> {
        // SAFETY: as in `get`; the box is dropped with the memory, which the task's creator does
        // not give away before it has read the event.
        unsafe { (*self.header()).event.as_deref() }
    }

    pub(super) fn set_event(self, event: NewEvent) {
        // SAFETY: as in `get`.
        unsafe { (*self.header()).event = Some(Box::new(event)) };
    }

    pub(super) fn set_included(self, included: Option<Included>) {
        // SAFETY: as in `get`.
        unsafe { (*self.header()).included = included };
    }

    pub(super) fn included(self) -> Option<Included> {
        // SAFETY: as in `get`.
        unsafe { (*self.header()).included }
    }

    /// A task is to be queued whose code is running: it is untied, and goes on when its code has
    /// returned.
    pub(super) fn goes_on(self) -> bool {
        let running = self.get().state & RUNNING != 0;
        if running {
            self.set_state(RUNNING | AGAIN);
        }
        running
    }

    /// The code is called by the program or below.
    pub(super) fn begins(self) {
        self.set_state(RUNNING);
    }

    /// Runs what is left of the code.
    pub(super) fn run_on(self) {
        self.run_parts(std::ptr::null_mut());
    }

    fn run_parts(self, exit: *mut u64) {
        while self.get().state & AGAIN != 0 {
            self.call(exit);
        }
        self.set_state(0);
    }

    fn call(self, exit: *mut u64) {
        self.begins();
        if let Some(routine) = self.task().routine {
            call_routine(routine, self, exit);
        }
    }

    /// Runs the code to its end.
    pub(super) fn run(self) {
        let exit = take_wanted();
        self.call(exit);
        self.run_parts(exit);
    }

    /// Destroys the task's own variables.
    pub(super) fn destroy(self) {
        let destructors = self.task().destructors;
        if let Some(destructors) = destructors.filter(|_| self.flags() & DESTRUCTORS != 0) {
            destructors(global_number(), self.0);
        }
    }

    /// Gives the memory back, on the node that it is from, if nobody else needs it.
    pub(super) fn free(self) {
        let header = self.header();
        // SAFETY: as in `get`; the last one that says so finds nobody else with the memory.
        unsafe {
            if (*header).holders.fetch_sub(1, Ordering::AcqRel) != 1 {
                return;
            }
            drop((*header).event.take());
            match (*header).source {
                Source::Reachable => reachable::free(header.expose_provenance()),
                Source::Stock => task_stock::give(header.expose_provenance()),
                Source::Library => libc::free(header.cast()),
                Source::Stack => {}
            }
        }
    }

    /// A copy of it, as for one of the tasks of a `taskloop`.
    pub(super) fn copy(self) -> Self {
        let sizes = self.get();
        let (task, shareds) = (sizes.task as usize, sizes.shareds as usize);
        let copy = Self::new(sizes.flags, task, shareds, None);
        let pointers = copy.task().shareds;
        // SAFETY: both are as large; the new one is fresh.
        unsafe {
            let bytes = rounded(task) + shareds;
            std::ptr::copy_nonoverlapping(self.0.cast::<u8>(), copy.0.cast(), bytes);
            (*copy.0).shareds = pointers;
        }
        copy
    }

    /// Whether copies of it may be [run](Self::run_copy) on the stack: it is short, and copies have
    /// nothing to destroy.
    pub(super) fn has_short_copies(self) -> bool {
        let sizes = self.get();
        sizes.flags & (DESTRUCTORS | PROXY) == 0 && sizes.task as usize <= SHORT_BYTES
    }

    /// Runs a copy of it, which `fill` completes, on the stack. The copy uses the pointers of
    /// this one, which stays meanwhile.
    pub(super) fn run_copy(self, fill: impl FnOnce(*mut KmpTask)) {
        let sizes = self.get();
        let mut room = MaybeUninit::<Room>::uninit();
        let begin = room.as_mut_ptr().cast::<KmpTask>();
        let copy = Self(begin.wrapping_byte_add(size_of::<Header>()));
        // SAFETY: the header comes first in the room, and behind it there is space for the
        // structure, whose size is bounded here and by `has_short_copies`. Nobody else has it.
        unsafe {
            copy.header().write(Header {
                source: Source::Stack,
                included: None,
                event: None,
                holders: AtomicU32::new(1),
                sizes: Sizes { state: 0, ..sizes },
            });
            let bytes = (sizes.task as usize).min(SHORT_BYTES);
            std::ptr::copy_nonoverlapping(self.0.cast::<u8>(), copy.0.cast(), bytes);
        }
        fill(copy.0);
        copy.run();
    }

    /// The words of a block that may be copied to where it runs, with its alignment and what is
    /// before the program's part; none if it must stay where it is.
    pub(super) fn movable(self) -> Option<Block> {
        let sizes = self.get();
        if sizes.flags & DESTRUCTORS != 0 {
            return None;
        }
        let bytes = rounded(sizes.task as usize) + sizes.shareds as usize;
        let begin = self.address();
        let words = begin..begin + bytes / size_of::<usize>() * size_of::<usize>();
        let own = begin..begin + bytes;
        let leads_inside = words.step_by(size_of::<usize>()).any(|place| {
            // SAFETY: inside the memory, as in `get`.
            let word = unsafe { std::ptr::with_exposed_provenance::<usize>(place).read() };
            place != begin && own.contains(&word)
        });
        // A structure with wide vectors has a size that is a multiple of theirs.
        let aligned = sizes.task.is_multiple_of(32);
        let lead = if aligned { ALIGN } else { size_of::<Sizes>() };
        (!leads_inside).then(|| Block {
            begin: Opaque(begin - lead),
            bytes: lead + bytes,
            aligned,
        })
    }
}

/// A task's memory that may be moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) begin: Opaque,
    pub(super) bytes: usize,
    /// To a cache line, rather than to 16 bytes.
    pub(super) aligned: bool,
}

impl Block {
    pub(super) fn align(self) -> usize {
        if self.aligned {
            ALIGN
        } else {
            align_of::<Sizes>()
        }
    }
}

/// Runs a task to whose memory `data` leads.
pub(super) extern "C" fn call(_code: usize, data: Opaque) {
    // SAFETY: tasks called this way have the address of memory in their first word, see `tasks`.
    let memory = unsafe {
        let address = std::ptr::with_exposed_provenance::<usize>(data.0).read();
        TaskMemory::of(std::ptr::with_exposed_provenance_mut(address))
    };
    memory.run();
    memory.destroy();
    memory.free();
}

/// The task is not going to run: its variables are destroyed all the same, as its code would.
pub(super) extern "C" fn abandon(_code: usize, data: Opaque) {
    // SAFETY: as in `call`.
    let memory = unsafe {
        let address = std::ptr::with_exposed_provenance::<usize>(data.0).read();
        TaskMemory::of(std::ptr::with_exposed_provenance_mut(address))
    };
    memory.destroy();
    memory.free();
}

fn call_copy(data: Opaque, lead: usize) {
    // SAFETY: tasks called this way have been made from a `Block`, see `tasks`.
    let memory = unsafe {
        let memory = TaskMemory::of(std::ptr::with_exposed_provenance_mut(data.0 + lead));
        let sizes = memory.get();
        if sizes.shareds != 0 {
            (*memory.pointer()).shareds = memory.address() + rounded(sizes.task as usize);
        }
        memory
    };
    memory.run();
}

/// Runs a task whose memory has been copied to `data`.
pub(super) extern "C" fn call_moved(_code: usize, data: Opaque) {
    call_copy(data, size_of::<Sizes>());
}

/// The same, aligned to a cache line.
pub(super) extern "C" fn call_aligned(_code: usize, data: Opaque) {
    call_copy(data, ALIGN);
}

/// Calls the code of a task, from a frame whose address is stored at `exit` unless that is null.
#[inline]
fn call_routine(routine: Routine, memory: TaskMemory, exit: *mut u64) {
    let number = global_number();
    if exit.is_null() {
        routine(number, memory.0);
        return;
    }
    let code = routine as *const () as usize;
    // SAFETY: a routine takes a number and the memory, which is the task's to use now.
    unsafe { exit_frame::call(code, number as usize, memory.address(), exit) };
}
