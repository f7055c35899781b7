// What the page shows, kept in the address's fragment so that it can be shared. A fragment is not sent to any server.

const KEYS = ['resource', 'operation', 'id', 'statement'];

/** What a fragment asks for; what it does not say is undefined. */
export function read(fragment) {
  const said = new URLSearchParams(fragment.replace(/^#/, ''));
  return Object.fromEntries(KEYS.map((key) => [key, said.get(key) ?? undefined]));
}

/** The fragment that asks for this. */
export function write(state) {
  const said = new URLSearchParams();
  for (const key of KEYS) {
    if (state[key] !== undefined && state[key] !== '') said.set(key, state[key]);
  }
  return `#${said}`;
}

/** The fragment of a resource. */
export function linkTo(resource) {
  return write({ resource });
}
