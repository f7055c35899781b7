// Runs `peristyle schema …` on a manifest, in a temporary folder and with a minimal environment.
// PERISTYLE_BINARY names the program.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A field of every type, relations both ways, a mask, a hidden field, a resource without relations. */
export const MANIFEST = `
[resource.shop.customer]
permission = "shop.customer.get"

[resource.shop.customer.fields]
id = { type = "bigint", key = true }
name = { type = "text", null = false }
email = { type = "text", mask = "email", unmask = "shop.customer.pii" }
note = { type = "text", mask = "redact" }
apiKey = { type = "text", hidden = true }
status = { type = "enum", values = ["lead", "active", "gone"], null = false }
visits = { type = "int", null = false }
balance = { type = "decimal", null = false }
score = "float"
isVip = { type = "bool", null = false }
bornOn = "date"
wakesAt = "time"
createdAt = { type = "timestamp", null = false }
code = "uuid"
tags = { type = "text[]", null = false }
profile = "json"
countryCode = "text"

[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }
country = { one = "shop.country", on = { countryCode = "code" } }

[resource.shop.order.fields]
number = { type = "int", key = true }
customerId = { type = "bigint", key = true }
total = { type = "decimal", null = false }

[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }

[resource.shop.country]
plural = "countries"

[resource.shop.country.fields]
code = { type = "text", key = true }
name = { type = "text", null = false }

[resource.bigShop.appAccount]
plural = "appsAccounts"

[resource.bigShop.appAccount.fields]
settings = "json"
`;

/** The output of `peristyle schema` with these arguments. */
export function schema(...arguments_) {
  return described({}, arguments_);
}

/** The same on a hub, with its records and operations. */
export function schemaOfHub(...arguments_) {
  return described({ OAUTH_STRATEGY: 'local-provider' }, arguments_);
}

async function described(environment, arguments_) {
  const program = process.env.PERISTYLE_BINARY;
  if (!program) throw new Error('PERISTYLE_BINARY is not set: run ./scripts/test, or set it to the path of a built `peristyle`');
  const folder = await mkdtemp(join(tmpdir(), 'peristyle-schema-'));
  try {
    await writeFile(join(folder, 'peristyle.toml'), MANIFEST);
    const { stdout } = await run(program, ['schema', ...arguments_], { cwd: folder, env: environment, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
