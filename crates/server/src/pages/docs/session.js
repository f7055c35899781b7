// The identity of a page: signs in and out, renews tokens, and gives each request its token. Tokens stay in memory.

import { forgetStatements } from './remembered.js';

/** Seconds before its end at which a token is renewed. */
const RENEWAL_MARGIN = 30;
/** The session storage of this tab holds no token: only that it was signed in, and where it was. */
const SIGNED_IN = 'peristyle-docs.signed-in';
const PLACE = 'peristyle-docs.place';
/** A link with this parameter opens the page signed in, with the account of the session at the hub. */
const ASKED = 'sign-in';

export class Session {
  #token = '';
  #refreshToken = '';
  #expiresAt = Infinity;
  #renewal = null;

  /**
   * `kind` says how people sign in: `hub`, `satellite`, `elsewhere` or `none`. `home` is the path of the page. `onLost` is called when a
   * sign-in has ended.
   */
  constructor(kind, home, onLost) {
    Object.assign(this, { kind, home, onLost });
    /** How the page got its token: '' for none, `signed-in` or `pasted`. */
    this.source = '';
  }

  get canSignIn() {
    return this.kind === 'hub' || this.kind === 'satellite';
  }

  get isSignedIn() {
    return this.source !== '';
  }

  /** Restores a sign-in when the page opens. Returns a message if one failed, or `leaving` if the browser goes to the hub. */
  async open() {
    const answer = new URLSearchParams(location.search);
    if (this.kind === 'satellite' && answer.has('state')) return this.#finish(answer);
    if (this.kind === 'satellite' && answer.has(ASKED)) {
      this.#leave('');
      return 'leaving';
    }
    if (location.pathname !== this.home || answer.has(ASKED)) history.replaceState(null, '', `${this.home}${location.hash}`);
    if (this.kind === 'hub') return this.#renewAtHub().then(() => '', (error) => `The page cannot use your session: ${error.message}.`);
    if (this.kind === 'satellite' && sessionStorage.getItem(SIGNED_IN)) {
      // Once only: without a session at the hub the page stays anonymous.
      this.#leave('&prompt=none');
      return 'leaving';
    }
    return '';
  }

  /** Goes to the sign-in page. The browser comes back to this place. */
  signIn() {
    if (this.kind === 'hub') {
      this.#keepPlace();
      location.assign(`/sign-in?continue=${this.home}`);
    } else {
      this.#leave('');
    }
  }

  #leave(more) {
    sessionStorage.removeItem(SIGNED_IN);
    this.#keepPlace();
    location.assign(`/auth/login?return_to=${this.home}${more}`);
  }

  #keepPlace() {
    sessionStorage.setItem(PLACE, `${this.home}${location.hash}`);
  }

  /** Finishes the login that the hub sent back to this URL. */
  async #finish(answer) {
    // The code can be used once, so it leaves the URL and the history.
    history.replaceState(null, '', this.home);
    this.restorePlace();
    if (answer.has('error')) return answer.get('error') === 'login_required' ? '' : `The hub refused the sign-in: ${answer.get('error')}.`;
    const sent = Object.fromEntries(['code', 'state', 'iss'].filter((name) => answer.has(name)).map((name) => [name, answer.get(name)]));
    try {
      this.#accept(await post('/auth/callback', sent));
      return '';
    } catch (error) {
      return `The sign-in could not be finished: ${error.message}.`;
    }
  }

  /** Goes back to the place that the person left to sign in. */
  restorePlace() {
    const place = sessionStorage.getItem(PLACE);
    sessionStorage.removeItem(PLACE);
    if (place?.split('#')[0] === this.home && location.hash === '') history.replaceState(null, '', place);
  }

  #accept({ access_token: token, refresh_token: refreshToken = '', expires_in: seconds = Infinity }) {
    this.#token = token;
    this.#refreshToken = refreshToken;
    this.#expiresAt = Date.now() + seconds * 1000;
    this.source = 'signed-in';
    if (this.kind === 'satellite') sessionStorage.setItem(SIGNED_IN, '1');
  }

  /** Uses a token that a person pasted; an empty one makes the page anonymous. */
  use(token) {
    this.#forget();
    this.#token = token;
    this.source = token === '' ? '' : 'pasted';
  }

  #forget() {
    if (this.isSignedIn) forgetStatements();
    this.#token = '';
    this.#refreshToken = '';
    this.#expiresAt = Infinity;
    this.source = '';
    sessionStorage.removeItem(SIGNED_IN);
  }

  /** The headers of a request, with a token that is still valid. */
  async headers() {
    const token = await this.token();
    return token ? { Authorization: `Bearer ${token}` } : {};
  }

  async token() {
    if (this.source === 'signed-in' && Date.now() > this.#expiresAt - RENEWAL_MARGIN * 1000) await this.renew();
    return this.#token;
  }

  /** Renews the token, once for all requests that wait. Returns whether the page is still signed in. */
  async renew() {
    if (this.source !== 'signed-in') return false;
    this.#renewal ??= (this.kind === 'hub' ? this.#renewAtHub() : this.#refresh()).finally(() => { this.#renewal = null; });
    await this.#renewal;
    return this.isSignedIn;
  }

  async #renewAtHub() {
    const wasSignedIn = this.isSignedIn;
    const answer = await post('/docs/token', {});
    if (answer) this.#accept(answer);
    else if (wasSignedIn) this.#lose();
  }

  async #refresh() {
    try {
      this.#accept(await post('/auth/refresh', { refresh_token: this.#refreshToken }));
    } catch (error) {
      // The hub refused the token; any other failure may pass.
      if (!(error.status >= 400 && error.status < 500 && error.status !== 429)) throw error;
      this.#lose();
    }
  }

  #lose() {
    this.#forget();
    this.onLost();
  }

  /** Ends the session at the hub, and forgets the tokens. */
  async signOut() {
    const { source } = this;
    const refreshToken = this.#refreshToken;
    this.#forget();
    if (source !== 'signed-in') return;
    if (this.kind === 'hub') await post('/logout');
    else await post('/auth/logout', { refresh_token: refreshToken });
  }
}

/** Posts JSON. Returns the answer, or null without one; throws with its description and `status`. */
async function post(path, body) {
  const content = body && { 'Content-Type': 'application/json' };
  const answer = await fetch(path, { method: 'POST', credentials: 'same-origin', cache: 'no-store', headers: { Accept: 'application/json', ...content }, body: body && JSON.stringify(body) });
  if (answer.status === 204) return null;
  const read = await answer.json().catch(() => ({}));
  if (answer.ok) return read;
  throw Object.assign(new Error(read.error_description ?? read.detail ?? `the server answered ${answer.status}`), { status: answer.status });
}
