// A typed client from the OpenAPI document, by openapi-typescript and openapi-fetch: compiled, and run against the server.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import Ajv2020 from 'ajv/dist/2020.js';
import openapiTypescript, { astToString } from 'openapi-typescript';

import { eachLineFails, openFolder } from './compiler.mjs';
import { startServer } from './server.mjs';
import { MANIFEST, SCRIPT } from './shop.mjs';

const HEAD = `import createClient from 'openapi-fetch';
import type { components, paths } from './peristyle.js';
const client = (origin: string) => createClient<paths>({ baseUrl: origin });
const LIST = '/api/shop/customers/list';
`;
const PROGRAM = `${HEAD}
export async function run(origin: string) {
  const { POST } = client(origin);
  const query: components['schemas']['ShopCustomerStatement'] = { where: { name: { iLike: 'ana%' } }, relations: { orders: { order: [{ field: 'id' }] }, country: true } };
  const list = await POST(LIST, { body: { query } });
  if (list.error) throw new Error(list.error.detail);
  const first = list.data[0]!;
  const name: string = first.name;
  const total: string | null | undefined = first.orders?.[0]?.total;
  const country: string | undefined = first.country?.name;

  const page = await POST('/api/shop/customers/paginate', { body: { query: { limit: 1, order: [{ field: 'id' }] } } });
  const counts: number = page.data!.total + page.data!.count;
  const paged: string = page.data!.rows[0]!.name;

  const found = await POST('/api/shop/customers/find/{id}', { params: { path: { id: '1' } } });
  const email: string | null = found.data!.email;

  const lines = await POST(LIST, { body: { query }, headers: { Accept: 'application/x-ndjson' }, parseAs: 'text' });
  const text: string = lines.data!;
  type Line = paths[typeof LIST]['post']['responses'][200]['content']['application/x-ndjson'][number];
  const line: Line = JSON.parse(text.split('\\n')[0]!);
  const streamed: string = line.name;

  const grouped = await POST(LIST, { body: { query: { aggregation: { fields: [{ fn: 'count', field: '*' }], groupBy: ['status'] } } } });
  const groups = grouped.data as unknown as components['schemas']['Group'][];
  const active: string | number | boolean | null | undefined = groups.find((group) => group['status'] === 'active')?.['count'];
  return { name, total, country, counts, paged, email, streamed, active };
}
`;
const DECLARED = `${HEAD}
declare const origin: string;
const rows = (await client(origin).POST(LIST)).data!;
const page = (await client(origin).POST('/api/shop/customers/paginate')).data!;
const found = (await client(origin).POST('/api/shop/customers/find')).data!;
`;
/** Each of these is an error. */
const WRONG = [
  `export const a = rows[0]!.nme;`,
  `export const b: number = rows[0]!.name;`,
  `export const c = rows[0]!.apiKey;`,
  `export const d: number = page.rows[0]!.name;`,
  `export const e: number = found.name;`,
  `export const f = rows[0]!.orders![0]!.name;`,
  `export const g = client(origin).POST(LIST, { body: { query: { where: { name: { eq: 7 } } } } });`,
  `export const h = client(origin).POST(LIST, { body: { query: { limit: 'one' } } });`,
  `export const i = client(origin).POST('/api/shop/custmers/list');`,
];

let server;
let folder;
let document;
before(async () => {
  server = await startServer({ manifest: MANIFEST, script: SCRIPT });
  folder = await openFolder();
  document = await (await fetch(`${server.origin}/api/openapi.json`)).json();
  await folder.write('peristyle.ts', astToString(await openapiTypescript(structuredClone(document))));
});
after(async () => {
  await folder?.close();
  await server?.close();
});

test('rows have types in a client that is generated from the document', async () => {
  // contract E6.7
  await folder.write('client.ts', PROGRAM);
  assert.deepEqual(await folder.emit('client.ts'), []);
  const { run } = await import(pathToFileURL(join(folder.path, 'client.js')));
  assert.deepEqual(await run(server.origin), {
    name: 'Ana García', total: '19.99', country: 'Spain', counts: 5, paged: 'Ana García', email: 'a***@example.org', streamed: 'Ana García', active: 2,
  });
});

test('a wrong field does not compile', async () => {
  await folder.write('wrong.ts', DECLARED + WRONG.join('\n'));
  eachLineFails(await folder.errors('wrong.ts'), 'wrong.ts', WRONG, DECLARED.split('\n').length - 1);
});

test('answers with rows and answers with groups are as described', async () => {
  // contract E6.7
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'openapi');
  const escape = (path) => path.replaceAll('/', '~1');
  const described = (path, media, key) => ajv.compile({ $ref: `openapi#/paths/${escape(path)}/post/responses/200/content/${escape(media)}/${key}` });
  const send = async (path, body, accept = 'application/json') => (await fetch(server.origin + path, { method: 'POST', headers: { 'content-type': 'application/json', accept }, body: JSON.stringify(body) })).text();
  const groups = { query: { aggregation: { fields: [{ fn: 'count', field: '*' }, { fn: 'sum', field: 'balance' }], groupBy: ['status'] } } };
  const rows = { query: { relations: { orders: true, country: true } } };
  for (const operation of ['list', 'get', 'paginate', 'find']) {
    const path = `/api/shop/customers/${operation}`;
    const [ofRows, ofGroups] = ['schema', 'x-aggregation'].map((key) => described(path, 'application/json', key));
    const [plain, aggregated] = [JSON.parse(await send(path, rows)), JSON.parse(await send(path, groups))];
    assert.ok(ofRows(plain), `${operation} ${JSON.stringify(ofRows.errors)}`);
    assert.ok(ofGroups(aggregated), `${operation} ${JSON.stringify(ofGroups.errors)}`);
    assert.ok(!ofRows(aggregated) && !ofGroups(plain), `${operation}: rows and groups differ`);
  }
  // contract E6.11
  for (const operation of ['list', 'paginate', 'keyset-paginate', 'find']) {
    const path = `/api/shop/customers/${operation}`;
    const [whole, narrow] = ['schema', 'x-fields'].map((key) => described(path, 'application/json', key));
    const answer = JSON.parse(await send(`${path}?fields=id,orders.total,country`, rows));
    assert.ok(narrow(answer), `${operation} ${JSON.stringify(narrow.errors)}`);
    assert.ok(!whole(answer), `${operation}: a whole row has more`);
  }
  for (const [body, key] of [[rows, 'schema'], [groups, 'x-aggregation']]) {
    const path = '/api/shop/customers/list';
    const lines = (await send(path, body, 'application/x-ndjson')).trimEnd().split('\n').map((line) => JSON.parse(line));
    const validate = described(path, 'application/x-ndjson', key);
    assert.ok(lines.length > 1 && validate(lines), JSON.stringify(validate.errors));
  }
});
