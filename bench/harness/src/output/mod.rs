//! Results for people and for other programs.

mod csv;
mod gnuplot;
mod markdown;
mod table;

pub use csv::{HEADER as CSV_HEADER, csv};
pub use gnuplot::{PlotFile, gnuplot, plain, quoted};
pub use markdown::markdown;
pub use table::table;
