//! Source lines on the page, and what stands beside them.

use crate::synthetic;
use fathomp_analysis::LoopKind;
use fathomp_report::{Input, page};

/// A page has to open on a slow machine and travel by mail.
const PAGE_BYTES_MAX: usize = 4 << 20;

fn html(input: &Input<'_>) -> String {
    page(input, &synthetic::conclude(input)).expect("the template fits the data")
}

/// Rows of the listing whose caption begins so: number, text and notes.
fn listing(page: &str, caption: &str) -> Vec<[String; 3]> {
    let page = page.replace("&#x2f;", "/");
    let from = page.find(caption).expect("there is such a listing");
    let table = page[from..].split("</table>").next().unwrap_or_default();
    let between = |row: &str, class: &str| -> String {
        let start = format!("class=\"{class}\">");
        let cell = row.split(&start).nth(1).unwrap_or_default();
        let cell = cell.split("</td>").next().unwrap_or_default();
        cell.replace("</p><p>", " | ")
            .replace("<p>", "")
            .replace("</p>", "")
    };
    table
        .split("<tr")
        .skip(1)
        .map(|row| ["at", "text", "notes"].map(|class| between(row, class).replace('\u{a0}', " ")))
        .collect()
}

/// The note at a line of a listing.
fn note<'a>(rows: &'a [[String; 3]], line: &str) -> &'a str {
    let row = rows.iter().find(|row| row[0] == line);
    row.map_or("no such line", |row| &row[2])
}

#[test]
fn source_lines_say_what_constructs_on_them_cost() {
    let runs = [synthetic::with_lines(4)];
    let (sources, machine) = (synthetic::sources(), synthetic::machine());
    let input = Input {
        analyses: &runs,
        machine: Some(&machine),
        sources: Some(&sources),
        ..Input::default()
    };
    let page = html(&input);
    let relax = listing(&page, "Lines 120 to 124 of /home/user/heat/solver.c");
    assert_eq!(relax.len(), 5);
    assert_eq!(
        note(&relax, "120"),
        "parallel region: 400 executions; to start and end a team of 4 takes 1.20 µs: 480 µs in all \
         | loop, dynamic, 16: 819 200 iterations; chunks 51 200 × 40 ns = 2.05 ms"
            .replace("819 200", &fathomp_types::units::count(819_200))
            .replace("51 200", &fathomp_types::units::count(51_200))
    );
    assert_eq!(note(&relax, "122"), "");
    let assemble = listing(&page, "Lines 188 to 196 of /home/user/heat/solver.c");
    assert!(note(&assemble, "188").contains("90 % of the work comes in 32 chunks"));
    assert!(note(&assemble, "190").starts_with("loop, dynamic, 16"));
    assert_eq!(
        note(&assemble, "193"),
        "barrier: 40 × 400 ns = 16.0 µs if no thread is late"
    );
    assert!(
        assemble[4][1].contains("&quot;&lt;b&gt;&quot;"),
        "{:?}",
        assemble[4]
    );
    let residual = listing(&page, "Lines 42 to 54 of /home/user/heat/residual.c");
    let critical = note(&residual, "51");
    let passages = fathomp_types::units::count(400_000);
    assert!(
        critical.starts_with(&format!(
            "critical: {passages} passages × 50 ns = 20.0 ms in all; if it only gathers a result, \
             a reduction passes once for each thread: 80.0 µs | critical: threads waited"
        )),
        "{critical}"
    );
    assert!(page.contains("This file is newer than the program that ran"));
    assert!(
        page.replace("&#x2f;", "/")
            .contains("Source lines in /home/user/heat/vector.c are not shown")
    );

    // A loop that the compiler divided ends in a barrier, too: which one is unknown.
    let mut run = runs[0].clone();
    run.loops.clear();
    let page = html(&Input {
        analyses: std::slice::from_ref(&run),
        ..input
    });
    let assemble = listing(&page, "Lines 188 to 196 of /home/user/heat/solver.c");
    let told = "barriers inside, also at ends of loops: 40 × 400 ns";
    assert!(note(&assemble, "188").contains(told));
    assert_eq!(note(&assemble, "193"), "");

    // Without prices there are counts.
    let page = html(&Input {
        machine: None,
        ..input
    });
    let residual = listing(&page, "Lines 42 to 54 of /home/user/heat/residual.c");
    assert!(note(&residual, "51").starts_with(&format!("critical: {passages} passages |")));
    assert_eq!(
        note(&residual, "42"),
        "parallel region: 400 executions by 4 threads"
    );

    // And without sources nothing, if nobody looked for them.
    let page = html(&Input {
        sources: None,
        ..input
    });
    assert!(!page.contains("class=\"source\""));
    assert!(!page.contains("Source lines in"));
}

#[test]
fn constructs_without_a_line_are_told_at_the_region() {
    let mut run = synthetic::with_lines(4);
    run.waits.clear();
    let mut sources = synthetic::sources();
    let machine = synthetic::machine();
    let page = |run: &fathomp_analysis::Analysis, sources: &_| {
        html(&Input {
            analyses: std::slice::from_ref(run),
            machine: Some(&machine),
            sources: Some(sources),
            ..Input::default()
        })
    };
    let caption = "Lines 42 to 54 of /home/user/heat/residual.c";
    // The only directive of its kind.
    let rows = listing(&page(&run, &sources), caption);
    assert!(note(&rows, "51").starts_with("critical: "), "{rows:?}");
    // A second one, or locks beside it.
    for (from, to) in [
        ("double own", "#pragma omp critical //"),
        ("double own", "omp_set_lock(&lock);"),
        ("#pragma omp critical", "more();"),
    ] {
        let mut changed = sources.clone();
        for source in changed.values_mut() {
            source.text = source.text.replace(&format!("\t{from}"), to);
            source.text = source
                .text
                .replace(&format!("\n{from}"), &format!("\n{to}"));
        }
        let rows = listing(&page(&run, &changed), caption);
        assert_eq!(note(&rows, "51"), "", "{to}");
        let told = note(&rows, "42");
        assert!(
            told.contains("critical sections and locks: "),
            "{to} {told}"
        );
        assert!(!told.contains("reduction"), "{to} {told}");
    }
    // Prices grow with the team, which may be one thread.
    run.regions
        .iter_mut()
        .for_each(|region| region.team_size_max = 1);
    let rows = listing(&page(&run, &sources), caption);
    assert!(note(&rows, "42").contains("400 executions by 1 thread"));
    // A file that has become shorter than the region.
    for source in sources.values_mut() {
        source.text = source.text.lines().take(41).collect::<Vec<_>>().join("\n");
    }
    assert!(!page(&run, &sources).contains("class=\"source\""));
}

#[test]
fn hostile_sources_are_text() {
    let mut run = synthetic::with_lines(4);
    for region in &mut run.regions {
        region.lines = region.lines.clone().map(|lines| fathomp_analysis::Lines {
            first: 1,
            last: u32::MAX,
            ..lines
        });
        region.mutexes_taken = u64::MAX;
        region.tasks_run = u64::MAX;
        region.instances = u64::MAX;
    }
    let line = format!("{}{}", synthetic::HOSTILE.join(" "), "<x'>".repeat(1 << 18));
    let mut sources = synthetic::sources();
    for source in sources.values_mut() {
        source.text = [line.as_str(); 100].join("\n");
    }
    let page = html(&Input {
        analyses: &[run],
        machine: Some(&synthetic::machine()),
        sources: Some(&sources),
        ..Input::default()
    });
    assert!(page.contains("class=\"source\""));
    assert_eq!(page.matches("<script").count(), 2, "ours and the data");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<x"));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}') && !page.contains('\0'));
    assert!(page.len() < PAGE_BYTES_MAX, "{} bytes", page.len());
}

#[test]
fn listings_of_many_regions_stay_within_a_page() {
    let mut run = synthetic::with_lines(2);
    let template = run.regions[1].clone();
    let lines = fathomp_analysis::Lines {
        file: "/a.c".to_owned(),
        first: 1,
        last: 200,
    };
    for index in 0..60 {
        let mut region = template.clone();
        region.key = format!("region {index}");
        region.lines = Some(lines.clone());
        run.regions.push(region);
    }
    let text = format!("{}\n", "'".repeat(400)).repeat(200);
    let sources = std::collections::BTreeMap::from([(
        lines.file.clone(),
        fathomp_report::Source { text, newer: false },
    )]);
    let page = html(&Input {
        analyses: &[run],
        sources: Some(&sources),
        ..Input::default()
    });
    let shown = page.matches("class=\"source\"").count();
    assert!((5..40).contains(&shown), "{shown}");
    assert!(page.len() < PAGE_BYTES_MAX, "{} bytes", page.len());
}

#[test]
fn loops_stand_at_their_directive_and_noise_is_no_price() {
    let mut run = synthetic::with_lines(4);
    let mut machine = synthetic::machine();
    for row in &mut machine.constructs {
        row.dynamic_chunk_ns = 0.05;
    }
    let mut sources = synthetic::sources();
    let mut told = |line: u32, kind: LoopKind, directive: &str| {
        for one in &mut run.loops {
            if one.name == "solver.c:188" {
                (one.place.line, one.kind) = (Some(line), kind);
            }
        }
        for source in sources.values_mut() {
            let lines = source.text.lines().enumerate();
            let changed = lines.map(|(index, text)| if index == 189 { directive } else { text });
            source.text = changed.collect::<Vec<_>>().join("\n");
        }
        let page = html(&Input {
            analyses: std::slice::from_ref(&run),
            machine: Some(&machine),
            sources: Some(&sources),
            ..Input::default()
        });
        let rows = listing(&page, "Lines 188 to 196 of /home/user/heat/solver.c");
        rows.into_iter()
            .find(|row| row[2].contains("dynamic, 16"))
            .map(|row| (row[0].clone(), row[2].clone()))
            .unwrap_or_default()
    };
    let (line, note) = told(191, LoopKind::Dynamic, "#pragma omp for schedule(dynamic)");
    assert_eq!(line, "190");
    assert!(note.ends_with(" chunks"), "{note}");
    // Its line is the region's, and one directive of its kind is inside.
    let (line, _) = told(188, LoopKind::Dynamic, "!$omp do schedule(dynamic)");
    assert_eq!(line, "190");
    // None of its kind.
    let (line, _) = told(191, LoopKind::Dynamic, "        run();");
    assert_eq!(line, "191");
}
