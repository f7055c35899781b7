// The list of suggestions at the cursor: an accessible listbox. The editor keeps the focus and passes its keys on;
// `aria-activedescendant` names the active option.

import { announce, counted, element } from './dom.js';

export class Suggestions {
  /** `within()` is the element whose left and right edges the list keeps; by default the one around it. */
  constructor(input, onChoose, { id = 'suggestions', within = () => this.list.offsetParent } = {}) {
    Object.assign(this, { input, onChoose, id, within, options: [], index: 0 });
    this.list = element('ul', { class: 'suggestions', role: 'listbox', id, 'aria-label': 'Suggestions', hidden: true });
    // The editor must not lose the focus to a click or a scroll bar.
    this.list.addEventListener('mousedown', (event) => event.preventDefault());
    this.list.addEventListener('click', (event) => {
      const option = event.target.closest('[role=option]');
      if (option) this.onChoose(this.options[Number(option.dataset.index)]);
    });
    input.setAttribute('aria-autocomplete', 'list');
    input.setAttribute('aria-haspopup', 'listbox');
    input.setAttribute('aria-controls', id);
  }

  get isOpen() {
    return !this.list.hidden;
  }

  /** Shows options below a rectangle of the screen. */
  open(options, rectangle) {
    const wasOpen = this.isOpen;
    this.options = options;
    this.list.replaceChildren(
      ...options.map(({ label, detail }, index) =>
        element('li', { role: 'option', id: `${this.id}-${index}`, 'data-index': index, 'aria-selected': 'false' }, element('span', { class: 'label' }, label), element('span', { class: 'detail' }, detail)),
      ),
    );
    this.list.hidden = false;
    this.#tell();
    this.place(rectangle);
    this.select(0);
    if (!wasOpen) announce(`${counted(options.length, 'suggestion')}: ${options[0].label}`);
  }

  /** Places the list below the cursor, or above it at the end of the window. */
  place(rectangle) {
    const around = this.list.offsetParent.getBoundingClientRect();
    const edges = this.within().getBoundingClientRect();
    const left = Math.max(edges.left + 4, Math.min(rectangle.left, edges.right - this.list.offsetWidth - 4)) - around.left;
    const fitsBelow = rectangle.bottom + this.list.offsetHeight + 8 < window.innerHeight || rectangle.top < this.list.offsetHeight;
    const top = fitsBelow ? rectangle.bottom - around.top + 4 : rectangle.top - around.top - this.list.offsetHeight - 4;
    this.list.style.left = `${left}px`;
    this.list.style.top = `${top}px`;
  }

  select(index) {
    this.index = (index + this.options.length) % this.options.length;
    for (const [at, option] of [...this.list.children].entries()) {
      option.setAttribute('aria-selected', String(at === this.index));
    }
    const chosen = this.list.children[this.index];
    this.input.setAttribute('aria-activedescendant', chosen.id);
    if (chosen.offsetTop < this.list.scrollTop) this.list.scrollTop = chosen.offsetTop;
    const below = chosen.offsetTop + chosen.offsetHeight - this.list.clientHeight;
    if (below > this.list.scrollTop) this.list.scrollTop = below;
  }

  close() {
    if (!this.isOpen) return;
    this.list.hidden = true;
    this.#tell();
    this.input.removeAttribute('aria-activedescendant');
  }

  /** An input of one line is a combobox, which says whether its list is open. A text area cannot be one. */
  #tell() {
    if (this.input.getAttribute('role') === 'combobox') this.input.setAttribute('aria-expanded', String(this.isOpen));
  }

  /** Handles a key while open. Returns whether it did. */
  key(event) {
    if (!this.isOpen || event.ctrlKey || event.metaKey || event.altKey) return false;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (Object.hasOwn(moves, event.key)) {
      const far = Math.abs(moves[event.key]) > 1;
      const wanted = this.index + moves[event.key];
      this.select(far ? Math.max(0, Math.min(wanted, this.options.length - 1)) : wanted);
    } else if ((event.key === 'Enter' || event.key === 'Tab') && !event.shiftKey) {
      this.onChoose(this.options[this.index]);
    } else if (event.key === 'Escape') {
      this.close();
    } else {
      return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}
