//! All that a launcher tells a program.

use crate::names::{PAGING, PLAN};
use crate::steering::{BIND_NOW, LIBRARY_PATH, PRELOAD, TOOL_LIBRARIES, is_kept_from_measurements};
use crate::value::{FlagError, Lookup, Variables, of_this_process, path};
use crate::{
    Cluster, ClusterError, OpenMp, Recorder, RecorderError, Seat, SeatError, Teams, Watch,
    WatchError,
};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

/// All that a launcher tells a program, the runtime and the interposer in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// OpenMP's own settings.
    pub openmp: OpenMp,
    /// Several nodes, if it is not to be one process.
    pub cluster: Option<Cluster>,
    /// What nodes note of accesses.
    pub watch: Option<Watch>,
    /// What is recorded of OpenMP.
    pub recorder: Option<Recorder>,
    /// The live directory of what is recorded of paging.
    pub paging: Option<PathBuf>,
    /// File that says on which words of memory the iterations of each region depend.
    pub trips: Option<PathBuf>,
    /// How teams are decided.
    pub teams: Teams,
    /// The program's seat among those that divide the machine.
    pub seat: Option<Seat>,
    /// Libraries in front of all that the program asks for, the first one first. Their paths
    /// hold neither blanks nor colons, at which the loader splits.
    pub preload: Vec<PathBuf>,
    /// Tools that runtimes with OMPT try in turn, the first one first.
    pub tools: Vec<PathBuf>,
    /// Directories in which the loader looks for libraries first.
    pub library_path: Vec<PathBuf>,
}

/// The environment asks for something impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nodes.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A switch.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// What nodes note.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The recorder.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// A seat.
    #[error(transparent)]
    Seat(#[from] SeatError),
}

/// What a program gets of the environment of its launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherit {
    /// All; the user's libraries to preload come behind ours.
    All,
    /// All but libraries to preload.
    NotPreloaded,
    /// Nothing that steers runtimes: the program is measured.
    NothingThatSteers,
}

impl Plan {
    /// The plan that an environment tells of.
    ///
    /// # Errors
    /// If it asks for something impossible.
    pub fn from_env(get: Lookup<'_>) -> Result<Self, PlanError> {
        Ok(Self {
            openmp: OpenMp::from_env(get),
            cluster: Cluster::from_env(get)?,
            watch: Watch::from_env(get)?,
            recorder: Recorder::from_env(get)?,
            paging: path(get, PAGING),
            trips: path(get, PLAN),
            teams: Teams::from_env(get),
            seat: Seat::from_env(get)?,
            preload: paths(get(PRELOAD)),
            tools: paths(get(TOOL_LIBRARIES)),
            library_path: paths(get(LIBRARY_PATH)),
        })
    }

    /// The variables that tell of it, by themselves.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        self.variables_over(&|_| None)
    }

    /// The variables that tell of it to a program that gets the user's environment, too: the
    /// user's libraries stay behind ours.
    #[must_use]
    pub fn variables_over(&self, users: Lookup<'_>) -> Vec<(&'static str, OsString)> {
        let Self {
            openmp,
            cluster,
            watch,
            recorder,
            paging,
            trips,
            teams,
            seat,
            preload,
            tools,
            library_path,
        } = self;
        let mut all = Variables::new();
        openmp.variables(&mut all);
        if let Some(cluster) = cluster {
            // The table of functions that the program calls is one more page that all nodes
            // write, if they are bound when they are called first.
            all.push((BIND_NOW, "1".into()));
            cluster.variables(&mut all);
        }
        if let Some(watch) = watch {
            watch.variables(&mut all);
        }
        if let Some(recorder) = recorder {
            recorder.variables(&mut all);
        }
        for (variable, file) in [(PAGING, paging), (PLAN, trips)] {
            all.extend(file.as_ref().map(|file| (variable.name, file.into())));
        }
        teams.variables(&mut all);
        if let Some(seat) = seat {
            seat.variables(&mut all);
        }
        for (name, ours) in [
            (PRELOAD, preload),
            (TOOL_LIBRARIES, tools),
            (LIBRARY_PATH, library_path),
        ] {
            if !ours.is_empty() {
                all.push((name, in_front(ours, users(name).as_deref())));
            }
        }
        all
    }

    /// Has a command started so.
    pub fn apply(&self, command: &mut Command, inherit: Inherit) {
        let is_withheld = |name: &str| match inherit {
            Inherit::All => false,
            Inherit::NotPreloaded => name == PRELOAD,
            Inherit::NothingThatSteers => is_kept_from_measurements(name),
        };
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_withheld) {
                command.env_remove(name);
            }
        }
        let users = |name: &str| of_this_process(name).filter(|_| !is_withheld(name));
        command.envs(self.variables_over(&users));
    }
}

/// Our paths first, then whatever the user has.
fn in_front(ours: &[PathBuf], users: Option<&OsStr>) -> OsString {
    let users = users.filter(|users| !users.is_empty());
    let all = ours.iter().map(|path| path.as_os_str()).chain(users);
    all.collect::<Vec<_>>().join(OsStr::new(":"))
}

fn paths(list: Option<OsString>) -> Vec<PathBuf> {
    let list = list.unwrap_or_default();
    let all = std::env::split_paths(&list);
    all.filter(|path| !path.as_os_str().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn preloads_of_the_user_are_kept() {
        let with = |ours: &[&str], users: Option<&str>| {
            let ours: Vec<_> = ours.iter().map(PathBuf::from).collect();
            in_front(&ours, users.map(OsStr::new))
        };
        let ours = "/c/libgomp.so.1";
        assert_eq!(with(&[ours], None), ours);
        assert_eq!(with(&[ours], Some("")), ours);
        assert_eq!(with(&[ours], Some("/m.so")), "/c/libgomp.so.1:/m.so");
        assert_eq!(
            with(&["/interposer.so", ours], None),
            "/interposer.so:/c/libgomp.so.1"
        );
    }

    #[test]
    fn nothing_is_said_where_nothing_is_asked() {
        assert_eq!(Plan::default().variables(), []);
    }

    #[test]
    fn nodes_bind_functions_at_once() {
        let plan = Plan {
            cluster: Some(Cluster::of(2)),
            ..Plan::default()
        };
        assert!(plan.variables().contains(&(BIND_NOW, "1".into())));
    }

    #[test]
    fn measurements_are_not_steered_by_the_user() {
        let plan = Plan {
            preload: vec!["/ours.so".into()],
            ..Plan::default()
        };
        let mut command = Command::new("true");
        plan.apply(&mut command, Inherit::NothingThatSteers);
        let preload = command.get_envs().find(|(name, _)| *name == PRELOAD);
        let ours = Path::new("/ours.so").as_os_str();
        assert_eq!(preload, Some((OsStr::new(PRELOAD), Some(ours))));
    }
}
