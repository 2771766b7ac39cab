//! Speedup on a cluster from counts of page faults: the SDP models
//! (SIGSEGV-driven performance).
//!
//! Where nodes share memory by software, page by page, consistency costs what
//! its faults cost. Counts of faults depend on the program and on the number of
//! threads, hardly on the machine; prices of faults on the machine, not on the
//! program. So counts from here and prices from there give the time there:
//!
//! ```text
//! critical path   T(p) = T(1)/p + sum over regions r of max over threads i of c_ri
//! aggregate       T(p) = T(1)/p + (sum over r and i of c_ri) (f + (1-f)/p)
//!
//! homeless        c_ri = Nw Cw + Nf Cf
//! home-based      c_ri = Nwl Cwl + Nwr Cwr + Nf Cf + Ndt Cdt
//! ```
//!
//! with N the counts of thread i in region r, C the prices, and f the fraction
//! of faults that nothing overlaps. Always T(f=0) <= T(critical) <= T(f=1): the
//! slowest thread of each region takes at least the mean and at most the sum.
//!
//! Source: J. Cai, A. P. Rendell, P. E. Strazdins, H. J. Wong, *Performance
//! Models for Cluster-Enabled OpenMP Implementations*, ACSAC 2008,
//! doi:10.1109/APCSAC.2008.4625433. The models are kept as published: neither
//! serial time nor imbalance nor waiting is in them.

mod model;
mod predict;
mod table4;

pub use model::{Breakdown, RegionCost, aggregate, critical, fit_f, is_without_faults};
pub use predict::{
    Dominating, F, MeanError, Model, Point, Predicted, Question, SCHEMA, SdpError, Speedups, Term,
    TermTime, VERSION, Work, predict,
};
pub(crate) use table4::{Speedup, of_speedups};
pub use table4::{Table4Row, mean_relative_error};
