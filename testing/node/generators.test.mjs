// Client generators for GraphQL on a schema of 300 resources: GraphQL Code Generator and gql.tada. The results are compiled, and a
// compiled program queries the server.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { codegen } from '@graphql-codegen/core';
import * as typedDocumentNode from '@graphql-codegen/typed-document-node';
import * as typescript from '@graphql-codegen/typescript';
import * as typescriptOperations from '@graphql-codegen/typescript-operations';
import { buildSchema, parse, printSchema } from 'graphql';

import { eachLineFails, openFolder } from './compiler.mjs';
import { MANIFEST, SCRIPT } from './large.mjs';
import { startServer } from './server.mjs';

const GQL_TADA = createRequire(import.meta.url).resolve('gql.tada/cli');

const DOCUMENT = `query Things($query: QueryStatementInput) {
  c7GetThings7: c7GetThing7s(query: $query) { id label7 amount more next { label8 next { label9 } } previous { label6 } }
}`;
const SCALARS = { BigInt: 'number', Date: 'string', DateTime: 'string', Decimal: 'string', JSON: 'unknown', Time: 'string', UUID: 'string' };

/** Sends a typed document; the type of the answer comes from the document. */
const SEND = `
import { print } from 'graphql';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
export async function send<R, V>(origin: string, document: TypedDocumentNode<R, V>, variables: V): Promise<R> {
  const body = JSON.stringify({ query: print(document), variables });
  const answer = await fetch(origin + '/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { data, errors } = await answer.json();
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}
`;
/** Reads fields of the row and of its relations with their types. */
const USE = `
export async function labels(origin: string): Promise<string[]> {
  const { c7GetThings7: rows } = await send(origin, document, { query: { limit: 1 } });
  const row = rows[0]!;
  const amount: string | null | undefined = row.amount;
  const id: number | null | undefined = row.id;
  const previous: ({ label6: string | null } | { label6?: string | null | undefined })[] = row.previous ?? [];
  return [row.label7 ?? '', row.next?.label8 ?? '', row.next?.next?.label9 ?? '', previous[0]?.label6 ?? '', amount ?? '', String(id)];
}
declare const row: Awaited<ReturnType<typeof send<typeof document extends TypedDocumentNode<infer R, any> ? R : never, any>>>['c7GetThings7'][number];
`;
/** Each of these is an error. */
const WRONG = [
  `export const a = row.label8;`,
  `export const b: number | null | undefined = row.label7;`,
  `export const c = row.next?.label7;`,
  `export const d = row.previous?.label6;`,
  `export const e = row.nextId;`,
  `export const f = send('', document, { query: { limit: 'one' } });`,
  `export const g = send('', document, { query: { lmit: 1 } });`,
];
const EXPECTED = ['label of thing7', 'label of thing8', 'label of thing9', 'label of thing6', '1.50', '1'];

let server;
let folder;
let sdl;
before(async () => {
  server = await startServer({ manifest: MANIFEST, script: SCRIPT });
  folder = await openFolder();
  sdl = await (await fetch(`${server.origin}/graphql/schema.graphql`)).text();
  await folder.write('schema.graphql', sdl);
  await folder.write('send.ts', SEND);
});
after(async () => {
  await folder?.close();
  await server?.close();
});

test('the served schema is the printed one, and the reference implementation builds it', () => {
  assert.equal(sdl, server.run('schema', 'graphql'));
  const types = printSchema(buildSchema(sdl)).match(/^type C\d+Thing\d+ \{/gm);
  assert.equal(types.length, 300);
});

/** Compiles a program with `head`, runs it, and compiles each wrong line. */
async function check(name, head) {
  await folder.write(`${name}.ts`, head + USE);
  assert.deepEqual(await folder.emit(`${name}.ts`), []);
  const { labels } = await import(pathToFileURL(join(folder.path, `${name}.js`)));
  assert.deepEqual(await labels(server.origin), EXPECTED);
  const before = head + USE;
  await folder.write(`${name}-wrong.ts`, before + WRONG.join('\n'));
  eachLineFails(await folder.errors(`${name}-wrong.ts`), `${name}-wrong.ts`, WRONG, before.split('\n').length - 1);
}

test('GraphQL Code Generator makes types from the schema', async () => {
  const schema = parse(sdl);
  const documents = [{ location: 'things.graphql', document: parse(DOCUMENT) }];
  const pluginMap = { typescript, typescriptOperations, typedDocumentNode };
  const generate = (filename, plugins) => codegen({ filename, schema, documents, config: { scalars: SCALARS, useTypeImports: true }, plugins, pluginMap });
  await folder.write('types.ts', await generate('types.ts', [{ typescript: {} }]));
  await folder.write('generated.ts', await generate('generated.ts', [{ typescriptOperations: {} }, { typedDocumentNode: {} }]));
  await folder.write('rows.ts', `import type { C7Thing7 } from './types.js';
declare const row: C7Thing7;
export const next: string | null | undefined = row.next?.next?.label9;
// @ts-expect-error: another type
export const wrong: number | null | undefined = row.next?.label8;
// @ts-expect-error: not a field
export const none = row.label8;
`);
  assert.deepEqual(await folder.errors('rows.ts'), []);
  await check('codegen', `import { send } from './send.js';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { ThingsDocument as document } from './generated.js';
`);
});

test('gql.tada makes types from the schema', async () => {
  const plugin = { name: 'gql.tada/ts-plugin', schema: './schema.graphql', tadaOutputLocation: './graphql-env.d.ts' };
  await folder.write('tada.json', JSON.stringify({ compilerOptions: { strict: true, skipLibCheck: true, plugins: [plugin] }, include: ['send.ts'] }));
  await promisify(execFile)(process.execPath, [GQL_TADA, 'generate-output', '--tsconfig', 'tada.json'], { cwd: folder.path });
  await check('tada', `import { send } from './send.js';
import { initGraphQLTada } from 'gql.tada';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import type { introspection } from './graphql-env.js';
const graphql = initGraphQLTada<{ introspection: introspection; scalars: ${JSON.stringify(SCALARS).replaceAll(/:"(\w+)"/g, ': $1').replaceAll(',', ';')} }>();
const document = graphql(\`${DOCUMENT}\`);
`);
});
