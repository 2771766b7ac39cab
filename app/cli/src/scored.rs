//! Machines that advice and scores are for, and weights of the published score.

use crate::failure::{Failure, exit};
use crate::host;
use fathomp_advise::{PUBLISHED, Target};
use fathomp_predict::machine::Machine;
use fathomp_score::Weights;
use std::path::Path;

/// Weights of the published score.
pub(crate) fn weights(file: Option<&Path>) -> Result<Weights, Failure> {
    let Some(file) = file else {
        return Ok(Weights::default());
    };
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
    Weights::from_json(&text).map_err(|error| Failure::of(&error))
}

/// A published machine, or the one of a file.
pub(crate) fn machine_named(name: &str, packages: Option<u32>) -> Result<Target, Failure> {
    if let Some(target) = Target::published(name) {
        return match packages {
            Some(_) => Err(Failure::new(format!(
                "how many packages {name} has is published: leave --has-packages out"
            ))
            .with_code(exit::USAGE)),
            None => Ok(target),
        };
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(Failure::new(format!(
            "there is no machine file {name}, and no published machine of that name: give the file that `fathomp calibrate -o machine.json` wrote, or one of {}",
            PUBLISHED.join(", ")
        ))
        .with_code(exit::USAGE));
    }
    let machine = Machine::read(path)?;
    let own = machine.host == host::machine().host;
    let packages = packages.unwrap_or(if own { host::packages() } else { 1 });
    Ok(Target::measured(machine, packages))
}
