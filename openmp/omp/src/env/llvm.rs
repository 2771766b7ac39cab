//! Variables of LLVM's runtime, `KMP_*`: they count where OpenMP's own say nothing.
//!
//! Those that tune what is different here are accepted in silence, as
//! `KMP_DUPLICATE_LIB_OK` and `KMP_FORCE_REDUCTION`.

use super::subset::subset;
use super::{DisplayEnv, PlacesSpec, Reader, Settings, WaitPolicy, keep, places, value};
use crate::icv::ProcBind;

impl Settings {
    /// Fills in what was not set.
    pub(super) fn read_llvm(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        let size = "a size such as 512K or 2M";
        let stack = reader.read(
            "KMP_STACKSIZE",
            bytes,
            size,
            "using the system's stack size",
        );
        self.stack_size = self.stack_size.or(stack);
        self.read_llvm_waiting(reader);
        self.read_llvm_limits(reader);
        self.read_llvm_binding(reader);
        self.read_llvm_tasks(reader);
        if reader.read("KMP_SETTINGS", boolean, "true or false", "using false") == Some(true)
            && self.display_env == DisplayEnv::Off
        {
            self.display_env = DisplayEnv::Verbose;
        }
        if reader.read("KMP_WARNINGS", boolean, "true or false", "using true") == Some(false) {
            reader.warnings.clear();
        }
    }

    fn read_llvm_tasks(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        let throttles = reader.read(
            "KMP_ENABLE_TASK_THROTTLING",
            boolean,
            "true or false",
            "using true",
        );
        self.queues_all_tasks = throttles == Some(false);
        let inherits = reader.read(
            "KMP_INHERIT_FP_CONTROL",
            boolean,
            "true or false",
            "using true",
        );
        self.inherits_floats = inherits != Some(false);
    }

    fn read_llvm_waiting(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        let library = reader.read(
            "KMP_LIBRARY",
            |text| {
                value::one_of(
                    text,
                    &[
                        ("serial", Library::Serial),
                        ("turnaround", Library::Turnaround),
                        ("throughput", Library::Throughput),
                    ],
                )
            },
            "serial, turnaround or throughput",
            "using throughput",
        );
        let block_time = reader.read(
            "KMP_BLOCKTIME",
            block_time,
            "a number of milliseconds or infinite",
            "deciding by OMP_WAIT_POLICY",
        );
        let turnaround = library == Some(Library::Turnaround);
        let policy = turnaround.then_some(WaitPolicy::Active);
        self.wait_policy = self.wait_policy.or(policy).or(block_time.flatten());
        if library == Some(Library::Serial) {
            self.thread_limit = 1;
        }
    }

    fn read_llvm_limits(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        let number = "a positive number";
        for variable in [
            "KMP_DEVICE_THREAD_LIMIT",
            "KMP_ALL_THREADS",
            "KMP_MAX_THREADS",
        ] {
            let limit = reader.read(
                variable,
                limit,
                "a positive number or all",
                "using no limit",
            );
            if let Some(Some(limit)) = limit.filter(|_| self.thread_limit == u32::MAX) {
                self.thread_limit = limit;
            }
        }
        let teams = reader.read(
            "KMP_TEAMS_THREAD_LIMIT",
            value::positive,
            number,
            "leaving it unset",
        );
        if let Some(limit) = teams.filter(|_| self.teams_thread_limit == 0) {
            self.teams_thread_limit = limit;
        }
    }

    fn read_llvm_binding(&mut self, reader: &mut Reader<impl Fn(&str) -> Option<String>>) {
        let affinity = reader.read(
            "KMP_AFFINITY",
            affinity,
            "none, disabled, compact, scatter or balanced, with modifiers; for a list of processors use OMP_PLACES",
            "binding threads as if it were not set",
        );
        let is_free = self.places.is_none() && (reader.get)("OMP_PROC_BIND").is_none();
        if let Some(Some((bind, spec))) = affinity.filter(|_| is_free) {
            self.proc_bind = keep(vec![bind]);
            self.places = Some(spec);
            self.places_from = (
                "KMP_AFFINITY",
                (reader.get)("KMP_AFFINITY").unwrap_or_default(),
            );
        }
        self.subset = reader.read(
            "KMP_HW_SUBSET",
            subset,
            "numbers of sockets, NUMA domains, L3 caches, cores or threads, e.g. \"1s,4c,1t\"",
            "using all processors",
        );
        if self.subset.is_some() {
            self.subset_from = (reader.get)("KMP_HW_SUBSET").unwrap_or_default();
        }
    }
}

/// `KMP_LIBRARY`.
#[derive(Clone, Copy, PartialEq)]
enum Library {
    Serial,
    Turnaround,
    Throughput,
}

/// LLVM's words for yes and no.
fn boolean(text: &str) -> Option<bool> {
    let yes = ["true", "yes", "on", "1", ".true.", ".t.", "enabled"];
    let no = ["false", "no", "off", "0", ".false.", ".f.", "disabled"];
    let yes = yes.map(|word| (word, true));
    let no = no.map(|word| (word, false));
    value::one_of(text, &yes).or_else(|| value::one_of(text, &no))
}

/// A size: without a unit, bytes.
fn bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    match text.ends_with(|last: char| last.is_ascii_digit()) {
        true => value::size(&format!("{text}B")),
        false => {
            let short = text.strip_suffix(['b', 'B']);
            let has_unit = |short: &&str| short.ends_with(|c: char| c.is_ascii_alphabetic());
            value::size(short.filter(has_unit).unwrap_or(text))
        }
    }
}

/// How long a thread waits actively: not at all, for ever, or as usual.
fn block_time(text: &str) -> Option<Option<WaitPolicy>> {
    let text = text.trim();
    if value::one_of(text, &[("infinite", ()), ("infinity", ())]).is_some() {
        return Some(Some(WaitPolicy::Active));
    }
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    value::one_of(unit, &[("", ()), ("ms", ()), ("us", ())])?;
    let time = value::non_negative(number)?;
    Some((time == 0).then_some(WaitPolicy::Passive))
}

/// A limit of threads, or none.
fn limit(text: &str) -> Option<Option<u32>> {
    match value::one_of(text, &[("all", ())]) {
        Some(()) => Some(None),
        None => value::positive(text).map(Some),
    }
}

/// `KMP_AFFINITY`: where threads are bound, if they are.
fn affinity(text: &str) -> Option<Option<(ProcBind, PlacesSpec)>> {
    let mut bind = None;
    let mut granularity = "cores";
    let quiet = [
        "verbose",
        "noverbose",
        "warnings",
        "nowarnings",
        "respect",
        "norespect",
        "reset",
        "noreset",
    ];
    for word in text.split(',').map(|word| word.trim().to_ascii_lowercase()) {
        match word.as_str() {
            "none" | "disabled" => return Some(None),
            "compact" => bind = Some(ProcBind::Close),
            "scatter" | "balanced" => bind = Some(ProcBind::Spread),
            quiet_word if quiet.contains(&quiet_word) => {}
            word if word.starts_with("granularity=") || word == "fine" || word == "thread" => {
                granularity = match word.trim_start_matches("granularity=") {
                    "fine" | "thread" => "threads",
                    "core" => "cores",
                    "socket" | "package" | "die" => "sockets",
                    _ => return None,
                };
            }
            // Permutation and offset of the order of processors, which do not say how many
            // there are of each.
            number if value::non_negative(number).is_some() => {}
            _ => return None,
        }
    }
    match bind {
        Some(bind) => Some(Some((bind, places::places(granularity)?))),
        None => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let get = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let (settings, warnings) = Settings::from_env(get);
        (settings, warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn stacks_are_in_bytes_and_openmp_comes_first() {
        let stack = |variables: &[(&str, &str)]| read(variables).0.stack_size;
        assert_eq!(stack(&[("KMP_STACKSIZE", "1048576")]), Some(1 << 20));
        assert_eq!(stack(&[("KMP_STACKSIZE", "4m")]), Some(4 << 20));
        assert_eq!(stack(&[("KMP_STACKSIZE", "4MB")]), Some(4 << 20));
        let both = [("KMP_STACKSIZE", "4m"), ("OMP_STACKSIZE", "8m")];
        assert_eq!(stack(&both), Some(8 << 20));
        assert_eq!(read(&[("KMP_STACKSIZE", "big")]).1.len(), 1);
    }

    #[test]
    fn waiting_is_active_passive_or_as_usual() {
        let policy = |variables: &[(&str, &str)]| read(variables).0.wait_policy;
        assert_eq!(policy(&[("KMP_BLOCKTIME", "0")]), Some(WaitPolicy::Passive));
        assert_eq!(policy(&[("KMP_BLOCKTIME", "200ms")]), None);
        let for_ever = Some(WaitPolicy::Active);
        assert_eq!(policy(&[("KMP_BLOCKTIME", "infinite")]), for_ever);
        assert_eq!(policy(&[("KMP_LIBRARY", "turnaround")]), for_ever);
        let both = [("KMP_BLOCKTIME", "0"), ("OMP_WAIT_POLICY", "active")];
        assert_eq!(policy(&both), for_ever);
        assert_eq!(read(&[("KMP_LIBRARY", "serial")]).0.thread_limit, 1);
    }

    #[test]
    fn threads_are_limited() {
        let limit = |variables: &[(&str, &str)]| read(variables).0.thread_limit;
        assert_eq!(limit(&[("KMP_ALL_THREADS", "6")]), 6);
        assert_eq!(limit(&[("KMP_DEVICE_THREAD_LIMIT", "all")]), u32::MAX);
        let both = [("KMP_DEVICE_THREAD_LIMIT", "6"), ("OMP_THREAD_LIMIT", "3")];
        assert_eq!(limit(&both), 3);
        let teams = read(&[("KMP_TEAMS_THREAD_LIMIT", "2")]).0;
        assert_eq!(teams.teams_thread_limit, 2);
    }

    #[test]
    fn threads_are_bound_as_llvm_would() {
        let bind = |text: &str| {
            let (settings, warnings) = read(&[("KMP_AFFINITY", text)]);
            (
                settings.proc_bind[0],
                settings.places.is_some(),
                warnings.len(),
            )
        };
        let compact = "verbose,granularity=fine,compact,1,0";
        assert_eq!(bind(compact), (ProcBind::Close, true, 0));
        assert_eq!(bind("scatter"), (ProcBind::Spread, true, 0));
        assert_eq!(bind("none"), (ProcBind::False, false, 0));
        assert_eq!(bind("noverbose"), (ProcBind::False, false, 0));
        let explicit = "explicit,proclist=[0,1]";
        assert_eq!(bind(explicit), (ProcBind::False, false, 1));
        let both = [("KMP_AFFINITY", "scatter"), ("OMP_PROC_BIND", "close")];
        assert_eq!(read(&both).0.proc_bind, [ProcBind::Close]);
    }

    #[test]
    fn what_is_not_followed_is_said_once_unless_nobody_wants_to_hear_it() {
        let said = read(&[("KMP_HW_SUBSET", "1s,2x")]).1;
        assert!(
            said.len() == 1 && said[0].contains("is not numbers of sockets"),
            "{said:?}"
        );
        let silent = [("KMP_HW_SUBSET", "1s,2x"), ("KMP_WARNINGS", "0")];
        assert_eq!(read(&silent).1.len(), 0);
        let quiet = [
            ("KMP_DUPLICATE_LIB_OK", "TRUE"),
            ("KMP_FORCE_REDUCTION", "tree"),
        ];
        assert_eq!(read(&quiet).1.len(), 0);
        assert_eq!(
            read(&[("KMP_SETTINGS", "1")]).0.display_env,
            DisplayEnv::Verbose
        );
    }
}
