//! From a function's bytes to its graph.

use super::blocks::{self, Code, Graph};
use super::cycles;
use super::dominators::Dominators;
use super::table;
use super::{Flaw, FlawKind, Flow, FlowError, Leave};
use crate::decode::{Decoded, decode};
use crate::image::{FunctionId, Image, Target};
use crate::instruction::jump_target;
use std::collections::BTreeMap;
use std::ops::Range;

/// Parts that are joined, at most.
const PARTS_MAX: usize = 64;
/// Times that more jump tables are looked for behind those that were found.
const ROUNDS_MAX: usize = 32;

pub(super) fn flow(
    image: &Image,
    function: FunctionId,
    returns: &dyn Fn(&Target) -> bool,
) -> Result<Flow, FlowError> {
    let range = image.function(function).range.clone();
    let mut parts = vec![range.clone()];
    let mut flaws = vec![];
    let (code, tables) = loop {
        let code = decoded(image, &parts)?;
        let tables = tables(image, &code, returns);
        let more = further(image, &code, &tables, &parts);
        if more.is_empty() {
            break (code, tables);
        }
        for part in more {
            if parts.len() < PARTS_MAX {
                parts.push(part);
            } else if !flaws.iter().any(|f: &Flaw| f.kind == FlawKind::Parts) {
                flaws.push(Flaw {
                    at: part.start,
                    kind: FlawKind::Parts,
                });
            }
        }
        if !flaws.is_empty() {
            let code = decoded(image, &parts)?;
            let tables = self::tables(image, &code, returns);
            break (code, tables);
        }
    };
    flaws.extend(code.damaged.iter().map(|at| Flaw {
        at: *at,
        kind: FlawKind::Undecodable,
    }));
    let mut graph = blocks::graph(image, &code, &tables, returns, &mut flaws);
    name_tails(&code, &mut graph, &mut flaws);
    let entry = graph
        .block_from(&code, range.start)
        .ok_or(FlowError::NoCode(range.start))?;
    let dominators = Dominators::from_entry(&graph.blocks, entry);
    let (cycles, innermost, too_deep) = cycles::find(&graph.blocks, &dominators);
    flaws.extend(too_deep.map(|at| Flaw {
        at,
        kind: FlawKind::Depth,
    }));
    flaws.sort_by_key(|flaw| flaw.at);
    Ok(Flow {
        function,
        instructions: code.instructions,
        blocks: graph.blocks,
        entry,
        parts,
        cycles,
        flaws,
        innermost,
        dominators,
    })
}

/// The instructions of all parts, by address.
fn decoded(image: &Image, parts: &[Range<u64>]) -> Result<Code, FlowError> {
    let bytes: u64 = parts.iter().map(|part| part.end - part.start).sum();
    if bytes > Flow::BYTES_MAX {
        return Err(FlowError::TooLarge(parts[0].start));
    }
    let mut sorted = parts.to_vec();
    sorted.sort_by_key(|part| part.start);
    let mut code = Code {
        parts: parts.to_vec(),
        ..Code::default()
    };
    for part in sorted {
        let Some(bytes) = image.bytes(part.start, part.end - part.start) else {
            if part == parts[0] {
                return Err(FlowError::NoCode(part.start));
            }
            continue;
        };
        let mut whole = true;
        decode(bytes, part.start, |decoded, _| match decoded {
            Decoded::Instruction(instruction) => {
                whole = true;
                code.instructions.push(*instruction);
            }
            // Once for all bytes in a row.
            Decoded::Nothing(at) => {
                if std::mem::take(&mut whole) {
                    code.damaged.push(at);
                }
            }
        });
    }
    Ok(code)
}

/// Targets of the indirect jumps that have a table, by the jump's address. Those that become
/// reachable by others are looked at again, because only then it is clear from where they come.
fn tables(
    image: &Image,
    code: &Code,
    returns: &dyn Fn(&Target) -> bool,
) -> BTreeMap<u64, Vec<u64>> {
    let mut found = BTreeMap::new();
    let jumps = code.indirect_jumps(image);
    if jumps.is_empty() {
        return found;
    }
    for _ in 0..ROUNDS_MAX {
        let graph = blocks::graph(image, code, &found, returns, &mut vec![]);
        let mut more = false;
        for jump in &jumps {
            let at = code.instructions[*jump].ip();
            if found.contains_key(&at) {
                continue;
            }
            let way = graph.way_to(code, *jump);
            let first = way.first().map_or(*jump, |(first, _)| *first);
            let begin = graph.block_of(first);
            let before = |register| table::reaching(code, &graph, begin, register);
            if let Some(targets) = table::targets(image, code, &way, &before) {
                found.insert(at, targets);
                more = true;
            }
        }
        if !more {
            break;
        }
    }
    found
}

/// Tells jumps to a function that a pointer names from jumps that stay inside: before the former,
/// the stack is as it was when the function began.
fn name_tails(code: &Code, graph: &mut Graph, flaws: &mut Vec<Flaw>) {
    for at in 0..graph.blocks.len() {
        let block = &graph.blocks[at];
        let jump = block.instructions.end - 1;
        if block.leaves != Some(Leave::Unknown) {
            continue;
        }
        let way = graph.way_to(code, jump);
        let begins = way
            .first()
            .is_some_and(|(first, _)| code.instructions[*first].ip() == code.parts[0].start);
        if table::leaves(code, &way, begins) {
            let ip = code.instructions[jump].ip();
            graph.blocks[at].leaves = Some(Leave::Tail(Target::Unknown));
            flaws.retain(|flaw| flaw.at != ip || flaw.kind != FlawKind::IndirectJump);
        }
    }
}

/// Parts of the function that lie elsewhere and are not joined yet.
fn further(
    image: &Image,
    code: &Code,
    tables: &BTreeMap<u64, Vec<u64>>,
    parts: &[Range<u64>],
) -> Vec<Range<u64>> {
    let jumps = code.instructions.iter().filter_map(jump_target);
    let targets = jumps.chain(tables.values().flatten().copied());
    let mut more: Vec<Range<u64>> = vec![];
    for target in targets {
        let known = |known: &[Range<u64>]| known.iter().any(|part| part.contains(&target));
        if known(parts) || known(&more) || image.is_stub(target) {
            continue;
        }
        let Some(id) = image.function_at(target) else {
            continue;
        };
        let other = image.function(id);
        // Whoever jumps behind the beginning of something jumps to no function.
        if other.is_part || target != other.range.start {
            more.push(other.range.clone());
        }
    }
    more
}
