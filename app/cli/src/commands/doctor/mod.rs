//! `fathomp doctor`: what this machine supports, what is missing, and the
//! command that mends it.

mod kernel;
#[cfg(feature = "paging")]
mod paging;
mod tools;

use crate::console::Console;
use crate::failure::{Outcome, exit};
use serde::Serialize;
use std::fmt::Write as _;

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// As it should be.
    Good,
    /// Works, but less or less well.
    Limited,
    /// A convenience is missing.
    Missing,
    /// The main job cannot be done.
    Broken,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Limited => "limited",
            Self::Missing => "missing",
            Self::Broken => "BROKEN",
        }
    }
}

/// One thing looked at.
#[derive(Clone, Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    /// What was found.
    found: String,
    /// What that means, if it is not as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    consequence: Option<&'static str>,
    /// The command that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

impl Check {
    fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Good,
            found: found.into(),
            consequence: None,
            mend: None,
        }
    }

    fn but(mut self, status: Status, consequence: &'static str, mend: Option<&str>) -> Self {
        self.status = status;
        self.consequence = Some(consequence);
        self.mend = mend.map(str::to_owned);
        self
    }
}

#[derive(Serialize)]
struct Diagnosis {
    /// The main job, `fathomp study`, can be done.
    ready: bool,
    checks: Vec<Check>,
}

pub(super) fn doctor(console: Console) -> Outcome {
    let mut checks = vec![parts()];
    checks.extend(kernel::checks());
    if cfg!(feature = "cluster") {
        checks.extend(kernel::checks_of_nodes());
    }
    #[cfg(feature = "paging")]
    checks.extend(paging::checks());
    checks.extend(tools::checks());
    let ready = checks.iter().all(|check| check.status != Status::Broken);
    let diagnosis = Diagnosis { ready, checks };
    console.result("fathomp.doctor", &diagnosis, || text(&diagnosis))?;
    Ok(if ready { 0 } else { exit::FAILED })
}

/// What this program can do, by the features that it was built with.
fn parts() -> Check {
    let built_in = match (cfg!(feature = "cluster"), cfg!(feature = "paging")) {
        (true, true) => "with clusters and paging",
        (true, false) => "with clusters, without paging",
        (false, true) => "with paging, without clusters",
        (false, false) => "without clusters and paging",
    };
    Check::good(
        "fathomp",
        format!("{}, {built_in}", env!("CARGO_PKG_VERSION")),
    )
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for check in &diagnosis.checks {
        let _ = writeln!(
            text,
            "{:<8} {:<18} {}",
            check.status.word(),
            check.name,
            check.found
        );
        if let Some(consequence) = check.consequence {
            let _ = writeln!(text, "{:27} {consequence}", "");
        }
        if let Some(mend) = &check.mend {
            let _ = writeln!(text, "{:27} to mend: {mend}", "");
        }
    }
    text.push_str(if diagnosis.ready {
        "\nThis machine can do the main job: fathomp study -- ./program\n"
    } else {
        "\nThis machine cannot do the main job yet: mend what is BROKEN.\n"
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_a_command() {
        let checks = [
            kernel::checks(),
            #[cfg(feature = "paging")]
            paging::checks(),
            tools::checks(),
        ];
        for check in checks.into_iter().flatten() {
            if check.status == Status::Missing {
                assert!(check.mend.is_some(), "{}", check.name);
            }
        }
    }
}
