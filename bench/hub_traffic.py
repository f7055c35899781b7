"""A little of everything that a hub answers, so that its statements can be looked at."""

import base64
import hashlib
import http.client
import json
import random
import urllib.parse

from harness import fail
from hub import CLIENT, PASSWORD, REDIRECT, VERIFIER, base64url, opaque
from hub_fill import stored_token

ROUNDS = 40
REFRESHES = 200
ME = '{"query":"{ iamMeAccount { id type code email username isActive tags scopes dPermissions dTenants meta createdAt updatedAt deletedAt ' \
     'roles { id name } tenants { id code name } } }"}'


class Browser:
    """Sends requests to a hub on one connection."""

    def __init__(self, hub):
        self.hub = hub
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(hub.url).netloc, timeout=120)

    def send(self, method, path, body=None, headers=None, wanted=(200, 204)):
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        text = response.read()
        if response.status not in wanted:
            fail(f"{method} {path} answered {response.status}: {text[:200]!r}")
        return response, text

    def form(self, path, fields, authorization=None):
        headers = {"content-type": "application/x-www-form-urlencoded"}
        if authorization:
            headers["authorization"] = authorization
        return self.send("POST", path, urllib.parse.urlencode(fields), headers)

    def token(self, authorization=None, **fields):
        return json.loads(self.form("/token", fields, authorization or self.hub.basic)[1])


def codes(hub, numbers):
    """Stores a code for the session of each of these accounts, and returns the codes."""
    challenge, rows, shown = base64url(hashlib.sha256(VERIFIER.encode()).digest()), [], []
    for number in numbers:
        code, digest = opaque()
        account, session = (hashlib.md5(f"{word}{number}".encode()).hexdigest() for word in ("account", "session"))
        rows.append(f"{digest}\t{CLIENT}\t{account}\t{session}\t{REDIRECT}\t{challenge}\t\\N\t\\N\tnow\t2100-01-01\t\\N")
        shown.append(code)
    hub.sql("COPY peristyle.code FROM STDIN;\n" + "".join(f"{row}\n" for row in rows) + "\\.\n")
    return shown


def run(hub, accounts):
    """Signs random accounts in, refreshes, reads their accounts and sessions, redeems codes, and revokes, while a stream is open."""
    chosen = random.Random(1)
    with_session = [chosen.randrange(1, accounts // 50) * 50 for _ in range(ROUNDS)]
    browser = Browser(hub)
    stream = Browser(hub)
    stream.connection.request("GET", "/events", headers={"authorization": hub.basic})
    if stream.connection.getresponse().status != 200:
        fail("the change feed did not open")
    for _ in range(ROUNDS):
        number = chosen.randrange(1, accounts + 1)
        tokens = browser.token(grant_type="password", username=f"person{number}", password=PASSWORD)
        for _ in range(2):
            tokens = browser.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
        bearer = f"Bearer {tokens['access_token']}"
        browser.send("POST", "/graphql", ME, {"content-type": "application/json", "authorization": bearer})
        response, _ = browser.form("/session", {"access_token": tokens["access_token"]})
        cookie = "; ".join(value.split(";")[0] for value in response.headers.get_all("set-cookie"))
        browser.send("GET", "/", headers={"cookie": cookie, "accept": "text/html"})
        browser.form("/revoke", {"token": tokens["refresh_token"], "end_session": "true"}, hub.basic)
    for number in chosen.sample(range(1, accounts // 10), REFRESHES):
        client, token = stored_token(number * 10)
        browser.token(basic(client, hub.secret), grant_type="refresh_token", refresh_token=token)
    for code in codes(hub, with_session):
        browser.token(grant_type="authorization_code", code=code, code_verifier=VERIFIER, redirect_uri=REDIRECT)


def basic(client, secret):
    return "Basic " + base64.b64encode(f"{client}:{secret}".encode()).decode()
