//! `OMP_DISPLAY_ENV` and `omp_display_env`: the initial ICVs in words.

use super::allocator::{GNU_PINNED, GNU_PINNED_ALLOCATOR, MEMSPACES, PREDEFINED};
use super::{AllocatorChoice, Settings, TargetOffload, WaitPolicy};
use crate::icv::Schedule;

/// The OpenMP version gcc 12 announces to programs (`_OPENMP`).
const OPENMP_VERSION: &str = "201511";

impl Settings {
    /// The text between and including the lines `OPENMP DISPLAY ENVIRONMENT
    /// BEGIN` and `END`, with libgomp's spelling. `procs` is the number of
    /// available processors, `places` the place list as `OMP_PLACES` spells
    /// it. `verbose` adds the GNU variables.
    #[must_use]
    pub fn display(&self, procs: u32, places: &str, verbose: bool) -> String {
        let list = |items: Vec<String>| items.join(",");
        let truth = |value: bool| if value { "TRUE" } else { "FALSE" }.to_owned();
        let num_threads = match self.num_threads {
            [] => procs.to_string(),
            threads => list(threads.iter().map(u32::to_string).collect()),
        };
        let mut lines = vec![
            ("_OPENMP", OPENMP_VERSION.to_owned()),
            ("OMP_DYNAMIC", truth(self.dynamic)),
            ("OMP_NESTED", truth(self.max_active_levels > 1)),
            ("OMP_NUM_THREADS", num_threads),
            ("OMP_SCHEDULE", schedule(self.schedule)),
            (
                "OMP_PROC_BIND",
                list(
                    self.proc_bind
                        .iter()
                        .map(|bind| bind.name().to_uppercase())
                        .collect(),
                ),
            ),
            ("OMP_PLACES", places.to_owned()),
            ("OMP_STACKSIZE", self.stack_size.unwrap_or(0).to_string()),
            (
                "OMP_WAIT_POLICY",
                match self.wait_policy {
                    Some(WaitPolicy::Active) => "ACTIVE",
                    Some(WaitPolicy::Passive) | None => "PASSIVE",
                }
                .to_owned(),
            ),
            ("OMP_THREAD_LIMIT", self.thread_limit.to_string()),
            ("OMP_MAX_ACTIVE_LEVELS", self.max_active_levels.to_string()),
            ("OMP_NUM_TEAMS", self.num_teams.to_string()),
            (
                "OMP_TEAMS_THREAD_LIMIT",
                self.teams_thread_limit.to_string(),
            ),
            ("OMP_CANCELLATION", truth(self.cancellation)),
            ("OMP_DEFAULT_DEVICE", self.default_device.to_string()),
            ("OMP_MAX_TASK_PRIORITY", self.max_task_priority.to_string()),
            ("OMP_DISPLAY_AFFINITY", truth(self.display_affinity)),
            ("OMP_AFFINITY_FORMAT", self.affinity_format().to_owned()),
            ("OMP_ALLOCATOR", allocator(&self.allocator)),
            (
                "OMP_TARGET_OFFLOAD",
                match self.target_offload {
                    TargetOffload::Default => "DEFAULT",
                    TargetOffload::Mandatory => "MANDATORY",
                    TargetOffload::Disabled => "DISABLED",
                }
                .to_owned(),
            ),
        ];
        if verbose {
            let tool = if self.tool { "ENABLED" } else { "DISABLED" };
            lines.extend([
                ("OMP_TOOL", tool.to_owned()),
                ("GOMP_CPU_AFFINITY", String::new()),
                ("GOMP_STACKSIZE", self.stack_size.unwrap_or(0).to_string()),
                (
                    "GOMP_SPINCOUNT",
                    match self.spin_count {
                        None => String::new(),
                        Some(u64::MAX) => "INFINITE".to_owned(),
                        Some(count) => count.to_string(),
                    },
                ),
            ]);
        }
        let mut text = "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n".to_owned();
        for (name, value) in lines {
            text += &format!("  {name} = '{value}'\n");
        }
        text + "OPENMP DISPLAY ENVIRONMENT END\n"
    }
}

fn schedule(schedule: Schedule) -> String {
    use crate::icv::ScheduleKind::{Auto, Dynamic, Guided, Static};
    let modifier = match (schedule.monotonic, schedule.kind) {
        (true, Dynamic | Guided) => "MONOTONIC:",
        (false, Static) => "NONMONOTONIC:",
        _ => "",
    };
    let chunk = match (schedule.kind, schedule.chunk) {
        (Auto, _) | (Static, 0) | (Dynamic | Guided, 1) => String::new(),
        (_, chunk) => format!(",{chunk}"),
    };
    format!("{modifier}{}{chunk}", schedule.kind.name().to_uppercase())
}

fn allocator(choice: &AllocatorChoice) -> String {
    let name = match choice {
        AllocatorChoice::Predefined(GNU_PINNED_ALLOCATOR) => Some(&GNU_PINNED),
        AllocatorChoice::Predefined(handle) => handle
            .checked_sub(1)
            .and_then(|index| PREDEFINED.get(index)),
        AllocatorChoice::Custom { memspace, .. } => MEMSPACES.get(*memspace),
    };
    (*name.unwrap_or(&"")).to_owned()
}

#[cfg(test)]
mod tests {
    use crate::env::Settings;

    fn shown(variables: &[(&str, &str)], line: &str) -> bool {
        let (settings, _) = Settings::from_env(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        let text = settings.display(2, "{0},{1}", true);
        text.lines().any(|shown| shown.trim() == line)
    }

    #[test]
    fn values_are_spelled_as_libgomp_spells_them() {
        assert!(shown(&[], "_OPENMP = '201511'"));
        assert!(shown(&[], "OMP_NUM_THREADS = '2'"));
        assert!(shown(&[], "OMP_SCHEDULE = 'DYNAMIC'"));
        assert!(shown(&[], "OMP_PLACES = '{0},{1}'"));
        assert!(shown(&[], "OMP_THREAD_LIMIT = '4294967295'"));
        assert!(shown(
            &[("OMP_NUM_THREADS", "4,2")],
            "OMP_NUM_THREADS = '4,2'"
        ));
        assert!(shown(
            &[("OMP_SCHEDULE", "static,4")],
            "OMP_SCHEDULE = 'STATIC,4'"
        ));
        assert!(shown(
            &[("OMP_SCHEDULE", "monotonic:guided")],
            "OMP_SCHEDULE = 'MONOTONIC:GUIDED'"
        ));
        assert!(shown(
            &[("OMP_PROC_BIND", "spread,master")],
            "OMP_PROC_BIND = 'SPREAD,PRIMARY'"
        ));
        assert!(shown(
            &[("OMP_ALLOCATOR", "omp_low_lat_mem_space")],
            "OMP_ALLOCATOR = 'omp_low_lat_mem_alloc'"
        ));
        assert!(shown(
            &[("GOMP_SPINCOUNT", "infinite")],
            "GOMP_SPINCOUNT = 'INFINITE'"
        ));
    }

    #[test]
    fn gnu_variables_only_if_verbose() {
        let brief = Settings::default().display(1, "", false);
        assert!(!brief.contains("GOMP_"));
        assert!(brief.starts_with("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n"));
        assert!(brief.ends_with("OPENMP DISPLAY ENVIRONMENT END\n"));
    }
}
