import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { html } from './html.ts';
import { plainText, renderMarkdown } from './markdown.ts';

const render = (text: string) =>
  renderMarkdown(text, {
    link: href => href,
    code: (code, language) => html`<pre class="${language}">${code}</pre>`,
  });
const bodyOf = async (text: string) => (await render(text)).body.text.trim();

describe('renderMarkdown', () => {
  it('takes the title from the first heading and gives the others the ids of GitHub', async () => {
    const { title, body, sections } = await render(
      '# The `title`\n\nText.\n\n## Why *not*, `a_b`?\n\n## Twice\n\n### Twice\n',
    );
    assert.equal(title, 'The title');
    assert.doesNotMatch(body.text, /The title/);
    assert.deepEqual(
      sections.map(({ id, level, heading }) => [id, level, heading]),
      [
        ['', 1, ''],
        ['why-not-a_b', 2, 'Why not, a_b?'],
        ['twice', 2, 'Twice'],
        ['twice-1', 3, 'Twice'],
      ],
    );
    assert.match(
      body.text,
      /<h2 id="why-not-a_b"><a href="#why-not-a_b">Why <em>not<\/em>, <code>a_b<\/code>\?<\/a><\/h2>/,
    );
  });

  it('writes paragraphs, lists and emphasis', async () => {
    assert.equal(
      await bodyOf('One **two** *three* ~~four~~ `five`.'),
      '<p>One <strong>two</strong> <em>three</em> <del>four</del> <code>five</code>.</p>',
    );
    assert.equal(await bodyOf('- a\n- b'), '<ul>\n<li>a</li>\n<li>b</li>\n</ul>');
    assert.equal(await bodyOf('3. a\n4. b'), '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>');
    assert.equal(await bodyOf('- a\n\n  b'), '<ul>\n<li><p>a</p>\n<p>b</p>\n</li>\n</ul>');
    assert.equal(await bodyOf('> a\n\n---'), '<blockquote>\n<p>a</p>\n</blockquote>\n<hr>');
  });

  it('writes tables that scroll and can have the focus', async () => {
    const table = await bodyOf('## Limits\n\n| A | |\n|---|---|\n| `a` | [b](/b) |');
    assert.match(table, /<div class="scroll" role="group" tabindex="0" aria-label="Table: Limits"><table>/);
    assert.match(table, /<th scope="col">A<\/th><td><\/td>/);
    assert.match(table, /<td><code>a<\/code><\/td><td><a href="\/b">b<\/a><\/td>/);
    assert.doesNotMatch(await bodyOf('| | |\n|---|---|\n| a | b |'), /thead/);
  });

  it('hands code to the caller as it is', async () => {
    assert.equal(
      await bodyOf('```sh title\na <b> && "c"\n```'),
      '<pre class="sh">a &#60;b&#62; &#38;&#38; &#34;c&#34;</pre>',
    );
  });

  it('collects the text of each section for search', async () => {
    const { sections } = await render('# T\n\nIntro [link](/x).\n\n## A\n\n- one\n- `two`\n\n| H |\n|---|\n| cell |\n');
    assert.deepEqual(
      sections.map(({ text }) => text),
      ['Intro link.', 'one two H · cell'],
    );
  });

  it('shows an image as the caller does, or its alternative text', async () => {
    const { body } = await renderMarkdown('![A *cat*](a.webp) and ![a dog](b.webp)', {
      link: href => href,
      image: (href, alt) => (href === 'a.webp' ? html`<img src="/${href}" alt="${alt}">` : undefined),
      code: () => '',
    });
    assert.equal(body.text.trim(), '<p><img src="/a.webp" alt="A *cat*"> and a dog</p>');
    assert.equal(await bodyOf('![a dog](b.webp)'), '<p>a dog</p>');
  });

  it('leaves out comments', async () => {
    assert.equal(await bodyOf('<!-- Generated. -->\n\nText<!-- a -->.'), '<p>Text.</p>');
  });

  it('shows the text of a link that leads nowhere', async () => {
    const { body } = await renderMarkdown('A [link](x.md).', { link: () => undefined, code: () => '' });
    assert.equal(body.text.trim(), '<p>A link.</p>');
  });
});

describe('renderMarkdown with hostile text', () => {
  const elements = (text: string) => new Set([...text.matchAll(/<([a-z][a-z0-9]*)/gi)].map(([, name]) => name));
  const hostile = [
    '<script>alert(1)</script>',
    'a <img src=x onerror=alert(1)> b',
    '<!-- a --> <script>alert(1)</script>',
    '<!-- a\n--><script>alert(1)</script>',
    '# <script>alert(1)</script>\n\n## <script>alert(1)</script>',
    '| <script>a</script> |\n|---|\n| <svg onload=alert(1)> |',
    '- <script>alert(1)</script>',
    '![x](javascript:alert(1))',
    '**<script>**alert(1)',
    '`</code><script>alert(1)</script>`',
    '```"><script>\n</pre><script>alert(1)</script>\n```',
    '<div>\n\n**bold**\n\n</div>',
    'a <pre><img src=x onerror=alert(1)//',
    '- [ ] <script>alert(1)</script>',
    '[a](/b "\\"><script>alert(1)</script>")',
    '&lt;script&gt;alert(1)&lt;/script&gt;',
  ];
  for (const text of hostile) {
    it(`shows ${JSON.stringify(text)} as text`, async () => {
      const { body } = await render(text);
      const known = [
        'p',
        'h2',
        'a',
        'strong',
        'code',
        'pre',
        'ul',
        'li',
        'div',
        'table',
        'thead',
        'tbody',
        'tr',
        'th',
        'td',
      ];
      assert.deepEqual(
        [...elements(body.text)].filter(name => !known.includes(name!)),
        [],
      );
      assert.doesNotMatch(body.text, /<[^>]*\son\w+=/i);
      if (text.startsWith('<div>')) assert.doesNotMatch(body.text, /<div>/);
    });
  }

  const addresses = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' data:text/html,x',
    'vbscript:x',
    '//evil.example',
    '/\\evil.example',
    'file:///etc/passwd',
  ];
  for (const address of addresses) {
    it(`does not link to ${address}`, async () => {
      const { body } = await render(`[a](<${address}>) <${address}>`);
      assert.doesNotMatch(body.text, /<a /);
    });
  }

  it('keeps quotes within the attribute', async () => {
    assert.match(await bodyOf('[a](/b"onclick="x)'), /^<p><a href="\/b(&#34;|%22)onclick=(&#34;|%22)x">a<\/a><\/p>$/);
  });
});

describe('plainText', () => {
  it('removes the markup of a line', async () => {
    assert.equal(await plainText('What; [all *codes*](x.md), `y`'), 'What; all codes, y');
  });
});
