// From what a person chose in the form of a write to the body of the request. It is made as a text, so that no digit is lost.

import { compact, parse } from './json.js';
import { segments } from './pointer.js';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The forms of a write on the page, with the operation of each. */
export const FORMS = {
  create: { operation: 'create', label: 'create', verb: 'Create' },
  updateById: { operation: 'update', label: 'change', verb: 'Change' },
  deleteById: { operation: 'delete', label: 'delete', verb: 'Delete' },
  restoreById: { operation: 'restore', label: 'restore', verb: 'Restore' },
};

/** Whether a person writes the value as JSON. */
export function isJson({ type, array }) {
  return array || type === 'json';
}

/**
 * The JSON of what a person typed for a field: `{json}`, or `{fault}`. In place of a number, another text becomes a string, so that
 * the server reports it with the other faults.
 */
export function valueOf(field, typed) {
  if (isJson(field)) return jsonOf(typed);
  const text = typed.trim();
  if (field.type === 'bool') return { json: text === 'true' ? 'true' : 'false' };
  if (['int', 'bigint', 'float'].includes(field.type)) return { json: numberOf(typed) };
  if (field.type === 'timestamp') return { json: JSON.stringify(timestampOf(text)) };
  // The browser leaves out zero seconds.
  if (field.type === 'time') return { json: JSON.stringify(/^\d\d:\d\d$/.test(text) ? `${text}:00` : text) };
  return { json: JSON.stringify(field.type === 'text' ? typed : text) };
}

/** The digits of a number; any other text as a string. */
export function numberOf(typed) {
  const text = typed.trim();
  return NUMBER.test(text) ? text : JSON.stringify(typed);
}

/** `2024-05-01T10:00` of the browser's input, as UTC. */
function timestampOf(text) {
  const parts = /^(\d+-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?$/.exec(text);
  return parts ? `${parts[1]}${parts[2] ?? ':00'}Z` : text;
}

/** A text of JSON on one line, or the first fault in it. */
export function jsonOf(text) {
  const { root, faults } = parse(text);
  if (!root) return { fault: 'write a JSON value here' };
  return faults.length > 0 ? { fault: faults[0].message } : { json: compact(root, text) };
}

/** What an input shows for a value of a row. */
export function shownOf(field, node, text) {
  if (!node || text.slice(node.start, node.end) === 'null') return '';
  if (isJson(field)) return compact(node, text);
  const value = node.kind === 'string' ? node.value : text.slice(node.start, node.end);
  return field.type === 'timestamp' ? value.replace(/Z$/, '').replace(/(\.\d{3})\d+$/, '$1') : value;
}

/** The JSON of an object from its members as JSON. */
export function objectOf(members) {
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(', ')}}`;
}

/** The text of a body: `{"payload": …, "expect": …, "dryRun": true}`. */
export function bodyOf({ payload, expect }, isDryRun) {
  const members = [payload && ['payload', objectOf(payload)], expect && ['expect', expect], isDryRun && ['dryRun', 'true']];
  return objectOf(members.filter(Boolean));
}

/** The field of the payload that a fault points to: `/payload/total` gives `total`; undefined for any other place. */
export function fieldOf(pointer) {
  const [first, name] = segments(pointer);
  return first === 'payload' ? name : undefined;
}

/** `1 character`, `2 characters` */
function counted(count, noun) {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** The rules of a field in words: `required, at most 20 characters`. */
export function rulesOf(field, operation) {
  return [
    operation === 'create' && field.required && 'required',
    !field.nullable && !(operation === 'create' && field.required) && 'never null',
    field.min !== undefined && `at least ${field.min}`,
    field.max !== undefined && `at most ${field.max}`,
    field.minLength !== undefined && `at least ${counted(field.minLength, 'character')}`,
    field.maxLength !== undefined && `at most ${counted(field.maxLength, 'character')}`,
    field.minItems !== undefined && `at least ${counted(field.minItems, 'item')}`,
    field.maxItems !== undefined && `at most ${counted(field.maxItems, 'item')}`,
    // The description anchors the pattern of the manifest.
    field.pattern !== undefined && `matches ${field.pattern.replace(/^\^\(\?:([^]*)\)\$$/, '$1')}`,
    field.type === 'timestamp' && !field.array && 'in UTC',
  ].filter(Boolean).join(', ');
}
