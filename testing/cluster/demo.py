"""The shop on a Patroni cluster and on a Citus cluster. A page reloads every second while the primary dies and freezes."""

import threading
import time

import citus
import shop
from patroni import Cluster
from processes import HOST, Session, find_binary, require_programs, say, server_programs, wait_until
from service import PASSWORD, NoAnswer, Service

FAULTS = ("kill", "freeze")
MEANING = {"kill": "killed", "freeze": "frozen"}
# How long a frozen primary stays so after the next one has taken over, and the pause between two faults.
FROZEN, PAUSE = 10, 8
FIELDS = "id,status,total,placedAt,customer.name,customer.country.name,lines.quantity,lines.price"
RELATIONS = {"customer": {"relations": {"country": True}}, "lines": True}
PAGE = {"query": {"order": [{"field": "id", "dir": "desc"}], "limit": 20, "relations": RELATIONS}}


class Page:
    """The page of one satellite: the newest orders with their customers and lines."""

    def __init__(self, name, client):
        self.name, self.client, self.token, self.line = name, client, None, ""

    def reload(self):
        start = time.monotonic()
        try:
            if self.token is None:
                status, answer = self.client.sign_in("ana")
                self.token = answer["access_token"] if status == 200 else None
            if self.token:
                status, answer = self.client.ask(f"/api/shop/orders/paginate?fields={FIELDS}", PAGE, self.token, timeout=30)
            if status == 401:
                self.token = None
        except NoAnswer:
            status = "no answer"
        return status, (time.monotonic() - start) * 1000


class Reloads:
    """Prints a line each second: time, status and latency of each page, and what happens to the cluster."""

    def __init__(self, pages):
        self.pages, self.news, self.stopped = pages, [], threading.Event()

    def run(self, seconds):
        # Each page has a thread of its own, so that a slow one does not delay the other.
        started = time.monotonic()
        while not self.stopped.is_set() and (seconds is None or time.monotonic() - started < seconds):
            tick = time.monotonic()
            threads = [threading.Thread(target=self.reload, args=(page,), daemon=True) for page in self.pages]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(0.9)
            parts = [page.line if not thread.is_alive() else "waits" for page, thread in zip(self.pages, threads)]
            news, self.news[:] = "; ".join(self.news), []
            cells = "   ".join(f"{page.name} {part:<16}" for page, part in zip(self.pages, parts))
            print(f"{time.strftime('%H:%M:%S')}   {cells} {news}".rstrip(), flush=True)
            time.sleep(max(0, tick + 1 - time.monotonic()))

    @staticmethod
    def reload(page):
        status, latency = page.reload()
        page.line = f"{status} in {latency:.0f} ms"

    def break_primary(self, cluster):
        """Kills and freezes the primary in turn."""
        while True:
            for fault in FAULTS:
                try:
                    primary = cluster.wait_healthy(120)
                    if self.stopped.wait(PAUSE):
                        return
                    heal = getattr(primary, fault)()
                    self.news.append(f"<- {primary.name}, the primary, is {MEANING[fault]}")
                    start = time.monotonic()
                    after = wait_until(lambda: self.successor(cluster, primary), 120, "there was no new primary")
                    self.news.append(f"<- {after.name} is the primary after {time.monotonic() - start:.0f} s")
                    self.stopped.wait(FROZEN if fault == "freeze" else 0)
                    heal()
                    if fault == "freeze":
                        self.news.append(f"<- {primary.name} runs again, as a standby")
                except TimeoutError as error:
                    self.news.append(f"<- {error}")

    @staticmethod
    def successor(cluster, primary):
        return next((member for member in cluster.members if member is not primary and member.ask("GET", "/primary", timeout=1)[0] == 200), None)


def start(session, programs, binary):
    """Starts the clusters, the hubs and a satellite for each cluster. Returns the Patroni cluster, the service and the pages."""
    cluster = Cluster(session, programs)
    say("reading the sample data of peristyle demo")
    tables = shop.read_rows(session, binary)
    service = Service(session, binary, cluster, {"LOG": "warn"})
    say("starting two hubs behind haproxy")
    service.start_hubs()
    service.command("role", "add", "--name", "shop manager", *[word for name in shop.PERMISSIONS for word in ("--permission", name)])
    tenants = tables["tenants"][1]
    for tenant, name in tenants:
        service.command("tenant", "add", "--id", tenant, "--name", name)
    memberships = [word for tenant, _ in tenants for word in ("--tenant", tenant)]
    service.command("account", "add", "--username", "ana", "--role", "shop manager", *memberships, "--password-stdin", stdin=PASSWORD)
    cluster.sql("CREATE DATABASE shop")
    shop.create(session, programs, cluster.wait_healthy().own_port, "shop", tables)
    databases = {"Patroni": cluster.dsn("shop")}
    if citus.is_installed(programs):
        distributed = citus.Citus(session, programs, "shop")
        shop.create(session, programs, distributed.port, "shop", tables, citus=True)
        databases["Citus"] = distributed.dsn
    else:
        say(f"Citus is missing: {programs} has no citus.so, so there is no Citus cluster")
    pages = []
    for name, dsn in databases.items():
        client = service.add_client(f"shop-{name.lower()}")
        service.start_satellite(client, shop.MANIFEST.read_text(), {"DATABASE_URL": dsn, "APP_FILES": str(shop.APP)})
        pages.append(Page(name, client))
    return cluster, service, pages


def run(options):
    require_programs()
    programs, binary = server_programs(options.postgres), find_binary(options.binary)
    with Session(options.keep_logs) as session:
        cluster, service, pages = start(session, programs, binary)
        print(f"hub       {service.hub_url}, two processes behind haproxy")
        for page in pages:
            print(f"{page.name:<9} http://{HOST}:{page.client.port}")
        print(f"account   ana, password: {PASSWORD}")
        print("The page of the newest orders reloads every second. Ctrl-C ends everything.\n", flush=True)
        reloads = Reloads(pages)
        session.stack.callback(reloads.stopped.set)
        threading.Thread(target=reloads.break_primary, args=(cluster,), daemon=True).start()
        reloads.run(options.seconds)
    return 0
