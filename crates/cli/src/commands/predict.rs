//! `fathomp predict`: time and speedup at other numbers of threads, and on
//! clusters.

use crate::args::{Fractions, Predict, Sdp, SdpModel, ThreadCount, Without};
use crate::evidence::{self, Target};
use crate::failure::{Failure, Outcome, exit};
use crate::voice::{Voice, print};
use fathomp_predict::machine::Machine;
use fathomp_predict::sdp::{self, Cluster, Counted, F, Model, NodesQuestion, Question};
use fathomp_predict::{Options, validate};
use fathomp_report::{Input, text};
use serde::Serialize;
use std::path::Path;

pub(super) fn predict(plan: &Predict, voice: Voice) -> Outcome {
    if plan.evaluating.evaluate || plan.evaluating.from.is_some() {
        return super::evaluate::evaluate_on(plan, voice);
    }
    let at = plan.at.clone().map(|list| list.0).unwrap_or_default();
    if plan.validate {
        return validate(plan, voice);
    }
    if let (Some(model), Some(cluster)) = (plan.sdp.model, &plan.sdp.cluster) {
        let cluster = Cluster::find(cluster).map_err(|error| Failure::of(&error))?;
        let Some(model) = published(model) else {
            return nodes(plan, &cluster, &at, voice);
        };
        let question = question(&plan.sdp, model, at)?;
        let counted = counted(plan)?;
        let predicted =
            sdp::predict(&counted, &cluster, &question).map_err(|error| Failure::of(&error))?;
        return answer(&predicted, voice, text::sdp);
    }
    let target = Target {
        machine: machine(plan.machine.as_deref())?,
        cores: plan.cores,
    };
    let analyses = evidence::analyses(&plan.recordings, target.machine.as_ref())?;
    if let Some(sentence) = fathomp_report::broken(&analyses) {
        return Err(Failure::new(sentence));
    }
    let prediction = evidence::predict(&analyses, &target, at)?;
    let diagnosis = Input {
        analyses: &analyses,
        prediction: Some(&prediction),
        machine: target.machine.as_ref(),
        ..Input::default()
    }
    .diagnose();
    answer(&prediction, voice, |prediction, width| {
        text::prediction(prediction, &diagnosis, width)
    })
}

/// Predictions held against what was observed.
fn validate(plan: &Predict, voice: Voice) -> Outcome {
    let find = |name| Cluster::find(name).map_err(|error| Failure::of(&error));
    let cluster = plan.sdp.cluster.as_deref().map(find).transpose()?;
    let priced = cluster.as_ref().map(|cluster| validate::Priced {
        cluster,
        protocol: plan.sdp.dsm,
        diff_bytes: plan.sdp.diff_bytes,
        without: plan
            .sdp
            .without
            .map(|Without(terms)| terms)
            .unwrap_or_default(),
    });
    let options = Options {
        machine: machine(plan.machine.as_deref())?,
        cores: plan.cores.map(|ThreadCount(cores)| cores),
        ..Options::default()
    };
    let analyses = evidence::analyses(&plan.recordings, None)?;
    let analyses: Vec<_> = analyses.iter().collect();
    let validated = validate::validate(&analyses, &options, priced);
    let validated = validated.map_err(|error| Failure::of(&error))?;
    answer(&validated, voice, text::validation)
}

/// The published model that is meant, if it is one.
fn published(model: SdpModel) -> Option<Model> {
    match model {
        SdpModel::SdpCrit => Some(Model::Critical),
        SdpModel::SdpAgg => Some(Model::Aggregate),
        SdpModel::Nodes => None,
    }
}

/// Our model of nodes.
fn nodes(plan: &Predict, cluster: &Cluster, at: &[u32], voice: Voice) -> Outcome {
    let asked = &plan.sdp;
    if asked.counts.is_some() || asked.sequential.is_some() || asked.f.is_some() {
        return Err(Failure::new(
            "our model of nodes takes work and waiting from recordings with 1 thread and on nodes: give those, without --counts, --sequential or --f",
        )
        .with_code(exit::USAGE));
    }
    let question = NodesQuestion {
        cluster,
        protocol: asked.dsm,
        at,
        diff_bytes: asked.diff_bytes,
        without: asked
            .without
            .map(|Without(terms)| terms)
            .unwrap_or_default(),
    };
    let analyses = evidence::analyses(&plan.recordings, None)?;
    let analyses: Vec<_> = analyses.iter().collect();
    let predicted = sdp::predict_nodes(&analyses, &question);
    let predicted = predicted.map_err(|error| Failure::of(&error))?;
    answer(&predicted, voice, text::nodes)
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

fn question(plan: &Sdp, model: Model, at: Vec<u32>) -> Result<Question, Failure> {
    if model == Model::Critical && plan.f.is_some() {
        return Err(Failure::new(
            "the critical-path model has no f: leave --f out, or ask for --model sdp-agg",
        )
        .with_code(exit::USAGE));
    }
    Ok(Question {
        model,
        protocol: plan.dsm,
        f: plan.f.clone().map_or(F::Published, |Fractions(f)| f),
        at,
        diff_bytes: plan.diff_bytes,
    })
}

/// Answers carry their own schema and version.
fn answer<T: Serialize>(answer: &T, voice: Voice, words: impl Fn(&T, usize) -> String) -> Outcome {
    if voice.json {
        print(&(serde_json::to_string_pretty(answer)? + "\n"))?;
    } else {
        print(&words(answer, voice.width()))?;
    }
    Ok(0)
}

/// The machine to predict for, if the user named one.
pub(super) fn machine(path: Option<&Path>) -> Result<Option<Machine>, Failure> {
    path.map(|path| Machine::read(path).map_err(|error| Failure::of(&error)))
        .transpose()
}
