use super::*;
use proptest::prelude::*;

fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
    let (settings, warnings) = Settings::from_env(|name| {
        variables
            .iter()
            .find(|(variable, _)| *variable == name)
            .map(|(_, value)| (*value).to_owned())
    });
    (settings, warnings.iter().map(ToString::to_string).collect())
}

#[test]
fn an_empty_environment_gives_the_defaults() {
    let (settings, warnings) = read(&[]);
    assert_eq!(settings, Settings::default());
    assert!(warnings.is_empty());
    let icvs = settings.initial_icvs(6);
    assert_eq!((icvs.num_threads, icvs.max_active_levels), (6, 1));
    assert_eq!(icvs.bind, ProcBind::False);
}

#[test]
fn every_variable_is_read() {
    let (settings, warnings) = read(&[
        ("OMP_NUM_THREADS", "4,2"),
        ("OMP_PROC_BIND", "spread,close"),
        ("OMP_PLACES", "{0},{1}"),
        ("OMP_SCHEDULE", "guided,3"),
        ("OMP_DYNAMIC", "true"),
        ("OMP_MAX_ACTIVE_LEVELS", "300"),
        ("OMP_THREAD_LIMIT", "9"),
        ("OMP_CANCELLATION", "TRUE"),
        ("OMP_STACKSIZE", "2M"),
        ("OMP_WAIT_POLICY", "Active"),
        ("GOMP_SPINCOUNT", "5"),
        ("OMP_MAX_TASK_PRIORITY", "7"),
        ("OMP_DEFAULT_DEVICE", "1"),
        ("OMP_TARGET_OFFLOAD", "disabled"),
        ("OMP_NUM_TEAMS", "3"),
        ("OMP_TEAMS_THREAD_LIMIT", "5"),
        ("OMP_ALLOCATOR", "omp_high_bw_mem_alloc"),
        ("OMP_DISPLAY_ENV", "verbose"),
        ("OMP_DISPLAY_AFFINITY", "true"),
        ("OMP_AFFINITY_FORMAT", "%n"),
        ("OMP_TOOL", "disabled"),
    ]);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(settings.num_threads, [4, 2]);
    assert_eq!(settings.proc_bind, [ProcBind::Spread, ProcBind::Close]);
    assert_eq!(
        settings.places,
        Some(PlacesSpec::Explicit(vec![vec![0], vec![1]]))
    );
    assert_eq!(settings.max_active_levels, 255);
    assert_eq!(settings.stack_size, Some(2 << 20));
    assert_eq!(settings.wait_policy, Some(WaitPolicy::Active));
    assert_eq!(settings.spin_count, Some(5));
    assert_eq!(settings.max_task_priority, 7);
    assert_eq!(settings.target_offload, TargetOffload::Disabled);
    assert_eq!(settings.display_env, DisplayEnv::Verbose);
    assert_eq!(settings.affinity_format, "%n");
    assert!(settings.cancellation && settings.display_affinity && !settings.tool);
    let icvs = settings.initial_icvs(8);
    assert_eq!((icvs.num_threads, icvs.num_threads_inner), (4, &[2][..]));
    assert_eq!(icvs.thread_limit, 9);
    assert_eq!(icvs.default_allocator, 4);
    assert_eq!(settings.device_icvs().num_teams(), 3);
    assert_eq!(settings.device_icvs().teams_thread_limit(), 5);
}

#[test]
fn a_bad_value_is_named_once_and_replaced() {
    let (settings, warnings) = read(&[("OMP_NUM_THREADS", "many")]);
    assert_eq!(settings, Settings::default());
    assert_eq!(
        warnings,
        [
            "OMP_NUM_THREADS=\"many\" is not a list of positive numbers; \
          using one thread per available processor."
        ]
    );
}

#[test]
fn levels_follow_nested_and_lists() {
    let levels = |variables: &[(&str, &str)]| read(variables).0.max_active_levels;
    assert_eq!(levels(&[("OMP_NUM_THREADS", "2,2")]), 255);
    assert_eq!(levels(&[("OMP_PROC_BIND", "spread,close")]), 255);
    assert_eq!(levels(&[("OMP_NESTED", "true")]), 255);
    assert_eq!(
        levels(&[("OMP_NESTED", "false"), ("OMP_NUM_THREADS", "2,2")]),
        1
    );
    assert_eq!(
        levels(&[("OMP_NESTED", "true"), ("OMP_MAX_ACTIVE_LEVELS", "0")]),
        0
    );
}

#[test]
fn places_bind_threads_unless_told_otherwise() {
    let bind = |variables: &[(&str, &str)]| read(variables).0.proc_bind[0];
    assert_eq!(bind(&[("OMP_PLACES", "cores")]), ProcBind::True);
    assert_eq!(bind(&[("GOMP_CPU_AFFINITY", "0 1")]), ProcBind::True);
    assert_eq!(
        bind(&[("OMP_PLACES", "cores"), ("OMP_PROC_BIND", "false")]),
        ProcBind::False
    );
    assert_eq!(bind(&[("OMP_PLACES", "nonsense")]), ProcBind::False);
}

#[test]
fn the_standard_variable_wins_over_the_extension() {
    let (settings, _) = read(&[
        ("OMP_STACKSIZE", "1M"),
        ("GOMP_STACKSIZE", "4M"),
        ("OMP_PLACES", "threads"),
        ("GOMP_CPU_AFFINITY", "0"),
    ]);
    assert_eq!(settings.stack_size, Some(1 << 20));
    assert_eq!(
        settings.places,
        Some(PlacesSpec::Abstract(PlaceKind::Threads, None))
    );
}

proptest! {
    /// Whatever the variables hold, there is at most one warning for each and
    /// the ICVs keep their promises.
    #[test]
    fn any_environment_gives_usable_icvs(value in "[-+0-9a-zA-Z,:{}!() ]{0,12}") {
        let (settings, warnings) = Settings::from_env(|_| Some(value.clone()));
        let mut named: Vec<_> = warnings.iter().map(|warning| warning.variable).collect();
        named.sort_unstable();
        let before = named.len();
        named.dedup();
        prop_assert_eq!(named.len(), before);
        let icvs = settings.initial_icvs(0);
        prop_assert!(icvs.num_threads >= 1);
        prop_assert!(icvs.thread_limit >= 1);
        prop_assert!(icvs.schedule.chunk <= i32::MAX as u32);
    }
}

#[test]
fn what_is_set_for_all_devices_counts_for_the_host() {
    let (settings, warnings) = read(&[
        ("OMP_NUM_TEAMS_ALL", "3"),
        ("OMP_TEAMS_THREAD_LIMIT_ALL", "5"),
        ("OMP_TEAMS_THREAD_LIMIT", "4"),
        ("OMP_CANCELLATION_ALL", "true"),
    ]);
    assert_eq!(settings.num_teams, 3);
    assert_eq!(settings.teams_thread_limit, 4);
    assert!(!settings.cancellation);
    assert!(warnings.is_empty());
}

#[test]
fn a_mandatory_device_is_none_where_there_is_only_the_host() {
    let read_offload = |variables: &[(&str, &str)]| read(variables).0.default_device;
    assert_eq!(read_offload(&[("OMP_TARGET_OFFLOAD", "mandatory")]), -4);
    let both = [
        ("OMP_TARGET_OFFLOAD", "mandatory"),
        ("OMP_DEFAULT_DEVICE", "2"),
    ];
    assert_eq!(read_offload(&both), 2);
    assert_eq!(read_offload(&[]), 0);
}
