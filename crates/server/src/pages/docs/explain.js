// The SQL tab: the merged statement, the SQL of each level, its parameters, and the source of each predicate.

import { copyButton, element } from './dom.js';
import { member, parse, pretty } from './json.js';
import { colouredJson } from './paint.js';
import { coloured, format } from './sql.js';

const SOURCES = {
  query: 'your query',
  constraint: 'your constraint',
  policy: 'the manifest’s policy',
  scope: 'the manifest’s scope',
  expect: 'your expect',
  check: 'the manifest’s check',
  returning: 'your returning',
};
/** The levels of a write in words. */
const LEVELS = {
  target: 'Find the rows',
  lock: 'Lock them',
  scope: 'Hold them against the scope',
  expect: 'Hold them against expect',
  change: 'Change them',
  after: 'Check them after the change',
  answer: 'Read the answer',
};

/** The view of an answer of `…/explain`, from its text. */
export function explained(text) {
  const { levels, total, operation } = JSON.parse(text);
  const merged = member(parse(text).root, 'statement');
  const statement = merged && pretty(merged, text);
  return element(
    'div',
    { class: 'explained' },
    levels.map((level) => levelView(level, operation !== undefined)),
    total && section('Total', sql(total.sql, 'the SQL of the total'), parameters(total.parameters)),
    statement && section('Merged statement', code(statement, colouredJson(statement), 'the merged statement')),
  );
}

function levelView({ path, sql: text, parameters: kinds, predicates, plan }, isWrite) {
  const name = isWrite && Object.hasOwn(LEVELS, path) ? LEVELS[path] : path === '' ? 'Rows' : path;
  const planned = plan && code(plan.join('\n'), plan.join('\n'), `the plan of ${name}`);
  return section(name, sql(text, `the SQL of ${name}`), parameters(kinds), predicates.length > 0 && origins(predicates, name), planned);
}

function section(title, ...children) {
  return element('section', {}, element('h3', {}, title), children);
}

function sql(text, what) {
  const formatted = format(text);
  return code(formatted, coloured(formatted), what);
}

function code(text, shown, what) {
  return element('div', { class: 'code' }, element('pre', { tabindex: '0', 'aria-label': what }, shown), copyButton(() => text, what));
}

function parameters(kinds) {
  const shown = kinds.length === 0 ? 'none' : kinds.map((kind, index) => `${index + 1}: ${kind}`).join(', ');
  return element('p', { class: 'hint' }, 'Parameters: ', element('code', {}, shown));
}

function origins(predicates, name) {
  const rows = predicates.map(({ source, resource, sql: text, unless }) =>
    element(
      'tr',
      {},
      element('td', {}, element('span', { class: `source ${Object.hasOwn(SOURCES, source) ? source : ''}` }, SOURCES[source] ?? source)),
      element('td', {}, resource),
      element('td', {}, unless ? ['lifted by the permission ', element('code', {}, unless)] : element('code', { class: 'sql' }, coloured(format(text)))),
    ),
  );
  return element(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': `Predicates of ${name}`, tabindex: '0' },
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ['From', 'Resource', 'Predicate'].map((name) => element('th', { scope: 'col' }, name)))),
      element('tbody', {}, rows),
    ),
  );
}
