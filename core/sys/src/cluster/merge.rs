//! Changed bytes of a page, written into another copy of it: past the caches where whole
//! vectors have changed, since the processor need not read then what is overwritten.

use fathomp_types::PAGE_BYTES;
use std::arch::x86_64::{
    __m512i, _mm_sfence, _mm512_cmpneq_epi8_mask, _mm512_loadu_si512, _mm512_mask_storeu_epi8,
    _mm512_stream_si512,
};

/// Writes the bytes of `page` that differ from `twin` into `target`, and no others: they
/// may be written by somebody else at the same time.
///
/// # Safety
/// `page` can be read and `target` written, each for a page and aligned as one; nobody
/// writes `page`.
pub(super) unsafe fn merge(twin: &[u8; PAGE_BYTES], page: *const u8, target: *mut u8) {
    if std::arch::is_x86_feature_detected!("avx512bw") {
        // SAFETY: as for us, and the processor has these instructions.
        unsafe { merge_vectors(twin, page, target) }
    } else {
        // SAFETY: as for us.
        unsafe { merge_words(twin, page, target) }
    }
}

/// # Safety
/// As for [`merge`], and there is AVX-512 with bytes.
#[target_feature(enable = "avx512bw")]
unsafe fn merge_vectors(twin: &[u8; PAGE_BYTES], page: *const u8, target: *mut u8) {
    for at in (0..PAGE_BYTES).step_by(size_of::<__m512i>()) {
        // SAFETY: inside the three pages; the target is aligned as vectors are. A store
        // leaves alone what its mask leaves out.
        unsafe {
            let before = _mm512_loadu_si512(twin.as_ptr().add(at).cast());
            let after = _mm512_loadu_si512(page.add(at).cast());
            let changed = _mm512_cmpneq_epi8_mask(before, after);
            if changed == u64::MAX {
                _mm512_stream_si512(target.add(at).cast(), after);
            } else if changed != 0 {
                _mm512_mask_storeu_epi8(target.add(at).cast(), changed, after);
            }
        }
    }
    // What is streamed has no order with what tells of it.
    _mm_sfence();
}

/// # Safety
/// As for [`merge`].
unsafe fn merge_words(twin: &[u8; PAGE_BYTES], page: *const u8, target: *mut u8) {
    const WORD: usize = size_of::<u64>();
    for at in (0..PAGE_BYTES).step_by(WORD) {
        // SAFETY: inside the three pages.
        unsafe {
            let before = twin.as_ptr().add(at).cast::<[u8; WORD]>().read();
            let after = page.add(at).cast::<[u8; WORD]>().read();
            if before == after {
                continue;
            }
            for byte in (0..WORD).filter(|byte| before[*byte] != after[*byte]) {
                target.add(at + byte).write(after[byte]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(4096))]
    struct Aligned([u8; PAGE_BYTES]);

    #[test]
    fn only_changed_bytes_are_written() {
        let twin: [u8; PAGE_BYTES] = std::array::from_fn(|at| (at % 251) as u8);
        let mut page = twin;
        let changed = |at: usize| at % 7 < 3 || (512..640).contains(&at);
        for at in (0..PAGE_BYTES).filter(|at| changed(*at)) {
            page[at] = !twin[at];
        }
        let ways = [merge, merge_words];
        for way in ways {
            let mut target = Aligned([17; PAGE_BYTES]);
            // SAFETY: three pages of this thread's own.
            unsafe { way(&twin, page.as_ptr(), target.0.as_mut_ptr()) };
            let expected = |at| if changed(at) { page[at] } else { 17 };
            assert!((0..PAGE_BYTES).all(|at| target.0[at] == expected(at)));
        }
    }
}
