//! What started this process as one of several: as the environment says it.

use std::fmt;

/// What starts the same command several times, and how the processes can find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starter {
    /// `mpirun` of OpenMPI.
    OpenMpi,
    /// `mpirun` of MPICH, or of an MPI that is made of it: there is a socket on which PMI-1 is
    /// spoken.
    Mpich,
    /// `srun --mpi=pmi2`: the same socket.
    SlurmPmi,
    /// `srun --mpi=pmix`: known to OpenMPI alone.
    SlurmPmix,
    /// `srun` without anything by which its tasks find each other.
    Slurm,
}

impl fmt::Display for Starter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenMpi => "mpirun of OpenMPI",
            Self::Mpich => "mpirun of MPICH",
            Self::SlurmPmi | Self::SlurmPmix | Self::Slurm => "srun",
        })
    }
}

/// This process among those that were started together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// By what.
    pub by: Starter,
    /// Its number.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
    /// The descriptor on which PMI-1 is spoken.
    pub pmi: Option<i32>,
}

impl Started {
    /// As the environment says it; none if nothing says so.
    #[must_use]
    pub fn find(get: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| get(name)?.trim().parse::<u32>().ok();
        let started = |by, rank, size| {
            let (rank, size) = (number(rank)?, number(size)?);
            (rank < size).then_some(Self {
                by,
                rank,
                size,
                pmi: None,
            })
        };
        // What mpirun starts may have been started by srun in turn, so mpirun comes first.
        let of_openmpi = started(
            Starter::OpenMpi,
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
        );
        let of_pmi = || {
            let by = match get("SLURM_STEP_ID").is_some() && get("HYDI_CONTROL_FD").is_none() {
                true => Starter::SlurmPmi,
                false => Starter::Mpich,
            };
            let found = started(by, "PMI_RANK", "PMI_SIZE")?;
            let pmi = get("PMI_FD").and_then(|value| value.parse().ok());
            Some(Self { pmi, ..found })
        };
        let of_slurm = || {
            let by = match get("PMIX_NAMESPACE").is_some() {
                true => Starter::SlurmPmix,
                false => Starter::Slurm,
            };
            // A batch script has a rank, too, but is no step of tasks.
            started(by, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
        };
        of_openmpi.or_else(of_pmi).or_else(of_slurm)
    }

    /// The same of this process's environment.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        Self::find(|name| std::env::var(name).ok())
    }

    /// Whether processes can find each other without MPI.
    #[must_use]
    pub fn has_pmi(&self) -> bool {
        self.pmi.is_some()
    }
}

/// Names that begin so say which process of a run this is, or how it talks to what started it.
const PREFIXES: [&str; 9] = [
    "OMPI_",
    "OPAL_",
    "ORTE_",
    "PRTE_",
    "PMI_",
    "PMIX_",
    "HYDI_",
    "SLURM_PMI",
    "I_MPI_HYDRA_",
];
/// So do these.
const NAMES: [&str; 17] = [
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
    "SLURMD_NODENAME",
    "SLURM_CPU_BIND",
    "SLURM_CPU_BIND_LIST",
    "SLURM_CPU_BIND_TYPE",
    "SLURM_CPU_BIND_VERBOSE",
    "SLURM_GTIDS",
    "SLURM_LOCALID",
    "SLURM_MPI_TYPE",
    "SLURM_NODEID",
    "SLURM_PROCID",
    "SLURM_STEPMGR",
    "SLURM_TASK_PID",
    "SLURM_TOPOLOGY_ADDR",
    "SLURM_TOPOLOGY_ADDR_PATTERN",
];

/// Whether a variable is about one process of several. Programs get none of these: all nodes of
/// a program have one environment, and what the first process was told is not so for others.
#[must_use]
pub fn is_of_one_rank(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(variables: &[(&str, &str)]) -> Option<(Starter, u32, u32, Option<i32>)> {
        let get = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Started::find(get).map(|found| (found.by, found.rank, found.size, found.pmi))
    }

    #[test]
    fn every_starter_is_known_by_its_variables() {
        let ompi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")];
        let pmi = [("PMI_RANK", "2"), ("PMI_SIZE", "3"), ("PMI_FD", "6")];
        let slurm = [
            ("SLURM_STEP_ID", "0"),
            ("SLURM_PROCID", "5"),
            ("SLURM_STEP_NUM_TASKS", "8"),
        ];
        let pmix = [("PMIX_NAMESPACE", "x")];
        let hydra = [("HYDI_CONTROL_FD", "7")];
        assert_eq!(started(&ompi), Some((Starter::OpenMpi, 1, 4, None)));
        assert_eq!(started(&pmi), Some((Starter::Mpich, 2, 3, Some(6))));
        assert_eq!(started(&slurm), Some((Starter::Slurm, 5, 8, None)));
        for (all, by) in [
            ([&slurm[..], &ompi].concat(), Starter::OpenMpi),
            ([&slurm[..], &pmi].concat(), Starter::SlurmPmi),
            ([&slurm[..], &pmi, &hydra].concat(), Starter::Mpich),
            ([&slurm[..], &pmix].concat(), Starter::SlurmPmix),
        ] {
            assert_eq!(started(&all).map(|found| found.0), Some(by), "{all:?}");
        }
    }

    #[test]
    fn what_says_nothing_sensible_has_started_nobody() {
        for variables in [
            &[][..],
            &[("PMI_RANK", "3"), ("PMI_SIZE", "3")],
            &[("PMI_RANK", "x"), ("PMI_SIZE", "3")],
            // A batch script.
            &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")],
        ] {
            assert_eq!(started(variables), None, "{variables:?}");
        }
    }

    #[test]
    fn what_is_the_same_for_all_is_left_to_programs() {
        for name in [
            "OMPI_COMM_WORLD_RANK",
            "PMIX_RANK",
            "PMI_FD",
            "SLURM_PROCID",
        ] {
            assert!(is_of_one_rank(name), "{name}");
        }
        for name in ["SLURM_JOB_ID", "SLURM_NTASKS", "OMP_NUM_THREADS", "PATH"] {
            assert!(!is_of_one_rank(name), "{name}");
        }
    }
}
