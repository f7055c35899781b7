//! The default of MEMORY_BUDGET, from the memory limit of the container or service, or else from the memory of the machine.

use std::path::{Path, PathBuf};

/// Half of the limit of a container or service, or a quarter of the machine's memory, which other processes use too.
pub(super) fn default_memory() -> usize {
    let limit = group_limit(Path::new("/sys/fs/cgroup"), &control_group());
    let memory = limit.map_or_else(|| machine_memory().unwrap_or(2 << 30) / 4, |limit| limit / 2);
    usize::try_from(memory).unwrap_or(usize::MAX)
}

/// The control group of this process, as a path below the root of all groups.
fn control_group() -> PathBuf {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    PathBuf::from(path)
}

/// The smallest limit of a group and its ancestors.
fn group_limit(root: &Path, group: &Path) -> Option<u64> {
    let limits = group.ancestors().filter_map(|group| {
        let folder = root.join(group);
        let text = std::fs::read_to_string(folder.join("memory.max"));
        // Version 1 of control groups, on older container hosts.
        let text = text.or_else(|_| std::fs::read_to_string(folder.join("memory/memory.limit_in_bytes")));
        text.ok()?.trim().parse::<u64>().ok()
    });
    // Version 1 reports a number beyond every machine if there is no limit.
    limits.min().filter(|limit| *limit < 1 << 50)
}

fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_the_ancestors_counts() {
        // contract E9.1
        let root = tempfile::tempdir().expect("a folder");
        let service = root.path().join("system.slice/peristyle.service");
        std::fs::create_dir_all(&service).expect("folders");
        let limit = || group_limit(root.path(), Path::new("system.slice/peristyle.service"));
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
