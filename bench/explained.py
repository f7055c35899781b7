"""The plans of the statements that a hub runs, as PostgreSQL's auto_explain logs them."""

import json
import re
import statistics
import subprocess

SETTINGS = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_format": "json",
}

# What a statement does, by a part of its text. The first match counts.
LABELS = (
    ("FROM peristyle.client c LEFT JOIN (peristyle.account a LEFT JOIN peristyle.credential", "sign-in: client, account and password hash"),
    ("INSERT INTO peristyle.failure AS f", "sign-in: lock the counters of failures"),
    ("UPDATE peristyle.failure SET count = CASE", "sign-in: count the attempt"),
    ("DELETE FROM peristyle.failure WHERE key = $1", "sign-in: clear the counter"),
    ("UPDATE peristyle.failure", "sign-in: decide the attempt"),
    ("INSERT INTO peristyle.familiar", "sign-in: remember the client address"),
    ("SELECT a.d_permissions, a.d_tenants, CAST(NULL AS uuid)", "grant: compare rights with roles"),
    ("WITH used AS (UPDATE peristyle.refresh_token", "refresh: rotate the token"),
    ("FROM peristyle.client c LEFT JOIN (peristyle.refresh_token t", "refresh: client, token, family, account"),
    ("WITH holder AS", "code: redeem"),
    ("FROM peristyle.client c LEFT JOIN (peristyle.code o", "code: client, code, account"),
    ("INSERT INTO peristyle.family", "grant: begin a family"),
    ("INSERT INTO peristyle.refresh_token", "grant: first refresh token"),
    ("INSERT INTO peristyle.app_account", "grant: use of the app"),
    ("INSERT INTO peristyle.event", "audit log: append"),
    ("c.administers FROM peristyle.family f JOIN", "account of an access token"),
    ("INSERT INTO peristyle.session", "session: begin"),
    ("FROM peristyle.session s JOIN peristyle.account a", "session: read with its account"),
    ("count(*) OVER () FROM peristyle.session s", "session: list of an account"),
    ("UPDATE peristyle.session SET ended_at", "revocation: end sessions"),
    ("UPDATE peristyle.family SET ended_at", "revocation: end families"),
    ("UPDATE peristyle.change_number", "change feed: next number"),
    ("INSERT INTO peristyle.account_change", "change feed: store a change"),
    ("FROM peristyle.account_change WHERE sequence > $1", "change feed: poll"),
    ("SELECT account_id, client_id FROM peristyle.family", "change feed: clients of a change"),
    ("coalesce(min(sequence), last + 1)", "change feed: range"),
    ("SELECT 1 FROM peristyle.account WHERE deleted_at IS NULL LIMIT 1", "boot: is there an account"),
    ("SELECT count(*) FROM peristyle.account a JOIN peristyle.account_role", "boot: count administrators"),
)
# The statements that read a whole table, as in crates/store/src/hub_records/accounts.rs and purge.rs.
LONG = {
    "purge: code": "DELETE FROM peristyle.code WHERE hash IN (SELECT c.hash FROM peristyle.code c WHERE c.expires_at <= now() "
                   "AND NOT EXISTS (SELECT 1 FROM peristyle.family f WHERE f.id = c.used_by) LIMIT 1000) RETURNING 1",
}
CPU = re.compile(r"([\d.]+) s user, ([\d.]+) s system, ([\d.]+) s elapsed")
PURGE = re.compile(r"DELETE FROM peristyle\.(\w+) WHERE .*SELECT")
ENTRY = re.compile(r"duration: ([\d.]+) ms  plan:\n((?:\t.*\n)+)")


def label(text):
    for part, name in LABELS:
        if part in text:
            return name
    purge = PURGE.match(text)
    if purge:
        return f"purge: {purge.group(1)}"
    return None


def nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def pages(plan, key):
    """The pages of a whole plan. A node counts its children, but not the parts of WITH that change rows."""
    return sum(max(0, node.get(key, 0) - sum(child.get(key, 0) for child in node.get("Plans", []))) for node in nodes(plan))


def sequential(plan):
    """The tables that the plan reads from end to end, with the number of rows read."""
    found = {}
    for node in nodes(plan):
        if node["Node Type"] == "Seq Scan":
            rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            found[node["Relation Name"]] = found.get(node["Relation Name"], 0) + rows
    return found


def read(log, offset):
    """The executions in the log after an offset, by what their statements do."""
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(offset)
        text = file.read()
    executions = {}
    for milliseconds, body in ENTRY.findall(text):
        entry = json.loads(body.replace("\n\t", "\n"))
        name = label(entry["Query Text"])
        if name is None:
            continue
        plan = entry["Plan"]
        executions.setdefault(name, []).append({
            "ms": float(milliseconds),
            "hit": pages(plan, "Shared Hit Blocks"),
            "read": pages(plan, "Shared Read Blocks"),
            "sequential": sequential(plan),
        })
    return executions


def long_statements(hub):
    """The processor time of the long statements, in seconds. Unlike their duration it does not depend on other programs."""
    settings = "SET client_min_messages = log; SET log_executor_stats = on; SET max_parallel_workers_per_gather = 0;"
    result = {}
    for name, sql in LONG.items():
        command = hub.cluster.command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", settings, "-c", "BEGIN", "-c", sql, "-c", "ROLLBACK", hub.database)
        outcome = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600, cwd="/")
        result[name] = max(float(user) + float(system) for user, system, _ in CPU.findall(outcome.stderr))
    return result


def summary(executions):
    """One line for each kind of statement. A table of a thousand rows or fewer may well be read from end to end."""
    result = []
    order = [name for _, name in LABELS]
    for name in sorted(executions, key=lambda name: (order.index(name) if name in order else len(order), name)):
        runs = executions[name]
        scans = {}
        for run in runs:
            for table, rows in run["sequential"].items():
                scans[table] = max(scans.get(table, 0), rows)
        result.append({
            "statement": name,
            "runs": len(runs),
            "ms": statistics.median(run["ms"] for run in runs),
            "max_ms": max(run["ms"] for run in runs),
            "pages": statistics.median(run["hit"] + run["read"] for run in runs),
            "max_pages": max(run["hit"] + run["read"] for run in runs),
            "read": statistics.median(run["read"] for run in runs),
            "sequential": {table: rows for table, rows in scans.items() if rows > 1000},
        })
    return result
