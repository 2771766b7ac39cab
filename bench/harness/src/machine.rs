//! The facts about a machine that a timing depends on.

use crate::misses::CacheShape;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

/// What is written beside every result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Processor model as the kernel names it.
    pub processor: String,
    /// Processors this process may run on.
    pub processors: usize,
    /// Frequency governor of the first processor, if the kernel tells.
    pub governor: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Runnable tasks averaged over the last minute, when this was read.
    pub load_one_minute: Option<f64>,
    /// The largest cache that a processor has for itself, if the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheShape>,
    /// It is a cluster that is not there: times are calculated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

impl Machine {
    /// Reads the facts. What cannot be read is left empty, never guessed.
    #[must_use]
    pub fn read() -> Self {
        let first_line = |path| {
            fs::read_to_string(path)
                .ok()
                .and_then(|text| text.lines().next().map(|line| line.trim().to_owned()))
        };
        Self {
            host: first_line("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned()),
            processor: fs::read_to_string("/proc/cpuinfo")
                .ok()
                .and_then(|text| model_name(&text))
                .unwrap_or_else(|| "unknown".to_owned()),
            processors: available_parallelism().map_or(1, usize::from),
            governor: first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            kernel: first_line("/proc/sys/kernel/osrelease")
                .unwrap_or_else(|| "unknown".to_owned()),
            load_one_minute: load(),
            cache: CacheShape::read(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            simulated: false,
        }
    }

    /// Sentences about what makes timings on this machine doubtful.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(load) = self.load_one_minute
            && load > 0.3 * self.processors as f64
        {
            warnings.push(format!(
                "Other programs were using the processors when this began (load {load:.1} on {}): trust \
                 the quiet values more than the medians, and repeat on an idle machine or with a higher \
                 priority (nice -n -20).",
                processors(self.processors)
            ));
        }
        match self.governor.as_deref() {
            None | Some("performance") => {}
            Some(governor) => warnings.push(format!(
                "The frequency governor is '{governor}', so the clock changes during a run; \
                 'performance' gives steadier numbers."
            )),
        }
        warnings
    }
}

/// "1 processor", "2 processors".
pub(crate) fn processors(count: usize) -> String {
    match count {
        1 => "1 processor".to_owned(),
        many => format!("{many} processors"),
    }
}

/// Time that a hypervisor took from the processors, and all time, in ticks
/// since the start of the machine; `None` if the kernel does not tell.
fn stolen() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guests are in user.
    Some((*ticks.get(7)?, ticks.iter().take(8).sum()))
}

/// Watches what a hypervisor takes from the processors.
#[derive(Debug)]
pub struct StealMeter {
    begin: Option<(u64, u64)>,
}

impl StealMeter {
    /// Begins to watch.
    #[must_use]
    pub fn start() -> Self {
        Self { begin: stolen() }
    }

    /// Share of the processors' time that was taken since the start; `None`
    /// after less than a second.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        const TICKS_MIN: u64 = 100;
        let (begin, end) = (self.begin?, stolen()?);
        let all = end.1.checked_sub(begin.1).filter(|all| *all >= TICKS_MIN)?;
        Some(end.0.saturating_sub(begin.0) as f64 / all as f64)
    }
}

/// The one-minute load average, if the kernel tells.
#[must_use]
pub fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn model_name(cpuinfo: &str) -> Option<String> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "model name")
        .map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_name_is_found_among_other_keys() {
        let text = "processor\t: 0\nmodel\t\t: 2\nmodel name\t: A CPU: fast\n";
        assert_eq!(model_name(text).as_deref(), Some("A CPU: fast"));
        assert_eq!(model_name("processor\t: 0\n"), None);
    }

    #[test]
    fn a_busy_machine_and_a_saving_governor_are_named() {
        let machine = Machine {
            host: "h".into(),
            processor: "x".into(),
            processors: 2,
            governor: Some("powersave".into()),
            kernel: "6".into(),
            load_one_minute: Some(5.0),
            cache: None,
            simulated: false,
        };
        assert_eq!(machine.warnings().len(), 2);
        let quiet = Machine {
            governor: Some("performance".into()),
            load_one_minute: Some(0.1),
            ..machine
        };
        assert!(quiet.warnings().is_empty());
    }
}
