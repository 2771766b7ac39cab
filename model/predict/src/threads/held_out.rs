//! The largest measured thread count, predicted from the smaller ones: what the model is
//! worth on this program.

use super::forecast::Forecast;
use super::model::Setting;
use super::options::Options;
use super::outcome::Validation;
use super::words;
use crate::recorded::{Group, Runs};

/// Predicts the largest fitted thread count from the smaller ones.
pub(crate) fn validate(
    runs: &Runs<'_>,
    groups: &[Group<'_>],
    setting: Setting<'_>,
    options: &Options,
) -> Option<Validation> {
    let (last, rest) = groups.split_last()?;
    if rest.is_empty() {
        return None;
    }
    let forecast = Forecast::new(runs, rest, setting, options);
    let points = forecast.points(&[last.threads], runs, &|terms| terms.program(options.terms));
    let point = points.first()?;
    let measured = last.undisturbed();
    Some(Validation {
        from: rest.iter().map(|group| group.threads).collect(),
        threads: last.threads,
        predicted_ns: point.time_ns,
        low_ns: point.low_ns,
        high_ns: point.high_ns,
        measured_ns: measured,
        relative_error: point.time_ns / measured.max(1.0) - 1.0,
        inside: (point.low_ns..=point.high_ns).contains(&measured),
    })
}

pub(crate) fn sentence(validation: &Validation) -> String {
    let from: Vec<String> = validation.from.iter().map(u32::to_string).collect();
    let error = validation.relative_error;
    let compared = match error {
        error if error < 0.0 => format!("{} less than measured", words::percent(-error)),
        error if error < 1.0 => format!("{} more than measured", words::percent(error)),
        error => format!("{} times what was measured", words::digits(1.0 + error)),
    };
    format!(
        "Check: from {} thread{} alone, the model predicts {} for {}, {compared}.",
        from.join(", "),
        if validation.from == [1] { "" } else { "s" },
        words::duration(validation.predicted_ns),
        words::threads(validation.threads),
    )
}
