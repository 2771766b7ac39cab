//! What the threads of processes are at that are stopped for running too long: whether
//! they wait for each other, or for a processor that others have.

use std::fs;
use std::path::Path;

/// A line for each thread of each process of a group, as far as the system tells.
#[must_use]
pub fn of_group(group: u32) -> Vec<String> {
    let processes = numbers_in(Path::new("/proc"));
    let threads = processes.into_iter().flat_map(|process| {
        let tasks = format!("/proc/{process}/task");
        let threads = numbers_in(Path::new(&tasks)).into_iter();
        threads.filter_map(move |thread| {
            let tells = |what: &str| fs::read_to_string(format!("{tasks}/{thread}/{what}"));
            let stat = tells("stat").ok()?;
            let (state, of) = state_and_group(&stat)?;
            let times = tells("schedstat").ok().and_then(|text| times_s(&text));
            let times = times.map_or_else(String::new, |(ran_s, wanted_s)| {
                format!(", ran {ran_s:.2} s, was kept from running {wanted_s:.2} s")
            });
            let sleeps_in = tells("wchan").ok().filter(|place| place != "0");
            let place = sleeps_in.map_or_else(String::new, |place| format!(" in {place}"));
            (of == group).then(|| format!("thread {thread} of {process}: {state}{place}{times}"))
        })
    });
    threads.collect()
}

fn numbers_in(directory: &Path) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

/// State and process group, of what `proc_pid_stat(5)` describes. The name before them may
/// contain anything.
fn state_and_group(stat: &str) -> Option<(&str, u32)> {
    let (_, behind) = stat.rsplit_once(") ")?;
    let mut words = behind.split(' ');
    Some((words.next()?, words.nth(1)?.parse().ok()?))
}

/// Seconds on a processor, and seconds of waiting for one, of `/proc/PID/schedstat`
/// (Documentation/scheduler/sched-stats.rst).
fn times_s(schedstat: &str) -> Option<(f64, f64)> {
    let mut words = schedstat.split_whitespace();
    let mut next_s = || Some(words.next()?.parse::<u64>().ok()? as f64 / 1e9);
    Some((next_s()?, next_s()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn threads_of_a_group_are_told() {
        let mut child = Command::new("sleep").arg("600").process_group(0).spawn();
        let child = child.as_mut().unwrap();
        let group = child.id();
        let told = of_group(group);
        child.kill().unwrap();
        child.wait().unwrap();
        let begin = format!("thread {group} of {group}: ");
        assert!(told.len() == 1 && told[0].starts_with(&begin), "{told:?}");
        assert_eq!(of_group(group), [""; 0]);
    }

    #[test]
    fn what_the_system_tells_is_understood() {
        assert_eq!(state_and_group("7 (a) S (b)) R 1 23 4"), Some(("R", 23)));
        assert_eq!(state_and_group("nonsense"), None);
        assert_eq!(times_s("1500000000 20000000 3\n"), Some((1.5, 0.02)));
        assert_eq!(times_s("1"), None);
    }
}
