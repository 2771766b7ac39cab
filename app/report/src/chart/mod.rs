//! Charts as data: what to draw and where, in the coordinates of an SVG.
//!
//! The template turns a [`Chart`] into markup, so every text passes through its
//! escaping and no markup is put together in Rust.

mod lines;
mod plot;
mod scale;
mod stacks;

pub(crate) use lines::{Series, curves_chart, line_chart};
pub use plot::{Mark, Plot, plot};
pub(crate) use plot::{short, short_at};
pub(crate) use scale::Scale;
pub(crate) use stacks::{Segment, Stack, column_chart, strips};

use serde::Serialize;

/// One drawing.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// What it shows, for those who cannot see it.
    pub label: String,
    /// Size of the drawing.
    pub width: f64,
    /// See `width`.
    pub height: f64,
    /// The area inside the axes.
    pub plot: Area,
    /// Ticks of the horizontal axis.
    pub x_ticks: Vec<Tick>,
    /// Ticks of the vertical axis.
    pub y_ticks: Vec<Tick>,
    /// Ticks of a second vertical axis at the right.
    pub right_ticks: Vec<Tick>,
    /// Its title; empty for none.
    pub right_title: String,
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// Bands and lines, drawn in this order.
    pub paths: Vec<Path>,
    /// Rectangles.
    pub bars: Vec<Bar>,
    /// Points.
    pub dots: Vec<Dot>,
    /// Words inside the drawing.
    pub words: Vec<Word>,
}

/// A rectangle of the drawing.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Area {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

/// A mark on an axis.
#[derive(Debug, Serialize)]
pub struct Tick {
    /// Where.
    pub at: f64,
    /// The words.
    pub label: String,
}

/// A line or filled area.
#[derive(Debug, Serialize)]
pub struct Path {
    /// The style's class.
    pub class: String,
    /// As SVG has it.
    pub d: String,
}

/// A filled rectangle with an explanation on hovering.
#[derive(Debug, Serialize)]
pub struct Bar {
    /// The style's class.
    pub class: String,
    /// Where.
    #[serde(flatten)]
    pub area: Area,
    /// Words on hovering.
    pub title: String,
}

/// A point with an explanation on hovering.
#[derive(Debug, Serialize)]
pub struct Dot {
    /// The style's class.
    pub class: String,
    /// Where.
    pub x: f64,
    /// Where.
    pub y: f64,
    /// Radius.
    pub r: f64,
    /// Words on hovering.
    pub title: String,
}

/// A label.
#[derive(Debug, Serialize)]
pub struct Word {
    /// The style's class.
    pub class: String,
    /// Where.
    pub x: f64,
    /// Where.
    pub y: f64,
    /// Which end is there.
    pub anchor: &'static str,
    /// The words.
    pub text: String,
}

/// Drawing coordinates need no more than a tenth of a pixel.
pub(crate) fn tidy(value: f64) -> f64 {
    if value.is_finite() {
        (value * 10.0).round() / 10.0
    } else {
        0.0
    }
}
