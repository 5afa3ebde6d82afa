import { Problem } from '../lib/http/problem.ts';

/** Resolves to what a read finds; to `undefined` if it throws a problem with status 404. */
export async function found<Value>(read: Promise<Value>): Promise<Value | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}
