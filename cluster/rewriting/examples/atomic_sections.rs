//! Leads every inline atomic and fence of a program through a lock, and says
//! on stderr how often each place in memory was worked on, and how often something came that was
//! waited for:
//!
//! ```text
//! cargo build -p fathomp-rewriting --example atomic_sections
//! LD_PRELOAD=target/debug/examples/libatomic_sections.so ./program
//! ```
//!
//! The program must do what it does without. `FATHOMP_TRAP=1` gives all sites a
//! breakpoint. With `FATHOMP_MOVE=1` the instructions work on other memory, into which the
//! bytes are copied before and from which they are copied afterwards. With `FATHOMP_BLIND=1`
//! what is said to be [all that matters](fathomp_sys::text_patch::Site::blind) is done to the memory, and the
//! instruction itself works on other memory that holds nonsense, or what it expects.

use fathomp_sys::modules::program_bias;
use fathomp_sys::text_patch::{Doing, Effect, Hooks, Section, install};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Held from the beginning of a section to its end.
static BUSY: AtomicBool = AtomicBool::new(false);
/// Sections by address and size in bytes.
static SECTIONS: Mutex<BTreeMap<(usize, usize), u64>> = Mutex::new(BTreeMap::new());
static FENCES: AtomicU64 = AtomicU64::new(0);
/// How often something came, by address and size in bytes of what was looked at, if known.
static LOOKED: Mutex<BTreeMap<Option<(usize, usize)>, u64>> = Mutex::new(BTreeMap::new());
static CAME: AtomicU64 = AtomicU64::new(0);
static WAITED: AtomicU64 = AtomicU64::new(0);
static MOVED: AtomicU64 = AtomicU64::new(0);
static BLIND: AtomicU64 = AtomicU64::new(0);
/// Whether updates that nobody sees are done apart from their instructions.
static APART: AtomicBool = AtomicBool::new(false);

/// Where instructions work instead, if they do.
static ELSEWHERE: OnceLock<usize> = OnceLock::new();

/// As aligned as an operand may have to be.
#[repr(align(64))]
struct Room([u8; 64]);

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs before the program's own initialisation.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let program = std::env::current_exe().expect("a name");
    let mut analysis =
        fathomp_rewriting::analyse(&program, program_bias()).expect("an ELF program");
    if std::env::var_os("FATHOMP_TRAP").is_some() {
        for site in analysis.sites.iter_mut().chain(&mut analysis.branches) {
            site.entered_inside = true;
        }
    }
    APART.store(
        std::env::var_os("FATHOMP_BLIND").is_some(),
        Ordering::Relaxed,
    );
    if std::env::var_os("FATHOMP_MOVE").is_some() || APART.load(Ordering::Relaxed) {
        let room = Box::leak(Box::new(Room([0; 64])));
        ELSEWHERE.get_or_init(|| (&raw mut room.0).expose_provenance());
    }
    let hooks = Hooks {
        enter,
        leave,
        fence,
        waits,
        came,
    };
    let sites = [analysis.sites, analysis.branches].concat();
    // SAFETY: the sites are whole instructions of the program, whose code has
    // not begun to run.
    let patched = unsafe { install(&sites, hooks) }.expect("code to patch");
    eprintln!(
        "patched {} {} {} doubtful {}",
        patched.jumps,
        patched.tight_jumps,
        patched.traps,
        analysis.doubtful.len()
    );
    // SAFETY: `report` is a function of this library, which is never unloaded.
    unsafe { libc::atexit(report) };
}

fn enter(section: &Section) -> Option<usize> {
    assert!(!INSIDE.replace(true), "a section inside a section");
    while BUSY.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
    let mut sections = SECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    *sections
        .entry((section.address, section.bytes))
        .or_default() += 1;
    disturb();
    let elsewhere = ELSEWHERE.get().filter(|_| section.movable)?;
    if let Some(doing) = apart(section) {
        do_apart(section, &doing, *elsewhere);
        BLIND.fetch_add(1, Ordering::Relaxed);
        return Some(*elsewhere);
    }
    copy(section.address, *elsewhere, section.bytes);
    MOVED.fetch_add(1, Ordering::Relaxed);
    Some(*elsewhere)
}

/// What is to be done apart from the instruction.
fn apart(section: &Section) -> Option<Doing> {
    section.blind.filter(|_| APART.load(Ordering::Relaxed))
}

/// Does to memory what an instruction is for, and leaves for itself what it finds then.
fn do_apart(section: &Section, doing: &Doing, elsewhere: usize) {
    const NONSENSE: u64 = 0x5a7d_3b11_9c40_e2f7;
    let mut word = 0_u64;
    copy(
        section.address,
        (&raw mut word).expose_provenance(),
        section.bytes,
    );
    let single = |word: u64| f32::from_bits(word as u32);
    let (now, operand) = (word, doing.operand);
    word = match doing.effect {
        Effect::Add => now.wrapping_add(operand),
        Effect::And => now & operand,
        Effect::Or => now | operand,
        Effect::Xor => now ^ operand,
        Effect::AddFloat if section.bytes == 4 => (single(now) + single(operand)).to_bits().into(),
        Effect::AddFloat => (f64::from_bits(now) + f64::from_bits(operand)).to_bits(),
        Effect::MultiplyFloat if section.bytes == 4 => {
            (single(now) * single(operand)).to_bits().into()
        }
        Effect::MultiplyFloat => (f64::from_bits(now) * f64::from_bits(operand)).to_bits(),
        Effect::Exchange | Effect::CompareExchange => panic!("somebody sees that"),
    };
    copy(
        (&raw const word).expose_provenance(),
        section.address,
        section.bytes,
    );
    let exchanges = section
        .does
        .filter(|does| does.effect == Effect::CompareExchange);
    let found = exchanges.map_or(NONSENSE, |does| does.expected);
    copy(
        (&raw const found).expose_provenance(),
        elsewhere,
        section.bytes,
    );
}

/// Copies what an instruction works on.
fn copy(from: usize, to: usize, bytes: usize) {
    let from = std::ptr::with_exposed_provenance::<u8>(from);
    let to = std::ptr::with_exposed_provenance_mut::<u8>(to);
    // SAFETY: the operand of an instruction that is about to be executed or was, by the only
    // thread that is in a section, and room for it.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

fn leave(section: &Section) {
    disturb();
    let elsewhere = ELSEWHERE.get().filter(|_| section.movable);
    if let Some(elsewhere) = elsewhere.filter(|_| apart(section).is_none()) {
        copy(*elsewhere, section.address, section.bytes);
    }
    BUSY.store(false, Ordering::Release);
    assert!(INSIDE.replace(false), "the end of no section");
}

fn fence() {
    FENCES.fetch_add(1, Ordering::Relaxed);
    disturb();
}

fn waits(_flushes: bool) {
    WAITED.fetch_add(1, Ordering::Relaxed);
    disturb();
    std::thread::yield_now();
}

fn came(looked: Option<Range<usize>>) {
    CAME.fetch_add(1, Ordering::Relaxed);
    let mut all = LOOKED.lock().unwrap_or_else(PoisonError::into_inner);
    let looked = looked.map(|bytes| (bytes.start, bytes.len()));
    *all.entry(looked).or_default() += 1;
    drop(all);
    disturb();
}

/// Changes whatever a function may change: `errno`, vector registers.
fn disturb() {
    let numbers: [f64; 16] = std::array::from_fn(|index| index as f64 + 0.5);
    let sum: f64 = std::hint::black_box(numbers).iter().sum();
    std::hint::black_box(sum);
    // SAFETY: closes nothing: no descriptor has this number.
    unsafe { libc::close(-1) };
}

extern "C" fn report() {
    eprintln!("fences {}", FENCES.load(Ordering::Relaxed));
    eprintln!("moved {}", MOVED.load(Ordering::Relaxed));
    eprintln!("blind {}", BLIND.load(Ordering::Relaxed));
    eprintln!("came {}", CAME.load(Ordering::Relaxed));
    eprintln!("looked {}", WAITED.load(Ordering::Relaxed));
    let all = LOOKED.lock().unwrap_or_else(PoisonError::into_inner);
    for (looked, count) in &*all {
        match looked {
            Some((address, bytes)) => eprintln!("at {address:#x} {bytes} {count}"),
            None => eprintln!("somewhere {count}"),
        }
    }
    let sections = SECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    for ((address, bytes), count) in &*sections {
        eprintln!("section {address:#x} {bytes} {count}");
    }
}
