"""The shared parts of the benchmarks: a private PostgreSQL with the shop in it, and processes that end with the benchmark."""

import contextlib
import fcntl
import hashlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
# The log of the servers under test.
LOG = TARGET / "bench.log"

# Database, server and load share one machine. Nothing waits for the disk.
SETTINGS = {
    "shared_buffers": "512MB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "work_mem": "16MB",
    "max_connections": "300",
    "random_page_cost": "1.1",
    "timezone": "UTC",
    "listen_addresses": "127.0.0.1",
    "autovacuum": "off",
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text):
    say(f"error: {text}")
    sys.exit(1)


@contextlib.contextmanager
def session():
    """An ExitStack that also unwinds on Ctrl-C and on SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    LOG.unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
        try:
            yield stack
        except KeyboardInterrupt:
            say("interrupted")
            sys.exit(130)


def install(packages):
    """Installs the Debian packages of missing programs."""
    missing = [package for program, package in packages.items() if not find_program(program)]
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        fail(f"please install {' '.join(missing)}")
    say(f"installing {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", *missing]):
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=600)


def find_program(name):
    """Finds a program on the path, or in Debian's folder for PostgreSQL."""
    found = shutil.which(name)
    if found:
        return found
    versions = sorted(Path("/usr/lib/postgresql").glob("[0-9]*"), key=lambda path: int(path.name), reverse=True)
    return next((str(path / "bin" / name) for path in versions if (path / "bin" / name).exists()), None)


def build(*packages):
    """Builds release binaries and returns their folder."""
    say(f"building {', '.join(packages)}")
    names = [argument for package in packages for argument in ("-p", package)]
    subprocess.run(["cargo", "build", "--release", "--quiet", *names], cwd=ROOT, check=True, timeout=3600)
    return TARGET / "release"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """A private PostgreSQL. Its data folder stays for the next run; the server stops."""

    def __init__(self, stack, settings=None):
        self.settings = {**SETTINGS, **(settings or {})}
        self.folder = scratch()
        lock = stack.enter_context(open(self.folder / "lock", "w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fail(f"another run uses {self.folder}")
        self.data = self.folder / "data"
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/bench"
        seeded = self.folder / "seeded"
        checksum = self.checksum()
        fresh = not (seeded.exists() and seeded.read_text() == checksum)
        if fresh:
            seeded.unlink(missing_ok=True)
            self.create()
        self.start(stack)
        if fresh:
            say("filling the database, about half a minute")
            self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "bench")
            self.run("psql", "-X", "-q", "-o", "/dev/null", "-f", "-", self.url, stdin=(BENCH / "seed.sql").read_text())
            seeded.write_text(checksum)
        # Otherwise the first round would measure a cold cache.
        for table in ("customers", "orders", "order_items", "products"):
            self.answer(f"SELECT count(*) FROM {table}")

    def checksum(self):
        version = self.output("postgres", "--version")
        return hashlib.sha256(version.encode() + (BENCH / "seed.sql").read_bytes()).hexdigest()

    def create(self):
        say(f"creating a PostgreSQL cluster in {self.folder}")
        if self.data.exists():
            subprocess.run(self.command("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop"), capture_output=True, timeout=60)
            shutil.rmtree(self.data)
        self.run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")

    def start(self, stack):
        # A killed run may have left its server running.
        subprocess.run(self.command("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop"), capture_output=True, timeout=60)
        sockets = self.folder if len(str(self.folder)) < 80 else Path(tempfile.mkdtemp(prefix="peristyle-bench-"))
        if sockets != self.folder:
            stack.callback(shutil.rmtree, sockets, ignore_errors=True)
            shutil.chown(sockets, *owner())
        options = {**self.settings, "port": str(self.port), "unix_socket_directories": str(sockets)}
        words = " ".join(f"-c {name}={value}" for name, value in options.items())
        stack.callback(self.stop)
        self.run("pg_ctl", "-D", str(self.data), "-l", str(self.folder / "log"), "-w", "-t", "60", "-o", words, "start")

    def stop(self):
        subprocess.run(self.command("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop"), capture_output=True, timeout=60)

    def command(self, program, *arguments):
        path = find_program(program)
        if path is None:
            fail(f"{program} is missing")
        # PostgreSQL refuses to run as root.
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return [*user, path, *arguments]

    def run(self, program, *arguments, stdin=None):
        outcome = subprocess.run(
            self.command(program, *arguments), input=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=600, cwd="/")
        if outcome.returncode != 0:
            fail(f"{program} failed: {outcome.stderr.strip()}")

    def output(self, program, *arguments):
        return subprocess.run(self.command(program, *arguments), stdout=subprocess.PIPE, text=True, check=True, timeout=600, cwd="/").stdout

    def answer(self, sql):
        """Returns the one value of a statement, read with psql."""
        return self.output("psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url).strip()


def busy():
    """The current load of the processors, from 0 to 1."""
    def read():
        fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        return sum(fields), fields[3] + fields[4]

    before = read()
    time.sleep(0.25)
    after = read()
    return 1 - (after[1] - before[1]) / max(after[0] - before[0], 1)


class Quiet:
    """Waits before a round until other programs are idle, two minutes in all. After that the table has a warning."""

    def __init__(self):
        self.timeout = 120

    def wait(self):
        start = time.monotonic()
        while self.timeout > 0 and busy() > 0.2:
            if time.monotonic() - start > self.timeout:
                say("other programs keep the machine busy: the figures will be unreliable")
                self.timeout = 0
                return
        self.timeout -= time.monotonic() - start


def owner():
    """The user of the PostgreSQL server."""
    entry = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    return entry.pw_uid, entry.pw_gid


def scratch():
    """A folder that PostgreSQL's user can enter: the build folder, or a shared one if the build folder is in a private home."""
    user, group = owner()
    for folder in (TARGET / "bench", Path("/var/tmp") / f"peristyle-bench-{os.geteuid()}"):
        folder.mkdir(parents=True, exist_ok=True)
        os.chown(folder, user, group)
        if os.geteuid() != 0:
            return folder
        if subprocess.run(["runuser", "-u", "postgres", "--", "test", "-w", str(folder)], timeout=10).returncode == 0:
            return folder
    fail("no folder that the user postgres can write to")


def spawn(stack, command, environment=None):
    """Starts a process that ends with this one."""
    # The caller's environment must not change the measurement.
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with open(LOG, "ab") as log:
        process = subprocess.Popen([str(word) for word in command], env={**inherited, **(environment or {})}, stdout=log, stderr=log, cwd=ROOT)
    stack.callback(end, process)
    return process


def end(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(15)


def serve(stack, binaries, database, port, manifest=BENCH / "peristyle.toml", settings=None):
    """Starts the release server with its default settings."""
    return spawn(stack, [binaries / "peristyle", "serve"], {
        "OAUTH_STRATEGY": "none",
        "DATABASE_URL": database,
        "PERISTYLE_MANIFEST": str(manifest),
        "LISTEN": f"127.0.0.1:{port}",
        **(settings or {}),
    })


def wait_ready(process, url, pause=0.02, timeout=20):
    """Waits for status 200 and returns the seconds that it took."""
    start = time.monotonic()
    while time.monotonic() - start < timeout:
        if process.poll() is not None:
            fail(f"{process.args[0]} ended with status {process.returncode}; see {LOG}")
        try:
            with urllib.request.urlopen(url, timeout=2) as response:
                if response.status == 200:
                    return time.monotonic() - start
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(pause)
    fail(f"{url} was not ready within {timeout} s")


def resident(process):
    """The resident memory of a process, in bytes."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    fail("the server has ended")


def load(url, seconds, *words, connections=16, threads=2):
    """Starts wrk with one of the modes of `load.lua`."""
    command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "-s", str(BENCH / "load.lua"), url, "--"]
    return subprocess.Popen([*command, *map(str, words)], stdout=subprocess.PIPE, text=True)


def seen(wrk, seconds, what):
    """Waits for wrk and returns its results."""
    text, _ = wrk.communicate(timeout=seconds + 60)
    if wrk.returncode != 0:
        fail(f"{what}: wrk ended with status {wrk.returncode}")
    seen = json.loads(text.strip().splitlines()[-1])
    if seen["failed"] or not seen["requests"]:
        fail(f"{what}: {seen['failed']} of {seen['requests']} requests failed")
    return {"rate": seen["requests"] / (seen["microseconds"] / 1e6), "p50": seen["p50"] / 1e3, "p99": seen["p99"] / 1e3}


def post(url, body):
    request = urllib.request.Request(url, data=body, headers={"content-type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        fail(f"{url} answered {error.code}: {error.read().decode(errors='replace')}")
