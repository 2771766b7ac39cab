//! Which loops a compiler made of one.

use fathomp_regions::{Body, LoopRole};

/// Bytes of the shortest vector.
const VECTOR: u32 = 16;

/// Finds vectorised loops and those that do what they leave over: innermost loops side by side,
/// one with accesses of vectors, the other with narrower ones only.
pub(crate) fn assign(body: &mut Body) {
    let mut widest = vec![0_u32; body.loops.len()];
    for access in &body.accesses {
        if let Some(inside) = access.inside
            && let Some(widest) = widest.get_mut(inside.0 as usize)
        {
            *widest = (*widest).max(access.bytes);
        }
    }
    let mut roles = vec![LoopRole::Whole; body.loops.len()];
    for (main, one) in body.loops.iter().enumerate() {
        if !one.innermost || widest[main] < VECTOR {
            continue;
        }
        for (rest, other) in body.loops.iter().enumerate() {
            let beside = rest != main && other.innermost && other.parent == one.parent;
            let same_line = match (&one.place, &other.place) {
                (Some(one), Some(other)) => one.line == other.line,
                _ => true,
            };
            if beside
                && same_line
                && widest[rest] > 0
                && widest[rest] < widest[main]
                && other.header.abs_diff(one.header) < 1 << 12
            {
                roles[main] = LoopRole::Main;
                roles[rest] = LoopRole::Remainder;
            }
        }
    }
    for (one, role) in body.loops.iter_mut().zip(roles) {
        one.role = role;
    }
}
