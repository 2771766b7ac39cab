//! Decodes code and picks out what threads meet by.

use crate::Analysis;
use crate::blind::{self, Round};
use crate::context::ProgramContext;
use crate::does;
use crate::lead::Ways;
use crate::moved;
use crate::operand::operand;
use crate::waits;
use fathomp_cfg::{Decoded, decode, is_fence, is_site};
use fathomp_sys::text_patch::{Branch, CODE_BYTES, Kind, Site};
use iced_x86::{Instruction, OpKind};
use std::collections::BTreeSet;
use std::ops::Range;

/// A pass over all code of a program.
pub(crate) struct Sweep {
    bias: u64,
    around: ProgramContext,
    analysis: Analysis,
    /// Where direct branches go, unsorted.
    targets: Vec<u64>,
    /// Loops that are understood if nobody else jumps into them.
    rounds: Vec<Round>,
}

impl Sweep {
    pub(crate) fn new(bias: u64, around: ProgramContext) -> Self {
        Self {
            bias,
            around,
            analysis: Analysis::default(),
            targets: vec![],
            rounds: vec![],
        }
    }

    /// Decodes the section at `address` function by function, and what lies
    /// between them.
    pub(crate) fn section(&mut self, address: u64, code: &[u8], functions: &[Range<u64>]) {
        let end = address.saturating_add(code.len() as u64);
        let first = functions.partition_point(|function| function.end <= address);
        let mut at = address;
        for function in functions[first..]
            .iter()
            .take_while(|function| function.start < end)
        {
            let start = function.start.max(at);
            self.between(address, code, at..start);
            at = function.end.min(end).max(start);
            self.function(address, code, start..at);
        }
        self.between(address, code, at..end);
    }

    /// What follows something that is no instruction is not trusted.
    fn function(&mut self, address: u64, code: &[u8], range: Range<u64>) {
        let mut found = Found::default();
        self.decode(address, code, range, &mut found);
        self.take(address, code, found);
    }

    fn take(&mut self, address: u64, code: &[u8], mut found: Found) {
        let (mut waits, mut ways) = waits::find(&found.code, &self.around);
        if found.damaged {
            waits.iter_mut().for_each(|wait| wait.led = false);
            ways.clear();
        } else {
            let rounds = blind::find(&found.code, &mut found.sites, &self.around);
            self.rounds.extend(rounds);
        }
        self.lead(address, code, &found.code, &ways);
        self.analysis.waits.append(&mut waits);
        self.analysis.sites.append(&mut found.sites);
        self.analysis.doubtful.append(&mut found.doubtful);
    }

    /// Code without a name: trusted only as a whole.
    fn between(&mut self, address: u64, code: &[u8], range: Range<u64>) {
        let mut found = Found::default();
        self.decode(address, code, range, &mut found);
        if found.damaged {
            let sites = found.sites.drain(..);
            self.analysis
                .doubtful
                .extend(sites.map(|site| site.address));
        }
        self.take(address, code, found);
    }

    /// Notes branches of a function in the section at `address`.
    fn lead(&mut self, address: u64, code: &[u8], function: &[Instruction], ways: &Ways) {
        for (at, led) in ways {
            let [taken, passed] = led.ways;
            let found = function.binary_search_by_key(at, Instruction::ip);
            let Some(instruction) = found.ok().map(|found| &function[found]) else {
                continue;
            };
            let from = at.wrapping_sub(self.bias).wrapping_sub(address) as usize;
            let length = instruction.len();
            let to = (from + length.max(CODE_BYTES)).min(code.len());
            self.analysis.branches.push(Site {
                address: *at as usize,
                length,
                code: code[from..to].to_vec(),
                kind: Kind::Branch(Branch {
                    target: instruction.near_branch_target() as usize,
                    // They are numbered from 1 on, in the order of the opcodes.
                    condition: (instruction.condition_code() as u8).saturating_sub(1),
                    taken,
                    passed,
                    looks_at: led.looks_at,
                }),
                relative: None,
                entered_inside: false,
                does: None,
                blind: None,
                moved: None,
            });
        }
    }

    fn decode(&mut self, address: u64, code: &[u8], range: Range<u64>, found: &mut Found) {
        let offset = |address_within: u64| (address_within - address) as usize;
        let (start, end) = (offset(range.start), offset(range.end));
        let Some(bytes) = code.get(start..end) else {
            return;
        };
        let at = range.start.wrapping_add(self.bias);
        decode(bytes, at, |decoded, constants| {
            self.analysis.instructions += 1;
            let Decoded::Instruction(instruction) = decoded else {
                found.damaged = true;
                return;
            };
            found.code.push(*instruction);
            if is_branch(instruction) {
                self.targets.push(instruction.near_branch_target());
                return;
            }
            if !is_site(instruction) {
                return;
            }
            let address = instruction.ip() as usize;
            let Some(kind) = kind(instruction).filter(|_| !found.damaged) else {
                found.doubtful.push(address);
                return;
            };
            let relative = instruction
                .is_ip_rel_memory_operand()
                .then(|| constants(instruction).displacement_offset());
            let length = instruction.len();
            let from = start + instruction.ip().wrapping_sub(at) as usize;
            let to = (from + length.max(CODE_BYTES)).min(code.len());
            found.sites.push(Site {
                address,
                length,
                code: code[from..to].to_vec(),
                kind,
                relative,
                entered_inside: false,
                does: does::does(instruction),
                blind: None,
                moved: moved::other_form(instruction),
            });
        });
    }

    /// What was found.
    pub(crate) fn finish(mut self) -> Analysis {
        self.targets.sort_unstable();
        let (closed, entered): (Vec<_>, Vec<_>) = self
            .rounds
            .iter()
            .partition(|round| round.is_closed(&self.targets));
        let entered: BTreeSet<usize> = entered.iter().map(|round| round.site).collect();
        let guesses = closed.iter().filter_map(|round| round.guess);
        self.analysis.guesses = guesses.collect();
        let Analysis {
            sites, branches, ..
        } = &mut self.analysis;
        for site in sites.iter_mut().chain(branches) {
            let inside =
                site.address as u64..(site.address as u64).saturating_add(site.length as u64);
            let next = self.targets.partition_point(|to| *to <= inside.start);
            let next = self.targets.get(next);
            site.entered_inside = next.is_some_and(|target| inside.contains(target));
        }
        for site in &mut self.analysis.sites {
            site.blind = site.blind.filter(|_| !entered.contains(&site.address));
        }
        self.analysis.guesses.sort_by_key(|guess| guess.address);
        self.analysis.sites.sort_by_key(|site| site.address);
        self.analysis.branches.sort_by_key(|site| site.address);
        self.analysis.doubtful.sort_unstable();
        self.analysis
    }
}

/// Of one range.
#[derive(Default)]
struct Found {
    sites: Vec<Site>,
    doubtful: Vec<usize>,
    code: Vec<Instruction>,
    /// Something was no instruction.
    damaged: bool,
}

fn is_branch(instruction: &Instruction) -> bool {
    matches!(
        instruction.op0_kind(),
        OpKind::NearBranch64 | OpKind::NearBranch32 | OpKind::NearBranch16
    )
}

/// What a site is to other nodes; `None` for what we cannot follow.
fn kind(instruction: &Instruction) -> Option<Kind> {
    if is_fence(instruction) {
        Some(Kind::Fence)
    } else {
        operand(instruction).map(Kind::Atomic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_sys::text_patch::Operand;

    /// `lock inc dword ptr [rdi]`
    const INCREMENT: [u8; 3] = [0xf0, 0xff, 0x07];
    const RETURN: u8 = 0xc3;
    /// No instruction of 64-bit code.
    const NONSENSE: u8 = 0x06;

    /// What is found in code at 0x1000 of the file.
    fn analysis(code: &[u8], functions: &[Range<u64>]) -> Analysis {
        let mut sweep = Sweep::new(0x10_0000, ProgramContext::default());
        sweep.section(0x1000, code, functions);
        sweep.finish()
    }

    /// The only site in code that is one function.
    fn only(code: &[u8]) -> Site {
        let whole = 0x1000..0x1000 + code.len() as u64;
        analysis(code, std::slice::from_ref(&whole)).sites.remove(0)
    }

    /// Offsets of sites and of doubtful ones.
    fn found(code: &[u8], functions: &[Range<u64>]) -> (Vec<usize>, Vec<usize>) {
        let analysis = analysis(code, functions);
        let offset = |address: usize| address - 0x10_1000;
        let sites = analysis.sites.iter().map(|site| offset(site.address));
        let doubtful = analysis.doubtful.iter().map(|at| offset(*at));
        (sites.collect(), doubtful.collect())
    }

    #[test]
    fn a_function_is_trusted_up_to_what_is_no_instruction() {
        let code = [&INCREMENT[..], &[NONSENSE], &INCREMENT, &[RETURN]].concat();
        assert_eq!(
            found(&code, &[0x1000..0x1004, 0x1004..0x1008]),
            (vec![0, 4], vec![])
        );
        assert_eq!(
            found(&code, &[0x1000..0x1007, 0x1007..0x1008]),
            (vec![0], vec![4])
        );
    }

    #[test]
    fn what_has_no_name_is_trusted_as_a_whole_or_not() {
        let code = [&INCREMENT[..], &[NONSENSE], &INCREMENT, &[RETURN]].concat();
        assert_eq!(found(&code, &[]), (vec![], vec![0, 4]));
        assert_eq!(found(&code[4..], &[]), (vec![0], vec![]));
    }

    #[test]
    fn data_between_functions_does_not_shift_what_follows() {
        // The data's last byte would swallow the function's first four.
        let data = [NONSENSE, 0xf0, 0xff, 0x07, 0x68];
        let code = [&data[..], &INCREMENT, &[0x90, RETURN]].concat();
        let functions = [0x1005..0x1009, 0x1009..0x100a];
        assert_eq!(found(&code, &functions), (vec![5], vec![1]));
    }

    #[test]
    fn functions_may_reach_beyond_the_section_on_both_sides() {
        let code = [&INCREMENT[..], &[RETURN], &INCREMENT[..]].concat();
        let functions = [0x800..0x900, 0xff0..0x1004, 0x1004..0x2000, 0x3000..0x3001];
        assert_eq!(found(&code, &functions), (vec![0, 4], vec![]));
    }

    #[test]
    fn kernel_style_operands_are_left_alone() {
        // With segment GS, and with an address of 32 bits.
        let code = [0x65, 0xf0, 0xff, 0x07, 0x67, 0xf0, 0xff, 0x07, RETURN];
        assert_eq!(found(&code, &[]), (vec![], vec![0, 4]));
    }

    #[test]
    fn idle_operations_on_the_stack_are_fences() {
        let cases: [(&[u8], bool); 7] = [
            (&[0xf0, 0x83, 0x0c, 0x24, 0x00], true),
            (&[0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00], true),
            (&[0xf0, 0x83, 0x4c, 0x24, 0xc0, 0x00], true),
            (&[0xf0, 0x83, 0x24, 0x24, 0xff], true),
            (&[0x0f, 0xae, 0xf0], true),
            // Something is added; not the stack.
            (&[0xf0, 0x83, 0x04, 0x24, 0x01], false),
            (&[0xf0, 0x83, 0x0f, 0x00], false),
        ];
        for (code, is_fence) in cases {
            let kind = only(code).kind;
            assert_eq!(kind == Kind::Fence, is_fence, "{code:x?}");
        }
    }

    #[test]
    fn operands_are_told_by_registers_and_distances() {
        let operand = |code: &[u8]| {
            let site = only(code);
            match site.kind {
                Kind::Atomic(operand) => (operand, site.relative),
                Kind::Fence | Kind::Branch(_) => panic!("no atomic"),
            }
        };
        // lock xadd [r13 + r12 * 8 - 8], rax
        let (indexed, _) = operand(&[0xf0, 0x4b, 0x0f, 0xc1, 0x44, 0xe5, 0xf8]);
        let expected = Operand {
            base: Some(13),
            index: Some((12, 8)),
            displacement: (-8_i64).cast_unsigned(),
            bytes: 8,
            ..Operand::default()
        };
        assert_eq!(indexed, expected);
        // lock add word ptr [rip + 0x100], 3
        let (relative, offset) = operand(&[0x66, 0xf0, 0x83, 0x05, 0, 1, 0, 0, 3]);
        assert_eq!(relative.displacement, 0x10_1000 + 9 + 0x100);
        assert_eq!((relative.bytes, offset), (2, Some(4)));
        // xchg dword ptr fs:[0x1c], eax
        let (own, _) = operand(&[0x64, 0x87, 0x04, 0x25, 0x1c, 0, 0, 0]);
        assert_eq!((own.thread_local, own.displacement), (true, 0x1c));
    }
}
