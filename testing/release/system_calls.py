"""Checks that the system call filter of the unit allows every call of a trace: `system_calls.py UNIT TRACE`."""

import pathlib
import re
import subprocess
import sys

from unit import read_unit


def allowed(group):
    """The names of the calls in a group such as @system-service, with the groups in it."""
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", group], check=True, capture_output=True, text=True).stdout
    names = {line.strip() for line in text.splitlines()[1:] if line.strip() and not line.strip().startswith("#")}
    inner = {name for name in names if name.startswith("@")}
    return (names - inner).union(*(allowed(name) for name in inner)) if inner else names


def called(trace):
    """The calls of the program, and not those of the programs that started it."""
    own, found = set(), set()
    for line in pathlib.Path(trace).read_text(errors="replace").splitlines():
        process, _, rest = line.partition(" ")
        call = re.match(r"\s*(\w+)\(", rest)
        if call and call[1] == "execve" and "/peristyle" in rest.split(",")[0]:
            own.add(process)
        elif call and own:
            found.add(call[1])
    return found


unit, trace = sys.argv[1:]
calls = called(trace)
groups = read_unit(pathlib.Path(unit))["SystemCallFilter"]
refused = calls.difference(*(allowed(group) for group in groups))
if not calls or refused:
    sys.exit(f"{len(calls)} calls, and the filter refuses {', '.join(sorted(refused)) or 'none'}")
print(f"{len(calls)} different system calls, all allowed by {' '.join(groups)}")
