//! The numbers of the events that callbacks are set for.

/// What a callback is set for (`ompt_callbacks_t`).
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event(pub u32);

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $number:literal, $name:literal;)*) => {
        impl Event {
            $($(#[$doc])* pub const $event: Self = Self($number);)*

            /// Every event of version 5.1, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$event),*];

            /// Its name in C, without `ompt_callback_`; none if version 5.1 has
            /// no such event.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$event => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

events! {
    /// A thread begins ([`crate::callback::ThreadBegin`]).
    THREAD_BEGIN = 1, "thread_begin";
    /// A thread ends ([`crate::callback::ThreadEnd`]).
    THREAD_END = 2, "thread_end";
    /// A parallel or teams region begins ([`crate::callback::ParallelBegin`]).
    PARALLEL_BEGIN = 3, "parallel_begin";
    /// A parallel or teams region ends ([`crate::callback::ParallelEnd`]).
    PARALLEL_END = 4, "parallel_end";
    /// A task is made ([`crate::callback::TaskCreate`]).
    TASK_CREATE = 5, "task_create";
    /// A thread goes from one task to another ([`crate::callback::TaskSchedule`]).
    TASK_SCHEDULE = 6, "task_schedule";
    /// An implicit or initial task begins or ends ([`crate::callback::ImplicitTask`]).
    IMPLICIT_TASK = 7, "implicit_task";
    /// A device construct begins or ends ([`crate::callback::Target`]).
    TARGET = 8, "target";
    /// Something is done to a device's memory ([`crate::callback::TargetDataOp`]).
    TARGET_DATA_OP = 9, "target_data_op";
    /// A target region is submitted ([`crate::callback::TargetSubmit`]).
    TARGET_SUBMIT = 10, "target_submit";
    /// The program calls `omp_control_tool` ([`crate::callback::ControlTool`]).
    CONTROL_TOOL = 11, "control_tool";
    /// A device is made ready ([`crate::callback::DeviceInitialize`]).
    DEVICE_INITIALIZE = 12, "device_initialize";
    /// A device is no longer used ([`crate::callback::DeviceFinalize`]).
    DEVICE_FINALIZE = 13, "device_finalize";
    /// Code is loaded to a device ([`crate::callback::DeviceLoad`]).
    DEVICE_LOAD = 14, "device_load";
    /// Code is unloaded from a device ([`crate::callback::DeviceUnload`]).
    DEVICE_UNLOAD = 15, "device_unload";
    /// A thread begins or stops waiting in a region where threads
    /// synchronise ([`crate::callback::SyncRegion`]).
    SYNC_REGION_WAIT = 16, "sync_region_wait";
    /// A mutex is given back ([`crate::callback::Mutex`]).
    MUTEX_RELEASED = 17, "mutex_released";
    /// What a task depends on ([`crate::callback::Dependences`]).
    DEPENDENCES = 18, "dependences";
    /// A task waits for another ([`crate::callback::TaskDependence`]).
    TASK_DEPENDENCE = 19, "task_dependence";
    /// A worksharing region begins or ends ([`crate::callback::Work`]).
    WORK = 20, "work";
    /// A masked or master region begins or ends ([`crate::callback::Masked`]).
    MASKED = 21, "masked";
    /// Data is mapped ([`crate::callback::TargetMap`]).
    TARGET_MAP = 22, "target_map";
    /// A region where threads synchronise begins or ends ([`crate::callback::SyncRegion`]).
    SYNC_REGION = 23, "sync_region";
    /// A lock is made ([`crate::callback::MutexAcquire`]).
    LOCK_INIT = 24, "lock_init";
    /// A lock is no longer used ([`crate::callback::Mutex`]).
    LOCK_DESTROY = 25, "lock_destroy";
    /// A mutex is asked for ([`crate::callback::MutexAcquire`]).
    MUTEX_ACQUIRE = 26, "mutex_acquire";
    /// A mutex is had ([`crate::callback::Mutex`]).
    MUTEX_ACQUIRED = 27, "mutex_acquired";
    /// A nestable lock is taken again or given back once ([`crate::callback::NestLock`]).
    NEST_LOCK = 28, "nest_lock";
    /// A flush ([`crate::callback::Flush`]).
    FLUSH = 29, "flush";
    /// Something is cancelled ([`crate::callback::Cancel`]).
    CANCEL = 30, "cancel";
    /// Values of a reduction are combined ([`crate::callback::SyncRegion`]).
    REDUCTION = 31, "reduction";
    /// A thread gets a section or iterations ([`crate::callback::Dispatch`]).
    DISPATCH = 32, "dispatch";
    /// As `TARGET`, with pointers to the tool's data ([`crate::callback::TargetEmi`]).
    TARGET_EMI = 33, "target_emi";
    /// As `TARGET_DATA_OP`, likewise ([`crate::callback::TargetDataOpEmi`]).
    TARGET_DATA_OP_EMI = 34, "target_data_op_emi";
    /// As `TARGET_SUBMIT`, likewise ([`crate::callback::TargetSubmitEmi`]).
    TARGET_SUBMIT_EMI = 35, "target_submit_emi";
    /// As `TARGET_MAP`, likewise ([`crate::callback::TargetMapEmi`]).
    TARGET_MAP_EMI = 36, "target_map_emi";
    /// An error directive is reached ([`crate::callback::Error`]).
    ERROR = 37, "error";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_consecutive_and_named() {
        for (event, number) in Event::ALL.iter().zip(1..) {
            assert_eq!(event.0, number);
            assert!(event.name().is_some());
        }
        assert_eq!(Event::ALL.len(), 37);
        assert_eq!(Event(38).name(), None);
    }
}
