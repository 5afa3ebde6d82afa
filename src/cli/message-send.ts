import type { NewMessage } from '../messages/message.ts';
import { UsageError } from './command.ts';
import { messagePrinted } from './message-show.ts';
import { readBody, readId, storeCommand } from './store-command.ts';

/** `petstore message send` */
export const command = storeCommand({
  name: 'message send',
  sentence: 'Sends a message: for an account, or from the store itself to one.',
  details: 'It is delivered by the server, as soon as one runs.',
  options: {
    message: { sentence: 'The text, 1 to 10000 characters; lines may break.', value: 'TEXT', required: true },
    account: { sentence: 'For whom it is sent; see `petstore account list`.', value: 'ID' },
    pet: {
      sentence: 'The animal that it is about: it goes to its owner, else to the store itself; with --account.',
      value: 'ID',
    },
    'reply-to': { sentence: 'The e-mail address that an answer is to go to; with --account.', value: 'EMAIL' },
    to: { sentence: 'The account that the store itself writes to; instead of --account.', value: 'ID' },
  },
  examples: [
    {
      line: 'petstore message send --to 2 --message "Your animals are on the first page."',
      sentence: 'from the store to an account',
    },
    {
      line: 'petstore message send --account 2 --pet 7 --message "Is she still there?"',
      sentence: 'for someone who called, to the owner of an animal',
    },
  ],
  async read({ options: { account, pet, to, message, 'reply-to': replyTo } }) {
    if ((account === undefined) === (to === undefined)) {
      throw new UsageError('Say either for which account it is with --account, or with --to to whom the store writes.');
    }
    if (to !== undefined && (pet !== undefined || replyTo !== undefined)) {
      throw new UsageError('--pet and --reply-to go with --account, not with --to.');
    }
    const { NewMessage } = await import('../messages/message.ts');
    const body = await readBody<NewMessage>(NewMessage, {
      message: message!,
      ...(pet !== undefined && { petId: readId('--pet', pet) }),
      ...(replyTo !== undefined && { replyTo }),
    });
    return to === undefined
      ? { accountId: readId('--account', account!), body }
      : { toAccountId: readId('--to', to), body };
  },
  async work(store, wish) {
    const { sendMessage, sendNotification } = await import('../messages/messages.ts');
    const accountId = wish.toAccountId ?? wish.accountId;
    await store.requireAccount(accountId);
    return messagePrinted(
      await store.database.write(tx =>
        wish.toAccountId === undefined
          ? sendMessage(tx, { accountId, admin: false }, wish.body)
          : sendNotification(tx, accountId, wish.body.message),
      ),
    );
  },
});
