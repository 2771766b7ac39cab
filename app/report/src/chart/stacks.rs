//! Stacked bars: time by state or by term.

use super::{Area, Bar, Chart, Scale, Tick, tidy};
use crate::units;

/// A part of a bar.
pub(crate) struct Segment {
    /// CSS class, which names the colour.
    pub(crate) class: String,
    /// What it is.
    pub(crate) name: String,
    /// Length in nanoseconds.
    pub(crate) ns: f64,
}

/// A bar.
pub(crate) struct Stack {
    /// Name on the axis.
    pub(crate) name: String,
    /// Its parts, from the axis outwards.
    pub(crate) segments: Vec<Segment>,
}

impl Stack {
    fn total_ns(&self) -> f64 {
        self.segments.iter().map(|one| positive(one.ns)).sum()
    }
}

/// Upright bars on a common scale, such as time by term over thread counts.
pub(crate) fn column_chart(label: String, x_title: &str, y_title: &str, stacks: &[Stack]) -> Chart {
    const PLOT: Area = Area {
        x: 64.0,
        y: 16.0,
        w: 520.0,
        h: 280.0,
    };
    let largest = stacks.iter().map(Stack::total_ns).fold(1.0, f64::max);
    let bottom = PLOT.y + PLOT.h;
    let y = Scale::linear(0.0, largest * 1.08, bottom, PLOT.y);
    let slot = PLOT.w / stacks.len().max(1) as f64;
    let width = (slot * 0.68).min(64.0);
    let mut bars = Vec::new();
    let mut x_ticks = Vec::new();
    for (index, stack) in stacks.iter().enumerate() {
        let centre = PLOT.x + slot * (index as f64 + 0.5);
        x_ticks.push(Tick {
            at: tidy(centre),
            label: stack.name.clone(),
        });
        let mut below = 0.0;
        for segment in &stack.segments {
            let ns = positive(segment.ns);
            let (low, high) = (y.at(below), y.at(below + ns));
            below += ns;
            if low - high >= 0.1 {
                bars.push(Bar {
                    class: segment.class.clone(),
                    area: Area {
                        x: tidy(centre - width / 2.0),
                        y: high,
                        w: tidy(width),
                        h: tidy(low - high),
                    },
                    title: format!("{}: {}", segment.name, units::duration(ns)),
                });
            }
        }
    }
    Chart {
        label,
        width: 640.0,
        height: 354.0,
        plot: PLOT,
        x_ticks,
        y_ticks: y.ticks(5, |ns, _| units::tick(ns)),
        right_ticks: Vec::new(),
        right_title: String::new(),
        x_title: x_title.to_owned(),
        y_title: y_title.to_owned(),
        paths: Vec::new(),
        bars,
        dots: Vec::new(),
        words: Vec::new(),
    }
}

/// Width of a letter on an axis, about.
const LETTER: f64 = 7.0;

/// Lying bars, one thin row each, on a common scale: the threads of a region.
pub(crate) fn strips(label: String, stacks: &[Stack]) -> Chart {
    let longest = stacks.iter().map(|stack| stack.name.chars().count()).max();
    let left = (longest.unwrap_or(0) as f64 * LETTER + 14.0).max(64.0);
    let width = 600.0;
    // 128 threads still fit on a screen.
    let row = if stacks.len() > 32 { 7.0 } else { 17.0 };
    let gap = if stacks.len() > 32 { 1.0 } else { 3.0 };
    let largest = stacks.iter().map(Stack::total_ns).fold(1.0, f64::max);
    let height = row * stacks.len() as f64;
    let plot = Area {
        x: left,
        y: 4.0,
        w: width - left - 16.0,
        h: height,
    };
    let x = Scale::linear(0.0, largest, plot.x, plot.x + plot.w);
    let y = Scale::linear(0.0, stacks.len() as f64, plot.y, plot.y + plot.h);
    let mut bars = Vec::new();
    for (index, stack) in stacks.iter().enumerate() {
        let mut before = 0.0;
        for segment in &stack.segments {
            let ns = positive(segment.ns);
            let (start, end) = (x.at(before), x.at(before + ns));
            before += ns;
            if end - start >= 0.1 {
                bars.push(Bar {
                    class: segment.class.clone(),
                    area: Area {
                        x: start,
                        y: tidy(plot.y + row * index as f64),
                        w: tidy(end - start),
                        h: row - gap,
                    },
                    title: format!("{}, {}: {}", stack.name, segment.name, units::duration(ns)),
                });
            }
        }
    }
    let middles = (0..stacks.len()).map(|index| index as f64 + 0.5);
    let y_ticks = y.ticks_at(middles, 13.0, |middle| {
        stacks
            .get(middle as usize)
            .map(|stack| stack.name.clone())
            .unwrap_or_default()
    });
    Chart {
        label,
        width,
        height: height + 34.0,
        plot,
        x_ticks: x.ticks(5, |ns, _| units::tick(ns)),
        y_ticks,
        right_ticks: Vec::new(),
        right_title: String::new(),
        x_title: String::new(),
        y_title: String::new(),
        paths: Vec::new(),
        bars,
        dots: Vec::new(),
        words: Vec::new(),
    }
}

fn positive(ns: f64) -> f64 {
    if ns.is_finite() { ns.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_touch_and_add_up() {
        let segment = |name: &str, ns| Segment {
            class: name.to_owned(),
            name: name.to_owned(),
            ns,
        };
        let stacks = [Stack {
            name: "0".to_owned(),
            segments: vec![segment("compute", 60.0), segment("idle", 40.0)],
        }];
        let chart = strips(String::new(), &stacks);
        let [first, second] = chart.bars.as_slice() else {
            panic!("two bars");
        };
        assert_eq!(first.area.x + first.area.w, second.area.x);
        assert_eq!(second.area.x + second.area.w, chart.plot.x + chart.plot.w);
    }

    #[test]
    fn times_that_are_no_numbers_are_not_drawn() {
        let stacks = [Stack {
            name: "0".to_owned(),
            segments: vec![Segment {
                class: String::new(),
                name: String::new(),
                ns: f64::NAN,
            }],
        }];
        assert!(strips(String::new(), &stacks).bars.is_empty());
        assert!(column_chart(String::new(), "", "", &stacks).bars.is_empty());
    }
}
