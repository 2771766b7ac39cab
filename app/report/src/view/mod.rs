//! From facts to what the page says, before it is markup.
//!
//! A [`Page`] is complete: the template decides how things look, never what
//! they are. Nothing here computes what analysis or prediction has computed.

mod advice;
pub(crate) mod bench;
pub(crate) mod broken;
pub(crate) mod colours;
pub(crate) mod comparison;
mod contents;
mod curves;
mod details;
mod disturbed;
mod dsm;
mod efficiencies;
mod environment;
pub(crate) mod evaluation;
mod listings;
mod nodes;
pub(crate) mod ranks;
mod regions;
pub(crate) mod runtimes;
mod scaling;
pub(crate) mod share;
mod sharing;
mod side_by_side;
mod source;
mod summary;
pub(crate) mod table;
mod teams;
mod timeline;
mod trust;
pub(crate) mod words;

pub(crate) use timeline::TimelineData;

use crate::Input;
use crate::units;
use colours::LegendEntry;
use fathomp_analysis::Analysis;
use fathomp_diagnosis::{Diagnosis, Verdict};
use minijinja::Value;
use serde::Serialize;

/// Everything the template needs.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    title: String,
    program: String,
    subtitle: Vec<String>,
    sections: Vec<Link>,
    summary: Vec<summary::Finding>,
    cards: Vec<summary::Card>,
    trust: trust::Trust,
    states: Vec<LegendEntry>,
    regions: Option<table::Table>,
    regions_note: String,
    scaling: Option<scaling::Scaling>,
    efficiencies: Option<table::Table>,
    efficiencies_note: String,
    timelines: Vec<timeline::Heading>,
    details: Vec<details::Detail>,
    details_note: String,
    contents: Option<contents::Contents>,
    teams: Option<teams::Teams>,
    loops: Option<table::Table>,
    waits: Option<table::Table>,
    mpi: Option<table::Table>,
    ranks: Option<ranks::AllRanks>,
    counters: Option<table::Table>,
    dsm: Option<dsm::Sharing>,
    nodes: Option<nodes::Nodes>,
    sharing: Option<sharing::Shared>,
    brought: Vec<Brought>,
    environment: Vec<Fact>,
}

/// A section that a wing brings.
#[derive(Debug, Serialize)]
struct Brought {
    id: &'static str,
    title: &'static str,
    content: Value,
}

/// An entry of the list of sections.
#[derive(Debug, Serialize)]
struct Link {
    id: &'static str,
    title: &'static str,
}

/// A named value.
#[derive(Debug, Serialize)]
pub struct Fact {
    name: String,
    /// The value, as text.
    pub value: String,
    code: bool,
}

impl Fact {
    /// A value in words.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: words::bound(&value.into()),
            code: false,
        }
    }

    /// A value out of a program.
    pub fn code(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            code: true,
        }
    }
}

/// The page, and the data its script draws.
pub(crate) fn build(input: &Input<'_>, verdict: &Verdict) -> (Page, TimelineData) {
    let Some(sentence) = &verdict.soundness.broken else {
        return build_whole(input, &verdict.diagnosis);
    };
    let (mut page, data) = build_whole(&broken::without_conclusions(input), &verdict.diagnosis);
    page.summary = broken::findings(input, sentence);
    page.trust = trust::build(&Input {
        prediction: None,
        sources: None,
        ..*input
    });
    page.environment = environment::facts(input);
    (page, data)
}

/// The page of runs that ended well.
fn build_whole(input: &Input<'_>, diagnosis: &Diagnosis) -> (Page, TimelineData) {
    let main = input.main();
    let prediction = input.prediction;
    let outlook = main.map_or_else(Vec::new, |analysis| {
        scaling::outlook(analysis, prediction, diagnosis)
    });
    let (timelines, mut data) = timeline::build(main);
    let (ranks, pictures) = ranks::build(input.ranks.map(|(all, _)| all), input.splits);
    if let Some(pictures) = pictures {
        data.sections.insert("ranks", pictures);
    }
    let mut brought = Vec::new();
    for section in input.sections {
        let built = section.build();
        data.sections.insert(section.id(), built.drawn);
        brought.push(Brought {
            id: section.id(),
            title: section.title(),
            content: built.content,
        });
    }
    let mut page = Page {
        title: String::new(),
        program: words::shorten(input.program(), 200),
        subtitle: main.map(subtitle).unwrap_or_default(),
        sections: Vec::new(),
        summary: summary::findings(input, diagnosis),
        cards: summary::cards(main, prediction),
        trust: trust::build(input),
        states: main
            .map(|analysis| colours::legend(analysis.regions.iter().map(|one| &one.states)))
            .unwrap_or_default(),
        regions: main.map(|analysis| regions::table(analysis, &outlook)),
        regions_note: main
            .map(|analysis| regions_note(input, analysis))
            .unwrap_or_default(),
        scaling: scaling::build(input, diagnosis),
        efficiencies: efficiencies::table(input),
        efficiencies_note: efficiencies::NOTE.to_owned(),
        timelines,
        details: main
            .map(|analysis| details::all(input, analysis, &outlook))
            .unwrap_or_default(),
        details_note: main.map(details::note).unwrap_or_default(),
        contents: contents::build(input.regions),
        teams: teams::build(input.advice),
        loops: main.and_then(listings::loops),
        waits: main.and_then(listings::waits),
        mpi: main.and_then(listings::mpi),
        ranks,
        counters: main.and_then(listings::counters),
        dsm: main.and_then(dsm::build),
        nodes: nodes::build(input),
        sharing: sharing::build(input.sharing),
        brought,
        environment: environment::facts(input),
    };
    if let Some((all, shown)) = input.ranks {
        let first = ranks::sentences(all, shown).into_iter();
        let first = first.map(|text| summary::Finding {
            kind: "Ranks",
            text,
        });
        page.summary.splice(0..0, first);
    }
    page.title = format!("{} – fathomp", page.program);
    page.sections = sections(&page);
    (page, data)
}

fn subtitle(analysis: &Analysis) -> Vec<String> {
    let program = &analysis.program;
    let mut machine = Vec::new();
    match program.hosts.as_slice() {
        [] if program.machine.host.is_empty() => {}
        [] => machine.push(program.machine.host.clone()),
        hosts => machine.push(units::plural(hosts.len() as u64, "host")),
    }
    if !program.machine.cpu_model.is_empty() {
        machine.push(program.machine.cpu_model.clone());
    }
    let online = match program.hosts.is_empty() {
        true => program.machine.cpus_online,
        false => program.processors(),
    };
    if online > 0 {
        machine.push(units::plural(online.into(), "processor"));
    }
    let mut lines = vec![words::shorten(&program.command.join(" "), 400)];
    let mut last = machine.join(", ");
    if program.started_unix_ns > 0 {
        if !last.is_empty() {
            last.push_str(" · ");
        }
        last.push_str(&units::date(program.started_unix_ns));
    }
    lines.push(last);
    lines.retain(|line| !line.is_empty());
    lines
}

fn regions_note(input: &Input<'_>, analysis: &Analysis) -> String {
    let recordings = input.measured().count();
    let run = if recordings > 1 {
        format!(
            "Of {} recordings this is the one with {}, which took {}. ",
            units::count(recordings as u64),
            units::plural(analysis.team_size.into(), "thread"),
            units::duration(analysis.wall_ns as f64)
        )
    } else {
        String::new()
    };
    format!(
        "{run}A click on a heading sorts. The serial part is what the program does between parallel regions.{}",
        regions::table_note(analysis)
    )
}

fn sections(page: &Page) -> Vec<Link> {
    let brought = page.brought.iter();
    let own = [
        (true, "summary", "Summary"),
        (true, "trust", "Trust"),
        (page.ranks.is_some(), "ranks", "Ranks"),
        (page.scaling.is_some(), "scaling", "Scaling"),
        (page.nodes.is_some(), "nodes", "Nodes"),
        (page.efficiencies.is_some(), "efficiencies", "Efficiencies"),
        (page.regions.is_some(), "regions", "Regions"),
        (!page.timelines.is_empty(), "timeline", "Timeline"),
        (!page.details.is_empty(), "details", "Region by region"),
        (page.contents.is_some(), "contents", "Contents"),
        (page.teams.is_some(), "advice", "Advice"),
    ]
    .into_iter()
    .chain(brought.map(|one| (true, one.id, one.title)))
    .chain([
        (page.sharing.is_some(), "sharing", "Sharing"),
        (page.dsm.is_some(), "dsm", "DSM"),
        (page.mpi.is_some(), "mpi", "MPI"),
        (page.loops.is_some(), "loops", "Loops"),
        (page.waits.is_some(), "waits", "Waits"),
        (page.counters.is_some(), "counters", "Counters"),
        (true, "environment", "Environment"),
    ]);
    own.filter(|(there, ..)| *there)
        .map(|(_, id, title)| Link { id, title })
        .collect()
}
