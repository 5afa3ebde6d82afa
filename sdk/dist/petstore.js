// @petstore-service/sdk 1.0.0. License: Apache-2.0.

// sdk/src/errors.ts
var PetstoreError = class extends Error {
  name = "PetstoreError";
  constructor(message, details) {
    super(message);
    Object.assign(this, { errors: [], ...details });
  }
};
var RateLimitError = class extends PetstoreError {
  name = "RateLimitError";
};
var ConnectionError = class extends PetstoreError {
  name = "ConnectionError";
};
async function errorOf(response) {
  const { status } = response;
  const { message = `Status ${status}`, code, errors = [] } = bodyOf(await response.text().catch(() => ""));
  const [requestId, after] = [headerOf(response, "X-Request-Id"), headerOf(response, "Retry-After")];
  const details = {
    status,
    code,
    errors,
    requestId,
    retryAfter: after ? secondsOf(after) : status === 429 ? 0 : void 0
  };
  return status === 429 ? new RateLimitError(message, details) : new PetstoreError(message, details);
}
function headerOf({ headers }, name) {
  return headers.get(name) ?? void 0;
}
function bodyOf(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
function secondsOf(text) {
  const seconds = Number(text);
  return seconds >= 0 ? seconds : Math.max(0, (Date.parse(text) - Date.now()) / 1e3) || 0;
}

// sdk/src/calls.ts
function callOf(sent, read) {
  const result = sent.then((incoming) => {
    const { status, headers } = incoming.response;
    return { data: read(incoming), status, headers, ...factsOf(incoming.response) };
  });
  const call = result.then(({ data }) => data);
  return Object.assign(call, {
    withResponse() {
      call.catch(() => {
      });
      return result;
    }
  });
}
function jsonOf({ response, text }) {
  const data = text ? JSON.parse(text) : void 0;
  const of = (name) => headerOf(response, name);
  const [next, total] = [of("x-next"), of("X-Total-Count")];
  if (!Array.isArray(data)) return data;
  return Object.assign(data, {
    next: next && new URL(next).searchParams.get("cursor"),
    total: total ? Number(total) : void 0,
    syncToken: of("X-Sync-Token"),
    ...factsOf(response)
  });
}
function factsOf(response) {
  return { etag: headerOf(response, "ETag"), requestId: headerOf(response, "X-Request-Id") };
}
async function* pagesFrom(first, get) {
  let page = await first;
  yield page;
  while (page.next !== void 0) {
    page = await get(page.next);
    yield page;
  }
}

// sdk/src/operations.ts
var operations = `
/pets
listPets ?
getPetFacets /facets ?
createPet O =?view
getPet /: ?
updatePet A /: =?view
replacePet U /: =?view
deletePet D /:
getPetHistory /:/history ?
addPhoto O /:/photos image/jpeg?alt
updatePhoto A /:/photos/: =
deletePhoto D /:/photos/:
getPhotoOriginal /:/photos/:/original - file
/exports
exportPetsAsCsv /pets.csv ? file
exportPetsAsNdjson /pets.ndjson ? file
/imports
importPets O text/csv?mode,preset,dryRun,confirmRemovals,currency,dates
listImports ?
getImport /:
getImportErrors /:/errors - file
cancelImport O /:/cancellation
/statistics
getShelterAnimalsCount /shelter-animals-count ?
/categories
listCategories ?
createCategory O =
getCategory /:
getCategoryAttributes /:/attributes
updateCategory A /: =
deleteCategory D /:
mergeCategory O /:/merge =
/organizations
listOrganizations ?
getOrganization /:
replaceOrganization U /: =
updateOrganization A /: =
deleteOrganization D /:
addOrganizationPhoto O /:/photos image/jpeg?alt
updateOrganizationPhoto A /:/photos/: =
deleteOrganizationPhoto D /:/photos/:
getOrganizationPhotoOriginal /:/photos/:/original - file
/holds
listHolds ?
createHold O =
getHold /:
extendHold O /:/extension =
releaseHold O /:/release
/store
listOrders /orders ?
placeOrder O /orders =
getOrder /orders/:
approveOrder O /orders/:/approval =
deliverOrder O /orders/:/delivery =
cancelOrder O /orders/:/cancellation =
returnOrder O /orders/:/return =
getInventory /inventory
/events
listEvents ?
streamEvents /stream ? events
/webhooks
createWebhook O =
listWebhooks ?
getWebhook /:
updateWebhook A /: =
deleteWebhook D /:
activateWebhook O /:/activation
deactivateWebhook O /:/deactivation
rotateWebhookSecret O /:/secrets =
testWebhook O /:/test
listDeliveries /:/deliveries ?
getDelivery /:/deliveries/:
redeliverEvents O /:/redeliveries =
/audit
listAuditEntries ?
listRefusals /refusals ?
/account
getAccount
getUsage /usage ?
listRequests /requests ?
/messages
sendMessage O =
listMessages ?
getMessage /:
`;

// sdk/src/stream.ts
var iterator = Symbol.asyncIterator;
var SILENCE_MS = 45e3;
var RECONNECT_MS = 2e3;
var FOREVER = 1e9;
function eventStream({ after }, options, time, send) {
  const stream = {
    lastEventId: after,
    async *[iterator]() {
      for (let wait = RECONNECT_MS; ; ) {
        const headers = { ...options.headers, "Last-Event-ID": stream.lastEventId };
        const { response } = await send({ ...options, maxRetries: options.maxRetries ?? FOREVER, headers });
        for await (const { id, data, retry } of messages(response.body, time)) {
          stream.lastEventId = id ?? stream.lastEventId;
          wait = Number(retry ?? wait);
          if (data) yield JSON.parse(data);
        }
        await time.sleep(wait + time.random() * wait, options.signal);
      }
    }
  };
  return stream;
}
async function* messages(body, time) {
  let fields = {};
  try {
    for await (const line of lines(body, time)) {
      const [, name, value] = line.match(/^(\w+): ?(.*)$/) ?? [];
      if (name !== void 0) fields = { ...fields, [name]: value };
      if (line !== "") continue;
      yield fields;
      fields = {};
    }
  } catch {
  }
}
async function* lines(body, time) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (; ; ) {
      const arrived = new AbortController();
      time?.sleep(SILENCE_MS, arrived.signal).then(
        () => reader.cancel(),
        () => {
        }
      );
      const { done, value } = await reader.read().finally(() => arrived.abort());
      if (done) break;
      const parts = (rest + value).split(/\r?\n/);
      rest = parts.pop();
      yield* parts;
    }
    if (rest) yield rest;
  } catch (cause) {
    throw new ConnectionError("The connection broke.", { cause });
  } finally {
    reader.cancel().catch(() => {
    });
  }
}

// sdk/src/transport.ts
var JITTER_MS = 1e3;
var JITTER_MS_MAX = 3e4;
var Transport = class {
  time;
  #options;
  #baseUrl;
  /** The 429 that holds requests back, and until when. */
  #pause;
  constructor(options) {
    this.#options = options;
    this.#baseUrl = new URL(options.baseUrl).href.replace(/\/+$/, "");
    this.time = options.time ?? systemTime;
  }
  /** Returns the first successful response. @throws {PetstoreError} */
  async send(outgoing, options) {
    const { signal, maxRetries = this.#options.maxRetries ?? 5, maxWait = this.#options.maxWait ?? 60 } = options;
    const headers = headersOf(outgoing, options, this.#options.apiKey);
    const triesMax = isRepeatable(outgoing, headers) ? 1 + maxRetries : 1;
    for (let tries = 1; ; tries++) {
      await this.#pauseEnd(maxWait, signal);
      const outcome = await this.#try(outgoing, headers, options);
      if (!(outcome instanceof PetstoreError)) return outcome;
      const { status, retryAfter = 0 } = outcome;
      if (status === 429) this.#holdBack(outcome, retryAfter);
      if (isTemporary(outcome) && retryAfter > maxWait) throw rateLimited(outcome, retryAfter);
      if (tries >= triesMax || !isTemporary(outcome)) throw outcome;
      await this.#sleep(retryAfter * 1e3, tries, signal);
    }
  }
  /** Returns the successful response, or the error if it failed. */
  async #try({ method, path, body, streams }, headers, { signal, timeout = this.#options.timeout ?? 30 }) {
    const content = await body?.open();
    const { fetch: send = fetch } = this.#options;
    const [late, done] = [new AbortController(), new AbortController()];
    this.time.sleep(timeout * 1e3, done.signal).then(
      () => late.abort(new Error(`No response in ${timeout} s`)),
      () => {
      }
    );
    try {
      const response = await send(this.#baseUrl + path, {
        ...{ method, headers, redirect: "manual", signal: AbortSignal.any([late.signal, signal ?? late.signal]) },
        ...content !== void 0 && { body: content, duplex: "half" }
      });
      if (!response.ok) return await errorOf(response);
      return streams ? { response } : { response, text: await response.text() };
    } catch (cause) {
      signal?.throwIfAborted();
      return new ConnectionError(String(cause.cause ?? cause), { cause });
    } finally {
      done.abort();
    }
  }
  #holdBack(error, seconds) {
    const until = this.time.now() + seconds * 1e3;
    if (!this.#pause || until > this.#pause.until) this.#pause = { until, error };
  }
  /** Resolves once no 429 holds requests back. */
  async #pauseEnd(maxWait, signal) {
    while (this.#pause) {
      const { until, error } = this.#pause;
      const left = until - this.time.now();
      if (left <= 0) return;
      if (left > maxWait * 1e3) throw rateLimited(error, Math.ceil(left / 1e3));
      await this.#sleep(left, 1, signal);
    }
  }
  /** Waits at least so many milliseconds, as timers can be early, and a random time that doubles with each try. */
  async #sleep(ms, tries, signal) {
    const { time } = this;
    const wait = ms + time.random() * Math.min(JITTER_MS_MAX, JITTER_MS * 2 ** (tries - 1));
    const until = time.now() + wait;
    for (let left = wait; left > 0; left = until - time.now()) await time.sleep(left, signal);
  }
};
var IDEMPOTENCY_KEY = "Idempotency-Key";
function headersOf(outgoing, options, apiKey) {
  const { idempotencyKey = randomKey(), ifMatch, ifNoneMatch, total } = options;
  const named = {
    Authorization: `Bearer ${apiKey}`,
    "Content-Type": outgoing.body?.type,
    [IDEMPOTENCY_KEY]: takesKey(outgoing) && idempotencyKey,
    "If-Match": ifMatch,
    "If-None-Match": ifNoneMatch,
    Prefer: total && "count=exact",
    ...options.headers
  };
  const headers = new Headers();
  for (const [name, value] of Object.entries(named)) if (value) headers.set(name, value);
  return headers;
}
function rateLimited(cause, retryAfter) {
  return new RateLimitError(cause.message, { ...cause, retryAfter, cause });
}
function takesKey({ method }) {
  return /^p(ost|atch)$/i.test(method);
}
function isRepeatable(outgoing, headers) {
  return !outgoing.body?.once && (!takesKey(outgoing) || headers.has(IDEMPOTENCY_KEY));
}
function isTemporary({ status, code }) {
  return code === "idempotency_key_in_use" || [void 0, 408, 429, 503].includes(status) && code !== "api_key_banned";
}
function randomKey() {
  return crypto.getRandomValues(new BigUint64Array(2)).join("-");
}
var TIMER_MS_MAX = 2 ** 31 - 1;
var systemTime = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (ms, signal) => new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const end = () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, TIMER_MS_MAX));
    signal?.addEventListener("abort", abort);
  })
};

// sdk/src/upload.ts
var types = {
  ndjson: "application/x-ndjson",
  png: "image/png",
  webp: "image/webp"
};
function fileBody(file, usualType) {
  const { type, name = typeof file === "string" && file } = file;
  const body = { type: type || (types[String(name).split(".").at(-1).toLowerCase()] ?? usualType) };
  if (typeof file === "string") return { ...body, open: () => openFile(file) };
  if (typeof file === "function") return { ...body, open: async () => bodyOf2(await file()) };
  const once = file instanceof ReadableStream || iterator in file;
  return { ...body, once, open: () => once ? bodyOf2(file) : file };
}
async function openFile(path) {
  const module = "node:fs";
  const { openAsBlob } = await import(
    /* @vite-ignore */
    /* webpackIgnore: true */
    module
  );
  return openAsBlob(path);
}
async function bodyOf2(stream) {
  return "process" in globalThis ? stream : new Response(stream).blob();
}

// sdk/src/client.ts
var methods = { D: "DELETE", A: "PATCH", O: "POST", U: "PUT" };
var START = "1970-01-01T00:00:00Z";
var Client = class _Client {
  #transport;
  static {
    let group = "";
    for (const line of operations.split("\n")) {
      const path = group;
      const [, name, ...words] = line.match(/^(\w+)(?: ([A-Z]))?(?: (\/\S*))?(?: (\S+))?(?: (\w+))?$/) ?? [];
      if (name === void 0) group = line;
      else {
        Object.defineProperty(_Client.prototype, name, {
          value(...values) {
            return this.#perform(path, words, values);
          }
        });
      }
    }
  }
  constructor(options) {
    this.#transport = new Transport(options);
  }
  /** Sends a request to a path below the base URL, with the retries of every call. */
  request(method, path, { query, body, ...options } = {}) {
    return this.#call(method, path, query, bodyOf3(body), options);
  }
  mirror({ since, ...filters } = {}, options = {}) {
    const query = { limit: 100, ...filters, updatedSince: since ?? START, includeRemoved: true };
    const get = (cursor) => this.request("GET", "/pets", { ...options, query: { ...query, cursor } });
    const mirror = {
      token: since,
      async *[iterator]() {
        for await (const page of pagesFrom(get(), get)) {
          yield* page;
          mirror.token = page.syncToken ?? mirror.token;
        }
      }
    };
    return mirror;
  }
  /**
   * Performs an operation.
   * @param words its method, path, input and output; see `operations`
   * @param values the path parameters, then the query, body or file, then the options
   */
  #perform(group, [letter, rest = "", input = "-", output], values) {
    const method = methods[letter] ?? "GET";
    const path = (group + rest).replaceAll(":", () => segmentOf(values.shift()));
    const [kind, names] = input.split("?");
    const given = kind === "-" ? void 0 : values.shift();
    const options = values.shift() ?? {};
    const others = names?.split(",").map((name) => [name, options[name]]) ?? [];
    if (kind === "") return this.#call(method, path, given, void 0, options, output);
    const body = kind.includes("/") ? fileBody(given, kind) : bodyOf3(given);
    return this.#call(method, path, Object.fromEntries(others), body, options, output);
  }
  #call(method, path, query, body, options, output) {
    const transport = this.#transport;
    const outgoing = { method, path: path + searchOf(query), body, streams: output !== void 0 };
    if (output === "events")
      return eventStream(query ?? {}, options, transport.time, (more2) => transport.send(outgoing, more2));
    const sent = transport.send(outgoing, options);
    if (output !== void 0) {
      const call2 = callOf(sent, ({ response }) => response);
      return Object.assign(call2, { [iterator]: () => valuesOf(call2) });
    }
    const call = callOf(sent, jsonOf);
    const more = { ...options, total: false, ifNoneMatch: void 0 };
    const get = (cursor) => this.#call(method, path, { ...query, cursor }, body, more);
    return Object.assign(call, {
      async *[iterator]() {
        for await (const page of pagesFrom(call, get))
          yield* page;
      }
    });
  }
};
var PetStore = Client;
function bodyOf3(value) {
  return value === void 0 ? value : { type: "application/json", open: () => JSON.stringify(value) };
}
function segmentOf(value) {
  const text = String(value ?? "");
  if (/^\.{0,2}$/.test(text)) throw new TypeError("An id is missing.");
  return encodeURIComponent(text);
}
function searchOf(query = {}) {
  const pairs = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const search = String(new URLSearchParams(pairs.filter(([, one]) => one != null)));
  return search && `?${search}`;
}
async function* valuesOf(file) {
  for await (const line of lines((await file).body)) if (line !== "") yield JSON.parse(line);
}

// sdk/src/webhook.ts
var WebhookError = class extends Error {
  name = "WebhookError";
};
async function unwrapWebhook(body, headers, secret, { tolerance = 300 } = {}) {
  const header = (name) => headerOf2(headers, `webhook-${name}`);
  const [id, timestamp, signatures] = [header("id"), header("timestamp"), header("signature")];
  if (!(Math.abs(Date.now() / 1e3 - Number(timestamp)) <= tolerance))
    throw new WebhookError("The delivery is not recent.");
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const key = await crypto.subtle.importKey(
    ...["raw", bytesOf(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false],
    ["verify"]
  );
  const content = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const signature of signatures.split(" ")) {
    const [, mac] = signature.match(/^v1,([A-Za-z0-9+/]{43}=)$/) ?? [];
    if (mac && await crypto.subtle.verify("HMAC", key, bytesOf(mac), content))
      return JSON.parse(text);
  }
  throw new WebhookError("The signature is wrong.");
}
function headerOf2(headers, name) {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return String(entries.find(([one]) => one.toLowerCase() === name)?.[1] ?? "");
}
function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
export {
  ConnectionError,
  PetStore,
  PetstoreError,
  RateLimitError,
  WebhookError,
  unwrapWebhook
};
