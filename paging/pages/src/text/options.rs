//! How text is printed.

use fathomp_paging::{StateSet, TaskId};
use fathomp_report::text::Glyphs;
use fathomp_skyline::Axis;

/// How to print what a paging recording shows.
#[derive(Clone, Debug)]
pub struct SkylineOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// What curves are drawn with.
    pub glyphs: Glyphs,
    /// By which time curves run.
    pub axis: Axis,
    /// In which states counters are shown; none: in all.
    pub states: Option<StateSet>,
    /// Show all counters, not only those that say most.
    pub all_counters: bool,
    /// Tasks that are shown; none: all, or some that stand for them.
    pub tasks: Option<Vec<TaskId>>,
    /// Also the published way of summing, with its error.
    pub published: bool,
}

impl SkylineOptions {
    /// Tasks with a line of their own, unless they were asked for.
    pub const TASKS_MAX: usize = 16;
    /// Counters with a picture, unless they were asked for.
    pub const COUNTERS_MAX: usize = 4;
}

impl Default for SkylineOptions {
    fn default() -> Self {
        Self {
            width: 80,
            glyphs: Glyphs::default(),
            axis: Axis::Wall,
            states: None,
            all_counters: false,
            tasks: None,
            published: false,
        }
    }
}

/// Before what belongs to the line above.
pub(super) const INDENT: &str = "  ";
