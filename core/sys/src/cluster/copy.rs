//! Copies of pages.

use fathomp_types::PAGE_BYTES;
use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
use std::ops::{Deref, DerefMut};

/// A copy of a page, aligned as the vectors are by which it is compared.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct PageCopy([u8; PAGE_BYTES]);

impl PageCopy {
    /// Zeros.
    #[must_use]
    pub fn new() -> Box<Self> {
        Box::new(Self([0; PAGE_BYTES]))
    }
}

impl Deref for PageCopy {
    type Target = [u8; PAGE_BYTES];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for PageCopy {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// Copies a page past the caches: the processor need not read what is overwritten, and
/// what the caches hold stays there.
///
/// # Safety
/// `page` can be read.
pub(super) unsafe fn copy_aside(page: *const u8, target: &mut PageCopy) {
    const LINE: usize = 4;
    let target = target.as_mut_ptr();
    for at in (0..PAGE_BYTES).step_by(LINE * size_of::<__m128i>()) {
        // SAFETY: inside the two pages; a copy is aligned.
        unsafe {
            let source = page.add(at).cast::<__m128i>();
            let target = target.add(at).cast::<__m128i>();
            let line: [__m128i; LINE] =
                std::array::from_fn(|vector| _mm_loadu_si128(source.add(vector)));
            for (vector, value) in line.into_iter().enumerate() {
                _mm_stream_si128(target.add(vector), value);
            }
        }
    }
    // SAFETY: each x86-64 has it. What is streamed has no order with what tells of it.
    unsafe { _mm_sfence() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_same() {
        let page: [u8; PAGE_BYTES] = std::array::from_fn(|at| (at % 253) as u8);
        let mut copy = PageCopy::new();
        // SAFETY: a page of this thread's own.
        unsafe { copy_aside(page.as_ptr(), &mut copy) };
        assert!(page == **copy);
    }
}
