// The token store of this browser, which notifies other tabs of changes.
//
// The tokens are in localStorage. A refresh token can be used once, so all tabs must share one copy: with sessionStorage a
// duplicated tab would have a copy of its own and use it late, and the hub would treat that as theft and revoke the whole
// family. In memory alone, a reload would sign the account out.
// The price: every script of this origin can read the tokens. Therefore the app loads no script from elsewhere, its content
// security policy forbids that, and the use of a stolen refresh token revokes the family. If that is not enough for you,
// keep the tokens on a server and give the browser a cookie.

const KEY = 'demo-shop.tokens';
/** How long before its expiry a token is renewed; a short-lived token is renewed in the last fifth of its lifetime. */
const MARGIN_SECONDS = 60;

/** The tokens: `{access, refresh, renewAt, since}`, or null if nobody is signed in. */
export function read() {
  return parsed(localStorage.getItem(KEY));
}

/** Stores the answer of the server; `since` is the time of the sign-in, which a renewal does not change. */
export function write({ access_token: access, refresh_token: refresh, expires_in: seconds = 0 }, since) {
  const margin = Math.min(MARGIN_SECONDS, seconds / 5);
  localStorage.setItem(KEY, JSON.stringify({ access, refresh, renewAt: Date.now() + (seconds - margin) * 1000, since }));
}

/** Removes the tokens. */
export function clear() {
  localStorage.removeItem(KEY);
}

/** Calls back when another tab signs in or out, but not after a renewal. */
export function onSignInOrOut(listener) {
  addEventListener('storage', (event) => {
    const isOurs = event.key === null || event.key === KEY;
    if (isOurs && parsed(event.oldValue)?.since !== parsed(event.newValue)?.since) listener();
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
