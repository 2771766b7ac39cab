//! Devices, of which there are none but the host: `target` constructs run
//! here, and everything is mapped where it is.
//!
//! * `constructs`: what gcc makes of `target` and `target data`; `teams`.
//! * `memory`: the `omp_target_*` routines.
//! * `interop`: the construct, and the `omp_get_interop_*` routines; `uid`: names of devices.
//!
//! Not provided: OpenACC (`acc_*`, `GOACC_*`), whose routines are told by name if they are called
//! (`missing`), and the interface between libgomp and its offload plugins (`GOMP_PLUGIN_*`).

pub mod constructs;
pub mod interop;
pub mod memory;
pub mod offload;
pub mod teams;
pub mod uid;

use crate::fatal::fatal;
use fathomp_omp::env::TargetOffload;
use fathomp_omp::{current, runtime};

/// Number of the host: that of devices (none), as OpenMP 5.1 asks for.
pub(crate) const INITIAL_DEVICE: i32 = 0;

/// What gcc passes for a construct without `device` clause.
const DEVICE_ICV: i32 = -1;

/// `omp_initial_device` of OpenMP 5.2, for routines.
pub(crate) const NAMED_HOST: i32 = -1;

/// What gcc passes for a construct whose `if` clause is false.
const HOST_FALLBACK: i32 = -2;

/// `omp_invalid_device`, as gcc has it.
pub(crate) const INVALID_DEVICE: i32 = -4;

/// `omp_default_device` of OpenMP 6.0.
pub(crate) const DEFAULT_DEVICE: i32 = -5;

/// Whether a routine's device number means the host.
pub(crate) fn is_host(device: i32) -> bool {
    match device {
        INITIAL_DEVICE | NAMED_HOST => true,
        DEFAULT_DEVICE => matches!(current().icvs().default_device, INITIAL_DEVICE | NAMED_HOST),
        _ => false,
    }
}

/// Ends the program if a construct names a device that cannot be, or needs one that does not exist
/// and `OMP_TARGET_OFFLOAD` forbids to use the host instead.
fn check_device(device: i32) {
    let is_mandatory = runtime().settings.target_offload == TargetOffload::Mandatory;
    let number = match device {
        DEVICE_ICV | DEFAULT_DEVICE => current().icvs().default_device,
        device => device,
    };
    match number {
        INITIAL_DEVICE | NAMED_HOST | HOST_FALLBACK => {}
        INVALID_DEVICE if !is_mandatory || device == INVALID_DEVICE => fatal(format_args!(
            "a device construct is for omp_invalid_device, on which nothing can run"
        )),
        INVALID_DEVICE => fatal(format_args!(
            "OMP_TARGET_OFFLOAD is mandatory but the host is the only device; \
             unset it to run target regions on the host"
        )),
        number if is_mandatory => fatal(format_args!(
            "OMP_TARGET_OFFLOAD is mandatory but there is no device {number}; \
             unset it to run target regions on the host"
        )),
        _ => {}
    }
}
