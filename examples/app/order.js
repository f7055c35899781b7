// The page of one order: changes its status. The change names the version that the page has read, so that it overwrites nobody's work.

import { ask, write } from './api.js';
import { announce, element } from './dom.js';
import { cell } from './format.js';
import { inspector } from './inspector.js';
import { Problem, shown } from './problem.js';
import { ORDER } from './resources.js';

/** Why an order was not changed, in our own words. */
const REFUSALS = new Map([
  ['STALE', ['Somebody else changed this order', 'It has changed since you opened it. Nothing was saved. Load it again, look at it, and then change it.']],
  ['OUT_OF_SCOPE', ['This order is closed', `A shipped or returned order can be changed with the permission ${ORDER.correct} only. Nothing was saved.`]],
  ['CHECK_FAILED', ['You may not give it this status', `Only somebody with the permission ${ORDER.correct} takes an order back. Nothing was saved.`]],
]);

/** The view of the order with this id. `may(permission)` says whether the viewer holds it. */
export function orderView(id, { may, onrefused }) {
  return () => {
    const panel = inspector();
    const title = `Order ${id}`;
    const place = element('div', { class: 'half', 'aria-busy': 'true' });
    const node = element('div', { class: 'order' }, element('p', {}, element('a', { href: '/orders', 'data-app': '' }, 'All orders')), element('h1', {}, title), element('div', { class: 'halves' }, place, panel.node));
    const load = async () => {
      place.setAttribute('aria-busy', 'true');
      try {
        show(await ask(`${ORDER.address}/find/${encodeURIComponent(id)}`, { relations: { customer: true } }));
      } catch (error) {
        if (!onrefused(error)) place.replaceChildren(shown(error, error.status === 404 ? undefined : load));
      }
      place.removeAttribute('aria-busy');
    };
    const show = (order, told) => {
      const notice = element('div', { class: 'saved', role: 'status' }, told);
      place.replaceChildren(facts(order), may(ORDER.permission) ? form(order, { notice, save }) : element('p', { class: 'hint' }, `To change it you need the permission ${ORDER.permission}.`), notice);
    };
    /** Sends the change with the version that the page has read. */
    const save = async (order, status, notice) => {
      place.setAttribute('aria-busy', 'true');
      try {
        const changed = await write(`${ORDER.address}/update/${encodeURIComponent(id)}`, { payload: { status, version: order.version }, returning: { relations: { customer: true } } });
        show(changed, `Saved: the order is ${changed.status}, version ${changed.version}.`);
        place.querySelector('button')?.focus();
        announce(`Saved: the order is ${changed.status}`);
      } catch (error) {
        if (!onrefused(error)) notice.replaceChildren(refusal(error, load));
      }
      place.removeAttribute('aria-busy');
    };
    load();
    return { title, node, close: panel.close };
  };
}

function facts(order) {
  const lines = ORDER.facts.map(({ label, field, kind }) => {
    const value = field.split('.').reduce((part, name) => part?.[name], order);
    return element('div', {}, element('dt', {}, label), element('dd', {}, cell(value, kind)));
  });
  return element('dl', { class: 'facts' }, lines);
}

function form(order, { notice, save }) {
  const select = element('select', { id: 'status', name: 'status' }, ORDER.statuses.map((status) => element('option', { value: status, selected: status === order.status }, status)));
  const submit = (event) => {
    event.preventDefault();
    if (select.value === order.status) notice.replaceChildren('This is its status already.');
    else save(order, select.value, notice);
  };
  return element('form', { class: 'filters', 'aria-label': 'Status', onsubmit: submit }, element('p', { class: 'part' }, element('label', { for: 'status' }, 'New status'), select), element('button', { type: 'submit', class: 'primary' }, 'Save'));
}

/** A refusal in words, with a way on if the order has changed. */
function refusal(error, load) {
  const words = error instanceof Problem ? REFUSALS.get(error.code) : undefined;
  if (!words) return shown(error);
  const [title, detail] = words;
  return element('div', { class: 'problem', role: 'alert' }, element('p', {}, element('strong', {}, title)), element('p', {}, detail), error.status === 412 && element('button', { type: 'button', onclick: load }, 'Load it again'));
}
