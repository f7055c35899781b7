"""A Citus cluster of one coordinator and two workers."""

import signal
import subprocess
from pathlib import Path

from postgres_client import DatabaseError, query
from processes import HOST, say, wait_until

SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "shared_preload_libraries": "citus",
    "max_connections": 200,
    "max_prepared_transactions": 200,
    "wal_level": "logical",
    "fsync": "off",
    "citus.shard_count": 8,
    "citus.node_conninfo": "sslmode=disable",
    "citus.enable_statistics_collection": "off",
}


def is_installed(programs):
    """Whether the PostgreSQL has the library of Citus."""
    if not (programs / "pg_config").exists():
        return False
    outcome = subprocess.run([programs / "pg_config", "--pkglibdir"], capture_output=True, text=True, timeout=10)
    return outcome.returncode == 0 and (Path(outcome.stdout.strip()) / "citus.so").exists()


class Citus:
    def __init__(self, session, programs, database):
        say("starting Citus: a coordinator and two workers")
        self.session, self.programs, self.database = session, programs, database
        self.ports = [self.start_node(name) for name in ("coordinator", "worker1", "worker2")]
        self.sql(f"SELECT citus_set_coordinator_host('{HOST}', {self.ports[0]})")
        for port in self.ports[1:]:
            self.sql(f"SELECT citus_add_node('{HOST}', {port})")
        self.port = self.ports[0]
        self.dsn = f"postgres://postgres@{HOST}:{self.port}/{database}"

    def start_node(self, name):
        folder, port = self.session.make_folder(name, server=True), self.session.free_port()
        data = folder / "data"
        self.session.run(
            [self.programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"], server=True)
        words = [word for setting, value in {**SETTINGS, "port": port}.items() for word in ("-c", f"{setting}={value}")]
        process = self.session.spawn(name, [self.programs / "postgres", "-D", data, *words], server=True, cwd=folder, ending=signal.SIGQUIT)

        def answers():
            try:
                return query(port, "SELECT 1")
            except (OSError, DatabaseError):
                if process.poll() is not None:
                    raise TimeoutError(f"{name} does not start:\n{self.session.log_tail(name)}") from None
                return None

        wait_until(answers, 30, f"{name} did not answer")
        query(port, f'CREATE DATABASE "{self.database}"', timeout=30)
        query(port, "CREATE EXTENSION citus", self.database, timeout=30)
        return port

    def sql(self, text):
        return query(self.ports[0], text, self.database, timeout=60)
