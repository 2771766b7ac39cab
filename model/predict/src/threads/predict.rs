//! The whole prediction, step by step.

use super::baselines;
use super::crowded::{self, fitting};
use super::forecast::{Forecast, INTERVAL, ratio};
use super::held_out;
use super::model::Setting;
use super::options::Options;
use super::outcome::{Measured, Point, Prediction, RegionPrediction, SCHEMA, VERSION};
use super::peace;
use super::program::Terms1;
use super::terms::Term;
use super::words;
use crate::recorded::{Group, MOST_THREADS, PredictError, Runs};
use fathomp_analysis::Analysis;
use fathomp_stats::quantile;
use std::collections::BTreeMap;

/// Predicts how the program of these recordings scales.
///
/// Recordings with the same thread count are repetitions. One recording is
/// enough for an answer, with wider intervals and a warning.
///
/// # Errors
/// If there is nothing to predict from, the recordings are of different
/// programs or builds, or a thread count asked for cannot be.
pub fn predict(analyses: &[&Analysis], options: &Options) -> Result<Prediction, PredictError> {
    let runs = Runs::new(analyses)?;
    let present = present(&runs, options);
    let crowd = crowded::crowd(&runs, present);
    let cores = match crowd {
        // What binds threads to few processors, or makes many of them, does so on a
        // larger machine too; what it would do there nobody has seen.
        Some(crowd) => crowd.processors.min(present),
        None => options.cores.unwrap_or(horizon(present)),
    };
    let cores = cores.clamp(1, MOST_THREADS);
    let at = thread_counts(&options.at, &runs, cores)?;
    let setting = Setting {
        machine: options.machine.as_ref(),
        cores: f64::from(cores),
    };
    // A larger machine to predict for gave the recordings no processor more.
    let recorded = match runs.processors() {
        0 => cores,
        processors => processors.min(cores),
    };
    let (groups, left_out) = fitting(&runs.groups, recorded);
    let peaceful = peace::peaceful(groups)?;
    let groups = &peaceful[..];
    let forecast = Forecast::new(&runs, groups, setting, options);
    let forecast = match &crowd {
        Some(crowd) => forecast.crowded(crowded::fewest(crowd, groups)),
        None => forecast,
    };

    let mut warnings = runs.warnings.clone();
    warnings.extend(peace::left_out(&runs.groups, groups, recorded));
    let fit = Fit {
        groups,
        left_out,
        recorded,
    };
    doubts(&mut warnings, &runs, &fit, cores, options, &at);

    let mut points = forecast.points(&at, &runs, &|terms| terms.program(options.terms));
    let typical: Vec<(u32, f64)> = groups.iter().map(|g| (g.threads, g.typical())).collect();
    no_faster_than_threads(&mut points, &typical);
    let program_dominating = at.last().and_then(|&threads| {
        let terms = forecast.central_at(threads).program(options.terms);
        words::dominating(&terms, threads)
    });
    let limit = cores.max(1);
    let best = forecast.best(limit, options.worthwhile, &|terms| {
        terms.program(options.terms).iter().sum()
    });
    let serial = serial_prediction(&forecast, &runs, &at, options);
    let regions = region_predictions(&forecast, &runs, &at, limit, options);

    let mut sentences = Vec::new();
    if let Some(last) = points.last() {
        if let Some(most) = groups.last() {
            sentences.push(words::measured(&groups[0], most));
        }
        sentences.push(words::program(last));
        sentences.extend(words::assumption(&at, present, cores, runs.on_hosts()));
        sentences.extend(crowd.map(|crowd| words::crowded(&crowd)));
        sentences.push(words::stop(best, limit, last, options.worthwhile));
    }
    let validation = held_out::validate(&runs, groups, setting, options);
    if let Some(validation) = &validation {
        sentences.push(held_out::sentence(validation));
    }
    Ok(Prediction {
        schema: SCHEMA,
        version: VERSION,
        program: runs.program.clone(),
        terms: options.terms,
        interval: INTERVAL,
        cores,
        cores_present: present,
        crowd,
        measured: measurements(&runs, &forecast),
        points,
        dominating: program_dominating,
        best_threads: best,
        serial,
        regions,
        baselines: baselines::all(&typical, &at),
        validation,
        sentences,
        warnings,
    })
}

/// Processors the machine has: the described one, else the recorded one.
fn present(runs: &Runs<'_>, options: &Options) -> u32 {
    let described = options.machine.as_ref().map(|machine| machine.cores);
    // A machine that is described is one of the hosts.
    let described = described.filter(|_| !runs.on_hosts());
    match described.unwrap_or_else(|| runs.processors()) {
        // Nobody knows: as many as were used.
        0 => runs.groups.iter().map(|g| g.threads).max().unwrap_or(1),
        known => known.min(MOST_THREADS),
    }
}

/// Processors to predict for where none are asked for: what can be measured
/// on a machine says most about the next larger ones.
#[must_use]
pub fn horizon(present: u32) -> u32 {
    present.saturating_mul(2).max(8)
}

/// The thread counts asked for, in order; if none, powers of two up to the
/// processors, the processors, and what was measured.
fn thread_counts(asked: &[u32], runs: &Runs<'_>, cores: u32) -> Result<Vec<u32>, PredictError> {
    let mut at: Vec<u32> = asked.to_vec();
    if at.is_empty() {
        at.extend((0..16).map(|n| 1 << n).filter(|p| *p <= cores.min(4096)));
        at.push(cores);
        at.extend(runs.groups.iter().map(|group| group.threads));
    }
    if at.contains(&0) {
        return Err(PredictError::ZeroThreads);
    }
    if let Some(&many) = at.iter().find(|p| **p > MOST_THREADS) {
        return Err(PredictError::TooManyThreads(many));
    }
    at.sort_unstable();
    at.dedup();
    Ok(at)
}

/// What the model is fitted to.
struct Fit<'a, 'b> {
    groups: &'b [Group<'a>],
    /// There are others.
    left_out: bool,
    /// Processors the recordings had.
    recorded: u32,
}

fn serial_prediction(
    forecast: &Forecast<'_>,
    runs: &Runs<'_>,
    at: &[u32],
    options: &Options,
) -> RegionPrediction {
    let part = |terms: &Terms1| {
        let mut all = [0.0; Term::COUNT];
        if options.terms.contains(Term::Serial) {
            all[Term::Serial as usize] = terms.serial;
        }
        if options.terms.contains(Term::Blocked) {
            all[Term::Blocked as usize] = terms.serial_blocked;
        }
        all
    };
    let measured: Vec<(u32, f64)> = runs
        .groups
        .iter()
        .map(|group| {
            let run = group.typical_run();
            (group.threads, run.serial + run.serial_blocked)
        })
        .collect();
    let mut points = forecast.points(at, runs, &part);
    for point in &mut points {
        point.measured_ns = point
            .measured_ns
            .and_then(|_| at_count(&measured, point.threads));
        point.undisturbed_ns = point.measured_ns;
    }
    let threads = at.last().copied().unwrap_or(1);
    let dominating = words::dominating(&part(&forecast.central_at(threads)), threads);
    let last = points.last();
    let program: f64 = forecast
        .central_at(threads)
        .program(options.terms)
        .iter()
        .sum();
    let share = last.map_or(0.0, |point| ratio(point.time_ns, program.max(1.0)));
    let sentence = format!(
        "the serial part is {} of the time with {}",
        words::percent(share),
        words::threads(threads)
    );
    RegionPrediction {
        key: "serial".to_owned(),
        name: "serial part".to_owned(),
        measured,
        points,
        best_threads: 1,
        stops: true,
        dominating,
        sentence,
    }
}

fn region_predictions(
    forecast: &Forecast<'_>,
    runs: &Runs<'_>,
    at: &[u32],
    limit: u32,
    options: &Options,
) -> Vec<RegionPrediction> {
    let mut regions: Vec<RegionPrediction> = forecast
        .central
        .regions
        .keys()
        .map(|key| {
            let part = |terms: &Terms1| {
                terms
                    .regions
                    .get(key)
                    .copied()
                    .unwrap_or([0.0; Term::COUNT])
            };
            let measured: Vec<(u32, f64)> = runs
                .groups
                .iter()
                .filter_map(|group| {
                    let times: Vec<f64> = group
                        .runs
                        .iter()
                        .filter_map(|run| Some(run.regions.get(key)?.time))
                        .collect();
                    Some((group.threads, quantile(&times, 0.5)?))
                })
                .collect();
            let mut points = forecast.points(at, runs, &part);
            for point in &mut points {
                point.measured_ns = point
                    .measured_ns
                    .and_then(|_| at_count(&measured, point.threads));
            }
            no_faster_than_threads(&mut points, &measured);
            let time = |terms: &Terms1| part(terms).iter().sum::<f64>();
            let best = forecast.best(limit, options.worthwhile, &time);
            let stops = best < limit;
            // One thread loses nothing: what it would lose shows with two.
            let shown = best.max(2).min(limit.max(1));
            let terms = part(&forecast.central_at(shown));
            let dominating = words::dominating(&terms, shown);
            let speedup = ratio(
                time(&forecast.central_at(1)),
                time(&forecast.central_at(best)),
            );
            let seen = measured.iter().any(|(threads, _)| *threads > 1);
            let name = runs.names.get(key).cloned().unwrap_or_else(|| key.clone());
            RegionPrediction {
                sentence: words::region(&name, best, stops, speedup, seen),
                key: key.clone(),
                name,
                measured,
                points,
                best_threads: best,
                stops,
                dominating,
            }
        })
        .collect();
    let last = |region: &RegionPrediction| region.points.last().map_or(0.0, |p| p.time_ns);
    regions.sort_by(|a, b| last(b).total_cmp(&last(a)).then_with(|| a.key.cmp(&b.key)));
    regions
}

/// Takes back what is predicted to be more times as fast as it has threads, unless so much was
/// measured: where all threads together have more cache.
fn no_faster_than_threads(points: &mut [Point], measured: &[(u32, f64)]) {
    let Some(&(1, one)) = measured.first() else {
        return;
    };
    let each = measured.iter().map(|(p, time)| one / time / f64::from(*p));
    let each = each.filter(|each| each.is_finite()).fold(1.0, f64::max);
    for point in points {
        let most = each * f64::from(point.threads);
        let factor = (point.speedup / most).max(1.0);
        point.speedup /= factor;
        point.time_ns *= factor;
        for term in &mut point.terms {
            term.time_ns *= factor;
        }
        point.high_ns = point.high_ns.max(point.time_ns);
        point.speedup_low = point.speedup_low.min(point.speedup);
        point.speedup_high = point.speedup_high.min(most).max(point.speedup);
    }
}

fn at_count(measured: &[(u32, f64)], threads: u32) -> Option<f64> {
    let found = measured.iter().find(|(count, _)| *count == threads);
    found.map(|(_, time)| *time)
}

fn measurements(runs: &Runs<'_>, forecast: &Forecast<'_>) -> Vec<Measured> {
    let one = match runs.groups.first() {
        Some(group) if group.threads == 1 => group.typical(),
        _ => forecast.central_at(1).program(forecast.terms).iter().sum(),
    };
    let base = runs
        .groups
        .first()
        .map(|group| group.typical_run().analysis);
    runs.groups
        .iter()
        .map(|group| {
            let analysis = group.typical_run().analysis;
            let typical = group.typical();
            let against = |value: &dyn Fn(&Analysis) -> Option<f64>| {
                let (first, this) = (value(base?)?, value(analysis)?);
                (first > 0.0 && this > 0.0).then_some(first / this)
            };
            let useful = |a: &Analysis| Some(a.states.useful_ns() as f64);
            let computation = against(&useful).unwrap_or(1.0);
            let instructions = |a: &Analysis| a.counts.instructions;
            let cycles_each =
                |a: &Analysis| Some(a.counts.cycles? / a.counts.instructions.filter(|n| *n > 0.0)?);
            Measured {
                threads: group.threads,
                runs_ns: group.runs.iter().map(|run| run.wall as u64).collect(),
                median_ns: typical,
                speedup: ratio(one, typical),
                efficiency: ratio(one, typical) / f64::from(group.threads.max(1)),
                pop: analysis.efficiency,
                computation_scalability: computation,
                global_efficiency: analysis.efficiency.parallel * computation,
                ipc_scalability: against(&cycles_each),
                instruction_scalability: against(&instructions),
            }
        })
        .collect()
}

/// What makes the prediction doubtful.
fn doubts(
    warnings: &mut Vec<String>,
    runs: &Runs<'_>,
    fit: &Fit<'_, '_>,
    cores: u32,
    options: &Options,
    at: &[u32],
) {
    let groups = fit.groups;
    let mut say = |sentence: String| warnings.push(sentence);
    match groups {
        [only] if only.threads == 1 => say(
            "There is only a recording with 1 thread: it shows neither imbalance nor waiting, so the prediction is the best case and the interval is what usually comes on top; record with more threads too.".to_owned(),
        ),
        [only] => say(format!(
            "There are only recordings with {}: how the work grows with threads is a guess; record with 1 thread too.",
            words::threads(only.threads)
        )),
        _ => {}
    }
    if runs.keys().is_empty() {
        say("The program has no parallel region, so more threads change nothing.".to_owned());
    }
    if options.machine.is_none() {
        say("No machine description was given: what constructs cost and when memory saturates is extrapolated from the recordings; `fathomp calibrate` measures it.".to_owned());
    }
    if let Some(machine) = &options.machine {
        let recorded = &groups[0].runs[0].analysis.program.machine;
        let differs = !machine.cpu_model.is_empty()
            && !recorded.cpu_model.is_empty()
            && machine.cpu_model != recorded.cpu_model;
        if differs {
            say(format!(
                "The program was recorded on \"{}\" and is predicted for \"{}\": application code is assumed to run at the same speed.",
                recorded.cpu_model, machine.cpu_model
            ));
        }
    }
    if let Some(shared) = options.machine.as_ref().and_then(|m| m.threads_per_core)
        && shared > 1
    {
        let physical = (cores / shared).max(1);
        let beyond = at.iter().any(|p| *p > physical && *p <= cores);
        let shown = groups.iter().any(|group| group.threads > physical);
        if beyond && !shown {
            say(format!(
                "Beyond {} two threads share a core, which no recording shows: expect less than predicted.",
                words::threads(physical)
            ));
        }
    }
    let recorded = fit.recorded;
    if fit.left_out {
        say(format!(
            "Recordings with more threads than the {recorded} processors were not used for the model."
        ));
    } else if groups.iter().any(|group| group.threads > recorded) {
        say(format!(
            "All recordings have more threads than the {recorded} processors: their waits include time without a processor, and the prediction is unreliable."
        ));
    }
    let largest = groups.last().map_or(1, |group| group.threads);
    if let Some(&far) = at.last()
        && far > 4 * largest
        && groups.len() > 1
    {
        say(format!(
            "{far} threads are far beyond the {largest} that were measured; take it as a tendency."
        ));
    }
    let mut worst: BTreeMap<u32, f64> = BTreeMap::new();
    for group in groups {
        if group.runs.len() >= 2 && group.noise > 0.1 {
            worst.insert(group.threads, group.noise);
        }
    }
    if let Some((threads, noise)) = worst.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        say(format!(
            "Runs with {} differ by {} from one to the next; close other programs or repeat more often.",
            words::threads(threads),
            words::percent(noise)
        ));
    }
}
