// The state of the page in the fragment of the URL, so that it can be shared. A browser sends the fragment to no server.

const KEYS = ['resource', 'operation', 'id', 'fields', 'statement'];

/** The state in a fragment; a key that is missing is undefined. */
export function read(fragment) {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  return Object.fromEntries(KEYS.map((key) => [key, parameters.get(key) ?? undefined]));
}

/** The fragment for a state. */
export function write(state) {
  const parameters = new URLSearchParams();
  for (const key of KEYS) {
    if (state[key] !== undefined && state[key] !== '') parameters.set(key, state[key]);
  }
  return `#${parameters}`;
}

/** The fragment of a resource. */
export function linkTo(resource) {
  return write({ resource });
}
