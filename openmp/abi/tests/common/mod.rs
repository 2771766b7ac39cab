//! What tests of plans have in common.

use fathomp_omp::parallel::Fork;
use fathomp_omp::trips;
use fathomp_regions::{Body, Divided, Known};
use fathomp_sys::modules;
use fathomp_sys::outlined::{Opaque, Outlined};
use fathomp_trips::Identity;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

pub(crate) fn fork(function: extern "C" fn(Opaque), block: &[u64]) -> Fork<'static> {
    Fork {
        // SAFETY: it does nothing with its argument.
        function: unsafe { Outlined::from_program(function) },
        data: Opaque(block.as_ptr().addr()),
        threads: 0,
        bind: None,
        call: 0,
        preset: None,
        called_by_program: false,
        caller: fathomp_omp::parallel::Caller::Gnu,
        prepare: None,
    }
}

/// What is known of the iterations of such a region.
pub(crate) fn known(fork: &Fork<'_>) -> Option<u64> {
    trips::total(fork.function, fork.data)
}

pub(crate) fn body(address: u64, total: &str) -> Body {
    Body {
        address,
        data_bytes: 24,
        divided: vec![Divided {
            loops: Vec::new(),
            total: Known::Known(total.parse().unwrap()),
            each: None,
            chunk: None,
        }],
        ..Body::default()
    }
}

pub(crate) fn identity(loaded: &modules::Loaded) -> Identity {
    if !loaded.build_id.is_empty() {
        return Identity::BuildId(loaded.build_id.clone());
    }
    let path = std::fs::canonicalize(&loaded.path).unwrap();
    let data = std::fs::metadata(&path).unwrap();
    Identity::File {
        path: path.as_os_str().as_bytes().to_vec(),
        size: data.len(),
        changed_unix_ns: data.mtime() as u64 * 1_000_000_000 + data.mtime_nsec() as u64,
    }
}
