//! How a program's time depends on its memory, and where that changes.

use fathomp_types::size::Size;
use serde::{Deserialize, Serialize};

/// Name of the curve's file in a recording.
pub const MEMORY_FILE: &str = "memory.json";

/// Slow-downs closer to each other than this are taken for the same: runs differ by as
/// much without any cause.
const NOISE: f64 = 0.1;

/// One run of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Bytes that it might use; `None` without a limit.
    pub limit_bytes: Option<u64>,
    /// Wall time.
    pub wall_ns: u64,
    /// Times as long as without a limit; `None` if it was killed, or nothing is known of
    /// the run without a limit.
    pub slow_down: Option<f64>,
    /// Page faults that waited for I/O.
    pub major_faults: Option<u64>,
    /// Pages of 4 KiB that were read for it and the children that it waited for.
    pub page_ins: u64,
    /// Pages that the machine read back from swap meanwhile.
    pub swap_ins: u64,
    /// Pages that the machine wrote to swap meanwhile.
    pub swap_outs: u64,
    /// Most bytes that it used at any time, files that it read included.
    pub peak_bytes: Option<u64>,
    /// The kernel killed a process of it because it wanted more.
    pub killed: bool,
    /// How it ended, as a shell shows it.
    pub exit_code: u8,
}

/// Runs by memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Version of this file.
    pub version: u32,
    /// Whether the machine has swap.
    pub swap: bool,
    /// The run without a limit first, then by falling limit.
    pub runs: Vec<Run>,
    /// Limits between which more memory begins to matter: the larger, `None` for none,
    /// and the smaller.
    pub knee: Option<Knee>,
    /// What it says, in words.
    pub sentence: String,
}

/// Where the slow-down begins to grow faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The limit above it; `None` without a limit.
    pub above_bytes: Option<u64>,
    /// The limit below it.
    pub below_bytes: u64,
}

impl Curve {
    /// The curve through runs: the one without a limit first, then by falling limit.
    pub fn new(mut runs: Vec<Run>, swap: bool) -> Self {
        let free_ns = runs
            .first()
            .filter(|run| run.limit_bytes.is_none() && run.wall_ns > 0)
            .map(|run| run.wall_ns);
        for run in &mut runs {
            let lived = free_ns.filter(|_| !run.killed);
            run.slow_down = lived.map(|free| run.wall_ns as f64 / free as f64);
        }
        let knee = knee(&runs);
        let sentence = sentence(&runs, knee, swap);
        Self {
            version: 1,
            swap,
            runs,
            knee,
            sentence,
        }
    }
}

/// The step with the largest relative change of slope: slow-down per byte taken away, to
/// that of the step before. Before the first step nothing is taken away, so its slope is
/// compared with none; steps within the noise are no candidates, and a step to death is
/// steeper than any other.
fn knee(runs: &[Run]) -> Option<Knee> {
    let free = runs.first()?;
    // More than it uses is like no limit.
    let bytes = |run: &Run| match (run.limit_bytes, free.peak_bytes) {
        (Some(limit), Some(peak)) => limit.min(peak),
        (Some(limit), None) => limit,
        (None, Some(peak)) => peak,
        // As if the largest limit were just what it wants.
        (None, None) => runs.iter().find_map(|run| run.limit_bytes).unwrap_or(0),
    };
    let mut best: Option<(f64, Knee)> = None;
    let mut slope_before = 0.0_f64;
    for pair in runs.windows(2) {
        let [above, below] = pair else { continue };
        let (Some(slow_above), Some(below_bytes)) = (above.slow_down, below.limit_bytes) else {
            break;
        };
        let taken = bytes(above).saturating_sub(bytes(below));
        if taken == 0 && below.slow_down.is_some() {
            // It took longer, if it did, for another reason.
            continue;
        }
        let taken = taken.max(1) as f64;
        let slope = match below.slow_down {
            Some(slow) => (slow - slow_above).max(0.0) / taken,
            None => f64::INFINITY,
        };
        let grows = below
            .slow_down
            .is_none_or(|slow| slow > slow_above.max(1.0) * (1.0 + NOISE));
        // What noise alone may make of a step.
        let noise = NOISE / taken;
        let change = slope / slope_before.max(noise);
        if grows && best.is_none_or(|(most, _)| change > most) {
            let above_bytes = above.limit_bytes;
            best = Some((
                change,
                Knee {
                    above_bytes,
                    below_bytes,
                },
            ));
        }
        slope_before = slope;
    }
    best.map(|(_, knee)| knee)
}

fn sentence(runs: &[Run], knee: Option<Knee>, swap: bool) -> String {
    let peak = runs.first().and_then(|run| run.peak_bytes);
    let uses = peak.map_or(String::new(), |peak| {
        format!("Without a limit the program uses up to {}. ", Size(peak))
    });
    let smallest = runs.iter().filter_map(|run| run.limit_bytes).min();
    let Some(knee) = knee else {
        return match smallest {
            Some(smallest) => format!(
                "{uses}It is not slower with any of these limits: {} suffices.",
                Size(smallest)
            ),
            None => format!("{uses}No limit was tried."),
        };
    };
    let below = runs
        .iter()
        .find(|run| run.limit_bytes == Some(knee.below_bytes));
    let how = match below.and_then(|run| run.slow_down) {
        Some(slow) => format!(
            "with {} it takes {slow:.1} times as long",
            Size(knee.below_bytes)
        ),
        None if swap => format!(
            "with {} it is killed, even with swap",
            Size(knee.below_bytes)
        ),
        None => format!(
            "with {} it is killed; without swap only pages of files can make room",
            Size(knee.below_bytes)
        ),
    };
    match knee.above_bytes {
        Some(above) => format!(
            "{uses}The knee is between {} and {}: {how}.",
            Size(above),
            Size(knee.below_bytes)
        ),
        None => format!("{uses}The knee is above {}: {how}.", Size(knee.below_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn run(limit_mib: u64, wall_ms: u64) -> Run {
        Run {
            limit_bytes: (limit_mib > 0).then_some(limit_mib * MIB),
            wall_ns: wall_ms * 1_000_000,
            peak_bytes: Some(600 * MIB),
            ..Run::default()
        }
    }

    fn killed(limit_mib: u64) -> Run {
        Run {
            killed: true,
            ..run(limit_mib, 10)
        }
    }

    fn between(curve: &Curve) -> Option<(u64, u64)> {
        let knee = curve.knee?;
        Some((knee.above_bytes.unwrap_or(0) / MIB, knee.below_bytes / MIB))
    }

    #[test]
    fn the_knee_is_where_the_slope_changes_most() {
        let runs = vec![
            run(0, 1000),
            run(1024, 1010),
            run(512, 1030),
            run(256, 4000),
            run(128, 9000),
        ];
        let curve = Curve::new(runs, true);
        assert_eq!(between(&curve), Some((512, 256)));
        assert!(
            curve.sentence.contains("between 512M and 256M"),
            "{}",
            curve.sentence
        );
        assert!(curve.sentence.contains("4.0 times"), "{}", curve.sentence);
        assert!(curve.sentence.contains("up to 600M"), "{}", curve.sentence);
    }

    #[test]
    fn noise_is_no_knee() {
        let curve = Curve::new(vec![run(0, 1000), run(512, 1050), run(256, 990)], true);
        assert_eq!(curve.knee, None);
        assert!(
            curve.sentence.contains("256M suffices"),
            "{}",
            curve.sentence
        );
    }

    #[test]
    fn what_is_faster_than_without_a_limit_is_no_knee() {
        let curve = Curve::new(vec![run(0, 1000), run(512, 640), run(256, 810)], true);
        assert_eq!(curve.knee, None, "{}", curve.sentence);
    }

    #[test]
    fn death_is_steeper_than_anything() {
        let curve = Curve::new(
            vec![run(0, 1000), run(512, 1300), killed(256), killed(128)],
            false,
        );
        assert_eq!(between(&curve), Some((512, 256)));
        assert!(
            curve.sentence.contains("killed; without swap"),
            "{}",
            curve.sentence
        );
        assert_eq!(curve.runs[2].slow_down, None);
    }

    #[test]
    fn the_first_limit_may_be_below_the_knee() {
        let curve = Curve::new(vec![run(0, 1000), run(256, 4000)], true);
        assert_eq!(between(&curve), Some((0, 256)));
        assert!(curve.sentence.contains("above 256M"), "{}", curve.sentence);
    }

    /// A limit above what the program uses changes nothing, whatever the times say.
    #[test]
    fn limits_that_take_nothing_away_are_no_knee() {
        let curve = Curve::new(vec![run(0, 50), run(1024, 60), run(256, 3000)], true);
        assert_eq!(between(&curve), Some((1024, 256)));
        let curve = Curve::new(vec![run(0, 50), run(1024, 60)], true);
        assert_eq!(curve.knee, None);
    }

    #[test]
    fn a_curve_without_anything_says_nothing() {
        assert_eq!(Curve::new(Vec::new(), true).knee, None);
        assert_eq!(Curve::new(vec![run(0, 0)], true).knee, None);
        assert_eq!(Curve::new(vec![killed(0), killed(256)], true).knee, None);
    }
}
