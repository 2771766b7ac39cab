//! C's enumerations and flags, as numbers with names.

/// Declares a number of C with the names that the specification gives to some
/// of its values.
macro_rules! numbers {
    ($(
        $(#[$doc:meta])*
        $name:ident($repr:ty) {
            $($(#[$each:meta])* $value:ident = $number:literal,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $repr);

        impl $name {
            $($(#[$each])* pub const $value: Self = Self($number);)*
        }
    )*};
}

/// The same for flags that are combined.
macro_rules! flags {
    ($($name:ident)*) => {$(
        impl $name {
            /// Whether all flags of `other` are set.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// These flags and those of `other`.
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    )*};
}

flags! { TaskFlags ParallelFlags CancelFlags FrameFlags }

numbers! {
    /// How surely a callback is called for its event (`ompt_set_result_t`).
    SetResult(u32) {
        /// The registration failed.
        ERROR = 0,
        /// The event may occur, the callback is never called.
        NEVER = 1,
        /// The event cannot occur.
        IMPOSSIBLE = 2,
        /// Called for some of the events.
        SOMETIMES = 3,
        /// Called for some, and for both ends of each of them.
        SOMETIMES_PAIRED = 4,
        /// Called whenever the event occurs.
        ALWAYS = 5,
    }

    /// What a thread is (`ompt_thread_t`).
    Thread(u32) {
        /// One that the program made, with an initial task.
        INITIAL = 1,
        /// One that the runtime made for teams.
        WORKER = 2,
        /// One that runs no task.
        OTHER = 3,
        /// Not known.
        UNKNOWN = 4,
    }

    /// Which end of a scope is reached (`ompt_scope_endpoint_t`).
    ScopeEndpoint(u32) {
        /// It begins.
        BEGIN = 1,
        /// It ends.
        END = 2,
        /// Both at once.
        BEGIN_END = 3,
    }

    /// What is handed out to a thread (`ompt_dispatch_t`).
    Dispatch(u32) {
        /// One iteration of a loop; its number comes with it.
        ITERATION = 1,
        /// A section; the address of its code comes with it.
        SECTION = 2,
        /// A chunk of a worksharing loop, with a `DispatchChunk` (version 5.2).
        WS_LOOP_CHUNK = 3,
        /// A chunk of a taskloop, with a `DispatchChunk` (version 5.2).
        TASKLOOP_CHUNK = 4,
        /// A chunk of a distribute loop, with a `DispatchChunk` (version 5.2).
        DISTRIBUTE_CHUNK = 5,
    }

    /// Where threads or tasks wait for each other (`ompt_sync_region_t`).
    SyncRegion(u32) {
        /// A barrier (deprecated in 5.1).
        BARRIER = 1,
        /// A barrier that belongs to a construct (deprecated in 5.1).
        BARRIER_IMPLICIT = 2,
        /// A barrier construct.
        BARRIER_EXPLICIT = 3,
        /// A barrier that the implementation added.
        BARRIER_IMPLEMENTATION = 4,
        /// A taskwait.
        TASKWAIT = 5,
        /// The end of a taskgroup.
        TASKGROUP = 6,
        /// A reduction.
        REDUCTION = 7,
        /// The barrier at the end of a worksharing region.
        BARRIER_IMPLICIT_WORKSHARE = 8,
        /// The barrier at the end of a parallel region.
        BARRIER_IMPLICIT_PARALLEL = 9,
        /// The barrier at the end of a teams region.
        BARRIER_TEAMS = 10,
    }

    /// Which construct shares out work (`ompt_work_t`).
    Work(u32) {
        /// A loop whose schedule is not said.
        LOOP = 1,
        /// Sections.
        SECTIONS = 2,
        /// A single region, to the thread that runs it.
        SINGLE_EXECUTOR = 3,
        /// A single region, to the others.
        SINGLE_OTHER = 4,
        /// Fortran's workshare.
        WORKSHARE = 5,
        /// A distribute region.
        DISTRIBUTE = 6,
        /// A taskloop.
        TASKLOOP = 7,
        /// A scope region.
        SCOPE = 8,
        /// A loop with a static schedule (version 5.2).
        LOOP_STATIC = 10,
        /// A loop with a dynamic schedule (version 5.2).
        LOOP_DYNAMIC = 11,
        /// A loop with a guided schedule (version 5.2).
        LOOP_GUIDED = 12,
        /// A loop with another schedule (version 5.2).
        LOOP_OTHER = 13,
    }

    /// What excludes others (`ompt_mutex_t`).
    Mutex(u32) {
        /// `omp_set_lock`.
        LOCK = 1,
        /// `omp_test_lock`.
        TEST_LOCK = 2,
        /// `omp_set_nest_lock`.
        NEST_LOCK = 3,
        /// `omp_test_nest_lock`.
        TEST_NEST_LOCK = 4,
        /// A critical region.
        CRITICAL = 5,
        /// An atomic region.
        ATOMIC = 6,
        /// An ordered region.
        ORDERED = 7,
    }

    /// What a task is (`ompt_task_flag_t`).
    TaskFlags(u32) {
        /// An initial task.
        INITIAL = 0x0000_0001,
        /// An implicit task.
        IMPLICIT = 0x0000_0002,
        /// An explicit task.
        EXPLICIT = 0x0000_0004,
        /// A target task.
        TARGET = 0x0000_0008,
        /// A taskwait with dependences, which is a task to the specification.
        TASKWAIT = 0x0000_0010,
        /// Run at once by the thread that encountered it.
        UNDEFERRED = 0x0800_0000,
        /// May go on on another thread.
        UNTIED = 0x1000_0000,
        /// A final task.
        FINAL = 0x2000_0000,
        /// May be merged.
        MERGEABLE = 0x4000_0000,
        /// Is merged.
        MERGED = 0x8000_0000,
    }

    /// Why a thread leaves a task (`ompt_task_status_t`).
    TaskStatus(u32) {
        /// It is complete.
        COMPLETE = 1,
        /// A taskyield.
        YIELD = 2,
        /// It is cancelled.
        CANCEL = 3,
        /// It is done, and waits for its event.
        DETACH = 4,
        /// Its event is fulfilled before it is done.
        EARLY_FULFILL = 5,
        /// Its event is fulfilled after it is done.
        LATE_FULFILL = 6,
        /// Another is run meanwhile.
        SWITCH = 7,
        /// A taskwait with dependences is complete.
        TASKWAIT_COMPLETE = 8,
    }

    /// Which device construct (`ompt_target_t`).
    Target(u32) {
        /// `target`.
        TARGET = 1,
        /// `target enter data`.
        ENTER_DATA = 2,
        /// `target exit data`.
        EXIT_DATA = 3,
        /// `target update`.
        UPDATE = 4,
        /// `target nowait`.
        TARGET_NOWAIT = 9,
        /// `target enter data nowait`.
        ENTER_DATA_NOWAIT = 10,
        /// `target exit data nowait`.
        EXIT_DATA_NOWAIT = 11,
        /// `target update nowait`.
        UPDATE_NOWAIT = 12,
    }

    /// What is done to a device's memory (`ompt_target_data_op_t`).
    TargetDataOp(u32) {
        /// It is allocated.
        ALLOC = 1,
        /// Data goes to it.
        TRANSFER_TO_DEVICE = 2,
        /// Data comes from it.
        TRANSFER_FROM_DEVICE = 3,
        /// It is given back.
        DELETE = 4,
        /// It is associated with the host's.
        ASSOCIATE = 5,
        /// It is so no longer.
        DISASSOCIATE = 6,
        /// Allocated, asynchronously.
        ALLOC_ASYNC = 17,
        /// Sent, asynchronously.
        TRANSFER_TO_DEVICE_ASYNC = 18,
        /// Received, asynchronously.
        TRANSFER_FROM_DEVICE_ASYNC = 19,
        /// Given back, asynchronously.
        DELETE_ASYNC = 20,
    }

    /// Who calls the code of a parallel or teams region, and which of both it is
    /// (`ompt_parallel_flag_t`).
    ParallelFlags(u32) {
        /// The program's code calls it on the encountering thread.
        INVOKER_PROGRAM = 0x0000_0001,
        /// The runtime calls it on all threads.
        INVOKER_RUNTIME = 0x0000_0002,
        /// A teams region.
        LEAGUE = 0x4000_0000,
        /// A parallel region.
        TEAM = 0x8000_0000,
    }

    /// How an item is depended on (`ompt_dependence_type_t`).
    DependenceType(u32) {
        /// `in`.
        IN = 1,
        /// `out`.
        OUT = 2,
        /// `inout`.
        INOUT = 3,
        /// `mutexinoutset`.
        MUTEXINOUTSET = 4,
        /// `source` of a doacross loop.
        SOURCE = 5,
        /// `sink` of a doacross loop.
        SINK = 6,
        /// `inoutset`.
        INOUTSET = 7,
        /// `out` of `omp_all_memory` (version 5.2, as LLVM numbers it).
        OUT_ALL_MEMORY = 34,
        /// `inout` of `omp_all_memory` (version 5.2, as LLVM numbers it).
        INOUT_ALL_MEMORY = 35,
    }

    /// How bad an error directive is (`ompt_severity_t`).
    Severity(u32) {
        /// The program goes on.
        WARNING = 1,
        /// The program ends.
        FATAL = 2,
    }

    /// What is cancelled, and what is known of that (`ompt_cancel_flag_t`).
    CancelFlags(u32) {
        /// A parallel region.
        PARALLEL = 0x01,
        /// A sections region.
        SECTIONS = 0x02,
        /// A worksharing loop.
        LOOP = 0x04,
        /// A taskgroup.
        TASKGROUP = 0x08,
        /// This task cancels it.
        ACTIVATED = 0x10,
        /// This task finds it cancelled.
        DETECTED = 0x20,
        /// This task is thrown away.
        DISCARDED_TASK = 0x40,
    }

    /// What a frame's address is an address of (`ompt_frame_flag_t`).
    FrameFlags(u32) {
        /// A frame of the runtime.
        RUNTIME = 0x00,
        /// A frame of the program.
        APPLICATION = 0x01,
        /// The address is the canonical frame address.
        CFA = 0x10,
        /// It is what the frame pointer holds.
        FRAMEPOINTER = 0x20,
        /// It is somewhere in the frame.
        STACKADDRESS = 0x30,
    }

    /// What a thread does (`ompt_state_t`).
    State(u32) {
        /// Works, outside of parallel regions.
        WORK_SERIAL = 0x000,
        /// Works, in a parallel region.
        WORK_PARALLEL = 0x001,
        /// Combines values of a reduction.
        WORK_REDUCTION = 0x002,
        /// Waits at a barrier (deprecated in 5.1).
        WAIT_BARRIER = 0x010,
        /// Waits at the end of a parallel region.
        WAIT_BARRIER_IMPLICIT_PARALLEL = 0x011,
        /// Waits at the end of a worksharing region.
        WAIT_BARRIER_IMPLICIT_WORKSHARE = 0x012,
        /// Waits at a barrier of a construct (deprecated in 5.1).
        WAIT_BARRIER_IMPLICIT = 0x013,
        /// Waits at a barrier construct.
        WAIT_BARRIER_EXPLICIT = 0x014,
        /// Waits at a barrier that the implementation added.
        WAIT_BARRIER_IMPLEMENTATION = 0x015,
        /// Waits at the end of a teams region.
        WAIT_BARRIER_TEAMS = 0x016,
        /// Waits at a taskwait.
        WAIT_TASKWAIT = 0x020,
        /// Waits at the end of a taskgroup.
        WAIT_TASKGROUP = 0x021,
        /// Waits for something that excludes others.
        WAIT_MUTEX = 0x040,
        /// Waits for a lock.
        WAIT_LOCK = 0x041,
        /// Waits for a critical region.
        WAIT_CRITICAL = 0x042,
        /// Waits for an atomic region.
        WAIT_ATOMIC = 0x043,
        /// Waits for an ordered region.
        WAIT_ORDERED = 0x044,
        /// Waits for a target region.
        WAIT_TARGET = 0x080,
        /// Waits for data of a target region.
        WAIT_TARGET_MAP = 0x081,
        /// Waits for a target update.
        WAIT_TARGET_UPDATE = 0x082,
        /// Has nothing to do.
        IDLE = 0x100,
        /// Is in the runtime and does not wait.
        OVERHEAD = 0x101,
        /// Not known.
        UNDEFINED = 0x102,
    }
}
