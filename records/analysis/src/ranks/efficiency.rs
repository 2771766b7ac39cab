//! POP's efficiencies of hybrid programs.

use serde::Serialize;

/// Efficiencies of a hybrid program, each from 0 to 1; a product of those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HybridEfficiency {
    /// MPI times OpenMP.
    pub parallel: f64,
    /// Balance times communication.
    pub mpi: f64,
    /// Of the time outside MPI, mean over the most.
    pub mpi_balance: f64,
    /// The most time outside MPI over the whole: serialisation times transfer.
    pub mpi_communication: f64,
    /// What is left of the run if ranks never wait for each other, beside their unequal work; none
    /// if waits are not known.
    pub mpi_serialisation: Option<f64>,
    /// What is left of it if messages take no time.
    pub mpi_transfer: Option<f64>,
    /// What threads inside ranks lose.
    pub openmp: f64,
}

/// What a rank did in a part of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) threads: f64,
    /// Its first thread outside of MPI.
    pub(super) outside_ns: f64,
    /// All threads computing.
    pub(super) computing_ns: f64,
    /// Its first thread waiting for other ranks.
    pub(super) waiting_ns: Option<f64>,
}

/// The efficiencies of a part of the run that takes `wall` nanoseconds.
pub(super) fn efficiency(all: &[Parts], wall: f64) -> HybridEfficiency {
    let threads: f64 = all.iter().map(|one| one.threads).sum();
    let most = all.iter().map(|one| one.outside_ns).fold(0.0, f64::max);
    let mean = all.iter().map(|one| one.outside_ns).sum::<f64>() / (all.len() as f64).max(1.0);
    let computing: f64 = all.iter().map(|one| one.computing_ns).sum();
    // On a network that takes no time, ranks are outside of MPI or wait.
    let mut ideal = all.iter().map(|one| Some(one.outside_ns + one.waiting_ns?));
    let ideal = ideal.try_fold(0.0_f64, |most, one| Some(most.max(one?)));
    let part = |of: f64, whole: f64| match whole > 0.0 {
        true => (of / whole).clamp(0.0, 1.0),
        false => 0.0,
    };
    let (parallel, mpi) = (part(computing, threads * wall), part(mean, wall));
    HybridEfficiency {
        parallel,
        mpi,
        mpi_balance: part(mean, most),
        mpi_communication: part(most, wall),
        mpi_serialisation: ideal.map(|ideal| part(most, ideal)),
        mpi_transfer: ideal.map(|ideal| part(ideal, wall)),
        openmp: part(parallel, mpi),
    }
}
