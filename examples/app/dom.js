// Builds elements. A string always becomes a text node, never markup, so no value of the database can become code.

/** An element with attributes, listeners (`onclick: …`) and children: elements, strings, or nothing. */
export function element(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function shape(name, attributes = {}, ...children) {
  return furnish(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function furnish(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

/** Announces a message to screen readers. */
export function announce(text) {
  const place = document.getElementById('announcer');
  // A screen reader would not repeat the same text.
  place.textContent = '';
  place.textContent = text;
}

/** `1 row`, `2 rows`, `1,200 rows`. */
export function counted(number, one, many = `${one}s`) {
  return `${Number(number).toLocaleString('en')} ${Number(number) === 1 ? one : many}`;
}
