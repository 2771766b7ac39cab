//! Dry runs of code that a compiler made.

use fathomp_regions::{Body, DryLoop};
use fathomp_trips::dry::{DryPlan, Memory, Start, plan, run};

/// Code at one address, data at another.
struct World {
    code: (u64, Vec<u8>),
    data: (u64, Vec<u8>),
}

impl Memory for World {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        for (begin, bytes) in [&self.code, &self.data] {
            let Some(offset) = address.checked_sub(*begin) else {
                // Pages begin before what lies in them.
                if address + into.len() as u64 > *begin && address & 0xfff == 0 {
                    let gap = (begin - address) as usize;
                    let some = bytes.len().min(into.len() - gap);
                    into[gap..gap + some].copy_from_slice(&bytes[..some]);
                    return gap + some;
                }
                continue;
            };
            if let Some(rest) = bytes.get(offset as usize..) {
                let some = rest.len().min(into.len());
                into[..some].copy_from_slice(&rest[..some]);
                return some;
            }
        }
        0
    }
}

const CODE: u64 = 0x10_0000;
const DATA: u64 = 0x20_0000;

/// Runs `code` with words as its data block; its loops begin so many bytes into it.
fn dry(
    code: &[u8],
    words: &[u64],
    headers: &[u64],
    trips: &[Option<u64>],
    steps_max: u32,
) -> Result<Vec<DryLoop>, fathomp_trips::dry::GiveUp> {
    let world = World {
        code: (CODE, code.to_vec()),
        data: (
            DATA,
            words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        ),
    };
    let loops = (0..)
        .zip(headers)
        .map(|(id, header)| fathomp_trips::dry::LoopPlan {
            id,
            header: CODE + header,
            parent: id.checked_sub(1).map(|parent| parent as u16),
            trips: None,
        });
    let plan = DryPlan {
        loops: loops.collect(),
        calls: Vec::new(),
    };
    let start = Start {
        plan: &plan,
        function: CODE,
        bias: 0,
        code: (CODE, CODE + code.len() as u64),
        data: DATA,
        trips,
        steps_max,
    };
    run(start, &world).map(|found| found.loops)
}

/// ```text
/// 0:  mov rcx, [rdi]       rows
/// 3:  lea rdx, [rdi + 8]   where each row ends
/// 7:  xor eax, eax
/// 9:  mov r8, [rdx]        outer
/// c:  add rdx, 8
/// 10: cmp rax, r8
/// 13: jge 1d
/// 15: inc rax              inner
/// 18: cmp rax, r8
/// 1b: jl 15
/// 1d: dec rcx
/// 20: jne 9
/// 22: ret
/// ```
const ROWS: [u8; 35] = [
    0x48, 0x8b, 0x0f, 0x48, 0x8d, 0x57, 0x08, 0x31, 0xc0, 0x4c, 0x8b, 0x02, 0x48, 0x83, 0xc2, 0x08,
    0x4c, 0x39, 0xc0, 0x7d, 0x08, 0x48, 0xff, 0xc0, 0x4c, 0x39, 0xc0, 0x7c, 0xf8, 0x48, 0xff, 0xc9,
    0x75, 0xe7, 0xc3,
];

#[test]
fn rows_of_a_sparse_matrix_are_counted() {
    let loops = dry(&ROWS, &[4, 3, 3, 10, 11], &[9, 0x15], &[None, None], 1000).unwrap();
    assert_eq!((loops[0].entries, loops[0].iterations), (1.0, 4.0));
    // The second row is empty.
    assert_eq!((loops[1].entries, loops[1].iterations), (3.0, 11.0));
    assert!(loops[1].exact);
}

#[test]
fn a_long_run_is_extrapolated_if_the_outermost_loop_says_how_far() {
    let mut words = vec![1000];
    words.extend((1..=1000).map(|row| row * 5));
    let whole = dry(&ROWS, &words, &[9, 0x15], &[Some(1000), None], 100_000).unwrap();
    assert_eq!(whole[1].iterations, 5000.0);
    let part = dry(&ROWS, &words, &[9, 0x15], &[Some(1000), None], 3000).unwrap();
    assert!(!part[1].exact);
    assert_eq!((part[0].entries, part[0].iterations), (1.0, 1000.0));
    assert!((part[1].iterations - 5000.0).abs() < 100.0, "{part:?}");
    assert!(dry(&ROWS, &words, &[9, 0x15], &[None, None], 3000).is_err());
}

#[test]
fn what_cannot_be_read_decides_nothing_and_no_code_makes_it_panic() {
    // The block is missing: the count of rows is unknown, and the loop is left at once.
    let loops = dry(&ROWS, &[], &[9, 0x15], &[None, None], 1000).unwrap();
    assert!(!loops[0].exact);
    let mut code = ROWS.to_vec();
    for at in 0..code.len() {
        for bit in 0..8 {
            code[at] ^= 1 << bit;
            let _ = dry(&code, &[4, 3, 3, 10, 11], &[9, 0x15], &[Some(4), None], 500);
            code[at] ^= 1 << bit;
        }
        let _ = dry(&code[..at], &[4, 3, 3, 10, 11], &[9], &[None], 500);
    }
}

#[test]
fn bodies_of_which_all_is_known_are_not_run() {
    assert_eq!(plan(&Body::default(), &[]), None);
}
