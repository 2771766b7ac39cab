//! `fathomp wire-floor`: what the network between hosts takes, without anything of ours but
//! the connections. It is started once, starts itself on each host, and prints what it measured
//! as JSON for `fathomp bench dsm --hosts` and `fathomp calibrate --hosts`.

use super::Participants;
use super::launch::{Whole, code, start_job};
use crate::args::cluster::WireFloor;
use crate::console::{Console, complain, print};
use crate::failure::{Failure, Outcome, exit};
use crate::program::Program;
use fathomp_hosts::HANDOVER_DESCRIPTOR;
use fathomp_launch::Plan;
use fathomp_sys::packets::Packets;
use fathomp_transport::tcp::floor::{Extent, Floor, LARGE_BYTES, Trips, take_part};
use fathomp_transport::tcp::take;
use fathomp_types::text::one_line;
use serde_json::json;
use std::time::Duration;

/// Time after which there are fewer samples, for each kind.
const SAMPLING_TIME_MAX: Duration = Duration::from_secs(1);

/// Measures between hosts, or takes part in that on one of them.
pub(crate) fn wire_floor(asked: &WireFloor, console: Console) -> Outcome {
    match asked.here {
        true => here(asked),
        false => between(asked, console),
    }
}

/// Has it started on all hosts.
fn between(asked: &WireFloor, console: Console) -> Outcome {
    let myself = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find fathomp's own program: {error}")))?;
    let samples = asked.samples.to_string();
    let words = ["wire-floor", "--here", "--samples", &samples];
    let program = Program {
        command: [myself.as_os_str()]
            .into_iter()
            .map(ToOwned::to_owned)
            .chain(words.map(Into::into))
            .collect(),
        path: myself,
        suspicion: None,
    };
    let whole = Whole {
        on: &asked.on,
        program: &program,
        participants: Participants::named(&asked.on)?,
        sidecar: None,
    };
    let unpacked = fathomp_runtime::unpack()?;
    let say = |sentence: &str| complain("", &one_line(sentence));
    let ended = start_job(whole, &Plan::default(), &unpacked, &say, console)?;
    Ok(code(&ended))
}

/// On one of the hosts.
fn here(asked: &WireFloor) -> Outcome {
    let refuse = |why: String| Failure::new(why).with_code(exit::LAUNCHER);
    let agent = Packets::inherited(HANDOVER_DESCRIPTOR).map_err(|error| {
        refuse(format!(
            "an agent of `fathomp bench dsm --hosts` starts this, and there is none: {error}"
        ))
    })?;
    let taken = take(&agent).map_err(|error| refuse(error.to_string()))?;
    let extent = Extent {
        samples: asked.samples,
        limit: SAMPLING_TIME_MAX,
    };
    let floor =
        take_part(&taken.hosts, taken.wires, extent).map_err(|error| refuse(error.to_string()))?;
    if let Some(floor) = floor {
        print(&(json(&floor).to_string() + "\n"))?;
    }
    Ok(0)
}

fn json(floor: &Floor) -> serde_json::Value {
    let trips = |trips: &Trips| json!({"word_ns": trips.word_ns, "page_ns": trips.page_ns, "large_ns": trips.large_ns});
    let meetings = floor.meetings.iter().map(
        |one| json!({"hosts": one.hosts, "looking_ns": one.looking_ns, "asleep_ns": one.asleep_ns}),
    );
    json!({
        "processors": floor.processors,
        "large_bytes": LARGE_BYTES,
        "looking": trips(&floor.looking),
        "asleep": trips(&floor.asleep),
        "at_work": trips(&floor.at_work),
        "meetings": meetings.collect::<Vec<_>>(),
    })
}
