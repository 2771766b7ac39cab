//! What the source of a region says.

use super::{INDENT, ScanOptions, nested, some, wrapped_behind};
use crate::text::{Grid, printable};
use fathomp_regions::{Construct, Directive, Known, SourceAccess, SourceLoop, Statement};
use std::collections::BTreeMap;

pub(super) fn describe(text: &mut String, construct: &Construct, options: &ScanOptions) {
    let mut line = |line: String| {
        text.push_str(&wrapped_behind(&format!("{INDENT}{line}"), options.width));
    };
    let clauses = clauses(&construct.directive);
    if !clauses.is_empty() {
        line(clauses);
    }
    let inside: Vec<String> = construct.inside.iter().map(directive).collect();
    if !inside.is_empty() {
        line(format!("inside: {}", some(&inside, options.verbose)));
    }
    if !construct.loops.is_empty() {
        let grid = loops(construct);
        for row in grid.render(options.width - INDENT.len()).lines() {
            line(row.to_owned());
        }
    }
    let places = std::iter::once(None).chain((0..construct.loops.len()).map(Some));
    for inside in places {
        for content in contents(construct, inside, options.verbose) {
            line(content);
        }
    }
    if !construct.calls.is_empty() {
        let calls: Vec<String> = construct.calls.iter().map(|name| printable(name)).collect();
        line(format!("calls {}", some(&calls, options.verbose)));
    }
}

fn clauses(directive: &Directive) -> String {
    let clauses = directive.clauses.iter().map(|clause| {
        let argument = match clause.argument.as_str() {
            "" => String::new(),
            argument => format!("({argument})"),
        };
        printable(&format!("{}{argument}", clause.name))
    });
    clauses.collect::<Vec<String>>().join(" ")
}

fn directive(directive: &Directive) -> String {
    let clauses = clauses(directive);
    let name = printable(&directive.name);
    let blank = if clauses.is_empty() { "" } else { " " };
    format!("{name}{blank}{clauses} at line {}", directive.place.line)
}

fn depth(construct: &Construct, one: &SourceLoop) -> usize {
    let mut depth = 0;
    let mut parent = one.parent;
    // Parents stand before their loops, so that this ends.
    while let Some(next) = parent.and_then(|index| construct.loops.get(index)) {
        depth += 1;
        if depth > construct.loops.len() {
            break;
        }
        parent = next.parent;
    }
    depth
}

fn loops(construct: &Construct) -> Grid {
    let mut grid = Grid::new("Loop")
        .words("From", 0)
        .words("To", 0)
        .words("Step", 1)
        .column("Iterations", 1);
    for one in &construct.loops {
        let shared = if one.worksharing { ", shared" } else { "" };
        let name = match &one.variable {
            Known::Known(name) => printable(name),
            Known::Unknown(_) => "?".to_owned(),
        };
        let name = format!("{name}, line {}{shared}", one.place.line);
        let cells = match &one.variable {
            Known::Known(_) => vec![
                printable(&one.from),
                printable(&format!("{} {}", one.comparison, one.to)),
                printable(&one.step),
                one.trips
                    .map_or_else(String::new, |trips| trips.to_string()),
            ],
            Known::Unknown(reason) => vec![
                printable(&reason.detail),
                String::new(),
                String::new(),
                String::new(),
            ],
        };
        grid.row(nested(depth(construct, one)) + &name, cells);
    }
    grid
}

/// What statements directly in a loop access and compute.
fn contents(construct: &Construct, inside: Option<usize>, all: bool) -> Vec<String> {
    let statements = || {
        construct
            .statements
            .iter()
            .filter(|one| one.inside == inside)
    };
    let place = match inside.and_then(|index| construct.loops.get(index)) {
        Some(one) => match &one.variable {
            Known::Known(name) => format!("{}, line {}: ", printable(name), one.place.line),
            Known::Unknown(_) => format!("line {}: ", one.place.line),
        },
        None => "outside loops: ".to_owned(),
    };
    let mut lines = Vec::new();
    for (writes, verb) in [(false, "reads"), (true, "writes")] {
        let mut by_class: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        let accesses = statements().flat_map(|one| &one.accesses);
        for access in accesses.filter(|one| one.writes == writes) {
            let names = by_class.entry(class(access, inside)).or_default();
            let name = printable(&access.text);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let parts = by_class
            .into_iter()
            .map(|(class, names)| format!("{class} {}", some(&names, all)));
        let parts: Vec<String> = parts.collect();
        if !parts.is_empty() {
            lines.push(format!("{place}{verb} {}", parts.join("; ")));
        }
    }
    let sum = |count: fn(&Statement) -> u32| statements().map(count).sum::<u32>();
    let counts = [
        (sum(|one| one.additions), "add"),
        (sum(|one| one.multiplications), "multiply"),
        (sum(|one| one.divisions), "divide"),
    ];
    let computed = counts.iter().filter(|(count, _)| *count > 0);
    let computed: Vec<String> = computed
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    if !computed.is_empty() {
        lines.push(format!("{place}computes {}", computed.join(", ")));
    }
    lines
}

/// How an access moves with the innermost loop around it.
fn class(access: &SourceAccess, inside: Option<usize>) -> &'static str {
    let Some(number) = inside else {
        return "invariant";
    };
    if access.subscripts.iter().any(|one| one.irregular) {
        return "indirect";
    }
    let last = access.subscripts.len().saturating_sub(1);
    let mut found = "invariant";
    for (position, one) in access.subscripts.iter().enumerate() {
        if one.symbolic.iter().any(|(index, _)| *index == number) {
            return "strided by a value of the run";
        }
        if let Some((_, factor)) = one.factors.iter().find(|(index, _)| *index == number) {
            if position < last || factor.abs() != 1 {
                return "strided";
            }
            found = "unit";
        }
    }
    found
}
