//! Which samples were disturbed, and whether the machine was too noisy.
//!
//! A thread that loses its processor sees wall time pass without processor
//! time. How much of that is normal depends on the runtime (threads that sleep
//! while they wait always show some), so a sample counts as disturbed if it
//! lacks clearly more than its process's samples usually do.

use crate::result::Document;
use crate::suite::Process;
use fathomp_stats::{median, spread};

/// A sample is rejected if it lacks so much more of its wall time than usual.
const LACKING: f64 = 0.1;
/// A process of which more than this was rejected is kept whole: then that is
/// how the construct behaves, or the machine was never quiet.
const MOST_REJECTED: f64 = 0.5;
/// More rejected samples than this are worth a sentence.
const MANY_REJECTED: f64 = 0.1;
/// Scatter of reference times that is worth a sentence.
const SCATTER: f64 = 0.1;
/// Share of the processors taken by a hypervisor that is worth a sentence.
const STOLEN: f64 = 0.02;

/// Which samples of a process to use, by index.
#[must_use]
pub fn undisturbed(process: &Process, threads: u32) -> Vec<usize> {
    let all: Vec<usize> = (0..process.construct_ns.len()).collect();
    let lists = [
        lacking(&process.reference_ns, &process.reference_cpu_ns, 1.0),
        lacking(&process.construct_ns, &process.construct_cpu_ns, 1.0),
        lacking(
            &process.construct_ns,
            &process.construct_team_cpu_ns,
            f64::from(threads),
        ),
    ];
    let kept: Vec<usize> = all
        .iter()
        .copied()
        .filter(|index| {
            lists
                .iter()
                .all(|list| list.get(*index).is_none_or(|l| *l <= LACKING))
        })
        .collect();
    if (all.len() - kept.len()) as f64 > MOST_REJECTED * all.len() as f64 {
        all
    } else {
        kept
    }
}

/// Share of each sample's wall time that lacks processor time, less the usual
/// share; empty if that is not known.
fn lacking(wall_ns: &[f64], cpu_ns: &[f64], threads: f64) -> Vec<f64> {
    if wall_ns.len() != cpu_ns.len() {
        return Vec::new();
    }
    let shares: Vec<f64> = wall_ns
        .iter()
        .zip(cpu_ns)
        .map(|(wall, cpu)| {
            if *wall > 0.0 {
                1.0 - cpu / (threads * wall)
            } else {
                0.0
            }
        })
        .collect();
    let usual = median(&shares).unwrap_or(0.0);
    shares.iter().map(|share| share - usual).collect()
}

/// Sentences about a measurement that was disturbed, with the reason. `stolen`
/// is the share of the processors that a hypervisor took.
pub(crate) fn warnings(document: &Document, stolen: Option<f64>) -> Vec<String> {
    let mut warnings = Vec::new();
    let settings = &document.settings;
    let processors = document.machine.processors;
    for threads in settings
        .threads
        .iter()
        .filter(|t| **t as usize > processors)
    {
        warnings.push(format!(
            "{threads} threads shared {processors} processors: these numbers show how a runtime \
             copes with that, not what its constructs cost."
        ));
    }
    if settings.runs < 3 {
        warnings.push(format!(
            "Only {} was made, so the intervals miss the differences between processes: use \
             --runs 3 or more.",
            if settings.runs == 1 {
                "1 run".to_owned()
            } else {
                format!("{} runs", settings.runs)
            }
        ));
    }
    if let Some(share) = stolen.filter(|share| *share > STOLEN) {
        warnings.push(format!(
            "The hypervisor took {:.0} % of the processors' time for other machines: trust the \
             quiet values more than the medians.",
            100.0 * share
        ));
    }
    let (rejected, samples) = rejections(document);
    if rejected as f64 > MANY_REJECTED * samples as f64 {
        warnings.push(format!(
            "{rejected} of {samples} samples were rejected because a thread had lost its processor \
             meanwhile: other programs run here; repeat on an idle machine."
        ));
    }
    if let Some(scatter) = reference_scatter(document).filter(|scatter| *scatter > SCATTER) {
        warnings.push(format!(
            "The machine was too noisy for small differences: the same work without any construct \
             scattered by {:.0} % within one process (interquartile range; clock changes, shared \
             caches or other programs do that).",
            100.0 * scatter
        ));
    }
    warnings
}

/// Samples rejected, and all samples.
fn rejections(document: &Document) -> (usize, usize) {
    let mut sums = (0, 0);
    for cell in &document.cells {
        for process in &cell.processes {
            sums.0 += process.construct_ns.len() - undisturbed(process, cell.threads).len();
            sums.1 += process.construct_ns.len();
        }
    }
    sums
}

/// The usual relative interquartile range of the reference within a process.
fn reference_scatter(document: &Document) -> Option<f64> {
    let scatters: Vec<f64> = document
        .cells
        .iter()
        .flat_map(|cell| &cell.processes)
        .filter_map(|process| spread(&process.reference_ns))
        .map(|spread| spread.relative_iqr)
        .collect();
    median(&scatters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn process(wall: &[f64], cpu: &[f64]) -> Process {
        Process {
            reference_ns: wall.to_vec(),
            reference_cpu_ns: wall.to_vec(),
            construct_ns: wall.to_vec(),
            construct_cpu_ns: cpu.to_vec(),
            ..Process::default()
        }
    }

    #[test]
    fn a_sample_that_lacks_processor_time_is_rejected() {
        let kept = undisturbed(
            &process(&[10.0, 10.0, 30.0, 10.0], &[10.0, 9.8, 11.0, 10.0]),
            2,
        );
        assert_eq!(kept, [0, 1, 3]);
    }

    #[test]
    fn threads_that_always_sleep_lose_no_samples() {
        let kept = undisturbed(&process(&[10.0, 11.0, 10.0], &[4.0, 4.2, 3.9]), 2);
        assert_eq!(kept.len(), 3);
    }

    #[test]
    fn a_team_that_lost_a_processor_is_noticed() {
        let mut one = process(&[10.0; 4], &[10.0; 4]);
        one.construct_team_cpu_ns = vec![20.0, 20.0, 11.0, 20.0];
        assert_eq!(undisturbed(&one, 2), [0, 1, 3]);
    }

    #[test]
    fn without_processor_times_everything_is_kept() {
        let mut one = process(&[10.0, 90.0], &[10.0, 10.0]);
        one.construct_cpu_ns.clear();
        assert_eq!(undisturbed(&one, 2).len(), 2);
    }

    #[test]
    fn noise_is_said_with_its_reason() {
        let quiet = synthetic::epcc();
        assert_eq!(warnings(&quiet, Some(0.0)), [""; 0]);
        let stolen = warnings(&quiet, Some(0.2));
        assert!(stolen[0].contains("hypervisor took 20 %"), "{stolen:?}");
        let mut noisy = quiet.clone();
        noisy.settings.threads = vec![2, 64];
        noisy.settings.runs = 1;
        for process in noisy.cells.iter_mut().flat_map(|cell| &mut cell.processes) {
            for (index, value) in process.reference_ns.iter_mut().enumerate() {
                *value *= 1.0 + (index % 4) as f64;
            }
        }
        let said = warnings(&noisy, None).join("\n");
        for word in ["64 threads shared", "Only 1 run", "too noisy"] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}
