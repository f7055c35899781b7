"""Three PostgreSQL members under Patroni with synchronous replication, and the faults of their hosts."""

import contextlib
import http.client
import json
import shutil
import signal
import threading
import time
import urllib.request
from pathlib import Path

from postgres_client import Connection, DatabaseError, query
from processes import HOST, descendants, fail, find_program, say, send_signal, wait_until

# Patroni's defaults are for networks. On one machine a shorter lease makes shorter rounds.
LEASE, LOOP, RETRY = 10, 1, 3
PARAMETERS = {
    "max_connections": 200,
    "shared_buffers": "32MB",
    "unix_socket_directories": "",
    # The faults kill processes, not the machine: the page cache of the system survives.
    "fsync": "off",
    # For pg_rewind.
    "wal_log_hints": "on",
    "wal_keep_size": "128MB",
    "log_min_messages": "warning",
    "timezone": "UTC",
}
# Clients, standbys and Patroni reach a member through its proxy only. A stopped proxy is a network that drops everything.
PROXY = """
global
    maxconn 2000
    nbthread 1
defaults
    mode tcp
    retries 0
    timeout connect 30s
    timeout client 1h
    timeout server 1h
listen database
    bind {host}:{database}
    server member {host}:{member}
listen api
    bind {host}:{api}
    server member {host}:{member_api}
listen etcd
    bind {host}:{etcd}
    server etcd {host}:{member_etcd}
"""


class Member:
    """One host: a PostgreSQL, its Patroni and its network. `port` is where clients find it, `own_port` where it listens."""

    def __init__(self, session, name, programs, etcd_port):
        self.session, self.name, self.programs = session, name, programs
        self.port, self.own_port = session.free_port(), session.free_port()
        self.api, self.own_api = session.free_port(), session.free_port()
        self.folder = session.make_folder(name, server=True)
        self.data = self.folder / "data"
        etcd = session.free_port()
        config = session.folder / f"{name}-proxy.cfg"
        config.write_text(PROXY.format(
            host=HOST, database=self.port, member=self.own_port, api=self.api, member_api=self.own_api, etcd=etcd, member_etcd=etcd_port))
        self.proxy = session.spawn(f"{name}-proxy", [find_program("haproxy"), "-db", "-f", config])
        self.config = session.folder / f"{name}.yml"
        # YAML contains JSON.
        self.config.write_text(json.dumps(self.settings(etcd), indent=2))
        session.stack.callback(self.end_server)

    def settings(self, etcd):
        trust = [f"host all all {HOST}/32 trust", f"host replication all {HOST}/32 trust"]
        return {
            "scope": "peristyle",
            "name": self.name,
            "restapi": {"listen": f"{HOST}:{self.own_api}", "connect_address": f"{HOST}:{self.api}"},
            # Without use_proxies Patroni asks etcd for its address, and goes around the proxy.
            # Not etcd3: there Patroni 3.0 writes the leader key without a condition, so that a thawed primary can take the lease back from the
            # new one, which loses what the new one has committed.
            "etcd": {"host": f"{HOST}:{etcd}", "use_proxies": True},
            "bootstrap": {
                "dcs": {
                    "ttl": LEASE, "loop_wait": LOOP, "retry_timeout": RETRY, "synchronous_mode": True,
                    # A killed primary is replaced, not restarted.
                    "primary_start_timeout": 0, "master_start_timeout": 0,
                    "postgresql": {"use_pg_rewind": True, "parameters": PARAMETERS},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, {"auth": "trust"}, "no-sync"],
            },
            "postgresql": {
                "listen": f"{HOST}:{self.own_port}", "connect_address": f"{HOST}:{self.port}", "data_dir": str(self.data),
                "bin_dir": str(self.programs), "pgpass": str(self.folder / "pgpass"), "pg_hba": trust,
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "postgres"}},
                "remove_data_directory_on_rewind_failure": True, "remove_data_directory_on_diverged_timelines": True,
                "basebackup": [{"checkpoint": "fast"}, "no-sync"],
            },
        }

    def start(self):
        # A Patroni that is asked to end would first hand its lease over.
        self.patroni = self.session.spawn(
            self.name, [find_program("patroni"), self.config], server=True, cwd=self.folder, ending=signal.SIGKILL)

    def server(self):
        """Each postmaster of the member and its children. A Patroni in a hurry may have lost track of one."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if words[0].endswith(b"/postgres") and str(self.data).encode() in words:
                        found += descendants(int(entry.name))
        return found

    def end_server(self):
        for number in (signal.SIGCONT, signal.SIGQUIT):
            send_signal(self.server(), number)
        deadline = time.monotonic() + 5
        while self.server() and time.monotonic() < deadline:
            time.sleep(0.05)
        send_signal(self.server(), signal.SIGKILL)

    def replace(self):
        """Starts the member again, without its data."""
        self.patroni.kill()
        self.patroni.wait(5)
        send_signal(self.server(), signal.SIGKILL)
        shutil.rmtree(self.data, ignore_errors=True)
        self.start()

    def ask(self, method, path, timeout=2):
        """The status and the object that the member's Patroni answers."""
        connection = http.client.HTTPConnection(HOST, self.own_api, timeout=timeout)
        try:
            connection.request(method, path, body="{}" if method == "POST" else None, headers={"content-type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        except OSError:
            return None, None
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, None

    # The faults of a primary. Each returns what heals it.

    def kill(self):
        """Kills PostgreSQL. Patroni brings it back as a standby."""
        send_signal(self.server(), signal.SIGKILL)
        return lambda: None

    def freeze(self):
        """Stops all processes of the host. The kernel still accepts connections, and no process answers."""
        # The postmaster first, so that it makes no further children.
        stopped = [self.patroni.pid, *self.server()]
        send_signal(stopped, signal.SIGSTOP)
        return lambda: send_signal(stopped, signal.SIGCONT)

    def partition(self):
        """Cuts the host off from clients, standbys and etcd. Its processes run on."""
        self.proxy.send_signal(signal.SIGSTOP)
        return lambda: self.proxy.send_signal(signal.SIGCONT)

    def restart(self):
        """Restarts PostgreSQL as an administrator does."""
        status, _ = self.ask("POST", "/restart", timeout=60)
        if status not in (200, 202):
            fail(f"Patroni of {self.name} answered {status} to a restart; see its log with --keep-logs")
        return lambda: None


class Cluster:
    """Three members, their etcd, and a probe that commits to the primary."""

    def __init__(self, session, programs, count=3):
        self.session, self.programs = session, programs
        etcd, peer = session.free_port(), session.free_port()
        client, peers = f"http://{HOST}:{etcd}", f"http://{HOST}:{peer}"
        session.spawn("etcd", [
            find_program("etcd"), "--enable-v2", "--data-dir", session.make_folder("etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}"])
        # Patroni ends if etcd has no version of its cluster yet.
        wait_until(lambda: self.etcd_version(etcd), 30, "etcd was not ready")
        self.members = [Member(session, f"member{number}", programs, etcd) for number in range(1, count + 1)]
        for member in self.members:
            member.start()
        say("starting three PostgreSQL members under Patroni")
        try:
            self.wait_healthy(90)
        except TimeoutError as error:
            fail(f"{error}; the log of {self.members[0].name} ends with:\n{session.log_tail(self.members[0].name)}")

    @staticmethod
    def etcd_version(port):
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}/version", timeout=2) as answer:
                return json.load(answer)["etcdcluster"] != "not_decided"
        except OSError:
            return False

    def dsn(self, database, session_attributes="read-write"):
        hosts = ",".join(f"{HOST}:{member.port}" for member in self.members)
        return f"postgres://postgres@{hosts}/{database}?target_session_attrs={session_attributes}"

    def primary(self):
        """The member that holds the lease and answers, or nothing."""
        return next((member for member in self.members if member.ask("GET", "/primary", timeout=1)[0] == 200), None)

    def is_healthy(self):
        """Whether all standbys follow the primary, one of them synchronously."""
        primary = self.primary()
        if primary is None:
            return None
        try:
            rows = query(primary.own_port, "SELECT state, sync_state FROM pg_stat_replication", timeout=2)
        except (OSError, DatabaseError):
            return None
        following = [sync for state, sync in rows if state == "streaming"]
        return primary if len(following) == len(self.members) - 1 and "sync" in following else None

    def wait_healthy(self, timeout=90):
        try:
            return wait_until(self.is_healthy, timeout / 3, "")
        except TimeoutError:
            self.replace_lost_members()
        return wait_until(self.is_healthy, timeout * 2 // 3, "the cluster had no primary with its standbys")

    def replace_lost_members(self):
        """Replaces members that do not follow the primary: a Patroni that was cut off may start two servers and lose track of one."""
        primary = self.primary()
        if primary is None:
            return
        rows = query(primary.own_port, "SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'", timeout=2)
        for member in self.members:
            if member is not primary and (member.name,) not in rows:
                say(f"{member.name} does not follow the primary; it is replaced by a new one")
                member.replace()

    def sql(self, text, database="postgres"):
        """Runs a statement on the primary."""
        return query(self.wait_healthy().own_port, text, database, timeout=30)


class Probe:
    """Commits to whichever member accepts it, through the members' proxies, as a client of the cluster does: the yardstick of a failover."""

    PAUSE = 0.05

    def __init__(self, cluster):
        self.commits, self.failures, self.stopped = [], [], threading.Event()
        cluster.sql("CREATE TABLE beat AS SELECT 0 AS number")
        for member in cluster.members:
            threading.Thread(target=self.watch, args=(member,), daemon=True).start()
        cluster.session.stack.callback(self.stopped.set)

    def watch(self, member):
        connection = None
        while not self.stopped.wait(self.PAUSE):
            start = time.monotonic()
            try:
                connection = connection or Connection(member.port, timeout=1)
                if connection.query("SELECT pg_is_in_recovery()") == [("f",)]:
                    connection.query("UPDATE beat SET number = number + 1")
                    self.commits.append((start, time.monotonic(), member.name))
            except (OSError, DatabaseError):
                self.failures.append((time.monotonic(), member.name))
                if connection:
                    connection.close()
                connection = None

    def first_commit(self, since, without=None):
        """When the first transaction that began after `since` was committed, on any member but `without`."""
        return next((end for start, end, name in list(self.commits) if start > since and name != without), None)

    def first_failure(self, since, member):
        return next((at for at, name in list(self.failures) if at > since and name == member), None)
