//! What `fathomp collect` is told.

use clap::Args;
use fathomp_console::args::{SampleInterval, recording_size};
use fathomp_types::size::Size;
use std::path::PathBuf;

/// `fathomp collect`.
#[derive(Args, Debug)]
pub struct Collect {
    /// Address to listen at, such as 0.0.0.0:4711; `fathomp record --paging --writer
    /// HOST:PORT` on other machines sends there.
    #[arg(long, value_name = "ADDRESS", required_unless_present = "live")]
    pub listen: Option<String>,
    /// Directory for the recording; it must be empty.
    #[arg(short, long, value_name = "DIR", default_value = "collected")]
    pub output: PathBuf,
    /// Key that the other machines have to give, with `record --key` [default: FATHOMP_KEY
    /// from the environment, otherwise one is chosen and shown].
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Size the recording may reach, such as 512M or 2G.
    #[arg(long, value_name = "SIZE", default_value_t = Size(1 << 30), value_parser = recording_size)]
    pub max_size: Size,
    /// Where programs and their collector meet; set by `fathomp record`.
    #[arg(long, value_name = "DIR", hide = true, conflicts_with = "listen")]
    pub live: Option<PathBuf>,
    /// See `fathomp record`.
    #[arg(long, hide = true, requires = "live")]
    pub sample: Option<SampleInterval>,
    /// Record every page fault.
    #[arg(long, hide = true, requires = "live")]
    pub every_fault: bool,
    /// Size of the recording, in bytes.
    #[arg(long, hide = true, default_value_t = 128 << 20)]
    pub limit_bytes: u64,
}
