"""A verifier in Authlib: reads access tokens, one a line, and says `good` or what is wrong with each. It keeps the key set of each hub
for a while, and an unknown key does not make it ask again."""

import os
import sys
import time

import requests
from authlib.jose import JsonWebKey, JsonWebToken

kept = float(os.environ["KEPT"])
expected = {"iss": {"essential": True, "value": os.environ["ISSUER"]}, "aud": {"essential": True, "value": os.environ["AUDIENCE"]}}
rs256 = JsonWebToken(["RS256"])
cache: dict[str, tuple[float, object]] = {}


def keys(hub: str):
    """The key set of a hub, as old as `kept` seconds at most."""
    fetched, found = cache.get(hub, (0.0, None))
    if found is None or time.monotonic() - fetched > kept:
        found = JsonWebKey.import_key_set(requests.get(f"{hub}/.well-known/jwks.json", timeout=10).json())
        cache[hub] = (time.monotonic(), found)
    return found


for line in sys.stdin:
    try:
        for hub in os.environ["HUBS"].split():
            rs256.decode(line.strip(), keys(hub), claims_options=expected).validate()
        print("good", flush=True)
    except Exception as error:  # Whatever it is, the test is to see it.
        print(f"{type(error).__name__}: {error}", flush=True)
