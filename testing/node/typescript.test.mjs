// The TypeScript types and the real compiler: statements that must compile, and statements that must not.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { schema, schemaOfHub } from './descriptions.mjs';

const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const FLAGS = ['--strict', '--noEmit', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler'];
const HEAD = "import type * as P from './peristyle';\n";

let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'peristyle-typescript-'));
  await writeFile(join(folder, 'peristyle.ts'), await schema('typescript'));
  await writeFile(join(folder, 'hub.ts'), await schemaOfHub('typescript'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** The errors of the compiler for a text, one on each line. */
async function compile(name, text) {
  await writeFile(join(folder, name), HEAD + text);
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, ...FLAGS, name], { cwd: folder }, (error, stdout) => {
      resolve(stdout.split('\n').filter((line) => line.includes('error TS')));
    });
  });
}

const GOOD = [
  `{}`,
  `{ where: { name: { iLike: 'a%' }, status: { in: ['lead', 'active', null] } } }`,
  `{ where: { id: { gt: 17, ne: '9007199254740993' }, balance: { between: [1, '2.50'] } } }`,
  `{ where: { isVip: { eq: true }, email: { isNull: false }, visits: { gte: 3 }, score: { lt: 0.5 } } }`,
  `{ where: { or: [{ tags: { contains: 'a' } }, { tags: { overlap: ['a', 'b'] } }], not: { profile: { eq: 3 } } } }`,
  `{ where: { orders: { total: { gt: '10' }, customer: { name: { eq: 'x' } } }, country: {} } }`,
  `{ relations: { orders: { where: { total: { gt: 1 } }, order: [{ field: 'number' }], limit: 3, relations: { customer: true } }, country: true } }`,
  `{ order: [{ field: 'createdAt', dir: 'desc' }, { field: 'country.name' }], limit: 20, offset: 40 }`,
  `{ where: null, order: null, relations: null, aggregation: null, limit: null, offset: null }`,
  `{ aggregation: { fields: [{ fn: 'count', field: '*' }, { fn: 'sum', field: 'orders.total', as: 'revenue' }, { fn: 'max', field: 'country.name' }], groupBy: ['status', 'country.name'] }, order: [{ field: 'status' }] }`,
  `{ where: { createdAt: { gte: new Date(0).toISOString() }, code: { eq: null }, bornOn: { in: [] }, wakesAt: { lt: '12:00:00' } } }`,
];

// Each with the name that the compiler must mention.
const BAD = [
  [`{ where: { nme: { eq: 'x' } } }`, 'nme'],
  [`{ where: { apiKey: { eq: 'x' } } }`, 'apiKey'],
  [`{ where: { note: { eq: 'x' } } }`, 'note'],
  [`{ where: { name: 'x' } }`, 'string'],
  [`{ where: { name: { like: 'x' } } }`, 'like'],
  [`{ where: { name: { eq: 1 } } }`, 'number'],
  [`{ where: { name: { contains: 'x' } } }`, 'contains'],
  [`{ where: { visits: { iLike: 'x' } } }`, 'iLike'],
  [`{ where: { visits: { eq: '3' } } }`, 'string'],
  [`{ where: { isVip: { gt: true } } }`, 'gt'],
  [`{ where: { isVip: { eq: 'true' } } }`, 'string'],
  [`{ where: { balance: { eq: 'much' } } }`, 'much'],
  [`{ where: { status: { eq: 'Lead' } } }`, 'Lead'],
  [`{ where: { status: { in: 'lead' } } }`, 'string'],
  [`{ where: { visits: { between: [1] } } }`, 'number'],
  [`{ where: { email: { isNull: null } } }`, 'null'],
  [`{ where: { tags: { eq: 'a' } } }`, 'eq'],
  [`{ where: { profile: { gt: 1 } } }`, 'gt'],
  [`{ where: { profile: { eq: {} } } }`, '{}'],
  [`{ where: { RAW: { eq: 1 } } }`, 'RAW'],
  [`{ where: { orders: { nme: { eq: 1 } } } }`, 'nme'],
  [`{ where: { and: { name: { eq: 'x' } } } }`, 'and'],
  [`{ relations: { order: true } }`, 'order'],
  [`{ relations: { orders: false } }`, 'false'],
  [`{ relations: { orders: { required: true } } }`, 'required'],
  [`{ relations: { country: { relations: { customers: true } } } }`, ''],
  [`{ relations: { orders: { order: [{ field: 'customer.name' }] } } }`, 'customer.name'],
  [`{ order: [{ field: 'orders.total' }] }`, 'orders.total'],
  [`{ order: [{ field: 'tags' }] }`, 'tags'],
  [`{ order: [{ field: 'name', dir: 'up' }] }`, 'up'],
  [`{ aggregation: { fields: [{ fn: 'sum', field: 'name' }] } }`, 'name'],
  [`{ aggregation: { fields: [{ fn: 'sum', field: '*' }] } }`, ''],
  [`{ aggregation: { fields: [{ fn: 'median', field: 'id' }] } }`, 'median'],
  [`{ aggregation: { groupBy: ['name'] } }`, 'fields'],
  [`{ aggregation: { fields: [{ fn: 'count', field: '*' }], groupBy: ['tags'] } }`, 'tags'],
  [`{ aggregation: { fields: [{ fn: 'count', field: '*' }] }, relations: { country: true } }`, ''],
  [`{ attributes: ['id'] }`, 'attributes'],
  [`{ limit: '10' }`, 'string'],
];

test('good statements compile', async () => {
  const text = GOOD.map((statement, index) => `export const good${index}: P.ShopCustomerStatement = ${statement};`).join('\n');
  assert.deepEqual(await compile('good.ts', text), []);
});

test('each bad statement is an error, on its own line', async () => {
  // One statement on each line, so that the line of an error identifies it; the first line is the import.
  const text = BAD.map(([statement], index) => `export const bad${index}: P.ShopCustomerStatement = ${statement};`).join('\n');
  const errors = await compile('bad.ts', text);
  BAD.forEach(([statement, word], index) => {
    const own = errors.filter((error) => error.startsWith(`bad.ts(${index + 2},`));
    assert.notEqual(own.length, 0, `compiles: ${statement}`);
    assert.ok(own.some((error) => error.includes(word)), `${statement}\n${own.join('\n')}`);
  });
});

test('with @ts-expect-error before each bad statement the file compiles', async () => {
  const lines = BAD.map(([statement], index) => `// @ts-expect-error\nexport const bad${index}: P.ShopCustomerStatement = ${statement};`);
  assert.deepEqual(await compile('expected.ts', lines.join('\n')), []);
});

test('a row has the relations that its statement asks for', async () => {
  const text = `
const statement = { relations: { orders: { relations: { customer: true } }, country: true }, limit: 5 } satisfies P.ShopCustomerStatement;
declare const row: P.Row<'shop.customer', typeof statement>;
export const total: string = row.orders[0]!.total;
export const name: string | undefined = row.orders[0]!.customer?.name;
export const country: string | undefined = row.country?.name;
export const status: 'lead' | 'active' | 'gone' = row.status;
export const note: string | null = row.note;
declare const page: P.Answer<'shop.customer', 'paginate', typeof statement>;
export const count: number = page.count + page.rows[0]!.orders.length;
declare const found: P.Answer<'shop.order', 'find'>;
export const again: P.ShopOrderStatement = { where: { total: { lte: found.total }, customerId: { eq: found.customerId } } };
const grouped = { aggregation: { fields: [{ fn: 'count', field: '*' }] } } satisfies P.ShopCustomerStatement;
declare const groups: P.Answer<'shop.customer', 'list', typeof grouped>;
export const value: string | number | boolean | null | undefined = groups[0]!['count'];
declare const plain: P.ShopCustomer;
export const maybe: P.ShopOrder[] | undefined = plain.orders;
export const body: P.ShopCustomerRequest = { query: statement, constraint: { where: { isVip: { eq: true } } } };
export const path: '/api/big-shop/apps-accounts' = null! as P.Resources['bigShop.appAccount']['path'];
`;
  assert.deepEqual(await compile('rows.ts', text), []);
  const wrong = [
    `declare const row0: P.Row<'shop.customer'>; export const orders = row0.orders;`,
    `declare const row1: P.Row<'shop.customer'>; export const key = row1.apiKey;`,
    `declare const row2: P.ShopCustomer; export const total: number = row2.balance;`,
    `export const body3: P.ShopCustomerRequest = { constraint: { aggregation: { fields: [{ fn: 'count', field: '*' }] } } };`,
    `export const body4: P.ShopCustomerRequest = { qeury: {} };`,
    `export const name5: P.ResourceName = 'shop.custmer';`,
  ];
  const errors = await compile('wrong.ts', wrong.join('\n'));
  wrong.forEach((line, index) => {
    assert.ok(errors.some((error) => error.startsWith(`wrong.ts(${index + 2},`)), `compiles: ${line}\n${errors.join('\n')}`);
  });
});

test('an answer to a request with fields has the named fields', async () => {
  // contract E6.11
  const text = `
const statement = { relations: { orders: { relations: { customer: true } }, country: true } } satisfies P.ShopCustomerStatement;
declare const rows: P.Answer<'shop.customer', 'list', typeof statement, 'id, orders.total,orders.customer.name, country'>;
export const id: number = rows[0]!.id;
export const total: string = rows[0]!.orders[0]!.total;
export const name: string | undefined = rows[0]!.orders[0]!.customer?.name;
export const country: string | undefined = rows[0]!.country?.name;
declare const page: P.Answer<'shop.customer', 'keyset-paginate', {}, 'name'>;
export const next: P.ShopCustomerStatement | null = page.next;
export const first: string | undefined = page.rows[0]?.name;
declare const found: P.Answer<'shop.order', 'find', {}, 'total'>;
export const only: { total: string } = found;
declare const names: string;
declare const some: P.Answer<'shop.order', 'find', {}, typeof names>;
export const perhaps: string | undefined = some.total;
export const all: string = (null! as P.Answer<'shop.customer', 'list'>)[0]!.name;
`;
  assert.deepEqual(await compile('fields.ts', text), []);
  const head = `declare const rows: P.Answer<'shop.customer', 'list', { relations: { orders: true } }, 'id,orders.total'>;`;
  const wrong = ['rows[0]!.name', 'rows[0]!.orders[0]!.id', `(null! as P.Answer<'shop.customer', 'find', { relations: { orders: true } }, 'id'>).orders`];
  const errors = await compile('no-fields.ts', [head, ...wrong.map((line, index) => `export const x${index} = ${line};`)].join('\n'));
  wrong.forEach((line, index) => {
    assert.ok(errors.some((error) => error.startsWith(`no-fields.ts(${index + 3},`)), `compiles: ${line}\n${errors.join('\n')}`);
  });
});

test('the types of a hub compile, and know its operations', async () => {
  // contract I29.1
  const text = `
import type * as H from './hub';
export const account: H.IamCreateAccountInput = { username: 'bo', type: 'SERVICE', roles: ['clerk'], meta: { region: ['north'] }, email: null };
export const request: { payload: H.Operations['iamUpdateAccount']['payload'] } = { payload: { email: null, tags: null, meta: null } };
export const path: '/api/o-auth/clients/rotate-secret/{id}' = null! as H.Operations['oAuthRotateClientSecret']['path'];
declare const made: H.Operations['oAuthCreateClient']['answer'];
export const secret: string = made.secret + ('redirect' in made ? made.redirect : made.id);
declare const changed: H.Operations['iamUpdateRole']['answer'];
export const role: string | null = 'name' in changed ? changed.name : changed.id;
export const statement: H.IamEventStatement = { where: { event: { eq: 'account.created' } }, relations: { actor: true } };
`;
  assert.deepEqual(await compile('hubs.ts', text), []);
  const wrong = [
    `import type * as H from './hub';`,
    `export const a: H.IamCreateAccountInput = { usrname: 'bo' };`,
    `export const b: H.OAuthCreateClientInput = { id: 'a', name: 'a' };`,
    `export const c: H.OAuthUpdateClientInput = { grants: ['implicit'] };`,
    `export const e: H.OAuthUpdateClientInput = { appId: null };`,
    `export const f: H.IamCreateRoleInput = { name: null };`,
    `export const d = (null! as H.Operations['iamUpdateRole']['answer']).name;`,
  ];
  const errors = await compile('wrong-hub.ts', wrong.join('\n'));
  wrong.slice(1).forEach((line, index) => {
    assert.ok(errors.some((error) => error.startsWith(`wrong-hub.ts(${index + 3},`)), `compiles: ${line}\n${errors.join('\n')}`);
  });
});

test('the example of the guide compiles', async () => {
  const guide = await readFile(new URL('../../docs/guide/descriptions.md', import.meta.url), 'utf8');
  const example = guide.split('```ts\n')[1].split('```')[0];
  assert.deepEqual(await compile('guide.ts', example), []);
});
