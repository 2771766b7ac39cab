//! Branches that tell the runtime which way they go do what they did before.
// A program of its own: it patches code, whose traps are those of the whole process.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use fathomp_sys::text_patch::{Branch, CODE_BYTES, Hooks, Kind, Operand, Site, Way, install};
use std::cell::{Cell, RefCell};
use std::ops::Range;

thread_local! {
    /// That it waits, with flushes and without, and that something came.
    static TOLD: Cell<[u32; 3]> = const { Cell::new([0; 3]) };
    static LOOKED: RefCell<Option<Range<usize>>> = const { RefCell::new(None) };
}

fn waits(flushes: bool) {
    let [with, without, came] = TOLD.get();
    TOLD.set(match flushes {
        true => [with + 1, without, came],
        false => [with, without + 1, came],
    });
    disturb();
}

fn came(looked: Option<Range<usize>>) {
    let [with, without, came] = TOLD.get();
    TOLD.set([with, without, came + 1]);
    LOOKED.set(looked);
    disturb();
}

/// Changes flags and vector registers.
fn disturb() {
    let sum: f64 = std::hint::black_box([0.5; 16]).iter().sum();
    std::hint::black_box(sum);
}

/// What a function returns: the flags, or their complement where the branch was taken.
type Compare = extern "C" fn(u32, u32) -> u64;

/// `cmp edi, esi`, a branch by `condition`, and what either way returns. Where the branch is, how
/// long, and where it goes, from the beginning.
fn code(condition: u8, is_near: bool) -> (Vec<u8>, usize, usize, usize) {
    /// `pushfq; pop rax; ret`
    const PASSED: [u8; 3] = [0x9c, 0x58, 0xc3];
    /// `pushfq; pop rax; not rax; ret`
    const TAKEN: [u8; 6] = [0x9c, 0x58, 0x48, 0xf7, 0xd0, 0xc3];
    let mut code = vec![0x39, 0xf7];
    let at = code.len();
    let over = PASSED.len() as u8;
    match is_near {
        true => code.extend([0x0f, 0x80 | condition, over, 0, 0, 0]),
        false => code.extend([0x70 | condition, over]),
    }
    let length = code.len() - at;
    code.extend(PASSED);
    let target = code.len();
    code.extend(TAKEN);
    (code, at, length, target)
}

/// All of it one behind the other in memory that can be executed: where each begins.
fn placed(all: &[Vec<u8>]) -> Vec<usize> {
    const ROOM: usize = 64;
    let bytes = all.len() * ROOM;
    // SAFETY: fresh memory, written and then only executed.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED);
        let start = memory as usize;
        let places: Vec<usize> = (0..all.len()).map(|n| start + n * ROOM).collect();
        for (code, place) in all.iter().zip(&places) {
            std::ptr::copy_nonoverlapping(code.as_ptr(), *place as *mut u8, code.len());
        }
        let done = libc::mprotect(memory, bytes, libc::PROT_READ | libc::PROT_EXEC);
        assert_eq!(done, 0);
        places
    }
}

fn call(address: usize, a: u32, b: u32) -> u64 {
    // SAFETY: the code of `code`, whole.
    let compare: Compare = unsafe { std::mem::transmute(address) };
    compare(a, b)
}

#[test]
fn branches_go_where_they_went_and_say_so() {
    const NUMBERS: [u32; 5] = [0, 1, 77, 0x7fff_ffff, 0x8000_0000];
    let ways = [
        (Way::Free, Way::Waits),
        (Way::Came, Way::Free),
        (Way::Came, Way::Waits),
        (Way::Flushes, Way::Came),
    ];
    // What lies at rdi + 2 * rsi + 5.
    let looks_at = Operand {
        base: Some(7),
        index: Some((6, 2)),
        displacement: 5,
        bytes: 2,
        ..Operand::default()
    };
    let mut codes = Vec::new();
    let mut wanted = Vec::new();
    for condition in 0..16 {
        for is_near in [false, true] {
            for (taken, passed) in ways {
                for by_breakpoint in [false, true] {
                    let (code, at, length, target) = code(condition, is_near);
                    codes.push(code);
                    wanted.push((condition, at, length, target, taken, passed, by_breakpoint));
                }
            }
        }
    }
    let (plain, patched) = (placed(&codes), placed(&codes));
    let sites: Vec<Site> = wanted
        .iter()
        .zip(patched.iter().zip(&codes))
        .map(|(wanted, (start, code))| {
            let (condition, at, length, target, taken, passed, entered_inside) = *wanted;
            let end = (at + length.max(CODE_BYTES)).min(code.len());
            Site {
                address: start + at,
                length,
                code: code[at..end].to_vec(),
                kind: Kind::Branch(Branch {
                    target: start + target,
                    condition,
                    taken,
                    passed,
                    looks_at: (length == 2).then_some(looks_at),
                }),
                relative: None,
                entered_inside,
                does: None,
                blind: None,
                moved: None,
            }
        })
        .collect();
    let hooks = Hooks {
        enter: |_| None,
        leave: |_| {},
        fence: || {},
        waits,
        came,
    };
    // SAFETY: each site is a whole branch, which nobody executes yet.
    let ways = unsafe { install(&sites, hooks) }.unwrap();
    assert_eq!(ways.jumps + ways.tight_jumps + ways.traps, sites.len());
    assert!(ways.jumps > 0 && ways.traps > 0, "{ways:?}");
    for (number, wanted) in wanted.iter().enumerate() {
        let (_, _, length, _, taken, passed, _) = *wanted;
        for (a, b) in NUMBERS.iter().flat_map(|a| NUMBERS.map(|b| (*a, b))) {
            let expected = call(plain[number], a, b);
            // Flags as they are have their highest bits clear.
            let way = if expected >> 63 == 1 { taken } else { passed };
            TOLD.set([0; 3]);
            LOOKED.set(None);
            assert_eq!(call(patched[number], a, b), expected, "{wanted:?} {a} {b}");
            let told = [Way::Flushes, Way::Waits, Way::Came].map(|each| u32::from(each == way));
            assert_eq!(TOLD.get(), told, "{wanted:?} {a} {b}");
            let address = a as usize + 2 * b as usize + 5;
            let looked = (way == Way::Came && length == 2).then_some(address..address + 2);
            assert_eq!(LOOKED.take(), looked, "{wanted:?} {a} {b}");
        }
    }
}
