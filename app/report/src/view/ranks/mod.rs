//! All ranks of an MPI program: what they lose to whom, each of them, and where they call MPI.

mod pictures;
mod tables;
mod words;

use pictures::Pictures;
pub(crate) use tables::cell;
pub(crate) use words::{causes, clocks, headline, missing, sentences, unknown};

use super::colours::LegendEntry;
use super::table::Table;
use fathomp_analysis::Ranks;
use fathomp_predict::ranks::Split;
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

/// What the page shows of them.
#[derive(Debug, Serialize)]
pub(crate) struct AllRanks {
    note: String,
    /// Times by numbers of ranks and threads, and what to say of them.
    splits: Option<Table>,
    /// None if ranks are missing.
    efficiencies: Option<Table>,
    table: Table,
    waits: Option<Table>,
    calls: Option<Table>,
    legend: Vec<LegendEntry>,
    /// There are several phases, and messages between ranks.
    has_phases: bool,
    has_messages: bool,
}

/// The section, and what its script draws.
pub(crate) fn build(all: Option<&Ranks>, splits: &[Split]) -> (Option<AllRanks>, Option<Value>) {
    let Some(all) = all else {
        return (None, None);
    };
    let mut sentences: Vec<String> = Vec::from_iter(missing(all));
    sentences.extend(causes(all).chain(unknown(all)).chain(clocks(all)));
    sentences.push("Between MPI_Init and MPI_Finalize. Efficiencies are POP's for hybrid programs: each is the product of those indented below it. A click on a heading sorts.".to_owned());
    let section = AllRanks {
        note: sentences.join(" "),
        splits: (!splits.is_empty()).then(|| tables::splits(splits)),
        efficiencies: all.efficiency.as_ref().map(tables::efficiencies),
        table: tables::table(all),
        waits: (!all.waits.is_empty()).then(|| tables::waits(all)),
        calls: (!all.calls.is_empty()).then(|| tables::calls(all)),
        legend: pictures::legend(all),
        has_phases: all.phases.len() > 1,
        has_messages: !all.messages.is_empty(),
    };
    let pictures = Value::from(Serde(Pictures::of(all)));
    (Some(section), Some(pictures))
}
