"""The hub under test, with its own database, a client and accounts."""

import base64
import hashlib
import json
import os
import subprocess
import tempfile
import urllib.parse
import urllib.request
import uuid
from pathlib import Path

from harness import fail, free_port, spawn, wait_ready

ACCOUNTS = 500
PASSWORD = "correct horse battery staple"
REDIRECT = "http://127.0.0.1:9/callback"
VERIFIER = "a" * 43
CLIENT = "bench"


class Hub:
    """A hub of the release binary."""

    def __init__(self, stack, binaries, cluster):
        self.cluster, self.binaries = cluster, binaries
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="peristyle-bench-")))
        cluster.run("dropdb", "--if-exists", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "hub")
        cluster.run("createdb", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "hub")
        self.database = f"postgres://postgres@127.0.0.1:{cluster.port}/hub"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.environment = {
            "OAUTH_STRATEGY": "local-provider",
            "OAUTH_PRIVATE_KEY_PATH": str(self.folder / "oauth-private.key"),
            "DATABASE_URL": self.database,
            "LISTEN": f"127.0.0.1:{port}",
            "LOG": "warn",
        }
        self.command("keys", "generate", "--out", str(self.folder))
        self.process = spawn(stack, [binaries / "peristyle", "serve"], self.environment)
        wait_ready(self.process, f"{self.url}/ready")
        grants = [word for grant in ("authorization_code", "refresh_token", "password") for word in ("--grant", grant)]
        self.secret = json.loads(self.command("client", "add", "--id", CLIENT, "--name", "Bench", "--redirect", REDIRECT, *grants, "--json"))["secret"]
        self.basic = "Basic " + base64.b64encode(f"{CLIENT}:{self.secret}".encode()).decode()
        self.command("role", "add", "--name", "reader", *[word for n in range(8) for word in ("--permission", f"shop.thing{n}.get")])
        self.command("account", "add", "--username", "first", "--role", "reader", "--password-stdin", stdin=PASSWORD)
        self.sql(f"""
            WITH first AS (SELECT * FROM peristyle.account WHERE username = 'first'),
            made AS (INSERT INTO peristyle.account (id, type, code, username, username_key, d_permissions, d_tenants, created_at, updated_at)
                     SELECT gen_random_uuid(), type, 'user' || n, 'user' || n, 'user' || n, d_permissions, d_tenants, now(), now()
                     FROM first, generate_series(1, {ACCOUNTS}) AS n RETURNING id),
            given AS (INSERT INTO peristyle.account_role SELECT made.id, r.role_id FROM made, peristyle.account_role r JOIN first ON first.id = r.account_id)
            INSERT INTO peristyle.credential SELECT made.id, c.hash, now() FROM made, peristyle.credential c JOIN first ON first.id = c.account_id;
            INSERT INTO peristyle.session (id, account_id, authenticated_at, last_used_at, expires_at)
            SELECT gen_random_uuid(), id, now(), now(), now() + interval '8 hours' FROM peristyle.account;
            INSERT INTO peristyle.app_account (id, app_id, account_id, first_used_at, last_used_at, created_at)
            SELECT gen_random_uuid(), c.app_id, a.id, now(), now(), now() FROM peristyle.account a, peristyle.client c WHERE c.id = '{CLIENT}';
            INSERT INTO peristyle.event (at, kind, account_id, client_id, detail) SELECT now(), 'granted', id, '{CLIENT}', '{{}}' FROM peristyle.account;
            ANALYZE;
        """)
        # PostgreSQL plans foreign key checks once for each connection. If it finds an empty table, it scans the whole table from then on.
        self.tokens(ACCOUNTS)

    def yardstick(self, stack):
        """Starts the bare loop on the same database with the same key, and returns its URL."""
        der, port = self.folder / "key.der", free_port()
        subprocess.run(["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", self.folder / "oauth-private.key", "-outform", "DER", "-out", der], check=True)
        process = spawn(stack, [self.binaries / "tokens", f"127.0.0.1:{port}", self.database, der, CLIENT])
        wait_ready(process, f"http://127.0.0.1:{port}/ready")
        return f"http://127.0.0.1:{port}"

    def command(self, *words, stdin=None):
        outcome = subprocess.run(
            [str(self.binaries / "peristyle"), *words], env={**os.environ, **self.environment}, input=stdin, capture_output=True, text=True, timeout=60)
        if outcome.returncode != 0:
            fail(f"peristyle {words[0]} {words[1]}: {outcome.stderr.strip()}")
        return outcome.stdout

    def sql(self, text):
        self.cluster.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", self.database, stdin=text)

    def copy(self, table, lines):
        # Autovacuum would do this later. A plan for an empty table is a bad plan.
        self.sql(f"COPY peristyle.{table} FROM STDIN;\n" + "".join(f"{line}\n" for line in lines) + f"\\.\nANALYZE peristyle.{table};\nCHECKPOINT;\n")

    def accounts(self):
        text = self.cluster.output(
            "psql", "-X", "-A", "-t", "-q", "-F", " ", "-c", "SELECT a.id, s.id FROM peristyle.account a JOIN peristyle.session s ON s.account_id = a.id", self.database)
        return [line.split() for line in text.split("\n") if line]

    def tokens(self, count):
        """Creates families, each with a refresh token, and writes the tokens to a file."""
        accounts, families, kept, shown = self.accounts(), [], [], []
        for number in range(count):
            family, (token, digest) = uuid.uuid4(), opaque()
            account, session = accounts[number % len(accounts)]
            families.append(f"{family}\t{CLIENT}\t{account}\t{session}\t\\N\tnow\tnow\t\\N\t\\N")
            kept.append(f"{digest}\t{family}\tnow\t2100-01-01\t\\N\t\\N")
            shown.append(token)
        self.copy("family", families)
        self.copy("refresh_token", kept)
        return self.lines("tokens", shown)

    def codes(self, count):
        """Creates codes, and writes the form that redeems each to a file."""
        challenge = base64url(hashlib.sha256(VERIFIER.encode()).digest())
        accounts, kept, shown = self.accounts(), [], []
        for number in range(count):
            code, digest = opaque()
            account, session = accounts[number % len(accounts)]
            kept.append(f"{digest}\t{CLIENT}\t{account}\t{session}\t{REDIRECT}\t{challenge}\t\\N\t\\N\tnow\t2100-01-01\t\\N")
            shown.append(f"grant_type=authorization_code&code={code}&code_verifier={VERIFIER}&redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2Fcallback")
        self.copy("code", kept)
        return self.lines("codes", shown)

    def passwords(self):
        return self.lines("passwords", [f"grant_type=password&username=user{n}&password={PASSWORD.replace(' ', '+')}" for n in range(1, ACCOUNTS + 1)])

    def lines(self, name, lines):
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def token(self):
        """An access token of the first account."""
        body = urllib.parse.urlencode({"grant_type": "password", "username": "first", "password": PASSWORD}).encode()
        request = urllib.request.Request(f"{self.url}/token", data=body, headers={"authorization": self.basic})
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)["access_token"]


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def opaque():
    token = base64url(os.urandom(32))
    return token, "\\\\x" + hashlib.sha256(token.encode()).hexdigest()
