//! What the runtime tells tools, and what compilers and recordings say of it. Tests of each program of
//! `tests/abi` are in `tests/programs.rs` and `tests/nodes.rs`.

mod emitted;
mod interposer;
mod ompt;
mod recordings;

use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [
        emitted::trials(),
        ompt::trials(),
        recordings::trials(),
        interposer::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    fathomp_requirements::run(all)
}
