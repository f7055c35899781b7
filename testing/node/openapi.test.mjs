// Checks the OpenAPI document against the meta-schema of OpenAPI 3.1, and its schemas with a third-party validator.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv2020 from 'ajv/dist/2020.js';

import { schema, schemaOfHub } from './descriptions.mjs';

let document;
let hub;
before(async () => {
  document = JSON.parse(await schema('openapi'));
  hub = JSON.parse(await schemaOfHub('openapi'));
});

test('the document is OpenAPI 3.1', async () => {
  for (const described of [document, hub]) {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(described));
    assert.equal(result.valid, true, JSON.stringify(result.errors, null, 2));
    assert.equal(validator.version, '3.1');
  }
});

/** The names of all operations. Checks that each is unique, and that every reference resolves. */
function operationsOf(document) {
  const names = new Set();
  const visit = (value) => {
    if (value === null || typeof value !== 'object') return;
    if (typeof value.$ref === 'string') {
      const parts = value.$ref.slice(2).split('/');
      assert.notEqual(parts.reduce((place, part) => place?.[part], document), undefined, value.$ref);
    }
    Object.values(value).forEach(visit);
  };
  visit(document);
  for (const [path, item] of Object.entries(document.paths)) {
    for (const operation of Object.values(item)) {
      assert.ok(!names.has(operation.operationId), operation.operationId);
      names.add(operation.operationId);
      for (const way of (operation.security ?? []).flatMap(Object.keys)) {
        assert.ok(document.components.securitySchemes[way], `${path}: ${way}`);
      }
      for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
        assert.ok(operation.parameters.some((parameter) => parameter.in === 'path' && parameter.name === name), path);
      }
    }
  }
  return names;
}

test('every reference leads somewhere, and every operation has a name of its own', () => {
  const names = operationsOf(document);
  for (const name of ['shopPaginateCustomers', 'shopListCustomers', 'shopGetCustomers', 'shopFindCustomer', 'shopFindCustomerById', 'bigShopGetAppsAccounts']) {
    assert.ok(names.has(name), name);
  }
  assert.ok(document.paths['/api/big-shop/apps-accounts/paginate']);
  assert.ok(!document.paths['/api/big-shop/apps-accounts/find/{id}'], 'there is no key to find a row by');
});

test('a hub is described with its records, its operations and its OAuth endpoints', async () => {
  // contract I29.1
  const names = operationsOf(hub);
  for (const name of ['shopPaginateCustomers', 'iamPaginateAccounts', 'iamCreateAccount', 'oAuthRotateClientSecret', 'hubCreateAppAccount', 'token', 'authorize', 'userinfo']) {
    assert.ok(names.has(name), name);
  }
  const ajv = new Ajv2020({ strict: false, formats: { uuid: true, email: true, uri: true, password: true } });
  ajv.addSchema(JSON.parse(await schemaOfHub('json-schema')), 'hub');
  const validate = ajv.compile({ $ref: 'hub#/$defs/OAuthCreateClientInput' });
  const client = { id: 'web', name: 'Web', redirect: 'https://web.test/' };
  for (const input of [client, { ...client, grants: ['password'], accessTokenSeconds: 60 }, { ...client, grants: null }]) assert.ok(validate(input), JSON.stringify(validate.errors));
  for (const input of [{}, { ...client, secret: 'x' }, { ...client, grants: ['implicit'] }, { ...client, accessTokenSeconds: 0 }, { ...client, name: null }, { ...client, appId: null }]) {
    assert.ok(!validate(input), JSON.stringify(input));
  }
});

test('a second validator reads the JSON Schema and agrees on statements', async () => {
  const ajv = new Ajv2020({ strict: false });
  const validate = ajv.compile(JSON.parse(await schema('json-schema', 'shop.customer')));
  const good = [
    {},
    { where: { name: { iLike: 'a%' }, orders: { total: { gt: '9.90' } } }, relations: { orders: { limit: 3 }, country: true }, limit: 10 },
    { order: [{ field: 'country.name', dir: 'desc' }], where: null },
    { aggregation: { fields: [{ fn: 'sum', field: 'orders.total', as: 'revenue' }], groupBy: ['status'] } },
    { where: { createdAt: { gte: '2024-02-29' }, code: { eq: null }, tags: { contains: 'a' } } },
  ];
  for (const statement of good) assert.ok(validate(statement), `${JSON.stringify(statement)} ${JSON.stringify(validate.errors)}`);
  const bad = [
    { where: { nme: { eq: 'x' } } },
    { where: { apiKey: { eq: 'x' } } },
    { where: { note: { eq: 'x' } } },
    { where: { createdAt: { gte: '2023-02-29' } } },
    { where: { isVip: { gt: true } } },
    { where: { name: {} } },
    { where: { and: [] } },
    { limit: 10001 },
    { order: [{ field: 'orders.total' }] },
    { attributes: ['id'] },
    { relations: { country: true }, aggregation: { fields: [{ fn: 'count', field: '*' }] } },
  ];
  for (const statement of bad) assert.ok(!validate(statement), JSON.stringify(statement));
});
