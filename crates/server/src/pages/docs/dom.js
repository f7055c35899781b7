// Builds elements. Text always enters as text, never as markup, so that no name and no value can become code.

/** An element with attributes, listeners (`onclick: …`) and children: elements, texts, or nothing. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

/** Says something to those who do not see it happen. */
export function announce(text) {
  const place = document.getElementById('announcer');
  // The same text twice would be heard once.
  place.textContent = '';
  place.textContent = text;
}

/** A button that copies what `text()` says. */
export function copyButton(text, what, label = 'Copy') {
  const named = label === 'Copy' ? `Copy ${what}` : undefined;
  const button = element('button', { type: 'button', class: 'small', 'aria-label': named }, label);
  button.addEventListener('click', async () => {
    const done = await copy(text());
    button.textContent = done ? 'Copied' : 'Press Ctrl+C';
    announce(done ? `${what} copied` : 'Copying is not allowed here');
    setTimeout(() => { button.textContent = label; }, 1600);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain http to another host there is no clipboard; the old way may still work.
    const carrier = element('textarea', { class: 'unseen', 'aria-hidden': 'true', tabindex: '-1' });
    carrier.value = text;
    const before = document.activeElement;
    document.body.append(carrier);
    carrier.select();
    const done = document.execCommand('copy');
    carrier.remove();
    before?.focus();
    return done;
  }
}

/** `1 row`, `2 rows`, `1,200 rows`. */
export function counted(number, one, many = `${one}s`) {
  return `${Number(number).toLocaleString('en')} ${number === 1 ? one : many}`;
}
