/**
 * Returns chunked bodies in which a line ends with LF instead of CRLF, each followed by another request. A parser that ends
 * lines with LF finds that request at another place than one that does not.
 */
export function chunksWithBareLf(body: string, next: string): Record<string, string> {
  const size = body.length.toString(16);
  const hidden = `${next.length.toString(16)}\r\n${next}\r\n0\r\n\r\n`;
  return {
    'the size': `${size}\n${body}\r\n0\r\n\r\n${next}`,
    'the size with an extension': `${size};a\n${body}\r\n0\r\n\r\n${next}`,
    'the size with an extension and a value': `${size};a=b\n${body}\r\n0\r\n\r\n${next}`,
    'the size with a quoted extension': `${size};a="b"\n${body}\r\n0\r\n\r\n${next}`,
    'the size with an empty extension': `${size};\n${body}\r\n0\r\n\r\n${next}`,
    'a quoted extension': `${size};a="b\n"\r\n${body}\r\n0\r\n\r\n${next}`,
    'an extension before a second size': `${size}\r\n${body}\r\n0;\n\r\n${hidden}`,
    'the data': `${size}\r\n${body}\n0\r\n\r\n${next}`,
    'the last size': `${size}\r\n${body}\r\n0\n\r\n${next}`,
    'the last line': `${size}\r\n${body}\r\n0\r\n\n${next}`,
    'a trailer': `${size}\r\n${body}\r\n0\r\nX: y\n\r\n${next}`,
    'the line after a trailer': `${size}\r\n${body}\r\n0\r\nX: y\r\n\n${next}`,
    'every line': `${size}\n${body}\n0\n\n${next}`,
  };
}
