// A manifest of 300 resources that are related in a chain, and the script that creates their tables.

const COUNT = 300;

const name = (index) => `thing${index}`;
/** Ten contexts, so that names of contexts enter the names of types. */
const fullName = (index) => `c${index % 10}.${name(index)}`;

const resource = (index) => `
[resource.${fullName(index)}]
table = "${name(index)}"
[resource.${fullName(index)}.fields]
id = { type = "int", key = true }
nextId = "int"
label${index} = { type = "text", null = false }
amount = "decimal"
large = "bigint"
ratio = "float"
isOpen = "bool"
day = "date"
at = "timestamp"
code = "uuid"
tags = "text[]"
more = "json"
state = { type = "enum", values = ["new", "done"] }
[resource.${fullName(index)}.relations]
next = { one = "${fullName((index + 1) % COUNT)}", on = { nextId = "id" } }
previous = { many = "${fullName((index + COUNT - 1) % COUNT)}", on = { id = "nextId" } }
`;

const table = (index) => `
CREATE TABLE ${name(index)} (id INTEGER PRIMARY KEY, next_id INTEGER, label${index} TEXT NOT NULL, amount TEXT, large INTEGER, ratio REAL,
  is_open INTEGER, day TEXT, at TEXT, code TEXT, tags TEXT, more TEXT, state TEXT);
CREATE INDEX ${name(index)}_next ON ${name(index)} (next_id);
INSERT INTO ${name(index)} (id, next_id, label${index}, amount, state) VALUES (1, 1, 'label of ${name(index)}', '1.50', 'new');
`;

const all = (write) => Array.from({ length: COUNT }, (_, index) => write(index)).join('');

export const MANIFEST = all(resource);
export const SCRIPT = all(table);
