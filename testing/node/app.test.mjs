// The modules of the example app by themselves: from what somebody chose to a Query Statement, and how it is written down.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pretty } from '../../examples/app/inspector.js';
import { money } from '../../examples/app/format.js';
import { RESOURCES, REVENUE } from '../../examples/app/resources.js';
import { ofChart, ofDetails, ofTable, whereOf } from '../../examples/app/statement.js';

const everything = () => true;
const nothing = (permission) => !permission;
const chosen = (text) => new URLSearchParams(text);
const { customers, orders } = RESOURCES;

describe('a statement', () => {
  test('says nothing about what nobody chose', () => {
    assert.deepEqual(ofTable(orders, chosen(''), everything), { relations: { customer: true }, order: [{ field: 'placedAt', dir: 'desc' }], limit: 12 });
  });

  test('has a page, an order and filters, and conditions on one relation do not overwrite each other', () => {
    const statement = ofTable(orders, chosen('customer=li&country=NO&placed-to=2024-02-29&sort=total&page=3'), everything);
    assert.deepEqual([statement.offset, statement.order], [24, [{ field: 'total', dir: 'asc' }]]);
    assert.deepEqual(statement.where, {
      and: [{ customer: { name: { iLike: '%li%' } } }, { customer: { countryCode: { eq: 'NO' } } }, { placedAt: { lte: '2024-02-29T23:59:59.999999Z' } }],
    });
  });

  test('takes what was typed for what it is', () => {
    assert.deepEqual(whereOf(orders.filters, chosen({ customer: ' 50%_\\ ' }), everything), { customer: { name: { iLike: '%50\\%\\_\\\\%' } } });
  });

  test('leaves out what makes no sense: a field that is no column, a page below one, an amount that is no number', () => {
    const statement = ofTable(orders, chosen('sort=apiKey&page=-4&total-from=abc&placed-from=soon&unknown=1'), everything);
    assert.deepEqual(statement, ofTable(orders, chosen(''), everything));
  });

  test('asks for nothing that the viewer lacks the permission for', () => {
    const choices = chosen('name=a&email=b&label=vip');
    assert.deepEqual(Object.keys(ofTable(customers, choices, everything).where), ['name', 'email', 'labels']);
    assert.deepEqual(Object.keys(ofTable(customers, choices, nothing).where), ['name']);
    assert.deepEqual(Object.keys(ofDetails(customers, everything).relations), ['orders', 'labels']);
    assert.deepEqual(ofDetails(customers, nothing), { relations: {} });
  });

  test('of a chart groups, and has every measure', () => {
    const { aggregation, order } = ofChart(REVENUE, REVENUE.groups.month, chosen(''), everything);
    assert.deepEqual([aggregation.groupBy, order], [['month'], [{ field: 'month', dir: 'asc' }]]);
    assert.deepEqual(aggregation.fields.map(({ fn, as }) => `${fn} ${as}`), ['sum revenue', 'count orders', 'avg average']);
  });
});

describe('values', () => {
  test('money keeps its digits, however many', () => {
    assert.deepEqual(['0.5', '1234.50', '90071992547409931.10', '7'].map(money), ['€0.50', '€1,234.50', '€90,071,992,547,409,931.10', '€7.00']);
  });

  test('a statement is written so that it can be read, and read back', () => {
    const statement = ofDetails(customers, everything);
    const text = pretty({ query: statement });
    assert.deepEqual(JSON.parse(text), { query: statement });
    assert.ok(text.split('\n').every((line) => line.length <= 48), text);
    assert.equal(pretty({ where: {}, limit: 1 }), '{ "where": {}, "limit": 1 }');
  });
});
