//! Devices, of which there are none but the host: `target` constructs run
//! here, and everything is mapped where it is.
//!
//! * `constructs`: what gcc makes of `target` and `target data`; `teams`.
//! * `memory`: the `omp_target_*` routines.
//! * `interop`: the `omp_get_interop_*` routines.
//!
//! Not provided: OpenACC (`acc_*`, `GOACC_*`) and the interface between
//! libgomp and its offload plugins (`GOMP_PLUGIN_*`).

pub mod constructs;
pub mod interop;
pub mod memory;
pub mod offload;
pub mod teams;

use crate::fatal::fatal;
use fathomp_omp::env::TargetOffload;
use fathomp_omp::{current, runtime};

/// Number of the host: that of devices (none), as OpenMP 5.1 asks for.
pub(crate) const INITIAL_DEVICE: i32 = 0;

/// What gcc passes for a construct without `device` clause; the same number is
/// `omp_initial_device` in OpenMP 5.2.
const DEVICE_ICV: i32 = -1;

/// What gcc passes for a construct whose `if` clause is false.
const HOST_FALLBACK: i32 = -2;

/// Whether a routine's device number means the host.
pub(crate) fn is_host(device: i32) -> bool {
    matches!(device, INITIAL_DEVICE | DEVICE_ICV | HOST_FALLBACK)
}

/// Ends the program if a construct needs a device that does not exist and
/// `OMP_TARGET_OFFLOAD` forbids to use the host instead.
fn check_mandatory(device: i32) {
    if runtime().settings.target_offload != TargetOffload::Mandatory {
        return;
    }
    let device = match device {
        DEVICE_ICV => current().icvs().default_device,
        device => device,
    };
    if !is_host(device) {
        fatal(format_args!(
            "OMP_TARGET_OFFLOAD is mandatory but there is no device {device}; \
             unset it to run target regions on the host"
        ));
    }
}
