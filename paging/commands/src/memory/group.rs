//! A control group that limits the memory of a run, of version 1 or 2 of the kernel's
//! interface.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Names of our groups: this, the launcher's process number and a number.
const PREFIX: &str = "fathomp-";

/// Why memory cannot be limited here.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The kernel shows no groups.
    #[error(
        "memory cannot be limited here: no control group of the kernel for memory is mounted; `mount -t cgroup2 none /sys/fs/cgroup` mounts them"
    )]
    NotMounted,
    /// No group may be made.
    #[error(
        "memory cannot be limited by this user: cannot make a control group in {}: {source}; run as root, or in a session of systemd that delegates memory (`systemd-run --user --scope -p Delegate=memory fathomp ...`)", path.display()
    )]
    Forbidden {
        /// Where it was to be made.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel does not take the limit.
    #[error(
        "cannot limit memory: {}: {source}; a limit may not be larger than that of the groups around it", path.display()
    )]
    Control {
        /// The file that sets it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Which interface a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where groups can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    version: Version,
    /// Directories to make groups in, the best first.
    parents: Vec<PathBuf>,
}

/// A group, removed when dropped.
#[derive(Debug)]
pub struct Group {
    version: Version,
    path: PathBuf,
}

/// What happened in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Most bytes at any time.
    pub peak_bytes: Option<u64>,
    /// Page faults that waited for I/O.
    pub major_faults: Option<u64>,
    /// Processes killed for want of memory.
    pub killed: u64,
}

impl Place {
    /// Where groups can be made on this machine.
    pub fn find() -> Result<Self, GroupError> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::among(&mounts, &own).ok_or(GroupError::NotMounted)
    }

    /// By the kernel's lists of mounts and of this process's groups.
    fn among(mounts: &str, own: &str) -> Option<Self> {
        for version in [Version::One, Version::Two] {
            let Some((mount, root)) = mounts.lines().find_map(|line| mounted(line, version)) else {
                continue;
            };
            let Some(own) = own.lines().find_map(|line| own_group(line, version)) else {
                continue;
            };
            // Within a container, the mount shows a part of the hierarchy.
            let own = own
                .strip_prefix(&root)
                .unwrap_or(own)
                .trim_start_matches('/');
            let own = match own {
                "" => mount.clone(),
                own => mount.join(own),
            };
            // Ours, then those around it: one may be given to this user. In version 2
            // a group with processes has no groups that limit, other than the root.
            let mut parents: Vec<_> = own
                .ancestors()
                .take_while(|path| path.starts_with(&mount))
                .map(Path::to_owned)
                .collect();
            if version == Version::Two {
                parents.rotate_right(1);
            }
            return Some(Self { version, parents });
        }
        None
    }

    /// Whether a group can be made, by making one.
    pub fn check(&self) -> Result<(), GroupError> {
        self.make(None).map(drop)
    }

    /// Makes a group with a limit in bytes, or without one.
    pub fn make(&self, limit_bytes: Option<u64>) -> Result<Group, GroupError> {
        let mut refused = None;
        for parent in &self.parents {
            self.remove_stale(parent);
            match self.make_in(parent, limit_bytes) {
                Ok(group) => return Ok(group),
                // A limit that is refused is refused everywhere.
                Err(error @ GroupError::Control { .. }) => return Err(error),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or(GroupError::NotMounted))
    }

    fn make_in(&self, parent: &Path, limit_bytes: Option<u64>) -> Result<Group, GroupError> {
        let forbidden = |source| GroupError::Forbidden {
            path: parent.to_owned(),
            source,
        };
        let name = |number| parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        let path = (0..1000)
            .map(name)
            .find(|path| !path.exists())
            .ok_or_else(|| forbidden(ErrorKind::AlreadyExists.into()))?;
        fs::create_dir(&path).map_err(forbidden)?;
        // From here on it is removed whatever happens.
        let group = Group {
            version: self.version,
            path,
        };
        let limit = group.path.join(group.file(File::Limit));
        if !limit.exists() {
            // Version 2: groups limit memory only if the group around them lets them.
            fs::write(parent.join("cgroup.subtree_control"), "+memory").map_err(forbidden)?;
        }
        if !limit.exists() {
            return Err(forbidden(ErrorKind::Unsupported.into()));
        }
        if let Some(bytes) = limit_bytes {
            fs::write(&limit, bytes.to_string()).map_err(|source| GroupError::Control {
                path: limit,
                source,
            })?;
        }
        Ok(group)
    }

    /// Removes groups of launchers that were killed.
    fn remove_stale(&self, parent: &Path) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let launcher = name.to_str().and_then(|name| {
                let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
                pid.parse::<u32>().ok()
            });
            if launcher.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                let version = self.version;
                let path = entry.path();
                drop(Group { version, path });
            }
        }
    }
}

/// Files of a group.
#[derive(Clone, Copy, Debug)]
enum File {
    Limit,
    Peak,
    Kills,
    Statistics,
}

impl Group {
    fn file(&self, file: File) -> &'static str {
        match (self.version, file) {
            (Version::One, File::Limit) => "memory.limit_in_bytes",
            (Version::One, File::Peak) => "memory.max_usage_in_bytes",
            (Version::One, File::Kills) => "memory.oom_control",
            (Version::Two, File::Limit) => "memory.max",
            (Version::Two, File::Peak) => "memory.peak",
            (Version::Two, File::Kills) => "memory.events",
            (_, File::Statistics) => "memory.stat",
        }
    }

    /// Puts a process into it, with all that it will start.
    pub fn add(&self, process: u32) -> Result<(), GroupError> {
        let path = self.path.join("cgroup.procs");
        fs::write(&path, process.to_string()).map_err(|source| GroupError::Control { path, source })
    }

    /// What happened in it so far.
    pub fn usage(&self) -> Usage {
        let text = |file| fs::read_to_string(self.path.join(self.file(file))).unwrap_or_default();
        // Version 1 tells of groups within this one separately.
        let statistics = text(File::Statistics);
        let majors = value(&statistics, "total_pgmajfault");
        Usage {
            peak_bytes: text(File::Peak).trim().parse().ok(),
            major_faults: majors.or_else(|| value(&statistics, "pgmajfault")),
            killed: value(&text(File::Kills), "oom_kill").unwrap_or(0),
        }
    }
}

impl Group {
    /// Takes pages of files that the group was charged for out of memory: else the next
    /// run would find them there, and its own group would not be charged for them.
    fn forget_files(&self) {
        let (file, text) = match self.version {
            Version::One => ("memory.force_empty", "0".to_owned()),
            Version::Two => {
                let used = fs::read_to_string(self.path.join("memory.current"));
                ("memory.reclaim", used.unwrap_or_default().trim().to_owned())
            }
        };
        // Kernels before 5.19 have no such file of version 2; pages that are in use stay.
        let opened = fs::OpenOptions::new()
            .write(true)
            .open(self.path.join(file));
        let _ = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What the program left running goes on without the limit.
        let parent = self.path.parent().map(|parent| parent.join("cgroup.procs"));
        let left = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        for process in left.split_ascii_whitespace() {
            if let Some(parent) = &parent {
                // It may end meanwhile.
                let _ = fs::write(parent, process);
            }
        }
        self.forget_files();
        // Processes that have ended leave a moment later. What cannot be removed is when
        // the next group is made.
        for _ in 0..100 {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                _ => break,
            }
        }
    }
}

/// The number behind a name in lines of names and numbers.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

/// The directory at which the memory groups of a version are mounted, if a line of
/// `mountinfo` tells so, and which part of the hierarchy is.
fn mounted(line: &str, version: Version) -> Option<(PathBuf, String)> {
    let (mount, system) = line.split_once(" - ")?;
    // Number, parent, device, root, mount point, options.
    let mut mount = mount.split(' ').skip(3);
    let (root, point) = (mount.next()?, mount.next()?);
    let mut system = system.split(' ');
    let kind = system.next()?;
    let fits = match version {
        Version::One => {
            kind == "cgroup" && system.nth(1)?.split(',').any(|option| option == "memory")
        }
        Version::Two => kind == "cgroup2",
    };
    let root = root.trim_end_matches('/').to_owned();
    fits.then(|| (PathBuf::from(point), root))
}

/// The path of this process's group, if a line of `/proc/self/cgroup` tells it.
fn own_group(line: &str, version: Version) -> Option<&str> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    let fits = match version {
        Version::One => controllers.split(',').any(|one| one == "memory"),
        Version::Two => controllers.is_empty(),
    };
    fits.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "30 24 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
                       36 24 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const TWO: &str = "30 24 0:27 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n";

    fn shown(place: Option<Place>) -> Vec<String> {
        let parents = place.unwrap().parents;
        parents
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    #[test]
    fn version_one_is_preferred_where_it_has_memory() {
        let own = "3:memory:/a/b\n2:cpu:/\n0::/c\n";
        assert_eq!(
            shown(Place::among(ONE, own)),
            [
                "/sys/fs/cgroup/memory/a/b",
                "/sys/fs/cgroup/memory/a",
                "/sys/fs/cgroup/memory"
            ]
        );
    }

    #[test]
    fn version_two_begins_at_the_root() {
        assert_eq!(
            shown(Place::among(TWO, "0::/user/app.scope\n")),
            [
                "/sys/fs/cgroup",
                "/sys/fs/cgroup/user/app.scope",
                "/sys/fs/cgroup/user"
            ]
        );
    }

    #[test]
    fn a_container_sees_a_part_of_the_hierarchy() {
        let mounts = "30 24 0:27 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        assert_eq!(
            shown(Place::among(mounts, "3:memory:/docker/x\n")),
            ["/sys/fs/cgroup/memory"]
        );
    }

    #[test]
    fn without_groups_there_is_no_place() {
        assert_eq!(Place::among("", "0::/\n"), None);
        assert_eq!(Place::among(TWO, ""), None);
        assert_eq!(Place::among("nonsense - \n - cgroup2\n", "0::/\n"), None);
    }

    #[test]
    fn numbers_are_found_by_name() {
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(value(text, "oom_kill"), Some(3));
        assert_eq!(value(text, "oom"), None);
    }

    #[test]
    fn a_directory_that_is_no_group_is_left_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place {
            version: Version::Two,
            parents: vec![directory.path().to_owned()],
        };
        let error = place.make(Some(1 << 20)).unwrap_err();
        assert!(error.to_string().contains("systemd-run"), "{error}");
        // The switch of the group around it was tried, which here makes a file.
        let left: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["cgroup.subtree_control"]);
    }

    #[test]
    fn groups_are_made_and_removed_where_that_is_allowed() {
        // Where it is not, the error says so; tests with programs are elsewhere.
        match Place::find().and_then(|place| place.make(Some(64 << 20))) {
            Ok(group) => {
                let path = group.path.clone();
                assert!(path.exists());
                assert_eq!(group.usage().killed, 0);
                drop(group);
                assert!(!path.exists());
            }
            Err(error) => assert!(error.to_string().contains("memory")),
        }
    }
}
