//! What the environment says: `OMP_*`, `GOMP_*` and `KMP_*` variables, read once.
//!
//! Reading is a pure function of the variables ([`Settings::from_env`]), so
//! tests need not touch the process. A value that cannot be used yields one
//! [`Warning`], and the default takes its place.

mod allocator;
mod display;
mod llvm;
mod places;
mod subset;
mod value;

pub use allocator::{AllocatorChoice, ENVIRONMENT_ALLOCATOR, GNU_PINNED_ALLOCATOR};
pub use places::{CPU_LIMIT, PlaceKind, PlacesSpec};
pub use subset::Layer;

use crate::icv::{DeviceIcvs, Icvs, ProcBind, SUPPORTED_ACTIVE_LEVELS, Schedule};
use std::fmt;

/// Format of `omp_display_affinity` unless the user sets another one; the one
/// libgomp uses.
pub const DEFAULT_AFFINITY_FORMAT: &str = "level %L thread %i affinity %A";

/// `OMP_WAIT_POLICY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Waiting threads should spin.
    Active,
    /// Waiting threads should sleep.
    Passive,
}

/// `OMP_DISPLAY_ENV`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DisplayEnv {
    /// Say nothing.
    #[default]
    Off,
    /// Show the variables of the specification.
    On,
    /// Show our own variables too.
    Verbose,
}

/// `OMP_TARGET_OFFLOAD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetOffload {
    /// Use a device if there is one, else the host.
    #[default]
    Default,
    /// A target region that cannot run on a device is an error.
    Mandatory,
    /// Target regions run on the host.
    Disabled,
}

/// Everything the environment sets. Lists are `'static` (they are read once in
/// the life of a process) because every data environment refers to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `OMP_NUM_THREADS`; empty if unset.
    pub num_threads: &'static [u32],
    /// `OMP_PROC_BIND`, or what the presence of a place list implies; at least
    /// one element.
    pub proc_bind: &'static [ProcBind],
    /// `OMP_PLACES`, or `GOMP_CPU_AFFINITY`.
    pub places: Option<PlacesSpec>,
    /// Variable and value that [`Settings::places`] comes from, for warnings.
    pub places_from: (&'static str, String),
    /// `KMP_HW_SUBSET`: the part of the machine that the program uses.
    pub subset: Option<Vec<Layer>>,
    /// Its text, for warnings.
    pub subset_from: String,
    /// `OMP_SCHEDULE`.
    pub schedule: Schedule,
    /// `OMP_DYNAMIC`.
    pub dynamic: bool,
    /// `OMP_MAX_ACTIVE_LEVELS`, or what `OMP_NESTED` and lists imply.
    pub max_active_levels: u8,
    /// `OMP_THREAD_LIMIT`; `u32::MAX` if there is none.
    pub thread_limit: u32,
    /// `OMP_CANCELLATION`.
    pub cancellation: bool,
    /// `OMP_STACKSIZE`, else `GOMP_STACKSIZE`, in bytes.
    pub stack_size: Option<usize>,
    /// `OMP_WAIT_POLICY`.
    pub wait_policy: Option<WaitPolicy>,
    /// `GOMP_SPINCOUNT`: rounds of spinning before a thread sleeps;
    /// `u64::MAX` means for ever.
    pub spin_count: Option<u64>,
    /// `OMP_MAX_TASK_PRIORITY`.
    pub max_task_priority: u32,
    /// `OMP_DEFAULT_DEVICE`.
    pub default_device: i32,
    /// `OMP_TARGET_OFFLOAD`.
    pub target_offload: TargetOffload,
    /// `OMP_NUM_TEAMS`; 0 if unset.
    pub num_teams: u32,
    /// `OMP_TEAMS_THREAD_LIMIT`; 0 if unset.
    pub teams_thread_limit: u32,
    /// `OMP_ALLOCATOR`.
    pub allocator: AllocatorChoice,
    /// `OMP_DISPLAY_ENV`.
    pub display_env: DisplayEnv,
    /// `OMP_DISPLAY_AFFINITY`.
    pub display_affinity: bool,
    /// `OMP_AFFINITY_FORMAT`; empty if unset.
    pub affinity_format: String,
    /// `KMP_ENABLE_TASK_THROTTLING` is false: tasks are queued however many are already.
    pub queues_all_tasks: bool,
    /// Regions of programs for LLVM's interface hand on the floating-point environment.
    pub inherits_floats: bool,
    /// `OMP_TOOL`: false if the user disabled tools.
    pub tool: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            num_threads: &[],
            proc_bind: &[ProcBind::False],
            places: None,
            places_from: ("OMP_PLACES", String::new()),
            subset: None,
            subset_from: String::new(),
            schedule: Schedule::default(),
            dynamic: false,
            max_active_levels: 1,
            thread_limit: u32::MAX,
            cancellation: false,
            stack_size: None,
            wait_policy: None,
            spin_count: None,
            max_task_priority: 0,
            default_device: 0,
            target_offload: TargetOffload::Default,
            num_teams: 0,
            teams_thread_limit: 0,
            allocator: AllocatorChoice::Predefined(1),
            display_env: DisplayEnv::Off,
            display_affinity: false,
            affinity_format: String::new(),
            queues_all_tasks: false,
            inherits_floats: true,
            tool: true,
        }
    }
}

/// A variable whose value cannot be used. `Display` is one line for stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
    /// What is used instead.
    pub instead: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            variable,
            value,
            problem,
            instead,
        } = self;
        write!(f, "{variable}={value:?} {problem}; {instead}.")
    }
}

/// Reads variables and collects warnings.
struct Reader<G> {
    get: G,
    warnings: Vec<Warning>,
}

impl<G: Fn(&str) -> Option<String>> Reader<G> {
    /// The value of `variable`, if it is set and `parse` accepts it.
    fn read<T>(
        &mut self,
        variable: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
        expected: &str,
        instead: &str,
    ) -> Option<T> {
        let value = self.value(variable)?;
        let parsed = parse(&value);
        if parsed.is_none() {
            self.warnings.push(Warning {
                variable,
                value,
                problem: format!("is not {expected}"),
                instead: instead.to_owned(),
            });
        }
        parsed
    }

    /// The value of that variable, or, if it is not set, of the one for the host and all devices
    /// (OpenMP 5.2, 21.1).
    fn value(&self, variable: &str) -> Option<String> {
        /// Variables of settings that each device has for itself.
        const OF_DEVICES: [&str; 11] = [
            "OMP_DYNAMIC",
            "OMP_MAX_ACTIVE_LEVELS",
            "OMP_NESTED",
            "OMP_NUM_TEAMS",
            "OMP_NUM_THREADS",
            "OMP_PROC_BIND",
            "OMP_SCHEDULE",
            "OMP_STACKSIZE",
            "OMP_TEAMS_THREAD_LIMIT",
            "OMP_THREAD_LIMIT",
            "OMP_WAIT_POLICY",
        ];
        let for_all = || {
            let is_there = OF_DEVICES.contains(&variable);
            is_there.then(|| (self.get)(&format!("{variable}_ALL")))?
        };
        (self.get)(variable).or_else(for_all)
    }

    /// A variable that is `true` or `false`.
    fn boolean(&mut self, variable: &'static str) -> Option<bool> {
        self.read(variable, value::boolean, "true or false", "using false")
    }
}

/// Gives a list the life of the process. Called a handful of times in it.
fn keep<T>(list: Vec<T>) -> &'static [T] {
    Vec::leak(list)
}

impl Settings {
    /// `OMP_AFFINITY_FORMAT`, or what libgomp uses without.
    #[must_use]
    pub fn affinity_format(&self) -> &str {
        match self.affinity_format.as_str() {
            "" => DEFAULT_AFFINITY_FORMAT,
            format => format,
        }
    }

    /// Settings of the environment in which `get` finds a variable's value.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> (Self, Vec<Warning>) {
        let mut reader = Reader {
            get,
            warnings: Vec::new(),
        };
        let mut settings = Self::default();
        settings.read_teams(&mut reader);
        settings.read_binding(&mut reader);
        settings.read_waiting(&mut reader);
        settings.read_devices(&mut reader);
        settings.read_display(&mut reader);
        settings.read_llvm(&mut reader);
        (settings, reader.warnings)
    }

    fn read_teams(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        if let Some(list) = reader.read(
            "OMP_NUM_THREADS",
            value::positive_list,
            "a list of positive numbers",
            "using one thread per available processor",
        ) {
            self.num_threads = keep(list);
        }
        self.dynamic = reader.boolean("OMP_DYNAMIC").unwrap_or(false);
        if let Some(schedule) = reader.read(
            "OMP_SCHEDULE",
            value::schedule,
            "of the form [modifier:]kind[,chunk], e.g. \"guided,4\"",
            "using dynamic,1",
        ) {
            self.schedule = schedule;
        }
        if let Some(limit) = reader.read(
            "OMP_THREAD_LIMIT",
            value::positive,
            "a positive number",
            "using no limit",
        ) {
            self.thread_limit = limit;
        }
        self.cancellation = reader.boolean("OMP_CANCELLATION").unwrap_or(false);
        if let Some(priority) = reader.read(
            "OMP_MAX_TASK_PRIORITY",
            value::non_negative,
            "a number of at least 0",
            "using 0",
        ) {
            self.max_task_priority = priority;
        }
    }

    fn read_binding(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        let bind = reader.read(
            "OMP_PROC_BIND",
            value::proc_bind,
            "true, false or a list of primary, close, spread",
            "deciding by OMP_PLACES",
        );
        let places = reader.read(
            "OMP_PLACES",
            places::places,
            "a list of places, e.g. \"cores\" or \"{0:4}:2:4\"",
            "binding threads as if it were not set",
        );
        // A GNU extension that only counts where the standard's way is unused.
        let cpus = reader.read(
            "GOMP_CPU_AFFINITY",
            places::cpu_affinity,
            "a list of processors, e.g. \"0 2 4-7\"",
            "ignoring it",
        );
        let variable = match places {
            Some(_) => "OMP_PLACES",
            None => "GOMP_CPU_AFFINITY",
        };
        self.places = places.or(cpus);
        if self.places.is_some() {
            self.places_from = (variable, (reader.get)(variable).unwrap_or_default());
        }
        match bind {
            Some(list) => self.proc_bind = keep(list),
            // A user who names places wants threads to stay there.
            None if self.places.is_some() => self.proc_bind = &[ProcBind::True],
            None => {}
        }

        let nested = reader.boolean("OMP_NESTED");
        let levels = reader.read(
            "OMP_MAX_ACTIVE_LEVELS",
            value::non_negative,
            "a number of at least 0",
            "deciding by OMP_NESTED and OMP_NUM_THREADS",
        );
        let lists = self.num_threads.len() > 1 || self.proc_bind.len() > 1;
        self.max_active_levels = match (levels, nested) {
            (Some(levels), _) => u8::try_from(levels).unwrap_or(SUPPORTED_ACTIVE_LEVELS),
            (None, Some(nested)) if !nested => 1,
            (None, Some(_)) => SUPPORTED_ACTIVE_LEVELS,
            (None, None) if lists => SUPPORTED_ACTIVE_LEVELS,
            (None, None) => 1,
        };
    }

    fn read_waiting(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        let size = "a size such as 512K or 2M";
        let instead = "using the system's stack size";
        let omp = reader.read("OMP_STACKSIZE", value::size, size, instead);
        let gomp = reader.read("GOMP_STACKSIZE", value::size, size, instead);
        self.stack_size = omp.or(gomp);
        self.wait_policy = reader.read(
            "OMP_WAIT_POLICY",
            |text| {
                value::one_of(
                    text,
                    &[
                        ("active", WaitPolicy::Active),
                        ("passive", WaitPolicy::Passive),
                    ],
                )
            },
            "active or passive",
            "deciding by the number of processors",
        );
        self.spin_count = reader.read(
            "GOMP_SPINCOUNT",
            value::spin_count,
            "a number or \"infinite\"",
            "deciding by OMP_WAIT_POLICY",
        );
    }

    fn read_devices(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        /// `omp_invalid_device`: there is no device but the host (OpenMP 5.2, 21.2.8).
        const INVALID_DEVICE: i32 = -4;
        let device = reader.read(
            "OMP_DEFAULT_DEVICE",
            value::non_negative,
            "a number of at least 0",
            "using 0",
        );
        if let Some(offload) = reader.read(
            "OMP_TARGET_OFFLOAD",
            |text| {
                value::one_of(
                    text,
                    &[
                        ("default", TargetOffload::Default),
                        ("mandatory", TargetOffload::Mandatory),
                        ("disabled", TargetOffload::Disabled),
                    ],
                )
            },
            "mandatory, disabled or default",
            "using default",
        ) {
            self.target_offload = offload;
        }
        match (device, self.target_offload) {
            (Some(device), _) => self.default_device = device as i32,
            (None, TargetOffload::Mandatory) => self.default_device = INVALID_DEVICE,
            (None, _) => {}
        }
        for (variable, field) in [
            ("OMP_NUM_TEAMS", &mut self.num_teams),
            ("OMP_TEAMS_THREAD_LIMIT", &mut self.teams_thread_limit),
        ] {
            if let Some(number) = reader.read(
                variable,
                value::positive,
                "a positive number",
                "leaving it unset",
            ) {
                *field = number;
            }
        }
        if let Some(choice) = reader.read(
            "OMP_ALLOCATOR",
            allocator::allocator,
            "the name of an allocator or a memory space with traits",
            "using omp_default_mem_alloc",
        ) {
            self.allocator = choice;
        }
    }

    fn read_display(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        if let Some(display) = reader.read(
            "OMP_DISPLAY_ENV",
            |text| {
                value::one_of(
                    text,
                    &[
                        ("true", DisplayEnv::On),
                        ("1", DisplayEnv::On),
                        ("false", DisplayEnv::Off),
                        ("0", DisplayEnv::Off),
                        ("verbose", DisplayEnv::Verbose),
                    ],
                )
            },
            "true, false or verbose",
            "using false",
        ) {
            self.display_env = display;
        }
        self.display_affinity = reader.boolean("OMP_DISPLAY_AFFINITY").unwrap_or(false);
        if let Some(format) = (reader.get)("OMP_AFFINITY_FORMAT") {
            self.affinity_format = format;
        }
        if let Some(enabled) = reader.read(
            "OMP_TOOL",
            |text| value::one_of(text, &[("enabled", true), ("disabled", false), ("", true)]),
            "enabled or disabled",
            "using enabled",
        ) {
            self.tool = enabled;
        }
    }

    /// ICVs of an initial task on a machine that lets the program use `procs`
    /// processors.
    #[must_use]
    pub fn initial_icvs(&self, procs: u32) -> Icvs {
        let (num_threads, num_threads_inner) = match self.num_threads {
            [first, rest @ ..] => (*first, rest),
            [] => (procs.max(1), &[][..]),
        };
        let (bind, bind_inner) = match self.proc_bind {
            [first, rest @ ..] => (*first, rest),
            [] => (ProcBind::False, &[][..]),
        };
        Icvs {
            num_threads,
            num_threads_inner,
            bind,
            bind_inner,
            default_allocator: self.allocator.handle(),
            schedule: self.schedule,
            thread_limit: self.thread_limit,
            default_device: self.default_device,
            max_active_levels: self.max_active_levels,
            dynamic: self.dynamic,
            fixed: false,
        }
    }

    /// Initial ICVs of the device.
    #[must_use]
    pub fn device_icvs(&self) -> DeviceIcvs {
        DeviceIcvs::new(
            self.num_teams as i32,
            self.teams_thread_limit as i32,
            self.affinity_format.clone(),
        )
    }
}

/// The value of an environment variable of this process; bytes that are not
/// text become replacement characters, which no parser accepts.
#[must_use]
pub fn process_variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
