//! Loops that the threads of a team share.

use fathomp_regions::{Body, Expr, Known, Leaf, Loop, LoopId, Op, ScheduleKind};

/// Iterations of the worksharing loops of `body`, all threads together: of those that threads
/// divide by the code as the scan says, of those that the runtime deals as the calls say. `None`
/// if there is none, or of one of them it is not known.
///
/// A loop inside a serial one counts for each of its iterations; where what the runtime deals
/// differs from one to the next, the mean of the first and the last stands for them, which is
/// exact if they change evenly.
#[must_use]
pub fn total(body: &Body) -> Option<Expr> {
    let divided = body.divided.iter().map(|one| one.total.known().cloned());
    let sum = divided
        .chain(dealt(body))
        .reduce(|a, b| Some(Expr::op(Op::Add, a?, b?)));
    sum.flatten()
}

/// Iterations of the loop that a thread of a team gets each time, of `each` in all.
#[must_use]
pub fn share(each: u64, chunk: Option<u64>, threads: u32, thread: u32) -> u64 {
    let (threads, thread) = (u64::from(threads.max(1)), u64::from(thread));
    match chunk {
        // The first threads get one more.
        None => each / threads + u64::from(thread < each % threads),
        Some(chunk) => {
            let chunk = chunk.max(1);
            let whole = each / chunk;
            let chunks = whole / threads + u64::from(thread < whole % threads);
            let last = if whole % threads == thread {
                each % chunk
            } else {
                0
            };
            chunks * chunk + last
        }
    }
}

/// Iterations of the outermost loops that the runtime deals.
fn dealt(body: &Body) -> impl Iterator<Item = Option<Expr>> + '_ {
    let is_dealt = |looped: &Loop| {
        let schedule = looped.worksharing.as_ref();
        schedule.is_some_and(|schedule| schedule.kind != ScheduleKind::Static)
    };
    let outermost = body.loops.iter().filter(move |looped| {
        is_dealt(looped) && !ancestors(body, looped).any(|outer| outer.worksharing.is_some())
    });
    outermost.map(|looped| over_all(body, looped, looped.worksharing.as_ref()?.total.clone()?))
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

/// `expr` in one iteration of a loop, evaluated as far as it becomes constant.
fn at(expr: &Expr, id: LoopId, iteration: &Expr) -> Expr {
    match expr {
        Expr::Leaf(Leaf::Iteration(own)) if *own == id => iteration.clone(),
        Expr::Leaf(_) | Expr::Const(_) => expr.clone(),
        Expr::Load {
            address,
            bytes,
            signed,
        } => Expr::load(at(address, id, iteration), *bytes, *signed),
        Expr::Op(op, left, right) => {
            Expr::op(*op, at(left, id, iteration), at(right, id, iteration))
        }
        Expr::Select(condition, yes, no) => select(
            at(condition, id, iteration),
            at(yes, id, iteration),
            at(no, id, iteration),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_regions::{
        Divided, Facts, LoopRole, Reason, ReasonKind, Sample, SampleEnvironment, Schedule, Word,
    };

    fn looped(parent: Option<u32>, trips: &str, total: Option<&str>) -> Loop {
        Loop {
            parent: parent.map(LoopId),
            depth: 0,
            innermost: true,
            header: 0,
            place: None,
            trips: Known::Known(trips.parse().unwrap()),
            worksharing: total.map(|total| Schedule {
                kind: ScheduleKind::Dynamic,
                chunk: None,
                total: total.parse().ok(),
            }),
            role: LoopRole::Whole,
            entered_if: None,
        }
    }

    fn divided(total: &str) -> Divided {
        let unknown = Known::Unknown(Reason::new(ReasonKind::Call, ""));
        Divided {
            loops: Vec::new(),
            total: total.parse().map_or(unknown, Known::Known),
            each: None,
            chunk: None,
        }
    }

    fn body(loops: Vec<Loop>) -> Body {
        Body {
            loops,
            ..Body::default()
        }
    }

    fn value(expr: &Expr, n: i64) -> i64 {
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
            threads: 1,
            thread: 0,
            iterations: &[],
        };
        expr.evaluate(&environment).unwrap()
    }

    #[test]
    fn shares_add_up() {
        assert_eq!(share(10, None, 4, 1), 3);
        assert_eq!(share(10, None, 4, 2), 2);
        // 0 to 6 and 14 to 19; 7 to 13.
        assert_eq!(share(20, Some(7), 2, 0), 13);
        assert_eq!(share(20, Some(7), 2, 1), 7);
        for each in [0, 1, 6, 7, 8, 100, 301] {
            for chunk in [None, Some(1), Some(7), Some(1000)] {
                for threads in [1, 2, 3, 8] {
                    let all: u64 = (0..threads)
                        .map(|one| share(each, chunk, threads, one))
                        .sum();
                    assert_eq!(all, each, "{chunk:?} on {threads}");
                }
            }
        }
    }

    #[test]
    fn loops_around_count_even_if_what_is_dealt_changes_from_one_iteration_to_the_next() {
        let body = body(vec![
            looped(None, "(load4 data)", None),
            looped(Some(0), "1", Some("(- (load4 data) i0)")),
            looped(Some(1), "1000", Some("1000")),
        ]);
        let total = total(&body).unwrap();
        for n in [0, 1, 6, 101] {
            assert_eq!(value(&total, n), n * (n + 1) / 2);
        }
    }

    #[test]
    fn what_is_divided_and_what_is_dealt_add_up() {
        let mut both = body(vec![looped(None, "5", Some("(load4 data)"))]);
        both.divided = vec![divided("7"), divided("(load4 data)")];
        assert_eq!(value(&total(&both).unwrap(), 10), 27);
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let mut one = body(vec![looped(None, "5", Some("5"))]);
        one.divided = vec![divided("")];
        assert_eq!(total(&one), None);
        let unknown = Known::Unknown(Reason::new(ReasonKind::Call, ""));
        let mut outer = looped(None, "5", None);
        outer.trips = unknown;
        assert_eq!(
            total(&body(vec![outer, looped(Some(0), "5", Some("5"))])),
            None
        );
        assert_eq!(total(&body(vec![looped(None, "5", None)])), None);
        // A loop that claims to lie in itself.
        assert_eq!(total(&body(vec![looped(Some(0), "5", Some("5"))])), None);
    }
}
