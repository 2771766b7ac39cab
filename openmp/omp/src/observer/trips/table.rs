//! Functions that regions were begun with, and what the plan says of them.
//!
//! Finding one takes no lock: its address is published last. As long as no module is
//! unloaded an address stands for a function; in another generation of modules all are
//! looked up anew.

use super::bound::Bound;
use fathomp_sys::modules;
use fathomp_sys::static_ref::AtomicRef;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Places of the table. Functions that find none are not followed.
const PLACES: usize = 4096;
/// Places that are tried.
const TRIES: usize = 16;

/// Of one address.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) bound: Option<&'static Bound>,
}

struct Place {
    function: AtomicU64,
    generation: AtomicU32,
    found: AtomicRef<Found>,
}

pub(super) struct Table {
    places: Box<[Place]>,
    adding: Mutex<()>,
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            places: (0..PLACES)
                .map(|_| Place {
                    function: AtomicU64::new(0),
                    generation: AtomicU32::new(0),
                    found: AtomicRef::new(None),
                })
                .collect(),
            adding: Mutex::new(()),
        }
    }

    #[inline]
    fn chain(&self, function: usize) -> impl Iterator<Item = &Place> {
        let first = (function as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..TRIES).map(move |step| &self.places[(first as usize + step) % PLACES])
    }

    /// What is known of a function; `None` if it has not been looked up.
    #[inline]
    pub(super) fn find(&self, function: usize) -> Option<&'static Found> {
        for place in self.chain(function) {
            match place.function.load(Ordering::Acquire) {
                0 => return None,
                known if known == function as u64 => {
                    let found = place.found.load(Ordering::Acquire);
                    let good = place.generation.load(Ordering::Acquire) == modules::generation();
                    return found.filter(|_| good);
                }
                _ => {}
            }
        }
        Some(&Found { bound: None })
    }

    /// Adds what `bind` finds of a function.
    pub(super) fn add(
        &self,
        function: usize,
        bind: impl FnOnce() -> Option<&'static Bound>,
    ) -> Option<&'static Bound> {
        // Before the modules are looked at: if one goes meanwhile, this is not good for long.
        let generation = modules::generation();
        let bound = bind();
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.chain(function).find(|place| {
            let known = place.function.load(Ordering::Acquire);
            known == 0 || known == function as u64
        })?;
        let current = place.generation.load(Ordering::Acquire) == generation;
        if let Some(found) = place.found.load(Ordering::Acquire).filter(|_| current) {
            // Another thread was faster.
            return found.bound;
        }
        place.found.store(
            Some(Box::leak(Box::new(Found { bound }))),
            Ordering::Release,
        );
        place.generation.store(generation, Ordering::Release);
        place.function.store(function as u64, Ordering::Release);
        bound
    }
}
