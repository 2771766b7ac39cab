//! A C function that may be exchanged at any time.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A pointer to a C function.
///
/// # Safety
/// The type is as large as an address, and any value of it is not null and stays
/// a value of it if it is stored as an address and read again.
pub unsafe trait CFunction: Copy + 'static {}

macro_rules! c_functions {
    ($(($($argument:ident),*))+) => {$(
        // SAFETY: function pointers are addresses, and never null.
        unsafe impl<R: 'static, $($argument: 'static),*> CFunction for extern "C" fn($($argument),*) -> R {}
    )+};
}

c_functions! {
    ()
    (A)
    (A, B)
    (A, B, C)
    (A, B, C, D)
    (A, B, C, D, E)
    (A, B, C, D, E, F)
}

/// The address of a function. The code that stores it knows its type.
#[derive(Clone, Copy, Debug)]
pub struct Address(usize);

impl Address {
    /// Of the function at `address`; of none if that is 0.
    ///
    /// # Safety
    /// If it is not 0, a function is there for ever, of the type of the slot in which it will be
    /// stored.
    #[must_use]
    pub unsafe fn of_function(address: usize) -> Self {
        Self(address)
    }
}

/// Holds a function of one type, or none. What reads it may call the function
/// that was stored before, for a moment.
pub struct FunctionSlot<F> {
    address: AtomicUsize,
    function: PhantomData<F>,
}

impl<F: CFunction> FunctionSlot<F> {
    /// Holds nothing yet.
    #[must_use]
    pub const fn empty() -> Self {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        Self {
            address: AtomicUsize::new(0),
            function: PhantomData,
        }
    }

    /// What was stored last.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<F> {
        let address = self.address.load(Ordering::Acquire);
        // SAFETY: every address stored but 0 was an `F` (see `set`), which is as large.
        (address != 0).then(|| unsafe { std::mem::transmute_copy::<usize, F>(&address) })
    }

    /// Stores `function`.
    pub fn set(&self, function: Option<F>) {
        let address = function.map_or(0, |function| {
            // SAFETY: an `F` is as large as an address and has no other bytes.
            unsafe { std::mem::transmute_copy::<F, usize>(&function) }
        });
        self.address.store(address, Ordering::Release);
    }

    /// Stores the function at `address`.
    pub fn set_address(&self, address: Address) {
        self.address.store(address.0, Ordering::Release);
    }

    /// The address of what was stored last, 0 if that is nothing.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address.load(Ordering::Acquire)
    }
}

impl<F> fmt::Debug for FunctionSlot<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "FunctionSlot({:#x})",
            self.address.load(Ordering::Relaxed)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn one_more(number: u64) -> u64 {
        number + 1
    }

    #[test]
    fn a_function_comes_back_as_what_it_was() {
        let slot = FunctionSlot::<extern "C" fn(u64) -> u64>::empty();
        assert!(slot.get().is_none());
        slot.set(Some(one_more));
        assert_eq!(slot.get().map(|function| function(41)), Some(42));
        let other = FunctionSlot::<extern "C" fn(u64) -> u64>::empty();
        // SAFETY: it is the address of a function of this type.
        other.set_address(unsafe { Address::of_function(slot.address()) });
        assert_eq!(other.get().map(|function| function(1)), Some(2));
        slot.set(None);
        assert!(slot.get().is_none());
    }
}
