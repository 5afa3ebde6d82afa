import { checkedText } from '../lib/schemas.ts';
import { countText, textRules } from '../lib/text.ts';
import { type Static, Type } from '../lib/type.ts';
import { MESSAGE_NOTE_LENGTH_MAX, REPLY_LENGTH_MAX } from './rules.ts';

/** Returns the schema of a text that the recipient of a message writes. */
function writtenText(maxLength: number) {
  return Type.Object({ text: checkedText(textRules(maxLength), `The text: 1–${countText(maxLength)} characters.`) });
}

export type WrittenText = Static<ReturnType<typeof writtenText>>;

/** A note on a message. */
export const NewMessageNote = writtenText(MESSAGE_NOTE_LENGTH_MAX);

/** A reply by e-mail to a message. */
export const NewReply = writtenText(REPLY_LENGTH_MAX);
