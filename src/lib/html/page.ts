/**
 * Returns a complete HTML page without external resources, for small screens, dark mode and screen readers.
 * @param site the name of the site, as plain text
 * @param root the path that relative links start from, with a trailing slash
 * @param title plain text
 * @param body HTML; escape the values of others with `escapeHtml`
 */
export function page(site: string, root: string, title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<base href="${escapeHtml(root)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} – ${escapeHtml(site)}</title>
<style>
:root { color-scheme: light dark; --text: light-dark(#1d2129, #e6e8ec); --ground: light-dark(#fff, #14171c);
  --quiet: light-dark(#575e6b, #a3abb8); --line: light-dark(#d8dce3, #333a45); --link: light-dark(#0b57b0, #86b7ff); }
body { max-width: 44rem; margin: 0 auto; padding: 2rem 1.25rem; font: 1rem/1.6 system-ui, sans-serif;
  color: var(--text); background: var(--ground); overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 0.2rem; }
p, dd { margin: 0.2rem 0 0.8rem; }
dd { margin-inline-start: 0; color: var(--quiet); }
a { color: var(--link); }
code { font-family: ui-monospace, monospace; font-size: 0.95em; }
nav { border-block-end: 1px solid var(--line); padding-block-end: 0.6rem; }
</style>
</head>
<body>
<nav aria-label="Site"><a href="${escapeHtml(root)}">${escapeHtml(site)}</a></nav>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}

/** Converts a sentence of the documentation to HTML, with `<code>` in place of backticks. */
export function sentenceHtml(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
