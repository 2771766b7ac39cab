//! What would be predicted for the program.

use super::{MODELS, Model, SERIAL_MS, analysis, wall_ns};
use fathomp_predict::{
    Baseline, Dominating, Measured, Point, Prediction, RegionPrediction, Term, TermTime, Terms,
    Validation,
};

fn point(threads: u32, measured_max: u32, one_ns: f64, terms: &[(Term, f64)]) -> Point {
    let time_ns: f64 = terms.iter().map(|(_, ns)| ns).sum();
    let width = 0.02 + 0.02 * f64::from(threads.saturating_sub(measured_max));
    let (low_ns, high_ns) = (time_ns * (1.0 - width), time_ns * (1.0 + 1.5 * width));
    Point {
        threads,
        time_ns,
        low_ns,
        high_ns,
        speedup: one_ns / time_ns,
        speedup_low: one_ns / high_ns,
        speedup_high: one_ns / low_ns,
        terms: terms
            .iter()
            .map(|(term, time_ns)| TermTime {
                term: *term,
                time_ns: *time_ns,
            })
            .collect(),
        undisturbed_ns: None,
        measured_ns: (threads <= measured_max && threads.is_power_of_two())
            .then_some(time_ns * 1.01),
        extrapolated: threads > measured_max,
        oversubscribed: threads > 16,
    }
}

fn terms(model: &Model, threads: u32) -> Vec<(Term, f64)> {
    let costs = model.costs(threads);
    let p = f64::from(threads);
    let mean = costs.compute_ns.iter().sum::<f64>() / p;
    let most = costs.compute_ns.iter().copied().fold(0.0, f64::max);
    let ideal = model.work_ms * 1e6 / p;
    vec![
        (Term::Work, ideal),
        (Term::Imbalance, most - mean),
        (Term::Mutex, costs.critical_ns),
        (Term::Overhead, costs.overhead_ns),
        (Term::Saturation, (mean - ideal).max(0.0)),
    ]
}

/// A prediction from runs with up to `measured_max` threads.
pub(crate) fn prediction(measured_max: u32) -> Prediction {
    let at: Vec<u32> = [1, 2, 3, 4, 6, 8, 12, 16].to_vec();
    let one_ns = wall_ns(1);
    let regions: Vec<RegionPrediction> = MODELS
        .iter()
        .map(|model| {
            let points: Vec<Point> = at
                .iter()
                .map(|threads| {
                    point(
                        *threads,
                        measured_max,
                        model.costs(1).length_ns,
                        &terms(model, *threads),
                    )
                })
                .collect();
            let (term, ns) = terms(model, 16)
                .into_iter()
                .skip(1)
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .expect("there are terms");
            let share = ns / model.costs(16).length_ns;
            let best = if model.overhead_us > 5.0 { 3 } else { 12 };
            RegionPrediction {
                key: format!("{}+{}", model.function, model.name),
                name: model.name.to_owned(),
                measured: Vec::new(),
                points,
                best_threads: best,
                stops: true,
                dominating: Some(Dominating {
                    term,
                    threads: 16,
                    share,
                }),
                sentence: format!("region {} stops at {best} threads", model.name),
            }
        })
        .collect();
    let serial_points: Vec<Point> = at
        .iter()
        .map(|threads| {
            point(
                *threads,
                measured_max,
                SERIAL_MS * 1e6,
                &[(Term::Serial, SERIAL_MS * 1e6)],
            )
        })
        .collect();
    let points: Vec<Point> = at
        .iter()
        .map(|threads| {
            let mut sums = vec![(Term::Serial, SERIAL_MS * 1e6)];
            for model in &MODELS {
                for (term, ns) in terms(model, *threads) {
                    match sums.iter_mut().find(|one| one.0 == term) {
                        Some(sum) => sum.1 += ns,
                        None => sums.push((term, ns)),
                    }
                }
            }
            point(*threads, measured_max, one_ns, &sums)
        })
        .collect();
    let measured = [1, 2, 4, 8, 16]
        .into_iter()
        .filter(|threads| *threads <= measured_max)
        .map(|threads| {
            let pop = analysis(threads).efficiency;
            let time = wall_ns(threads) * 1.01;
            Measured {
                threads,
                runs_ns: vec![time as u64],
                median_ns: time,
                speedup: one_ns / time,
                efficiency: one_ns / time / f64::from(threads),
                computation_scalability: 1.0 - 0.012 * f64::from(threads - 1),
                global_efficiency: pop.parallel * (1.0 - 0.012 * f64::from(threads - 1)),
                ipc_scalability: Some(1.0 - 0.01 * f64::from(threads - 1)),
                instruction_scalability: Some(0.998),
                pop,
            }
        })
        .collect();
    let law = |name, serial: f64, kappa: f64| Baseline {
        name,
        parameters: vec![("serial_fraction", serial)],
        points: at
            .iter()
            .map(|threads| {
                let p = f64::from(*threads);
                (
                    *threads,
                    one_ns * (serial + (1.0 - serial) / p + kappa * (p - 1.0)),
                )
            })
            .collect(),
        validation_error: Some(0.083),
    };
    Prediction {
        schema: fathomp_predict::SCHEMA,
        version: fathomp_predict::VERSION,
        program: "heat".to_owned(),
        terms: Terms::ALL,
        interval: 0.9,
        cores: 16,
        cores_present: 16,
        crowd: None,
        measured,
        points,
        dominating: Some(Dominating { term: Term::Imbalance, threads: 16, share: 0.21 }),
        best_threads: 12,
        serial: RegionPrediction {
            key: "serial".to_owned(),
            name: "serial part".to_owned(),
            measured: Vec::new(),
            points: serial_points,
            best_threads: 1,
            stops: true,
            dominating: None,
            sentence: String::new(),
        },
        sentences: vec![
            "with 16 threads heat will be 5.6 times as fast as with one (5.1 to 6.0)".to_owned(),
            "region solver.c:188 stops at 12 threads: load imbalance 31 %".to_owned(),
        ],
        regions,
        baselines: vec![law("amdahl", 0.08, 0.0), law("usl", 0.05, 0.004)],
        validation: Some(Validation {
            from: vec![1, 2],
            threads: 4,
            predicted_ns: wall_ns(4) * 1.03,
            low_ns: wall_ns(4) * 0.97,
            high_ns: wall_ns(4) * 1.09,
            measured_ns: wall_ns(4) * 1.01,
            relative_error: 0.0198,
            inside: true,
        }),
        warnings: vec![
            "Only one run was made with each thread count, so the intervals rest on the scatter within runs.".to_owned(),
        ],
    }
}
