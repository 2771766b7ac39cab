//! What the user is told of data races between nodes, at the program's end.

use fathomp_abi::fatal::warn;
use fathomp_node::Node;
use fathomp_node::observer::FoundRace;
use fathomp_sys::modules::program_bias;
use std::path::Path;

/// Lines at most.
const LINES_MAX: usize = 20;

/// Says what was found, if it was looked for.
pub(crate) fn say(node: &Node) {
    let Some(mut found) = node.races() else {
        return;
    };
    let program = std::env::current_exe().unwrap_or_default();
    // Every node binds a function to its address at the first call.
    found.races.retain(|race| {
        !fathomp_rewriting::is_linkage(&program, race.address.wrapping_sub(program_bias()))
    });
    if found.races.is_empty() {
        warn(format_args!(
            "no two nodes changed the same bytes without synchronisation"
        ));
        return;
    }
    for race in found.races.iter().take(LINES_MAX) {
        let [a, b] = race.nodes;
        let FoundRace { bytes, times, .. } = race;
        let what = place(&program, race.address);
        let (s, times) = (if *bytes == 1 { "" } else { "s" }, plural(*times));
        warn(format_args!(
            "race: nodes {a} and {b} both changed {bytes} byte{s} at {what} without synchronisation, {times}"
        ));
    }
    let left_out = found.races.len().saturating_sub(LINES_MAX);
    if left_out > 0 || found.more > 0 {
        let further = if found.more > 0 { " or more" } else { "" };
        warn(format_args!(
            "race: {left_out}{further} other places are not shown"
        ));
    }
}

fn plural(times: u64) -> String {
    match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    }
}

/// A variable with an offset, or an address.
fn place(program: &Path, address: usize) -> String {
    match fathomp_rewriting::variable(program, address.wrapping_sub(program_bias())) {
        Some((name, 0)) => format!("{name} ({address:#x})"),
        Some((name, offset)) => format!("{name}+{offset} ({address:#x})"),
        None => format!("{address:#x}"),
    }
}
