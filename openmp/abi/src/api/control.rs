//! Tasks, devices and the runtime as a whole.

use super::{ask, ask_with, update_icvs};
use crate::device::{DEFAULT_DEVICE, INITIAL_DEVICE, INVALID_DEVICE, NAMED_HOST, is_host};
use crate::entry::entries;
use fathomp_omp::runtime::display_environment;
use fathomp_omp::tool::{self, ControlTool};
use fathomp_omp::{current, runtime, task};
use std::ffi::c_void;

ask! {
    /// Whether the current task is final.
    omp_in_final, omp_in_final_ -> i32 = i32::from(task::in_final(current()));
    /// Whether the current task is an explicit one.
    omp_in_explicit_task, omp_in_explicit_task_ -> i32 = i32::from(task::in_explicit(current()));
    /// `max-task-priority-var`.
    omp_get_max_task_priority, omp_get_max_task_priority_ -> i32 =
        super::count(runtime().settings.max_task_priority);
    /// `default-device-var`.
    omp_get_default_device, omp_get_default_device_ -> i32 = current().icvs().default_device;
    /// Devices other than the host: none.
    omp_get_num_devices, omp_get_num_devices_ -> i32 = 0;
    /// The device the caller runs on: the host.
    omp_get_device_num, omp_get_device_num_ -> i32 = INITIAL_DEVICE;
    /// Number of the host.
    omp_get_initial_device, omp_get_initial_device_ -> i32 = INITIAL_DEVICE;
    /// Whether the caller runs on the host: yes.
    omp_is_initial_device, omp_is_initial_device_ -> i32 = 1;
}

ask_with! {
    /// Sets `default-device-var`. A negative number counts as 0 if it has no name in OpenMP.
    omp_set_default_device, omp_set_default_device_, omp_set_default_device_8_ (device) -> () =
        update_icvs(|icvs| match device {
            INVALID_DEVICE | NAMED_HOST => icvs.default_device = device,
            DEFAULT_DEVICE => {}
            device => icvs.default_device = device.max(0),
        });
    /// Writes the initial ICVs to stderr, the GNU variables too if asked.
    omp_display_env, omp_display_env_, omp_display_env_8_ (verbose) -> () =
        display_environment(verbose != 0);
}

/// `omp_pause_soft` and `omp_pause_hard`
const PAUSE_KINDS: std::ops::RangeInclusive<i32> = 1..=2;

/// `omp_pause_stop_tool` (OpenMP 6.0), which concerns all devices.
const STOP_TOOL: i32 = 3;

/// Lets the runtime give up resources on a device. Idle threads sleep without
/// using processor time, and nothing else would be gained, so there is nothing
/// to do on the host. 0 on success, which a call inside a region is not.
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource(kind: i32, device: i32) -> i32 {
    let outside = current().team().level() == 0;
    if PAUSE_KINDS.contains(&kind) && is_host(device) && outside {
        0
    } else {
        -1
    }
}

/// Fortran's form of [`omp_pause_resource`].
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource_(kind: &i32, device: &i32) -> i32 {
    omp_pause_resource(*kind, *device)
}

/// [`omp_pause_resource`] for all devices. A tool may be stopped, too, and is told nothing then.
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource_all(kind: i32) -> i32 {
    if kind == STOP_TOOL && current().team().level() == 0 {
        tool::end();
        return 0;
    }
    omp_pause_resource(kind, INITIAL_DEVICE)
}

/// Fortran's form of [`omp_pause_resource_all`].
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource_all_(kind: &i32) -> i32 {
    omp_pause_resource_all(*kind)
}

/// `omp_control_tool_notool`
const NO_TOOL: i32 = -2;
/// `omp_control_tool_nocallback`
const NO_CALLBACK: i32 = -1;

entries! {
    /// Sends a command to the tool, if there is one; its answer.
    fn omp_control_tool(command: i32, modifier: i32, argument: *mut c_void) -> i32 {
        control(command, modifier, argument)
    }
    /// Fortran's form of [`omp_control_tool`].
    fn omp_control_tool_(command: &i32, modifier: &i32, argument: *mut c_void) -> i32 {
        control(*command, *modifier, argument)
    }
}

fn control(command: i32, modifier: i32, argument: *mut c_void) -> i32 {
    // C converts to 64 bits without sign by extending the sign.
    let [command, modifier] = [command, modifier].map(|number| i64::from(number).cast_unsigned());
    match tool::control(command, modifier, argument) {
        Ok(answer) => answer,
        Err(ControlTool::NoTool) => NO_TOOL,
        Err(ControlTool::NoCallback) => NO_CALLBACK,
    }
}
