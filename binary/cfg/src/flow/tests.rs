//! Graphs of bytes that no compiler made.

use super::*;
use crate::effects::Effects;
use proptest::prelude::*;

const AT: u64 = 0x40_1000;

/// Jumps, near and far, calls, returns, what prepares a jump table, and anything.
fn code() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<u8>().prop_map(|distance| vec![0xeb, distance]),
        any::<u8>().prop_map(|distance| vec![0x74, distance]),
        any::<u8>().prop_map(|distance| vec![0xe8, distance, 0, 0, 0]),
        any::<u8>().prop_map(|distance| vec![0x0f, 0x87, distance, 0xff, 0xff, 0xff]),
        Just(vec![0xc3]),
        Just(vec![0x90]),
        Just(vec![0x83, 0xf8, 0x04]),
        Just(vec![0x48, 0x8d, 0x15, 0x10, 0, 0, 0]),
        Just(vec![0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0]),
        Just(vec![0xff, 0xe0]),
        any::<[u8; 3]>().prop_map(|bytes| bytes.to_vec()),
    ];
    prop::collection::vec(piece, 1..120).prop_map(|pieces| pieces.concat())
}

fn check(flow: &Flow) {
    let mut at = 0;
    for id in flow.ids() {
        let block = flow.block(id);
        assert_eq!(
            block.instructions.start, at,
            "blocks lie one behind the other"
        );
        assert!(!block.instructions.is_empty());
        at = block.instructions.end;
        for to in &block.successors {
            let back = flow.block(*to).predecessors.contains(&id);
            assert_eq!(back, block.reachable || !flow.block(*to).reachable);
            assert!(!block.reachable || flow.block(*to).reachable);
        }
        assert!(!block.successors.is_empty() || block.leaves.is_some());
        let inside = flow.cycle_of(id).is_some();
        let dominators = flow.dominators();
        assert_eq!(dominators.dominates(flow.entry, id), block.reachable);
        assert!(block.reachable || !inside);
        if let Some(over) = dominators.nearest(id) {
            assert!(dominators.dominates(over, id) && !dominators.dominates(id, over));
        }
    }
    assert_eq!(at, flow.instructions.len());
    for (number, cycle) in flow.cycles.iter().enumerate() {
        assert_eq!(cycle.entries.first(), Some(&cycle.header));
        assert!(!cycle.latches.is_empty() && cycle.contains(cycle.header));
        for (from, to) in &cycle.exits {
            assert!(cycle.contains(*from) && !cycle.contains(*to));
        }
        if let Some(parent) = cycle.parent {
            assert!(parent.index() < number);
            let parent = flow.cycle(parent);
            assert!(cycle.blocks.iter().all(|block| parent.contains(*block)));
            assert!(!cycle.contains(parent.header) && !parent.innermost);
        }
        if !cycle.is_irreducible() {
            let over = |block: &BlockId| flow.dominators().dominates(cycle.header, *block);
            assert!(cycle.blocks.iter().all(over));
        }
    }
    let post = flow.post_dominators();
    for id in flow.ids() {
        if let Some(behind) = post.nearest(id) {
            assert!(post.dominates(behind, id));
        }
    }
}

/// Whether no way leads round without a block, which is slow and simple.
fn is_cycle_without(flow: &Flow, blocks: &[BlockId], without: BlockId) -> bool {
    blocks.iter().filter(|from| **from != without).any(|from| {
        let mut seen = std::collections::BTreeSet::new();
        let mut work = vec![*from];
        while let Some(at) = work.pop() {
            for to in &flow.block(at).successors {
                if to == from {
                    return true;
                }
                if *to != without && blocks.contains(to) && seen.insert(*to) {
                    work.push(*to);
                }
            }
        }
        false
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_have_a_graph(code in code(), cut in 0_u64..40) {
        let end = AT + code.len() as u64;
        let cut = (AT + cut).min(end);
        let functions = [AT..cut, cut..end].into_iter().filter(|f| !f.is_empty());
        let functions: Vec<_> = functions.collect();
        let image = Image::raw(AT, &code, &functions);
        for id in image.ids() {
            // Bytes of which none begins an instruction have none.
            if let Ok(flow) = Flow::of(&image, id) {
                check(&flow);
            }
        }
        let effects = Effects::of(&image, image.ids());
        for id in effects.functions() {
            let left = effects.left(id);
            let more = left.changed.and(crate::Registers::CALLER_SAVED);
            prop_assert_eq!(more, crate::Registers::CALLER_SAVED);
        }
    }

    #[test]
    fn innermost_loops_end_without_their_header(code in code()) {
        let whole = AT..AT + code.len() as u64;
        let image = Image::raw(AT, &code, std::slice::from_ref(&whole));
        let Ok(flow) = Flow::of(&image, FunctionId(0)) else {
            return Ok(());
        };
        for cycle in flow.cycles.iter().filter(|cycle| cycle.innermost) {
            prop_assert!(!is_cycle_without(&flow, &cycle.blocks, cycle.header));
        }
    }
}
