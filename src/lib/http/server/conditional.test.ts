import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '../problem.ts';
import { contentEtag, isKnown, requirePreconditions } from './conditional.ts';

/** Returns the error code; `undefined` if the preconditions hold. */
function refusal(headers: { ifMatch?: string; ifNoneMatch?: string }, etag = '"7.1"'): string | undefined {
  try {
    requirePreconditions(headers.ifMatch, headers.ifNoneMatch, etag);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error.code;
  }
}

describe('If-Match', () => {
  it('accepts the current version', () => {
    for (const ifMatch of ['"7.1"', ' "7.1" ', '"7.0","7.1"', '"a,b" , "7.1"', 'W/"7.1", "7.1"', '*', ' * ']) {
      assert.equal(refusal({ ifMatch }), undefined, ifMatch);
    }
  });

  it('accepts lists with empty elements', () => {
    for (const ifMatch of [',"7.1"', '"7.1",', '"7.0",,"7.1"', ' , ,"7.1", ,', '"7.0"\t,\t"7.1"']) {
      assert.equal(refusal({ ifMatch }), undefined, ifMatch);
    }
  });

  it('rejects other versions', () => {
    for (const ifMatch of ['"7.2"', '"7.10"', '""', '"*"', 'W/"7.1"', '"7.1,"', '"7","1"', '"\xff"']) {
      assert.equal(refusal({ ifMatch }), 'precondition_failed', ifMatch);
    }
  });

  it('rejects a malformed list of entity tags', () => {
    for (const ifMatch of [
      ...['', ' ', ',', '7.1', '"7.1', '7.1"', '"7.1""7.2"', '"7.1" "7.2"', '"7.1";', '"7.1", *', '*, "7.1"', '**'],
      ...[
        'w/"7.1"',
        'W /"7.1"',
        'W/ "7.1"',
        'W/',
        'W/W/"7.1"',
        '"7.1"W/',
        "'7.1'",
        '"a b"',
        '"7.1 "',
        '"\x7f"',
        '"\u0100"',
      ],
    ]) {
      assert.equal(refusal({ ifMatch }), 'invalid_parameter', ifMatch);
    }
  });

  it('reports the current version', () => {
    assert.throws(() => requirePreconditions('"7.1"', undefined, '"7.2"'), /"7\.2"/);
  });
});

describe('If-None-Match of a change', () => {
  it('matches the current version, weak or strong, and *', () => {
    for (const ifNoneMatch of ['"7.1"', 'W/"7.1"', '"7.0", "7.1"', '*']) {
      assert.equal(refusal({ ifNoneMatch }), 'precondition_failed', ifNoneMatch);
    }
    assert.equal(refusal({ ifNoneMatch: '"7.0"' }), undefined);
    assert.equal(refusal({ ifNoneMatch: '7.1' }), 'invalid_parameter');
  });
});

describe('If-None-Match of a reader', () => {
  it('knows the version that it names, weak or strong, or any', () => {
    for (const header of ['"7.1"', 'W/"7.1"', '"x","7.1"', ' *', '"a,b",W/"7.1"']) assert.ok(isKnown(header, '"7.1"'));
  });

  it('does not match other versions or a malformed list', () => {
    for (const header of ['"7.2"', '', '7.1', '"7.1', '"7.1" x', 'w/"7.1"']) assert.ok(!isKnown(header, '"7.1"'));
  });
});

describe('the entity tag of a response', () => {
  it('is the same for the same bytes and headers only', () => {
    assert.equal(contentEtag('[1]', ['Link', 'a']), contentEtag(Buffer.from('[1]'), ['Link', 'a']));
    const tags = [
      contentEtag('[1]', []),
      contentEtag('[2]', []),
      contentEtag('[1]', ['Link', 'a']),
      contentEtag('[1]', ['Lin', 'ka']),
    ];
    assert.equal(new Set(tags).size, tags.length);
    for (const tag of tags) assert.match(tag, /^"[\w-]{22}"$/);
  });
});

describe('a header of any length', () => {
  // A thousand times the maximum size: an algorithm with quadratic time would not finish.
  const length = 16 * 1024 * 1024;
  const shapes: Record<string, string> = {
    'quotes alone': '"'.repeat(length),
    'white space': ' '.repeat(length),
    'white space behind a tag': `"a"${' '.repeat(length)}x`,
    'white space between two tags': `"a"${' '.repeat(length)}"b"`,
    commas: `"a"${','.repeat(length)}`,
    'commas and white space': ' ,'.repeat(length / 2),
    'empty tags': '"",'.repeat(length / 16),
    'one long tag': `"${'a'.repeat(length)}"`,
    'one long tag without an end': `"${'a'.repeat(length)}`,
    'beginnings of weak tags': 'W/'.repeat(length / 2),
    'beginnings of weak tags behind a tag': `"a",${'W/'.repeat(length / 2)}"b"`,
  };
  for (const [name, header] of Object.entries(shapes)) {
    it(`is judged in one pass: ${name}`, { timeout: 60_000 }, () => {
      const code = refusal({ ifMatch: header });
      assert.ok(code === 'invalid_parameter' || code === 'precondition_failed');
      assert.equal(isKnown(header, '"7.1"'), false);
    });
  }
});
