//! What is installed beside the command: completions of shells and manual pages.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// `fathomp completions`.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Completions {
    /// Shell that the script is for.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// `fathomp man`.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Directory for the pages; it is made if it is not there.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
