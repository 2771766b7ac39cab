//! What lies side by side in a folder and takes names from each other.

use super::resolve::Crate;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Where a file or folder stands: the path of its module. The file of a folder itself is
/// `mod` in it.
type Place = Vec<String>;
/// From place to place, the names taken.
type Arrows = BTreeMap<(Place, Place), BTreeSet<String>>;

/// Places side by side that depend on each other, and for what.
#[derive(Debug)]
pub(super) struct Circle {
    pub(super) places: Vec<String>,
    /// From a place to another: the names taken.
    ties: BTreeMap<(String, String), Vec<String>>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  a circle of {}:", self.places.len())?;
        for ((from, to), names) in &self.ties {
            writeln!(f, "    {from} takes {} from {to}", names.join(", "))?;
        }
        Ok(())
    }
}

/// The circles of a crate. A circle of files is one of what lies side by side in the
/// smallest folder with all of them, so these are all.
pub(super) fn circles(all: &Crate) -> Vec<Circle> {
    let mut sides: BTreeMap<Place, Arrows> = BTreeMap::new();
    for from in 0..all.modules.len() {
        let place = all.file_of(from);
        for (to, name) in all.taken_by(from) {
            let other = all.file_of(to);
            if place == other {
                continue;
            }
            let both = place.iter().zip(other).take_while(|(a, b)| a == b).count();
            let side = |place: &[String]| match place.get(both) {
                Some(_) => place[..=both].to_vec(),
                None => [place, &["mod".to_owned()]].concat(),
            };
            let arrows = sides.entry(place[..both].to_vec()).or_default();
            let names = arrows.entry((side(place), side(other))).or_default();
            names.insert(name);
        }
    }
    sides.values().flat_map(around).collect()
}

/// Places that reach each other.
fn around(arrows: &Arrows) -> Vec<Circle> {
    let mut next: BTreeMap<&Place, Vec<&Place>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        next.entry(from).or_default().push(to);
    }
    let reach: BTreeMap<&Place, BTreeSet<&Place>> = next
        .keys()
        .map(|from| (*from, reached(from, &next)))
        .collect();
    let mut found = Vec::new();
    let mut done: BTreeSet<&Place> = BTreeSet::new();
    for (place, all) in &reach {
        if !all.contains(place) || done.contains(place) {
            continue;
        }
        let back = |other: &&&Place| reach.get(**other).is_some_and(|all| all.contains(place));
        let together: BTreeSet<&Place> = all.iter().filter(back).copied().collect();
        let inside = arrows
            .iter()
            .filter(|((from, to), _)| together.contains(from) && together.contains(to));
        found.push(Circle {
            places: together.iter().map(|place| place.join("/")).collect(),
            ties: inside
                .map(|((from, to), names)| {
                    (
                        (from.join("/"), to.join("/")),
                        names.iter().cloned().collect(),
                    )
                })
                .collect(),
        });
        done.extend(together);
    }
    found
}

/// All that can be reached from a place, itself only around a circle.
fn reached<'a>(from: &Place, next: &BTreeMap<&'a Place, Vec<&'a Place>>) -> BTreeSet<&'a Place> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Place> = next.get(from).into_iter().flatten().copied().collect();
    while let Some(place) = open.pop() {
        if reached.insert(place) {
            open.extend(next.get(place).into_iter().flatten().copied());
        }
    }
    reached
}
