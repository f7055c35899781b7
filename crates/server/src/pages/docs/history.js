// The statements that ran in this tab, newest first. The session storage holds them, without tokens and answers.

const KEY = 'peristyle-docs.history';
const MAX_ENTRIES = 30;
/** A longer statement stays out, so that the storage cannot fill up. */
const MAX_CHARACTERS = 20_000;

/** The entries: `{resource, operation, id, statement, outcome, at}`. */
export function entries() {
  try {
    const read = JSON.parse(sessionStorage.getItem(KEY) ?? '[]');
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}

/** Adds a run. The same statement stands in the list once. */
export function remember(entry) {
  if (entry.statement.length > MAX_CHARACTERS) return;
  const isSame = (other) => ['resource', 'operation', 'id', 'statement'].every((key) => other[key] === entry[key]);
  const kept = [entry, ...entries().filter((other) => !isSame(other))].slice(0, MAX_ENTRIES);
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // The storage is full or forbidden: the page works without a history.
  }
}

export function clear() {
  sessionStorage.removeItem(KEY);
}
