//! What an update does of which nobody sees what it found is known when its section begins.
// A program of its own: it patches code, whose traps are those of the whole process.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use fathomp_sys::text_patch::{
    CODE_BYTES, Does, Doing, Effect, Hooks, Kind, Operand, Section, Site, Source, install,
};
use std::cell::Cell;

thread_local! {
    static BEGUN: Cell<Option<Section>> = const { Cell::new(None) };
    static ENDED: Cell<u32> = const { Cell::new(0) };
}

/// Adds the number in `xmm0` to the word at `rdi`, by a compare-and-exchange in a loop, and then
/// the number at `rsi` to `xmm0`, which it returns.
///
/// ```text
///     movsd  xmm15, [rsi]
///     mov    rax, [rdi]
/// 9:  movq   xmm1, rax
///     addsd  xmm1, xmm0
///     movq   rdx, xmm1
///     lock cmpxchg [rdi], rdx
///     jne    9
///     addsd  xmm0, [rsi]
///     ret
/// ```
const LOOP: [u8; 37] = [
    0xf2, 0x44, 0x0f, 0x10, 0x3e, 0x48, 0x8b, 0x07, 0x66, 0x48, 0x0f, 0x6e, 0xc8, 0xf2, 0x0f, 0x58,
    0xc8, 0x66, 0x48, 0x0f, 0x7e, 0xca, 0xf0, 0x48, 0x0f, 0xb1, 0x17, 0x75, 0xeb, 0xf2, 0x0f, 0x58,
    0x06, 0xc3, 0x90, 0x90, 0x90,
];
/// Where the exchange is in it, and its size.
const EXCHANGE: (usize, usize) = (22, 5);

type Add = extern "C" fn(&mut f64, &f64, f64) -> f64;

/// The number at `rsi`.
const OTHER: Operand = Operand {
    base: Some(6),
    index: None,
    displacement: 0,
    thread_local: false,
    bit: None,
    bytes: 8,
};

/// The loop in memory that can be executed.
fn placed() -> usize {
    // SAFETY: fresh memory, written and then only executed.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            LOOP.len(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED);
        std::ptr::copy_nonoverlapping(LOOP.as_ptr(), memory.cast(), LOOP.len());
        let done = libc::mprotect(memory, LOOP.len(), libc::PROT_READ | libc::PROT_EXEC);
        assert_eq!(done, 0);
        memory as usize
    }
}

fn enter(section: &Section) -> Option<usize> {
    BEGUN.set(Some(*section));
    // Changes vector registers.
    let sum: f64 = std::hint::black_box([0.5; 16]).iter().sum();
    std::hint::black_box(sum);
    None
}

fn leave(section: &Section) {
    assert_eq!(BEGUN.get(), Some(*section));
    ENDED.set(ENDED.get() + 1);
}

#[test]
fn the_operand_is_what_the_program_adds() {
    let minus_zero = (-0.0_f64).to_bits();
    let cases = [
        (Some(Source::Vector(0)), 2.5_f64.to_bits()),
        (Some(Source::MinusVector(0)), (-2.5_f64).to_bits()),
        (Some(Source::Vector(1)), 3.75_f64.to_bits()),
        (Some(Source::Vector(15)), 0),
        (Some(Source::MinusVector(15)), minus_zero),
        (Some(Source::Memory(OTHER)), 0),
        (Some(Source::MinusMemory(OTHER)), minus_zero),
        (Some(Source::Value(7)), 7),
        (None, 0),
    ];
    let hooks = Hooks {
        enter,
        leave,
        fence: || {},
        waits: |_| {},
        came: |_| {},
    };
    let (offset, length) = EXCHANGE;
    for (source, operand) in cases {
        let start = placed();
        let blind = source.map(|source| Does {
            effect: Effect::AddFloat,
            source,
        });
        let site = Site {
            address: start + offset,
            length,
            code: LOOP[offset..offset + CODE_BYTES].to_vec(),
            kind: Kind::Atomic(Operand {
                base: Some(7),
                bytes: 8,
                ..Operand::default()
            }),
            relative: None,
            entered_inside: false,
            does: Some(Does {
                effect: Effect::CompareExchange,
                source: Source::Register(2),
            }),
            blind,
            moved: None,
        };
        // SAFETY: the site is a whole instruction, which nobody executes yet, and the loop reads
        // the number in memory before it.
        unsafe { install(&[site], hooks) }.unwrap();
        // SAFETY: the code of `LOOP`, whole.
        let add: Add = unsafe { std::mem::transmute(start) };
        for zero in [0.0, 1.25] {
            let (mut word, before) = (1.25, ENDED.get());
            let returned = add(&mut word, &zero, 2.5);
            assert_eq!((word, returned), (3.75, 2.5 + zero), "{source:?}");
            assert_eq!(ENDED.get(), before + 1);
            let section = BEGUN.take().unwrap();
            let expected = 1.25_f64.to_bits();
            let does = Doing {
                effect: Effect::CompareExchange,
                operand: 3.75_f64.to_bits(),
                expected,
            };
            assert_eq!(section.does, Some(does));
            let is_other = matches!(
                source,
                Some(
                    Source::Vector(15)
                        | Source::MinusVector(15)
                        | Source::Memory(_)
                        | Source::MinusMemory(_)
                )
            );
            let more = if is_other { zero.to_bits() } else { 0 };
            let blind = blind.map(|does| Doing {
                effect: does.effect,
                operand: operand ^ more,
                expected,
            });
            assert_eq!(section.blind, blind, "{source:?}");
        }
    }
}
