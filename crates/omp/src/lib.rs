//! The OpenMP runtime: teams, barriers, worksharing, tasks, locks, ICVs.
