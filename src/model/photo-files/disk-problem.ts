import { problem } from '../errors.ts';

/** Returns the error response for an error of the disk. @param code the system's error code */
export function diskProblem(code: string | undefined, cause?: unknown): Error {
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return problem('storage_full', undefined, { headers: ['Retry-After', '5'], cause });
  }
  return problem('storage_unavailable', 'The photos cannot be read or written at the moment.', {
    headers: ['Retry-After', '5'],
    cause: cause ?? new Error(`A photo cannot be written (${code}).`),
  });
}
