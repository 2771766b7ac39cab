//! An atomic `Option<&'static T>`.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A shared reference that threads hand to each other without a lock. The
/// runtime's teams and workers live for ever and are reused, so a `'static`
/// reference never dangles.
pub struct AtomicRef<T: 'static> {
    pointer: AtomicPtr<T>,
    shared: PhantomData<&'static T>,
}

impl<T: Sync> AtomicRef<T> {
    /// Starts out with `value`.
    #[must_use]
    pub const fn new(value: Option<&'static T>) -> Self {
        Self {
            pointer: AtomicPtr::new(as_pointer(value)),
            shared: PhantomData,
        }
    }

    /// The reference stored last.
    #[inline]
    pub fn load(&self, order: Ordering) -> Option<&'static T> {
        from_pointer(self.pointer.load(order))
    }

    /// Stores `value`.
    #[inline]
    pub fn store(&self, value: Option<&'static T>, order: Ordering) {
        self.pointer.store(as_pointer(value), order);
    }

    /// Stores `value` and returns what was there.
    #[inline]
    pub fn swap(&self, value: Option<&'static T>, order: Ordering) -> Option<&'static T> {
        from_pointer(self.pointer.swap(as_pointer(value), order))
    }
}

const fn as_pointer<T>(value: Option<&'static T>) -> *mut T {
    match value {
        Some(reference) => ptr::from_ref(reference).cast_mut(),
        None => ptr::null_mut(),
    }
}

#[inline]
fn from_pointer<T>(pointer: *mut T) -> Option<&'static T> {
    // SAFETY: the only non-null values ever stored come from `&'static T`
    // (the field is private and every writer goes through `as_pointer`), and
    // the pointer is only used as a shared reference again.
    unsafe { pointer.as_ref() }
}

impl<T: Sync> fmt::Debug for AtomicRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AtomicRef({:p})", self.pointer.load(Ordering::Relaxed))
    }
}
