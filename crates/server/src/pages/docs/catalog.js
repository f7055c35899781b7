// The resources that the caller may see, from /docs/resources.json.

/** The operations of the playground, by the words that people choose. */
export const OPERATIONS = { paginate: 'paginate', keysetPaginate: 'keyset-paginate', list: 'list', find: 'find', findById: 'find by id' };

/** Loads the resources; the token may be empty. */
export async function load(token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch('/docs/resources.json', { headers, cache: 'no-store', credentials: 'same-origin' });
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(problem.detail ?? `the server answered ${answer.status}`), { status: answer.status });
  }
  return new Catalog(await answer.json());
}

/** Resources by name. */
export class Catalog {
  constructor({ resources, explain, withheld = 0, maxRows = Infinity }) {
    this.resources = resources;
    /** The most rows that the server answers. */
    this.maxRows = maxRows;
    /** How many more resources need a permission that the caller lacks. */
    this.withheld = withheld;
    this.explain = explain === true;
    this.byName = new Map(resources.map((resource) => [resource.name, resource]));
  }

  resource(name) {
    return this.byName.get(name);
  }

  /** The resource on the other side of a relation. */
  target(resource, relation) {
    const found = resource?.relations.find((candidate) => candidate.name === relation);
    return found && this.resource(found.target);
  }

  /** Contexts with their resources, in the order of the manifest. */
  contexts(resources = this.resources) {
    const contexts = new Map();
    for (const resource of resources) {
      if (!contexts.has(resource.context)) contexts.set(resource.context, []);
      contexts.get(resource.context).push(resource);
    }
    return [...contexts];
  }

  /** Resources with every word in their own name or the name of a field or relation. */
  search(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== '');
    return this.resources.filter((resource) => {
      const fields = [...resource.fields, ...(resource.write?.fields ?? [])];
      const names = [resource.name, ...fields.map((field) => field.name), ...resource.relations.map((relation) => relation.name)];
      const lower = names.map((name) => name.toLowerCase());
      return wanted.every((word) => lower.some((name) => name.includes(word)));
    });
  }
}

/** `text`, `text[]` */
export function typeName(field) {
  return field.array ? `${field.type}[]` : field.type;
}

/** The path of an operation, or undefined. */
export function pathOf(resource, operation) {
  return resource.operations.find((candidate) => candidate.name === operation)?.address;
}

/** The path of one row, each part of the key encoded. */
export function pathOfRow(resource, parts) {
  return pathOf(resource, 'findById').replace('{id}', idOf(parts));
}

/** The path of a write, on the row with this key; undefined if the caller may not use it. */
export function pathOfWrite(resource, form, parts) {
  return resource.write.operations.find(({ name }) => name === form)?.address.replace('{id}', idOf(parts));
}

function idOf(parts) {
  return parts.map((part) => encodeURIComponent(part)).join(',');
}
