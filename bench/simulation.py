"""Simulations of a hub with many satellites. Each has its own seeded random numbers, so that every run gives the same figures.

The constants are those of the program; the comments name the files. The costs are figures that `bench/scale rates` and `feed` measured.
"""

import heapq
import random

# crates/server/src/hub/change_feed.rs
POLL_SECONDS = 0.1
# crates/server/src/budget.rs: a quarter of the connections.
MAX_STREAMS = 1024
# crates/server/src/problem/oauth.rs: a satellite waits for this time and a random half of it.
RETRY_AFTER = 30
# crates/server/src/hub/endpoints/events.rs
KEEPALIVE_SECONDS = 10
# crates/server/src/satellite/subscription.rs: a pause is multiplied by a random number from 0.5 to 1, and doubled after each failure.
FIRST_PAUSE, MAX_PAUSE = 0.2, 15
SILENCE_SECONDS = 25
# crates/server/src/satellite/hub_client.rs
HUB_TIMEOUT = 5
# crates/identity/src/freshness.rs
ACCOUNT_SECONDS = 120
KEY_SET_SECONDS = 300
REFETCH_SECONDS = 30
# crates/identity/src/keys/rotation.rs
ANNOUNCED_SECONDS = 300

KEEPALIVE = "id: 1000000\n: still here\n\n"
# Headers of HTTP's chunks, TCP, IP and Ethernet for one small packet, and an empty packet that acknowledges it.
PACKET_BYTES, ACKNOWLEDGEMENT_BYTES = 6 + 66, 66


def spread(values, width=1.0):
    """The largest number of values in one second."""
    counts = {}
    for value in values:
        counts[int(value / width)] = counts.get(int(value / width), 0) + 1
    return max(counts.values(), default=0) / width


class Feed:
    """Satellites that follow the change feed of several hub processes behind a load balancer."""

    def __init__(self, satellites, processes, slots, open_seconds, seed=1):
        self.random = random.Random(seed)
        self.satellites, self.slots, self.open_seconds = satellites, slots, open_seconds
        self.up = [True] * processes
        self.streams = [set() for _ in range(processes)]
        # When the process has worked off the requests that came before.
        self.free_at = [0.0] * processes
        self.pause = [FIRST_PAUSE] * satellites
        self.since = [0.0] * satellites
        self.attempts, self.refused, self.opened_at = [], 0, {}
        self.queue, self.order = [], 0

    def at(self, time, action, *words):
        self.order += 1
        heapq.heappush(self.queue, (time, self.order, action, words))

    def retry(self, now, satellite, retry_after=0):
        self.opened_at.pop(satellite, None)
        if now - self.since[satellite] > MAX_PAUSE:
            self.pause[satellite] = FIRST_PAUSE
        pause = self.pause[satellite]
        wait = pause * (0.5 + 0.5 * self.random.random()) if retry_after < pause else retry_after * (1 + 0.5 * self.random.random())
        self.pause[satellite] = min(self.pause[satellite] * 2, MAX_PAUSE)
        self.at(now + wait, self.attempt, satellite)

    def attempt(self, now, satellite):
        self.attempts.append(now)
        self.since[satellite] = now
        running = [number for number, up in enumerate(self.up) if up]
        if not running:
            self.retry(now, satellite)
            return
        process = self.random.choice(running)
        self.free_at[process] = max(self.free_at[process], now) + self.open_seconds
        answered = self.free_at[process]
        if answered - now > HUB_TIMEOUT:
            self.at(now + HUB_TIMEOUT, self.retry, satellite)
        else:
            self.at(answered, self.answer, satellite, process)

    def answer(self, now, satellite, process):
        if not self.up[process] or len(self.streams[process]) >= self.slots:
            self.refused += 1
            self.retry(now, satellite, RETRY_AFTER)
            return
        self.streams[process].add(satellite)
        self.opened_at[satellite] = now

    def stop(self, now, process):
        self.up[process] = False
        lost, self.streams[process] = sorted(self.streams[process]), set()
        for satellite in lost:
            self.retry(now, satellite)

    def start(self, _now, process):
        self.up[process] = True

    def run(self, until):
        while self.queue and self.queue[0][0] <= until:
            time, _, action, words = heapq.heappop(self.queue)
            action(time, *words)

    def boot(self):
        for satellite in range(self.satellites):
            self.at(self.random.random() * 30, self.attempt, satellite)


def steady(satellites, processes, slots, open_seconds):
    """Ten minutes without changes. The last five count."""
    feed = Feed(satellites, processes, slots, open_seconds)
    feed.boot()
    feed.run(600)
    following = len(feed.opened_at)
    attempts = [time for time in feed.attempts if time >= 300]
    packets = following / KEEPALIVE_SECONDS
    return {
        "satellites": satellites,
        "processes": processes,
        "following": following,
        "attempts_a_second": len(attempts) / 300,
        "keepalives_a_second": packets,
        "bytes_a_second": packets * (len(KEEPALIVE) + PACKET_BYTES + ACKNOWLEDGEMENT_BYTES),
        "key_sets_a_second": satellites / (KEY_SET_SECONDS / 2 * 0.9),
    }


def revocation(satellites, following, processes, sign_seconds, cores, everybody):
    """How long after the commit of a change each satellite knows it, in seconds: a change of one family of its own, or of everybody."""
    chosen = random.Random(2)
    known = []
    # Each process polls on its own, and signs for one stream after the other on each core.
    polls = [chosen.random() * POLL_SECONDS for _ in range(processes)]
    turns = [0] * processes
    for satellite in range(satellites):
        if satellite < following:
            process = satellite % processes
            turns[process] += 1 if everybody else 0
            known.append(polls[process] + max(1, turns[process]) * sign_seconds / cores)
        else:
            # Without the feed: when the cached account is renewed.
            life = ACCOUNT_SECONDS - int(ACCOUNT_SECONDS / 10 * chosen.random())
            known.append(chosen.random() * life)
    known.sort()
    return {"p50": known[len(known) // 2], "p99": known[int(len(known) * 0.99)], "last": known[-1]}


def interruption(satellites, processes, slots, open_seconds, stopped, seconds):
    """Some processes stop and come back. Returns the load on the others, and when every satellite follows again."""
    feed = Feed(satellites, processes, slots, open_seconds)
    feed.boot()
    feed.run(299)
    before = len(feed.opened_at)
    feed.attempts.clear()
    for process in range(stopped):
        feed.at(300, feed.stop, process)
        feed.at(300 + seconds, feed.start, process)
    lost = {}
    for step in range(1, 6000):
        feed.run(300 + step / 10)
        count = len(feed.opened_at)
        for share in (0.5, 0.99, 1):
            if step / 10 > seconds and count >= before * share:
                lost.setdefault(share, step / 10 - seconds)
        if 1 in lost:
            break
    after = [time for time in feed.attempts if time >= 300 + seconds]
    return {
        "following_before": before,
        "peak_attempts_while_down": spread([time for time in feed.attempts if time < 300 + seconds]),
        "peak_attempts_after": spread(after),
        "half_back": lost.get(0.5), "p99_back": lost.get(0.99), "all_back": lost.get(1),
    }


def key_sets(satellites, start_seconds, seconds=3600):
    """Regular fetches of the key set after all satellites started within some seconds: the peak of each half of a cycle."""
    chosen = random.Random(3)
    fetches = []
    for _ in range(satellites):
        time = chosen.random() * start_seconds
        while time < seconds:
            fetches.append(time)
            time += KEY_SET_SECONDS / 2 * (0.8 + 0.2 * chosen.random())
    first = [time for time in fetches if time < start_seconds]
    second = [time for time in fetches if start_seconds <= time < start_seconds + KEY_SET_SECONDS / 2]
    later = [time for time in fetches if time > seconds - 600]
    return {"first_peak": spread(first), "second_peak": spread(second), "later_peak": spread(later), "mean": len(later) / 600}


def rotation(satellites, tokens_a_second, announced):
    """Fetches of the key set by tokens of a new key, and by regular fetches before, if the key was announced."""
    chosen = random.Random(4)
    fetches = []
    for _ in range(satellites):
        # The regular fetch that brings the key, if it comes before the first token.
        regular = chosen.random() * KEY_SET_SECONDS / 2
        if announced and regular <= ANNOUNCED_SECONDS:
            continue
        token = chosen.expovariate(tokens_a_second)
        if token < regular:
            fetches.append(token)
    return {"fetches": len(fetches), "peak": spread(fetches), "first_tenth": spread([time for time in fetches if time < 1], 0.1)}


def herd(satellites, tokens, requests_a_second, lookups_a_second):
    """A change of everybody: each cached account is fetched again at its next request. The hub answers so many lookups a second."""
    chosen = random.Random(5)
    arrivals = sorted(chosen.expovariate(requests_a_second) for _ in range(satellites * tokens))
    free, late, last = 0.0, 0, 0.0
    for arrival in arrivals:
        finish = max(free, arrival) + 1 / lookups_a_second
        if finish - arrival > HUB_TIMEOUT:
            # The satellite gives up, uses the cached account, and asks again later.
            late += 1
            continue
        free = last = finish
    return {
        "tokens": satellites * tokens,
        "steady": satellites * tokens / (ACCOUNT_SECONDS * 0.95),
        "peak": spread(arrivals),
        "late": late / len(arrivals),
        "last": last,
    }


# Bytes of a row with its entries in all indexes, as `bench/scale tables` measured them at a million accounts.
ROW_BYTES = {
    "account": 624, "credential": 198, "account_role": 131, "account_tenant": 136, "app_account": 251, "familiar": 140, "session": 219,
    "family": 280, "refresh_token": 261, "code": 441, "event": 389, "account_change": 124,
}
# crates/store/src/hub_records/purge.rs, crates/identity/src/lifetime.rs, crates/identity/src/session.rs: days until a row is purged.
EVENT_DAYS, FAMILIAR_DAYS, FEED_DAYS = 366, 180, 1
REFRESH_DAYS = 30 + 1
SESSION_DAYS = 8 / 24 + 1


def growth(accounts, active, refreshes):
    """Rows and bytes of each table once purges and inserts balance. Active people sign in once a day to one client, and refresh so often."""
    daily = accounts * active
    rows = {
        "account": accounts, "credential": accounts, "account_role": accounts, "account_tenant": accounts,
        "app_account": accounts, "familiar": daily * 3,
        "session": daily * SESSION_DAYS,
        "family": daily * REFRESH_DAYS,
        # A used code stays as long as its family.
        "code": daily * REFRESH_DAYS,
        # A used token stays until it would have expired.
        "refresh_token": daily * (1 + refreshes) * REFRESH_DAYS,
        # A sign-in, its code and its grant; each refresh; and the end of the session.
        "event": daily * (4 + refreshes) * EVENT_DAYS,
        "account_change": daily * FEED_DAYS,
    }
    return {table: {"rows": count, "bytes": count * ROW_BYTES[table]} for table, count in rows.items()}
