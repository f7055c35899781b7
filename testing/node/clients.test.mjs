// Third-party clients: each discovers the hub by its metadata, signs a person in with the real form, and gets, refreshes,
// verifies and revokes tokens.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import * as jose from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';

import { PASSWORD, Person, REDIRECT, USERNAME, startHub } from './hub.mjs';

const insecure = { [oauth.allowInsecureRequests]: true };
let hub;
before(async () => {
  hub = await startHub();
});
after(() => hub?.close());

for (const algorithm of ['oidc', 'oauth2']) {
  test(`oauth4webapi, found by ${algorithm} metadata`, async () => {
    const issuer = new URL(hub.origin);
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm, ...insecure }));
    const client = { client_id: hub.clientId };
    const authentication = oauth.ClientSecretBasic(hub.clientSecret);
    const [verifier, state, nonce] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState(), oauth.generateRandomNonce()];
    const address = new URL(server.authorization_endpoint);
    const challenge = await oauth.calculatePKCECodeChallenge(verifier);
    for (const [name, value] of Object.entries({
      client_id: hub.clientId,
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: 'openid',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state,
      nonce,
    })) address.searchParams.set(name, value);

    const callback = await new Person().authorize(address);
    const parameters = oauth.validateAuthResponse(server, client, callback, state);
    const answer = await oauth.authorizationCodeGrantRequest(server, client, authentication, parameters, REDIRECT, verifier, insecure);
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, { expectedNonce: nonce, requireIdToken: true });
    const { sub } = oauth.getValidatedIdTokenClaims(tokens);

    const about = await oauth.userInfoRequest(server, client, tokens.access_token, insecure);
    assert.equal((await oauth.processUserInfoResponse(server, client, sub, about)).sub, sub);

    const request = new Request(`${hub.origin}/x`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    const claims = await oauth.validateJwtAccessToken(server, request, hub.clientId, insecure);
    assert.equal(claims.sub, sub);

    const renewal = await oauth.refreshTokenGrantRequest(server, client, authentication, tokens.refresh_token, insecure);
    const renewed = await oauth.processRefreshTokenResponse(server, client, renewal);
    assert.notEqual(renewed.refresh_token, tokens.refresh_token);

    const checked = async (token) =>
      oauth.processIntrospectionResponse(server, client, await oauth.introspectionRequest(server, client, authentication, token, insecure));
    assert.equal((await checked(renewed.access_token)).active, true);
    await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, authentication, renewed.refresh_token, insecure));
    assert.equal((await checked(renewed.access_token)).active, false);
  });
}

test('openid-client', async () => {
  const config = await openid.discovery(new URL(hub.origin), hub.clientId, hub.clientSecret, undefined, { execute: [openid.allowInsecureRequests] });
  const [verifier, state, nonce] = [openid.randomPKCECodeVerifier(), openid.randomState(), openid.randomNonce()];
  const address = openid.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT,
    scope: 'openid',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  });
  const callback = await new Person().authorize(address);
  const tokens = await openid.authorizationCodeGrant(config, callback, { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce });
  const { sub } = tokens.claims();
  assert.equal((await openid.fetchUserInfo(config, tokens.access_token, sub)).sub, sub);
  const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token);
  assert.ok(renewed.access_token);
  await openid.tokenRevocation(config, renewed.refresh_token);
  await assert.rejects(openid.refreshTokenGrant(config, renewed.refresh_token), { error: 'invalid_grant' });
});

test('jose checks an access token by the published keys alone', async () => {
  const body = new URLSearchParams({ grant_type: 'password', username: USERNAME, password: PASSWORD });
  const authorization = `Basic ${btoa(`${hub.clientId}:${encodeURIComponent(hub.clientSecret)}`)}`;
  const answer = await fetch(`${hub.origin}/api/o-auth/token`, { method: 'POST', body, headers: { authorization } });
  assert.equal(answer.status, 200);
  const { access_token: token } = await answer.json();
  const keys = jose.createRemoteJWKSet(new URL('/.well-known/jwks.json', hub.origin));
  const expected = { issuer: hub.origin, audience: hub.clientId, typ: 'at+jwt', algorithms: ['RS256'] };
  const { payload } = await jose.jwtVerify(token, keys, expected);
  assert.equal(payload.client_id, hub.clientId);
  await assert.rejects(jose.jwtVerify(token, keys, { ...expected, audience: 'another' }));
});
