// The token store: where the tokens of this browser are kept, and how tabs hear that they changed.
//
// They stand in localStorage. A refresh token is good once and is replaced at each use, so that all tabs must look at one
// and the same copy: with sessionStorage a duplicated tab would carry a copy away, use it late, and the hub would take that
// for theft and end the whole sign-in. Kept in memory alone, a reload would sign people out.
// The price: whatever script runs on this origin can read them. That is why the app loads no script from elsewhere and is
// served under a policy that forbids it; and a stolen refresh token shows as soon as both sides use it. If that is not
// enough for you, keep the tokens on a server and give the browser a cookie.

const KEY = 'demo-shop.tokens';
/** A token is renewed this long before it expires, or in the last fifth of its life if it is short. */
const MARGIN_SECONDS = 60;

/** The tokens: `{access, refresh, renewAt, since}`, or null for nobody. */
export function read() {
  return parsed(localStorage.getItem(KEY));
}

/** Keeps what the server answered; `since` is when somebody signed in, and stays the same however often it is renewed. */
export function write({ access_token: access, refresh_token: refresh, expires_in: seconds = 0 }, since) {
  const margin = Math.min(MARGIN_SECONDS, seconds / 5);
  localStorage.setItem(KEY, JSON.stringify({ access, refresh, renewAt: Date.now() + (seconds - margin) * 1000, since }));
}

/** Forgets them. */
export function clear() {
  localStorage.removeItem(KEY);
}

/** Calls back when another tab signed in or out. A renewal is nobody's news. */
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
