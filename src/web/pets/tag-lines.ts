import { TAG_LENGTH_MAX, TAGS_MAX } from '../../model/profile.ts';

/** The error of a field for tags. */
export const TAGS_ERROR = `Enter up to ${TAGS_MAX} tags, one a line, each with up to ${TAG_LENGTH_MAX} characters.`;

/** Returns the tags that a visitor entered, one a line, each once. */
export function tagsIn(text: string): readonly string[] {
  const lines = text.split('\n').map(line => line.trim());
  return [...new Set(lines)].filter(line => line !== '');
}
