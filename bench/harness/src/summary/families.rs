//! Pictures of one column with a curve for each case: what belongs together, as the papers on
//! these benchmarks draw it. All directives of a group against threads; schedules against chunk
//! sizes; clauses against array sizes, and at one size against threads; costs of consistency
//! against threads, by chunk and by size of the array.

use super::figures::{DECADES, Figure, Series, has_place, slug};
use super::{Point, Summary, size};
use crate::misses::sharing_misses_per_mb;
use crate::pattern::Pattern;
use crate::suite::SuiteName;

/// Curves in one picture, so that they can be told apart.
const CURVES: usize = 8;
/// The chunk at which sizes of arrays are compared, in bytes: a page.
const PAGE_CHUNK: u64 = 4096;

/// Costs of consistency that differ so many times need a logarithmic axis: of what is divided by
/// the number of threads, the right end would lie on a linear one.
const FEW_TIMES: f64 = 10.0;

/// A curve before it is drawn: its name and its points.
struct Curve<'a> {
    name: String,
    points: Vec<(f64, &'a Point)>,
}

/// All such figures, column by column.
pub(super) fn families(summary: &Summary) -> Vec<Figure> {
    let mut figures = Vec::new();
    for column in 0..summary.columns.len() {
        figures.extend(consistency(summary, column));
        figures.extend(misses(summary, column));
        figures.extend(directives(summary, column));
        figures.extend(over_values(summary, column, "sched", "chunk"));
        figures.extend(over_values(summary, column, "array", "array"));
        figures.extend(clauses(summary, column));
    }
    figures
}

fn of_group<'a>(
    summary: &'a Summary,
    column: usize,
    group: &'a str,
) -> impl Iterator<Item = &'a Point> {
    let points = summary.points.iter();
    points.filter(move |point| point.group == group && point.estimate(column).is_some())
}

/// Puts points into curves by name, in their order.
fn curves<'a>(points: impl Iterator<Item = (String, f64, &'a Point)>) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for (name, x, point) in points {
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push((x, point)),
            None => curves.push(Curve {
                name,
                points: vec![(x, point)],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

/// Costs of consistency by chunk, and by array where chunks are pages.
fn consistency(summary: &Summary, column: usize) -> Vec<Figure> {
    let Some(array) = summary.array_shown(column) else {
        return Vec::new();
    };
    let points = || of_group(summary, column, "consistency");
    let all = || points().filter(|point| has_place(summary, point));
    let of_array = all().filter(|point| point.value_of("array") == Some(array));
    let by_chunk = curves(of_array.map(|point| {
        let name = match point.value_of("chunk") {
            Some(chunk) => chunk_name(chunk),
            None => "blocked".to_owned(),
        };
        (name, f64::from(point.threads), point)
    }));
    let by_array = curves(
        all()
            .filter(|point| point.value_of("chunk") == Some(PAGE_CHUNK))
            .filter_map(|point| {
                let array = point.value_of("array")?;
                Some((
                    format!("a = {}", size(array)),
                    f64::from(point.threads),
                    point,
                ))
            }),
    );
    let mut figures = draw(
        summary,
        column,
        by_chunk,
        "chunks",
        &format!("array {}", size(array)),
    );
    figures.extend(draw(
        summary,
        column,
        by_array,
        "arrays",
        &format!("chunk {}", size(PAGE_CHUNK)),
    ));
    figures
}

/// Cache misses of the initial thread by chunk, counted or, where they are not, simulated.
fn misses(summary: &Summary, column: usize) -> Option<Figure> {
    let facts = &summary.columns[column];
    let mut figure = consistency(summary, column).into_iter().next()?;
    if facts.column.protocol.is_some() {
        return None;
    }
    let measured = summary.array_shown(column)?;
    let counted = of_group(summary, column, "consistency").any(|point| {
        point
            .estimate(column)
            .is_some_and(|one| one.misses.is_some())
    });
    // Of an array that does not fit everything misses, shared or not. Where nothing is counted,
    // another one can be taken.
    let holds = facts.cache.map_or(measured, |cache| cache.array_max());
    let array = if counted {
        measured
    } else {
        measured.min(holds)
    };
    let how = match (counted, facts.cache) {
        (true, _) if measured > holds => "counted; it does not fit the cache".to_owned(),
        (true, _) => "counted".to_owned(),
        (false, Some(cache)) => format!(
            "simulated with a cache of {} and {} ways for each thread{}",
            size(cache.bytes),
            cache.ways,
            match measured > array {
                true => format!(", which does not hold the {} measured", size(measured)),
                false => String::new(),
            }
        ),
        (false, None) => return None,
    };
    let at = |name: &str, threads: f64| {
        of_group(summary, column, "consistency").find(|point| {
            let chunk = point.value_of("chunk");
            let is_named = chunk.map_or_else(|| "blocked".to_owned(), chunk_name) == name;
            is_named
                && f64::from(point.threads) == threads
                && point.value_of("array") == Some(measured)
        })
    };
    for series in &mut figure.series {
        let name = series.name.clone();
        series.points.retain_mut(|place| {
            let found = at(&name, place[0]).and_then(|point| match facts.cache {
                _ if counted => point.estimate(column)?.misses,
                Some(cache) => sharing_misses_per_mb(
                    cache,
                    Pattern {
                        array,
                        chunk: point.value_of("chunk"),
                        threads: point.threads.into(),
                    },
                ),
                None => None,
            });
            let value = found.unwrap_or(f64::NAN);
            *place = [place[0], value, value, value];
            value.is_finite()
        });
    }
    figure.series.retain(|series| series.points.len() > 1);
    let values = || {
        figure
            .series
            .iter()
            .flat_map(|one| one.points.iter().map(|point| point[1]))
    };
    let (least, most) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(0.0, f64::max),
    );
    figure.y_logarithmic = least > 0.0 && most > DECADES * least;
    figure.id = slug(&format!("mcbench misses {}", facts.name));
    figure.title = format!("{}: cache misses of the initial thread", facts.name);
    figure.fixed = format!("array {}, {how}", size(array));
    figure.y = "cache misses".to_owned();
    figure.y_unit = "misses/MB".to_owned();
    figure.cycles_per_unit = None;
    (!figure.series.is_empty()).then_some(figure)
}

fn chunk_name(bytes: u64) -> String {
    format!("c = {}", size(bytes))
}

/// Rows without parameters, against threads.
fn directives(summary: &Summary, column: usize) -> Vec<Figure> {
    let mut figures = Vec::new();
    for group in ["sync", "task", "nest"] {
        let plain = of_group(summary, column, group).filter(|point| point.case.values.is_empty());
        let curves = curves(plain.map(|point| (point.name(), f64::from(point.threads), point)));
        figures.extend(draw(summary, column, curves, "directives", ""));
    }
    figures
}

/// Rows with this one parameter, against it, with most threads.
fn over_values(summary: &Summary, column: usize, group: &str, parameter: &str) -> Vec<Figure> {
    let most = of_group(summary, column, group)
        .map(|point| point.threads)
        .filter(|threads| summary.columns[column].has_room(*threads))
        .max();
    let Some(threads) = most else {
        return Vec::new();
    };
    let at = of_group(summary, column, group).filter(|point| point.threads == threads);
    let curves = curves(at.filter_map(|point| {
        let value = point
            .value_of(parameter)
            .filter(|_| point.case.values.len() == 1)?;
        Some((point.stem.clone(), value as f64, point))
    }));
    let fixed = summary.team(threads, &[column]);
    let mut figures = draw(summary, column, curves, parameter, &fixed);
    for figure in &mut figures {
        parameter.clone_into(&mut figure.x);
        figure.x_unit = figure_unit(summary, group, parameter);
    }
    figures
}

fn figure_unit(summary: &Summary, group: &str, parameter: &str) -> String {
    let mut points = summary.points.iter().filter(|point| point.group == group);
    let unit = points.find_map(|point| {
        let found = point
            .parameters
            .iter()
            .find(|(name, _)| name == parameter)?;
        Some(found.1.clone())
    });
    unit.unwrap_or_default()
}

/// Clauses with the largest array, against threads.
fn clauses(summary: &Summary, column: usize) -> Vec<Figure> {
    let sized = || {
        let points = of_group(summary, column, "array");
        points.filter_map(|point| Some((point.value_of("array")?, point)))
    };
    let Some(largest) = sized().map(|(elements, _)| elements).max() else {
        return Vec::new();
    };
    let at = sized().filter(|(elements, _)| *elements == largest);
    let curves = curves(at.map(|(_, point)| (point.stem.clone(), f64::from(point.threads), point)));
    draw(
        summary,
        column,
        curves,
        "clauses",
        &format!("array of {largest}"),
    )
}

/// Pictures of at most so many curves each; none of curves that say nothing.
fn draw(
    summary: &Summary,
    column: usize,
    curves: Vec<Curve<'_>>,
    kind: &str,
    fixed: &str,
) -> Vec<Figure> {
    let many: Vec<Curve<'_>> = curves
        .into_iter()
        .filter(|one| one.points.len() > 1)
        .collect();
    // One curve alone has a picture of its own.
    if many.len() < 2 {
        return Vec::new();
    }
    let facts = &summary.columns[column];
    let sets = many.len().div_ceil(CURVES);
    let each = many.len().div_ceil(sets);
    let set = |(number, curves): (usize, &[Curve<'_>])| {
        let first = curves.first()?.points.first()?.1;
        let series: Vec<Series> = curves
            .iter()
            .enumerate()
            .map(|(colour, curve)| Series {
                column,
                colour,
                name: curve.name.clone(),
                points: curve
                    .points
                    .iter()
                    .filter_map(|(x, point)| place(*x, point, column))
                    .collect(),
            })
            .collect();
        let values = || {
            series
                .iter()
                .flat_map(|one| one.points.iter().map(|point| point[1]))
        };
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(0.0, f64::max);
        let far_apart = match first.suite {
            SuiteName::Mcbench => FEW_TIMES,
            _ => DECADES,
        };
        let part = match sets {
            1 => String::new(),
            _ => format!(", set {}", number + 1),
        };
        Some(Figure {
            id: slug(&format!(
                "{} {} {kind} {} {part}",
                first.suite.name(),
                first.group,
                facts.name
            )),
            suite: first.suite,
            group: match first.suite {
                SuiteName::Epcc => format!("{} together", first.group),
                _ => first.group.clone(),
            },
            title: format!("{}: {}{part}", facts.name, heading(&first.group, kind)),
            fixed: fixed.to_owned(),
            x: summary.members(&[column]).to_owned(),
            x_unit: String::new(),
            quantity: first.quantity,
            y: first.quantity.title().to_owned(),
            y_unit: first.quantity.unit().to_owned(),
            y_logarithmic: least > 0.0 && most > least * far_apart,
            series,
            cycles_per_unit: facts.cycles_per_ns.filter(|_| first.quantity.is_time()),
            marks: Vec::new(),
            family: true,
        })
    };
    many.chunks(each).enumerate().filter_map(set).collect()
}

/// What curves are of, as EPCC calls it: several of its groups have directives.
fn heading(group: &str, kind: &str) -> String {
    match (group, kind) {
        (_, "directives") => format!("{group} directives"),
        ("sched", _) => "schedules".to_owned(),
        ("array", _) => "clauses".to_owned(),
        (_, kind) => kind.to_owned(),
    }
}

fn place(x: f64, point: &Point, column: usize) -> Option<[f64; 4]> {
    let estimate = point.estimate(column)?;
    Some([
        x,
        estimate.value,
        estimate.interval.low,
        estimate.interval.high,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::misses::CacheShape;
    use crate::summary::summarise;
    use crate::synthetic;

    #[test]
    fn what_belongs_together_is_drawn_together() {
        let mut both = [synthetic::epcc(), synthetic::mcbench()];
        let cache = Some(CacheShape {
            bytes: 64 << 10,
            line_bytes: 64,
            block_bytes: 64,
            ways: 4,
        });
        both.iter_mut().for_each(|one| one.machine.cache = cache);
        let summary = summarise(&both, None);
        let all = families(&summary);
        let names = |id: &str| {
            let figure = all.iter().find(|figure| figure.id.starts_with(id));
            let figure = figure.unwrap_or_else(|| {
                panic!(
                    "{id}: {:?}",
                    all.iter().map(|one| &one.id).collect::<Vec<_>>()
                )
            });
            let names = figure.series.iter().map(|one| one.name.clone());
            (figure.fixed.clone(), names.collect::<Vec<_>>())
        };
        let (fixed, chunks) = names("mcbench-consistency-chunks");
        assert!(fixed.starts_with("array "), "{fixed}");
        assert!(
            chunks.contains(&"blocked".to_owned()) && chunks.len() > 2,
            "{chunks:?}"
        );
        let (_, directives) = names("epcc-sync-directives");
        assert!(directives.contains(&"BARRIER".to_owned()), "{directives:?}");
        let title = |id: &str| {
            all.iter()
                .find(|one| one.id.starts_with(id))
                .unwrap()
                .title
                .as_str()
        };
        assert_eq!(
            title("epcc-sync-directives"),
            "gcc+fathomp: sync directives"
        );
        assert_eq!(title("epcc-sched-chunk"), "gcc+fathomp: schedules");
        assert_eq!(title("epcc-array-array"), "gcc+fathomp: clauses");
        let (fixed, schedules) = names("epcc-sched-chunk-");
        assert_eq!((fixed.as_str(), schedules.len()), ("4 threads", 2));
        // Clauses against array sizes, and with the largest array against threads.
        let (fixed, clauses) = names("epcc-array-array-");
        assert_eq!(fixed, "4 threads");
        assert_eq!(clauses, ["COPYIN", "REDUCTION"]);
        assert_eq!(
            names("epcc-array-clauses-"),
            ("array of 6561".to_owned(), clauses)
        );
        let (fixed, _) = names("mcbench-misses");
        assert_eq!(
            fixed,
            "array 32 KiB, simulated with a cache of 64 KiB and 4 ways for each thread, which does not hold the 8 MiB measured"
        );
        for figure in &all {
            assert!(figure.family && figure.series.len() <= CURVES);
            let colours: Vec<usize> = figure.series.iter().map(|one| one.colour).collect();
            assert_eq!(colours, (0..figure.series.len()).collect::<Vec<_>>());
        }
    }
}
