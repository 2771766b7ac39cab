//! What the interposer adds to calls: a program measures them, alone and under the interposer, in turn.
#![allow(missing_docs, dead_code, reason = "no interface of the crate")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::process::Command;

/// Runs of each kind; the least of each cost counts.
const RUNS: usize = 5;

fn main() {
    let program = support::program("costs.c");
    let (mut alone, mut recorded) = (BTreeMap::new(), BTreeMap::new());
    let mut order = Vec::new();
    for _ in 0..RUNS {
        let output = Command::new(&program).output().unwrap();
        note(&output.stdout, &mut alone, &mut order);
        let run = support::record(&mut Command::new(&program)).ok();
        note(&run.output.stdout, &mut recorded, &mut order);
    }
    println!(
        "{:32} {:>10} {:>10} {:>10}",
        "ns", "alone", "recorded", "added"
    );
    for name in order {
        let (before, after) = (alone[&name], recorded[&name]);
        println!(
            "{name:32} {before:10.1} {after:10.1} {:10.1}",
            after - before
        );
    }
}

fn note(output: &[u8], costs: &mut BTreeMap<String, f64>, order: &mut Vec<String>) {
    for line in String::from_utf8_lossy(output).lines() {
        let (name, ns) = line.rsplit_once(' ').unwrap();
        let (name, ns) = (name.trim().to_owned(), ns.parse().unwrap());
        if !order.contains(&name) {
            order.push(name.clone());
        }
        let least = costs.entry(name).or_insert(f64::INFINITY);
        *least = least.min(ns);
    }
}
