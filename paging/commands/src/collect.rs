//! `fathomp collect`: takes what programs record of their paging, for the launcher beside
//! it or for launchers on other machines.

use crate::args::Collect;
use crate::plan::{key_of_environment, new_key};
use crate::serve::{Service, serve};
use fathomp_collector::{Host, HostSummary};
use fathomp_console::console::Console;
use fathomp_console::failure::{Failure, Outcome, exit};
use fathomp_console::launch::StopSignalsBlocked;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Answer<'a> {
    recording: &'a Path,
    #[serde(flatten)]
    summary: &'a HostSummary,
}

/// Collects until all that was to come is there.
///
/// # Errors
///
/// Fails if it cannot listen or write.
pub(crate) fn collect(plan: &Collect, console: Console) -> Outcome {
    match (&plan.live, &plan.listen) {
        (Some(live), _) => {
            let served = serve(&Service {
                live: live.clone(),
                sample: plan.sample.map(|interval| interval.0),
                every_fault: plan.every_fault,
                limit_bytes: plan.limit_bytes,
            });
            // The launcher has been told why, and tells the user.
            Ok(served.map_or(exit::FAILED, |()| 0))
        }
        (None, Some(address)) => listen(plan, address, console),
        (None, None) => Err(Failure::new(
            "where others are to send their records is missing: give --listen ADDRESS, such as --listen 0.0.0.0:4711",
        )
        .with_code(exit::USAGE)),
    }
}

fn listen(plan: &Collect, address: &str, console: Console) -> Outcome {
    let given = plan.key.clone().or_else(key_of_environment);
    let key = match &given {
        Some(key) => key.clone(),
        None => new_key().map_err(|error| {
            Failure::new(format!("cannot get random numbers: {error}; give a --key"))
        })?,
    };
    // What has come is kept whole when this is told to stop.
    let hold = StopSignalsBlocked::begin()
        .map_err(|error| Failure::new(format!("cannot prepare for signals: {error}; try again")))?;
    let host = Host::listen(address, &plan.output, &key, plan.max_size.0)?;
    let shown = match given {
        Some(_) => "KEY".to_owned(),
        None => key,
    };
    console.say(format!(
        "listening at {}: on other machines, `fathomp record --paging --writer HOST:{} --key {shown} -- PROG`",
        host.address(),
        host.address().port()
    ));
    let summary = host.run(|| hold.is_asked_to_stop());
    for problem in &summary.problems {
        console.warn(problem);
    }
    console.say(format!(
        "kept {} bytes of {} in {}: see `fathomp skyline {}`",
        summary.bytes,
        match summary.nodes {
            1 => "1 machine".to_owned(),
            nodes => format!("{nodes} machines"),
        },
        plan.output.display(),
        plan.output.display()
    ));
    if console.json {
        let answer = Answer {
            recording: &plan.output,
            summary: &summary,
        };
        console.result("fathomp.collect", &answer, String::new)?;
    }
    Ok(if summary.complete == 0 {
        exit::FAILED
    } else {
        0
    })
}
