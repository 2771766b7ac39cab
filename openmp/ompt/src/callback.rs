//! What a runtime calls of a tool: one function type for each event's signature
//! (OpenMP 5.1, section 4.5.2). A code pointer is the address to which the
//! runtime will return in the program.
//!
//! A pointer to [`Data`] is valid from the event that makes its owner to the one
//! that ends it, and null where the owner does not exist.

use core::ffi::{c_char, c_int, c_void};

use crate::{
    CancelFlags, Data, Dependence, Frame, Id, Mutex as MutexKind, ParallelFlags, ScopeEndpoint,
    Severity, SyncRegion as SyncRegionKind, Target as TargetKind, TargetDataOp as TargetDataOpKind,
    TaskFlags, TaskStatus, Thread, WaitId, Work as WorkKind, start,
};

/// A callback whose signature depends on its event (`ompt_callback_t`).
pub type Any = extern "C" fn();

/// What the thread is; its data.
pub type ThreadBegin = extern "C" fn(Thread, *mut Data);

/// The thread's data.
pub type ThreadEnd = extern "C" fn(*mut Data);

/// The encountering task's data and frame, the region's data, how many threads or
/// teams were asked for, flags, code pointer.
pub type ParallelBegin =
    extern "C" fn(*mut Data, *const Frame, *mut Data, u32, ParallelFlags, *const c_void);

/// The region's data, the encountering task's, flags, code pointer.
pub type ParallelEnd = extern "C" fn(*mut Data, *mut Data, ParallelFlags, *const c_void);

/// The encountering task's data and frame, the new task's data, its flags, whether it has
/// dependences, code pointer.
pub type TaskCreate =
    extern "C" fn(*mut Data, *const Frame, *mut Data, TaskFlags, c_int, *const c_void);

/// The data of the task that is left, why it is left, the data of the task that is entered.
pub type TaskSchedule = extern "C" fn(*mut Data, TaskStatus, *mut Data);

/// Which end, the region's data, the task's data, how many threads or teams, which of them
/// this is, flags.
pub type ImplicitTask = extern "C" fn(ScopeEndpoint, *mut Data, *mut Data, u32, u32, TaskFlags);

/// The task's data, what it depends on, how many.
pub type Dependences = extern "C" fn(*mut Data, *const Dependence, c_int);

/// The data of the task that is waited for, the data of the one that waits.
pub type TaskDependence = extern "C" fn(*mut Data, *mut Data);

/// What kind, which end, the region's data, the task's data, how much work there is, code
/// pointer.
pub type Work = extern "C" fn(WorkKind, ScopeEndpoint, *mut Data, *mut Data, u64, *const c_void);

/// The region's data, the task's data, what is handed out, which.
pub type Dispatch = extern "C" fn(*mut Data, *mut Data, crate::Dispatch, Data);

/// Which end, the region's data, the task's data, code pointer.
pub type Masked = extern "C" fn(ScopeEndpoint, *mut Data, *mut Data, *const c_void);

/// What kind, which end, the region's data, the task's data, code pointer.
pub type SyncRegion =
    extern "C" fn(SyncRegionKind, ScopeEndpoint, *mut Data, *mut Data, *const c_void);

/// What kind, the hint of the program, the implementation's number, what is waited for, code
/// pointer.
pub type MutexAcquire = extern "C" fn(MutexKind, u32, u32, WaitId, *const c_void);

/// What kind, what was waited for, code pointer.
pub type Mutex = extern "C" fn(MutexKind, WaitId, *const c_void);

/// Which end, which lock, code pointer.
pub type NestLock = extern "C" fn(ScopeEndpoint, WaitId, *const c_void);

/// The thread's data, code pointer.
pub type Flush = extern "C" fn(*mut Data, *const c_void);

/// The task's data, flags, code pointer.
pub type Cancel = extern "C" fn(*mut Data, CancelFlags, *const c_void);

/// What the program passes to `omp_control_tool`: command, modifier, argument; and the code
/// pointer. The answer goes to the program.
pub type ControlTool = extern "C" fn(u64, u64, *mut c_void, *const c_void) -> c_int;

/// How bad it is, what is said, its length in bytes, code pointer.
pub type Error = extern "C" fn(Severity, *const c_char, usize, *const c_void);

/// The device's number, its type, the device, how to find its functions, documentation.
pub type DeviceInitialize =
    extern "C" fn(c_int, *const c_char, *mut c_void, Option<start::FunctionLookup>, *const c_char);

/// The device's number.
pub type DeviceFinalize = extern "C" fn(c_int);

/// The device's number, the file, the offset in it, the address there, bytes, addresses on the
/// host and on the device, the module.
pub type DeviceLoad =
    extern "C" fn(c_int, *const c_char, i64, *mut c_void, usize, *mut c_void, *mut c_void, u64);

/// The device's number, the module.
pub type DeviceUnload = extern "C" fn(c_int, u64);

/// What kind, which end, the device's number, the task's data, the target's id, code pointer.
pub type Target = extern "C" fn(TargetKind, ScopeEndpoint, c_int, *mut Data, Id, *const c_void);

/// As [`Target`], with the target task's data and the target's.
pub type TargetEmi =
    extern "C" fn(TargetKind, ScopeEndpoint, c_int, *mut Data, *mut Data, *mut Data, *const c_void);

/// The target's id, the operation's, what is done, source and its device, destination and its
/// device, bytes, code pointer.
pub type TargetDataOp = extern "C" fn(
    Id,
    Id,
    TargetDataOpKind,
    *mut c_void,
    c_int,
    *mut c_void,
    c_int,
    usize,
    *const c_void,
);

/// As [`TargetDataOp`], with its end, and data instead of the target's id.
pub type TargetDataOpEmi = extern "C" fn(
    ScopeEndpoint,
    *mut Data,
    *mut Data,
    *mut Id,
    TargetDataOpKind,
    *mut c_void,
    c_int,
    *mut c_void,
    c_int,
    usize,
    *const c_void,
);

/// The target's id, how many, their addresses on the host and on the device, bytes, flags, code
/// pointer.
pub type TargetMap =
    extern "C" fn(Id, u32, *mut *mut c_void, *mut *mut c_void, *mut usize, *mut u32, *const c_void);

/// As [`TargetMap`], with the target's data instead of its id.
pub type TargetMapEmi = extern "C" fn(
    *mut Data,
    u32,
    *mut *mut c_void,
    *mut *mut c_void,
    *mut usize,
    *mut u32,
    *const c_void,
);

/// The target's id, the operation's, how many teams were asked for.
pub type TargetSubmit = extern "C" fn(Id, Id, u32);

/// As [`TargetSubmit`], with its end, and data instead of the target's id.
pub type TargetSubmitEmi = extern "C" fn(ScopeEndpoint, *mut Data, *mut Id, u32);
