"""Starts the service of an installed package in a root folder, as its unit says, without systemd.

    unit.py [--trace FILE] ROOT [COMMAND…]      COMMAND is another one than `serve`; --trace lists the system calls

It takes user, group, folder, mask, limits, environment and command from the unit file. The root folder is read-only but for the
state folder, as ProtectSystem=strict says; /tmp is private; the process has no capabilities and cannot gain any. The system call
filter, the address families and the other kernel restrictions are not applied: only systemd does that.
"""

import os
import pathlib
import shlex
import sys

UNIT = "usr/lib/systemd/system/peristyle.service"
# What systemd itself adds to the environment of a service.
FROM_SYSTEMD = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
    "INVOCATION_ID": "5f0f4f4d1c3b4e0c9a35bd7ec3a0a7a1",
    "JOURNAL_STREAM": "8:12345",
    "SYSTEMD_EXEC_PID": "4242",
    "MEMORY_PRESSURE_WATCH": "/sys/fs/cgroup/system.slice/peristyle.service/memory.pressure",
    "MEMORY_PRESSURE_WRITE": "c29tZSAyMDAwMDAgMjAwMDAwMAA=",
    "CREDENTIALS_DIRECTORY": "/run/credentials/peristyle.service",
    "RUNTIME_DIRECTORY": "/run/peristyle",
}
MODELLED = {"NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict", "PrivateTmp": "yes"}


def read_unit(path):
    """The lines of the section [Service], by key. A key may come more than once."""
    found, section = {}, ""
    for line in path.read_text().splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line and not line.startswith(("#", ";")):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def read_environment(path):
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith(("#", ";")))


def command(root, trace, words):
    service = read_unit(root / UNIT)
    one = lambda key: service[key][-1]
    for key, value in MODELLED.items():
        if one(key) != value:
            sys.exit(f"unit.py models {key}={value}, and the unit says {one(key)}")
    state = f"/var/lib/{one('StateDirectory')}"
    account = next(line.split(":") for line in (root / "etc/passwd").read_text().splitlines() if line.startswith(f"{one('User')}:"))
    environment = {**FROM_SYSTEMD, "USER": account[0], "LOGNAME": account[0], "HOME": account[5], "SHELL": account[6], "STATE_DIRECTORY": state}
    for path in service["EnvironmentFile"]:
        environment.update(read_environment(root / path.lstrip("-/")))
    start = one("ExecStart") if not words else shlex.join([one("ExecStart").split()[0], *words])
    inside = shlex.join([
        "setpriv", f"--reuid={one('User')}", f"--regid={one('Group')}", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all",
        "env", "-i", *(f"{name}={value}" for name, value in environment.items()),
        "sh", "-c", f"cd {one('WorkingDirectory')} && umask {one('UMask')} && exec {start}",
    ])  # fmt: skip
    quoted = shlex.quote(str(root))
    tracer = shlex.join(["strace", "-f", "-qq", "-e", "signal=none", "-o", trace]) if trace else ""
    mounts = [
        f"mount --bind {quoted} {quoted}",
        f"mount --rbind /proc {quoted}/proc",
        f"mount --bind {quoted}{state} {quoted}{state}",
        f"mount -t tmpfs -o mode=1777 tmpfs {quoted}/tmp",
        f"mount -o remount,bind,ro {quoted}",
        # A machine may not allow its root to raise a limit.
        f"ulimit -n {one('LimitNOFILE')} 2>/dev/null || true",
    ]
    return ["unshare", "--mount", "--fork", "--kill-child", "sh", "-ec", "\n".join([*mounts, f"exec {tracer} chroot {quoted} {inside}"])]


if __name__ == "__main__":
    arguments = sys.argv[1:]
    trace = arguments[1] if arguments[0] == "--trace" else None
    root, *words = arguments[2:] if trace else arguments
    started = command(pathlib.Path(root).resolve(), trace, words)
    os.execvp(started[0], started)
