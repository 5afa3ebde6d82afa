// The resources that a request of “Try it” needs: an animal, a hold or an order of the visitor, created by earlier
// requests.

const DAY_MS = 86_400_000;

/** Returns a body with its time placeholders replaced by current times. */
export function withValuesOfNow(text) {
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString().replace(/\.\d+/, '');
  return text.replaceAll('{tomorrow}', tomorrow);
}

/**
 * Gets the resources of a plan. @param ids the known ids, to which others are added @param send sends a request, and
 * returns its response with its JSON
 */
export class Resources {
  #plan;
  #ids;
  #send;
  /** A function that is called for each request for a resource. */
  #report;

  constructor(plan, ids, send, report) {
    this.#plan = plan;
    this.#ids = ids;
    this.#send = send;
    this.#report = report;
  }

  /** Returns the id of a resource; creates the resource if necessary. */
  async get(name) {
    return this.#ids[name] ?? (await this.#make(name));
  }

  /** Returns a body with its resource placeholders replaced by ids. */
  async fill(text) {
    let filled = text;
    for (const [whole, name] of text.matchAll(/"\{(\w+)\}"/g)) {
      if (this.#plan.steps[name] !== undefined) filled = filled.replace(whole, JSON.stringify(await this.get(name)));
    }
    return filled;
  }

  async #make(name) {
    const { method, url, body, takes = {}, ends } = this.#plan.steps[name];
    let filled = url;
    for (const [parameter, other] of Object.entries(takes)) {
      filled = filled.replace(`{${parameter}}`, encodeURIComponent(await this.get(other)));
    }
    const text = body === undefined ? undefined : await this.fill(withValuesOfNow(JSON.stringify(body)));
    const headers = text === undefined ? {} : { 'Content-Type': 'application/json' };
    const { response, json } = await this.#send({ method, url: filled, headers, body: text });
    if (!response.ok) {
      const message = `${method} ${new URL(filled).pathname}: ${json?.message ?? response.status}`;
      throw Object.assign(new Error(message), { status: response.status });
    }
    this.#report(`${method} ${new URL(filled).pathname}`, response.status, `${this.#plan.names[name]}: ${json.id}`);
    if (ends !== undefined) delete this.#ids[ends];
    this.#ids[name] = json.id;
    return json.id;
  }
}
