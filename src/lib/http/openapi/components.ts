import type { Header } from './types.ts';

export type Schema = Record<string, unknown>;
type Section = 'schemas' | 'parameters' | 'headers' | 'responses' | 'examples';

/** Returns the name of a schema that is a component: its `$id`, or a `title` in the form of a type name. */
export function nameOf(schema: object): string | undefined {
  const { $id, title } = schema as Schema;
  const name = $id ?? (/^[A-Z][A-Za-z]*$/.test(String(title ?? '')) ? title : undefined);
  return name === undefined ? undefined : String(name);
}

/** Returns the member `examples` of an object, if there are any. */
export function examplesOf(examples: readonly (readonly [name: string, example: object])[]): object {
  return examples.length > 0 ? { examples: Object.fromEntries(examples) } : {};
}

/** The components of a document. Each is added when the document first refers to it. */
export class Components {
  readonly sections: Record<Section, Record<string, unknown>> = {
    schemas: {},
    parameters: {},
    headers: {},
    responses: {},
    examples: {},
  };

  /**
   * Returns a reference to a named schema; an unnamed one inline. Omits defaults: generated clients would make a
   * request member with a default required.
   */
  schema(value: object): object {
    const { $id: _, default: __, '~document': documented, ...rest } = value as Schema;
    const name = nameOf(value);
    const members = Object.entries({ ...rest, ...(documented as object) })
      .filter(([key]) => !key.startsWith('~') && !(key === 'title' && name !== undefined))
      .map(([key, member]) => [key, this.#member(key, member)]);
    const schema = constants(Object.fromEntries(members));
    if (name === undefined) return schema;
    const shared = this.#share('schemas', name, schema);
    if (shared === schema) throw new Error(`two schemas are named ${name}`);
    return shared;
  }

  /** Returns a reference to a parameter, or the parameter inline if another one has its name. */
  parameter(name: string, parameter: object): object {
    return this.#share('parameters', name, parameter);
  }

  /** Returns a reference to an example, or the example inline if another one has its name. */
  example(name: string, example: object): object {
    return this.#share('examples', name, example);
  }

  /**
   * Returns headers by their names, each as `header()` returns it.
   * @param required whether every response that lists them has them
   */
  headers(headers: Readonly<Record<string, Header>>, required = true): Record<string, object> {
    const entries = Object.entries(headers).map(([name, header]) => {
      return [name, this.header(name, { ...header, ...(required && { required }) })];
    });
    return Object.fromEntries(entries);
  }

  /** Returns a reference to a header, or the header inline if another one has its name. */
  header(name: string, header: Header): object {
    return this.#share('headers', name, header);
  }

  /** Returns a reference to a response, or the response inline if another one has its name. */
  response(name: string, response: object): object {
    return this.#share('responses', name, response);
  }

  /** Converts the schemas below keywords that contain schemas; other values, such as examples, stay the same. */
  #member(key: string, member: unknown): unknown {
    if (typeof member !== 'object' || member === null) return member;
    if (['items', 'additionalProperties', 'not', 'propertyNames', 'contains'].includes(key)) return this.schema(member);
    if (['anyOf', 'allOf', 'oneOf', 'prefixItems'].includes(key)) {
      return (member as object[]).map(one => this.schema(one));
    }
    if (['properties', 'patternProperties', '$defs'].includes(key)) {
      return Object.fromEntries(Object.entries(member).map(([name, one]) => [name, this.schema(one)]));
    }
    return member;
  }

  #share(section: Section, name: string, value: object): object {
    const known = this.sections[section][name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(value)) return value;
    this.sections[section][name] = value;
    return { $ref: `#/components/${section}/${name}` };
  }
}

/** Writes a union of string constants as `enum`, which generators know. */
function constants(schema: Schema): Schema {
  const { anyOf, ...rest } = schema as { anyOf?: Schema[] };
  if (anyOf?.every(one => one.type === 'string' && 'const' in one)) {
    return { type: 'string', enum: anyOf.map(one => one.const), ...rest };
  }
  const texts = Array.isArray(schema.enum) && schema.enum.every(one => typeof one === 'string');
  return texts ? { type: 'string', ...schema } : schema;
}
