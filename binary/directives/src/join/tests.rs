//! Both sides of regions that are made up.

use super::join;
use crate::{Options, Scanned, scan_text};
use fathomp_regions::{
    Access, AccessClass, Base, Body, BodyKind, Direction, Expr, Known, Language, Loop, LoopRole,
    Module, Place, Reason, ReasonKind, Region, Regions, Schedule, ScheduleKind,
};

const SOURCE: &str = "void f(int n, double *a, double b[9]) {
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 8; j++)
      a[j] += b[j];
}
void g(void) {
#pragma omp parallel
  { }
}
";

fn source() -> Scanned {
    scan_text("src/x.c", SOURCE, Language::C, &Options::default()).unwrap()
}

fn place(line: u32) -> Place {
    Place {
        file: "/build/src/x.c".to_owned(),
        line,
        column: 0,
    }
}

fn one_loop(line: u32, parent: Option<u32>, trips: Known<Expr>) -> Loop {
    Loop {
        parent: parent.map(fathomp_regions::LoopId),
        depth: u32::from(parent.is_some()),
        innermost: parent.is_some(),
        header: u64::from(line),
        place: Some(place(line)),
        trips,
        worksharing: None,
        role: LoopRole::Whole,
        entered_if: None,
    }
}

fn unknown() -> Known<Expr> {
    Known::Unknown(Reason::new(ReasonKind::Other, ""))
}

/// A program whose only region begins at a line.
fn binary(line: u32, body: Body) -> Regions {
    Regions {
        modules: vec![Module {
            has_lines: true,
            ..Module::default()
        }],
        regions: vec![Region {
            place: Some(place(line)),
            body: Some(body),
            module: Some(0),
            ..Region::default()
        }],
        ..Regions::default()
    }
}

#[test]
fn a_body_gets_the_construct_at_its_line_and_what_is_equal_is_not_said() {
    let outer = Loop {
        worksharing: Some(Schedule {
            kind: ScheduleKind::Dynamic,
            chunk: None,
            total: None,
        }),
        ..one_loop(3, None, unknown())
    };
    let body = Body {
        loops: vec![outer, one_loop(4, Some(0), Known::Known(Expr::Const(8)))],
        ..Body::default()
    };
    let mut regions = binary(2, body);
    join(&mut regions, vec![source()]);
    let region = &regions.regions[0];
    assert_eq!(region.construct.as_ref().unwrap().lines, (2, 5));
    assert_eq!(region.function.as_deref(), Some("f"));
    assert!(region.differences.is_empty(), "{:?}", region.differences);
    // The other directive has no code, although the file is part of the program.
    assert_eq!(regions.regions.len(), 2);
    assert!(regions.regions[1].differences[0].starts_with("no code of this directive"));
    assert!(regions.problems.is_empty());
}

#[test]
fn what_differs_is_said() {
    let outer = Loop {
        worksharing: Some(Schedule {
            kind: ScheduleKind::Static,
            chunk: None,
            total: None,
        }),
        ..one_loop(3, None, unknown())
    };
    let access = |name: &str| Access {
        at: 1,
        place: None,
        inside: Some(fathomp_regions::LoopId(1)),
        direction: Direction::Read,
        bytes: 8,
        class: AccessClass::Strided(80),
        base: Base {
            name: Some(name.to_owned()),
            ..Base::default()
        },
        address: Known::Unknown(Reason::new(ReasonKind::Other, "")),
        group: 0,
        coverage: 1.0,
        always: true,
        weight: 1.0,
        non_temporal: false,
    };
    let body = Body {
        loops: vec![
            outer.clone(),
            one_loop(5, Some(0), Known::Known(Expr::Const(7))),
        ],
        accesses: vec![access("b")],
        ..Body::default()
    };
    let mut regions = binary(2, body);
    join(&mut regions, vec![source()]);
    let said = regions.regions[0].differences.join("\n");
    assert!(
        said.contains("schedule(dynamic), the code divides the loop by schedule(static)"),
        "{said}"
    );
    assert!(
        said.contains("line 4 has 8 iterations in the source and 7 in the code"),
        "{said}"
    );
    assert!(
        said.contains("`b` is accessed element by element"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 3);

    // Without the inner loop.
    let body = Body {
        loops: vec![outer],
        ..Body::default()
    };
    let mut regions = binary(2, body);
    join(&mut regions, vec![source()]);
    let said = regions.regions[0].differences.join("\n");
    assert!(
        said.contains("line 4 (8 iterations) is no loop in the code"),
        "{said}"
    );
}

#[test]
fn loops_whose_lines_an_inlined_function_brought_are_not_missed() {
    let body = Body {
        loops: vec![one_loop(30, None, unknown())],
        ..Body::default()
    };
    let mut regions = binary(2, body);
    join(&mut regions, vec![source()]);
    assert!(regions.regions[0].construct.is_some());
    assert!(regions.regions[0].differences.is_empty());
}

#[test]
fn what_belongs_to_nothing_is_said() {
    let mut regions = binary(20, Body::default());
    join(&mut regions, vec![source()]);
    assert!(regions.regions[0].construct.is_none());
    assert!(regions.regions[0].differences[0].contains("no directive at line 20"));

    let task = Body {
        kind: BodyKind::Task,
        ..Body::default()
    };
    let mut regions = binary(2, task);
    join(&mut regions, vec![source()]);
    assert!(regions.regions[0].construct.is_none());

    let mut other = binary(2, Body::default());
    other.regions[0].place.as_mut().unwrap().file = "other.c".to_owned();
    join(&mut other, vec![source()]);
    assert!(other.problems[0].contains("no code of its directives"));
    assert_eq!(other.regions.len(), 3);
    assert!(
        other
            .regions
            .iter()
            .all(|region| region.differences.is_empty())
    );
}

/// A call may have the line of something behind its loop, so that either could be the other.
#[test]
fn a_body_without_a_directive_and_a_directive_without_a_body_may_be_one() {
    let body = Body {
        symbol: Some("f._omp_fn.0".to_owned()),
        ..Body::default()
    };
    let mut regions = binary(20, body);
    join(&mut regions, vec![source()]);
    let said = |number: usize| regions.regions[number].differences.len();
    // Of `g` it is certain.
    assert_eq!([said(0), said(1), said(2)], [0, 0, 1]);
}
