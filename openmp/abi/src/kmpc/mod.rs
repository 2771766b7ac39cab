//! LLVM's interface: what clang, flang and Intel's compilers emit.
//!
//! Two things differ from gcc's. The compiler divides nothing itself: it asks for the bounds of
//! every loop, static ones included, with the last iteration instead of the end. And memory of
//! tasks is allocated by the runtime before the program fills it in.
//!
//! Every call begins with where it stands in the source ([`types::Ident`]) and, most of them,
//! with a number of the thread. Both are for tools; the runtime knows its thread by itself.

/// Defines entry points that take what compiled code passes.
macro_rules! kmpc {
    ($($(#[$doc:meta])* fn $name:ident ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)+) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// For compiled code that follows LLVM's interface: pointers lead to what it says, as
        /// long as it says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? $body
    )+};
}

pub mod atomics;
pub mod cancel;
pub mod dispatch;
pub mod doacross;
pub mod extensions;
pub mod fork;
pub mod locks;
pub mod memory;
pub mod reduce;
pub mod static_loops;
pub mod sync;
mod task_memory;
pub mod task_reductions;
mod task_stock;
pub mod taskloop;
pub mod tasks;
pub mod teams;
pub mod threadprivate;
pub mod threads;
pub mod types;

use fathomp_sys::outlined::{Way, set_abandoner, set_caller};

/// Called when the library is loaded, before any code of the program.
pub(crate) fn load() {
    set_caller(Way::Region, fork::call_region);
    set_caller(Way::Task, task_memory::call);
    set_abandoner(Way::Task, task_memory::abandon);
    set_caller(Way::MovedTask, task_memory::call_moved);
    set_caller(Way::AlignedTask, task_memory::call_aligned);
    set_caller(Way::LoopTask, taskloop::call);
}
