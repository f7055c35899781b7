// Formats values for people. Decimals are exact strings and never become floats.

import { element } from './dom.js';

const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });
const COUNTRY = new Intl.DisplayNames('en', { type: 'region' });

/** `€1,234.50` from `"1234.50"`. */
export function money(text) {
  const [whole, cents = ''] = String(text).split('.');
  return `€${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${cents.padEnd(2, '0').slice(0, 2)}`;
}

export const number = (value) => Number(value).toLocaleString('en');
export const country = (code) => COUNTRY.of(code);
export const month = (text) => MONTH.format(new Date(`${text}-01T00:00:00Z`));

const KINDS = {
  money,
  // An average has more digits than an amount of money.
  average: (text) => money(Number(text).toFixed(2)),
  number,
  country,
  month,
  day: (text) => DAY.format(new Date(`${text}T00:00:00Z`)),
  dayOf: (text) => DAY.format(new Date(text)),
  moment: (text) => MOMENT.format(new Date(text)),
  status: (text) => element('span', { class: `status ${text}` }, text),
  flag: (value) => (value ? 'yes' : 'no'),
};

/** The content of a cell. */
export function cell(value, kind) {
  if (value === null || value === undefined) return element('span', { class: 'nothing' }, '–');
  return KINDS[kind]?.(value) ?? String(value);
}

/** Whether values of this kind are right-aligned. */
export function isFigure(kind) {
  return kind === 'money' || kind === 'average' || kind === 'number';
}
