//! `ordered(n)` loops, which say beforehand over what they run.

use super::types::{Dim, Location};
use fathomp_omp::current;
use fathomp_omp::worksharing::{Iterations, doacross};

kmpc! {
    /// `void __kmpc_doacross_init(ident_t *, kmp_int32 gtid, kmp_int32 num_dims, const kmp_dim
    /// *dims)`
    fn __kmpc_doacross_init(_location: Location, _gtid: i32, depth: i32, dims: *const Dim) {
        let depth = usize::try_from(depth).unwrap_or(0);
        // SAFETY: promised by our caller.
        let dims = unsafe { std::slice::from_raw_parts(dims, depth) };
        let loops = dims.iter().map(|dim| doacross::Nested {
            first: dim.first,
            step: dim.step,
            count: Iterations::up_to(dim.first, dim.last, dim.step).count(),
        });
        doacross::open(current(), loops.collect());
    }
    /// `void __kmpc_doacross_wait(ident_t *, kmp_int32 gtid, const kmp_int64 *vec)`
    fn __kmpc_doacross_wait(_location: Location, _gtid: i32, values: *const i64) {
        // SAFETY: promised by our caller: there is a value for each loop of the nest.
        doacross::wait_for_values(current(), |depth| unsafe { values.add(depth).read() });
    }
    /// `void __kmpc_doacross_post(ident_t *, kmp_int32 gtid, const kmp_int64 *vec)`
    fn __kmpc_doacross_post(_location: Location, _gtid: i32, values: *const i64) {
        // SAFETY: as for `__kmpc_doacross_wait`.
        doacross::post_values(current(), |depth| unsafe { values.add(depth).read() });
    }
}

/// `void __kmpc_doacross_fini(ident_t *, kmp_int32 gtid)`
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_doacross_fini(_location: Location, _gtid: i32) {
    doacross::close(current());
}
