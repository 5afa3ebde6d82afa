/** How a member learns of new messages to the account: an e-mail for each, one a day, or none. */
export const noticeChoices = ['each', 'daily', 'none'] as const;
export type NoticeChoice = (typeof noticeChoices)[number];
