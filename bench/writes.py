"""The workloads of `bench/run` that change rows. The database runs with the settings that PostgreSQL is shipped with for commits and vacuum."""

import contextlib
import itertools
import json
import os
import sqlite3
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from harness import BENCH, Cluster, fail, free_port, load, post, say, scratch, seen, serve, spawn, wait_ready
from rounds import CONNECTIONS, THREADS, alternate, http_round, in_turns, latency, medians, pgbench, pgbench_round, ratio, statement, verdict

# A commit waits for the disk.
SETTINGS = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "autovacuum": "on"}

ROWS, CUSTOMERS, NEW_ROWS = 100_000, 1000, 1000
# Before an update each row is new, and belongs to one of the customers.
FILL = f"""TRUNCATE bench_orders RESTART IDENTITY;
INSERT INTO bench_orders (number, customer_id, status, total)
SELECT 'O-' || n, 1 + n % {CUSTOMERS}, 'new', n % 1000 FROM generate_series(1, {ROWS}) AS n;"""
EMPTY = "TRUNCATE bench_new_orders RESTART IDENTITY;"


class Workload(NamedTuple):
    """A request, in which `$id` is a random number up to `ids`, the number of rows that it changes, and the minimum ratio to the bare loop."""

    title: str
    path: str
    bare_path: str
    target: float
    changes: int = 1
    ids: int = 1
    creates: bool = False


WORKLOADS = {
    "U1": Workload("update of one row by id", "/api/shop/bench-orders/update/$id", "/u1/$id", 0.8, ids=ROWS),
    "U2": Workload("create of one row", "/api/shop/bench-new-orders/create", "/u2", 0.8, creates=True),
    "U3": Workload("create of 1,000 rows", "/api/shop/bench-new-orders/create", "/u3", 0.7, changes=NEW_ROWS, creates=True),
    "U4": Workload("update of 100 rows by query", "/api/shop/bench-orders/update", "/u4", 0.8, changes=ROWS // CUSTOMERS, ids=CUSTOMERS),
}

# U5: W1 beside a steady stream of U1. At least this part of the rate of W1 alone must remain.
READS, READS_PATH, READS_TARGET = "W1", "/api/shop/customers/list", 0.9
WRITES_A_SECOND = 200
# U6: writes a second on SQLite.
SQLITE_TARGET = 2000

TITLES = {name: workload.title for name, workload in WORKLOADS.items()} | {
    "U5": f"{READS} beside {WRITES_A_SECOND} writes a second", "U6": "update and create of one row on SQLite",
}
NAMES = list(TITLES)

# Each round has unique numbers of its own.
NUMBERS = itertools.count(1_000_000, 1_000_000)


def run(binaries, names, options, quiet):
    """Compares the contestants, measures the workloads, and returns their results by name."""
    results = {}
    on_postgres = [name for name in names if name != "U6"]
    if on_postgres:
        with contextlib.ExitStack() as stack:
            cluster = Cluster(stack, SETTINGS)
            cluster.run("psql", "-X", "-q", "-f", "-", cluster.url, stdin=(BENCH / "writes.sql").read_text())
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="peristyle-bench-")))
            with started(binaries, cluster, folder, options) as servers:
                # U5 writes as U1 does.
                compared = [name for name in WORKLOADS if name in names or (name == "U1" and "U5" in names)]
                compare_changes(cluster, compared, folder, *servers)
            # The pages of a new cluster may still wait for the disk, and each commit would wait for them.
            os.sync()
            for name in on_postgres:
                fill(cluster)
                with started(binaries, cluster, folder, options) as servers:
                    measure = measure_reads if name == "U5" else measure_writes
                    results[name] = measure(cluster, name, folder, options, quiet, *servers)
    if "U6" in names:
        results["U6"] = measure_sqlite(binaries, options, quiet)
    return {name: results[name] for name in names}


@contextlib.contextmanager
def started(binaries, cluster, folder, options):
    """Starts Peristyle and the bare loop, and yields their URLs."""
    manifest = folder / "peristyle.toml"
    manifest.write_text((BENCH / "peristyle.toml").read_text() + "\n" + (BENCH / "writes.toml").read_text())
    new_rows = [{"number": f"N-$n-{row}", "customerId": row, "status": "new", "total": f"{row}.50"} for row in range(1, NEW_ROWS + 1)]
    (folder / "u3.json").write_text(json.dumps({"payload": new_rows}))
    ports = free_port(), free_port()
    peristyle, bare = (f"http://127.0.0.1:{port}" for port in ports)
    with contextlib.ExitStack() as stack:
        settings = {"DATABASE_WRITE_POOL": str(options.write_pool)}
        wait_ready(serve(stack, binaries, cluster.url, ports[0], manifest, settings), f"{peristyle}/ready")
        wait_ready(spawn(stack, [binaries / "bare-loop", f"127.0.0.1:{ports[1]}", cluster.url, "writes", options.write_pool]), f"{bare}/ready")
        yield peristyle, bare


def fill(cluster):
    """Gives the tables the rows that each workload begins with."""
    cluster.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", cluster.url, stdin=f"{FILL}\n{EMPTY}\nVACUUM ANALYZE bench_orders;\nCHECKPOINT;")


def table_of(workload):
    return "bench_new_orders" if workload.creates else "bench_orders"


def body_file(name, folder):
    return folder / "u3.json" if name == "U3" else statement(name)


def compare_changes(cluster, names, folder, peristyle, bare):
    """One request must have the same answer and leave the same rows at both servers, and pgbench must change as many rows."""
    for name in names:
        workload = WORKLOADS[name]
        outcomes = []
        for url in (peristyle + workload.path, bare + workload.bare_path):
            fill(cluster)
            body = filled_in(body_file(name, folder).read_text())
            outcomes.append((without_instants(post(filled_in(url), body.encode())), rows_of(cluster, table_of(workload))))
            changed(cluster, name, url)
        if outcomes[0][0] != outcomes[1][0]:
            fail(f"{name}: the bare loop gives another answer: {shortened(outcomes[1][0])} instead of {shortened(outcomes[0][0])}")
        if outcomes[0][1] != outcomes[1][1]:
            fail(f"{name}: the bare loop leaves other rows")
        fill(cluster)
        pgbench(cluster, name, "-c1", "-t1")
        changed(cluster, name, "pgbench")
    say(f"{', '.join(names)}: Peristyle and the bare loop give the same answers and leave the same rows")


def filled_in(text):
    return text.replace("$id", "7").replace("$n", "1")


def without_instants(answer):
    """The database sets `placedAt` to the time of the request."""
    rows = answer["rows"] if "rows" in answer else [answer]
    return answer.get("count"), [{key: value for key, value in row.items() if key != "placedAt"} for row in rows]


def rows_of(cluster, table):
    return cluster.answer(f"SELECT md5(string_agg(concat_ws(',', id, number, customer_id, status, total), ';' ORDER BY id)) FROM {table}")


def changed(cluster, name, what):
    workload = WORKLOADS[name]
    condition = "true" if workload.creates else "status = 'paid'"
    count = int(cluster.answer(f"SELECT count(*) FROM {table_of(workload)} WHERE {condition}"))
    if count != workload.changes:
        fail(f"{name}: {what} changed {count} rows instead of {workload.changes}")


def shortened(value):
    return json.dumps(value)[:300]


def write_load(url, body, ids, seconds, connections=CONNECTIONS, threads=THREADS, rate=None):
    words = ["write", body, ids, next(NUMBERS), threads] + ([rate] if rate else [])
    return load(url, seconds, *words, connections=connections, threads=threads)


def write_round(url, body, ids, seconds):
    return seen(write_load(url, body, ids, seconds), seconds, url)


def measure_writes(cluster, name, folder, options, quiet, peristyle, bare):
    workload, body = WORKLOADS[name], body_file(name, folder)

    def prepare():
        # Otherwise a contestant would find the rows, or the old versions of rows, of the one before.
        cluster.answer(EMPTY if workload.creates else "VACUUM bench_orders")

    result = in_turns(name, options, quiet, {
        "peristyle": lambda seconds: write_round(peristyle + workload.path, body, workload.ids, seconds),
        "bare": lambda seconds: write_round(bare + workload.bare_path, body, workload.ids, seconds),
        "pgbench": lambda seconds: pgbench_round(cluster, name, seconds),
    }, prepare)
    result["met"] = result["to_bare"] >= workload.target
    return result


def measure_reads(cluster, name, folder, options, quiet, peristyle, bare):
    """Reads alone, and beside a steady stream of writes through the same server. pgbench reads and writes without a server."""
    workload, body = WORKLOADS["U1"], body_file("U1", folder)

    def beside(reads, writes):
        def measure(seconds):
            # The stream begins before the reads and ends after them.
            stream = write_load(writes, body, workload.ids, seconds + 2, connections=8, threads=1, rate=WRITES_A_SECOND)
            time.sleep(1)
            result = http_round(reads, READS, seconds)
            return result | {"writes": seen(stream, seconds + 2, writes)["rate"]}
        return measure

    def pgbench_beside(seconds):
        with ThreadPoolExecutor(1) as threads:
            stream = threads.submit(pgbench_round, cluster, "U1", seconds + 2, connections=8, threads=1, rate=WRITES_A_SECOND)
            time.sleep(1)
            result = pgbench_round(cluster, READS, seconds)
            return result | {"writes": stream.result()["rate"]}

    reads, bare_reads = peristyle + READS_PATH, f"{bare}/{READS.lower()}"
    rounds = alternate(name, options, quiet, {
        "alone": lambda seconds: http_round(reads, READS, seconds),
        "beside": beside(reads, peristyle + workload.path),
        "bare_alone": lambda seconds: http_round(bare_reads, READS, seconds),
        "bare_beside": beside(bare_reads, bare + workload.bare_path),
        "pgbench_alone": lambda seconds: pgbench_round(cluster, READS, seconds),
        "pgbench_beside": pgbench_beside,
    }, lambda: cluster.answer("VACUUM bench_orders"))
    left = ratio(rounds, "beside", "alone")
    others = {f"{other}_left": ratio(rounds, f"{other}_beside", f"{other}_alone") for other in ("bare", "pgbench")}
    return medians(rounds) | others | {"left": left, "met": left >= READS_TARGET}


def measure_sqlite(binaries, options, quiet):
    with contextlib.ExitStack() as stack:
        # Beside the cluster, since the folder for temporary files may be in memory.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sqlite-", dir=scratch())))
        file = folder / "orders.db"
        sqlite_orders(file)
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        wait_ready(serve(stack, binaries, f"sqlite://{file}", port, BENCH / "writes.toml"), f"{url}/ready")
        for name in ("U1", "U2"):
            post(filled_in(url + WORKLOADS[name].path), filled_in(statement(name).read_text()).encode())
        with contextlib.closing(sqlite3.connect(file)) as database:
            changed = database.execute("SELECT status, total FROM bench_orders WHERE id = 7").fetchone()
            created = database.execute("SELECT id, number FROM bench_new_orders").fetchall()
            mode = database.execute("PRAGMA journal_mode").fetchone()
        if (changed, created, mode) != (("paid", "1.50"), [(1, "N-1")], ("wal",)):
            fail(f"U6: the file has other rows or another mode than expected: {changed}, {created}, {mode}")
        rounds = alternate("U6", options, quiet, {
            kind: lambda seconds, name=name: write_round(url + WORKLOADS[name].path, statement(name), WORKLOADS[name].ids, seconds)
            for kind, name in (("update", "U1"), ("create", "U2"))
        })
    result = medians(rounds)
    result["met"] = all(result[kind]["rate"] >= SQLITE_TARGET for kind in ("update", "create"))
    return result


def sqlite_orders(file):
    """Creates a SQLite file with the tables of `writes.sql`."""
    columns = """(id INTEGER PRIMARY KEY NOT NULL, number TEXT NOT NULL UNIQUE, customer_id INTEGER NOT NULL, status TEXT NOT NULL,
        total TEXT NOT NULL, placed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')))"""
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.executescript(f"""
            CREATE TABLE bench_orders {columns};
            CREATE TABLE bench_new_orders {columns};
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS})
            INSERT INTO bench_orders (number, customer_id, status, total)
            SELECT 'O-' || n, 1 + n % {CUSTOMERS}, 'new', printf('%d.00', n % 1000) FROM numbers;
            CREATE INDEX bench_orders_customer ON bench_orders (customer_id);
            CREATE INDEX bench_new_orders_customer ON bench_new_orders (customer_id);
        """)
        database.commit()


def tables(results):
    """The tables of the workloads that were measured."""
    found = []
    writes = {name: result for name, result in results.items() if name in WORKLOADS}
    if writes:
        found.append(write_table(writes))
    if "U5" in results:
        found.append(reads_table(results["U5"]))
    if "U6" in results:
        found.append(sqlite_table(results["U6"]))
    return found


def write_table(results):
    lines = [
        "| | Peristyle, req/s | bare loop, req/s | pgbench, tx/s | to bare loop | to pgbench | Peristyle p50 / p99, ms | bare loop p50 / p99, ms |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, result in results.items():
        ours, bare, workload = result["peristyle"], result["bare"], WORKLOADS[name]
        lines.append(
            f"| {name} {workload.title} | {ours['rate']:.0f} | {bare['rate']:.0f} | {result['pgbench']['rate']:.0f} "
            f"| {verdict(result['to_bare'], workload.target)} | {result['to_pgbench']:.2f} | {latency(ours)} | {latency(bare)} |")
    return "\n".join(lines)


def reads_table(result):
    def line(title, alone, beside, left):
        # pgbench prints no latency of a part of its transactions.
        latencies = [latency(result[which]) if "p50" in result[which] else "" for which in (alone, beside)]
        return (f"| {title} | {result[alone]['rate']:.0f} | {result[beside]['rate']:.0f} | {result[beside]['writes']:.0f} | {left} "
                f"| {latencies[0]} | {latencies[1]} |")

    return "\n".join([
        f"| U5 {READS} beside writes | alone, req/s | beside writes, req/s | writes/s | ratio | alone p50 / p99, ms | beside p50 / p99, ms |",
        "|---|---:|---:|---:|---:|---:|---:|",
        line("Peristyle", "alone", "beside", verdict(result["left"], READS_TARGET)),
        line("bare loop", "bare_alone", "bare_beside", f"{result['bare_left']:.2f}"),
        line("pgbench", "pgbench_alone", "pgbench_beside", f"{result['pgbench_left']:.2f}"),
    ])


def sqlite_table(result):
    lines = ["| U6 SQLite | writes/s | p50 / p99, ms |", "|---|---:|---:|"]
    for kind, title in (("update", "update of one row by id"), ("create", "create of one row")):
        lines.append(f"| {title} | {verdict(result[kind]['rate'], SQLITE_TARGET, '.0f')} | {latency(result[kind])} |")
    return "\n".join(lines)
