// The request of a form of “Try it”, and its curl command.

/**
 * Returns the arguments of `fetch`.
 * @param target the method, the base URL and the path with parameters in braces
 */
export function requestOf(form, { method, base, path }) {
  const headers = {};
  const query = new URLSearchParams();
  let filled = path;
  let body;
  for (const { name, value, files } of form.elements) {
    const [place, ...rest] = (name ?? '').split('.');
    const parameter = rest.join('.');
    if (place === 'path') filled = filled.replace(`{${parameter}}`, encodeURIComponent(value));
    else if (place === 'body' && value.trim() !== '') body = value;
    else if (place === 'file') body = files[0];
    else if (value === '') continue;
    else if (place === 'query') query.append(parameter, value);
    else if (place === 'header') headers[parameter] = value;
  }
  if (body !== undefined) headers['Content-Type'] = body instanceof File ? typeOf(body) : 'application/json';
  const search = query.size === 0 ? '' : `?${query}`;
  // The URL in the form in which fetch() sends it.
  const { href: url } = new URL(base + filled + search);
  return { method, url, headers, ...(body !== undefined && { body }) };
}

/** Browsers know the type of only some files. */
function typeOf({ name, type }) {
  if (name.endsWith('.csv')) return 'text/csv';
  return name.endsWith('.ndjson') ? 'application/x-ndjson' : type;
}

/** Returns the request as a command, with the key in a variable. */
export function curlOf({ method, url, headers, body }) {
  const options = [
    `-X ${method}`,
    shellText(url),
    '-H "Authorization: Bearer $KEY"',
    ...Object.entries(headers).map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    ...(body instanceof File ? [`--data-binary ${shellText(`@${body.name}`)}`] : []),
    ...(typeof body === 'string' ? [`-d ${shellText(body)}`] : []),
  ];
  return `curl -i ${options.join(' \\\n  ')}`;
}

function shellText(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
