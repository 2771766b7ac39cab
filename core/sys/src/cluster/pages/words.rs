//! Words of pages, changed as atomic instructions do.

use super::Pages;
use fathomp_types::PageId;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Changes a word until nobody else has changed it meanwhile; what it was before.
macro_rules! change {
    ($word:expr, |$before:ident| $after:expr) => {{
        let word = $word;
        let mut $before = word.load(Ordering::SeqCst);
        loop {
            let after = $after;
            let order = Ordering::SeqCst;
            match word.compare_exchange_weak($before, after, order, order) {
                Ok(before) => break before,
                Err(now) => $before = now,
            }
        }
    }};
}

impl Pages {
    /// Changes a word of 1, 2, 4 or 8 bytes in one atomic step, whatever the program is
    /// permitted; what it was before. What `after` says beyond its size is left out.
    ///
    /// # Errors
    /// If there is no such word.
    pub fn change_word(
        &self,
        page: PageId,
        offset: usize,
        bytes: usize,
        after: impl Fn(u64) -> u64,
    ) -> io::Result<u64> {
        self.check(page, offset, bytes)?;
        if bytes == 0 || !offset.is_multiple_of(bytes) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: inside one page of the alias, as was checked; it is mapped as long as there
        // are pages, and begins where a word may. Whoever else touches the word does so as
        // memory that others may change.
        unsafe {
            let word = self.alias_of(page).add(offset);
            Ok(match bytes {
                1 => change!(AtomicU8::from_ptr(word), |now| after(now.into()) as u8).into(),
                2 => {
                    let word = AtomicU16::from_ptr(word.cast());
                    change!(word, |now| after(now.into()) as u16).into()
                }
                4 => {
                    let word = AtomicU32::from_ptr(word.cast());
                    change!(word, |now| after(now.into()) as u32).into()
                }
                8 => change!(AtomicU64::from_ptr(word.cast()), |now| after(now)),
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            })
        }
    }
}
