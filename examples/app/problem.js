// Error messages for people. The API sends problem+json, the sign-in endpoints send OAuth errors.

import { element } from './dom.js';

/** An error answer. */
export class Problem extends Error {
  constructor(status, { title, detail, code, error, error_description: description, errors } = {}) {
    super(sentence(detail ?? description ?? error ?? 'The server gave no reason.'));
    this.status = status;
    this.code = code ?? error;
    this.title = title ?? `The server answered ${status}`;
    this.faults = errors ?? [];
  }

  /** The problem in an answer. */
  static async of(answer) {
    return new Problem(answer.status, await answer.json().catch(() => ({})));
  }
}

/** A problem on the page, with a button to try again. */
export function shown(error, again) {
  const isProblem = error instanceof Problem;
  const title = isProblem ? error.title : 'The server cannot be reached';
  const faults = isProblem && error.faults.length > 1 ? error.faults : [];
  return element(
    'div',
    { class: 'problem', role: 'alert' },
    element('p', {}, element('strong', {}, title)),
    element('p', {}, isProblem ? error.message : 'You may be offline, or the server is not there. Try again in a moment.'),
    faults.length > 0 && element('ul', {}, faults.map(({ path, message }) => element('li', {}, element('code', {}, path), ` ${message}`))),
    again && element('button', { type: 'button', onclick: again }, 'Try again'),
  );
}

/** Starts with a capital, unless it starts with a name: `state: …`, `refresh_token …`. */
function sentence(text) {
  const begun = /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return begun + (/[.!?]$/.test(text) ? '' : '.');
}
