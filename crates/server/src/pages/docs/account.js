// The menu at the top right: the account that the page looks through, its rights, signing in and out, and a token to paste.

import { announce, copyButton, counted, element } from './dom.js';
import { keepStatementsOf } from './remembered.js';

/** The characters of a header value. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const ANONYMOUS = 'Anonymous';

/** The account of the session, as `/auth/me` answers it; null for an anonymous page. */
export async function loadAccount(session) {
  if (!session.isSignedIn) {
    keepStatementsOf('');
    return null;
  }
  const answer = await fetch('/auth/me', { headers: await session.headers(), cache: 'no-store', credentials: 'same-origin' });
  if (!answer.ok) return null;
  const account = await answer.json();
  keepStatementsOf(account.id);
  return account;
}

export function nameOf(account) {
  return account?.username ?? account?.email ?? account?.code ?? ANONYMOUS;
}

export class AccountMenu {
  /** `onToken` is called with a pasted token, `onSignOut` when a person signs out. */
  constructor(session, { onToken, onSignOut }) {
    Object.assign(this, { session, onToken, onSignOut });
    this.details = document.getElementById('token');
    this.summary = this.details.querySelector('summary');
    this.label = document.getElementById('token-state');
    this.panel = document.getElementById('account');
    this.signInButton = document.getElementById('sign-in');
    this.signInButton.addEventListener('click', () => session.signIn());
    this.details.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.details.open) return;
      this.close();
      this.summary.focus();
    });
    this.details.addEventListener('toggle', () => {
      if (this.details.open && session.isSignedIn) this.fetchToken();
    });
    document.addEventListener('pointerdown', (event) => {
      if (!this.details.contains(event.target)) this.close();
    });
    this.show(null);
  }

  close() {
    this.details.open = false;
  }

  /** Shows an account, or the anonymous one. */
  show(account) {
    const { session } = this;
    const name = account?.username || account?.email || account?.code ? nameOf(account) : session.source === 'pasted' ? 'Token in use' : session.isSignedIn ? 'Signed in' : ANONYMOUS;
    this.freshToken = undefined;
    this.label.textContent = name;
    this.summary.dataset.initial = session.isSignedIn ? name.charAt(0).toUpperCase() : '';
    this.signInButton.hidden = session.isSignedIn || !session.canSignIn;
    this.panel.replaceChildren(...[...this.about(account, name), this.tokenForm()].filter(Boolean));
  }

  about(account, name) {
    const { session } = this;
    if (!session.isSignedIn) {
      const why = { none: 'Under OAUTH_STRATEGY=none every caller is the anonymous account.', elsewhere: 'The hub signs people in at the app of this server, on another origin. This page takes a token instead.' }[session.kind];
      const button = session.canSignIn && element('button', { type: 'button', class: 'primary', onclick: () => session.signIn() }, 'Sign in');
      return [element('p', { class: 'eyes' }, 'You see what the ', element('strong', {}, 'anonymous account'), ' sees.'), why && element('p', { class: 'hint' }, why), button];
    }
    const permissions = account?.dPermissions?.all ?? [];
    const out = session.source === 'pasted' ? 'Forget the token' : 'Sign out';
    return [
      element('p', { class: 'eyes' }, 'You see what ', element('strong', {}, name), ' sees.', account?.email && account.email !== name && element('span', { class: 'hint' }, ` ${account.email}`)),
      chips('Roles', (account?.roles ?? []).map((role) => role.name ?? role)),
      chips('Tenants', (account?.tenants ?? []).map((tenant) => tenant.name ?? tenant.code ?? tenant.id ?? tenant)),
      permissions.length > 0 && element('details', { class: 'permissions' }, element('summary', {}, counted(permissions.length, 'permission')), element('ul', { tabindex: '0', 'aria-label': 'Permissions' }, [...permissions].sort().map((permission) => element('li', {}, element('code', {}, permission))))),
      element('p', { class: 'buttons' }, element('button', { type: 'button', id: 'sign-out', onclick: () => this.onSignOut() }, out), this.copyToken()),
    ];
  }

  copyToken() {
    const button = copyButton(() => this.freshToken, 'the access token', 'Copy token');
    // The token may have to be renewed first, and a click can copy only what is there.
    button.addEventListener('pointerenter', () => this.fetchToken());
    button.addEventListener('focus', () => this.fetchToken());
    return button;
  }

  async fetchToken() {
    this.freshToken = await this.session.token().catch(() => undefined);
  }

  tokenForm() {
    if (this.session.kind === 'none' && !this.session.isSignedIn) return null;
    const input = element('input', { id: 'token-input', type: 'password', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'token-fault token-hint' });
    const fault = element('p', { class: 'fault-text', id: 'token-fault', role: 'alert' });
    const submit = (event) => {
      event.preventDefault();
      const token = input.value.trim().replace(/^Bearer\s+/i, '');
      const isPrintable = PRINTABLE_ASCII.test(token);
      fault.textContent = isPrintable ? '' : 'A token has only ASCII characters: letters without accents, digits and signs. This text has others.';
      input.setAttribute('aria-invalid', String(!isPrintable));
      if (isPrintable && token !== '') this.onToken(token);
      else input.focus();
    };
    const hint = element('p', { class: 'hint', id: 'token-hint' }, 'Sent as ', element('code', {}, 'Authorization'), ' with every request of this page. It stays in memory until you close or reload the page.');
    const form = element('form', { id: 'token-form', autocomplete: 'off', onsubmit: submit }, element('label', { for: 'token-input' }, 'Bearer token'), input, fault, hint, element('p', { class: 'buttons' }, element('button', { type: 'submit' }, 'Use token')));
    return element('details', { class: 'other', open: this.session.kind === 'elsewhere' }, element('summary', {}, 'Use another token'), form);
  }

  /** Closes the menu after a change of the account, and announces it. */
  changed(text) {
    this.close();
    this.summary.focus();
    announce(text);
  }
}

function chips(title, words) {
  if (words.length === 0) return null;
  return element('div', { class: 'rights' }, element('span', { class: 'hint' }, title), element('ul', { class: 'chips' }, words.map((word) => element('li', {}, element('code', {}, String(word))))));
}
