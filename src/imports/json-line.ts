/** The bounds of a line of NDJSON: far above what an animal has, and low enough to read in a moment. */
const MEMBERS_MAX = 1000;
const DEPTH_MAX = 8;

/** The error of a line that `objectIn` cannot read. */
export const invalidLine = {
  code: 'invalid_json',
  message: `The line must be a JSON object with at most 1,000 members, nested at most ${DEPTH_MAX} deep.`,
};

/** Returns the JSON object in a line of NDJSON, or `undefined` if there is none, or one beyond the bounds. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const isReadable = Object.keys(value).length <= MEMBERS_MAX && !isDeeper(value, DEPTH_MAX);
  return isReadable ? (value as Record<string, unknown>) : undefined;
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some(member => isDeeper(member, depth - 1));
}
