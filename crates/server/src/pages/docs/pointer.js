// Finds places in a text and its tree: the offsets of a JSON Pointer, and the value or key at a cursor.

/** The keys and indexes of a JSON Pointer. */
export function segments(pointer) {
  return pointer.split('/').slice(1).map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * The offsets of a JSON Pointer in the text, as `{start, end, whole}`. For a pointer to something that is missing: the
 * deepest part that exists, with `whole: false`.
 */
export function locate(root, pointer) {
  let node = root;
  let range = root ? { start: root.start, end: root.start + 1, whole: true } : { start: 0, end: 0, whole: pointer === '' };
  for (const segment of segments(pointer)) {
    if (node?.kind === 'object') {
      // Of two equal keys the last one is the fault.
      const found = node.members.findLast((member) => member.key.value === segment);
      if (!found) return { ...range, whole: false };
      node = found.value;
      range = { start: found.key.start, end: isScalar(node) ? node.end : found.key.end, whole: true };
    } else if (node?.kind === 'array') {
      const found = node.items[Number(segment)];
      if (!found) return { ...range, whole: false };
      node = found.value;
      range = { start: node.start, end: isScalar(node) ? node.end : node.start + 1, whole: true };
    } else {
      return { ...range, whole: false };
    }
  }
  return range;
}

function isScalar(node) {
  return node !== null && node.kind !== 'object' && node.kind !== 'array';
}

/** Line and column of an offset, both from 1. */
export function lineAndColumn(text, offset) {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { line, column: offset - before.lastIndexOf('\n') };
}

/**
 * What the cursor is in: `{role: 'key' | 'value', path, from, to, typed, container, bare, after, before}`.
 * For a key, `path` leads to its object; for a value, to the value itself. `from` and `to` are the offsets of the word.
 * `before` means that a comma is missing before it, `after` that something follows it without a comma.
 * Null where nothing can be inserted.
 */
export function placeAt(root, text, cursor) {
  if (!root) return value([], cursor, cursor, '', null);
  return within(root, [], null, cursor, text);
}

function value(path, from, to, typed, container, more = {}) {
  return { role: 'value', path, from, to, typed, container, before: false, after: false, ...more };
}

/** Whether the cursor is inside the node, between its quotes or brackets. */
function holds(node, cursor) {
  if (node.start >= cursor) return false;
  const isOpen = node.closed === false || node.kind === 'number' || node.kind === 'literal' || node.bare;
  return isOpen ? cursor <= node.end : cursor < node.end;
}

function within(node, path, container, cursor, text) {
  if (!holds(node, cursor)) return null;
  if (node.kind === 'object') return withinObject(node, path, cursor, text);
  if (node.kind === 'array') return withinArray(node, path, cursor, text);
  const opening = node.kind === 'string' ? 1 : 0;
  return value(path, node.start, node.end, text.slice(node.start + opening, cursor), container);
}

function withinObject(node, path, cursor, text) {
  const index = node.members.findLastIndex((member) => member.key.start < cursor);
  const last = node.members[index];
  const next = node.members[index + 1];
  const key = (from, to, typed, more) => ({ role: 'key', path, from, to, typed, container: node, member: null, before: false, after: false, ...more });
  if (!last) return key(cursor, cursor, '', { after: next !== undefined });
  if (holds(last.key, cursor)) {
    const typed = text.slice(last.key.start + (last.key.bare ? 0 : 1), cursor);
    return key(last.key.start, last.key.end, typed, { member: last, after: last.comma < 0 && last.colon < 0 && next !== undefined });
  }
  const inner = [...path, last.key.value];
  if (last.value && holds(last.value, cursor)) return within(last.value, inner, node, cursor, text);
  if (last.colon < 0) return null;
  if (cursor <= last.colon) return null;
  if (!last.value) return value(inner, cursor, cursor, '', node, { after: last.comma < 0 && next !== undefined });
  if (cursor <= last.value.start) return null;
  const separated = last.comma >= 0 && last.comma < cursor;
  // Nothing fits between a value and its comma.
  if (!separated && last.comma >= 0) return null;
  return key(cursor, cursor, '', { before: !separated, after: next !== undefined });
}

function withinArray(node, path, cursor, text) {
  const index = node.items.findLastIndex((item) => item.value.start < cursor);
  const last = node.items[index];
  const next = node.items[index + 1];
  if (last && holds(last.value, cursor)) return within(last.value, [...path, String(index)], node, cursor, text);
  const separated = !last || (last.comma >= 0 && last.comma < cursor);
  if (!separated && last.comma >= 0) return null;
  return value([...path, String(index + 1)], cursor, cursor, '', node, { before: !separated, after: next !== undefined });
}
