// The modules of /docs that read statements, without a browser: offsets, pointers, completion.

import assert from 'node:assert/strict';
import { test } from 'node:test';

const from = (name) => import(new URL(`../../crates/server/src/pages/docs/${name}`, import.meta.url));
const { compact, parse, pretty } = await from('json.js');
const { lineAndColumn, locate, placeAt, segments } = await from('pointer.js');
const { Catalog, pathOfRow } = await from('catalog.js');
const { complete } = await from('complete.js');
const { read, write } = await from('fragment.js');
const { bodyOf, curl, pointerInText } = await from('request.js');
const { examples, firstExample, operatorExample, valuesIn } = await from('examples.js');
const { OPERATORS } = await from('grammar.js');
const { graphql, typescript } = await from('snippets.js');
const { format } = await from('sql.js');
const { neighbours } = await from('diagram.js');
const { Trail, pagesBeside } = await from('paging.js');
const { fieldsParameter, namesIn, showable } = await from('fields-input.js');

const field = (name, type, operators, more = {}) => ({ name, type, array: false, nullable: true, key: false, operators, functions: ['count'], sortable: true, ...more });
const catalog = new Catalog({
  explain: false,
  resources: [
    {
      name: 'shop.customer',
      context: 'shop',
      resource: 'customer',
      key: ['id'],
      operations: [{ name: 'paginate', address: '/api/shop/customers/paginate' }, { name: 'findById', address: '/api/shop/customers/find/{id}' }],
      fields: [
        field('id', 'bigint', ['eq', 'gt', 'in', 'between'], { functions: ['count', 'sum', 'min'] }),
        field('name', 'text', ['eq', 'in', 'iLike']),
        field('status', 'enum', ['eq', 'in', 'iLike'], { values: ['lead', 'active'] }),
        field('isVip', 'bool', ['eq', 'isNull']),
        field('tags', 'text', ['contains', 'isNull'], { array: true, sortable: false }),
        field('email', 'text', [], { mask: 'email', functions: [], sortable: false }),
      ],
      relations: [{ name: 'orders', many: true, target: 'shop.order' }, { name: 'country', many: false, target: 'shop.country' }],
    },
    { name: 'shop.order', context: 'shop', resource: 'order', key: ['id'], operations: [], fields: [field('total', 'decimal', ['gt'], { functions: ['count', 'sum'] })], relations: [{ name: 'customer', many: false, target: 'shop.customer' }] },
    { name: 'shop.country', context: 'shop', resource: 'country', key: [], operations: [], fields: [field('code', 'text', ['eq'])], relations: [] },
  ],
});
const resource = catalog.resource('shop.customer');

/** Suggestions at the bar. */
const at = (marked) => {
  const cursor = marked.indexOf('|');
  const text = marked.replace('|', '');
  const found = complete(text, cursor, { resource, catalog });
  const labels = found?.options.map(({ label }) => label) ?? [];
  const accept = (label) => {
    const option = found.options.find((candidate) => candidate.label === label);
    const done = text.slice(0, found.from) + option.text + text.slice(found.to);
    const cursor = found.from + option.cursor;
    return `${done.slice(0, cursor)}|${done.slice(cursor)}`;
  };
  return { labels, accept };
};

test('a whole text gives a tree without faults, every node at its place', () => {
  const text = ' {"a": [1, -2.5e3, "x\\n\\u00e9", true, null], "b": {}} ';
  const { root, faults } = parse(text);
  assert.deepEqual(faults, []);
  assert.equal(text.slice(root.start, root.end), text.trim());
  const [a, b] = root.members;
  assert.deepEqual(a.value.items.map(({ value }) => text.slice(value.start, value.end)), ['1', '-2.5e3', '"x\\n\\u00e9"', 'true', 'null']);
  assert.equal(a.value.items[2].value.value, 'x\né');
  assert.equal(text.slice(b.key.start, b.value.end), '"b": {}');
  assert.equal(text[a.colon], ':');
  assert.equal(text[a.comma], ',');
  assert.deepEqual(parse('  \n'), { root: null, faults: [] });
});

test('what JSON.parse refuses is a fault, and what it accepts is none', () => {
  const texts = ['{}', '[]', '{"a":1}', '[1,2]', '"x"', '0', '-0.5', '1E+2', 'true', '{"a":{"b":[{}]}}', '"\\/"', '[ ]',
    '{', '[', '{"a"}', '{"a":}', '{"a":1,}', '[1,]', '[,1]', '{,}', '{a:1}', "{'a':1}", '{"a":1 "b":2}', '[1 2]', '01', '1.', '.5', '+1', '-', '1e', 'tru', 'NaN', '"x', '"\\x"', '"\\u12"',
    '"a\tb"', '{"a":1}}', '{} {}', '[}', '{]', '{"a":[1}', '{"a"::1}', '{"a":1,,"b":2}', '{:1}', '"\\', 'undefined', '{"a":"b\n"}', '}', ']', ',', ':'];
  for (const text of texts) {
    let accepted = true;
    try {
      JSON.parse(text);
    } catch {
      accepted = false;
    }
    assert.equal(parse(text).faults.length === 0, accepted, text);
  }
});

test('a text cut anywhere still gives a tree, and soon', () => {
  const whole = '{"where": {"and": [{"name": {"in": ["a", "b"]}}, {"orders": {}}]}, "order": [{"field": "name", "dir": "desc"}], "limit": 20}';
  for (let end = 1; end <= whole.length; end += 1) {
    const text = whole.slice(0, end);
    const { root, faults } = parse(text);
    assert.ok(root, text);
    assert.equal(faults.length === 0, end === whole.length, text);
    for (let cursor = 0; cursor <= end; cursor += 1) placeAt(root, text, cursor);
  }
  assert.ok(parse('['.repeat(100_000)).faults.length > 0, 'no stack is deep enough for everything');
});

test('random garbage ends, and faults stand inside the text', () => {
  const letters = '{}[]",:\\ \n1ae-.tn';
  let seed = 7;
  const next = (below) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  for (let round = 0; round < 3000; round += 1) {
    const text = Array.from({ length: next(30) }, () => letters[next(letters.length)]).join('');
    const { root, faults } = parse(text);
    let accepted = true;
    try {
      JSON.parse(text);
    } catch {
      accepted = false;
    }
    if (text.trim() !== '') assert.equal(faults.length === 0, accepted, JSON.stringify(text));
    for (const fault of faults) assert.ok(fault.start <= fault.end && fault.start <= text.length, JSON.stringify(text));
    for (let cursor = 0; cursor <= text.length; cursor += 1) complete(text, cursor, { resource, catalog });
    locate(root, '/a/0/1');
  }
});

test('a pointer is placed at its key with a scalar value, or at the deepest part the text has', () => {
  const text = '{\n  "where": {"name": {"like": "x"}, "a/b~c": {"eq": {}}},\n  "order": [{"field": "nope"}, 3]\n}';
  const { root } = parse(text);
  const shown = (pointer) => {
    const { start, end } = locate(root, pointer);
    return text.slice(start, end);
  };
  assert.equal(shown('/where/name/like'), '"like": "x"');
  assert.equal(shown('/where/name'), '"name"');
  assert.equal(shown('/where/a~1b~0c/eq'), '"eq"');
  assert.equal(shown('/order/0/field'), '"field": "nope"');
  assert.equal(shown('/order/0'), '{');
  assert.equal(shown('/order/1'), '3');
  assert.equal(shown('/order/0/dir'), '{');
  assert.equal(shown(''), '{');
  assert.equal(locate(root, '/where/nothing/at/all').whole, false);
  assert.equal(locate(root, '/where/name').whole, true);
  assert.deepEqual(locate(null, '/where'), { start: 0, end: 0, whole: false });
  assert.deepEqual(segments('/a~1b/~01'), ['a/b', '~1']);
  assert.deepEqual(lineAndColumn(text, text.indexOf('"order"')), { line: 3, column: 3 });
  assert.equal(locate(parse('{"a": 1, "a": 2}').root, '/a').start, 9, 'the second of two equal keys');
});

test('the six keys are offered at the root, those that are there already are not', () => {
  assert.deepEqual(at('{|}').labels, ['where', 'relations', 'order', 'aggregation', 'limit', 'offset', 'query', 'constraint']);
  assert.deepEqual(at('{"limit": 20, "|"}').labels, ['where', 'relations', 'order', 'aggregation', 'offset']);
  assert.deepEqual(at('{"query": {}, "|"}').labels, ['constraint']);
  assert.deepEqual(at('{"query": {"li|"}}').labels, ['limit']);
  assert.deepEqual(at('|').labels, ['{ }']);
});

test('a where offers fields that can be used, relations and connectors; a field its own operators', () => {
  assert.deepEqual(at('{"where": {"|').labels, ['id', 'name', 'status', 'isVip', 'tags', 'orders', 'country', 'and', 'or', 'not']);
  assert.deepEqual(at('{"where": {"na|"}}').labels, ['name']);
  assert.deepEqual(at('{"where": {"name": {|}}}').labels, ['eq', 'in', 'iLike']);
  assert.deepEqual(at('{"where": {"and": [{"tags": {"|"}}]}}').labels, ['contains', 'isNull']);
  assert.deepEqual(at('{"where": {"orders": {"t|').labels, ['total', 'customer', 'not']);
  assert.deepEqual(at('{"where": {"orders": {"customer": {"sta|').labels, ['status']);
  assert.deepEqual(at('{"where": {"email": {"|"}}}').labels, [], 'a masked field takes nothing');
  assert.deepEqual(at('{"where": {"constructor": {"|"}}}').labels, []);
});

test('values are offered where they are declared', () => {
  assert.deepEqual(at('{"where": {"status": {"eq": "|"}}}').labels, ['lead', 'active']);
  assert.deepEqual(at('{"where": {"status": {"in": ["lead", "a|"]}}}').labels, ['active', 'lead']);
  assert.deepEqual(at('{"where": {"status": {"iLike": "|"}}}').labels, []);
  assert.deepEqual(at('{"where": {"isVip": {"eq": |}}}').labels, ['true', 'false']);
  assert.deepEqual(at('{"where": {"tags": {"isNull": f|}}}').labels, ['false']);
  assert.deepEqual(at('{"where": {"name": {"eq": "|"}}}').labels, []);
});

test('order, relations and aggregation offer their own words', () => {
  assert.deepEqual(at('{"order": [{"|"}]}').labels, ['field', 'dir']);
  assert.deepEqual(at('{"order": [{"field": "|"}]}').labels, ['id', 'name', 'status', 'isVip', 'country.code'], 'a to-one path at top level');
  assert.deepEqual(at('{"order": [{"field": "name", "dir": "|"}]}').labels, ['asc', 'desc']);
  assert.deepEqual(at('{"relations": {"|"}}').labels, ['orders', 'country']);
  assert.deepEqual(at('{"relations": {"orders": |}}').labels, ['true', '{ }']);
  assert.deepEqual(at('{"relations": {"orders": {"|"}}}').labels, ['where', 'order', 'limit', 'offset', 'relations']);
  assert.deepEqual(at('{"relations": {"orders": {"order": [{"field": "|"}]}}}').labels, ['total'], 'no path in a relation node');
  assert.deepEqual(at('{"aggregation": {"|"}}').labels, ['fields', 'groupBy']);
  assert.deepEqual(at('{"aggregation": {"fields": [{"fn": "|"}]}}').labels, ['count', 'sum', 'avg', 'min', 'max']);
  assert.deepEqual(at('{"aggregation": {"fields": [{"fn": "sum", "field": "|"}]}}').labels, ['id', 'orders.total']);
  assert.equal(at('{"aggregation": {"fields": [{"fn": "count", "field": "|"}]}}').labels[0], '*');
  assert.deepEqual(at('{"aggregation": {"groupBy": ["status", "co|"]}}').labels, ['country.code']);
});

test('an accepted suggestion leaves good JSON and the cursor where one goes on', () => {
  assert.equal(at('{|}').accept('where'), '{"where": {|}}');
  assert.equal(at('{"where": {"na|"}}').accept('name'), '{"where": {"name": {|}}}');
  assert.equal(at('{"where": {"name": {"|"}}}').accept('eq'), '{"where": {"name": {"eq": "|"}}}');
  assert.equal(at('{"where": {"name": {"|"}}}').accept('iLike'), '{"where": {"name": {"iLike": "%|%"}}}');
  assert.equal(at('{"where": {"id": {"|"}}}').accept('gt'), '{"where": {"id": {"gt": |}}}');
  assert.equal(at('{"where": {"status": {"eq": "|"}}}').accept('active'), '{"where": {"status": {"eq": "active"|}}}');
  assert.equal(at('{"whe|": {"name": {}}}').accept('where'), '{"where"|: {"name": {}}}', 'a key with a value is only renamed');
  assert.equal(at('{"|" "limit": 20}').accept('offset'), '{"offset": 0|, "limit": 20}');
  assert.equal(at('{"limit": 20|}').accept('offset'), '{"limit": 20, "offset": 0|}');
  assert.equal(at('{"limit": 20|, "offset": 1}').labels.length, 0);
  assert.equal(at('{"relations": {"orders": true|}}').accept('country'), '{"relations": {"orders": true, "country": true|}}');
  assert.equal(at('{"limit": 20 |}').accept('offset'), '{"limit": 20 , "offset": 0|}', 'a missing comma comes with it');
  assert.equal(at('{|"limit": 20}').accept('order'), '{"order": [{"field": "|"}],"limit": 20}');
});

test('digits that JavaScript cannot hold stay as they are', () => {
  const text = '{"id":9007199254740993,"price":1.10}';
  const { root } = parse(text);
  assert.equal(compact(root, text), '{"id": 9007199254740993, "price": 1.10}');
  assert.match(pretty(root, text), /9007199254740993/);
  assert.deepEqual(JSON.parse(pretty(root, text)), JSON.parse(text));
  assert.deepEqual(bodyOf(text, root), { body: `{"query": ${text}}`, base: '/query' });
});

test('a text is a statement, or a body where it says so', () => {
  assert.equal(bodyOf('', null).body, '');
  const body = '{"constraint": {}}';
  assert.deepEqual(bodyOf(body, parse(body).root), { body, base: '' });
  assert.equal(pointerInText('/query/where/a', '/query'), '/where/a');
  assert.equal(pointerInText('/query', '/query'), '');
  assert.equal(pointerInText('/id', '/query'), null);
  assert.equal(pointerInText('/constraint/where', ''), '/constraint/where');
});

test('what is shared survives the address; a command line survives its quotes', () => {
  const state = { resource: 'shop.customer', operation: 'findById', id: 'a%2Cb,c', fields: 'id,name', statement: '{"x": "ü&=#%\\n"}' };
  assert.deepEqual(read(write(state)), state);
  assert.equal(read('#').resource, undefined);
  assert.equal(pathOfRow(resource, ['a/b,c']), '/api/shop/customers/find/a%2Fb%2Cc');
  assert.match(curl('http://h', '/a', `{"q": "it's"}`, 'secret'), /-d '\{"q": "it'\\''s"\}'$/);
  assert.ok(!curl('http://h', '/a', '', 'secret').includes('secret'), 'the token is not copied around');
});

test('SQL is broken into clauses, and only blanks change', () => {
  const texts = [
    'SELECT t0."id", t0."name" FROM "customers" AS t0 WHERE t0."deleted_at" IS NULL AND t0."name" LIKE $1 AND EXISTS (SELECT 1 FROM "orders" AS t1 WHERE t1."customer_id" = t0."id" AND t1."total" BETWEEN $2 AND $3) ORDER BY t0."id" ASC LIMIT $4',
    'SELECT count(*) FROM "a" AS t0',
    "SELECT 'it''s (not) a bracket', \"a(b\" FROM \"x\"",
    `SELECT CASE WHEN json_type(t0."profile", '$."plan"') = 'text' THEN json_extract(t0."profile", '$."plan"') ELSE NULL END AS "tier" FROM "a" AS t0 WHERE CASE x WHEN 1 THEN 2 END = 2`,
    'SELECT CASE WHEN a',
    'SELECT a END, (CASE b)',
    'WITH keys AS (SELECT * FROM unnest($1::int8[]) WITH ORDINALITY AS k (id, n)) SELECT t0."id" FROM keys JOIN "orders" AS t0 ON t0."customer_id" = keys.id LEFT JOIN LATERAL (SELECT 1) AS l ON TRUE ORDER BY n, t0."id"',
    'SELECT json_each.value FROM "t", json_each(?1) WHERE coalesce(t0."x", ?2) <> ?3 OR NOT (t0."a" = 1 OR t0."b" = 2) GROUP BY 1 HAVING count(*) > 1 LIMIT ?4 OFFSET ?5',
    '',
    'SELECT 1)',
    'SELECT (1',
  ];
  const bare = (text) => text.replace(/\s+/g, '');
  for (const text of texts) {
    const formatted = format(text);
    assert.equal(bare(formatted), bare(text), text);
    assert.ok(formatted.split('\n').every((line) => line.trim() !== '' || text === ''), formatted);
    assert.equal(format(formatted), formatted, 'formatting again changes nothing');
  }
  assert.deepEqual(format(texts[0]).split('\n').map((line) => line.trim().split(' ')[0]), ['SELECT', 'FROM', 'WHERE', 't0."deleted_at"', 'AND', 'AND', 'SELECT', 'FROM', 'WHERE', ')', 'ORDER', 'LIMIT']);
  assert.equal(format(texts[1]), 'SELECT count(*)\nFROM "a" AS t0');
  const cased = format(texts[3]).split('\n');
  assert.deepEqual(cased.slice(0, 6).map((line) => line.trim().split(' ')[0]), ['SELECT', 'WHEN', 'THEN', 'ELSE', 'END', 'FROM'], cased.join('\n'));
  assert.ok(cased.every((line) => line.length <= 90), cased.join('\n'));
  assert.equal(format('SELECT a FROM b CROSS JOIN c LEFT JOIN d ON left(x, 1) IS NOT DISTINCT FROM y'), 'SELECT a\nFROM b\nCROSS JOIN c\nLEFT JOIN d ON left(x, 1) IS NOT DISTINCT FROM y');
});

test('every operator of every field has an example, with the values of the rows that are shown', () => {
  for (const one of resource.fields) {
    for (const operator of one.operators) {
      const { root, faults } = parse(operatorExample(one, operator));
      assert.deepEqual(faults, []);
      assert.equal(root.members[0].value.members[0].value.members[0].key.value, operator);
    }
  }
  const offered = examples(resource, catalog).flatMap((group) => group.examples);
  const taken = new Set(resource.fields.flatMap(({ operators }) => operators));
  for (const operator of taken) assert.ok(offered.some(({ label }) => label === operator), operator);
  for (const { text } of offered) assert.deepEqual(parse(text).faults, [], text);
  assert.ok([...taken].every((operator) => operator in OPERATORS));
  const answer = '[{"name": "Zoe_%"}, {"name": "Ana"}, {"name": null}, {"id": 9007199254740993}]';
  const shown = valuesIn(parse(answer).root.items.map(({ value }) => value), answer);
  assert.deepEqual(shown('name'), ['"Ana"', '"Zoe_%"']);
  assert.match(operatorExample(resource.fields[1], 'in', shown), /\["Ana", "Zoe_%"\]/);
  assert.match(operatorExample(resource.fields[0], 'eq', shown), /9007199254740993/, 'no digit is lost');
  assert.deepEqual(JSON.parse(firstExample(resource)), { relations: { country: true, orders: { limit: 3 } }, limit: 20 });
  assert.deepEqual(JSON.parse(firstExample(catalog.resource('shop.country'))), { limit: 20 });
  assert.doesNotMatch(operatorExample({ ...resource.fields[1], type: 'time' }, 'gt', () => ['"13:45:00"', '"24:00:00"']), /24:00/, 'no statement takes it');
});

test('no example asks for more rows than the server answers', () => {
  const first = (maxRows) => JSON.parse(firstExample(resource, maxRows));
  assert.deepEqual(first(50), { relations: { country: true, orders: { limit: 3 } }, limit: 16 });
  assert.deepEqual(first(2), { relations: { country: true, orders: { limit: 2 } }, limit: 1 });
  for (const maxRows of [1, 7, 20, 1000]) {
    assert.equal(JSON.parse(firstExample(catalog.resource('shop.country'), maxRows)).limit, Math.min(20, maxRows));
    const capped = Object.assign(Object.create(catalog), { maxRows });
    for (const { text } of examples(resource, capped).flatMap((group) => group.examples)) {
      const { limit = 1, relations = {} } = JSON.parse(text);
      assert.ok(limit <= maxRows, text);
      for (const related of Object.values(relations)) assert.ok(related === true || related.limit * limit <= maxRows, text);
    }
  }
});

test('a statement becomes a GraphQL query, inline where GraphQL can name every key', () => {
  const named = { ...resource, operations: [{ name: 'paginate', graphql: 'shopPaginateCustomers' }, { name: 'list', graphql: 'shopGetCustomers' }, { name: 'findById', graphql: 'shopFindCustomerById' }] };
  const write = (operation, statement, more = {}) => graphql({ resource: named, operation, text: typeof statement === 'string' ? statement : JSON.stringify(statement), ...more }, catalog);
  assert.deepEqual(write('paginate', { where: { name: { iLike: 'a"%' } }, limit: 3 }), { query: 'query {\n  shopPaginateCustomers(query: {where: {name: {iLike: "a\\"%"}}, limit: 3}) { total count rows }\n}\n', variables: '' });
  const loaded = write('list', { relations: { orders: { relations: { customer: true } } } }).query;
  assert.match(loaded, /orders \{\n {6}total\n {6}customer \{\n {8}id/);
  assert.ok(!loaded.includes('country {'), 'only what the statement loads');
  assert.match(write('findById', '', { id: '7' }).query, /shopFindCustomerById\(id: "7"\) \{/);
  assert.match(write('list', { aggregation: { fields: [{ fn: 'count', field: '*' }] } }).query, /\{ _aggregation \}/);
  assert.match(write('paginate', '{"where": {"id": {"eq": 9007199254740993}}}').query, /eq: 9007199254740993/);
  const odd = write('paginate', '{"query": {"where": {"a-b": {"eq": 1}}}, "constraint": {"limit": 1}}');
  assert.match(odd.query, /^query \(\$query: QueryStatementInput, \$constraint: QueryStatementInput\) \{/);
  assert.deepEqual(JSON.parse(odd.variables), { query: { where: { 'a-b': { eq: 1 } } }, constraint: { limit: 1 } });
  assert.match(graphql({ resource, operation: 'paginate', text: '{}' }, catalog).message, /no name/);
});

test('a statement becomes a program in TypeScript that loses no digit', () => {
  const write = (text, signedIn = false) => typescript({ origin: 'http://here.test', path: '/api/it\'s', resource, operation: 'list', text, signedIn }, catalog);
  const program = write('{"relations": {"orders": true}, "limit": 3}', true);
  assert.match(program, /export type Customer = \{\n {2}id: number \| null;/);
  assert.match(program, /status: "lead" \| "active" \| null;/);
  assert.match(program, /tags: \(string \| null\)\[\] \| null;/);
  assert.match(program, /orders: \{\n {4}total: string \| null;\n {2}\}\[\];/);
  assert.match(program, /fetch\('http:\/\/here\.test\/api\/it\\'s'/);
  assert.match(program, /Authorization: `Bearer \$\{process\.env\.TOKEN\}`/);
  assert.ok(!write('{}').includes('Authorization'));
  assert.match(write('{"where": {"id": {"eq": 9007199254740993}}}'), /body: '\{"query": .*9007199254740993/);
  assert.match(write(''), /body: '\{\}'/);
});

test('the neighbours of a resource are those it leads to and those that lead to it', () => {
  const found = neighbours(catalog.resource('shop.country'), catalog);
  assert.deepEqual(found, { outgoing: [], incoming: [['shop.customer', ['its country']]], own: [] });
  assert.deepEqual(neighbours(resource, catalog), { outgoing: [['shop.order', ['orders · many']], ['shop.country', ['country · one']]], incoming: [], own: [] });
  const tree = { ...resource, name: 'shop.part', relations: [{ name: 'parent', many: false, target: 'shop.part' }] };
  assert.deepEqual(neighbours(tree, catalog), { outgoing: [], incoming: [], own: ['parent'] }, 'a resource is no neighbour of its own');
});

const order = {
  ...catalog.resource('shop.order'),
  name: 'shop.sale',
  resource: 'sale',
  key: ['id'],
  operations: [
    { name: 'paginate', address: '/api/shop/sales/paginate', graphql: 'shopPaginateSales' },
    { name: 'keysetPaginate', address: '/api/shop/sales/keyset-paginate', graphql: 'shopKeysetPaginateSales' },
    { name: 'list', address: '/api/shop/sales/list', graphql: 'shopGetSales' },
  ],
  fields: [
    field('id', 'bigint', ['eq', 'gt'], { key: true, nullable: false }),
    field('customerId', 'bigint', ['eq', 'gt'], { functions: ['count', 'sum'] }),
    field('title', 'text', ['eq', 'iLike']),
    field('status', 'enum', ['eq'], { values: ['new', 'paid'] }),
    field('placedAt', 'timestamp', ['eq', 'gt'], { nullable: false }),
    field('total', 'decimal', ['eq', 'gt'], { functions: ['count', 'sum'] }),
    field('lineCount', 'bigint', ['eq', 'gt'], { nullable: false, derived: 'count of `lines`', eager: true }),
    field('placedMonth', 'timestamp', ['eq', 'gt'], { derived: 'start of the month of `placedAt` in UTC', bucket: 'month', eager: true }),
    field('lastLineAt', 'timestamp', ['eq', 'gt'], { derived: 'max of `lines`', eager: false }),
  ],
};

test('the pages beside an answer are statements that keep everything else', () => {
  const beside = (text, answer, operation = 'paginate') => pagesBeside(operation, text, answer);
  const rows = (count, total) => JSON.stringify({ total, count, rows: Array(count).fill({ id: 1 }) });
  const first = beside('{"where": {"id": {"gt": 9007199254740993}}, "limit": 20}', rows(20, 45));
  assert.equal(first.previous, undefined);
  assert.match(first.next, /9007199254740993/, 'no digit is lost');
  assert.deepEqual({ ...JSON.parse(first.next), where: 0 }, { where: 0, limit: 20, offset: 20 });
  const second = beside(first.next, rows(20, 45));
  assert.equal(second.first, 21);
  assert.deepEqual(Object.keys(JSON.parse(second.previous)), ['where', 'limit'], 'the first page has no offset');
  const last = beside('{"limit": 20, "offset": 40}', rows(5, 45));
  assert.equal(last.next, undefined);
  assert.equal(JSON.parse(last.previous).offset, 20);
  assert.equal(beside('{"limit": 20, "offset": 100}', rows(0, 45)).next, undefined);
  assert.deepEqual(JSON.parse(beside('{"query": {"limit": 1}, "constraint": {"limit": 5}}', rows(1, 2)).next), { constraint: { limit: 5 }, query: { limit: 1, offset: 1 } });
  assert.deepEqual(JSON.parse(beside('{"constraint": {"limit": 1}}', rows(1, 2)).next), { constraint: { limit: 1 }, query: { offset: 1 } });
  assert.equal(beside('', rows(3, 3)).next, undefined);
  assert.equal(beside('{}', '[]', 'list'), null);
});

test('a keyset page leads to the next one, and back the way that a person came', () => {
  const answer = '{"count": 1, "rows": [{"id": 1}], "next": {"where": {"id": {"gt": 9007199254740993}}, "limit": 1}}';
  const { next, previous } = pagesBeside('keysetPaginate', '{"query": {}, "constraint": {"limit": 5}}', answer);
  assert.equal(previous, undefined);
  assert.match(next, /9007199254740993/);
  assert.deepEqual(Object.keys(JSON.parse(next)), ['constraint', 'query']);
  assert.equal(pagesBeside('keysetPaginate', '{}', '{"count": 0, "rows": [], "next": null}').next, undefined);
  const trail = new Trail();
  assert.equal(trail.before('a'), undefined);
  trail.forward('a', 'b');
  trail.forward('b', 'c');
  assert.equal(trail.before('c'), 'b');
  assert.equal(trail.before('x'), undefined, 'an edited statement is on no way');
  assert.equal(trail.back(), 'b');
  assert.equal(trail.before('b'), 'a');
  trail.forward('x', 'y');
  assert.equal(trail.before('y'), 'x', 'a new way begins');
  assert.equal(trail.back(), 'x');
  assert.equal(trail.before('x'), undefined);
});

test('fields are names with commas between, and those of loaded relations are suggested', () => {
  assert.deepEqual(namesIn(' id, orders.total ,,'), ['id', 'orders.total']);
  assert.equal(fieldsParameter([]), '');
  assert.equal(fieldsParameter(['id', 'a&b']), '?fields=id,a%26b');
  const labels = (text) => showable(resource, catalog, text).map(({ label }) => label);
  assert.deepEqual(labels('{}'), ['id', 'name', 'status', 'isVip', 'tags', 'email']);
  assert.deepEqual(labels('{"query": {"relations": {"orders": {"relations": {"customer": true}}}}}').slice(6, 10), ['orders', 'orders.total', 'orders.customer', 'orders.customer.id']);
  assert.match(showable(order, catalog, '').at(-1).detail, /only if named/);
});

// contract E8.12
test('programs have the fields that rows show', () => {
  const about = { origin: 'http://h', path: '/p', resource: order, operation: 'list', text: '{"relations": {"customer": true}}', signedIn: false };
  const program = typescript(about, catalog);
  assert.ok(!program.includes('lastLineAt') && program.includes('lineCount: number;'), 'without the fields that are shown only if they are named');
  assert.ok(!/^\s*await|^(const|let) .*await/m.test(program), 'no await outside a function');
  assert.match(typescript({ ...about, fields: ['id', 'lastLineAt', 'customer.name'] }, catalog), /type Sale = \{\n {2}id: number;\n {2}lastLineAt: string \| null;\n {2}customer: \{\n {4}name: string \| null;\n {2}\} \| null;\n\}/);
  assert.ok(!graphql(about, catalog).query.includes('lastLineAt'));
  assert.match(graphql({ ...about, fields: ['id', 'customer'] }, catalog).query, /\{\n {4}id\n {4}customer \{\n {6}id\n/);
  const page = graphql({ ...about, operation: 'paginate', fields: ['id'] }, catalog).query;
  assert.match(page, /shopPaginateSales\(.*\) \{ total count \}\n {2}shopGetSales\(.*\) \{\n {4}id\n {2}\}/);
  assert.match(graphql({ ...about, operation: 'keysetPaginate', fields: ['id'] }, catalog).message, /list/);
});

// contract E8.11
test('the examples of a resource prefer what is worth asking for', () => {
  const all = examples(order, catalog);
  const labels = (title) => all.find((group) => group.title === title).examples.map(({ label }) => label);
  assert.deepEqual(labels('Sort and page'), ['top 10 by lineCount', 'top 10 by total', 'the latest by placedAt', 'second page', 'keyset pages', 'by customer.name']);
  assert.deepEqual(labels('Derived fields'), ['lineCount gt', 'placedMonth gt', 'lastLineAt gt']);
  assert.deepEqual(labels('Count and sum'), ['how many', 'by status', 'by placedMonth', 'by customer.status']);
  const find = (label) => all.flatMap((group) => group.examples).find((one) => one.label === label);
  assert.deepEqual(JSON.parse(find('top 10 by total').text), { where: { total: { isNull: false } }, order: [{ field: 'total', dir: 'desc' }], limit: 10 }, 'NULL would come first');
  assert.equal(find('keyset pages').operation, 'keysetPaginate');
  assert.deepEqual(find('lastLineAt gt').fields, ['id', 'title', 'lastLineAt']);
  assert.equal(find('lineCount gt').fields, undefined);
  assert.deepEqual(JSON.parse(find('by placedMonth').text).aggregation, { fields: [{ fn: 'count', field: '*' }, { fn: 'sum', field: 'total' }], groupBy: ['placedMonth'] });
});
