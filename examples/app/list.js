// The table of a resource, with filters, pages and its statement.

import { ask } from './api.js';
import { announce, counted, element } from './dom.js';
import { filterForm } from './filters.js';
import { inspector } from './inspector.js';
import { shown } from './problem.js';
import { PAGE, ofDetails, ofTable, orderOf, pageOf } from './statement.js';
import { plainTable, sortableTable } from './table.js';

/** The view of a resource. `may(permission)` says whether the viewer holds it, `go(choices, step)` changes the URL. */
export function listView(resource, { may, go, onrefused }) {
  return (first) => {
    let choices = first;
    let running = new AbortController();
    const panel = inspector();
    const filters = filterForm(resource.filters.filter(({ permission }) => may(permission)), (chosen) => go(withSort(chosen, choices), 'replace'));
    const table = sortableTable({
      label: resource.title,
      columns: resource.columns,
      named: resource.named,
      may,
      onsort: (field) => go(sorted(resource, choices, field), 'push'),
      onopen: (row) => details(resource, row, may),
    });
    const trouble = element('div');
    const status = element('p', { class: 'total', role: 'status', tabindex: '-1' });
    const pages = element('nav', { class: 'pages', 'aria-label': 'Pages' });
    const half = element('div', { class: 'half' }, trouble, status, table.node, pages);
    const node = element('div', { class: 'list' }, element('h1', {}, resource.title), filters.node, element('div', { class: 'halves' }, half, panel.node));

    const load = async () => {
      running.abort();
      const mine = new AbortController();
      running = mine;
      half.setAttribute('aria-busy', 'true');
      try {
        const page = await ask(`${resource.address}/paginate`, ofTable(resource, choices, may), { signal: mine.signal });
        table.draw(page.rows, orderOf(resource, choices));
        status.textContent = told(resource, page, choices);
        exchange(trouble, [], status);
        exchange(pages, pager(page.total, choices, go), status);
      } catch (error) {
        if (mine.signal.aborted) return;
        if (onrefused(error)) return;
        table.draw([], orderOf(resource, choices));
        status.textContent = '';
        exchange(trouble, [shown(error, load)], status);
        exchange(pages, [], trouble.querySelector('button'));
      }
      if (running === mine) half.removeAttribute('aria-busy');
    };
    const update = (next) => {
      choices = next;
      filters.set(choices);
      load();
    };
    update(choices);
    const close = () => {
      running.abort();
      panel.close();
    };
    return { title: resource.title, node, update, close };
  };
}

/** Replaces children. The keyboard focus moves to the matching new child, or to `otherwise`. */
function exchange(place, children, otherwise) {
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...children);
  if (!held) return;
  const like = [...place.querySelectorAll('button:enabled')].find((button) => button.textContent === held.textContent);
  // The page has scrolled to the first row; keep it there.
  (like ?? otherwise).focus({ preventScroll: true });
}

/** The relations of a row, loaded when it opens: one request for all levels. */
function details(resource, row, may) {
  const place = element('div', { class: 'details', 'aria-busy': 'true' }, element('p', { class: 'hint' }, 'Loading …'));
  const load = async () => {
    try {
      const whole = await ask(`${resource.address}/find/${encodeURIComponent(row.id)}`, ofDetails(resource, may));
      const parts = resource.details.filter(({ permission }) => may(permission));
      const rowsOf = (value) => (Array.isArray(value) ? value : [value].filter(Boolean));
      place.replaceChildren(...parts.map(({ title, relation, columns }) => element('section', {}, element('h2', {}, title), plainTable(title, columns, rowsOf(whole[relation])))));
      const { edit } = resource;
      if (edit && may(edit.permission)) place.append(element('p', {}, element('a', { href: `${edit.path}/${encodeURIComponent(row.id)}`, 'data-app': '' }, edit.label)));
      if (parts.length === 0) place.replaceChildren(element('p', { class: 'hint' }, 'You may not see what belongs to it.'));
      announce(`Details of ${row[resource.named]}`);
    } catch (error) {
      place.replaceChildren(shown(error, load));
    }
    place.removeAttribute('aria-busy');
  };
  load();
  return place;
}

function withSort(chosen, before) {
  if (before.has('sort')) chosen.set('sort', before.get('sort'));
  return chosen;
}

/** The opposite direction if the table is sorted by this field already. */
function sorted(resource, choices, field) {
  const [now, dir] = orderOf(resource, choices);
  const next = new URLSearchParams(choices);
  next.set('sort', now === field && dir === 'asc' ? `-${field}` : field);
  next.delete('page');
  return next;
}

function told(resource, { total, count }, choices) {
  if (count === 0) return total === 0 ? `No ${resource.one} fits.` : 'There is no such page.';
  const first = (pageOf(choices) - 1) * PAGE + 1;
  return `${first.toLocaleString('en')} to ${(first + count - 1).toLocaleString('en')} of ${counted(total, resource.one)}`;
}

function pager(total, choices, go) {
  const last = Math.max(1, Math.ceil(total / PAGE));
  const page = Math.min(last, pageOf(choices));
  const step = (label, target, isOff) =>
    element('button', { type: 'button', disabled: isOff, onclick: () => {
      const next = new URLSearchParams(choices);
      if (target === 1) next.delete('page');
      else next.set('page', String(target));
      go(next, 'push');
    } }, label);
  return [
    step('First', 1, page === 1),
    step('Previous', page - 1, page === 1),
    element('span', {}, `Page ${page.toLocaleString('en')} of ${last.toLocaleString('en')}`),
    step('Next', page + 1, page === last),
    step('Last', last, page === last),
  ];
}
