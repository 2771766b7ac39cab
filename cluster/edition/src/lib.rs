//! What stands in front of the C library in a program that runs on several
//! nodes: the way into `main`, the heap, calls that hand memory to the kernel, and
//! what nodes cannot do. The functions have names of their own here; only the cluster edition
//! of the library is linked so that they answer to the C library's
//! (`app/runtime/build/link.rs`, `cluster/edition/cluster.map`).

#![allow(non_snake_case, reason = "C's names are not ours to choose")]

/// The next function of that name and type, if there is one.
macro_rules! real {
    ($name:literal as $type:ty) => {{
        static NEXT: fathomp_sys::dlsym_next::Next = fathomp_sys::dlsym_next::Next::new($name);
        // SAFETY: the function of this name has this type.
        unsafe { NEXT.function::<$type>() }
    }};
}

mod before;
mod caller;
pub mod calls;
mod fork;
pub mod heap;
pub mod io;
pub mod mappings;
pub mod notified;
mod process;
pub(crate) mod races;
pub mod signals;
pub mod start;
pub mod threads;
pub mod world;
