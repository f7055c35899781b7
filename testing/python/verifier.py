"""An Authlib verifier: reads one access token a line and prints `good` or the error.

It caches the key set of each hub for `KEPT` seconds. An unknown key does not make it fetch the set again."""

import os
import sys
import time

import requests
from authlib.jose import JsonWebKey, JsonWebToken

cache_seconds = float(os.environ["KEPT"])
expected = {"iss": {"essential": True, "value": os.environ["ISSUER"]}, "aud": {"essential": True, "value": os.environ["AUDIENCE"]}}
rs256 = JsonWebToken(["RS256"])
cache: dict[str, tuple[float, object]] = {}


def keys(hub: str):
    """The key set of a hub, at most `cache_seconds` old."""
    fetched, found = cache.get(hub, (0.0, None))
    if found is None or time.monotonic() - fetched > cache_seconds:
        found = JsonWebKey.import_key_set(requests.get(f"{hub}/.well-known/jwks.json", timeout=10).json())
        cache[hub] = (time.monotonic(), found)
    return found


for line in sys.stdin:
    try:
        for hub in os.environ["HUBS"].split():
            rs256.decode(line.strip(), keys(hub), claims_options=expected).validate()
        print("good", flush=True)
    except Exception as error:  # The test compares every error.
        print(f"{type(error).__name__}: {error}", flush=True)
