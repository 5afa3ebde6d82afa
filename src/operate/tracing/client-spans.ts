import type { Limiter } from '../../access/limits/limiter.ts';
import type { OutgoingClient } from '../../lib/http/client/client.ts';
import type { Attributes } from '../../lib/tracing/span.ts';
import type { Tracer } from '../../lib/tracing/tracer.ts';
import type { EmailSender } from '../../store/messages/email-sender.ts';
import { override } from './override.ts';

/** Returns attributes with the host and port of a URL, and no other part of it. */
export function serverAttributes(url: string): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return { 'server.address': hostname, 'server.port': port === '' ? usualPorts[protocol] : Number(port) };
}

const usualPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'smtp:': 587,
  'smtps:': 465,
  'postgres:': 5432,
  'postgresql:': 5432,
};

/**
 * Returns a client that records its requests, each as a child of the active span. The span has the host of the URL, but
 * neither path nor query, which can contain secrets. It replaces a `traceparent` header, which would name its parent.
 */
export function traceClient(tracer: Tracer, client: OutgoingClient): OutgoingClient {
  return override(client, {
    async post(request) {
      return tracer.measure({ name: 'POST', kind: 'client' }, async span => {
        if (span === undefined) return client.post(request);
        const { url, headers } = request;
        span.set({ 'http.request.method': 'POST', ...(URL.canParse(url) && serverAttributes(url)) });
        const traced = 'traceparent' in headers ? { ...headers, traceparent: span.traceparent } : headers;
        const outcome = await client.post({ ...request, headers: traced });
        if ('fault' in outcome) span.fail(outcome.fault);
        else {
          span.set({ 'http.response.status_code': outcome.status });
          if (outcome.status >= 400) span.fail(String(outcome.status));
        }
        return outcome;
      });
    },
    async get(request, use) {
      return tracer.measure({ name: 'GET', kind: 'client' }, async span => {
        const { url } = request;
        span?.set({ 'http.request.method': 'GET', ...(URL.canParse(url) && serverAttributes(url)) });
        return client.get(request, response => {
          span?.set({ 'http.response.status_code': response.status });
          return use(response);
        });
      });
    },
  });
}

/** Returns a sender that records each e-mail as a child of the active span. @param url the URL of the mail server */
export function traceEmailSender(tracer: Tracer, sender: EmailSender, url: string): EmailSender {
  const attributes = serverAttributes(url);
  return {
    async send(email) {
      return tracer.measure({ name: 'send e-mail', kind: 'client', attributes }, async span => {
        const failure = await sender.send(email);
        if (failure !== undefined) span?.fail(failure.reason);
        return failure;
      });
    },
  };
}

/** Returns a limiter that records how long requests wait for counts in Valkey. */
export function traceLimiter(tracer: Tracer, limiter: Limiter): Limiter {
  const count = () => {
    const isShared = limiter.health().counts === 'exact';
    return {
      name: 'count request',
      kind: 'client',
      attributes: { 'db.system.name': isShared ? 'valkey' : undefined },
    } as const;
  };
  return override(limiter, {
    count: caller => tracer.measure(count(), () => limiter.count(caller)),
    uncount: (caller, at) => tracer.measure(count(), () => limiter.uncount(caller, at)),
    status: subject => tracer.measure(count(), () => limiter.status(subject)),
    countAddress: address => tracer.measure(count(), () => limiter.countAddress(address)),
  });
}
