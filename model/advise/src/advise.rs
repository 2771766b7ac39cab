//! All that is known of a program to advice for each of its regions.

use crate::advice::{Advice, Basis, ModuleNote, RegionAdvice, SCHEMA, VERSION};
use crate::choose::{Choosing, choose};
use crate::join::{Evidence, Subject, subjects};
use crate::model::GUESSED_MOST;
use crate::target::Target;
use crate::words;
use crate::work::trips;
use fathomp_regions::Expr;
use fathomp_score::Weights;

/// Why nothing can be advised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdviseError {
    /// No region anywhere.
    #[error(
        "there is no parallel region in what was given; record a run of an OpenMP program with `fathomp record`, or scan its binary with `fathomp scan`"
    )]
    NoRegions,
    /// Recordings on several nodes.
    #[error(
        "this is a recording of {0} nodes, and advice is about the threads of one machine; record the program without --nodes"
    )]
    Nodes(u32),
    /// Nothing says how much the regions do.
    #[error(
        "nothing says how much {0} do: their loops are not known well enough from what was given, and no run was recorded; record one with `fathomp record --threads 1`"
    )]
    Unknown(String),
    /// A machine nobody knows.
    #[error("a program cannot be advised to use 0 threads; ask for 1 or more with --at")]
    ZeroThreads,
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// Numbers of threads to show predictions for; empty: a readable few.
    pub at: Vec<u32>,
    /// Weights of the published score.
    pub weights: Weights,
    /// How to choose.
    pub choosing: Choosing,
}

/// Advises on each outermost parallel region of a program.
///
/// # Errors
/// See [`AdviseError`].
pub fn advise(
    evidence: Evidence<'_>,
    target: &Target,
    question: &Question,
) -> Result<Advice, AdviseError> {
    if question.at.contains(&0) {
        return Err(AdviseError::ZeroThreads);
    }
    if let Some(nodes) = evidence.analyses.iter().map(|one| one.program.nodes).max()
        && nodes > 1
    {
        return Err(AdviseError::Nodes(nodes));
    }
    let mut at = target.candidates();
    at.extend(&question.at);
    at.sort_unstable();
    at.dedup();
    let subjects = subjects(evidence, target, &at, &question.weights);
    if subjects.is_empty() {
        return Err(AdviseError::NoRegions);
    }
    let (subjects, unknown): (Vec<_>, Vec<_>) = subjects.into_iter().partition(is_known);
    let unknown = names(&unknown);
    if subjects.is_empty() {
        return Err(AdviseError::Unknown(unknown));
    }
    let mut notes = notes(&evidence, target);
    if !unknown.is_empty() {
        notes.push(format!(
            "Nothing is advised for {unknown}: how much they do is not known from their code alone."
        ));
    }
    let mut modules: Vec<ModuleNote> = Vec::new();
    let regions = subjects
        .iter()
        .map(|subject| region(subject, target, question, &mut modules))
        .collect();
    Ok(Advice {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        program: program(&evidence),
        modules,
        machine: target.note(),
        regions,
        notes,
    })
}

/// Whether anything says how much a region does: its time, or the loops of its code. What
/// follows from guesses alone would be advice about the guess.
fn is_known(subject: &Subject<'_>) -> bool {
    let profile = &subject.profile;
    let work = profile.work.as_ref();
    profile.timed.is_some() || work.is_some_and(|work| work.guessed <= GUESSED_MOST)
}

/// The first few regions by name, and how many more there are.
fn names(subjects: &[Subject<'_>]) -> String {
    const NAMED: usize = 5;
    let names = subjects.iter().map(|one| &one.name[..]);
    let mut names: Vec<String> = names.take(NAMED).map(str::to_owned).collect();
    if subjects.len() > NAMED {
        names.push(format!("{} more regions", subjects.len() - NAMED));
    }
    names.join(", ")
}

fn program(evidence: &Evidence<'_>) -> String {
    if let Some(analysis) = evidence.analyses.first() {
        return analysis.program.name.clone();
    }
    let modules = evidence.regions.map(|regions| &regions.modules);
    let module = modules.and_then(|modules| modules.first());
    module.map_or(String::new(), |module| {
        let name = module.path.rsplit('/').next();
        name.unwrap_or_default().to_owned()
    })
}

fn notes(evidence: &Evidence<'_>, target: &Target) -> Vec<String> {
    let mut notes = target.assumptions.clone();
    let disturbed = evidence
        .analyses
        .iter()
        .filter(|one| one.program.disturbed());
    let disturbed = disturbed.count();
    if disturbed > 0 {
        notes.push(format!(
            "Other programs took much of the processors during {disturbed} of {} recordings: times of those are doubtful.",
            evidence.analyses.len()
        ));
    }
    match (evidence.analyses.is_empty(), evidence.regions) {
        (true, Some(_)) => notes.push(
            "Nothing was recorded: advice is relative, and its confidence low. `fathomp record` with one thread makes it much better.".to_owned(),
        ),
        (false, None) => notes.push(
            "Nothing was scanned: what memory costs, and how work divides, is guessed. Give the program, too, or keep its binary where it was recorded.".to_owned(),
        ),
        _ => {}
    }
    if let Some(regions) = evidence.regions {
        notes.extend(regions.problems.iter().cloned());
    }
    notes
}

fn region(
    subject: &Subject<'_>,
    target: &Target,
    question: &Question,
    modules: &mut Vec<ModuleNote>,
) -> RegionAdvice {
    let profile = &subject.profile;
    let choice = choose(profile, target, &question.choosing, &question.at);
    let body = subject.scanned.and_then(|region| region.body.as_ref());
    let module = subject.module.as_ref().map(|module| {
        match modules.iter().position(|known| known == module) {
            Some(index) => index,
            None => {
                modules.push(module.clone());
                modules.len() - 1
            }
        }
    });
    // Steps are for executions that differ.
    let trips = body
        .and_then(trips)
        .filter(|trips| choice.steps.len() > 1 && !matches!(trips, Expr::Const(_)));
    let work = profile.work.as_ref();
    RegionAdvice {
        name: subject.name.clone(),
        place: subject.place.clone(),
        module,
        address: subject.address,
        symbol: body.and_then(|body| body.symbol.clone()),
        steps: match trips {
            Some(_) => choice.steps.clone(),
            // Nobody could tell which step holds.
            None => vec![crate::advice::Step {
                from_trips: 0,
                from_iterations: None,
                threads: choice.advised.threads,
            }],
        },
        trips,
        advised: choice.advised,
        loss: choice.loss,
        points: choice.points.clone(),
        saturates_at: choice.saturates_at,
        score: subject.score,
        weight: subject.weight,
        asks_bytes_per_s: profile.asks_bytes_per_s(),
        confidence: choice.confidence,
        basis: Basis {
            scanned: body.is_some(),
            facts: profile.facts,
            measured_threads: profile
                .timed
                .map_or(0, |timed| timed.threads.round() as u32),
            measured_counts: profile.measured_counts,
            executions: profile.timed.map_or(0, |timed| timed.executions),
            trips: work
                .filter(|_| profile.facts)
                .map(|work| work.trips.clamp(0.0, 1e18) as u64),
            iterations: work
                .filter(|work| profile.facts && work.divided >= 1.0)
                .map(|work| work.divided.clamp(0.0, 1e18) as u64),
            absolute: profile.timed.is_some(),
        },
        reason: words::reason(&choice, profile, target),
        doubts: words::doubts(&choice, profile, target),
    }
}
