//! Text that users write: variables of the environment, values of options.

use crate::target::{Said, Shape, Target, about, check_sentence};
use fathomp_launch::Network;
use fathomp_omp::env::Settings;
use fathomp_paging::Part;
use fathomp_paging::Selection;

/// The environment.
pub(super) const ENVIRONMENT: Target = Target {
    name: "environment",
    what: "OMP_*, GOMP_* and other variables that the runtime reads",
    shape: Shape::Text,
    seeds: || vec![VARIABLES.into()],
    read: environment,
};

/// Options.
pub(super) const ARGUMENTS: Target = Target {
    name: "options",
    what: "values of options: networks, selections of tasks, counters and states",
    shape: Shape::Text,
    seeds: || {
        [
            "62.5,103.4",
            "0,2-4",
            "1ms:2s",
            "minor_faults,major_faults",
            "compute,io",
            "4_16",
        ]
        .map(Vec::from)
        .to_vec()
    },
    read: options,
};

const VARIABLES: &str = "OMP_NUM_THREADS=4,3,2\nOMP_SCHEDULE=monotonic:dynamic,4\n\
OMP_PLACES={0:4}:4:4,!{3},{1,2}\nGOMP_CPU_AFFINITY=0 3-9:2 11\nOMP_PROC_BIND=spread,close\nOMP_STACKSIZE=4 M\n\
OMP_DISPLAY_ENV=VERBOSE\nOMP_WAIT_POLICY=active\nGOMP_SPINCOUNT=100k\nOMP_MAX_ACTIVE_LEVELS=2\n\
OMP_ALLOCATOR=omp_default_mem_space:alignment=64,fallback=null_fb\nOMP_AFFINITY_FORMAT=%0.5L %{thread_num}\n\
OMP_DYNAMIC=true\nOMP_THREAD_LIMIT=100\nOMP_DEFAULT_DEVICE=-1\nOMP_TARGET_OFFLOAD=mandatory\nOMP_NUM_TEAMS=3\n";

fn environment(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    let (settings, warnings) = Settings::from_env(|name| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines.find_map(|(key, value)| (key == name).then(|| value.to_owned()))
    });
    for warning in &warnings {
        check_sentence(&warning.problem);
    }
    let icvs = settings.initial_icvs(4);
    let said: Vec<&str> = warnings.iter().map(|warning| warning.variable).collect();
    Said::read((
        said,
        about(format!("{icvs:?}").len()),
        settings.places.is_some(),
    ))
}

fn options(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    let net = text.parse::<Network>();
    if let Ok(net) = &net {
        assert!(
            net.latency_us().is_finite() && net.mb_per_s() > 0.0,
            "{net:?}"
        );
        let again = net.to_string().parse::<Network>();
        assert!(again.is_ok(), "a network that is not read again");
    }
    let tasks = Selection::parse_tasks(&text);
    let window = Selection::parse_window(&text);
    let counters = Selection::parse_counters(&text);
    let states = Selection::parse_states(&text);
    let errors = [
        net.as_ref().err().map(ToString::to_string),
        tasks.as_ref().err().map(ToString::to_string),
        window.as_ref().err().map(ToString::to_string),
        counters.as_ref().err().map(ToString::to_string),
        states.as_ref().err().map(ToString::to_string),
    ];
    let kinds = errors
        .clone()
        .map(|error| error.map(|text| text.len().min(30)));
    errors
        .iter()
        .flatten()
        .for_each(|error| check_sentence(error));
    Said::read((kinds, text.parse::<Part>().is_ok()))
}
