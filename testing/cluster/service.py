"""Two hubs behind haproxy and three satellites, on the databases of a cluster."""

import base64
import http.client
import json
import urllib.parse

from processes import HOST, fail, find_program, say, wait_until

SATELLITES = 3
PASSWORD = "correct horse battery staple"
ACCOUNTS = ("ana", "ben", "cleo", "dan")
FACTS = [{"id": number, "name": f"fact {number}", "amount": f"{number * 37 % 1000}.{number % 100:02}"} for number in range(1, 201)]
COUNTERS = 12
PERMISSIONS = ("shop.fact.get", "shop.entry.get", "shop.entry.create", "shop.counter.get", "shop.counter.update")

TABLES = """
CREATE TABLE facts (id integer PRIMARY KEY, name text NOT NULL, amount numeric(12, 2) NOT NULL);
CREATE TABLE entries (id bigint PRIMARY KEY, pair bigint NOT NULL);
CREATE INDEX entries_of_pair ON entries (pair);
CREATE TABLE counters (id integer PRIMARY KEY, value integer NOT NULL);
"""
MANIFEST = """
[resource.shop.fact]
permission = "shop.fact.get"

[resource.shop.fact.fields]
id     = { type = "int", key = true, null = false }
name   = { type = "text", null = false }
amount = { type = "decimal", null = false }

# A request creates two entries of one pair.
[resource.shop.entry]
plural     = "entries"
permission = "shop.entry.get"

[resource.shop.entry.write]
create = "shop.entry.create"

[resource.shop.entry.fields]
id   = { type = "bigint", key = true, null = false, write = "create" }
pair = { type = "bigint", null = false, write = "create" }

[resource.shop.counter]
permission = "shop.counter.get"

[resource.shop.counter.write]
update = "shop.counter.update"

[resource.shop.counter.fields]
id    = { type = "int", key = true, null = false }
value = { type = "int", null = false, write = "update" }
"""
# Both hubs need the same database. So haproxy asks /health: without the database, a hub's own 503 is better than haproxy's.
BALANCER = """
global
    maxconn 2000
    nbthread 1
defaults
    mode http
    option forwardfor
    timeout connect 5s
    timeout client 60s
    timeout server 60s
listen hubs
    bind {host}:{port}
    balance roundrobin
    option httpchk GET /health
    default-server check inter 500ms fall 2 rise 1
{servers}
"""


class NoAnswer(Exception):
    """The connection broke, or no answer came in time."""


def send(port, method, path, body=None, headers=None, timeout=10):
    """The status and the JSON of an answer."""
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(f"{type(error).__name__} {error}") from None
    finally:
        connection.close()
    try:
        return answer.status, json.loads(text)
    except ValueError:
        return answer.status, text.decode(errors="replace")


class Client:
    """A satellite's client at the hub. Its tokens are for that satellite only."""

    def __init__(self, name, secret, port, hub_port):
        self.name, self.port, self.hub_port = name, port, hub_port
        self.secret = secret
        self.basic = "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()

    def token_request(self, timeout=10, **form):
        headers = {"authorization": self.basic, "content-type": "application/x-www-form-urlencoded"}
        return send(self.hub_port, "POST", "/token", urllib.parse.urlencode(form), headers, timeout)

    def sign_in(self, username, password=PASSWORD):
        return self.token_request(grant_type="password", username=username, password=password)

    def refresh_at_hub(self, token):
        return self.token_request(grant_type="refresh_token", refresh_token=token)

    def refresh_at_satellite(self, token):
        return send(self.port, "POST", "/auth/refresh", json.dumps({"refresh_token": token}), {"content-type": "application/json"})

    def ask(self, path, body, access_token, timeout=10):
        """Sends a statement or a write to the satellite."""
        headers = {"content-type": "application/json", "authorization": f"Bearer {access_token}"}
        return send(self.port, "POST", path, json.dumps(body), headers, timeout)


class Service:
    """The processes under test. They start once, and nothing restarts them."""

    def __init__(self, session, binary, cluster, settings=None):
        self.session, self.binary, self.cluster = session, binary, cluster
        self.settings = {"LOG": "info", "OAUTH_PRIVATE_KEY_PATH": str(session.folder / "oauth-private.key"), **(settings or {})}
        self.folder = session.make_folder("service")
        self.hub_port = session.free_port()
        self.hub_url = f"http://{HOST}:{self.hub_port}"
        self.hub_settings = {
            **self.settings, "OAUTH_STRATEGY": "local-provider", "DATABASE_URL": cluster.dsn("hub"), "APP_URL": self.hub_url,
            "TRUSTED_PROXIES": HOST,
        }
        self.clients, self.processes = [], []

    def command(self, *words, stdin=""):
        return self.session.run([self.binary, *words], self.hub_settings, stdin=stdin)

    def start_hubs(self, count=2):
        self.command("keys", "generate", "--out", str(self.session.folder))
        self.cluster.sql("CREATE DATABASE hub")
        self.command("migrate")
        ports = [self.session.free_port() for _ in range(count)]
        for number, port in enumerate(ports, 1):
            self.serve(f"hub{number}", port, self.hub_settings)
        servers = "\n".join(f"    server hub{number} {HOST}:{port}" for number, port in enumerate(ports, 1))
        config = self.session.folder / "balancer.cfg"
        config.write_text(BALANCER.format(host=HOST, port=self.hub_port, servers=servers))
        balancer = self.session.spawn("balancer", [find_program("haproxy"), "-db", "-f", config])
        self.wait_ready("balancer", self.hub_port, balancer)

    def add_client(self, name):
        """Registers a satellite that will listen on a port of its own."""
        port = self.session.free_port()
        grants = [word for grant in ("authorization_code", "refresh_token", "password") for word in ("--grant", grant)]
        redirect = f"http://{HOST}:{port}/callback"
        answer = self.command("client", "add", "--id", name, "--name", name, "--redirect", redirect, *grants, "--json")
        client = Client(name, json.loads(answer)["secret"], port, self.hub_port)
        self.clients.append(client)
        return client

    def start_satellite(self, client, manifest, settings):
        path = self.folder / f"{client.name}.toml"
        path.write_text(manifest)
        self.serve(client.name, client.port, {
            **self.settings, "OAUTH_STRATEGY": "platform-hub", "OAUTH_HUB_URL": self.hub_url, "OAUTH_CLIENT_ID": client.name,
            "OAUTH_CLIENT_SECRET": client.secret, "OAUTH_REDIRECT_URI": f"http://{HOST}:{client.port}/callback",
            "PERISTYLE_MANIFEST": str(path), **settings,
        })

    def serve(self, name, port, settings):
        process = self.session.spawn(name, [self.binary, "serve"], {**settings, "LISTEN": f"{HOST}:{port}"}, cwd=self.folder)
        self.processes.append((name, process))
        self.wait_ready(name, port, process)

    def wait_ready(self, name, port, process):
        def ready():
            if process.poll() is not None:
                raise TimeoutError(f"{name} ended with status {process.returncode}")
            try:
                return send(port, "GET", "/ready", timeout=5)[0] == 200
            except NoAnswer:
                return False
        try:
            wait_until(ready, 30, f"{name} was not ready")
        except TimeoutError as error:
            fail(f"{error}; its log ends with:\n{self.session.log_tail(name)}")

    def ended(self):
        """The names of processes that ended by themselves."""
        return [name for name, process in self.processes if process.poll() is not None]


def start(session, binary, cluster):
    """Starts the hubs and the satellites of `rounds` with their data."""
    say("starting two hubs and three satellites")
    service = Service(session, binary, cluster)
    service.start_hubs()
    service.command("role", "add", "--name", "clerk", *[word for name in PERMISSIONS for word in ("--permission", name)])
    for name in ACCOUNTS:
        service.command("account", "add", "--username", name, "--role", "clerk", "--password-stdin", stdin=PASSWORD)
    cluster.sql("CREATE DATABASE shop")
    rows = ", ".join(f"({fact['id']}, '{fact['name']}', {fact['amount']})" for fact in FACTS)
    counters = ", ".join(f"({number}, 0)" for number in range(1, COUNTERS + 1))
    cluster.sql(f"{TABLES} INSERT INTO facts VALUES {rows}; INSERT INTO counters VALUES {counters}", "shop")
    for number in range(1, SATELLITES + 1):
        settings = {"DATABASE_URL": cluster.dsn("shop")}
        if number > 1:
            # The first satellite reads from the primary, the others from standbys.
            settings["DATABASE_READ_URL"] = cluster.dsn("shop", "read-only")
        service.start_satellite(service.add_client(f"satellite{number}"), MANIFEST, settings)
    return service
