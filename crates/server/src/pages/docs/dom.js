// Builds elements. Text always enters as text, never as markup, so that no name and no value can become code.

/** An element with attributes, listeners (`onclick: …`) and children: elements, texts, or nothing. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for a part of a drawing. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  made.append(...children.flat(2).filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

/** Announces a text to screen readers. */
export function announce(text) {
  const place = document.getElementById('announcer');
  // A screen reader skips the same text unless it changes in between.
  place.textContent = '';
  place.textContent = text;
}

/** A button that copies the result of `text()`; undefined is not copied. */
export function copyButton(text, what, label = 'Copy') {
  const named = label === 'Copy' ? `Copy ${what}` : undefined;
  const button = element('button', { type: 'button', class: 'small', 'aria-label': named }, label);
  button.addEventListener('click', async () => {
    const copied = text();
    if (copied === undefined) return;
    if (!(await copy(copied))) {
      offer(copied, what);
      return;
    }
    button.textContent = 'Copied';
    announce(`${what} copied`);
    setTimeout(() => { button.textContent = label; }, 1600);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Plain http has no clipboard API; `execCommand` may still work.
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

/** Shows a text that the browser did not let the page copy, selected for Ctrl+C. */
function offer(text, what) {
  const field = element('textarea', { readonly: true, rows: '10', spellcheck: 'false', 'aria-label': what });
  field.value = text;
  const close = element('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
  const hint = element('p', { id: 'copy-hint' }, 'The page may not copy here. The text is selected: press ', element('kbd', {}, 'Ctrl+C'), ' to copy it.');
  const dialog = element('dialog', { class: 'copy', 'aria-labelledby': 'copy-hint', onclose: () => dialog.remove() }, hint, field, close);
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
  field.select();
}

/** `1 row`, `2 rows`, `1,200 rows`. */
export function counted(number, one, many = `${one}s`) {
  return `${Number(number).toLocaleString('en')} ${number === 1 ? one : many}`;
}
