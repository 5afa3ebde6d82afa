import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lexer, type Token } from 'marked';
import { type Html, html } from './html.ts';
import { escapeMarkdown, htmlToMarkdown } from './html-to-markdown.ts';

const convert = (page: Html) =>
  htmlToMarkdown(page, { link: href => `https://x.test${href}`, page: 'https://x.test/' });

/** Texts that would be markup if they were not escaped. */
const hostile = [
  '# heading',
  '- item',
  '+ item',
  '1. item',
  '1) item',
  '=====',
  '---',
  '> quote',
  '```',
  '`code`',
  '*a* **b** _c_ __d__ ~~e~~',
  '[label](https://evil.test)',
  '![image](https://evil.test/x.png)',
  '<img src=x onerror=alert(1)> &lt; &amp;',
  'https://evil.test and www.evil.test and WWW.evil.test and me@evil.test',
  '<https://evil.test>',
  '[reference]: https://evil.test',
  'back\\slash \\* \\',
  '| a | b |',
];

describe('HTML to Markdown', () => {
  it('writes headings, paragraphs, links and code', () => {
    const page = html`<section><h2 id="a">A &amp</h2><p>Text with <strong>weight</strong>, <em>stress</em> and
<a href="/b?x=1&#38;y=2">a link</a>.</p><pre class="copy"><code>a <span>&lt;b&gt;</span>
${'c < d'}</code></pre><p>Then <code>x_y</code> and <code>${'a`b'}</code>.</p></section>`;
    const expected = `## A \\&amp

Text with **weight**, *stress* and [a link](https://x.test/b?x=1&y=2).

\`\`\`
a &lt;b&gt;
c < d
\`\`\`

Then \`x_y\` and \`\` a\`b \`\`.
`;
    assert.equal(convert(page), expected);
  });

  it('writes lists, names with values, and sections for items with headings', () => {
    const page = html`<ul><li>one</li><li><p>two</p><p>more</p></li></ul><ol><li>first</li></ol>
<dl><div><dt>Name</dt><dd>Rex</dd></div><dt>Age</dt><dd>3</dd></dl><ul><li><h3>Title</h3><p>Text</p></li></ul>`;
    assert.equal(convert(page), '- one\n- two\n\n  more\n\n1. first\n\n- Name: Rex\n- Age: 3\n\n### Title\n\nText\n');
  });

  it('leaves out drawings and controls, and links to forms that send something', () => {
    const page = html`<svg><use href="/x"></use></svg><form action="/s"><input name="q"><button>Find</button></form>
<form method="post"><label>Text</label><button>Send</button></form><a href="/x"><svg></svg></a>`;
    assert.equal(convert(page), '[Open the form](https://x.test/)\n');
  });

  it('makes a fence longer than the backticks in the code', () => {
    assert.equal(convert(html`<pre>${'```\nx'}</pre>`), '````\n```\nx\n````\n');
  });

  for (const text of hostile) {
    it(`keeps ${JSON.stringify(text)} text`, () => {
      for (const markdown of [escapeMarkdown(text), convert(html`<p>${text}</p>`)]) {
        const [block, ...others] = lexer(markdown.trimEnd());
        assert.deepEqual([block!.type, others], ['paragraph', []]);
        assert.equal(textOf(block!), text);
      }
      const [heading] = lexer(convert(html`<h2>${text}</h2>`));
      assert.equal(textOf(heading!), text);
      const [list] = lexer(convert(html`<ul><li><a href="/x"><bdi>${text}</bdi></a></li></ul>`));
      const hrefs = linksIn(list!);
      assert.deepEqual(hrefs, ['https://x.test/x']);
    });
  }

  for (const href of ['/a)[b](javascript:alert(1))', '/a(b', '/a)b', '/\\)', '/<a>', '/?a=1&copy;&b&#41;c']) {
    it(`keeps ${href} the address of one link`, () => {
      const [block] = lexer(convert(html`<p><a href="${href}">text</a></p>`));
      assert.deepEqual(linksIn(block!), [`https://x.test${href}`]);
    });
  }

  it('puts a text with line breaks on one line', () => {
    assert.equal(convert(html`<p><bdi>${'a\n\n# b'}</bdi></p>`), 'a \\# b\n');
  });
});

/** Returns the text of a token; fails for tokens that are markup. */
function textOf(token: Token): string {
  assert.ok(['paragraph', 'heading', 'text', 'escape'].includes(token.type), token.type);
  if ('tokens' in token && token.tokens !== undefined) return token.tokens.map(textOf).join('');
  return (token as { text: string }).text;
}

function linksIn(token: Token): string[] {
  const {
    type,
    href,
    tokens = [],
    items = [],
  } = token as { type: string; href?: string; tokens?: Token[]; items?: Token[] };
  assert.ok(!['html', 'image'].includes(type), type);
  return [...(href === undefined ? [] : [href]), ...[...tokens, ...items].flatMap(linksIn)];
}
