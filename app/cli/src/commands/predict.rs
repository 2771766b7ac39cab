//! `fathomp predict`: time and speedup at other numbers of threads, and on
//! clusters.

use crate::args::{Fractions, Predict, Sdp, SdpModel};
use crate::evidence::{self, Target};
use crate::failure::{Failure, Outcome, exit};
use crate::hosts::Across;
use crate::voice::{Voice, print};
use fathomp_diagnosis::Diagnosis;
use fathomp_predict::counts::Counted;
use fathomp_predict::nodes::NodesQuestion;
use fathomp_predict::prices::Cluster;
use fathomp_predict::published::{self, F, Model};
use fathomp_predict::validate::Priced;
use fathomp_predict::{Outcome as Predicted, Question};
use fathomp_report::{Input, text};

pub(super) fn predict(plan: &Predict, voice: Voice) -> Outcome {
    if plan.evaluating.evaluate || plan.evaluating.load.is_some() {
        return super::evaluate::evaluate_on(plan, voice);
    }
    let at = plan.at.clone().map(|list| list.0).unwrap_or_default();
    if let Some(across) = Across::of(&plan.on)? {
        return answer(
            &super::predict_hosts::validate(plan, &across, voice)?,
            voice,
            None,
        );
    }
    if plan.validate {
        return answer(&beside_observed(plan)?, voice, None);
    }
    if let (Some(model), Some(cluster)) = (plan.sdp.model, &plan.sdp.cluster) {
        let cluster = Cluster::find(cluster).map_err(|error| Failure::of(&error))?;
        let predicted = match published(model) {
            Some(model) => by_published(plan, &cluster, model, at)?,
            None => by_nodes(plan, &cluster, &at)?,
        };
        return answer(&predicted, voice, None);
    }
    let target = target(plan)?;
    let analyses = evidence::analyses(&plan.recordings, target.machine.as_ref())?;
    if let Some(sentence) = fathomp_report::broken(&analyses) {
        return Err(Failure::new(sentence));
    }
    let predicted = evidence::predict(&analyses, &target, at)?;
    let diagnosis = Input {
        analyses: &analyses,
        prediction: predicted.threads(),
        machine: target.machine.as_ref(),
        ..Input::default()
    }
    .diagnose();
    answer(&predicted, voice, Some(&diagnosis))
}

fn target(plan: &Predict) -> Result<Target, Failure> {
    Ok(Target {
        machine: evidence::machine(plan.machine.as_deref())?,
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
        without: plan.sdp.left_out(),
        counted: None,
    });
    if let (Some(file), Some(priced)) = (&plan.sdp.counts, priced) {
        let counted = Counted::read(file).map_err(|error| Failure::of(&error))?;
        return evidence::ask(&Question::ObservedCounts {
            counted: &counted,
            priced,
        });
    }
    let target = target(plan)?;
    let analyses = evidence::analyses(&plan.recordings, target.machine.as_ref())?;
    evidence::compare(&analyses, &target, priced)
}

/// The published model that is meant, if it is one.
fn published(model: SdpModel) -> Option<Model> {
    match model {
        SdpModel::SdpCrit => Some(Model::Critical),
        SdpModel::SdpAgg => Some(Model::Aggregate),
        SdpModel::Nodes => None,
    }
}

/// A published model's answer.
fn by_published(
    plan: &Predict,
    cluster: &Cluster,
    model: Model,
    at: Vec<u32>,
) -> Result<Predicted, Failure> {
    let asked = question(&plan.sdp, model, at)?;
    evidence::ask(&Question::Published {
        counted: &counted(plan)?,
        cluster,
        asked: &asked,
    })
}

/// Our model of nodes' answer.
fn by_nodes(plan: &Predict, cluster: &Cluster, at: &[u32]) -> Result<Predicted, Failure> {
    let asked = &plan.sdp;
    if asked.counts.is_some() || asked.sequential.is_some() || asked.serial_fraction.is_some() {
        return Err(Failure::new(
            "our model of nodes takes work and waiting from recordings with 1 thread and on nodes: give those, without --counts, --sequential or --serial-fraction",
        )
        .with_code(exit::USAGE));
    }
    let analyses = evidence::analyses(&plan.recordings, None)?;
    let analyses: Vec<_> = analyses.iter().collect();
    evidence::ask(&Question::Nodes {
        analyses: &analyses,
        asked: NodesQuestion {
            cluster,
            protocol: asked.dsm,
            at,
            diff_bytes: asked.diff_bytes,
            without: asked.left_out(),
        },
    })
}

/// The counts of a file or of recordings.
fn counted(plan: &Predict) -> Result<Counted, Failure> {
    if let Some(file) = &plan.sdp.counts {
        return Counted::read(file).map_err(|error| Failure::of(&error));
    }
    let analyses = evidence::analyses(&plan.recordings, None)?;
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
fn answer(predicted: &Predicted, voice: Voice, diagnosis: Option<&Diagnosis>) -> Outcome {
    if voice.json {
        print(&(serde_json::to_string_pretty(predicted)? + "\n"))?;
        return Ok(0);
    }
    let width = voice.width();
    print(&match predicted {
        Predicted::Threads(prediction) => {
            let none = Diagnosis::default();
            text::prediction(prediction, diagnosis.unwrap_or(&none), width)
        }
        Predicted::Published(predicted) => text::sdp(predicted, width),
        Predicted::Nodes(predicted) => text::nodes(predicted, width),
        Predicted::Observed(validated) => text::validation(validated, width),
    })?;
    Ok(0)
}
