//! Code the compiler outlined from the program, as a value.

use crate::exit_frame;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Address of something that belongs to the program. The runtime passes it on
/// and never looks inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Opaque(pub usize);

/// An outlined function of the program, and how it is called: `void f(void *data)` or, in
/// another [`Way`], through a function of the runtime's. One word, which means the same in all
/// processes of a cluster.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Outlined(usize);

/// How outlined functions are called that take other arguments than an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Code of a region, with an argument for each shared variable.
    Region = 1,
    /// Code of a task that knows what runs it.
    Task = 2,
    /// The same, of a task whose memory was copied to where it runs.
    MovedTask = 3,
    /// The same, of memory that is aligned to a cache line.
    AlignedTask = 4,
    /// The same, of a task of a loop, which makes its memory from a pattern.
    LoopTask = 5,
}

/// A function that calls the code at an address in some [`Way`].
pub type Caller = extern "C" fn(code: usize, data: Opaque);

/// Addresses of code are below: user space ends at 2^47.
const WAY: u32 = 61;

/// By way, from 1 on; 0 while there is none.
static CALLERS: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];

/// By way, too: what becomes of the data if the code is not to run.
static ABANDONERS: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];

/// Outlined functions of that way are called by `caller` from now on.
pub fn set_caller(way: Way, caller: Caller) {
    CALLERS[way as usize - 1].store(caller as usize, Ordering::Relaxed);
}

/// Where a function of that way is not to run after all, `abandoner` is called with the same as
/// its caller would be: what the program has prepared for it is destroyed.
pub fn set_abandoner(way: Way, abandoner: Caller) {
    ABANDONERS[way as usize - 1].store(abandoner as usize, Ordering::Relaxed);
}

/// The function that calls code in the way that a word's upper bits name; none for 0.
#[inline]
fn caller(way: usize) -> Option<Caller> {
    stored(CALLERS.get(way.wrapping_sub(1))?)
}

#[inline]
fn stored(place: &AtomicUsize) -> Option<Caller> {
    let address = place.load(Ordering::Relaxed);
    if address == 0 {
        return None;
    }
    // SAFETY: whatever is stored there and is not 0 was a `Caller`, see `set_caller` and
    // `set_abandoner`.
    Some(unsafe { std::mem::transmute::<usize, Caller>(address) })
}

impl Outlined {
    /// Wraps the pointer a compiled program passed to us.
    ///
    /// # Safety
    /// `function` may be called on any thread with the data pointer that came
    /// with it, as the OpenMP ABI promises for outlined functions.
    #[inline]
    #[must_use]
    pub unsafe fn from_program(function: extern "C" fn(Opaque)) -> Self {
        Self(function as usize)
    }

    /// Wraps the address of a function that a compiled program passed to us, to be called by
    /// what was [set](set_caller) for that way.
    ///
    /// # Safety
    /// That caller may be called on any thread with this address and the data pointer that
    /// comes with it.
    #[inline]
    #[must_use]
    pub unsafe fn called_by(way: Way, code: usize) -> Self {
        Self(code | (way as usize) << WAY)
    }

    /// The function whose [word](Self::word) another process of this program has sent, where
    /// code lies at the same addresses. `None` if no code that was loaded from a file is there.
    /// More cannot be checked: a peer that decides what this process runs is trusted to name a
    /// function's begin.
    #[must_use]
    pub fn find(word: usize) -> Option<Self> {
        let found = Self(word);
        let known = word >> WAY == 0 || caller(word >> WAY).is_some();
        // The address is that of executable code, not null, and all processes of a cluster run
        // the same program at the same addresses; the process that sent the word has it from
        // `Outlined::word`.
        (known && crate::modules::is_code(found.address())).then_some(found)
    }

    /// Runs it from a frame whose address is stored at `exit`.
    pub fn call_from_frame(self, data: Opaque, exit: &'static AtomicU64) {
        exit_frame::wanted_at(exit);
        match caller(self.0 >> WAY) {
            // SAFETY: the word is the address of a function that takes an address, as in `call`;
            // the place was stored just now.
            None => unsafe { exit_frame::call(self.0, data.0, 0, exit_frame::take_wanted()) },
            // It takes what is wanted.
            Some(caller) => caller(self.address(), data),
        }
    }

    /// Runs it.
    #[inline]
    pub fn call(self, data: Opaque) {
        match caller(self.0 >> WAY) {
            None => {
                // SAFETY: without a way the word is the address of a function pointer that was
                // given to `from_program`, here or, by `find`, in another process.
                let function =
                    unsafe { std::mem::transmute::<usize, extern "C" fn(Opaque)>(self.0) };
                function(data);
            }
            Some(caller) => caller(self.address(), data),
        }
    }

    /// It is not going to run with this data.
    #[cold]
    pub fn abandon(self, data: Opaque) {
        let abandoner = ABANDONERS.get((self.0 >> WAY).wrapping_sub(1));
        if let Some(abandoner) = abandoner.and_then(stored) {
            abandoner(self.address(), data);
        }
    }

    /// Its address, for naming it in a recording.
    #[inline]
    #[must_use]
    pub fn address(self) -> usize {
        self.0 & ((1 << WAY) - 1)
    }

    /// All about it, for [`find`](Self::find) in another process.
    #[inline]
    #[must_use]
    pub fn word(self) -> usize {
        self.0
    }
}

/// An [`Outlined`] that one thread leaves for others.
#[derive(Debug)]
pub struct AtomicOutlined(AtomicUsize);

impl AtomicOutlined {
    /// Holds nothing yet.
    #[must_use]
    pub const fn empty() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Stores `function`.
    #[inline]
    pub fn store(&self, function: Outlined, order: Ordering) {
        self.0.store(function.word(), order);
    }

    /// What was stored last, if anything.
    #[inline]
    pub fn load(&self, order: Ordering) -> Option<Outlined> {
        let word = self.0.load(order);
        // Every word stored but 0 was an `Outlined`'s, so it is one again.
        (word != 0).then_some(Outlined(word))
    }
}
