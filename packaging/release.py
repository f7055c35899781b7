"""What all packages share: the version, the time of the commit, the program, and archives that are equal byte for byte."""

import dataclasses
import gzip
import io
import os
import pathlib
import re
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUMMARY = "A safe query layer and sign-in for your relational database"
LICENCE = "MIT OR Apache-2.0"

# The name of a machine: in ELF, in Debian, in npm.
MACHINES = {"x86_64": ("amd64", "x64"), "aarch64": ("arm64", "arm64")}


class ReleaseError(Exception):
    """Why a package cannot be made."""


@dataclasses.dataclass(frozen=True)
class Release:
    """One version for one kind of machine, and the folder that gets its files."""

    version: str
    epoch: int
    binary: pathlib.Path
    out: pathlib.Path
    # 0 stores files without compression, for tests.
    level: int = 9

    @property
    def machine(self):
        return os.uname().machine

    @property
    def debian_machine(self):
        return self._names()[0]

    @property
    def npm_machine(self):
        return self._names()[1]

    def _names(self):
        if self.machine not in MACHINES:
            raise ReleaseError(f"no packages are made for {self.machine}, only for {', '.join(MACHINES)}")
        return MACHINES[self.machine]

    @property
    def debian_version(self):
        return self.version.replace("-rc.", "~rc")

    @property
    def python_version(self):
        return self.version.replace("-rc.", "rc")

    def libraries(self):
        """The names of the shared libraries that the program needs."""
        text = run("readelf", "--dynamic", "--wide", self.binary)
        return re.findall(r"\(NEEDED\).*\[(.+)\]", text)

    def glibc(self):
        """The oldest version of the C library that the program runs with, such as (2, 34)."""
        text = run("readelf", "--version-info", "--wide", self.binary)
        found = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)
        if not found:
            raise ReleaseError(f"{self.binary} does not use the GNU C library")
        return max((int(major), int(minor)) for major, minor in found)


def checked_version(text):
    if not re.fullmatch(r"\d+\.\d+\.\d+(-rc\.\d+)?", text):
        raise ReleaseError(f"version {text!r}: 1.2.3 or 1.2.3-rc.4 is expected")
    return text


def run(*command, **options):
    """The standard output of a command. A command that fails stops the release."""
    try:
        done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, **options)
    except FileNotFoundError as error:
        raise ReleaseError(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        raise ReleaseError(f"{' '.join(str(word) for word in command)}: exit code {error.returncode}") from error
    return done.stdout.decode()


def compressed(data, release):
    return gzip.compress(data, compresslevel=release.level, mtime=release.epoch)


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file of an archive."""

    path: str
    data: bytes
    mode: int = 0o644


def tar(entries, release):
    """A tar archive: sorted by name, owned by root, dated by the commit."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in sorted(entries, key=lambda entry: entry.path):
            header = tarfile.TarInfo(entry.path)
            header.size, header.mode, header.mtime = len(entry.data), entry.mode, release.epoch
            header.uname = header.gname = "root"
            archive.addfile(header, io.BytesIO(entry.data))
    return out.getvalue()


def folder_entries(folder, prefix):
    """The files below a folder, as entries below `prefix`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [Entry(f"{prefix}/{path.relative_to(folder)}", path.read_bytes()) for path in files]
