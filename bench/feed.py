"""Many streams of a hub's change feed: what they cost, and how long a change takes to reach all of them."""

import asyncio
import os
import time
import urllib.parse
from pathlib import Path

from harness import fail, resident, say
from hub_traffic import basic

TICK = os.sysconf("SC_CLK_TCK")

CLIENTS = """
    INSERT INTO peristyle.client (id, name, secret_hash, redirect, grants, access_token_seconds, refresh_token_seconds, app_id, created_at, updated_at)
    SELECT 'satellite' || n, 'Satellite ' || n, secret_hash, redirect, grants, access_token_seconds, refresh_token_seconds, app_id, now(), now()
    FROM peristyle.client, generate_series(0, {last}) AS n WHERE id = 'bench' ON CONFLICT DO NOTHING;
"""
FAMILY = """
    INSERT INTO peristyle.family (id, client_id, account_id, authenticated_at, created_at)
    SELECT md5('feed')::uuid, 'satellite0', id, now(), now() FROM peristyle.account WHERE username = 'first' ON CONFLICT DO NOTHING;
"""
# A change as the hub stores it: of everybody, or of one family of the first client.
EVERYBODY = "'claims', NULL, NULL"
ONE_FAMILY = "'revoked', account_id, id FROM peristyle.family WHERE id = md5('feed')::uuid"
CHANGE = """
    BEGIN;
    UPDATE peristyle.change_number SET last = last + 1;
    INSERT INTO peristyle.account_change (sequence, kind, account_id, family_id) SELECT (SELECT last FROM peristyle.change_number), {subject};
    COMMIT;
    SELECT extract(epoch FROM clock_timestamp());
"""


def cpu_seconds(pid):
    """The processor time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / TICK


def postgres_cpu_seconds(cluster):
    """The processor time of a PostgreSQL server and of all its processes."""
    server = int((cluster.data / "postmaster.pid").read_text().splitlines()[0])
    total = cpu_seconds(server)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == server:
                total += sum(int(field) for field in fields[11:13]) / TICK
    return total


class Streams:
    """Open streams, one of each client, and when each received its last change."""

    def __init__(self, hub):
        self.hub, self.address = hub, urllib.parse.urlsplit(hub.url)
        self.received, self.tasks, self.bytes = {}, [], 0

    async def open(self, number):
        reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port)
        authorization = basic(f"satellite{number}", self.hub.secret)
        writer.write(f"GET /events HTTP/1.1\r\nhost: {self.address.netloc}\r\nauthorization: {authorization}\r\n\r\n".encode())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        if b" 200 " not in head.split(b"\r\n")[0]:
            fail(f"stream {number}: {head.splitlines()[0].decode()}")
        self.tasks.append(asyncio.create_task(self.read(number, reader, writer)))

    async def read(self, number, reader, writer):
        try:
            while data := await reader.read(65536):
                self.bytes += len(data)
                if b"event: secevent" in data:
                    self.received[number] = time.time()
        finally:
            writer.close()

    async def close(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


async def change(streams, subject, wanted):
    """Stores a change and returns the seconds from its commit to each stream that must receive it."""
    streams.received.clear()
    cluster = streams.hub.cluster
    output = await asyncio.to_thread(
        cluster.output, "psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", CHANGE.format(subject=subject), streams.hub.database)
    committed = float(output.split()[-1])
    deadline = time.monotonic() + 120
    while len(streams.received) < wanted:
        if time.monotonic() > deadline:
            fail(f"{len(streams.received)} of {wanted} streams received the change within 120 s")
        await asyncio.sleep(0.005)
    return [at - committed for at in streams.received.values()]


async def measure(hub, count, changes):
    hub.sql(CLIENTS.format(last=count - 1) + FAMILY)
    process, cluster = hub.process, hub.cluster
    memory = resident(process)
    streams = Streams(hub)
    cpu, database, start = cpu_seconds(process.pid), postgres_cpu_seconds(cluster), time.monotonic()
    await asyncio.gather(*(streams.open(number) for number in range(count)))
    opened = {
        "seconds": time.monotonic() - start,
        "hub_us": (cpu_seconds(process.pid) - cpu) / count * 1e6,
        "database_us": (postgres_cpu_seconds(cluster) - database) / count * 1e6,
    }
    say(f"opened {count} streams in {opened['seconds']:.2f} s")
    await asyncio.sleep(2)
    grown = resident(process) - memory
    cpu, database, sent, start = cpu_seconds(process.pid), postgres_cpu_seconds(cluster), streams.bytes, time.monotonic()
    await asyncio.sleep(30)
    seconds = time.monotonic() - start
    idle = {
        "hub_cores": (cpu_seconds(process.pid) - cpu) / seconds,
        "database_cores": (postgres_cpu_seconds(cluster) - database) / seconds,
        "bytes_a_second": (streams.bytes - sent) / seconds,
    }
    one = [delay for _ in range(changes) for delay in await change(streams, ONE_FAMILY, 1)]
    cpu, everybody, sent = cpu_seconds(process.pid), [], streams.bytes
    for _ in range(changes):
        everybody.append(await change(streams, EVERYBODY, count))
    signed = (cpu_seconds(process.pid) - cpu) / changes / count
    result = {
        "streams": count,
        "opened": opened,
        "bytes_per_stream": grown / count,
        "idle": idle,
        "one_client_ms": [percentile(one, share) * 1e3 for share in (0.5, 0.99)],
        "everybody_last_ms": [percentile([max(delays) for delays in everybody], share) * 1e3 for share in (0.5, 0.99)],
        "everybody_hub_us_per_stream": signed * 1e6,
        "everybody_bytes_per_stream": (streams.bytes - sent) / changes / count,
    }
    return result, streams


def run(hub, count, changes, then):
    """Measures the streams, and runs another measurement while they are open."""
    async def all_of_it():
        result, streams = await measure(hub, count, changes)
        result["refused"] = await asyncio.to_thread(then)
        await streams.close()
        return result

    return asyncio.run(all_of_it())
