//! The facts about a machine that a timing depends on.

use serde::Serialize;
use std::fs;
use std::thread::available_parallelism;

/// What is written beside every result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
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
            processor: fs::read_to_string("/proc/cpuinfo")
                .ok()
                .and_then(|text| model_name(&text))
                .unwrap_or_else(|| "unknown".to_owned()),
            processors: available_parallelism().map_or(1, usize::from),
            governor: first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            kernel: first_line("/proc/sys/kernel/osrelease")
                .unwrap_or_else(|| "unknown".to_owned()),
            load_one_minute: load(),
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
                "Other programs were using the processors when this began (load {load:.1} on {} \
                 processors); trust the quiet columns more than the medians, and repeat on an idle machine or \
                 with a higher priority (nice -n -20).",
                self.processors
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
            processor: "x".into(),
            processors: 2,
            governor: Some("powersave".into()),
            kernel: "6".into(),
            load_one_minute: Some(5.0),
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
