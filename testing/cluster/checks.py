"""Compares what the service acknowledged with what it has after a fault. Nothing else uses the service meanwhile."""

import concurrent.futures
import time

from load import UNAVAILABLE
from service import NoAnswer

# The default of REFRESH_GRACE.
GRACE = 30
MAX_WAIT = 60


def check_all(cluster, service, load):
    """All checks after a round. The load is paused, and the cluster is whole."""
    check_grants(load)
    check_tokens(cluster, load.ledger)
    check_writes(cluster, service.clients[0], load)
    for name in service.ended():
        load.ledger.note("wrong", f"the process {name} ended")


def check_grants(load):
    """Every acknowledged refresh token works."""
    grants = [grant for each in load.grants.values() for grant in each]

    def works(grant):
        deadline = time.monotonic() + 20
        while not grant.refresh(load.ledger, grant.client.refresh_at_hub):
            if grant.token is None:
                return
            if time.monotonic() > deadline:
                load.ledger.note("lost", f"a refresh token of {grant.client.name} got no answer for 20 s after the round")
                return
            time.sleep(0.2)

    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(works, grants))
    for name, each in load.grants.items():
        load.grants[name] = [grant for grant in each if grant.token]


def check_tokens(cluster, ledger):
    """A family has one live token, each sign-in gave one family at most, and no family was revoked."""
    live = """SELECT t.family_id FROM peristyle.refresh_token t JOIN peristyle.family f ON f.id = t.family_id
              WHERE t.used_at IS NULL AND f.ended_at IS NULL GROUP BY t.family_id HAVING count(*) > 1"""
    for family, in cluster.sql(live, "hub"):
        ledger.note("double", f"family {family} has two live refresh tokens")
    [(families, ended)] = cluster.sql("SELECT count(*), count(ended_at) FROM peristyle.family", "hub")
    if int(families) > ledger.sign_ins + ledger.sign_ins_in_doubt:
        ledger.note("double", f"{families} families for {ledger.sign_ins} sign-ins, and {ledger.sign_ins_in_doubt} in doubt")
    if int(families) < ledger.sign_ins:
        ledger.note("lost", f"{families} families for {ledger.sign_ins} sign-ins")
    if int(ended) > 0:
        ledger.note("lost", f"{ended} families were revoked without a sign-out")


def check_writes(cluster, client, load):
    """An acknowledged write is there, one in doubt is there or not, and none is half there."""
    ledger = load.ledger
    rows = {int(pair): int(count) for pair, count in cluster.sql("SELECT pair, count(*) FROM entries GROUP BY pair", "shop")}
    for pair in ledger.pairs:
        if rows.get(pair) != 2:
            ledger.note("wrong", f"pair {pair} was acknowledged, and {rows.get(pair, 0)} of its 2 rows are there")
    for pair in ledger.pairs_in_doubt:
        if rows.get(pair, 0) not in (0, 2):
            ledger.note("wrong", f"pair {pair} is in doubt, and {rows[pair]} of its 2 rows are there")
    for counter, value in cluster.sql("SELECT id, value FROM counters", "shop"):
        low = ledger.counted[int(counter)]
        high = low + ledger.counts_in_doubt[int(counter)]
        if not low <= int(value) <= high:
            ledger.note("wrong", f"counter {counter} is {value}; acknowledged are {low}, possible {high}")
    # The service shows the same number of rows.
    body = {"query": {"limit": 0}}
    status, answer = client.ask("/api/shop/entries/paginate", body, load.readers[client.name])
    total = answer.get("total") if status == 200 else None
    if total != sum(rows.values()):
        ledger.note("wrong", f"{client.name} counts {total} entries ({status}); the database has {sum(rows.values())}")


def check_reuse(cluster, load, count=5):
    """After the grace, a rotated token gives nothing, and its family ends. This signs people out, so it comes last."""
    grants = [grant for each in load.grants.values() for grant in each if grant.rotated]
    grants = sorted(grants, key=lambda grant: grant.rotated)[:count]
    if not grants:
        load.ledger.note("wrong", "no refresh token was rotated, so that its reuse could not be tried")
        return
    # Time in which no hub could answer does not count. The hubs measure it by their heartbeats.
    [(outages,)] = cluster.sql("SELECT coalesce(sum(extract(epoch FROM ended_at - began_at)), 0) FROM peristyle.outage", "hub")
    time.sleep(min(max(0, grants[-1].rotated + GRACE + float(outages) + 1 - time.monotonic()), MAX_WAIT))
    for grant in grants:
        for token, what in ((grant.first, "a rotated refresh token"), (grant.token, "the successor of a reused refresh token")):
            status, answer = present(grant.client, token)
            if status != 400:
                load.ledger.note("double", f"{what} of {grant.client.name} got {status} after the grace: {str(answer)[:100]}")


def present(client, token):
    """Presents a refresh token until the hub answers."""
    deadline = time.monotonic() + 20
    while True:
        try:
            status, answer = client.refresh_at_hub(token)
            if status not in UNAVAILABLE or time.monotonic() > deadline:
                return status, answer
        except NoAnswer as error:
            if time.monotonic() > deadline:
                return None, error
        time.sleep(0.2)
