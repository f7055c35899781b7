"""Processes, ports and a folder that end with the script."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
HOST = "127.0.0.1"
# The Debian package of each program.
PACKAGES = {"etcd": "etcd-server", "patroni": "patroni", "haproxy": "haproxy"}


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    say(f"cluster: {text}")
    sys.exit(1)


def find_program(name):
    """Finds a program, also if the path lacks the folders of root."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")


def require_programs():
    missing = [package for program, package in PACKAGES.items() if not find_program(program)]
    if missing:
        fail(f"programs are missing; run: apt-get install --no-install-recommends {' '.join(missing)}")
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            fail("PostgreSQL does not run as root, and there is no user postgres; run: apt-get install --no-install-recommends postgresql")


def server_programs(choice):
    """The folder with the programs of a PostgreSQL. Patroni needs more of them than testing/postgres has."""
    outcome = subprocess.run([str(ROOT / "scripts" / "postgres"), choice], capture_output=True, text=True, timeout=600)
    if outcome.returncode != 0:
        if choice == "system":
            fail("no PostgreSQL server is installed; run: apt-get install --no-install-recommends postgresql")
        fail(outcome.stderr.strip())
    folder = Path(outcome.stdout.strip())
    needed = ("initdb", "pg_basebackup", "pg_controldata", "pg_ctl", "pg_isready", "pg_rewind", "postgres", "psql")
    missing = [name for name in needed if not (folder / name).exists()]
    if missing:
        fail(f"--postgres: {folder} has no {', '.join(missing)}; use a full installation, such as --postgres system")
    return folder


def find_binary(path):
    """The server to run: the named file, or the release build, which cargo makes if it is missing."""
    if path:
        if not os.access(path, os.X_OK):
            fail(f"--binary: {path} is not a program")
        return Path(path).resolve()
    binary = TARGET / "release" / "peristyle"
    if not binary.exists():
        say("building peristyle")
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--package", "peristyle"], cwd=ROOT, check=True, timeout=3600)
    return binary


def descendants(pid):
    """A process and all below it, parents first."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name of the program is in parentheses and may contain spaces.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for each in found:
        found.extend(children.get(each, []))
    return found


def send_signal(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Session:
    """A private folder, and the processes in it. Leaving it ends them and removes the folder."""

    def __init__(self, keep_logs=None):
        self.stack = contextlib.ExitStack()
        self.keep_logs = keep_logs
        self.ports = set()

    def __enter__(self):
        # A signal during the clean-up must not stop it.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.folder = Path(tempfile.mkdtemp(prefix="peristyle-cluster."))
        self.folder.chmod(0o755)
        self.stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        if self.keep_logs:
            self.stack.callback(shutil.copytree, self.logs, self.keep_logs, dirs_exist_ok=True)
        return self

    def __exit__(self, kind, *_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.stack.close()
        signal.signal(signal.SIGINT, interrupts)
        if kind is KeyboardInterrupt:
            say("interrupted")
            sys.exit(130)

    def free_port(self):
        """A port that no program uses now, and that no other call returns."""
        while True:
            with socket.socket() as probe:
                probe.bind((HOST, 0))
                port = probe.getsockname()[1]
            if port not in self.ports:
                self.ports.add(port)
                return port

    def make_folder(self, name, server=False):
        """Makes a folder. The folder of a database server belongs to the server's user."""
        folder = self.folder / name
        folder.mkdir()
        if server and os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
            folder.chmod(0o700)
        return folder

    def spawn(self, name, command, environment=None, server=False, cwd=None, ending=signal.SIGTERM):
        """Starts a process in a group of its own, so that Ctrl-C reaches the script only. `server` runs it as user postgres. The signal
        `ending` ends it."""
        inherited = {"PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin", "LANG": "C.UTF-8", "HOME": str(self.folder)}
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if server and os.geteuid() == 0 else {}
        with open(self.logs / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [str(word) for word in command], env={**inherited, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=cwd or self.folder, start_new_session=True, **user)
        self.stack.callback(end, process, ending)
        return process

    def run(self, command, environment=None, stdin="", server=False, timeout=120):
        """Runs a command to its end and returns its output."""
        inherited = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "HOME": str(self.folder)}
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if server and os.geteuid() == 0 else {}
        outcome = subprocess.run(
            [str(word) for word in command], env={**inherited, **(environment or {})}, input=stdin, capture_output=True, text=True,
            timeout=timeout, cwd="/" if server else self.folder, **user)
        if outcome.returncode != 0:
            fail(f"{' '.join(str(word) for word in command[:3])}: {outcome.stderr.strip()}")
        return outcome.stdout

    def log_tail(self, name, lines=8):
        text = (self.logs / f"{name}.log").read_text(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in text[-lines:])


def end(process, ending=signal.SIGTERM):
    """Ends a process, also a stopped one."""
    if process.poll() is None:
        process.send_signal(ending)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


def wait_until(condition, timeout, what, pause=0.1):
    """Waits for a condition and returns its value."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise TimeoutError(f"{what} within {timeout} s")
