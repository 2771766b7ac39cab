//! Charts as data: what to draw and where, in the coordinates of an SVG.
//!
//! The template turns a [`Chart`] into markup, so every text passes through its
//! escaping and no markup is put together in Rust.

mod lines;
mod plot;
mod scale;
mod stacks;

pub(crate) use lines::{Series, curves_chart, line_chart};
pub(crate) use plot::{Mark, Plot, plot, short, short_at};
pub(crate) use scale::Scale;
pub(crate) use stacks::{Segment, Stack, column_chart, strips};

use serde::Serialize;

/// One drawing.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    /// What it shows, for those who cannot see it.
    pub(crate) label: String,
    /// Size of the drawing.
    pub(crate) width: f64,
    /// See `width`.
    pub(crate) height: f64,
    /// The area inside the axes.
    pub(crate) plot: Area,
    /// Ticks of the horizontal axis.
    pub(crate) x_ticks: Vec<Tick>,
    /// Ticks of the vertical axis.
    pub(crate) y_ticks: Vec<Tick>,
    /// Ticks of a second vertical axis at the right.
    pub(crate) right_ticks: Vec<Tick>,
    /// Its title; empty for none.
    pub(crate) right_title: String,
    /// Title of the horizontal axis.
    pub(crate) x_title: String,
    /// Title of the vertical axis.
    pub(crate) y_title: String,
    /// Bands and lines, drawn in this order.
    pub(crate) paths: Vec<Path>,
    /// Rectangles.
    pub(crate) bars: Vec<Bar>,
    /// Points.
    pub(crate) dots: Vec<Dot>,
    /// Words inside the drawing.
    pub(crate) words: Vec<Word>,
}

/// A rectangle of the drawing.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Area {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) w: f64,
    pub(crate) h: f64,
}

/// A mark on an axis.
#[derive(Debug, Serialize)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// A line or filled area.
#[derive(Debug, Serialize)]
pub(crate) struct Path {
    pub(crate) class: String,
    pub(crate) d: String,
}

/// A filled rectangle with an explanation on hovering.
#[derive(Debug, Serialize)]
pub(crate) struct Bar {
    pub(crate) class: String,
    #[serde(flatten)]
    pub(crate) area: Area,
    pub(crate) title: String,
}

/// A point with an explanation on hovering.
#[derive(Debug, Serialize)]
pub(crate) struct Dot {
    pub(crate) class: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) r: f64,
    pub(crate) title: String,
}

/// A label.
#[derive(Debug, Serialize)]
pub(crate) struct Word {
    pub(crate) class: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) anchor: &'static str,
    pub(crate) text: String,
}

/// Drawing coordinates need no more than a tenth of a pixel.
pub(crate) fn tidy(value: f64) -> f64 {
    if value.is_finite() {
        (value * 10.0).round() / 10.0
    } else {
        0.0
    }
}
