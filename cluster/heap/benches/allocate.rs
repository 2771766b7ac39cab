//! What an allocation and its release cost: `cargo bench -p fathomp-heap`.
//!
//! Prints nanoseconds per pair, the median and the best of several rounds.

use fathomp_heap::Heap;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 15;
const PAIRS: usize = 200_000;

fn main() {
    println!("allocation and release          median ns    best ns");
    for (name, bytes) in [("64 bytes", 64), ("3000 bytes", 3000), ("100 kB", 100_000)] {
        row(name, |heap| {
            for _ in 0..PAIRS {
                let address = heap.allocate(black_box(bytes), 16).expect("room");
                heap.release(black_box(address)).expect("allocated");
            }
        });
    }
    for (name, bytes_max) in [
        ("to 1 kB, 10,000 alive", 1 << 10),
        ("to 64 kB, 1,000 alive", 1 << 16),
    ] {
        let alive = if bytes_max > 1 << 10 { 1_000 } else { 10_000 };
        row(name, |heap| replace_at_random(heap, alive, bytes_max));
    }
}

/// Replaces allocations, in random order, by others of random size.
fn replace_at_random(heap: &mut Heap, alive: usize, bytes_max: usize) {
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut live = Vec::with_capacity(alive);
    for _ in 0..alive {
        live.push(heap.allocate(random(bytes_max), 16).expect("room"));
    }
    for _ in 0..PAIRS {
        let place = &mut live[random(alive)];
        heap.release(*place).expect("allocated");
        *place = heap.allocate(random(bytes_max), 16).expect("room");
    }
    for address in live {
        heap.release(address).expect("allocated");
    }
}

fn row(name: &str, mut round: impl FnMut(&mut Heap)) {
    let mut nanos: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let mut heap = Heap::new(1 << 32, 1 << 32);
            let begin = Instant::now();
            round(&mut heap);
            begin.elapsed().as_nanos() as f64 / PAIRS as f64
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    println!("{name:28} {:12.1} {:10.1}", nanos[ROUNDS / 2], nanos[0]);
}
