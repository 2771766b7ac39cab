//! Results for people and for other programs.

mod csv;
mod gnuplot;
mod table;

pub use csv::{HEADER as CSV_HEADER, csv};
pub use gnuplot::{PlotFile, gnuplot, plain, quoted};
pub use table::table;
