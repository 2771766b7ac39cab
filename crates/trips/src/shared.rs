//! Loops that the threads of a team share.

use fathomp_regions::{
    ArithmeticKind, Body, Expr, Known, Leaf, Loop, LoopId, LoopRole, Op, ScheduleKind,
};

/// A worksharing loop: as written one loop, in the code perhaps a main loop and what that
/// leaves over.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedLoop {
    /// Its first loop in the code.
    pub id: LoopId,
    /// How it is divided.
    pub kind: ScheduleKind,
    /// Iterations in an execution of the body, all threads together. Over nothing but words.
    pub total: Option<Expr>,
    /// Those of one thread, over the team's size and the thread's number. Where a loop is
    /// unrolled or vectorised these may be rounds, in the same proportions.
    pub share: Option<Expr>,
}

/// The outermost worksharing loops of a body, in the order of the code.
///
/// A loop inside a serial one counts for each of its iterations; where its trips differ from
/// one to the next, the mean of the first and the last stands for them, which is exact if
/// they change evenly.
#[must_use]
pub fn shared_loops(body: &Body) -> Vec<SharedLoop> {
    let mut found: Vec<(SharedLoop, &Loop, bool)> = Vec::new();
    for (number, looped) in body.loops.iter().enumerate() {
        let Some(schedule) = &looped.worksharing else {
            continue;
        };
        if ancestors(body, looped).any(|outer| outer.worksharing.is_some()) {
            continue;
        }
        let id = LoopId(u32::try_from(number).unwrap_or(u32::MAX));
        let trips = looped
            .trips
            .known()
            .and_then(|trips| in_iterations(body, id, trips));
        let whole = trips.is_some_and(|trips| Some(trips) != looped.trips.known());
        // A vectorised loop is not entered for few iterations; those are done beside it.
        let trips = match whole {
            true => trips.map(|trips| Expr::op(Op::MaxS, trips.clone(), Expr::Const(0))),
            false => trips.map(|trips| if_entered(looped, trips.clone())),
        };
        let share = trips.and_then(|trips| over_all(body, looped, trips));
        // What a main loop leaves over belongs to it.
        let main = found.last_mut().filter(|(_, before, whole)| {
            looped.role == LoopRole::Remainder
                && before.parent == looped.parent
                && (*whole || before.role != LoopRole::Whole)
                && before.worksharing.as_ref().map(|schedule| &schedule.total)
                    == Some(&schedule.total)
        });
        if let Some((main, _, whole)) = main {
            if schedule.total.is_none() && !*whole {
                main.share = main
                    .share
                    .take()
                    .zip(share)
                    .map(|(a, b)| Expr::op(Op::Add, a, b));
                main.total = main.share.as_ref().map(|share| for_team(share, 1, 0));
            }
            continue;
        }
        let total = match &schedule.total {
            Some(total) => {
                over_all(body, looped, total.clone()).map(|total| for_team(&total, 1, 0))
            }
            None => share.as_ref().map(|share| for_team(share, 1, 0)),
        };
        let kind = schedule.kind;
        let shared = SharedLoop {
            id,
            kind,
            total,
            share,
        };
        found.push((shared, looped, whole));
    }
    found.into_iter().map(|(shared, ..)| shared).collect()
}

/// Iterations of the outermost worksharing loops of `body`, all threads together. `None` if
/// there is none, or of one of them it is not known.
#[must_use]
pub fn total(body: &Body) -> Option<Expr> {
    let totals = shared_loops(body).into_iter().map(|shared| shared.total);
    let sum = totals.reduce(|a, b| Some(Expr::op(Op::Add, a?, b?)));
    sum.flatten()
}

/// The trips of a loop that does one iteration after the other; of a vectorised one, of which
/// a round is several iterations, what the number of rounds was made of. `None` if that does
/// not show.
fn in_iterations<'a>(body: &Body, id: LoopId, trips: &'a Expr) -> Option<&'a Expr> {
    /// Bytes of a vector.
    const VECTOR: u32 = 16;
    // Scalar code, too, clears and converts by way of whole vectors.
    let computes = |kind| {
        !matches!(
            kind,
            ArithmeticKind::Logic | ArithmeticKind::Shuffle | ArithmeticKind::Convert
        )
    };
    let here = body.arithmetic.iter().filter(|one| one.inside == Some(id));
    let lanes = here.filter(|one| computes(one.kind)).map(|one| one.lanes);
    let lanes = lanes.max().unwrap_or(1);
    let mut accesses = body.accesses.iter().filter(|one| one.inside == Some(id));
    if lanes < 2 && !accesses.any(|one| one.bytes >= VECTOR) {
        return Some(trips);
    }
    let Expr::Op(op, share, by) = trips else {
        return None;
    };
    let iterations = match (op, &**by) {
        (Op::ShrS | Op::ShrU, Expr::Const(by @ 1..=6)) => 1 << by,
        (Op::DivS | Op::DivU, Expr::Const(by @ 2..=64)) => *by,
        _ => return None,
    };
    (lanes < 2 || i64::from(lanes) == iterations).then_some(share)
}

/// The loops around one, innermost first.
fn ancestors<'a>(body: &'a Body, looped: &'a Loop) -> impl Iterator<Item = &'a Loop> {
    let outer = |looped: &&'a Loop| body.loops.get(looped.parent?.0 as usize);
    // Loops stand behind those around them; whatever is written elsewhere ends somewhere.
    std::iter::successors(outer(&looped), move |one| outer(one)).take(body.loops.len())
}

/// What `sum` is worth, which depends on iterations of the loops around `looped`, over all
/// of them.
fn over_all(body: &Body, looped: &Loop, mut sum: Expr) -> Option<Expr> {
    let mut inner = looped;
    for outer in ancestors(body, looped) {
        let id = inner.parent?;
        let trips = outer.trips.known()?;
        let mut varies = false;
        sum.walk(&mut |part| varies |= *part == Expr::Leaf(Leaf::Iteration(id)));
        let all = if varies {
            let last = Expr::op(Op::Sub, trips.clone(), Expr::Const(1));
            let ends = Expr::op(Op::Add, at(&sum, id, &Expr::Const(0)), at(&sum, id, &last));
            let twice = Expr::op(Op::Mul, ends, trips.clone());
            Expr::op(Op::DivS, twice, Expr::Const(2))
        } else {
            Expr::op(Op::Mul, sum, trips.clone())
        };
        sum = if_entered(outer, all);
        inner = outer;
    }
    (!sum.depends_on_iterations()).then_some(sum)
}

fn if_entered(looped: &Loop, value: Expr) -> Expr {
    match looped.entered_if.as_ref().and_then(Known::known) {
        Some(condition) => select(condition.clone(), value, Expr::Const(0)),
        None => value,
    }
}

fn select(condition: Expr, yes: Expr, no: Expr) -> Expr {
    match condition {
        Expr::Const(0) => no,
        Expr::Const(_) => yes,
        condition => Expr::Select(Box::new(condition), Box::new(yes), Box::new(no)),
    }
}

/// `expr` in one iteration of a loop.
fn at(expr: &Expr, id: LoopId, iteration: &Expr) -> Expr {
    replace(expr, &|leaf| {
        (leaf == Leaf::Iteration(id)).then(|| iteration.clone())
    })
}

/// `expr` for one thread of a team, with what becomes constant evaluated.
#[must_use]
pub fn for_team(expr: &Expr, threads: u32, thread: u32) -> Expr {
    replace(expr, &|leaf| match leaf {
        Leaf::Threads => Some(Expr::Const(threads.into())),
        Leaf::Thread => Some(Expr::Const(thread.into())),
        _ => None,
    })
}

/// `expr` with leaves replaced, evaluated as far as it becomes constant.
fn replace(expr: &Expr, by: &impl Fn(Leaf) -> Option<Expr>) -> Expr {
    match expr {
        Expr::Leaf(leaf) => by(*leaf).unwrap_or_else(|| expr.clone()),
        Expr::Const(_) => expr.clone(),
        Expr::Load {
            address,
            bytes,
            signed,
        } => Expr::load(replace(address, by), *bytes, *signed),
        Expr::Op(op, left, right) => Expr::op(*op, replace(left, by), replace(right, by)),
        Expr::Select(condition, yes, no) => {
            select(replace(condition, by), replace(yes, by), replace(no, by))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_regions::{Facts, Sample, SampleEnvironment, Schedule, Word};

    fn looped(parent: Option<u32>, trips: &str, shared: bool) -> Loop {
        Loop {
            parent: parent.map(LoopId),
            depth: 0,
            innermost: true,
            header: 0,
            place: None,
            trips: Known::Known(trips.parse().unwrap()),
            worksharing: shared.then_some(Schedule {
                kind: ScheduleKind::Static,
                chunk: None,
                total: None,
            }),
            role: LoopRole::Whole,
            entered_if: None,
        }
    }

    fn body(loops: Vec<Loop>) -> Body {
        Body {
            loops,
            ..Body::default()
        }
    }

    fn value(expr: &Expr, threads: u32, thread: u32, n: i64) -> i64 {
        let mut facts = Facts::default();
        facts.samples.push(Sample {
            words: vec![Word {
                load: "(load4 data)".parse().unwrap(),
                value: n,
            }],
            ..Sample::default()
        });
        let environment = SampleEnvironment {
            sample: &facts.samples[0],
            threads,
            thread,
            iterations: &[],
        };
        expr.evaluate(&environment).unwrap()
    }

    #[test]
    fn shares_add_up_to_the_total() {
        // As gcc divides: the first n % threads get one more.
        let share = "(+ (/ (load4 data) threads) (< thread (% (load4 data) threads)))";
        let body = body(vec![looped(None, share, true)]);
        let total = total(&body).unwrap();
        let share = shared_loops(&body)[0].share.clone().unwrap();
        for n in [0, 1, 7, 100] {
            assert_eq!(value(&total, 3, 2, n), n);
            let sum: i64 = (0..3).map(|thread| value(&share, 3, thread, n)).sum();
            assert_eq!(sum, n);
        }
    }

    #[test]
    fn loops_around_count_even_if_trips_change_from_one_iteration_to_the_next() {
        let body = body(vec![
            looped(None, "(load4 data)", false),
            looped(Some(0), "(- (load4 data) i0)", true),
            looped(Some(1), "1000", true),
        ]);
        assert_eq!(
            shared_loops(&body).len(),
            1,
            "one inside another is none of its own"
        );
        let total = total(&body).unwrap();
        for n in [0, 1, 6, 101] {
            assert_eq!(value(&total, 1, 0, n), n * (n + 1) / 2);
        }
    }

    #[test]
    fn what_a_main_loop_leaves_over_is_part_of_it() {
        let mut main = looped(None, "(/ (load4 data) 4)", true);
        let mut rest = looped(None, "(% (load4 data) 4)", true);
        (main.role, rest.role) = (LoopRole::Main, LoopRole::Remainder);
        for one in [&mut main, &mut rest] {
            let schedule = one.worksharing.as_mut().unwrap();
            schedule.total = Some("(load4 data)".parse().unwrap());
        }
        rest.entered_if = Some(Known::Known("(!= (% (load4 data) 4) 0)".parse().unwrap()));
        let other = looped(None, "5", true);
        let body = body(vec![main, rest, other]);
        assert_eq!(shared_loops(&body).len(), 2);
        assert_eq!(value(&total(&body).unwrap(), 1, 0, 103), 108);
    }

    #[test]
    fn rounds_of_vectorised_loops_are_not_taken_for_iterations() {
        let vectorised = |trips: &str, lanes| Body {
            arithmetic: vec![fathomp_regions::Arithmetic {
                inside: Some(LoopId(0)),
                kind: ArithmeticKind::Add,
                element: fathomp_regions::ElementKind::Double,
                lanes,
                instructions: 1,
                conditional: 0,
            }],
            ..body(vec![looped(None, trips, true)])
        };
        let four = vectorised("(>> (/ (load4 data) threads) 2)", 4);
        assert_eq!(value(&total(&four).unwrap(), 1, 0, 103), 103);
        assert_eq!(total(&vectorised("(load4 data)", 4)), None);
        assert_eq!(total(&vectorised("(>> (load4 data) 2)", 2)), None);
        let mut cleared = vectorised("(load4 data)", 4);
        cleared.arithmetic[0].kind = ArithmeticKind::Logic;
        assert_eq!(value(&total(&cleared).unwrap(), 1, 0, 103), 103);
        let scalar = vectorised("(>> (load4 data) 2)", 1);
        assert_eq!(value(&total(&scalar).unwrap(), 1, 0, 103), 25);
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let unknown = Known::Unknown(fathomp_regions::Reason::new(
            fathomp_regions::ReasonKind::Call,
            "",
        ));
        let mut one = looped(None, "5", true);
        one.trips = unknown.clone();
        assert_eq!(total(&body(vec![one, looped(None, "5", true)])), None);
        let mut outer = looped(None, "5", false);
        outer.trips = unknown;
        assert_eq!(total(&body(vec![outer, looped(Some(0), "5", true)])), None);
        assert_eq!(total(&body(vec![looped(None, "5", false)])), None);
        // A loop that claims to lie in itself.
        assert_eq!(total(&body(vec![looped(Some(0), "5", true)])), None);
    }
}
