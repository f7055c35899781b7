"""An Authlib client of the hub: discovery, authorization code with PKCE, ID token, refresh, revocation.

It prints `open URL` when a person must sign in. Then it reads the URL that the hub redirected the browser to."""

import os
import sys

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt

hub, client_id = os.environ["HUB"], os.environ["CLIENT_ID"]
metadata = requests.get(f"{hub}/.well-known/openid-configuration", timeout=10).json()
assert metadata["issuer"] == hub, metadata["issuer"]

client = OAuth2Session(
    client_id,
    os.environ["CLIENT_SECRET"],
    scope="openid",
    redirect_uri=os.environ["REDIRECT"],
    code_challenge_method="S256",
    token_endpoint_auth_method="client_secret_basic",
)
verifier, nonce = generate_token(48), generate_token(24)
url, state = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce)
print("open", url, flush=True)
callback = sys.stdin.readline().strip()
token = client.fetch_token(metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier)

keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"], timeout=10).json())
claims = jwt.decode(
    token["id_token"],
    keys,
    claims_options={"iss": {"value": hub}, "aud": {"value": client_id}, "nonce": {"value": nonce}},
)
claims.validate()

about = client.get(metadata["userinfo_endpoint"]).json()
assert about["sub"] == claims["sub"], about

renewed = client.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
assert renewed["refresh_token"] != token["refresh_token"]
assert client.revoke_token(metadata["revocation_endpoint"], token=renewed["refresh_token"]).status_code == 200
try:
    client.refresh_token(metadata["token_endpoint"], refresh_token=renewed["refresh_token"])
    sys.exit("the hub accepted a revoked refresh token")
except OAuthError as error:
    assert error.error == "invalid_grant", error
