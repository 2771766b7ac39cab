//! `fathomp workload verify`: are the results right, with every number of
//! threads, on every runtime?

mod answer;

use super::memory;
use super::workshop::{Workshop, check_nodes, chosen};
use crate::args::workload::{RuntimeName, Verify};
use crate::console::Console;
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{self, library};
use crate::program;
use crate::progress::Progress;
use answer::{Answer, Row, RunRow};
use fathomp_launch::Plan;
use fathomp_workloads::{Runtime, Trial, Workload, check};
use std::path::{Path, PathBuf};

/// One way of running every workload.
struct Setting {
    runtime: Runtime,
    nodes: u32,
    threads_per_node: u32,
}

impl Setting {
    fn threads(&self) -> u32 {
        self.threads_per_node.saturating_mul(self.nodes)
    }
}

/// A workload on its way through the command.
struct Subject<'a> {
    workload: &'a Workload,
    /// The program, or why there is none that could be run.
    program: Result<PathBuf, String>,
    /// One per setting.
    runs: Vec<Result<fathomp_workloads::Answer, String>>,
}

impl Subject<'_> {
    /// There are checksums that nothing inside the program judges.
    fn needs_reference(&self) -> bool {
        let open = |run: &Result<fathomp_workloads::Answer, String>| {
            run.as_ref().is_ok_and(|answer| answer.verified.is_none())
        };
        self.runs.iter().any(open)
    }
}

pub(super) fn verify(plan: &Verify, console: Console) -> Outcome {
    check_nodes(plan.nodes.cluster(), &plan.runtime)?;
    let workshop = Workshop::open(&plan.making)?;
    let workloads = chosen(&plan.names, &plan.sizing)?;
    let count = workloads.len();
    // Built, run, and perhaps built and run once more without OpenMP.
    let progress = Progress::start(console, 3 * count);
    let class = plan.sizing.class();
    let built = workshop.build_all(&workloads, class, true, &progress, 0);
    let mut subjects: Vec<Subject<'_>> = workloads
        .into_iter()
        .zip(built)
        .map(|(workload, built)| Subject {
            workload,
            program: built
                .map_err(|error| Failure::from(error).sentence)
                .map(|built| built.path),
            runs: Vec::new(),
        })
        .collect();

    let settings = settings(plan, &subjects)?;
    for (index, subject) in subjects.iter_mut().enumerate() {
        progress.at(
            count + index,
            format!("running {}", subject.workload.full_name()),
        );
        run_all(subject, &settings, plan);
    }

    let open: Vec<&Workload> = subjects
        .iter()
        .filter(|subject| subject.needs_reference())
        .map(|subject| subject.workload)
        .collect();
    let references = workshop.build_all(&open, class, false, &progress, 2 * count);
    let references: Vec<_> = open.into_iter().zip(references).collect();
    let rows = subjects.iter().map(|subject| {
        let reference = references
            .iter()
            .find(|(workload, _)| *workload == subject.workload)
            .map(|(workload, built)| match built {
                Ok(built) => reference(workload, &built.path, plan),
                Err(error) => Err(format!("the serial program: {error}")),
            });
        judge(subject, reference.as_ref(), &settings, plan)
    });
    let answer = Answer::new(rows.collect(), &settings, class);
    progress.finish();
    let code = if answer.right() { 0 } else { exit::FAILED };
    console.result("fathomp.workload-verify", &answer, || {
        answer.text(console.width())
    })?;
    Ok(code)
}

/// Every runtime with every number of threads.
fn settings(plan: &Verify, subjects: &[Subject<'_>]) -> Result<Vec<Setting>, Failure> {
    let cluster = plan.nodes.cluster();
    let mut names = plan.runtime.clone();
    if names.is_empty() && cluster.is_some() {
        names = vec![RuntimeName::Fathomp];
    } else if names.is_empty() {
        names = vec![RuntimeName::Fathomp, RuntimeName::System];
    }
    names.dedup();
    let unpacked = fathomp_runtime::unpack()?;
    let ours = Runtime {
        plan: Plan {
            preload: vec![library(&unpacked, cluster).to_owned()],
            ..launch::plan(None, cluster)
        },
        ..Runtime::linked("fathomp")
    };
    let mut settings = Vec::new();
    for name in names {
        if name == RuntimeName::Fathomp {
            for subject in subjects {
                if let Ok(path) = &subject.program {
                    program::examine(&[path.clone().into()])?;
                }
            }
        }
        let runtime = match name {
            RuntimeName::Fathomp => ours.clone(),
            RuntimeName::System => Runtime::linked("system"),
        };
        settings.extend(plan.threads.0.iter().map(|threads| Setting {
            runtime: runtime.clone(),
            nodes: cluster.map_or(1, |cluster| cluster.nodes.into()),
            threads_per_node: *threads,
        }));
    }
    Ok(settings)
}

fn run_all(subject: &mut Subject<'_>, settings: &[Setting], plan: &Verify) {
    let Ok(program) = &subject.program else {
        return;
    };
    let (class, size) = (plan.sizing.class(), plan.sizing.data_set());
    let arguments = subject.workload.size_arguments(class, size);
    if !plan.force
        && let Err(failure) = memory::check(subject.workload, class, size, program, &arguments)
    {
        subject.program = Err(failure.sentence);
        return;
    }
    for setting in settings {
        let trial = Trial {
            program,
            arguments: &arguments,
            runtime: &setting.runtime,
            threads: setting.threads(),
            limit: plan.timeout.0,
        };
        subject
            .runs
            .push(trial.run().map_err(|error| error.to_string()));
    }
}

/// The checksum of the serial program.
fn reference(workload: &Workload, program: &Path, plan: &Verify) -> Result<f64, String> {
    let (class, size) = (plan.sizing.class(), plan.sizing.data_set());
    let trial = Trial {
        program,
        arguments: &workload.size_arguments(class, size),
        runtime: &Runtime::linked("serial"),
        threads: 1,
        limit: plan.timeout.0,
    };
    let answer = trial
        .run()
        .map_err(|error| format!("the serial program: {error}"))?;
    answer
        .checksum
        .ok_or_else(|| "the serial program: it gave no finite checksum".to_owned())
}

fn judge(
    subject: &Subject<'_>,
    reference: Option<&Result<f64, String>>,
    settings: &[Setting],
    plan: &Verify,
) -> Row {
    let runs = settings.iter().zip(&subject.runs).map(|(setting, run)| {
        let found = run.as_ref().map_err(Clone::clone).and_then(|answer| {
            let serial = match reference {
                Some(Ok(checksum)) => Some(*checksum),
                Some(Err(why)) if answer.verified.is_none() => return Err(why.clone()),
                _ => None,
            };
            check(answer, setting.threads(), serial).map_err(|wrong| wrong.to_string())
        });
        RunRow {
            runtime: setting.runtime.name.clone(),
            nodes: setting.nodes,
            threads: setting.threads_per_node,
            seconds: run.as_ref().ok().and_then(|answer| answer.seconds),
            right: found.is_ok(),
            problem: found.err(),
        }
    });
    Row {
        name: subject.workload.full_name(),
        size: subject
            .workload
            .size(plan.sizing.class(), plan.sizing.data_set()),
        runs: runs.collect(),
        problem: subject.program.as_ref().err().cloned(),
    }
}
