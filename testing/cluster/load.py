"""A steady load of sign-ins, refreshes, queries and writes, and a ledger of what the service acknowledged."""

import concurrent.futures
import datetime
import random
import threading
import time

from processes import wait_until
from service import ACCOUNTS, COUNTERS, FACTS, SATELLITES, NoAnswer

# New requests start at these intervals, however long the earlier ones take, up to MAX_PENDING of a stream.
INTERVAL, SIGN_IN_INTERVAL = 0.25, 0.4
MAX_PENDING = 40
MAX_GRANTS = 60
# An honest answer while the database is away.
UNAVAILABLE = (503, 504)


class Ledger:
    """What the service acknowledged, what is in doubt because no answer came, and the faults."""

    def __init__(self):
        self.lock = threading.Lock()
        self.faults = {"lost": [], "double": [], "wrong": []}
        self.pairs, self.pairs_in_doubt = set(), set()
        self.counted = {number: 0 for number in range(1, COUNTERS + 1)}
        self.counts_in_doubt = dict(self.counted)
        self.sign_ins = self.sign_ins_in_doubt = self.refreshes = 0

    def note(self, kind, text):
        """Notes a fault with its time, by which it can be found in the logs."""
        with self.lock:
            self.faults[kind].append(f"{datetime.datetime.now(datetime.timezone.utc):%H:%M:%S.%f} {text}")

    def totals(self):
        with self.lock:
            return {kind: len(texts) for kind, texts in self.faults.items()}

    def add(self, name, amount=1):
        with self.lock:
            setattr(self, name, getattr(self, name) + amount)


class Grant:
    """A person who signed in: the current refresh token, and the successor of each earlier one."""

    def __init__(self, client, tokens):
        self.client, self.first = client, tokens["refresh_token"]
        self.token, self.access_token = tokens["refresh_token"], tokens["access_token"]
        self.successors, self.in_doubt, self.rotated = {}, False, None

    def refresh(self, ledger, request):
        """Presents the current token. Returns whether an answer came with its successor."""
        presented = self.token
        try:
            status, answer = request(presented)
        except NoAnswer:
            self.in_doubt = True
            return False
        if status == 200:
            self.accept(ledger, presented, answer)
            return True
        if status in UNAVAILABLE:
            self.in_doubt = True
        elif status == 400:
            ledger.note("lost", f"a refresh token of {self.client.name} got {answer}{' after an answer was lost' if self.in_doubt else ''}")
            self.token = None
        else:
            ledger.note("wrong", f"a refresh at {self.client.name} got {status} {answer}")
        return False

    def accept(self, ledger, presented, answer):
        successor = answer["refresh_token"]
        if self.successors.setdefault(presented, successor) != successor:
            ledger.note("double", f"a refresh token of {self.client.name} has two successors")
        self.rotated = self.rotated or time.monotonic()
        self.token, self.access_token, self.in_doubt = successor, answer["access_token"], False
        ledger.add("refreshes")


class Stream:
    """One kind of request to one process."""

    def __init__(self, name, task, interval=INTERVAL):
        self.name, self.task, self.interval = name, task, interval
        self.records, self.pending, self.next = [], 0, 0.0

    def first_success(self, since):
        """When the first request that succeeded after `since` did so."""
        return min((end for _, end, good in list(self.records) if good and end >= since), default=None)

    def succeeded_between(self, since, until):
        return any(good and since < start and end < until for start, end, good in list(self.records))

    def last_failure(self, since):
        return max((end for start, end, good in list(self.records) if not good and start > since), default=None)

    def failures(self, since):
        return sum(1 for start, _, good in list(self.records) if not good and start > since)


class Load:
    def __init__(self, service, seed):
        self.service, self.ledger, self.random = service, Ledger(), random.Random(seed)
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=512)
        self.lock, self.running, self.stopped = threading.Lock(), threading.Event(), threading.Event()
        self.number = 0
        self.grants = {client.name: [] for client in service.clients}
        self.readers = {}
        self.streams = [Stream("sign-in", self.sign_in, SIGN_IN_INTERVAL), Stream("refresh at the hubs", self.refresh_at_hub)]
        for index, client in enumerate(service.clients):
            self.streams += [
                Stream(f"refresh at {client.name}", lambda client=client: self.refresh(client, client.refresh_at_satellite)),
                Stream(f"query at {client.name}", lambda client=client: self.query(client)),
                Stream(f"create at {client.name}", lambda client=client, index=index: self.create(client, index)),
                Stream(f"update at {client.name}", lambda client=client, index=index: self.update(client, index)),
            ]

    def start(self, people):
        """Signs people in at each satellite, and starts the load."""
        for client in self.service.clients:
            self.readers[client.name] = self.signed_in(client).access_token
            for _ in range(people):
                self.grants[client.name].append(self.signed_in(client))
        self.service.session.stack.callback(self.stop)
        self.running.set()
        threading.Thread(target=self.schedule, daemon=True).start()

    def signed_in(self, client):
        status, answer = client.sign_in(ACCOUNTS[0])
        if status != 200:
            raise RuntimeError(f"the first sign-in at {client.name} got {status} {answer}")
        self.ledger.add("sign_ins")
        return Grant(client, answer)

    def stop(self):
        self.stopped.set()
        self.running.clear()
        self.pool.shutdown(wait=False, cancel_futures=True)

    def pause(self):
        """Starts no further requests, and waits for the pending ones."""
        self.running.clear()
        wait_until(lambda: all(stream.pending == 0 for stream in self.streams), 30, "the pending requests did not end")

    def resume(self):
        self.running.set()

    def schedule(self):
        while not self.stopped.wait(0.01):
            now = time.monotonic()
            for stream in self.streams:
                if self.running.is_set() and now >= stream.next and stream.pending < MAX_PENDING:
                    stream.next = now + stream.interval
                    with self.lock:
                        stream.pending += 1
                    self.pool.submit(self.run, stream)

    def run(self, stream):
        start = time.monotonic()
        good = None
        try:
            good = stream.task()
        except NoAnswer:
            good = False
        except Exception as error:  # A fault of an answer's form is a wrong answer.
            self.ledger.note("wrong", f"{stream.name}: {type(error).__name__} {error}")
        finally:
            if good is not None:
                stream.records.append((start, time.monotonic(), good))
            with self.lock:
                stream.pending -= 1

    def judge(self, what, status, answer):
        """Notes an answer that is neither a success nor an honest refusal."""
        if status not in UNAVAILABLE:
            self.ledger.note("wrong", f"{what} got {status} {str(answer)[:200]}")
        return False

    # Sign-ins and refreshes.

    def sign_in(self):
        client = self.random.choice(self.service.clients)
        try:
            status, answer = client.sign_in(self.random.choice(ACCOUNTS))
        except NoAnswer:
            self.ledger.add("sign_ins_in_doubt")
            raise
        if status != 200:
            self.ledger.add("sign_ins_in_doubt")
            # An outage leaves attempts without an outcome, and these count as failures for a while.
            return False if status == 429 else self.judge("a sign-in", status, answer)
        self.ledger.add("sign_ins")
        with self.lock:
            grants = self.grants[client.name]
            grants.append(Grant(client, answer))
            if len(grants) > MAX_GRANTS:
                grants.pop(0)
        return True

    def take_grant(self, client):
        """A grant that no other request uses. One in doubt comes first, as an app repeats its refresh."""
        with self.lock:
            grants = self.grants[client.name]
            if not grants:
                return None
            index = next((index for index, grant in enumerate(grants) if grant.in_doubt), None)
            return grants.pop(self.random.randrange(len(grants)) if index is None else index)

    def return_grant(self, grant):
        if grant.token:
            with self.lock:
                self.grants[grant.client.name].append(grant)

    def refresh_at_hub(self):
        client = self.random.choice(self.service.clients)
        return self.refresh(client, client.refresh_at_hub)

    def refresh(self, client, request):
        grant = self.take_grant(client)
        if grant is None:
            return None
        try:
            if self.random.random() < 0.15:
                return self.refresh_twice(grant)
            return grant.refresh(self.ledger, request)
        finally:
            self.return_grant(grant)

    def refresh_twice(self, grant):
        """Two tabs present one token at the same time. Both get the same successor."""
        presented, answers = grant.token, []

        def present(request):
            try:
                answers.append(request(presented))
            except NoAnswer:
                answers.append((None, None))

        requests = (grant.client.refresh_at_hub, grant.client.refresh_at_satellite)
        tabs = [threading.Thread(target=present, args=(request,)) for request in requests]
        for tab in tabs:
            tab.start()
        for tab in tabs:
            tab.join()
        good = [answer for status, answer in answers if status == 200]
        for answer in good:
            grant.accept(self.ledger, presented, answer)
        for status, answer in answers:
            if status == 400:
                self.ledger.note("lost", f"one of two tabs of {grant.client.name} got {answer}")
                grant.token = None
            elif status not in (None, 200):
                self.judge("a refresh of two tabs", status, answer)
        grant.in_doubt = grant.in_doubt or not good
        return len(good) == 2

    # Queries and writes.

    def query(self, client):
        first = self.random.randrange(1, len(FACTS) - 20)
        body = {"query": {"where": {"id": {"gte": first}}, "order": [{"field": "id"}], "limit": 20}}
        status, answer = client.ask("/api/shop/facts/paginate", body, self.readers[client.name])
        if status != 200:
            return self.judge(f"a query at {client.name}", status, answer)
        expected = FACTS[first - 1:first + 19]
        if answer.get("rows") != expected or answer.get("total") != len(FACTS) - first + 1:
            self.ledger.note("wrong", f"a query at {client.name} from {first} on got {str(answer)[:300]}")
        return True

    def create(self, client, index):
        with self.lock:
            self.number += 1
            pair = self.number
        rows = [{"id": pair * 2, "pair": pair}, {"id": pair * 2 + 1, "pair": pair}]
        with self.ledger.lock:
            self.ledger.pairs_in_doubt.add(pair)
        status, answer = client.ask("/api/shop/entries/create", {"payload": rows}, self.readers[client.name])
        if status != 201:
            return self.judge(f"a create at {client.name}", status, answer)
        with self.ledger.lock:
            self.ledger.pairs_in_doubt.discard(pair)
            self.ledger.pairs.add(pair)
        if index == 0:
            # This satellite has no standby to read from, so it must show its own write.
            self.read_back(client, pair)
        return True

    def read_back(self, client, pair):
        body = {"query": {"where": {"pair": {"eq": pair}}, "order": [{"field": "id"}]}}
        status, answer = client.ask("/api/shop/entries/list", body, self.readers[client.name])
        if status != 200:
            self.judge(f"a read of a new pair at {client.name}", status, answer)
        elif [row["id"] for row in answer] != [pair * 2, pair * 2 + 1]:
            self.ledger.note("wrong", f"{client.name} acknowledged pair {pair} and then showed {answer}")

    def update(self, client, index):
        # Each satellite has its own counters.
        counter = 1 + index + SATELLITES * self.random.randrange(COUNTERS // SATELLITES)
        with self.ledger.lock:
            self.ledger.counts_in_doubt[counter] += 1
        status, answer = client.ask(f"/api/shop/counters/update/{counter}", {"increment": {"value": 1}}, self.readers[client.name])
        if status != 200:
            return self.judge(f"an update at {client.name}", status, answer)
        with self.ledger.lock:
            self.ledger.counts_in_doubt[counter] -= 1
            self.ledger.counted[counter] += 1
        return True
