//! Bodies whose chunks the runtime hands out.

use fathomp_cache_model::{Assume, Nest};
use fathomp_regions::{
    Body, Environment, Expr, Known, Leaf, Loop, LoopId, LoopRole, Schedule, ScheduleKind,
};

/// A team of two; all memory holds 4096.
struct Two;

impl Environment for Two {
    fn leaf(&self, leaf: Leaf) -> Option<i64> {
        match leaf {
            Leaf::Threads => Some(2),
            Leaf::Thread | Leaf::Data => Some(0),
            _ => None,
        }
    }

    fn memory(&self, _: u64, _: u8) -> Option<u64> {
        Some(4096)
    }
}

fn expr(text: &str) -> Expr {
    text.parse().expect("an expression")
}

fn one_loop(parent: Option<LoopId>, trips: Expr, worksharing: Option<Schedule>) -> Loop {
    Loop {
        parent,
        depth: u32::from(parent.is_some()),
        innermost: parent.is_some(),
        header: 0,
        place: None,
        trips: Known::Known(trips),
        worksharing,
        role: LoopRole::Whole,
        entered_if: None,
    }
}

#[test]
fn lengths_of_guided_chunks_follow_from_the_total() {
    for kind in [
        ScheduleKind::Guided,
        ScheduleKind::Static,
        ScheduleKind::Dynamic,
        ScheduleKind::Runtime,
    ] {
        let schedule = Schedule {
            kind,
            chunk: None,
            total: Some(expr("(load8 (+ data 16))")),
        };
        let body = Body {
            loops: vec![
                one_loop(None, expr("1"), Some(schedule)),
                one_loop(
                    Some(LoopId(0)),
                    expr("(- chunk.end@0x10 chunk.start@0x10)"),
                    None,
                ),
            ],
            ..Body::default()
        };
        let nest = Nest::of(&body, &Two, &Assume::default());
        assert_eq!(nest.loops.len(), 2, "{kind:?}");
    }
}
