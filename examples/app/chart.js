// Revenue as a bar chart: one aggregation with a chosen grouping. The bars are in a table, for screen readers.

import { ask } from './api.js';
import { counted, element, shape } from './dom.js';
import { filterForm, selection } from './filters.js';
import { cell } from './format.js';
import { inspector } from './inspector.js';
import { shown } from './problem.js';
import { ofChart } from './statement.js';

/** The view of a chart. */
export function chartView(chart, { may, go, onrefused }) {
  return (first) => {
    let choices = first;
    let running = new AbortController();
    const panel = inspector();
    const named = (options) => Object.entries(options).map(([name, { label }]) => [name, label]);
    const controls = [selection('by', 'Group by', named(chart.groups)), selection('measure', 'Show', named(chart.measures))];
    const filters = filterForm(chart.filters, (chosen) => go(chosen, 'replace'), controls);
    const place = element('div', { class: 'chart' });
    const half = element('div', { class: 'half' }, place);
    const node = element('div', { class: 'list' }, element('h1', {}, 'Revenue'), filters.node, element('div', { class: 'halves' }, half, panel.node));

    const load = async () => {
      running.abort();
      const mine = new AbortController();
      running = mine;
      const group = chart.groups[known(chart.groups, choices.get('by')) ?? 'country'];
      const name = known(chart.measures, choices.get('measure')) ?? 'revenue';
      half.setAttribute('aria-busy', 'true');
      try {
        const rows = await ask(`${chart.address}/list`, ofChart(chart, group, choices, may), { signal: mine.signal });
        place.replaceChildren(bars(rows, group, [name, chart.measures[name]]));
      } catch (error) {
        if (mine.signal.aborted) return;
        if (onrefused(error)) return;
        place.replaceChildren(shown(error, load));
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
    return { title: 'Revenue', node, update, close };
  };
}

/** The name if it is an option. It must be an own property: every object has `constructor`. */
function known(options, name) {
  return Object.hasOwn(options, name) ? name : undefined;
}

function bars(rows, group, [name, measure]) {
  if (rows.length === 0) return element('p', { class: 'hint' }, 'No order fits.');
  const value = (row) => Number(row[name] ?? 0);
  // Months are sorted by time; everything else by size.
  const sorted = group.isTimeline ? rows : rows.toSorted((one, other) => value(other) - value(one));
  const most = Math.max(...rows.map(value), 1);
  const caption = `${measure.label} by ${group.label.toLowerCase()}, ${counted(rows.length, 'group')}`;
  return element(
    'table',
    { class: 'bars' },
    element('caption', {}, caption),
    element('thead', { class: 'unseen' }, element('tr', {}, element('th', { scope: 'col' }, group.label), element('th', { scope: 'col' }, measure.label), element('td'))),
    element('tbody', {}, sorted.map((row) => element(
      'tr',
      {},
      element('th', { scope: 'row' }, cell(row[group.field], group.show)),
      element('td', { class: 'figure' }, cell(row[name], measure.kind)),
      element('td', { class: 'bar', 'aria-hidden': 'true' }, bar(value(row) / most)),
    ))),
  );
}

function bar(share) {
  const width = Math.max(0.4, share * 100).toFixed(2);
  return shape('svg', { width: '100%', height: '14', focusable: 'false' }, shape('rect', { width: `${width}%`, height: '14', rx: '3' }));
}
