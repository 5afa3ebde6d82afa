import { getAccount } from '../../access/accounts/accounts.ts';
import { INVITATION_MS, invitationPath, newInvitationLink } from '../../access/people/invitations.ts';
import { type EmailKind, memberKinds } from '../../access/sessions/emails.ts';
import { durationIn } from '../../lib/time.ts';
import type { Transaction } from '../../model/schema.ts';

/** The subject and the text of an e-mail. */
export interface Letter {
  readonly subject: string;
  readonly text: string;
}

const changes = {
  member_joined: 'Someone joined your account',
  member_left: 'Someone left your account',
  role_changed: 'A role in your account was changed',
} as const satisfies Partial<Record<MemberKind, string>>;

type MemberKind = (typeof memberKinds)[number];

/** Reports whether an e-mail is about the members of an account. */
export function isAboutMembers(kind: EmailKind): kind is MemberKind {
  return (memberKinds as readonly EmailKind[]).includes(kind);
}

/** Returns an e-mail about the members of an account; `undefined` if the account or the invitation has ended. */
export async function membersLetter(
  tx: Transaction,
  { kind, accountId, email, url }: { kind: MemberKind; accountId: number; email: string; url: string },
): Promise<Letter | undefined> {
  const account = await getAccount(tx, accountId);
  if (account.deletedAt !== undefined) return undefined;
  if (kind !== 'invitation') {
    return {
      subject: changes[kind],
      text: `${changes[kind]} ${nameFor(account.name)} at Pet Store. See who is in it:

${url}/account/people
`,
    };
  }
  const secret = await newInvitationLink(tx, accountId, email);
  if (secret === undefined) return undefined;
  return {
    subject: `Join ${nameFor(account.name)} at Pet Store`,
    text: `You are invited to work in ${nameFor(account.name)} at Pet Store. Open this link to accept. It works once, for ${durationIn('day', INVITATION_MS, 'words')}:

${url}${invitationPath(secret)}

If you do not know who invites you, ignore this e-mail: nothing changes.
`,
  };
}

/** Returns the name of an account for an e-mail to a stranger: without what could be a link or an address. */
function nameFor(name: string): string {
  return /[/@\\]|[^\s.]\.[^\s.]/u.test(name) ? 'a shelter' : name;
}
