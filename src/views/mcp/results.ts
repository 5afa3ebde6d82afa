import { errorBody, type Problem } from '../../lib/http/problem.ts';
import { type ErrorCode, errors } from '../../model/errors.ts';

/** The result of a tool, twice: as a value and as text. */
export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent: object;
  readonly isError?: true;
  /** Our error code, for logs and metrics. */
  readonly code?: string;
}

/** The largest result, in bytes of JSON. */
export const RESULT_BYTES_MAX = 25 * 1024;
/** The part of it that is left for everything but the items or members of its value. */
const NOTES_BYTES = 5 * 1024;
const ITEMS_BYTES_MAX = RESULT_BYTES_MAX - NOTES_BYTES;

export function resultOf(value: object): ToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
}

/** Returns the result of a tool that failed: the error of the API, and the next step. */
export function errorResult(problem: Problem): ToolResult {
  const { code } = problem;
  return { ...resultOf({ ...errorBody(problem), nextStep: nextStepOf(code) }), isError: true, code };
}

/** Returns the remedy of an error. */
export function nextStepOf(code: string): string {
  return errors[code as ErrorCode].remedy;
}

/** Returns how many of some items fit into a result. */
export function countFitting(items: readonly object[]): number {
  let bytes = 0;
  const over = items.findIndex(item => {
    bytes += bytesOf(item);
    return bytes > ITEMS_BYTES_MAX;
  });
  return over < 0 ? items.length : over;
}

/** Returns a value that fits into a result: without its largest members, whose names are in `leftOut`. */
export function fitted(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept = { ...value };
  const leftOut: string[] = [];
  let bytes = bytesOf(value);
  const sizes = Object.entries(value).map(([name, member]) => [name, bytesOf(member)] as const);
  for (const [name, size] of sizes.sort(([, one], [, other]) => other - one)) {
    if (bytes <= ITEMS_BYTES_MAX) break;
    delete kept[name];
    leftOut.push(name);
    bytes -= size;
  }
  return leftOut.length === 0 ? value : { ...kept, leftOut };
}

/** Returns the bytes of a part of a value in a result, where it stands twice. */
function bytesOf(value: unknown): number {
  const text = JSON.stringify(value) ?? '';
  return Buffer.byteLength(text) + Buffer.byteLength(JSON.stringify(text));
}
