//! What the tool wants to be called for.

use fathomp_ompt::{Event, SetResult, callback};
use fathomp_sys::function_slot::{Address, FunctionSlot};

macro_rules! callbacks {
    ($($field:ident: $type:ty = $event:ident, $result:ident;)+) => {
        /// The callbacks that the tool has set, by the name of their event.
        #[derive(Debug)]
        pub struct Callbacks {
            $(pub(super) $field: FunctionSlot<$type>,)+
        }

        impl Callbacks {
            pub(super) const fn none() -> Self {
                Self { $($field: FunctionSlot::empty(),)+ }
            }

            /// Sets what is called for `event`; how surely it is called. The address is that of
            /// a function of the event's type, as in [`callback`], or 0.
            pub fn set(&self, event: Event, address: Address) -> SetResult {
                match event {
                    $(Event::$event => {
                        self.$field.set_address(address);
                        SetResult::$result
                    })+
                    // There are no devices but the host.
                    Event::DEVICE_INITIALIZE
                    | Event::DEVICE_FINALIZE
                    | Event::DEVICE_LOAD
                    | Event::DEVICE_UNLOAD
                    | Event::TARGET_DATA_OP
                    | Event::TARGET_DATA_OP_EMI
                    | Event::TARGET_SUBMIT
                    | Event::TARGET_SUBMIT_EMI => SetResult::IMPOSSIBLE,
                    _ if event.name().is_some() => SetResult::NEVER,
                    _ => SetResult::ERROR,
                }
            }

            /// The address of what is called for `event`, 0 if that is nothing.
            #[must_use]
            pub fn get(&self, event: Event) -> usize {
                match event {
                    $(Event::$event => self.$field.address(),)+
                    _ => 0,
                }
            }
        }
    };
}

callbacks! {
    thread_begin: callback::ThreadBegin = THREAD_BEGIN, ALWAYS;
    thread_end: callback::ThreadEnd = THREAD_END, ALWAYS;
    parallel_begin: callback::ParallelBegin = PARALLEL_BEGIN, ALWAYS;
    parallel_end: callback::ParallelEnd = PARALLEL_END, ALWAYS;
    task_create: callback::TaskCreate = TASK_CREATE, ALWAYS;
    task_schedule: callback::TaskSchedule = TASK_SCHEDULE, ALWAYS;
    implicit_task: callback::ImplicitTask = IMPLICIT_TASK, ALWAYS;
    control_tool: callback::ControlTool = CONTROL_TOOL, ALWAYS;
    sync_region_wait: callback::SyncRegion = SYNC_REGION_WAIT, ALWAYS;
    sync_region: callback::SyncRegion = SYNC_REGION, ALWAYS;
    // gcc combines most reductions in code of its own.
    reduction: callback::SyncRegion = REDUCTION, SOMETIMES_PAIRED;
    dependences: callback::Dependences = DEPENDENCES, ALWAYS;
    task_dependence: callback::TaskDependence = TASK_DEPENDENCE, ALWAYS;
    // gcc divides static loops in code of its own.
    work: callback::Work = WORK, SOMETIMES_PAIRED;
    dispatch: callback::Dispatch = DISPATCH, SOMETIMES;
    // gcc compares the thread's number in code of its own.
    masked: callback::Masked = MASKED, SOMETIMES_PAIRED;
    lock_init: callback::MutexAcquire = LOCK_INIT, ALWAYS;
    lock_destroy: callback::Mutex = LOCK_DESTROY, ALWAYS;
    // Most atomic updates are instructions.
    mutex_acquire: callback::MutexAcquire = MUTEX_ACQUIRE, SOMETIMES;
    mutex_acquired: callback::Mutex = MUTEX_ACQUIRED, SOMETIMES;
    mutex_released: callback::Mutex = MUTEX_RELEASED, SOMETIMES;
    nest_lock: callback::NestLock = NEST_LOCK, ALWAYS;
    // gcc's flushes are instructions.
    flush: callback::Flush = FLUSH, SOMETIMES;
    cancel: callback::Cancel = CANCEL, ALWAYS;
    error: callback::Error = ERROR, ALWAYS;
}
