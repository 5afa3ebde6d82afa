import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { TIMEOUT_MS } from '../../sdk/listen/receiver.ts';
import { RETRY_AFTER_MAX, RETRY_JITTER, RETRY_SECONDS } from '../../sdk/listen/retries.ts';
import { WRITE_EVERY_MS } from '../../src/access/audit/refusal-counter.ts';
import { SANDBOX_MS } from '../../src/access/keys/sandbox.ts';
import { INVITATION_MS } from '../../src/access/people/invitations.ts';
import { attemptLimits } from '../../src/access/sessions/attempts.ts';
import { LINK_MS } from '../../src/access/sessions/links.ts';
import { IDLE_MS, SESSION_MS } from '../../src/access/sessions/session.ts';
import { BLOCKED_MAX_MS, HEARTBEAT_MS } from '../../src/events/public/event-stream.ts';
import { BODY_KEPT_BYTES } from '../../src/lib/http/client/outcome.ts';
import { SCAN_LIMIT } from '../../src/lib/http/pagination/paginate.ts';
import { IDEMPOTENCY_KEY_LENGTH_MAX, IDEMPOTENCY_KEY_MS } from '../../src/lib/http/route.ts';
import { JSON_NESTING_MAX, JSON_VALUES_MAX, LARGE_JSON_BYTES_MIN } from '../../src/lib/http/server/json.ts';
import { defaultLimits, HEADER_BYTES_MAX } from '../../src/lib/http/server/options.ts';
import { BODY_BYTES_MAX, BODY_CHUNKS_MAX } from '../../src/lib/http/server/read-body.ts';
import { BYTES_PER_SECOND_MIN, RATE_SECONDS } from '../../src/lib/http/server/upload-rate.ts';
import { SLOT_WAIT_MS } from '../../src/lib/http/server/upload-slots.ts';
import { countText, NAME_LENGTH_MAX, NOTE_LENGTH_MAX, spelled } from '../../src/lib/text.ts';
import { DAY_MS, durationIn } from '../../src/lib/time.ts';
import { MESSAGE_LENGTH_MAX } from '../../src/model/message.ts';
import { LINKS_MAX, TEXT_LENGTH_MAX } from '../../src/model/organization.ts';
import { MEMBERS_MAX, MEMBERSHIPS_MAX } from '../../src/model/person.ts';
import { PHOTO_BYTES_MAX, PHOTO_PIXELS_MAX, PHOTOS_MAX } from '../../src/model/photo.ts';
import { addressPerMinute, type Bounds, boundOf, MEBIBYTE, type PlanName, plans } from '../../src/model/plan.ts';
import { BONDED_MAX } from '../../src/model/profile.ts';
import * as rules from '../../src/model/rules.ts';
import { settingTree } from '../../src/model/settings.ts';
import { USAGE_KEPT_MS } from '../../src/operate/usage/counts.ts';
import { REQUESTS_KEPT, REQUESTS_KEPT_MS } from '../../src/operate/usage/log.ts';
import { logBounds } from '../../src/operate/usage/recorder.ts';
import { reportRules } from '../../src/operate/usage/report.ts';
import { classicBounds } from '../../src/store/classic/sandboxes.ts';
import { FETCH_MS } from '../../src/store/imports/photos/fetch.ts';
import { WANTED_MAX } from '../../src/store/imports/photos/want.ts';
import { FILE_KEPT_MS } from '../../src/store/imports/steps.ts';
import { DIGEST_TIME } from '../../src/store/inbox/notice-job.ts';
import { CITIES_MAX } from '../../src/store/places/cities.ts';
import { MERGED_MAX } from '../../src/store/search/merged-ids.ts';
import { VISITOR_TEXT_LENGTH_MAX, WAITING_MS } from '../../src/store/visitor-messages/visitor-messages.ts';

const { classic } = settingTree;
const free = (name: keyof Bounds) => boundOf({}, { plan: 'free' }, name);
const mebibytes = (bytes: number) => `${countText(Math.round(bytes / MEBIBYTE))} MiB`;
const seconds = (ms: number) => durationIn('second', ms);
const minutes = (ms: number) => durationIn('minute', ms);
const days = (ms: number) => durationIn('day', ms);
const daysInWords = (ms: number) => durationIn('day', ms, 'words');
const banMinutes = rules.BAN_MINUTES;
const EVENTS_DAYS = `${settingTree.eventsDays.default} days`;

/** What guides say about rules: the text that follows from the constant, a sentence with `{}` in its place, and the guides. */
const statements: readonly (readonly [text: string, sentence: string, ...guides: string[]])[] = [
  [`${classic.perMinute.default}`, 'a network can send {} requests per minute', 'classic'],
  [countText(Number(classic.perDay.default)), '{} requests per day', 'classic'],
  [countText(classicBounds.documents), 'Documents of a sandbox | {}', 'classic'],
  [mebibytes(classicBounds.bytes), 'Size of a sandbox | {}', 'classic'],
  [`${classicBounds.perNetwork}`, 'Sandboxes that a network creates | {}', 'classic'],
  [countText(classicBounds.sandboxes), 'Sandboxes without a key in total | {}', 'classic'],
  [mebibytes(classicBounds.totalBytes), 'or {} together', 'classic'],
  [minutes(rules.HOLD_DEFAULT_MS), 'placed | {} from now', 'holds'],
  [RETRY_SECONDS.join(', '), 'after {} seconds', 'listen'],
  [`${RETRY_JITTER * 100}`, 'with up to {} % jitter', 'listen'],
  [`${RETRY_AFTER_MAX} seconds`, 'up to {}, and 410', 'listen'],
  [seconds(TIMEOUT_MS), 'waits {} for a response', 'listen'],
  [minutes(rules.HOLD_DEFAULT_MS), 'It expires in {}.', 'tutorial'],
  [seconds(rules.HOLD_MIN_MS), 'At least {} from now', 'holds'],
  [days(rules.HOLD_MAX_MS), 'at most {} after the hold was placed', 'holds'],
  [countText(NOTE_LENGTH_MAX), '`note` | Up to {} characters', 'holds', 'orders'],
  [daysInWords(rules.APPROVAL_PERIOD_MS), '`placed` | {} without approval', 'orders'],
  [daysInWords(rules.APPROVAL_PERIOD_MS), 'approves the order within {}, and', 'tutorial'],
  [`${BONDED_MAX}`, 'up to {} pets in one bonded group', 'pets'],
  [`${NAME_LENGTH_MAX}`, '`name` | Required. 1 to {} characters', 'pets', 'organizations'],
  [days(rules.SYNC_TOKEN_MS), 'A token is valid for {}.', 'sync'],
  [days(rules.SYNC_TOKEN_MS), '`pet.deleted` of their animals {} |', 'operating/retention'],
  [spelled(rules.CATEGORY_LEVELS_MAX), 'The tree has at most {} levels', 'categories'],
  [countText(TEXT_LENGTH_MAX), '`mission` | What the organization is for, up to {} characters', 'organizations'],
  [countText(TEXT_LENGTH_MAX), '`policy`, up to {} characters', 'organizations'],
  [spelled(LINKS_MAX), '`socialMedia` | Up to {} URLs', 'organizations'],
  [spelled(PHOTOS_MAX), '`photos` | Up to {}, the main', 'organizations'],
  [spelled(PHOTOS_MAX), 'At most {} photos an animal', 'photos'],
  [spelled(PHOTOS_MAX), 'has up to {} photos too', 'photos'],
  [mebibytes(PHOTO_BYTES_MAX), 'At most {} and', 'photos'],
  [mebibytes(PHOTO_BYTES_MAX), 'The file has more than {} |', 'import-and-export'],
  [`${PHOTO_PIXELS_MAX / 1_000_000}`, '{} megapixels', 'photos'],

  [countText(MEMBERSHIPS_MAX), 'One person can be a member of up to {} accounts', 'people'],
  [countText(MEMBERS_MAX), 'An account has at most {} members and invitations', 'people'],
  [days(INVITATION_MS), 'An invitation works once, for {},', 'people'],

  [durationIn('hour', IDEMPOTENCY_KEY_MS), 'stores the response for {}.', 'idempotency'],
  [durationIn('hour', IDEMPOTENCY_KEY_MS), '(../idempotency.md) | {} |', 'operating/retention'],
  [durationIn('hour', IDEMPOTENCY_KEY_MS), '(../idempotency.md) | Deleted {} after', 'operating/administration'],
  [`${IDEMPOTENCY_KEY_LENGTH_MAX}`, 'Use 1 to {} visible ASCII characters', 'idempotency'],

  [daysInWords(rules.SECRET_OVERLAP_MS), '`overlapSeconds` (default {}, at most', 'webhooks'],
  [daysInWords(rules.SECRET_OVERLAP_MAX_MS), ', at most {}), deliveries are signed', 'webhooks'],
  [spelled(rules.WEBHOOK_SECRETS_MAX), 'At most {} secrets sign', 'webhooks'],
  [seconds(rules.DELIVERY_TIMEOUT_MS), 'waits {} for the response', 'webhooks'],
  [seconds(rules.DELIVERY_TIMEOUT_MS), 'waits up to {} for the response', 'webhooks'],
  [seconds(rules.DELIVERY_TIMEOUT_MS), 'No response within {} |', 'webhooks'],
  [daysInWords(rules.FAILING_MAX_MS), 'failed for {}', 'webhooks', 'operating/webhooks'],
  [countText(rules.PENDING_MAX), 'At most {} deliveries', 'webhooks'],
  [countText(rules.PENDING_MAX), 'at most {} [pending deliveries]', 'account'],
  [countText(rules.PENDING_MAX), 'With {} pending deliveries', 'webhooks'],
  [countText(BODY_KEPT_BYTES), 'stores the first {} bytes', 'webhooks'],
  [spelled(free('webhooks')), 'on Free {}; one more', 'webhooks'],

  [EVENTS_DAYS, 'Events are readable for {}**', 'events'],
  [EVENTS_DAYS, 'Pending deliveries are kept for {},', 'webhooks'],
  [EVENTS_DAYS, 'kept as long as events, {}.', 'webhooks'],
  [EVENTS_DAYS, 'a redelivery of the last {}.', 'operating/webhooks'],
  [seconds(HEARTBEAT_MS), 'After {} without an event', 'events'],
  [seconds(HEARTBEAT_MS), 'send a heartbeat every {}.', 'operating/tls-and-proxies'],
  [seconds(BLOCKED_MAX_MS), 'read almost nothing for {};', 'events'],
  [spelled(free('streams')), 'on Free {}. One more', 'events'],

  [countText(SCAN_LIMIT), 'A page scans at most {} events', 'events'],
  [countText(SCAN_LIMIT), 'A page scans up to {} events', 'audit'],
  [countText(SCAN_LIMIT), 'A page scans up to {} organizations', 'organizations'],
  [countText(SCAN_LIMIT), 'reads up to {} rows', 'pagination'],
  [countText(SCAN_LIMIT), 'up to {} per page', 'pagination'],
  [`${MERGED_MAX}`, '(organizations.md), up to {} |', 'pagination'],
  [`${MERGED_MAX}`, 'up to {} categories with its descendants', 'pagination'],
  [`${MERGED_MAX}`, 'more than {} organizations', 'pagination'],
  [`${MERGED_MAX}`, 'more than {} different words', 'pagination'],
  [`${MERGED_MAX}`, 'more than {} descendants', 'pagination'],
  [spelled(CITIES_MAX), 'up to the {} largest', 'pagination'],

  [`${rules.IMPORTS_KEPT}`, 'The last {} imports are kept', 'import-and-export'],
  [days(rules.IMPORTS_KEPT_MS), 'imports are kept, for {}.', 'import-and-export'],
  [days(rules.IMPORTS_KEPT_MS), 'with their errors | {}, and', 'operating/retention'],
  [`${rules.IMPORTS_KEPT}`, 'and the last {} of an account', 'operating/retention'],
  [`${rules.REMOVALS_PERCENT}`, 'more than {} %', 'import-and-export'],
  [minutes(rules.IMPORT_UPLOAD_MS), 'a whole import | {} |', 'requests'],
  [minutes(rules.IMPORT_UPLOAD_MS), '; {} for an import', 'operating/tls-and-proxies'],
  [`${rules.EVENT_BYTES_DAYS}`, 'The bound is {} times the daily rows', 'import-and-export'],
  [`${rules.EVENT_BYTES_DAYS}`, 'that you caused in the last {} days', 'account'],
  [countText(free('importedRows')), '(account.md): {} on Free', 'import-and-export'],
  [mebibytes(free('eventBytes')), '1 KiB each: {} on Free', 'import-and-export'],
  [seconds(FETCH_MS), 'apply, and {} for each photo', 'import-and-export'],
  [countText(WANTED_MAX), 'fetches up to {} photos', 'import-and-export'],
  [durationIn('hour', FILE_KEPT_MS, 'article'), 'the same file, within {}.', 'import-and-export'],
  [spelled(rules.EXPORTS_MAX), 'can have {} exports in progress', 'import-and-export'],

  [countText(MESSAGE_LENGTH_MAX), '`message` | Required. 1 to {} characters', 'messages'],
  [countText(VISITOR_TEXT_LENGTH_MAX), 'A message has at most {} characters', 'messages'],
  [daysInWords(WAITING_MS), 'opens the link within {} and', 'messages'],
  [seconds(rules.MESSAGES_WINDOW_MS), 'to one recipient in any {} (`windowSeconds`)', 'account'],
  [countText(rules.BLOCKED_SENDERS_MAX), 'blocks at most {} senders', 'messages'],
  [`${rules.NOTES_MAX}`, 'can have {} notes', 'messages'],
  [countText(rules.MESSAGE_NOTE_LENGTH_MAX), 'each with at most {} characters', 'messages'],
  [countText(rules.REPLY_LENGTH_MAX), 'A reply has at most {} characters', 'messages'],
  [`${free('emailReplies')}`, 'on a UTC day: {} on Free', 'messages'],
  [`${attemptLimits.replyToRecipient.max}`, 'gets at most {} replies a day', 'messages'],
  [`${attemptLimits.noticesToMember.max}`, 'After {} within a day, further messages', 'messages'],
  [DIGEST_TIME.slice(0, 2), 'One a day, at {}:00 UTC, if', 'messages'],
  [`${rules.DIGEST_ANIMALS_MAX}`, 'It lists up to {} animals', 'messages'],
  [seconds(rules.MESSAGES_WINDOW_MS), 'in any {}: ', 'messages'],
  [`${free('messagesPerRecipient')}`, 'seconds: {} on Free', 'messages'],
  [mebibytes(free('storedBytes')), '#stored-responses): {} on Free', 'messages'],
  [`${settingTree.messagesDays.default} days`, 'Messages are deleted after {},', 'messages'],
  [
    `${settingTree.messagesDays.default} days`,
    'with their delivery attempts, notes and replies | {} (',
    'operating/retention',
  ],
  [`${attemptLimits.askOwnerFromAddress.max} an hour`, 'to one owner | {} |', 'messages'],
  [`${attemptLimits.askFromAddress.max} an hour`, 'From one network | {},', 'messages'],
  [`${attemptLimits.askFromAddressDaily.max} a day`, 'an hour, {} |', 'messages'],
  [`${attemptLimits.askFromSite.max} an hour`, 'of IPv6 | {} |', 'messages'],
  [`${attemptLimits.askByEmail.max} a day`, 'one e-mail address | {},', 'messages'],
  [`${countText(attemptLimits.askWaiting.max)} a day`, 'wait for a confirmation | {} |', 'messages'],
  [`${attemptLimits.askOwnerConfirmed.max} an hour`, 'To one owner, confirmed | {} |', 'messages'],
  [`${attemptLimits.askOwnerUnconfirmed.max} an hour`, 'without a confirmation | {} |', 'messages'],

  [daysInWords(LINK_MS.confirm), 'not confirmed within {} is', 'account'],
  [daysInWords(LINK_MS.confirm), 'are deleted after {}.', 'operating/email'],
  [durationIn('hour', LINK_MS.sign_in, 'article'), 'signs in once, within {}.', 'operating/administration'],
  [days(SESSION_MS), 'A session ends by itself after {},', 'account'],
  [days(IDLE_MS), 'and after {} without a request', 'account'],
  [`${rules.DELETION_GRACE_DAYS} days`, 'and deleted after {}.', 'account'],
  [`${rules.DELETION_GRACE_DAYS} days`, 'the grace period of {} (`--grace`)', 'operating/administration'],
  [spelled(attemptLimits.export.max), 'up to {} times an hour', 'account'],
  [spelled(attemptLimits.signUpByAddress.max), 'At most {} sign-ups an hour', 'operating/email'],
  [minutes(SANDBOX_MS), 'valid for {}.', 'quickstart'],
  [minutes(SANDBOX_MS), 'valid for {}, and', 'glossary'],
  [minutes(SANDBOX_MS), 'with all they made | {};', 'operating/retention'],
  [countText(Number(settingTree.sandbox.perMinute.default)), 'window: {} requests a minute', 'rate-limits'],

  [seconds(rules.VIOLATION_GRACE_MS), 'more than {} after the first 429', 'rate-limits'],
  [spelled(rules.VIOLATIONS_MAX), '{} violations of one key', 'rate-limits'],
  [spelled(rules.VIOLATIONS_MAX), '{} requests within a minute', 'backoff'],
  [seconds(rules.VIOLATIONS_MS), 'violations of one key within {} ban', 'rate-limits'],
  [`${banMinutes[0]} minute`, 'ban it for {}.', 'rate-limits'],
  [`${banMinutes[1]} minutes, the third ${banMinutes[2]}, later ones ${banMinutes[3]}`, 'ban lasts {}.', 'rate-limits'],
  [`${banMinutes[1]}, ${banMinutes[2]} and ${banMinutes[3]}`, 'The next ones last {} minutes', 'backoff'],
  [`${addressPerMinute} a minute`, 'its /64 network): {} in total', 'rate-limits'],

  [durationIn('year', Number(settingTree.auditDays.default) * DAY_MS, 'article'), 'are kept for {}.', 'audit'],
  [`${settingTree.auditDays.default} days`, 'and refused requests | {} (', 'operating/retention'],
  [durationIn('minute', WRITE_EVERY_MS, 'article'), 'Counts are up to {} behind', 'audit'],
  [countText(REQUESTS_KEPT), 'the latest {} requests', 'usage', 'operating/retention'],
  [daysInWords(REQUESTS_KEPT_MS), 'to both deployments, for {}.', 'usage'],
  [days(REQUESTS_KEPT_MS), 'of an account | {}, and the latest', 'operating/retention'],
  [`${logBounds.perSecondAndAccount}`, 'send more than {} requests', 'usage'],
  [days(USAGE_KEPT_MS), 'behind, and kept for {}.', 'usage'],
  [days(USAGE_KEPT_MS), 'of accounts by hour | {} |', 'operating/retention'],
  [`${reportRules.hour.count} hours or ${reportRules.day.count} days`, 'by default the last {}, at most', 'usage'],
  [days(reportRules.hour.maxMs), 'at most {} by hour', 'usage'],
  [days(reportRules.day.maxMs), 'and {} by day', 'usage'],

  [mebibytes(BODY_BYTES_MAX), '| Body | {}, in', 'requests'],
  [countText(BODY_CHUNKS_MAX), 'in at most {} chunks', 'requests'],
  [`${HEADER_BYTES_MAX / 1024} KiB`, 'Request line and headers | {} together', 'requests'],
  [`${LARGE_JSON_BYTES_MIN / 1024} KiB`, 'JSON larger than {} |', 'requests'],
  [countText(JSON_VALUES_MAX), '{} values', 'requests'],
  [countText(JSON_NESTING_MAX), '{} levels', 'requests'],
  [seconds(defaultLimits.headersMs), 'Time to send the headers | {} |', 'requests', 'operating/tls-and-proxies'],
  [seconds(defaultLimits.requestMs), 'Time to send the whole request | {}', 'requests', 'operating/tls-and-proxies'],
  [seconds(defaultLimits.requestMs), 'Time to send a whole photo | {}', 'requests'],
  [seconds(defaultLimits.requestMs), 'must take less than {},', 'photos'],
  [seconds(defaultLimits.requestMs), 'that arrive within {}.', 'import-and-export'],
  [seconds(defaultLimits.idleMs), 'between requests | {} |', 'operating/tls-and-proxies'],
  [seconds(defaultLimits.stalledMs), 'without progress | {} |', 'operating/tls-and-proxies'],
  [`${RATE_SECONDS}`, 'Average over the last {} seconds', 'requests'],
  [`${BYTES_PER_SECOND_MIN / 1024} KiB`, '{} a second', 'requests'],
  [`${BYTES_PER_SECOND_MIN / 1024}`, 'at least {} KiB/s', 'requests'],
  [seconds(SLOT_WAIT_MS), 'uploads wait for up to {} before', 'requests'],
  [`${free('uploads')}`, 'Uploads of an account at the same time | {} |', 'requests'],
];

/** Returns the expression for a sentence whose `{}` stands for as many words as the text has. */
function patternOf(sentence: string, text: string): RegExp {
  const words = text.split(' ').map(() => '[\\w,]+');
  const [before, after] = sentence.split('{}').map(part => RegExp.escape(part));
  return new RegExp(`${before}(${words.join(' ')})${after}`, 'gi');
}

/** Returns the text of a guide on one line. */
const guide = (name: string) =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');

describe('the guides', () => {
  for (const [text, sentence, ...guides] of statements) {
    for (const name of guides) {
      test(`${name} says “${sentence}” with ${text}`, () => {
        const said = [...guide(name).matchAll(patternOf(sentence, text))].map(([, found]) => found!.toLowerCase());
        assert.deepEqual([...new Set(said)], [text.toLowerCase()]);
      });
    }
  }

  for (const bound of Object.keys(plans.free.bounds).concat('importedRows', 'eventBytes') as (keyof Bounds)[]) {
    test(`account has the bound ${bound} of every plan`, () => {
      const text = bound.endsWith('Bytes') ? mebibytes : countText;
      const values = (Object.keys(plans) as PlanName[]).map(plan => text(boundOf({}, { plan }, bound)));
      assert.match(guide('account'), new RegExp(`\\| \`${bound}\`: [^|]+ \\| ${values.join(' \\| ')} \\|`));
    });
  }

  for (const { title, limits } of [plans.free, plans.pro, plans.business]) {
    test(`rate-limits has the limits of ${title}`, () => {
      const row = `| ${title} | ${countText(limits.perMinute)} | ${countText(limits.perDay)} |`;
      assert.ok(guide('rate-limits').includes(row), row);
    });
  }
});
