"""Fills the tables of a hub with many accounts, and measures the tables and their indexes."""

import fcntl
import hashlib
import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

from harness import SETTINGS, Cluster, fail, free_port, owner, say, scratch
from hub import PASSWORD

BATCH = 200_000
# Beyond this number the indexes are built after the fill, as full as random inserts leave them.
MAX_INDEXED = 2_000_000
FILL_FACTOR = 70
MIN_FREE_BYTES = 8 * 1024**3
CLIENTS = 100
WORKERS = 2
# After the changes that the hub itself stored.
FIRST_CHANGE = 1000

# Rows of each table for one account. Most accounts of a large hub are dormant: they have no session and no grant.
SHARES = {
    "account": 1, "credential": 1, "account_role": 1, "account_tenant": 0.1, "app_account": 0.2, "familiar": 0.1, "session": 0.02,
    "family": 0.1, "refresh_token": 0.3, "code": 0.05, "event": 0.25, "account_change": 0.01,
}

# Ids are computed from the number of the account, so that no insert needs a join.
ACCOUNT = "md5('account' || n)::uuid"
FAMILY = "md5('family' || n)::uuid"
SESSION = "md5('session' || n)::uuid"

PREPARE = f"""
    INSERT INTO peristyle.client (id, name, secret_hash, redirect, grants, access_token_seconds, refresh_token_seconds, app_id, created_at, updated_at)
    SELECT 'client' || n, 'Client ' || n, secret_hash, redirect, grants, access_token_seconds, refresh_token_seconds, app_id, now(), now()
    FROM peristyle.client, generate_series(0, {CLIENTS - 1}) AS n WHERE id = 'bench';
    CREATE TABLE public.template AS SELECT f.d_permissions, k.hash
    FROM peristyle.account f JOIN peristyle.credential k ON k.account_id = f.id WHERE f.username = 'template';
    INSERT INTO peristyle.tenant (id, code, name, created_at, updated_at)
    SELECT md5('tenant' || n)::uuid, 'tenant' || n, 'Tenant ' || n, now(), now() FROM generate_series(0, 9999) AS n;
"""

# As a hub writes them: rows in the order of time, keys that are random. The foreign keys hold and are not checked again.
FILL = f"""
    SET session_replication_role = replica;
    INSERT INTO peristyle.account (id, type, code, email, email_key, username, username_key, d_permissions, d_tenants, created_at, updated_at)
    SELECT {ACCOUNT}, 'USER', 'account' || n, 'person.' || n || '@example' || n % 1000 || '.com', 'person.' || n || '@example' || n % 1000 || '.com',
           'person' || n, 'person' || n, f.d_permissions,
           CASE WHEN n % 10 = 0 THEN ARRAY[md5('tenant' || n % 10000)::uuid] ELSE '{{}}' END, now() - interval '400 days', now() - interval '400 days'
    FROM generate_series(:first, :last) AS n, public.template f;
    INSERT INTO peristyle.credential (account_id, hash, changed_at)
    SELECT {ACCOUNT}, f.hash, now() - interval '400 days' FROM generate_series(:first, :last) AS n, public.template f;
    INSERT INTO peristyle.account_role (account_id, role_id)
    SELECT {ACCOUNT}, r.id FROM generate_series(:first, :last) AS n, peristyle.role r WHERE r.name = 'visitor';
    INSERT INTO peristyle.account_tenant (account_id, tenant_id)
    SELECT {ACCOUNT}, md5('tenant' || n % 10000)::uuid FROM generate_series(:first, :last) AS n WHERE n % 10 = 0;
    INSERT INTO peristyle.app_account (id, app_id, account_id, first_used_at, last_used_at, created_at)
    SELECT gen_random_uuid(), c.app_id, {ACCOUNT}, now() - interval '300 days', now() - interval '1 day', now() - interval '300 days'
    FROM generate_series(:first, :last) AS n, peristyle.client c WHERE c.id = 'bench' AND n % 10 < 2;
    INSERT INTO peristyle.familiar (account_id, address, last_used_at)
    SELECT {ACCOUNT}, '203.0.' || n % 200 || '.' || n % 250, now() - interval '1 day' FROM generate_series(:first, :last) AS n WHERE n % 10 = 0;
    INSERT INTO peristyle.session (id, account_id, device, address, authenticated_at, last_used_at, expires_at)
    SELECT {SESSION}, {ACCOUNT}, 'Firefox 140 on Linux', '203.0.' || n % 200 || '.' || n % 250, now() - interval '1 hour', now() - interval '1 hour',
           now() + interval '7 hours'
    FROM generate_series(:first, :last) AS n WHERE n % 50 = 0;
    INSERT INTO peristyle.family (id, client_id, account_id, session_id, scope, authenticated_at, created_at, begun_by)
    SELECT {FAMILY}, 'client' || n / 10 % {CLIENTS}, {ACCOUNT}, {SESSION}, 'openid', now() - interval '2 days', now() - interval '2 days', 'authorization_code'
    FROM generate_series(:first, :last) AS n WHERE n % 10 = 0;
    INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at, used_at, sealed_successor)
    SELECT sha256((md5('token' || n || '.' || k) || 'AAAAAAAAAAA')::bytea), {FAMILY}, now() - interval '2 days', now() + interval '28 days' + n % 1000 * interval '1 minute',
           CASE WHEN k < 3 THEN now() - interval '1 day' END, CASE WHEN k < 3 THEN substr(decode(repeat(md5(n::text), 4), 'hex'), 1, 60) END
    FROM generate_series(:first, :last) AS n, generate_series(1, 3) AS k WHERE n % 10 = 0;
    INSERT INTO peristyle.code (hash, client_id, account_id, session_id, redirect, challenge, scope, nonce, authenticated_at, expires_at, used_by)
    SELECT sha256(('code' || n)::bytea), 'client' || n / 10 % {CLIENTS}, {ACCOUNT}, {SESSION}, 'https://shop.example.com/callback', md5('a' || n) || substr(md5('b' || n), 1, 11),
           'openid', md5('nonce' || n), now() - interval '2 days', now() - interval '2 days', {FAMILY}
    FROM generate_series(:first, :last) AS n WHERE n % 20 = 0;
    INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail)
    SELECT now() - interval '300 days' + n * interval '2 seconds', 'grant.refreshed', {ACCOUNT}, 'client' || n / 10 % {CLIENTS},
           '203.0.' || n % 200 || '.' || n % 250,
           jsonb_build_object('account', {ACCOUNT}, 'client', 'client' || n / 10 % {CLIENTS}, 'grant', 'refresh_token', 'family', {FAMILY})
    FROM generate_series(:first, :last) AS n WHERE n % 4 = 0;
    INSERT INTO peristyle.account_change (sequence, at, kind, account_id, family_id)
    SELECT {FIRST_CHANGE} + n / 100, now() - interval '12 hours', 'revoked', {ACCOUNT}, {FAMILY} FROM generate_series(:first, :last) AS n WHERE n % 100 = 0;
"""

# Updates that changed no index, of all updates of a table.
UPDATES = """
    SELECT json_build_object('updates', n_tup_upd, 'hot', n_tup_hot_upd) FROM pg_stat_user_tables
    WHERE schemaname = 'peristyle' AND relname = 'refresh_token'
"""

PAUSE_INDEXES = """
    UPDATE pg_index SET indisready = false, indisvalid = false
    WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'peristyle'::regnamespace AND relname = ANY ('{tables}'));
"""
# An index on a time or a number grows at its end, and stays full.
BUILD_INDEXES = """
    SELECT format('ALTER INDEX peristyle.%I SET (fillfactor = {factor})', i.relname)
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
    WHERE t.relnamespace = 'peristyle'::regnamespace AND t.relname = ANY ('{tables}')
    AND i.relname NOT IN ('event_pkey', 'event_at', 'account_change_pkey', 'account_change_at') \\gexec
    SELECT format('REINDEX TABLE peristyle.%I', relname) FROM pg_class
    WHERE relnamespace = 'peristyle'::regnamespace AND relname = ANY ('{tables}') \\gexec
"""

SIZES = """
    SELECT json_build_object('table', c.relname, 'rows', c.reltuples::bigint, 'heap', pg_table_size(c.oid), 'indexes', pg_indexes_size(c.oid))
    FROM pg_class c WHERE c.relnamespace = 'peristyle'::regnamespace AND c.relkind = 'r' AND c.reltuples > 1000 ORDER BY pg_total_relation_size(c.oid) DESC
"""

INDEXES = """
    SELECT json_build_object('index', i.relname, 'table', t.relname, 'bytes', pg_relation_size(i.oid), 'entries', i.reltuples::bigint,
                             'levels', (SELECT level + 1 FROM public.bt_metap('peristyle.' || i.relname)))
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
    WHERE i.relnamespace = 'peristyle'::regnamespace AND t.reltuples > 1000 ORDER BY pg_relation_size(i.oid) DESC
"""


class EmptyCluster(Cluster):
    """A private PostgreSQL without the shop. Its folder is removed at the end."""

    def __init__(self, stack, settings=None):
        self.settings = {**SETTINGS, **(settings or {})}
        self.folder = scratch() / "scale"
        self.folder.mkdir(exist_ok=True)
        os.chown(self.folder, *owner())
        lock = stack.enter_context(open(self.folder / "lock", "w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fail(f"another run uses {self.folder}")
        stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.data, self.port = self.folder / "data", free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        self.create()
        self.start(stack)


def free_bytes(cluster):
    return shutil.disk_usage(cluster.folder).free


def fill(hub, count, minutes):
    """Inserts so many accounts in batches, or as many as the time and the disk allow. Returns their number."""
    hub.command("role", "add", "--name", "visitor", "--permission", "shop.thing0.get", "--permission", "shop.thing1.get")
    hub.command("account", "add", "--username", "template", "--role", "visitor", "--password-stdin", stdin=PASSWORD)
    hub.sql("CREATE EXTENSION IF NOT EXISTS pageinspect SCHEMA public;" + PREPARE)
    tables = "{" + ",".join(SHARES) + "}"
    if count > MAX_INDEXED:
        hub.sql(PAUSE_INDEXES.format(tables=tables))
    start, free, done = time.monotonic(), free_bytes(hub.cluster), 0
    with ThreadPoolExecutor(WORKERS) as workers:
        for first in range(1, count + 1, BATCH * WORKERS):
            batches = [(number, min(number + BATCH - 1, count)) for number in range(first, min(first + BATCH * WORKERS, count + 1), BATCH)]
            list(workers.map(lambda batch: hub.sql(f"\\set first {batch[0]}\n\\set last {batch[1]}\n{FILL}"), batches))
            done = batches[-1][1]
            say(f"{done:,} of {count:,} accounts, {time.monotonic() - start:.0f} s, {free_bytes(hub.cluster) / 1024**3:.1f} GiB free")
            # Indexes that are built later take more than half as much again.
            later = (free - free_bytes(hub.cluster)) * 0.6 if count > MAX_INDEXED else 0
            if free_bytes(hub.cluster) < MIN_FREE_BYTES + later or time.monotonic() - start > minutes * 60:
                say(f"stopped at {done:,} accounts, by the time or the disk")
                break
    hub.sql("UPDATE peristyle.change_number SET last = (SELECT max(sequence) FROM peristyle.account_change);")
    if count > MAX_INDEXED:
        say("building the indexes")
        for table in SHARES:
            hub.sql(BUILD_INDEXES.format(tables="{" + table + "}", factor=FILL_FACTOR))
    # As autovacuum does after so many rows.
    hub.sql("VACUUM (ANALYZE);")
    hub.sql("CHECKPOINT;")
    return done


def lines(hub, sql):
    text = hub.cluster.output("psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, hub.database)
    return [json.loads(line) for line in text.splitlines() if line]


def stored_token(number):
    """The client and the live refresh token of an account with a number that ends in 0."""
    return f"client{number // 10 % CLIENTS}", hashlib.md5(f"token{number}.3".encode()).hexdigest() + "AAAAAAAAAAA"


def updates(hub):
    """The updates of refresh tokens so far. PostgreSQL counts them a second later."""
    time.sleep(2)
    return lines(hub, UPDATES)[0]


def sizes(hub):
    return {"tables": lines(hub, SIZES), "indexes": lines(hub, INDEXES)}
