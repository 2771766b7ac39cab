//! `fathomp predict`: time and speedup at other numbers of threads, and on
//! clusters.

use super::cluster;
use crate::args::{Fractions, Predict, Sdp, SdpModel};
use crate::console::{Console, print};
use crate::failure::{Failure, Outcome, exit};
use crate::load::{self, Target};
use fathomp_diagnosis::{Diagnosis, Soundness};
use fathomp_predict::counts::Counted;
use fathomp_predict::prices::Cluster;
use fathomp_predict::published::{self, F, Model};
use fathomp_predict::validate::Priced;
use fathomp_predict::{Outcome as Predicted, Question};
use fathomp_report::{Input, text};
use std::path::Path;

pub(super) fn predict(plan: &Predict, console: Console) -> Outcome {
    if plan.evaluating.evaluate || plan.evaluating.load.is_some() {
        return super::evaluate::evaluate_on(plan, console);
    }
    let at = plan.at.clone().map(|list| list.0).unwrap_or_default();
    if let Some(validated) = cluster::validate_on_hosts(plan, console)? {
        return answer(&validated, console, None);
    }
    if plan.validate {
        return answer(&beside_observed(plan)?, console, None);
    }
    if let Some(cluster) = &plan.sdp.cluster {
        return on_cluster(plan, cluster, at, console);
    }
    let target = target(plan)?;
    let analyses = load::analyses(&plan.recordings, target.machine.as_ref())?;
    let soundness = Soundness::of(&analyses);
    if let Some(sentence) = soundness.broken {
        return Err(Failure::new(sentence));
    }
    let predicted = load::predict(&analyses, &target, at)?;
    let verdict = Input {
        analyses: &analyses,
        prediction: predicted.threads(),
        machine: target.machine.as_ref(),
        ..Input::default()
    }
    .conclude(soundness);
    answer(&predicted, console, Some(&verdict.diagnosis))
}

/// On a cluster, by replaying accesses where they were recorded, else by a published model.
fn on_cluster(plan: &Predict, name: &Path, at: Vec<u32>, console: Console) -> Outcome {
    let prices = Cluster::find(name)?;
    if let Some(code) = cluster::forecast(plan, &prices, console)? {
        return Ok(code);
    }
    let model = plan.sdp.model.unwrap_or(SdpModel::SdpCrit);
    let answered = answer(&by_published(plan, &prices, model, at)?, console, None);
    if plan.sdp.model.is_none() && cluster::CAN_REPLAY {
        console.say(
            "this is the published critical-path model: what was recorded by `fathomp record --nodes N --accesses` is replayed instead, which also knows what nodes wait for each other",
        );
    }
    answered
}

fn target(plan: &Predict) -> Result<Target, Failure> {
    Ok(Target {
        machine: load::machine(plan.machine.as_deref())?,
        cores: plan.cores,
    })
}

/// Predictions held against what was observed.
fn beside_observed(plan: &Predict) -> Result<Predicted, Failure> {
    let find = |name| Cluster::find(name).map_err(|error| Failure::of(&error));
    let cluster = plan.sdp.cluster.as_deref().map(find).transpose()?;
    let priced = cluster.as_ref().map(|cluster| Priced {
        cluster,
        protocol: plan.sdp.dsm,
        diff_bytes: plan.sdp.diff_bytes,
        counted: None,
    });
    if let (Some(file), Some(priced)) = (&plan.sdp.counts, priced) {
        let counted = Counted::read(file)?;
        return load::ask(&Question::ObservedCounts {
            counted: &counted,
            priced,
        });
    }
    let target = target(plan)?;
    let analyses = load::analyses(&plan.recordings, target.machine.as_ref())?;
    load::compare(&analyses, &target, priced)
}

/// A published model's answer.
fn by_published(
    plan: &Predict,
    cluster: &Cluster,
    model: SdpModel,
    at: Vec<u32>,
) -> Result<Predicted, Failure> {
    let model = match model {
        SdpModel::SdpCrit => Model::Critical,
        SdpModel::SdpAgg => Model::Aggregate,
    };
    let asked = question(&plan.sdp, model, at)?;
    load::ask(&Question::Published {
        counted: &counted(plan)?,
        cluster,
        asked: &asked,
    })
}

/// The counts of a file or of recordings.
fn counted(plan: &Predict) -> Result<Counted, Failure> {
    if let Some(file) = &plan.sdp.counts {
        return Counted::read(file).map_err(|error| Failure::of(&error));
    }
    let analyses = load::analyses(&plan.recordings, None)?;
    let analyses: Vec<_> = analyses.iter().collect();
    let sequential_ns = plan.sdp.sequential.map(|time| time.0.as_secs_f64() * 1e9);
    Counted::from_analyses(&analyses, sequential_ns).map_err(|error| Failure::of(&error))
}

fn question(plan: &Sdp, model: Model, at: Vec<u32>) -> Result<published::Question, Failure> {
    if model == Model::Critical && plan.serial_fraction.is_some() {
        return Err(Failure::new(
            "the critical-path model has no f: leave --serial-fraction out, or ask for --model sdp-agg",
        )
        .with_code(exit::USAGE));
    }
    Ok(published::Question {
        model,
        protocol: plan.dsm,
        f: plan
            .serial_fraction
            .clone()
            .map_or(F::Published, |Fractions(f)| f),
        at,
        diff_bytes: plan.diff_bytes,
    })
}

/// Answers carry their own schema and version. The diagnosis says why threads stop helping.
fn answer(predicted: &Predicted, console: Console, diagnosis: Option<&Diagnosis>) -> Outcome {
    if console.json {
        print(&(serde_json::to_string_pretty(predicted)? + "\n"))?;
        return Ok(0);
    }
    let width = console.width();
    print(&match predicted {
        Predicted::Threads(prediction) => {
            let none = Diagnosis::default();
            text::prediction(prediction, diagnosis.unwrap_or(&none), width)
        }
        Predicted::Published(predicted) => text::sdp(predicted, width),
        Predicted::Observed(validated) => text::validation(validated, width),
    })?;
    Ok(0)
}
