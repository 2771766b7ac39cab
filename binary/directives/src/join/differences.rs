//! What binary and source say differently of one region. Only what is certain is said.

use super::paths::same_file;
use fathomp_regions::{
    AccessClass, Body, Construct, Directive, Expr, Known, LoopId, LoopRole, ScheduleKind,
    SourceLoop, Subscript,
};

/// Sentences about differences.
pub(super) fn between(body: &Body, construct: &Construct, path: &str) -> Vec<String> {
    let mut sentences = schedule(body, construct);
    if body.unknown.is_empty() {
        loops(body, construct, path, &mut sentences);
    }
    sentences
}

/// A schedule clause, and how the code divides its loop. Only where there is one of each.
fn schedule(body: &Body, construct: &Construct) -> Vec<String> {
    let directives = std::iter::once(&construct.directive).chain(&construct.inside);
    let dividing: Vec<&Directive> = directives
        .filter(|one| {
            let mut words = one.name.split(' ');
            words.any(|word| matches!(word, "for" | "do"))
        })
        .collect();
    let schedules = body.loops.iter().filter_map(|one| one.worksharing.as_ref());
    let mut kinds: Vec<ScheduleKind> = schedules.map(|schedule| schedule.kind).collect();
    kinds.dedup();
    let ([directive], [found]) = (dividing.as_slice(), kinds.as_slice()) else {
        return Vec::new();
    };
    let clause = directive.clauses.iter().find(|one| one.name == "schedule");
    let Some(clause) = clause else {
        return Vec::new();
    };
    let kind = clause.argument.rsplit(':').next().unwrap_or("");
    let kind = kind.split(',').next().unwrap_or("").trim();
    let expected = match kind.to_ascii_lowercase().as_str() {
        "static" => ScheduleKind::Static,
        "dynamic" => ScheduleKind::Dynamic,
        "guided" => ScheduleKind::Guided,
        "runtime" => ScheduleKind::Runtime,
        _ => return Vec::new(),
    };
    if expected == *found {
        return Vec::new();
    }
    vec![format!(
        "line {} says schedule({}), the code divides the loop by schedule({})",
        directive.place.line,
        clause.argument,
        match found {
            ScheduleKind::Static => "static",
            ScheduleKind::Dynamic => "dynamic",
            ScheduleKind::Guided => "guided",
            ScheduleKind::Runtime => "runtime",
        }
    )]
}

fn loops(body: &Body, construct: &Construct, path: &str, sentences: &mut Vec<String>) {
    // Loops whose line is known and in this construct: what is inlined brings its own.
    let placed: Vec<(LoopId, u32)> = body
        .loops
        .iter()
        .zip(0..)
        .filter_map(|(one, number)| {
            let place = one.place.as_ref()?;
            let extent = construct.lines.0..=construct.lines.1;
            let here = extent.contains(&place.line) && same_file(&place.file, path);
            here.then_some((LoopId(number), place.line))
        })
        .collect();
    let lines_known = placed.len() == body.loops.len();
    let within = |one: &SourceLoop| -> Vec<LoopId> {
        let lines = one.place.line..=one.last_line;
        let found = placed.iter().filter(|(_, line)| lines.contains(line));
        found.map(|(id, _)| *id).collect()
    };
    // Loops of nests that became one have one line of several.
    let collapsed = construct.loops.iter().filter(|one| one.worksharing).count() > 1;
    for (number, one) in construct.loops.iter().enumerate() {
        let inner = construct
            .loops
            .iter()
            .any(|other| other.parent == Some(number));
        let found = within(one);
        let parent_is_there = one
            .parent
            .and_then(|parent| construct.loops.get(parent))
            .is_none_or(|parent| !within(parent).is_empty());
        if found.is_empty() {
            if lines_known && parent_is_there && !(collapsed && one.worksharing) {
                sentences.push(format!(
                    "the loop at line {}{} is no loop in the code: it was unrolled, replaced or removed",
                    one.place.line,
                    one.trips.map_or_else(String::new, |trips| format!(" ({trips} iterations)")),
                ));
            }
            continue;
        }
        if inner || one.worksharing {
            continue;
        }
        let [id] = found.as_slice() else { continue };
        let Some(machine) = body.loops.get(id.0 as usize) else {
            continue;
        };
        if machine.role != LoopRole::Whole || !machine.innermost {
            continue;
        }
        if let (Some(trips), Known::Known(Expr::Const(found))) = (one.trips, &machine.trips)
            && u64::try_from(*found).is_ok_and(|found| found != trips)
        {
            let several = u64::try_from(*found)
                .is_ok_and(|found| found > 0 && trips > found && trips % found == 0);
            sentences.push(format!(
                "the loop at line {} has {trips} iterations in the source and {found} in the code{}",
                one.place.line,
                if several { ", which takes several at once" } else { "" },
            ));
        }
        strides(body, construct, number, *id, sentences);
    }
}

/// Arrays that a source walks through element by element and the code does not.
fn strides(
    body: &Body,
    construct: &Construct,
    number: usize,
    id: LoopId,
    sentences: &mut Vec<String>,
) {
    for (index, array) in construct.arrays.iter().enumerate() {
        let statements = construct.statements.iter();
        let accesses: Vec<&[Subscript]> = statements
            .filter(|statement| statement.inside == Some(number))
            .flat_map(|statement| &statement.accesses)
            .filter(|access| access.array == index)
            .map(|access| access.subscripts.as_slice())
            .collect();
        let Some(element) = array.element_bytes else {
            continue;
        };
        let plain = array.name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if accesses.is_empty() || !plain || !accesses.iter().all(|one| contiguous(one, number)) {
            continue;
        }
        let strided = body.accesses.iter().find_map(|access| match access.class {
            AccessClass::Strided(bytes)
                if access.inside == Some(id)
                    && access.base.name.as_deref() == Some(&array.name)
                    && access.bytes == element
                    && bytes.unsigned_abs() > u64::from(element) =>
            {
                Some(bytes)
            }
            _ => None,
        });
        if let Some(bytes) = strided {
            sentences.push(format!(
                "`{}` is accessed element by element in the source of the loop at line {} and in steps of {bytes} bytes in the code",
                array.name, construct.loops[number].place.line,
            ));
        }
    }
}

/// Whether the next iteration of a loop accesses a neighbour.
fn contiguous(subscripts: &[Subscript], number: usize) -> bool {
    let Some((last, others)) = subscripts.split_last() else {
        return false;
    };
    let steps = |one: &Subscript| {
        let factor = one.factors.iter().find(|(index, _)| *index == number);
        factor.map_or(0, |(_, factor)| *factor)
    };
    let known = subscripts
        .iter()
        .all(|one| !one.irregular && one.symbolic.iter().all(|(index, _)| *index != number));
    known && steps(last).unsigned_abs() == 1 && others.iter().all(|one| steps(one) == 0)
}
