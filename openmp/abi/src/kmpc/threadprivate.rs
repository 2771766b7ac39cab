//! `threadprivate` variables of compilers that use no thread-local storage for them.
//!
//! The initial thread has the variable itself, each other thread a copy with the value that the
//! variable had when a thread asked for it first.

use super::threads::global_number;
use super::types::Location;
use crate::fatal::fatal;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// `void *f(void *to)`; of arrays `void *f(void *to, size_t number)`.
type Construct = extern "C" fn(*mut c_void, usize) -> *mut c_void;
/// `void *f(void *to, void *from)`; of arrays with the number, too.
type Copy = extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;
/// `void f(void *)`; of arrays with the number, too.
type Destroy = extern "C" fn(*mut c_void, usize);

/// How copies of a variable are made. Functions that take no number do not see it.
#[derive(Clone, Copy, Default)]
struct Making {
    construct: Option<Construct>,
    copy: Option<Copy>,
    destroy: Option<Destroy>,
    number: usize,
}

/// A variable that threads have copies of.
#[derive(Default)]
struct Variable {
    making: Making,
    /// What it held when it was asked for first.
    value: Option<Box<[u8]>>,
}

/// Variables by address.
static VARIABLES: Mutex<Option<HashMap<usize, Variable>>> = Mutex::new(None);

fn with_variable<R>(address: usize, use_it: impl FnOnce(&mut Variable) -> R) -> R {
    let mut variables = VARIABLES.lock().unwrap_or_else(PoisonError::into_inner);
    use_it(
        variables
            .get_or_insert_default()
            .entry(address)
            .or_default(),
    )
}

/// A thread's copy of a variable.
struct Own {
    memory: *mut c_void,
    making: Making,
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(destroy) = self.making.destroy {
            destroy(self.memory, self.making.number);
        }
        // SAFETY: allocated by `make`, and nobody but this thread, which ends, has it.
        unsafe { libc::free(self.memory) };
    }
}

thread_local! {
    static COPIES: RefCell<HashMap<usize, Own>> = RefCell::new(HashMap::new());
}

/// # Safety
/// There are `bytes` bytes at `data`.
unsafe fn make(data: *mut c_void, bytes: usize) -> Own {
    let mut memory = std::ptr::null_mut();
    // SAFETY: plain C allocation into a local; checked below.
    if unsafe { libc::posix_memalign(&raw mut memory, 64, bytes.max(1)) } != 0 {
        fatal(format_args!(
            "no memory for {bytes} bytes of a threadprivate variable"
        ));
    }
    let (making, value) = with_variable(data.addr(), |variable| {
        let value = variable.value.get_or_insert_with(|| {
            // SAFETY: promised by our caller.
            unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) }.into()
        });
        (variable.making, value.clone())
    });
    if let Some(construct) = making.construct {
        construct(memory, making.number);
    } else if let Some(copy) = making.copy {
        copy(memory, data, making.number);
    } else {
        // SAFETY: as large, and fresh.
        unsafe {
            std::ptr::copy_nonoverlapping(value.as_ptr(), memory.cast(), value.len().min(bytes))
        };
    }
    Own { memory, making }
}

kmpc! {
    /// `void *__kmpc_threadprivate_cached(ident_t *, kmp_int32 gtid, void *data, size_t size, void
    /// ***cache)`: the calling thread's copy.
    fn __kmpc_threadprivate_cached(location: Location, gtid: i32, data: *mut c_void, bytes: usize,
        _cache: *mut *mut *mut c_void) -> *mut c_void {
        // SAFETY: promised by our caller.
        unsafe { __kmpc_threadprivate(location, gtid, data, bytes) }
    }
    /// `void *__kmpc_threadprivate(ident_t *, kmp_int32 gtid, void *data, size_t size)`
    fn __kmpc_threadprivate(_location: Location, _gtid: i32, data: *mut c_void, bytes: usize) -> *mut c_void {
        if global_number() == 0 {
            return data;
        }
        let known = COPIES.try_with(|copies| copies.borrow().get(&data.addr()).map(|own| own.memory));
        match known {
            Ok(Some(memory)) => memory,
            Ok(None) => {
                // SAFETY: promised by our caller.
                let own = unsafe { make(data, bytes) };
                let memory = own.memory;
                COPIES.with_borrow_mut(|copies| copies.insert(data.addr(), own));
                memory
            }
            // A thread that ends has no copies any more.
            Err(_) => data,
        }
    }
    /// `void __kmpc_threadprivate_register(ident_t *, void *data, kmpc_ctor, kmpc_cctor,
    /// kmpc_dtor)`
    fn __kmpc_threadprivate_register(location: Location, data: *mut c_void, construct: Option<Construct>,
        copy: Option<Copy>, destroy: Option<Destroy>) {
        // SAFETY: promised by our caller; a number that is not asked for does no harm.
        unsafe { __kmpc_threadprivate_register_vec(location, data, construct, copy, destroy, 1) };
    }
    /// `void __kmpc_threadprivate_register_vec(ident_t *, void *data, kmpc_ctor_vec,
    /// kmpc_cctor_vec, kmpc_dtor_vec, size_t vector_length)`
    fn __kmpc_threadprivate_register_vec(_location: Location, data: *mut c_void, construct: Option<Construct>,
        copy: Option<Copy>, destroy: Option<Destroy>, number: usize) {
        with_variable(data.addr(), |variable| {
            variable.making = Making { construct, copy, destroy, number };
        });
    }
}
