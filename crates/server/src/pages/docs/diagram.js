// A resource and its neighbours as a drawing: a box for each, with a link to it.

import { svg } from './dom.js';
import { linkTo } from './fragment.js';

const BOX = { width: 208, height: 50 };
const GAP = 14;
/** Above and below the boxes: room for a line from a box to itself. */
const LOOP = 22;
/** More neighbours would hide the drawing; the table of relations has them all. */
const MAX_SIDE = 8;
const MAX_LETTERS = 25;

/** The neighbours: those that the resource leads to, and those that lead to it; and its relations to itself. */
export function neighbours(resource, catalog) {
  const outgoing = new Map();
  const own = [];
  for (const { name, many, target } of resource.relations) {
    if (target === resource.name) own.push(name);
    else if (catalog.resource(target)) outgoing.set(target, [...(outgoing.get(target) ?? []), `${name} · ${many ? 'many' : 'one'}`]);
  }
  const incoming = new Map();
  for (const other of catalog.resources.filter(({ name }) => name !== resource.name && !outgoing.has(name))) {
    const names = other.relations.filter(({ target }) => target === resource.name).map(({ name }) => `its ${name}`);
    if (names.length > 0) incoming.set(other.name, names);
  }
  return { outgoing: [...outgoing], incoming: [...incoming], own };
}

/** The drawing, or null for a resource without neighbours. On a narrow screen the neighbours stand below the resource. */
export function diagram(resource, catalog, isNarrow) {
  const { outgoing, incoming, own } = neighbours(resource, catalog);
  if (outgoing.length + incoming.length + own.length === 0) return null;
  const centre = (x, y) => ownBox(resource, own, { x, y });
  return isNarrow ? narrow({ resource, centre }, [...outgoing, ...incoming].slice(0, MAX_SIDE)) : wide({ resource, centre }, outgoing.slice(0, MAX_SIDE), incoming.slice(0, MAX_SIDE));
}

function drawing(resource, width, height, ...children) {
  return svg('svg', { class: 'diagram', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `${resource.name} and its neighbours` }, ...children);
}

function wide({ resource, centre: own }, outgoing, incoming) {
  const column = BOX.width + 84;
  const heightOf = (list) => list.length * (BOX.height + GAP) - GAP;
  const height = Math.max(BOX.height, heightOf(outgoing), heightOf(incoming)) + 2 * LOOP;
  const [left, centre, right] = incoming.length > 0 ? [2, column + 2, 2 * column + 2] : [2, 2, column + 2];
  const width = (outgoing.length > 0 ? right : centre) + BOX.width + 2;
  const middle = height / 2;
  const side = (list, x, from, to) => {
    const top = middle - heightOf(list) / 2;
    return list.map(([name, words], index) => {
      const y = top + index * (BOX.height + GAP);
      return [edge(from, middle, to, y + BOX.height / 2), neighbour(name, words, x, y)];
    });
  };
  const drawn = [...side(incoming, left, centre, left + BOX.width), ...side(outgoing, right, centre + BOX.width, right)];
  return drawing(resource, width, height, drawn.map(([line]) => line), own(centre, middle - BOX.height / 2), drawn.map(([, box]) => box));
}

function narrow({ resource, centre: own }, list) {
  const height = LOOP + (list.length + 1) * (BOX.height + GAP) - GAP + 2;
  const x = 40;
  const drawn = list.map(([name, words], index) => {
    const y = LOOP + (index + 1) * (BOX.height + GAP);
    const line = svg('path', { class: 'edge', d: `M 18 ${BOX.height + LOOP} V ${y + BOX.height / 2} H ${x}` });
    return [line, neighbour(name, words, x, y)];
  });
  return drawing(resource, x + BOX.width + 4, height, drawn.map(([line]) => line), own(2, LOOP), drawn.map(([, box]) => box));
}

function edge(x, y, toX, toY) {
  const half = (x + toX) / 2;
  return svg('path', { class: 'edge', d: `M ${x} ${y} C ${half} ${y} ${half} ${toY} ${toX} ${toY}` });
}

function box(x, y, title, detail) {
  return [
    svg('rect', { x, y, width: BOX.width, height: BOX.height, rx: 8 }),
    svg('text', { class: 'title', x: x + 12, y: y + 21 }, short(title)),
    svg('text', { class: 'detail', x: x + 12, y: y + 39 }, short(detail)),
  ];
}

/** The box of the resource, with a line from it to itself for its own relations. */
function ownBox(resource, own, { x, y }) {
  const right = x + BOX.width - 16;
  const loop = svg('path', { class: 'edge', d: `M ${right - 30} ${y} C ${right - 30} ${y - LOOP} ${right} ${y - LOOP} ${right} ${y}` });
  const detail = own.length > 0 ? `↻ ${own.join(', ')}` : `${resource.fields.length} fields`;
  return svg('g', { class: 'own' }, own.length > 0 && loop, box(x, y, resource.name, detail));
}

function neighbour(name, words, x, y) {
  const detail = words.join(', ');
  const [shown, whole] = [`${short(name)} ${short(detail)}`, `${name} ${detail}`];
  // A name for speech control begins with the words that are seen.
  return svg('a', { href: linkTo(name), 'aria-label': shown === whole ? undefined : `${shown}: ${whole}` }, box(x, y, name, detail));
}

function short(text) {
  return text.length > MAX_LETTERS ? `${text.slice(0, MAX_LETTERS - 1)}…` : text;
}
