//! The memory that this process may use: the limit of its container or service, or else the memory of the machine.

use std::path::{Path, PathBuf};

/// Half of the memory that a container or a service has, a quarter of a machine's, which others use too.
pub(super) fn default_memory() -> usize {
    let limit = limit_of_group(Path::new("/sys/fs/cgroup"), &group());
    let memory = limit.map_or_else(|| memory_of_machine().unwrap_or(2 << 30) / 4, |limit| limit / 2);
    usize::try_from(memory).unwrap_or(usize::MAX)
}

/// The control group of this process, as a path below the root of the groups.
fn group() -> PathBuf {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    PathBuf::from(path)
}

/// The smallest limit of a group and those around it.
fn limit_of_group(root: &Path, group: &Path) -> Option<u64> {
    let limits = group.ancestors().filter_map(|group| {
        let folder = root.join(group);
        let text = std::fs::read_to_string(folder.join("memory.max"));
        // The first version of control groups, as older container hosts have it.
        let text = text.or_else(|_| std::fs::read_to_string(folder.join("memory/memory.limit_in_bytes")));
        text.ok()?.trim().parse::<u64>().ok()
    });
    // Without a limit the first version says a number that no machine has.
    limits.min().filter(|limit| *limit < 1 << 50)
}

fn memory_of_machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_around_the_process_counts() {
        // contract E9.1
        let root = tempfile::tempdir().expect("a folder");
        let service = root.path().join("system.slice/peristyle.service");
        std::fs::create_dir_all(&service).expect("folders");
        let limit = || limit_of_group(root.path(), Path::new("system.slice/peristyle.service"));
        assert_eq!(limit(), None);
        std::fs::write(service.join("memory.max"), "max\n").expect("written");
        assert_eq!(limit(), None);
        std::fs::write(root.path().join("system.slice/memory.max"), "1073741824\n").expect("written");
        assert_eq!(limit(), Some(1 << 30));
        std::fs::write(service.join("memory.max"), "536870912\n").expect("written");
        assert_eq!(limit(), Some(512 << 20));
        assert!(default_memory() > 0);
    }
}
