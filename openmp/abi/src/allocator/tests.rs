use super::*;

fn init(traits: &[(i32, usize)]) -> Handle {
    let traits: Vec<_> = traits
        .iter()
        .map(|&(key, value)| Trait { key, value })
        .collect();
    // SAFETY: pointer and length are those of a live vector.
    unsafe { omp_init_allocator(0, traits.len() as i32, traits.as_ptr()) }
}

fn free(pointer: *mut c_void) {
    // SAFETY: tests free each pointer they were given once.
    unsafe { omp_free(pointer, NULL_ALLOCATOR) }
}

fn destroy(handle: Handle) {
    // SAFETY: tests destroy each allocator once, with its memory freed.
    unsafe { omp_destroy_allocator(handle) }
}

#[test]
fn nothing_is_a_null_pointer() {
    assert!(omp_alloc(0, DEFAULT_ALLOCATOR).is_null());
    assert!(omp_calloc(0, 5, DEFAULT_ALLOCATOR).is_null());
    assert!(omp_aligned_alloc(3, 8, DEFAULT_ALLOCATOR).is_null());
    assert!(omp_calloc(usize::MAX, 16, DEFAULT_ALLOCATOR).is_null());
    assert!(omp_alloc(8, 77).is_null(), "there is no such allocator");
    free(ptr::null_mut());
}

#[test]
fn the_default_allocator_can_be_changed() {
    let handle = init(&[(2, 256)]);
    omp_set_default_allocator(handle);
    assert_eq!(omp_get_default_allocator(), handle);
    let pointer = omp_alloc(10, NULL_ALLOCATOR);
    assert!(pointer.addr().is_multiple_of(256));
    free(pointer);
    omp_set_default_allocator(NULL_ALLOCATOR);
    assert_eq!(omp_get_default_allocator(), DEFAULT_ALLOCATOR);
    destroy(handle);
}

#[test]
fn a_full_pool_falls_back_as_told() {
    let null_fallback = init(&[(4, 1000), (5, 12)]);
    let first = omp_alloc(1000, null_fallback);
    assert!(!first.is_null());
    assert!(omp_alloc(1, null_fallback).is_null());
    free(first);
    let again = omp_alloc(1000, null_fallback);
    assert!(!again.is_null());
    free(again);

    // A chain: 10 bytes, then another pool of 100, then nothing.
    let second = init(&[(4, 100), (5, 12)]);
    let chained = init(&[(4, 10), (5, 14), (6, second)]);
    let large = omp_alloc(90, chained);
    assert!(!large.is_null());
    assert!(omp_alloc(90, chained).is_null());
    free(large);

    let to_default = init(&[(4, 10)]);
    let beyond = omp_alloc(4096, to_default);
    assert!(!beyond.is_null());
    free(beyond);
    for handle in [null_fallback, chained, second, to_default] {
        destroy(handle);
    }
}

#[test]
fn realloc_keeps_contents_and_pool() {
    let pool = init(&[(4, 300), (5, 12)]);
    let small = omp_calloc(4, 16, pool);
    // SAFETY: 64 bytes are there.
    unsafe { small.cast::<u8>().write_bytes(0x5a, 64) };
    // SAFETY: `small` is live and not used again.
    let large = unsafe { omp_realloc(small, 200, NULL_ALLOCATOR, NULL_ALLOCATOR) };
    assert!(!large.is_null());
    // SAFETY: 200 bytes are there, the first 64 initialised.
    let kept = unsafe { std::slice::from_raw_parts(large.cast::<u8>(), 64) };
    assert_eq!(kept, [0x5a; 64]);
    // SAFETY: refused, so `large` stays live.
    assert!(unsafe { omp_realloc(large, 301, pool, pool) }.is_null());
    // SAFETY: `large` is not used again. What it had of the pool counts.
    let larger = unsafe { omp_realloc(large, 300, pool, pool) };
    assert!(!larger.is_null());
    assert!(omp_alloc(1, pool).is_null(), "nothing is left");
    // SAFETY: `larger` is not used again.
    let short = unsafe { omp_realloc(larger, 100, pool, pool) };
    assert!(!short.is_null());
    let rest = omp_alloc(200, pool);
    assert!(!rest.is_null(), "what it had more went back to the pool");
    assert!(omp_alloc(1, pool).is_null(), "and no more");
    free(rest);
    // SAFETY: `short` is not used again.
    assert!(unsafe { omp_realloc(short, 0, pool, pool) }.is_null());
    let whole = omp_alloc(300, pool);
    assert!(!whole.is_null(), "everything went back to the pool");
    free(whole);
    destroy(pool);
}

#[test]
fn fresh_memory_of_calloc_is_zero() {
    for alignment in [1, 64, 4096] {
        let pointer = omp_aligned_calloc(alignment, 10, 10, DEFAULT_ALLOCATOR);
        // SAFETY: 100 initialised bytes are there.
        let memory = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), 100) };
        assert_eq!(memory, [0; 100]);
        free(pointer);
    }
}
