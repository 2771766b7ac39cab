//! `fathomp predict --validate --hosts`: programs that come with fathomp are counted on nodes of
//! this machine, predicted for the hosts, and run there; and how far off that was.

use super::price;
use crate::args::Predict;
use crate::args::cluster::Cluster;
use crate::commands::workload::Workshop;
use crate::console::Console;
use crate::failure::{Failure, exit};
use crate::hosts::Across;
use crate::launch::told_alone;
use crate::load::{self, Target};
use crate::progress::Progress;
use fathomp_analysis::Analysis;
use fathomp_bench::compiler::Compiler;
use fathomp_bench::floors;
use fathomp_launch::{Plan, Protocol};
use fathomp_predict::Outcome as Predicted;
use fathomp_predict::prices::Cluster as Prices;
use fathomp_predict::validate::Priced;
use fathomp_process::{Limits, run};
use fathomp_types::units::plural;
use fathomp_workloads::Workload;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs may take as long as they take; the last line of what they say is shown.
const LIMITS: Limits = Limits {
    time: Duration::MAX,
    bytes: 4 << 10,
};

/// A program, built, and how to call it.
struct Job {
    name: String,
    command: Vec<OsString>,
}

/// Where a program runs.
#[derive(Clone, Copy)]
enum Place {
    Here,
    Hosts,
}

/// Counts, predicts, runs and compares, if that is to be on hosts.
pub(in crate::commands) fn validate_on_hosts(
    plan: &Predict,
    console: Console,
) -> Result<Option<Predicted>, Failure> {
    match Across::of(&plan.nodes.on)? {
        Some(across) => validate(plan, &across, console).map(Some),
        None => Ok(None),
    }
}

fn validate(plan: &Predict, across: &Across, console: Console) -> Result<Predicted, Failure> {
    let most = across.nodes();
    if most < 2 {
        return Err(Failure::new(
            "speedups over hosts take two nodes at least: name a second host, as in --hosts a,b",
        )
        .with_code(exit::USAGE));
    }
    let scratch = tempfile::tempdir()?;
    let directory = match &plan.evaluating.save {
        Some(directory) => directory.as_path(),
        None => scratch.path(),
    };
    let protocol = plan.sdp.dsm.unwrap_or(Protocol::Home);
    let jobs = build(plan)?;
    let sizes = price::sizes(most);
    let rounds = plan.evaluating.repeat as usize;
    let each = sizes.len() + 1;
    let progress = Progress::start(console, (jobs.len() + 1) * each * (rounds + 1));
    let (prices, mut doubts) = prices(plan, across, protocol, &progress)?;
    let run = Runs {
        directory,
        across,
        protocol,
        myself: std::env::current_exe()
            .map_err(|error| Failure::new(format!("cannot find fathomp's own program: {error}")))?,
    };
    let began = Instant::now();
    let (mut counted, mut observed) = (Vec::new(), Vec::new());
    let mut empty: BTreeMap<u16, Vec<PathBuf>> = BTreeMap::new();
    let nothing = empty_program(plan)?;
    let all: Vec<u16> = [1].into_iter().chain(sizes).collect();
    let mut done = 0;
    // In turn, so that what disturbs for a while disturbs all alike.
    'rounds: for round in 0..=rounds {
        if round > 0 {
            for nodes in &all {
                let recording = run.record(&nothing, *nodes, Place::Hosts, round)?;
                empty.entry(*nodes).or_default().push(recording);
            }
        }
        for job in &jobs {
            for nodes in &all {
                let (place, kept) = match round {
                    0 => (Place::Here, &mut counted),
                    _ => (Place::Hosts, &mut observed),
                };
                if round > 1 && began.elapsed() > plan.evaluating.budget.0 {
                    break 'rounds;
                }
                progress.at(
                    done,
                    format!("{}, {}", job.name, plural((*nodes).into(), "node")),
                );
                done += 1;
                kept.push(run.record(job, *nodes, place, round)?);
            }
        }
    }
    progress.finish();
    let counted = load::analyses(&counted, None)?;
    let counted: Vec<_> = counted.iter().collect();
    let mut observed = load::analyses(&observed, None)?;
    let mut starts = BTreeMap::new();
    for (nodes, recordings) in empty {
        starts.insert(
            u32::from(nodes),
            typical_ns(&load::analyses(&recordings, None)?),
        );
    }
    doubts.extend(without_start(&mut observed, &starts)?);
    doubts.extend(busy(&counted));
    let priced = Priced {
        cluster: &prices,
        protocol: plan.sdp.dsm,
        diff_bytes: plan.sdp.diff_bytes,
        counted: Some(&counted),
    };
    let target = Target {
        machine: None,
        cores: None,
    };
    let mut answer = load::compare(&observed, &target, Some(priced))?;
    if let Predicted::Observed(validated) = &mut answer {
        validated.warnings.extend(doubts);
        let start = starts.values().max().copied().unwrap_or(0);
        validated.warnings.push(format!(
            "Starting and ending nodes on the hosts takes up to {:.0} ms, measured with an empty program; that was taken off the observed times, since no model knows it.",
            start as f64 * 1e-6
        ));
    }
    Ok(answer)
}

/// A program that does nothing, in one region.
fn empty_program(plan: &Predict) -> Result<Job, Failure> {
    let cache = fathomp_runtime::unpack()?.cache;
    let compiler = Compiler::find(&plan.evaluating.making.cc, &cache)?;
    let built = floors::build(&compiler, &cache)?;
    Ok(Job {
        name: "an empty program".to_owned(),
        command: vec![built.hold.into(), "team".into()],
    })
}

/// The time of the run in the middle.
fn typical_ns(analyses: &[Analysis]) -> u64 {
    let mut times: Vec<u64> = analyses.iter().map(|one| one.wall_ns).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

/// Says so if other programs took processors from those that were counted here, which have
/// times of their own for that. Of what goes on at the hosts nobody here knows.
fn busy(counted: &[&Analysis]) -> Option<String> {
    let disturbed = counted.iter().filter(|one| one.program.disturbed());
    let used = disturbed.filter_map(|one| one.program.others_used);
    let most = used.max_by(f64::total_cmp)?;
    Some(format!(
        "Other programs used up to {:.0} % of this machine's processors while programs were counted on it: if the hosts are as busy, observed times are too long; validate again when they are quiet.",
        most * 100.0
    ))
}

/// Takes what starting and ending takes off the times of programs; programs of which nothing is
/// left are left out. Says which, and of which little is left.
fn without_start(
    observed: &mut Vec<Analysis>,
    starts: &BTreeMap<u32, u64>,
) -> Result<Vec<String>, Failure> {
    let (mut short, mut none) = (BTreeSet::new(), BTreeMap::new());
    for analysis in observed.iter_mut() {
        let start = starts.get(&analysis.program.nodes).copied().unwrap_or(0);
        let name = analysis.program.name.clone();
        analysis.wall_ns = analysis.wall_ns.saturating_sub(start);
        if analysis.wall_ns == 0 {
            none.insert(name, analysis.program.nodes);
        } else if analysis.wall_ns < start {
            short.insert(name);
        }
    }
    observed.retain(|one| !none.contains_key(&one.program.name));
    short.retain(|name| !none.contains_key(name));
    let mut said: Vec<String> = none
        .iter()
        .map(|(name, nodes)| {
            format!(
                "{name} ended on {} as soon as an empty program does, and is left out: choose a larger --class.",
                plural((*nodes).into(), "node")
            )
        })
        .collect();
    if observed.is_empty() {
        return Err(Failure::new(said.join(" ").trim_end_matches('.')));
    }
    if !short.is_empty() {
        said.push(format!(
            "{} took less time than starting and ending: choose a larger --class.",
            short.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    Ok(said)
}

/// The programs asked for.
fn build(plan: &Predict) -> Result<Vec<Job>, Failure> {
    let shop = Workshop::open(&plan.evaluating.making)?;
    let mut chosen: BTreeMap<String, &Workload> = BTreeMap::new();
    for workload in plan.evaluating.programs.iter().flat_map(|names| &names.0) {
        chosen.insert(workload.full_name(), workload);
    }
    let class = plan.evaluating.class;
    let mut jobs = Vec::new();
    for (name, workload) in chosen {
        let built = shop.build(workload, class, true);
        let built = built?;
        let mut command = vec![OsString::from(&built.path)];
        let arguments = workload.size_arguments(class, None);
        command.extend(arguments.into_iter().map(OsString::from));
        jobs.push(Job { name, command });
    }
    Ok(jobs)
}

/// The hosts' prices: those given, or measured now; and what makes these doubtful.
fn prices(
    plan: &Predict,
    across: &Across,
    protocol: Protocol,
    progress: &Progress,
) -> Result<(Prices, Vec<String>), Failure> {
    if let Some(file) = &plan.sdp.cluster {
        let found = Prices::find(file)?;
        return Ok((found, Vec::new()));
    }
    let cluster = Cluster {
        nodes: across.nodes(),
        dsm: protocol,
        ..Cluster::ONE
    };
    let unpacked = fathomp_runtime::unpack()?;
    let cc = &plan.evaluating.making.cc;
    progress.at(0, "measuring the hosts".to_owned());
    let measured = price::cluster(&unpacked, cluster, Some(across), cc, |_| {})?;
    Ok((measured.cluster, measured.doubts))
}

/// Recordings, made one after the other.
struct Runs<'a> {
    directory: &'a Path,
    across: &'a Across,
    protocol: Protocol,
    myself: PathBuf,
}

impl Runs<'_> {
    /// Records a program by `fathomp record`, as a user would.
    fn record(
        &self,
        job: &Job,
        nodes: u16,
        place: Place,
        round: usize,
    ) -> Result<PathBuf, Failure> {
        let cluster = Cluster {
            nodes,
            dsm: self.protocol,
            dsm_plain: true,
            ..Cluster::ONE
        };
        let kind = match place {
            Place::Here => "counted",
            Place::Hosts => "hosts",
        };
        let name = job.name.replace(['/', ' '], "-");
        let directory = self
            .directory
            .join(format!("{name}-{kind}-{nodes}-{round}"));
        let mut command: Command = told_alone(&self.myself, &Plan::default());
        command.args(["--quiet", "record", "--force", "--threads", "1", "-o"]);
        command.arg(&directory);
        match place {
            Place::Here => {
                command.args(["--dsm-plain", "--dsm", self.protocol.name(), "--nodes"]);
                command.arg(nodes.to_string());
            }
            Place::Hosts => {
                command.args(self.across.options(cluster));
            }
        }
        command.arg("--").args(&job.command);
        let failed = |why: String| {
            Failure::new(format!(
                "{} on {nodes} nodes ({kind}) did not run as it should: {why}",
                job.name
            ))
        };
        let ended = run(&mut command, LIMITS).map_err(|error| failed(error.to_string()))?;
        if ended.status.success() {
            return Ok(directory);
        }
        let last = ended.stderr.lines().next_back().unwrap_or("without a word");
        Err(failed(format!("{}, {last}", ended.describe())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, nodes: u32, wall_ns: u64) -> Analysis {
        let mut one = Analysis {
            wall_ns,
            ..Analysis::empty()
        };
        one.program.name = name.to_owned();
        one.program.nodes = nodes;
        one
    }

    #[test]
    fn programs_that_end_at_once_are_left_out_and_named() {
        let starts = BTreeMap::from([(1, 10), (2, 100)]);
        let mut runs = vec![
            run("is", 1, 50),
            run("is", 2, 90),
            run("cg", 1, 500),
            run("cg", 2, 150),
            run("lu", 2, 900),
        ];
        let said = without_start(&mut runs, &starts).unwrap();
        let left: Vec<u64> = runs.iter().map(|one| one.wall_ns).collect();
        assert_eq!(left, [490, 50, 800]);
        assert!(
            said[0].starts_with("is ended on 2 nodes as soon as"),
            "{said:?}"
        );
        assert!(said[1].starts_with("cg took less time"), "{said:?}");
        let mut runs = vec![run("is", 1, 5)];
        let refused = without_start(&mut runs, &starts).unwrap_err();
        assert!(refused.sentence.contains("is ended on 1 node as soon"));
    }

    #[test]
    fn other_programs_are_told_of() {
        let mut one = run("is", 2, 5);
        assert_eq!(busy(&[&one]), None);
        one.program.others_used = Some(0.8);
        assert!(busy(&[&one]).unwrap().contains("up to 80 %"));
    }
}
