//! What regions contain, as text: a part for each region, and how much was understood.

mod body;
mod construct;
mod coverage;

use super::{WIDTH_MIN, printable, wrapped};
use fathomp_regions::{BodyKind, Region, Regions};

pub(crate) use body::parts;

/// How regions are shown.
#[derive(Clone, Copy, Debug)]
pub struct ScanOptions {
    /// Columns.
    pub width: usize,
    /// With every access.
    pub verbose: bool,
}

/// Before what belongs to a region.
const INDENT: &str = "  ";

/// All regions, and how much of them was understood, in at most `width` columns.
#[must_use]
pub fn scan(regions: &Regions, options: &ScanOptions) -> String {
    let options = &ScanOptions {
        width: options.width.max(WIDTH_MIN),
        ..*options
    };
    let mut text = String::new();
    for region in &regions.regions {
        one(&mut text, regions, region, options);
        text.push('\n');
    }
    coverage::table(&mut text, regions, options.width);
    if !regions.problems.is_empty() {
        text.push_str("\nNot read:\n");
        for problem in &regions.problems {
            text.push_str(INDENT);
            text.push_str(&wrapped(&printable(problem), options.width, "    "));
        }
    }
    text
}

fn one(text: &mut String, regions: &Regions, region: &Region, options: &ScanOptions) {
    text.push_str(&wrapped(&title(regions, region), options.width, INDENT));
    if let Some(body) = &region.body {
        body::describe(text, body, region.construct.as_ref(), options);
        if options.verbose
            && let Some(construct) = &region.construct
        {
            text.push_str("  In the source:\n");
            construct::describe(text, construct, options);
        }
    } else if let Some(construct) = &region.construct {
        construct::describe(text, construct, options);
    }
    for difference in &region.differences {
        let line = format!("{INDENT}Differs: {}", printable(difference));
        text.push_str(&wrapped_behind(&line, options.width));
    }
}

/// Where a region stands, what it is, and what it is called.
#[must_use]
pub fn title(regions: &Regions, region: &Region) -> String {
    let place = region.place.as_ref().filter(|place| place.line > 0);
    let place = place.map(|place| format!("{}:{}", place.file, place.line));
    let address = region
        .body
        .as_ref()
        .map(|body| format!("{:#x}", body.address));
    let mut title = printable(&place.or(address).unwrap_or_default());
    if let Some(function) = &region.function {
        title.push_str(&format!(" in {}", printable(function)));
    }
    let directive = region
        .construct
        .as_ref()
        .map(|one| one.directive.name.clone());
    let kind = region.body.as_ref().map(|body| kind(body.kind).to_owned());
    let what = directive.filter(|name| !name.is_empty()).or(kind);
    title.push_str(&format!(": {}", printable(&what.unwrap_or_default())));
    if let Some(body) = &region.body {
        let symbol = body.symbol.clone();
        let symbol = symbol.unwrap_or_else(|| format!("code at {:#x}", body.address));
        title.push_str(&format!(" ({}", printable(&symbol)));
        let several = regions.modules.len() > 1;
        if let Some(module) = region.module.and_then(|index| regions.modules.get(index))
            && several
        {
            title.push_str(&format!(", {}", printable(&module.path)));
        }
        title.push(')');
    }
    title
}

fn kind(kind: BodyKind) -> &'static str {
    match kind {
        BodyKind::Parallel => "parallel region",
        BodyKind::ParallelLoop => "parallel loop",
        BodyKind::ParallelSections => "parallel sections",
        BodyKind::Task => "task",
        BodyKind::Taskloop => "taskloop",
        BodyKind::Target => "target region",
        BodyKind::Orphaned => "worksharing outside a region",
    }
}

/// A line that begins with blanks, broken with more of them.
fn wrapped_behind(line: &str, width: usize) -> String {
    let content = line.trim_start();
    let indent = &line[..line.len() - content.len()];
    format!(
        "{indent}{}",
        wrapped(content, width, &format!("{indent}  "))
    )
}

/// The first of some names and how many more there are.
fn some(names: &[String], all: bool) -> String {
    const SHOWN: usize = 8;
    if all || names.len() <= SHOWN {
        return names.join(", ");
    }
    format!(
        "{} and {} more",
        names[..SHOWN].join(", "),
        names.len() - SHOWN
    )
}

/// Columns of what is nested.
fn nested(depth: usize) -> String {
    const DEEPEST: usize = 8;
    "  ".repeat(depth.min(DEEPEST))
}
