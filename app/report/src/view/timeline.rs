//! The timeline: what the script draws, in as few bytes as it needs.

use super::colours::{LegendEntry, SERIAL_LEGEND, colour, colours, legend};
use super::{regions, words};
use crate::units;
use fathomp_analysis::{Analysis, Segment, SiteKind, State, Times};
use minijinja::Value;
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};
use std::collections::BTreeMap;

/// Heading and legend of one timeline.
#[derive(Debug, Serialize)]
pub(crate) struct Heading {
    title: String,
    label: String,
    legend: Vec<LegendEntry>,
}

/// What goes into the page as JSON.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TimelineData {
    timelines: Vec<Drawing>,
    /// What sections draw, by their names.
    #[serde(flatten)]
    pub(super) sections: BTreeMap<&'static str, Value>,
}

#[derive(Debug, Serialize)]
struct Drawing {
    begin: u64,
    end: u64,
    /// Names of colours by index.
    states: Vec<&'static str>,
    /// Names for people, likewise.
    names: Vec<&'static str>,
    regions: Vec<String>,
    threads: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    segments: Vec<Cell>,
}

/// `[begin, end, region, state]` and, where states change faster than can be
/// drawn, their shares `[state, percent, ...]`.
#[derive(Debug)]
struct Cell {
    begin: u64,
    end: u64,
    region: usize,
    state: usize,
    mix: Vec<usize>,
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&self.begin)?;
        list.serialize_element(&self.end)?;
        list.serialize_element(&self.region)?;
        list.serialize_element(&self.state)?;
        if !self.mix.is_empty() {
            list.serialize_element(&self.mix)?;
        }
        list.end()
    }
}

/// Regions with a name in the timeline; they are in order of time.
const NAMES_MAX: usize = 2000;

/// The timeline of `main`, if it has one.
pub(crate) fn build(main: Option<&Analysis>) -> (Vec<Heading>, TimelineData) {
    let Some(analysis) = main.filter(|one| !one.timeline.threads.is_empty()) else {
        return (Vec::new(), TimelineData::default());
    };
    let timeline = &analysis.timeline;
    let mut used = Times::default();
    for thread in &timeline.threads {
        for segment in &thread.segments {
            for (state, _) in &segment.mix {
                used[*state] += 1;
            }
        }
    }
    let mut legend = legend([&used]);
    legend.push(SERIAL_LEGEND);
    let (states, names) = colours();
    let several = analysis.processes.len() > 1;
    let drawing = Drawing {
        begin: timeline.begin_ns,
        end: timeline.end_ns,
        states,
        names,
        regions: analysis
            .regions
            .iter()
            .take(NAMES_MAX)
            .map(|region| words::shorten(&regions::name(region), 60))
            .collect(),
        threads: timeline
            .threads
            .iter()
            .map(|thread| Row {
                name: if several {
                    format!("{}:{}", thread.process, thread.thread)
                } else {
                    format!("thread {}", thread.thread)
                },
                segments: thread
                    .segments
                    .iter()
                    .map(|segment| cell(analysis, segment))
                    .collect(),
            })
            .collect(),
    };
    (
        vec![heading(analysis, legend)],
        TimelineData {
            timelines: vec![drawing],
            sections: BTreeMap::new(),
        },
    )
}

fn heading(analysis: &Analysis, legend: Vec<LegendEntry>) -> Heading {
    let timeline = &analysis.timeline;
    let length = units::duration(timeline.end_ns.saturating_sub(timeline.begin_ns) as f64);
    let rows = units::plural(timeline.threads.len() as u64, "thread");
    let mut title = format!("{rows} over {length}");
    if timeline.threads_omitted > 0 {
        title.push_str(&format!(
            "; {} more are left out",
            units::plural(timeline.threads_omitted.into(), "thread")
        ));
    }
    if timeline.cell_ns > 0 {
        title.push_str(&format!(
            "; states shorter than {} are shown by their share",
            units::duration(timeline.cell_ns as f64)
        ));
    }
    Heading {
        label: format!("Timeline of {rows} over {length}, coloured by state"),
        title,
        legend,
    }
}

fn cell(analysis: &Analysis, segment: &Segment) -> Cell {
    let serial = analysis
        .regions
        .get(segment.region)
        .is_some_and(|region| region.kind == SiteKind::Serial);
    let colour = |state: State| colour(state, serial);
    let percent = |share: f32| (share * 100.0).round().clamp(0.0, 100.0) as usize;
    let mix = if segment.mix.len() > 1 {
        segment
            .mix
            .iter()
            .filter(|(_, share)| percent(*share) > 0)
            .flat_map(|(state, share)| [colour(*state), percent(*share)])
            .collect()
    } else {
        Vec::new()
    };
    Cell {
        begin: segment.begin_ns,
        end: segment.end_ns,
        region: segment.region,
        state: colour(segment.state),
        mix,
    }
}
