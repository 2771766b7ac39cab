//! Advice as changes to sources.

use fathomp_advise::{
    Advice, Advised, Basis, Confidence, Loss, MachineNote, RegionAdvice, SCHEMA, Step, VERSION,
    patch,
};
use fathomp_regions::{Construct, Directive, Known, Place, Region, Regions, SourceLoop};

fn region(file: &str, line: u32, threads: u32, steps: &[(u64, u32)]) -> RegionAdvice {
    RegionAdvice {
        name: format!("{file}:{line}"),
        place: Some(Place {
            file: file.to_owned(),
            line,
            column: 1,
        }),
        module: None,
        address: None,
        symbol: None,
        steps: steps
            .iter()
            .map(|(from_trips, threads)| Step {
                from_trips: *from_trips,
                from_iterations: Some(from_trips / 1_000),
                threads: *threads,
            })
            .collect(),
        trips: None,
        advised: Advised {
            threads,
            packages: 1,
            gain: 2.0,
            gain_low: 1.5,
            gain_high: 2.5,
        },
        loss: Loss::default(),
        points: vec![],
        saturates_at: None,
        score: None,
        weight: 1.0,
        asks_bytes_per_s: None,
        confidence: Confidence::High,
        basis: Basis {
            trips: Some(1_000_000),
            iterations: Some(1_000),
            ..Basis::default()
        },
        reason: String::new(),
        doubts: vec![],
    }
}

fn advice(regions: Vec<RegionAdvice>) -> Advice {
    Advice {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        program: "prog".to_owned(),
        modules: vec![],
        machine: MachineNote {
            cores: 8,
            packages: 1,
            ..MachineNote::default()
        },
        regions,
        notes: vec![],
    }
}

const C: &str = "void f(int n)
{
    int before;
#pragma omp parallel for \\
    schedule(static) // divided
    for (int i = 0; i < n; i++)
        g(i);
    int after;
    int more;
}
";

fn applied(text: &str, file: &str, advice: &Advice, regions: Option<&Regions>) -> (String, String) {
    let made = patch(advice, regions, &mut |path| {
        (path == file).then(|| text.to_owned())
    });
    let directory = std::env::temp_dir().join(format!(
        "fathomp-advise-patch-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&directory).unwrap();
    let name = file.trim_start_matches('/');
    std::fs::write(directory.join(name), text).unwrap();
    std::fs::write(directory.join("diff"), &made.diff).unwrap();
    // `git apply` refuses whatever does not fit exactly.
    let applied = std::process::Command::new("git")
        .args(["apply", "--verbose", "diff"])
        .current_dir(&directory)
        .env("GIT_CEILING_DIRECTORIES", std::env::temp_dir())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&applied.stderr).into_owned();
    assert!(applied.status.success(), "{errors}\n{}", made.diff);
    let new = std::fs::read_to_string(directory.join(name)).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    (new, made.diff)
}

#[test]
fn fewer_threads_are_a_clause_at_the_end_of_a_continued_directive() {
    let advice = advice(vec![region("f.c", 4, 4, &[(0, 4)])]);
    let (new, diff) = applied(C, "f.c", &advice, None);
    assert!(
        new.contains("    schedule(static) num_threads(4) // divided\n"),
        "{new}"
    );
    assert!(
        diff.starts_with("--- a/f.c\n+++ b/f.c\n@@ -2,7 +2,7 @@\n"),
        "{diff}"
    );
}

#[test]
fn small_loops_stay_with_one_thread_by_an_if_clause() {
    let regions = Regions {
        regions: vec![Region {
            place: Some(Place {
                file: "f.c".to_owned(),
                line: 4,
                column: 1,
            }),
            construct: Some(Construct {
                directive: Directive::default(),
                loops: vec![SourceLoop {
                    parent: None,
                    place: Place::default(),
                    last_line: 7,
                    variable: Known::Known("i".to_owned()),
                    from: "0".to_owned(),
                    to: "n + 1".to_owned(),
                    comparison: "<".to_owned(),
                    step: "1".to_owned(),
                    trips: None,
                    depends_on: vec![],
                    worksharing: true,
                }],
                ..Construct::default()
            }),
            ..Region::default()
        }],
        ..Regions::default()
    };
    let advice = advice(vec![region("f.c", 4, 8, &[(0, 1), (20_000, 8)])]);
    let (new, _) = applied(C, "f.c", &advice, Some(&regions));
    assert!(
        new.contains("schedule(static) if((long)(n + 1) >= 20) // divided\n"),
        "{new}"
    );
}

#[test]
fn fortran_keeps_to_its_columns() {
    let free = "subroutine f\n!$omp parallel do private(i)\ndo i = 1, n\nend do\n!$omp end parallel do\nend\n";
    let advice_free = advice(vec![region("f.f90", 3, 2, &[(0, 2)])]);
    let (new, _) = applied(free, "f.f90", &advice_free, None);
    assert!(
        new.contains("!$omp parallel do private(i) num_threads(2)\n"),
        "{new}"
    );
    let fixed = format!(
        "      subroutine f\nc$omp parallel do private(i{})\n      do i = 1, n\n      end do\n      end\n",
        ",abcdef".repeat(5)
    );
    let advice_fixed = advice(vec![region("f.f", 2, 2, &[(0, 2)])]);
    let (new, _) = applied(&fixed, "f.f", &advice_fixed, None);
    assert!(new.contains("\n!$omp& num_threads(2)\n"), "{new}");
    assert!(new.lines().all(|line| line.len() <= 72));
}

#[test]
fn what_cannot_be_changed_is_said() {
    let own = "#pragma omp parallel num_threads(3)\n{ }\n";
    let several = advice(vec![
        region("own.c", 1, 2, &[(0, 2)]),
        region("gone.c", 1, 2, &[(0, 2)]),
        region("own.c", 200, 2, &[(0, 2)]),
        region("all.c", 1, 8, &[(0, 8)]),
    ]);
    let made = patch(&several, None, &mut |path| {
        (path == "own.c").then(|| own.to_owned())
    });
    assert_eq!(made.diff, "");
    assert_eq!(made.changed, 0);
    assert_eq!(made.left.len(), 3, "{:?}", made.left);
    assert!(
        made.left
            .iter()
            .any(|one| one.contains("num_threads clause of its own"))
    );
    assert!(made.left.iter().any(|one| one.contains("cannot be read")));
    assert!(
        made.left
            .iter()
            .any(|one| one.contains("no parallel directive"))
    );
}

#[test]
fn advice_that_cannot_be_is_refused() {
    let good = advice(vec![region("f.c", 4, 4, &[(0, 1), (10, 4)])]);
    let text = good.to_json().unwrap();
    assert_eq!(Advice::from_json(&text).unwrap(), good);
    let one = &good.regions[0];
    assert_eq!(one.threads(Some(9)), 1);
    assert_eq!(one.threads(Some(10)), 4);
    assert_eq!(one.threads(None), 4);
    for (from, to) in [
        ("\"version\": 1", "\"version\": 2"),
        ("\"from_trips\": 0", "\"from_trips\": 11"),
        ("\"threads\": 4", "\"threads\": 0"),
        ("\"threads\": 4", "\"threads\": 4000000000"),
        (
            "\"schema\": \"fathomp.advice\"",
            "\"schema\": \"fathomp.machine\"",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let wrong = Advice::from_json(&text.replacen(from, to, 9));
        assert!(wrong.is_err(), "{to}");
    }
    for text in ["", "{}", "[]", "\u{0}", "{\"schema\": 3}"] {
        assert!(Advice::from_json(text).is_err());
    }
}
