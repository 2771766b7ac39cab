//! Code the compiler outlined from the program, as a value.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Address of something that belongs to the program. The runtime passes it on
/// and never looks inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Opaque(pub usize);

/// An outlined function of the program: `void f(void *data)`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Outlined(extern "C" fn(Opaque));

impl Outlined {
    /// Wraps the pointer a compiled program passed to us.
    ///
    /// # Safety
    /// `function` may be called on any thread with the data pointer that came
    /// with it, as the OpenMP ABI promises for outlined functions.
    #[must_use]
    pub unsafe fn from_program(function: extern "C" fn(Opaque)) -> Self {
        Self(function)
    }

    /// The function at an address that another process of this program has
    /// sent, where code lies at the same addresses. `None` if no code that was
    /// loaded from a file is there. More cannot be checked: a peer that
    /// decides what this process runs is trusted to name a function's begin.
    #[must_use]
    pub fn find(address: usize) -> Option<Self> {
        if !crate::modules::is_code(address) {
            return None;
        }
        // SAFETY: the address is that of executable code, not null, and all
        // processes of a cluster run the same program at the same addresses;
        // the process that sent it has it from `Outlined::address`.
        let function = unsafe { std::mem::transmute::<usize, extern "C" fn(Opaque)>(address) };
        Some(Self(function))
    }

    /// Runs it.
    #[inline]
    pub fn call(self, data: Opaque) {
        (self.0)(data);
    }

    /// Its address, for naming it in a recording.
    #[inline]
    #[must_use]
    pub fn address(self) -> usize {
        self.0 as usize
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
        self.0.store(function.address(), order);
    }

    /// What was stored last, if anything.
    #[inline]
    pub fn load(&self, order: Ordering) -> Option<Outlined> {
        let address = self.0.load(order);
        if address == 0 {
            return None;
        }
        // SAFETY: every non-zero value stored is the address of a function
        // pointer that was an `Outlined`, so it is one again.
        Some(Outlined(unsafe {
            std::mem::transmute::<usize, extern "C" fn(Opaque)>(address)
        }))
    }
}
