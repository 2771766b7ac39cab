//! Allocatable variables of Fortran whose memory is an allocator's: gfortran (14 and later) asks
//! before it frees or enlarges one.

use crate::entry::entries;
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Addresses of their memory.
static BLOCKS: LazyLock<Mutex<HashSet<usize>>> = LazyLock::new(Mutex::default);

entries! {
    /// `void GOMP_add_alloc(void *ptr)`: the memory is from `GOMP_alloc`.
    fn GOMP_add_alloc(pointer: *const c_void) {
        let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.insert(pointer.addr());
    }
    /// `bool GOMP_is_alloc(void *ptr)`: whether it is. It is forgotten with this question, since
    /// the program frees or moves what it asks for.
    fn GOMP_is_alloc(pointer: *const c_void) -> bool {
        let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.remove(&pointer.addr())
    }
}
