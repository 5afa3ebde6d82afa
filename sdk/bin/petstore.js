#!/usr/bin/env node
// @petstore-service/sdk. License: Apache-2.0.
var __defProp = Object.defineProperty;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __esm = (fn, res, err) => function __init() {
  if (err) throw err[0];
  try {
    return fn && (res = (0, fn[__getOwnPropNames(fn)[0]])(fn = 0)), res;
  } catch (e) {
    throw err = [e], e;
  }
};
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// src/lib/user-error.ts
var UserError;
var init_user_error = __esm({
  "src/lib/user-error.ts"() {
    "use strict";
    UserError = class extends Error {
      constructor(message, options) {
        super(message, options);
        this.name = "UserError";
      }
    };
  }
});

// src/cli/command.ts
var UsageError;
var init_command = __esm({
  "src/cli/command.ts"() {
    "use strict";
    init_user_error();
    UsageError = class extends Error {
      name = "UsageError";
    };
  }
});

// src/cli/terminal.ts
function escapeLine(text) {
  return text.replaceAll(unsafe, escaped);
}
function list(rows) {
  const longest = Math.max(...rows.map(([name]) => widthOf(name)));
  return rows.map(([name, value]) => {
    const lines = value.split(/\r\n|\r|\n/).join(`
${" ".repeat(longest + 2)}`);
    return `${name}${" ".repeat(longest - widthOf(name))}  ${lines}`;
  }).join("\n");
}
function widthOf(text) {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += widthOfGrapheme(segment);
  return width;
}
function widthOfGrapheme(grapheme) {
  if (emoji.test(grapheme)) return 2;
  let width = 0;
  for (const character of grapheme) width += zeroWidth.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}
function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
var graphemes, emoji, zeroWidth, wide, unsafe, unsafeInText;
var init_terminal = __esm({
  "src/cli/terminal.ts"() {
    "use strict";
    emoji = new RegExp("^(?:\\p{Emoji_Presentation}|\\p{Emoji}\\ufe0f|[\\d#*]\\ufe0f?\\u20e3|\\p{Regional_Indicator}{2})", "u");
    zeroWidth = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]/u;
    wide = /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;
    unsafe = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\p{Cs}]/gu;
    unsafeInText = new RegExp(`(\\u001b\\[(?:1|2|22)m|\\n)|${unsafe.source}`, "gu");
  }
});

// src/lib/suggestion.ts
function suggestion(text, names) {
  const best = nearest(text, names);
  return best === void 0 ? "." : `; did you mean ${best}?`;
}
function nearest(text, names) {
  return nearestOf(text, names).best;
}
function nearestOf(text, names) {
  const wanted = text.toLowerCase();
  let best;
  let isTied = false;
  let least = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const tolerance = Math.max(1, Math.floor(name.length / 3));
    if (Math.abs(name.length - text.length) > tolerance) continue;
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance === least) isTied = true;
    if (distance > tolerance || distance >= least) continue;
    [best, least, isTied] = [name, distance, false];
  }
  return { best, isTied };
}
function editDistance(one, other) {
  let before = [];
  let above = [];
  let row = Array.from({ length: other.length + 1 }, (_, length) => length);
  for (let i = 1; i <= one.length; i++) {
    [before, above, row] = [above, row, [i]];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      let distance = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (isSame ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) distance = Math.min(distance, before[j - 2] + 1);
      row[j] = distance;
    }
  }
  return row[other.length];
}
var init_suggestion = __esm({
  "src/lib/suggestion.ts"() {
    "use strict";
  }
});

// sdk/listen/retries.ts
var RETRY_SECONDS, RETRY_JITTER, RETRY_AFTER_MAX;
var init_retries = __esm({
  "sdk/listen/retries.ts"() {
    "use strict";
    RETRY_SECONDS = [1, 2, 5, 10, 20, 30, 30];
    RETRY_JITTER = 0.1;
    RETRY_AFTER_MAX = 60;
  }
});

// sdk/listen/event-kinds.ts
var eventKinds;
var init_event_kinds = __esm({
  "sdk/listen/event-kinds.ts"() {
    "use strict";
    eventKinds = `
pet created,updated,deleted
category created,updated,deleted,merged
organization created,updated,deleted
hold created,extended,released,used,expired orders:read /holds
order placed,approved,delivered,returned,cancelled,expired orders:read /holds
message queued,delivered,failed messages:read /messages
account created,updated,password_changed,second_factor_changed,member_joined,member_left,role_changed,usage_alert,suspended,resumed,transferred,deletion_requested,deleted account:read /account
key created,rotated,revoked,expired account:read /account
ban imposed,lifted account:read /account
webhook created,updated,activated,deactivated,disabled,deleted,secret_rotated,redelivery_requested webhooks:read /webhooks
`;
  }
});

// sdk/listen/hidden-types.ts
import { PetstoreError } from "../dist/petstore.js";
function readTypes(text) {
  const types = text.split(",").map((type) => type.trim());
  const known = kinds.flatMap((kind) => kind.types);
  const unknown = types.find((type) => !known.includes(type));
  if (unknown === void 0) return types;
  throw new UsageError(`There is no event type ${JSON.stringify(unknown)}${suggestion(unknown, known)}`);
}
async function hiddenTypes(store, types, signal) {
  const call = (path) => store.request("GET", path, { query: { limit: 1 }, signal });
  await call("/events");
  const wanted = kinds.flatMap(({ name, types: all, scope, probe }) => {
    const names = types?.filter((type) => all.includes(type)) ?? [`${name}.*`];
    return names.length > 0 && scope && probe ? [{ scope, probe, names }] : [];
  });
  const scopes = [...new Set(wanted.map(({ scope }) => scope))];
  const missing = await Promise.all(
    scopes.map(async (scope) => {
      const of = wanted.filter((one) => one.scope === scope);
      const isMissing = await call(of[0].probe).then(() => false, lacksScope);
      return isMissing ? [`${of.flatMap(({ names }) => names).join(", ")} (${scope})`] : [];
    })
  );
  return missing.flat().join("; ");
}
function lacksScope(error) {
  if (error instanceof PetstoreError && error.status === 403) return error.code === "insufficient_scope";
  throw error;
}
var kinds;
var init_hidden_types = __esm({
  "sdk/listen/hidden-types.ts"() {
    "use strict";
    init_command();
    init_suggestion();
    init_event_kinds();
    kinds = eventKinds.trim().split("\n").map((line) => {
      const [name, actions, scope, probe] = line.split(" ");
      return { name, types: [`${name}.*`, ...actions.split(",").map((action) => `${name}.${action}`)], scope, probe };
    });
  }
});

// src/lib/signature.ts
import { createHmac } from "node:crypto";
function formatSecret(secret) {
  return `whsec_${secret.toString("base64")}`;
}
function signatureHeaders(id, sentAt, body, secrets) {
  const timestamp = String(Math.floor(sentAt / 1e3));
  const content = `${id}.${timestamp}.${body}`;
  const signatures = secrets.map((secret) => `v1,${createHmac("sha256", secret).update(content).digest("base64")}`);
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
var init_signature = __esm({
  "src/lib/signature.ts"() {
    "use strict";
  }
});

// sdk/listen/input.ts
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
function readSettings(options) {
  const { url, types, since, retry, "forward-to": forwardTo, "allow-remote": allowRemote } = options;
  if (since !== void 0 && !/^evt_\d{1,16}$/.test(since)) {
    throw new UsageError("--since must be the id of an event, such as evt_5.");
  }
  return {
    url: urlOf("--url", url).href.replace(/\/+$/, ""),
    forwardTo: urlOf("--forward-to", forwardTo),
    types: types === void 0 ? void 0 : readTypes(types),
    since,
    retry: retry !== void 0,
    allowRemote: allowRemote !== void 0
  };
}
function urlOf(option, text) {
  const url = /^https?:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) ? new URL(text) : void 0;
  if (url === void 0) throw new UsageError(`${option} must be a URL that begins with http:// or https://.`);
  if (url.username || url.password) throw new UsageError(`${option} must not have a user name or a password in it.`);
  return url;
}
async function apiKey({ environment, readHidden: readHidden2 }) {
  const { PETSTORE_API_KEY: text, PETSTORE_API_KEY_FILE: path } = environment;
  if (text && path) throw new UserError("PETSTORE_API_KEY and PETSTORE_API_KEY_FILE are both set; remove one of them.");
  const key = (text || (path ? await contentOf(path) : await readHidden2?.("API key (not shown): ")))?.trim();
  if (!key) {
    throw new UserError("An API key is needed. Set PETSTORE_API_KEY, or name its file with PETSTORE_API_KEY_FILE.");
  }
  if (/^petstore_(live|test)_\w+$/.test(key)) return key;
  throw new UserError("The API key must begin with petstore_live_ or petstore_test_, and have letters and digits.");
}
async function contentOf(path) {
  return await readFile(path, "utf8").catch(({ code: code2 }) => {
    throw new UserError(`PETSTORE_API_KEY_FILE names ${path}, which cannot be read (${code2}).`);
  });
}
function signingSecret({ PETSTORE_WEBHOOK_SECRET: given }) {
  const isNew = !given;
  const text = given || formatSecret(randomBytes(SECRET_BYTES));
  const bytes = Buffer.from(text.replace(/^whsec_/, ""), "base64");
  if (bytes.length >= 24 && bytes.length <= 64 && formatSecret(bytes) === text) return { text, bytes, isNew };
  throw new UserError("PETSTORE_WEBHOOK_SECRET must be whsec_ and 24 to 64 bytes in base64.");
}
var SECRET_BYTES;
var init_input = __esm({
  "sdk/listen/input.ts"() {
    "use strict";
    init_command();
    init_signature();
    init_user_error();
    init_hidden_types();
    SECRET_BYTES = 32;
  }
});

// src/events/deliveries/signed-request.ts
function signedRequest({ type, time, ...event }, sentAt, secrets, trace = {}) {
  const body = JSON.stringify({ type, timestamp: time, time, ...event });
  const headers = {
    "content-type": "application/json",
    "user-agent": "Petstore-Webhooks/1",
    ...trace,
    ...signatureHeaders(event.id, sentAt, body, secrets)
  };
  return { headers, body };
}
var init_signed_request = __esm({
  "src/events/deliveries/signed-request.ts"() {
    "use strict";
    init_signature();
  }
});

// src/lib/text.ts
function lineRules(maxLength) {
  return rulesOf(maxLength, "\\x00-\\x1F\\x7F-\\x9F", "must not have control characters");
}
function rulesOf(maxLength, controls, controlsError) {
  const control = new RegExp(`[${controls}]`);
  return {
    maxLength,
    pattern: `^[^\\S${controls}]*[^\\s${controls}][^${controls}]*$`,
    errorOf(text) {
      if (!text.isWellFormed()) return "must be well-formed Unicode, without lone surrogates";
      if (text.trim() === "") return "must have at least one character that is not white space";
      if (control.test(text)) return controlsError;
      return text.length > maxLength && [...text].length > maxLength ? `must have at most ${countText(maxLength)} characters` : void 0;
    }
  };
}
function countText(count) {
  return String(count).replace(/(?<!\.\d*)\B(?=(?:\d{3})+(?!\d))/g, ",");
}
var NAME_LENGTH_MAX, NOTE_LENGTH_MAX, nameRules, noteRules;
var init_text = __esm({
  "src/lib/text.ts"() {
    "use strict";
    NAME_LENGTH_MAX = 255;
    NOTE_LENGTH_MAX = 1e3;
    nameRules = lineRules(NAME_LENGTH_MAX);
    noteRules = rulesOf(
      NOTE_LENGTH_MAX,
      "\\x00-\\x09\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F",
      "must not have control characters other than line breaks"
    );
  }
});

// src/lib/time.ts
var HOUR_MS, DAY_MS, MS_OF, DURATION_MS_MAX, unitMs, dayFormat;
var init_time = __esm({
  "src/lib/time.ts"() {
    "use strict";
    init_text();
    HOUR_MS = 36e5;
    DAY_MS = 24 * HOUR_MS;
    MS_OF = { s: 1e3, m: 6e4, h: HOUR_MS, d: DAY_MS };
    DURATION_MS_MAX = 100 * 365 * MS_OF.d;
    unitMs = { second: 1e3, minute: 6e4, hour: HOUR_MS, day: DAY_MS, year: 365 * DAY_MS };
    dayFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });
  }
});

// src/lib/http/client/outcome.ts
function faultOf(error, tls) {
  if (error instanceof RequestError) return error.fault;
  const code2 = String(error.code);
  if (code2.startsWith("HPE_")) return "malformed_answer";
  return faultOfCode.get(code2) ?? (tls ? "tls" : "failed");
}
function parseRetryAfter(text, now) {
  if (text === void 0) return void 0;
  const delayMs = /^\d+$/.test(text) ? Number(text) * 1e3 : parseHttpDate(text) - now;
  return Number.isNaN(delayMs) ? void 0 : Math.min(Math.max(0, Math.round(delayMs)), RETRY_AFTER_MAX_MS);
}
function parseHttpDate(text) {
  if (/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) return Date.parse(text);
  if (/^\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT$/.test(text)) return Date.parse(text);
  return /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
var RequestError, RETRY_AFTER_MAX_MS, errorCodes, faultOfCode;
var init_outcome = __esm({
  "src/lib/http/client/outcome.ts"() {
    "use strict";
    init_time();
    RequestError = class extends Error {
      fault;
      constructor(fault) {
        super(fault);
        this.fault = fault;
      }
    };
    RETRY_AFTER_MAX_MS = 365 * DAY_MS;
    errorCodes = {
      refused: ["ECONNREFUSED"],
      unreachable: ["EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "EACCES", "EPERM", "EINVAL"],
      timeout: ["ETIMEDOUT"],
      reset: ["ECONNRESET", "ECONNABORTED", "EPIPE"],
      failed: ["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]
    };
    faultOfCode = new Map(
      Object.entries(errorCodes).flatMap(([fault, codes]) => codes.map((code2) => [code2, fault]))
    );
  }
});

// sdk/listen/receiver.ts
import { lookup } from "node:dns/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP } from "node:net";
async function openReceiver(url, allowRemote, secret, findAddresses = findBySystem) {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isAllowed = (address) => allowRemote || loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  const addressesOf = async () => {
    const all = await findAddresses(host).catch(() => []);
    if (all.length === 0) throw new UserError(`The host ${host} has no address.`);
    return all.filter(isAllowed).map((address) => ({ address, family: isIP(address) }));
  };
  if ((await addressesOf()).length === 0) {
    throw new UsageError(`--forward-to must lead to this machine; ${host} does not. Add --allow-remote to allow it.`);
  }
  const guardedLookup = async (_host, { all }, callback) => {
    const [first, ...others] = await addressesOf().catch(() => []);
    if (first === void 0) callback(new RequestError("unresolved"), "");
    else if (all) callback(null, [first, ...others]);
    else callback(null, first.address, first.family);
  };
  return {
    async post(event, signal) {
      const { headers, body } = signedRequest(event, Date.now(), [secret]);
      const startMs = performance.now();
      const outcome = await postOnce(url, { headers, lookup: guardedLookup, signal }, body);
      return { ...outcome, durationMs: performance.now() - startMs };
    }
  };
}
async function findBySystem(host) {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
function postOnce(url, options, body) {
  const tls = url.protocol === "https:";
  const length = { "content-length": Buffer.byteLength(body), "accept-encoding": "identity" };
  return new Promise((resolve) => {
    const request = (tls ? httpsRequest : httpRequest)(url, {
      ...{ ...options, method: "POST", headers: { ...options.headers, ...length }, agent: false }
    });
    let head;
    let fault;
    const timer = setTimeout(() => {
      fault = "timeout";
      request.destroy();
    }, TIMEOUT_MS);
    request.on("error", (error) => {
      fault ??= faultOf(error, tls);
    });
    request.on("response", (response) => {
      head = response;
      let bytes = 0;
      response.on("data", (part) => {
        bytes += part.length;
        if (bytes > RESPONSE_BYTES_MAX) request.destroy();
      });
      response.on("error", () => {
      });
    });
    request.on("upgrade", (_response, socket) => socket.destroy());
    request.on("close", () => {
      clearTimeout(timer);
      resolve(head === void 0 ? { status: fault ?? "reset", isAccepted: false } : responseOf(head));
    });
    request.end(body);
  });
}
function responseOf({ statusCode = 0, headers }) {
  const retryAfterMs = parseRetryAfter(headers["retry-after"], Date.now());
  return {
    status: statusCode,
    isAccepted: statusCode >= 200 && statusCode < 300,
    retryAfterSeconds: retryAfterMs === void 0 ? void 0 : retryAfterMs / 1e3
  };
}
var TIMEOUT_MS, RESPONSE_BYTES_MAX, loopback;
var init_receiver = __esm({
  "sdk/listen/receiver.ts"() {
    "use strict";
    init_command();
    init_signed_request();
    init_outcome();
    init_user_error();
    TIMEOUT_MS = 15e3;
    RESPONSE_BYTES_MAX = 65536;
    loopback = new BlockList();
    loopback.addSubnet("127.0.0.0", 8, "ipv4");
    loopback.addAddress("::1", "ipv6");
  }
});

// sdk/listen/listen.ts
var listen_exports = {};
__export(listen_exports, {
  listen: () => listen
});
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionError, PetStore, PetstoreError as PetstoreError2, RateLimitError } from "../dist/petstore.js";
async function listen(options, io) {
  const settings = readSettings(options);
  const { url, forwardTo, types, since } = settings;
  const secret = signingSecret(io.environment);
  const receiver = await openReceiver(forwardTo, settings.allowRemote, secret.bytes);
  const key = await apiKey(io);
  const { signal, time = systemTime } = io;
  const summary = { delivered: 0, failed: 0 };
  try {
    const store = new PetStore({ baseUrl: url, apiKey: key, time, fetch: watchedFetch(settings, io) });
    const hidden = await hiddenTypes(store, types, signal);
    if (hidden !== "") io.print(`The key lacks the scope for these events: ${hidden}.`);
    if (secret.isNew) {
      io.print("The signing secret of this start. Set it for your receiver; also set it here to use it again:");
      io.print(`  export PETSTORE_WEBHOOK_SECRET=${secret.text}`);
    }
    for await (const event of store.streamEvents({ types, after: since }, { signal })) {
      const isDelivered = await deliver(event, receiver, settings.retry, time, io);
      summary[isDelivered ? "delivered" : "failed"]++;
      summary.lastEventId = event.id;
    }
  } catch (error) {
    if (!signal.aborted) throw failureOf(error, url);
  }
  return summary;
}
async function deliver(event, receiver, retry, time, { print, style: style2, signal }) {
  for (const seconds of [...retry ? RETRY_SECONDS : [], void 0]) {
    const attempt = await receiver.post(event, signal);
    signal.throwIfAborted();
    const isLast = attempt.isAccepted || attempt.status === 410 || seconds === void 0;
    const wait = isLast ? void 0 : Math.max(
      seconds * (1 + RETRY_JITTER * time.random()),
      Math.min(attempt.retryAfterSeconds ?? 0, RETRY_AFTER_MAX)
    );
    print(lineOf(event, attempt, wait, style2));
    if (wait === void 0) return attempt.isAccepted;
    await time.sleep(wait * 1e3, signal);
  }
  return false;
}
function lineOf({ type, id }, attempt, wait, style2) {
  const { status, isAccepted, durationMs } = attempt;
  const outcome = String(status).padEnd(STATUS_WIDTH);
  const words = [
    style2.dim((/* @__PURE__ */ new Date()).toTimeString().slice(0, 8)),
    escapeLine(type).padEnd(TYPE_WIDTH),
    isAccepted ? outcome : style2.bold(outcome),
    `${Math.round(durationMs)} ms`.padStart(DURATION_WIDTH),
    style2.dim(escapeLine(id)),
    ...wait === void 0 ? [] : [`again in ${Math.ceil(wait)} s`]
  ];
  return words.join("  ");
}
function watchedFetch({ url, forwardTo }, { print, printError, signal }) {
  let isOpened = false;
  let isLost = false;
  const report = (reason) => {
    if (!isLost && !signal.aborted) printError(escapeLine(`${url}: ${reason}. Trying again …`));
    isLost = true;
  };
  return async (input, init) => {
    const isStream = String(input).startsWith(`${url}/events/stream`);
    if (isStream && isOpened) report("The connection ended");
    let response;
    try {
      response = await fetch(input, init);
      await rejectProxyError(response);
    } catch (error) {
      report(reasonOf(error));
      throw error;
    }
    const wait = response.headers.get("Retry-After");
    if (!response.ok && wait) printError(escapeLine(`${url}: ${response.status}, Retry-After: ${wait} s.`));
    if (isStream && response.ok) {
      print(isOpened ? "Connected again." : `Posting events of ${url} to ${forwardTo}. Stop with Ctrl-C.`);
      isOpened = true;
    }
    isLost &&= !response.ok;
    return response;
  };
}
async function rejectProxyError({ status, body }) {
  if (![500, 502, 504].includes(status)) return;
  await body?.cancel();
  throw new Error(`The status is ${status}`);
}
function reasonOf(error) {
  const { cause, errors, message } = error;
  const inner = cause ?? errors?.[0];
  return inner === void 0 ? message : reasonOf(inner);
}
function failureOf(error, url) {
  if (error instanceof ConnectionError) return new UserError(`${url} cannot be reached: ${reasonOf(error)}.`);
  if (error instanceof RateLimitError) return new UserError(`${error.message} Try again in ${error.retryAfter} s.`);
  if (error instanceof PetstoreError2 && error.code !== void 0) return new UserError(error.message);
  if (!(error instanceof PetstoreError2 || error instanceof SyntaxError)) return error;
  return new UserError(`${url} is not the base URL of a store; that ends with /v1.`);
}
var TYPE_WIDTH, STATUS_WIDTH, DURATION_WIDTH, systemTime;
var init_listen = __esm({
  "sdk/listen/listen.ts"() {
    "use strict";
    init_terminal();
    init_user_error();
    init_hidden_types();
    init_input();
    init_receiver();
    init_retries();
    TYPE_WIDTH = 20;
    STATUS_WIDTH = 7;
    DURATION_WIDTH = 8;
    systemTime = {
      now: () => performance.now(),
      random: Math.random,
      // The timers of Node.js remove their listeners from the signal.
      sleep: (ms, signal) => sleep(ms, void 0, signal && { signal })
    };
  }
});

// src/cli/hidden-input.ts
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
function readHidden(question, input, output) {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
  output.write(question);
  return new Promise((resolve) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  }).finally(() => {
    lines.close();
    output.write("\n");
  });
}
var init_hidden_input = __esm({
  "src/cli/hidden-input.ts"() {
    "use strict";
  }
});

// sdk/listen/petstore.ts
init_command();

// src/cli/command-help.ts
init_terminal();

// src/cli/usage.ts
init_suggestion();
init_command();
import { parseArgs } from "node:util";
var commonOptions = {
  json: { description: "Print one JSON value on standard output, and nothing else there." },
  help: { description: "Show this help." }
};
function parseUsage(command, args) {
  command.check?.(args);
  const known = { ...command.options, ...commonOptions };
  const { tokens, positionals } = tokensOf(args, known);
  const options = {};
  for (const token of tokens.filter((token2) => token2.kind === "option")) {
    const { name, rawName } = token;
    const option = Object.hasOwn(known, name) ? known[name] : unknownOption(command, known, rawName);
    const value = optionValue(option, token);
    const earlier = options[name];
    if (earlier !== void 0 && !option.repeatable) throw new UsageError(`--${name} is given twice.`);
    options[name] = earlier === void 0 ? value : `${earlier},${value}`;
  }
  for (const [name, option] of Object.entries(known)) {
    if (option.required && options[name] === void 0) {
      throw new UsageError(`\`petstore ${command.name}\` needs --${name} ${option.value}.`);
    }
    if (option.default !== void 0) options[name] ??= option.default;
  }
  return { arguments: namedArguments(command, positionals), options, json: options.json !== void 0 };
}
function unknownOption(command, known, rawName) {
  const names = Object.keys(known).map((one) => `--${one}`);
  throw new UsageError(`\`petstore ${command.name}\` has no option ${rawName}${suggestion(rawName, names)}`);
}
function tokensOf(args, known) {
  const options = Object.entries(known).map(([name, { value }]) => {
    return [name, { type: value === void 0 ? "boolean" : "string" }];
  });
  return parseArgs({ args: [...args], strict: false, tokens: true, options: Object.fromEntries(options) });
}
function optionValue({ value, choices, repeatable }, { name, value: text, inlineValue }) {
  if (value === void 0) {
    if (text !== void 0) throw new UsageError(`--${name} takes no value.`);
    return "true";
  }
  if (text === void 0 || inlineValue !== true && text.startsWith("-")) {
    throw new UsageError(`--${name} needs a value: --${name}=${value}.`);
  }
  const wrong = choices && (repeatable ? text.split(",") : [text]).find((one) => !choices.includes(one));
  if (wrong === void 0) return text;
  throw new UsageError(`--${name} must be ${choices.join(" or ")}${suggestion(wrong, choices)}`);
}
function namedArguments(command, positionals) {
  const names = Object.keys(command.arguments ?? {});
  if (positionals.length < names.length) {
    throw new UsageError(`\`petstore ${command.name}\` needs ${names.slice(positionals.length).join(" and ")}.`);
  }
  const extra = positionals[names.length];
  if (extra !== void 0) {
    throw new UsageError(`\`petstore ${command.name}\` takes no argument ${JSON.stringify(extra)}.`);
  }
  return Object.fromEntries(names.map((name, index) => [name, positionals[index]]));
}

// src/cli/command-help.ts
function commandHelp(command, style2, settings) {
  const sections = [command.summary, section(style2, "Usage", `petstore ${usageOf(command)} [OPTIONS]`)];
  if (command.details !== void 0) sections.push(command.details);
  if (command.arguments !== void 0)
    sections.push(section(style2, "Arguments", list(Object.entries(command.arguments))));
  sections.push(section(style2, "Options", optionList({ ...command.options, ...commonOptions })));
  if (settings !== void 0) sections.push(section(style2, "Settings (environment variables)", settings));
  const examples = Object.entries(command.examples).map(([line, purpose]) => `${style2.dim(`# ${purpose}`)}
${line}`);
  return [...sections, section(style2, "Examples", examples.join("\n"))].join("\n\n");
}
function usageOf(command) {
  return [command.name, ...Object.keys(command.arguments ?? {})].join(" ");
}
function optionList(options) {
  return list(Object.entries(options).map(([name, option]) => [flagOf(name, option), optionText(option)]));
}
function flagOf(name, { value }) {
  return value === void 0 ? `--${name}` : `--${name} ${value}`;
}
function optionText(option, quote = (text) => text) {
  const notes = [
    option.required && "required",
    option.choices?.map(quote).join(", "),
    option.repeatable && "comma-separated, or repeat the option",
    option.default && `default ${quote(option.default)}`
  ].filter(Boolean);
  return `${option.description}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`;
}
function section(style2, heading, body) {
  return `${style2.bold(heading)}
${body.replace(/^/gm, "  ")}`;
}

// src/cli/commands/listen.ts
init_retries();
init_command();
var listenCommand = {
  name: "listen",
  summary: "Post the events of a store to a receiver on this machine, signed as webhooks are, until Ctrl-C.",
  details: `Follows the event stream and continues after a lost connection. Prints the time, type, status, duration and id of each
event. The order of the events is kept: each waits until the previous one is done. Redirects are not followed.

The API key comes from PETSTORE_API_KEY, from the file that PETSTORE_API_KEY_FILE names, or from a prompt. It needs the
scope events:read. The signing secret is new for each start, unless PETSTORE_WEBHOOK_SECRET is set.`,
  options: {
    url: {
      description: "The base URL of the API, such as http://localhost:8081/v1.",
      value: "URL",
      required: true
    },
    "forward-to": {
      description: "The URL of the receiver, which must be on this machine.",
      value: "URL",
      required: true
    },
    types: {
      description: "Only events of these types; order.* stands for all types of a resource.",
      value: "TYPES",
      repeatable: true
    },
    since: { description: "Start after this event, such as evt_5. By default, start with new events.", value: "EVENT" },
    retry: {
      description: `Repeat failed posts as webhooks do, but sooner: up to ${RETRY_SECONDS.length} times, after ${RETRY_SECONDS.join(", ")} seconds.`
    },
    "allow-remote": { description: "Accept a receiver on another machine." }
  },
  examples: {
    "PETSTORE_API_KEY_FILE=key.txt petstore listen --url http://localhost:8081/v1 --forward-to http://localhost:3000/hook": "forward every event that the key can see",
    "petstore listen --url https://staging.example.org/v1 --forward-to http://localhost:3000/hook --types 'order.*' --retry": "only the events of orders, with retries; asks for the key"
  },
  check(args) {
    if (!args.some((arg) => /petstore_(live|test)_[\dA-Za-z]+_/.test(arg))) return;
    const why = "An argument contains an API key, which other programs can read there.";
    throw new UsageError(`${why} Create another key, and set PETSTORE_API_KEY or PETSTORE_API_KEY_FILE instead.`);
  },
  async run({ options, json, terminal: terminal2 }) {
    const interruption = new AbortController();
    const interrupt = () => interruption.abort();
    for (const signal of SIGNALS) process.once(signal, interrupt);
    try {
      const { listen: listen2 } = await Promise.resolve().then(() => (init_listen(), listen_exports));
      const { readHidden: readHidden2, style: style2, printError } = terminal2;
      const print = json ? printError : terminal2.print;
      const io = { environment: process.env, print, printError, readHidden: readHidden2, style: style2, signal: interruption.signal };
      const summary = await listen2(options, io);
      return { value: summary, text: () => textOf(summary) };
    } finally {
      for (const signal of SIGNALS) process.off(signal, interrupt);
    }
  }
};
var SIGNALS = ["SIGINT", "SIGTERM"];
function textOf({ delivered, failed, lastEventId }) {
  const more = lastEventId === void 0 ? "" : ` Continue with --since ${lastEventId}.`;
  return `Stopped: ${delivered} delivered, ${failed} failed.${more}`;
}

// sdk/listen/petstore.ts
init_hidden_input();
init_terminal();
init_user_error();
var { stdin, stdout, stderr, env } = process;
var format = (codes) => (text) => stdout.isTTY && !env["NO_COLOR"] ? `\x1B[${codes[0]}m${text}\x1B[${codes[1]}m` : text;
var style = { bold: format([1, 22]), dim: format([2, 22]) };
var terminal = {
  print: (text) => void stdout.write(`${text}
`),
  printError: (text) => void stderr.write(`${text}
`),
  write: async (text) => stdout.write(text),
  ...stdin.isTTY && stderr.isTTY && { readHidden: (question) => readHidden(question, stdin, stderr) },
  style
};
async function main([name, ...rest]) {
  if (name === void 0 || [name, ...rest].some((arg) => /^(-h|--help|help)$/.test(arg))) {
    terminal.print(commandHelp(listenCommand, style));
    return 0;
  }
  try {
    if (name !== "listen") throw new UsageError("The only command of this package is `petstore listen`.");
    const usage = parseUsage(listenCommand, rest);
    const { value, text } = await listenCommand.run({ ...usage, terminal });
    terminal.print(usage.json ? JSON.stringify(value) : text());
    return 0;
  } catch (error) {
    const isMisuse = error instanceof UsageError;
    const { message } = error;
    const known = isMisuse || error instanceof UserError ? message : `Unexpected error: ${message}`;
    terminal.printError(escapeLine(isMisuse ? `${known} See \`petstore listen --help\`.` : known));
    return isMisuse ? 2 : 1;
  }
}
stdout.on("error", () => process.exit(1));
var code = await main(process.argv.slice(2));
stdout.write("", () => process.exit(code));
