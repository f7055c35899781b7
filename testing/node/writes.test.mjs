// Descriptions of writes: types of bodies and answers for the real compiler, JSON Schema for a second validator, and a typed client from the
// OpenAPI document that writes to the server.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv2020 from 'ajv/dist/2020.js';
import openapiTypescript, { astToString } from 'openapi-typescript';

import { eachLineFails, openFolder } from './compiler.mjs';
import { startServer } from './server.mjs';

const MANIFEST = `
[resource.shop.customer.fields]
id = { type = "bigint", key = true }
name = { type = "text", null = false }

[resource.shop.order]
soft-delete = "deletedAt"
[resource.shop.order.write]
create = true
update = true
delete = true
restore = true
version = "version"
max-rows = 10
[resource.shop.order.fields]
id = { type = "bigint", key = true }
number = { type = "text", null = false, write = "create", max-length = 8, pattern = '[A-Z]{2}-\\d+' }
customerId = { type = "bigint", null = false, write = true }
status = { type = "enum", values = ["new", "paid"], null = false, write = true }
total = { type = "decimal", null = false, write = true, min = 0 }
stock = { type = "int", write = true }
note = { type = "text", write = true, pattern = '(?i)[^\\s/]*' }
tags = { type = "text[]", write = true, max-items = 2 }
meta = { type = "json", write = true }
token = { type = "text", hidden = true, write = true }
deletedAt = "timestamp"
version = { type = "int", null = false }
lineCount = { count = "lines" }
[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }
lines = { many = "shop.line", on = { id = "orderId" } }

[resource.shop.line.write]
create = true
update = true
[resource.shop.line.fields]
orderId = { type = "bigint", key = true, write = "create" }
position = { type = "int", key = true, write = "create" }
quantity = { type = "int", null = false, write = true, min = 1 }
`;
const SCRIPT = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO customers VALUES (1, 'Ana');
CREATE TABLE orders (id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE, customer_id INTEGER NOT NULL REFERENCES customers, status TEXT NOT NULL DEFAULT 'new',
  total TEXT NOT NULL, stock INTEGER, note TEXT, tags TEXT, meta TEXT, token TEXT, deleted_at TEXT, version INTEGER NOT NULL DEFAULT 1);
CREATE TABLE lines (order_id INTEGER NOT NULL REFERENCES orders, position INTEGER NOT NULL, quantity INTEGER NOT NULL, PRIMARY KEY (order_id, position));
`;

const ROW = `{ number: 'AB-1', customerId: 1, status: 'new', total: '5.00' }`;
const GOOD = [
  ['create', `{ payload: ${ROW} }`],
  ['create', `{ payload: [${ROW}, { ...${ROW}, note: null, tags: ['a', null], meta: { a: [1] }, token: 's', stock: 3 }], returning: false, dryRun: true }`],
  ['update/{id}', `{ payload: { note: 'x', version: 3 }, expect: { status: { eq: 'new' } }, constraint: { where: { total: { gt: 1 } } } }`],
  ['update/{id}', `{ increment: { stock: -1, total: '2.50' }, returning: { relations: { customer: true } } }`],
  ['update', `{ payload: { status: 'paid' }, query: { where: { customer: { name: { eq: 'Ana' } } }, order: [{ field: 'customer.name' }], limit: 3 } }`],
  ['update', `{ increment: { stock: 1 }, all: true }`],
  ['update', `{ payload: [{ id: 1, note: 'a' }, { id: '2', note: null, version: 1 }] }`],
  ['delete/{id}', `{}`],
  ['delete', `{ query: { where: { id: { in: [1, 2] } } } }`],
  ['restore/{id}', `{ returning: true }`],
];
const BAD = [
  ['create', `{ payload: { number: 'AB-1' } }`],
  ['create', `{ payload: { ...${ROW}, id: 1 } }`],
  ['create', `{ payload: { ...${ROW}, version: 1 } }`],
  ['create', `{ payload: { ...${ROW}, total: 'much' } }`],
  ['create', `{ payload: { ...${ROW}, status: null } }`],
  ['create', `{}`],
  ['create', `{ payload: ${ROW}, all: true }`],
  ['update/{id}', `{ payload: { number: 'AB-1' } }`],
  ['update/{id}', `{ payload: [{ note: 'x' }] }`],
  ['update/{id}', `{}`],
  ['update/{id}', `{ increment: { note: 1 } }`],
  ['update', `{ payload: { note: 'x' } }`],
  ['update', `{ payload: { note: 'x' }, query: { where: { id: { eq: 1 } }, offset: 1 } }`],
  ['update', `{ payload: { note: 'x' }, query: { where: { lineCount: { eq: 1 } } } }`],
  ['update', `{ payload: [{ note: 'x' }] }`],
  ['update', `{ payload: [{ id: 1, note: 'x' }], all: true }`],
  ['delete', `{ query: { limit: 1 } }`],
  ['delete', `{ payload: {} }`],
  ['restore/{id}', `{ expect: {} }`],
];

const PROGRAM = `import createClient from 'openapi-fetch';
import type { components, paths } from './openapi.js';
type Schemas = components['schemas'];
export async function run(origin: string) {
  const { POST } = createClient<paths>({ baseUrl: origin });
  const row: Schemas['ShopOrderCreateInput'] = { number: 'AB-1', customerId: 1, total: '5.00', token: 's' };
  const made = await POST('/api/shop/orders/create', { body: { payload: row, returning: { relations: { customer: true } } } });
  if (made.error) throw new Error(made.error.detail);
  const id: number = made.data.id;
  const customer: string | undefined = made.data.customer?.name;
  const path = { id: String(id) };
  const tag = made.response.headers.get('etag')!;

  const list = await POST('/api/shop/orders/create', { body: { payload: [{ ...row, number: 'AB-2' }, { ...row, number: 'AB-3', status: 'paid' }] } });
  const rows: string[] = (list.data as unknown as Schemas['ShopOrderRows']).rows.map((one) => one.number);

  const change = { payload: { note: 'x' }, increment: { stock: 2 } };
  const changed = await POST('/api/shop/orders/update/{id}', { params: { path, header: { 'If-Match': tag } }, body: change });
  const note: string | null = changed.data!.note;
  const version: number = changed.data!.version;
  const stale = await POST('/api/shop/orders/update/{id}', { params: { path, header: { 'If-Match': tag } }, body: change });
  const code: Schemas['Problem']['code'] = stale.error!.code;

  const several = await POST('/api/shop/orders/update', { body: { payload: { status: 'paid' }, query: { where: { total: { gte: 1 } } } } });
  const statuses: ('new' | 'paid')[] = several.data!.rows.map((one) => one.status);
  const each = await POST('/api/shop/orders/update', { body: { payload: [{ id, total: 7 }] } });
  const total: string = each.data!.rows[0]!.total;

  const tried = await POST('/api/shop/orders/delete/{id}', { params: { path }, body: { dryRun: true } });
  const dry: string | null = tried.response.headers.get('dry-run');
  const removed = await POST('/api/shop/orders/delete/{id}', { params: { path } });
  const restored = await POST('/api/shop/orders/restore/{id}', { params: { path } });
  const numbers: string[] = [removed.data!.number, restored.data!.number];
  const counted = await POST('/api/shop/orders/delete', { body: { all: true, returning: false } });
  const { count } = counted.data as unknown as Schemas['WriteCount'];
  const wrong = await POST('/api/shop/orders/create', { body: { payload: { ...row, number: 'x' } } });
  const faults = wrong.error!.errors!.map((fault) => [fault.code, fault.path]);
  return { customer, rows, note, version, code, statuses, total, dry, numbers, count, faults };
}
`;
const DECLARED = `import createClient from 'openapi-fetch';
import type { components, paths } from './openapi.js';
const { POST } = createClient<paths>({ baseUrl: '' });
const made = (await POST('/api/shop/orders/create', { body: { payload: { number: 'A', customerId: 1, total: 1 } } })).data!;
const several = (await POST('/api/shop/orders/delete', { body: { all: true } })).data!;
`;
/** Each of these is an error. */
const WRONG = [
  `export const a = made.token;`,
  `export const b: number = made.number;`,
  `export const c = several.rows[0]!.nmae;`,
  `export const d: string = several.count;`,
  `export const e = POST('/api/shop/orders/create', { body: { payload: { number: 'A' } } });`,
  `export const f = POST('/api/shop/orders/create', {});`,
  `export const g = POST('/api/shop/orders/update/{id}', { body: { payload: { note: 'x' } } });`,
  `export const h = POST('/api/shop/orders/update/{id}', { params: { path: { id: '1' } }, body: { payload: { note: 7 } } });`,
  `export const i = POST('/api/shop/customers/create', { body: {} });`,
];

let server;
let folder;
let document;
before(async () => {
  server = await startServer({ manifest: MANIFEST, script: SCRIPT });
  folder = await openFolder();
  document = await (await fetch(`${server.origin}/api/openapi.json`)).json();
  await folder.write('peristyle.ts', server.run('schema', 'typescript'));
  await folder.write('openapi.ts', astToString(await openapiTypescript(structuredClone(document))));
});
after(async () => {
  await folder?.close();
  await server?.close();
});

const declared = (list) => list.map(([form, body], index) => `export const a${index}: P.WriteRequest<'shop.order', '${form}'> = ${body};`);

test('good bodies of writes compile, and each bad one is an error', async () => {
  const head = "import type * as P from './peristyle.js';\n";
  await folder.write('good.ts', head + declared(GOOD).join('\n'));
  assert.deepEqual(await folder.errors('good.ts'), []);
  await folder.write('bad.ts', head + declared(BAD).join('\n'));
  eachLineFails(await folder.errors('bad.ts'), 'bad.ts', declared(BAD), 1);
});

test('the answer of a write follows from its body', async () => {
  await folder.write('answers.ts', `import type * as P from './peristyle.js';
const one = { payload: ${ROW}, returning: { relations: { customer: true, lines: { limit: 3 } } } } satisfies P.ShopOrderCreateRequest;
declare const row: P.WriteAnswer<'shop.order', 'create', typeof one>;
export const name: string | undefined = row.customer?.name;
export const quantity: number | undefined = row.lines[0]?.quantity;
const list = { payload: [${ROW}] } satisfies P.ShopOrderCreateRequest;
declare const rows: P.WriteAnswer<'shop.order', 'create', typeof list>;
export const numbers: string[] = rows.rows.map((one) => one.number);
const silent = { all: true, returning: false } as const satisfies P.ShopOrderDeleteRequest;
declare const count: P.WriteAnswer<'shop.order', 'delete', typeof silent>;
export const counted: number = count.count;
// @ts-expect-error: the count alone
export const none = count.rows;
declare const changed: P.WriteAnswer<'shop.order', 'update/{id}'>;
export const total: \`\${number}\` = changed.total;
// @ts-expect-error: a hidden field comes in and never out
export const token = changed.token;
export const item: P.ShopLineUpdateItemInput = { orderId: 1, position: 2, quantity: 3 };
export const forms: P.WriteName<'shop.line'>[] = ['create', 'update/{id}', 'update'];
// @ts-expect-error: no such write
export const form: P.WriteName<'shop.line'> = 'delete';
// @ts-expect-error: nothing can be written
export const read: P.WriteName<'shop.customer'> = 'create';
`);
  assert.deepEqual(await folder.errors('answers.ts'), []);
});

test('a second validator agrees on the same bodies', () => {
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(JSON.parse(server.run('schema', 'json-schema')), 'all');
  const names = { create: 'Create', 'update/{id}': 'UpdateById', update: 'Update', 'delete/{id}': 'DeleteById', delete: 'Delete', 'restore/{id}': 'RestoreById' };
  const value = (text) => new Function(`return ${text}`)();
  const validators = Object.fromEntries(Object.entries(names).map(([form, name]) => [form, ajv.compile({ $ref: `all#/$defs/ShopOrder${name}Request` })]));
  for (const [form, body] of GOOD) assert.ok(validators[form](value(body)), `${form} ${body} ${JSON.stringify(validators[form].errors)}`);
  const rules = ['number: "AB-123456"', 'number: "ab-1"', 'total: -1', 'note: "a b"', 'note: "a\\u0085"', 'tags: ["a", "b", "c"]', 'meta: { "a\\u0000": 1 }'];
  const broken = rules.map((rule) => ['create', `{ payload: { ...${ROW}, ${rule} } }`]);
  for (const [form, body] of [...BAD, ...broken]) assert.ok(!validators[form](value(body)), `${form} ${body}`);
  assert.ok(validators.create(value(`{ payload: { ...${ROW}, number: 'AB-٣', note: 'Ünï' } }`)), 'a digit of another script');
});

test('a client that is generated from the document writes with types', async () => {
  // contract E6.10
  const validator = new Validator();
  const result = await validator.validate(structuredClone(document));
  assert.equal(result.valid, true, JSON.stringify(result.errors, null, 2));
  await folder.write('client.ts', PROGRAM);
  assert.deepEqual(await folder.emit('client.ts'), []);
  const { run } = await import(pathToFileURL(join(folder.path, 'client.js')));
  assert.deepEqual(await run(server.origin), {
    customer: 'Ana', rows: ['AB-2', 'AB-3'], note: 'x', version: 2, code: 'STALE', statuses: ['paid', 'paid', 'paid'], total: '7', dry: 'true',
    numbers: ['AB-1', 'AB-1'], count: 3, faults: [['WR116', '/payload/number']],
  });
});

test('a wrong write of a generated client does not compile', async () => {
  await folder.write('wrong.ts', DECLARED + WRONG.join('\n'));
  eachLineFails(await folder.errors('wrong.ts'), 'wrong.ts', WRONG, DECLARED.split('\n').length - 1);
});
