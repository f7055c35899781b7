// The statements that ran in this tab, newest first. The session storage holds them, without tokens and answers.

import { HISTORY } from './remembered.js';

const MAX_ENTRIES = 30;
/** A longer statement stays out, so that the storage cannot fill up. */
const MAX_CHARACTERS = 20_000;

/** The entries: `{resource, operation, id, fields, statement, outcome, at}`. */
export function entries() {
  try {
    const read = JSON.parse(sessionStorage.getItem(HISTORY) ?? '[]');
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}

const isSame = (one, other) => ['resource', 'operation', 'id', 'fields', 'statement'].every((key) => one[key] === other[key]);

/** Whether this statement ran in this tab. */
export function hasRun(state) {
  return entries().some((entry) => isSame(entry, state));
}

/** Adds a run. The same statement stands in the list once; a page stands there in place of the one before it, `replaced`. */
export function remember(entry, replaced) {
  if (entry.statement.length > MAX_CHARACTERS) return;
  const isGone = (other) => isSame(other, entry) || (replaced && isSame(other, replaced));
  const kept = [entry, ...entries().filter((other) => !isGone(other))].slice(0, MAX_ENTRIES);
  try {
    sessionStorage.setItem(HISTORY, JSON.stringify(kept));
  } catch {
    // The storage is full or forbidden: the page works without a history.
  }
}

export function clear() {
  sessionStorage.removeItem(HISTORY);
}
