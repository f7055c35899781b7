// The audits of `graphql-http` for GraphQL over HTTP: every MUST and every SHOULD.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { buildClientSchema, getIntrospectionQuery } from 'graphql';
import { serverAudits } from 'graphql-http';

import { startHub } from './hub.mjs';
import { startServer } from './server.mjs';
import { MANIFEST, SCRIPT } from './shop.mjs';

let server;
let hub;
before(async () => {
  server = await startServer({ manifest: MANIFEST, script: SCRIPT });
  hub = await startHub();
});
after(async () => {
  await server?.close();
  await hub?.close();
});

// The names of audits do not depend on the URL; each audit reads the URL when it runs.
for (const { id, name } of serverAudits({ url: 'http://127.0.0.1/graphql' })) {
  const judge = async ({ origin }) => {
    const audit = serverAudits({ url: `${origin}/graphql` }).find((audit) => audit.id === id);
    const result = await audit.fn();
    if (result.status === 'ok') return;
    // A MAY is optional, and a notice is not a fault.
    const binding = name.startsWith('MUST') || name.startsWith('SHOULD');
    assert.ok(!binding, `${result.status}: ${result.reason}`);
  };
  test(`${id} ${name}`, () => judge(server));
  // A hub has mutations too.
  test(`${id} ${name}, at a hub`, () => judge(hub));
}

test('the introspection query of the reference implementation gives a schema it can build', async () => {
  const body = JSON.stringify({ query: getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true, schemaDescription: true }) });
  const answer = await fetch(`${server.origin}/graphql`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { data, errors } = await answer.json();
  assert.equal(errors, undefined);
  const schema = buildClientSchema(data);
  const fields = schema.getQueryType().getFields();
  assert.equal(String(fields.shopPaginateCustomers.type), 'Pagination!');
  assert.equal(String(fields.shopGetCustomers.type), '[ShopCustomer!]!');
  assert.equal(String(fields.shopFindCustomerById.type), 'ShopCustomer');
  assert.equal(schema.getType('DateTime').specifiedByURL, 'https://www.rfc-editor.org/rfc/rfc3339');
  assert.ok(!('apiKey' in schema.getType('ShopCustomer').getFields()));
});
