// A button that opens a panel below it. Escape and a click elsewhere close it, and the focus returns to the button.

import { element } from './dom.js';

export class Menu {
  /** `fill()` gives the content each time the panel opens. */
  constructor(label, fill, attributes = {}) {
    this.fill = fill;
    this.summary = element('summary', {}, label);
    this.panel = element('div', { class: 'panel' });
    this.node = element('details', { class: 'menu', ...attributes }, this.summary, this.panel);
    this.node.addEventListener('toggle', () => {
      if (this.node.open) this.panel.replaceChildren(...[this.fill()].flat());
    });
    this.node.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.node.open) return;
      event.stopPropagation();
      this.close();
      this.summary.focus();
    });
    this.onPress = (event) => {
      if (!this.node.contains(event.target)) this.close();
    };
    document.addEventListener('pointerdown', this.onPress);
  }

  close() {
    this.node.open = false;
  }

  /** Stops listening, when the menu leaves the page. */
  remove() {
    document.removeEventListener('pointerdown', this.onPress);
  }
}
