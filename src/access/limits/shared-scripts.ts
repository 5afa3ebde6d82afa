import { VIOLATION_GRACE_MS, VIOLATIONS_MAX, VIOLATIONS_MS } from '../../model/rules.ts';

// Lua scripts, which Valkey runs atomically.

/** The start of all scripts: Valkey's own time, and the sliding window of `MinuteWindow`. */
const prelude = `
local time = redis.call('TIME')
local sec, us = tonumber(time[1]), tonumber(time[2])
local now = sec * 1000 + us / 1000
local second = us > 0 and sec + 1 or sec

local function minuteOf(key)
  local minute = { total = 0, seconds = {}, requests = {} }
  local entries = redis.call('HGETALL', key)
  for i = 1, #entries, 2 do
    local at, requests = tonumber(entries[i]), tonumber(entries[i + 1])
    if at > second then
      -- The clock was set back: requests from the future count now, and the key expires by the new time.
      redis.call('HDEL', key, entries[i])
      redis.call('HINCRBY', key, second, requests)
      redis.call('EXPIRE', key, 62)
      at = second
    end
    if at + 60 <= sec then
      redis.call('HDEL', key, entries[i])
    else
      minute.total = minute.total + requests
      if not minute.requests[at] then table.insert(minute.seconds, at) end
      minute.requests[at] = (minute.requests[at] or 0) + requests
    end
  end
  return minute
end

local function add(minute, key, at, requests)
  redis.call('HINCRBY', key, at, requests)
  redis.call('EXPIRE', key, 62)
  minute.total = minute.total + requests
  if not minute.requests[at] then table.insert(minute.seconds, at) end
  minute.requests[at] = (minute.requests[at] or 0) + requests
end

local function resetOf(minute, limit)
  table.sort(minute.seconds)
  local left = minute.total
  for _, at in ipairs(minute.seconds) do
    left = left - minute.requests[at]
    if left < limit then return at + 60 end
  end
  return second + 60
end
`;

/**
 * The counts of a day: a hash whose fields are the names of nodes, `day` and `returned`. That of an account also has
 * `keys`, the `KeyUse`: when other keys and the latest key had a request accepted (ms; 0 for never), and the latest
 * key. It is not a number, so it is not added as a count.
 */
const dayCounts = `
local function countsOf(key)
  local fields = redis.call('HGETALL', key)
  local counts = {}
  for i = 1, #fields, 2 do counts[fields[i]] = tonumber(fields[i + 1]) end
  return counts
end

local function usedOf(counts)
  local used = -(counts.day or 0)
  for _, count in pairs(counts) do used = used + count end
  return used
end

local function stateOf(perMinute, minute, counts)
  return { perMinute - minute.total, resetOf(minute, perMinute), counts.shared or 0, usedOf(counts), -(counts.returned or 0) }
end
`;

/**
 * Decides on and counts one request for one or two subjects: an account, and its key if that has a budget, or all
 * sandbox accounts together. The request counts for all of them or for none.
 *
 * Keys: the rejections of the API key; for each subject its minute and its day. Arguments: the end of the ban that the
 * node knows (ms, 0 for none); the start of the latest ban, if it was lifted (ms, or 0); the minutes of a ban that
 * would start now; 1 if the second subject is the key, `never` if no ban can start, else 0; for each subject its two
 * limits, the latest day that the node knows, with what Valkey had counted and taken back then, the day of its stored
 * counts (0 for none), the number of them, and for each of them node and count.
 *
 * Returns: outcome, seconds and microseconds of Valkey's time, end and start of the ban (ms); for each subject an array
 * of the requests left in the minute, its reset, requests of the day counted by Valkey and by all, requests of the day
 * that Valkey took back.
 */
export const countScript = `${prelude}${dayCounts}
local day = math.floor(sec / 86400)
local subjects, arg = {}, 5
for k = 2, #KEYS, 2 do
  local dayKey, counts = KEYS[k + 1], countsOf(KEYS[k + 1])
  local stored, newDay = tonumber(ARGV[arg + 5]) == day, counts.day ~= day
  if newDay then
    if not stored then return { 'unknownDay', sec, us } end
    redis.call('DEL', dayKey)
    counts = { shared = 0, day = day }
    redis.call('HSET', dayKey, 'shared', 0, 'day', day)
    redis.call('EXPIREAT', dayKey, (day + 1) * 86400 + 3600)
  end
  local last = arg + 6 + 2 * tonumber(ARGV[arg + 6])
  if stored then
    for i = arg + 7, last, 2 do
      local name, count = ARGV[i], tonumber(ARGV[i + 1])
      -- Stored counts of Valkey are reserved ahead, so they count only on the first request of the day.
      if (newDay or name ~= 'shared') and count > (counts[name] or 0) then
        counts[name] = count
        redis.call('HSET', dayKey, name, count)
      end
    end
  end
  -- A Valkey that was restored from an older state continues from the latest count that a node has seen.
  if tonumber(ARGV[arg + 2]) == day and tonumber(ARGV[arg + 3]) > counts.shared then
    counts.shared, counts.returned = tonumber(ARGV[arg + 3]), -tonumber(ARGV[arg + 4])
    redis.call('HSET', dayKey, 'shared', counts.shared, 'returned', counts.returned)
  end
  table.insert(subjects, {
    minuteKey = KEYS[k], minute = minuteOf(KEYS[k]), perMinute = tonumber(ARGV[arg]),
    dayKey = dayKey, counts = counts, perDay = tonumber(ARGV[arg + 1]),
  })
  arg = last + 1
end

local key = redis.call('HMGET', KEYS[1], 'first', 'allowed', 'until', 'bannedAt', 'violations')
local first, allowed = tonumber(key[1]), tonumber(key[2])
-- Rejections from before the clock was set back are forgotten.
if first and first > now then first = nil end
local banUntil, bannedAt = tonumber(ARGV[1]), 0
if key[3] and key[4] ~= ARGV[2] and tonumber(key[3]) > banUntil then
  banUntil, bannedAt = tonumber(key[3]), tonumber(key[4])
end

local function result(outcome)
  local reply = { outcome, sec, us, banUntil, bannedAt }
  for _, subject in ipairs(subjects) do
    table.insert(reply, stateOf(subject.perMinute, subject.minute, subject.counts))
  end
  return reply
end

if now < banUntil then return result('banned') end

local account = subjects[1]
local otherAt, latestAt, latest = string.match(redis.call('HGET', account.dayKey, 'keys') or '', '^([%d.]+) ([%d.]+) (.*)$')
local usedAt = latest and tonumber(latest == KEYS[1] and otherAt or latestAt) or math.huge
local usedAlone, overAccount, overBudget, allowedAt = true, false, false, 0
local function reject(i, at, isAlone)
  allowedAt = math.max(allowedAt, at)
  if i == 2 then overBudget = ARGV[4] == '1' else overAccount, usedAlone = true, usedAlone and isAlone end
end
for i, subject in ipairs(subjects) do
  if subject.minute.total >= subject.perMinute then
    reject(i, resetOf(subject.minute, subject.perMinute), now - usedAt >= 61000)
  end
  if usedOf(subject.counts) >= subject.perDay then reject(i, (day + 1) * 86400, usedAt < day * 86400000) end
end
local atFault = ARGV[4] ~= 'never' and (overBudget or (overAccount and usedAlone))
if allowedAt == 0 then
  if latest ~= KEYS[1] then
    local wasUsed = account.minute.total > 0 or usedOf(account.counts) > 0
    otherAt = latestAt or (wasUsed and string.format('%.3f', now) or '0')
  end
  redis.call('HSET', account.dayKey, 'keys', string.format('%s %.3f %s', otherAt, now, KEYS[1]))
  for _, subject in ipairs(subjects) do
    add(subject.minute, subject.minuteKey, second, 1)
    subject.counts.shared = redis.call('HINCRBY', subject.dayKey, 'shared', 1)
  end
  if first then redis.call('HDEL', KEYS[1], 'first', 'allowed') end
  return result('accepted')
end

local violations = {}
for at in string.gmatch(key[5] or '', '[%d.]+') do
  if tonumber(at) <= now and now - tonumber(at) <= ${VIOLATIONS_MS} then table.insert(violations, at) end
end
if atFault and first and now - first > ${VIOLATION_GRACE_MS} and now < allowed * 1000 then
  table.insert(violations, string.format('%.3f', now))
end
if #violations >= ${VIOLATIONS_MAX} then
  banUntil, bannedAt = (second + tonumber(ARGV[3]) * 60) * 1000, math.floor(now)
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'until', string.format('%.0f', banUntil), 'bannedAt', string.format('%.0f', bannedAt))
  redis.call('EXPIREAT', KEYS[1], banUntil / 1000 + 1)
  return result('newlyBanned')
end
redis.call('HSET', KEYS[1], 'first', string.format('%.3f', first or now), 'allowed', allowedAt,
  'violations', table.concat(violations, ' '))
redis.call('HDEL', KEYS[1], 'until', 'bannedAt')
redis.call('EXPIREAT', KEYS[1], math.max(allowedAt, sec + 61) + 1)
return result('limited')
`;

/**
 * Reverses the count of one request. Keys: for each subject its minute and its day. Arguments: the second and the day
 * in which the request was counted; for each subject the limit of its minute. Returns the values of `countScript`.
 *
 * The day has a separate field for reversed counts, because a smaller `shared` means to nodes that Valkey was restored
 * from an older state.
 */
export const uncountScript = `${prelude}${dayCounts}
local reply, at = { 'accepted', sec, us, 0, 0 }, ARGV[1]
for k = 1, #KEYS, 2 do
  if redis.call('HEXISTS', KEYS[k], at) == 1 and redis.call('HINCRBY', KEYS[k], at, -1) <= 0 then
    redis.call('HDEL', KEYS[k], at)
  end
  if redis.call('HGET', KEYS[k + 1], 'day') == ARGV[2] then redis.call('HINCRBY', KEYS[k + 1], 'returned', -1) end
  local counts = countsOf(KEYS[k + 1])
  -- The key of the day is replaced by the first request of the next one.
  if counts.day ~= math.floor(sec / 86400) then counts = {} end
  table.insert(reply, stateOf(tonumber(ARGV[(k + 5) / 2]), minuteOf(KEYS[k]), counts))
end
return reply
`;

/**
 * Decides on and counts one request of an address. Key: its minute; argument: the limit. Returns the outcome, seconds
 * and microseconds of Valkey's time, requests left in the minute, its reset.
 */
export const countAddressScript = `${prelude}
local limit = tonumber(ARGV[1])
local minute = minuteOf(KEYS[1])
local outcome = 'limited'
if minute.total < limit then
  outcome = 'accepted'
  add(minute, KEYS[1], second, 1)
end
return { outcome, sec, us, limit - minute.total, resetOf(minute, limit) }
`;

/**
 * Adds the counts of a node that counted without Valkey. Keys: the minute, and for subjects the day. Arguments: the
 * name of the node, the day, its count on that day; then seconds and requests in turn.
 */
export const syncScript = `${prelude}
local minute = minuteOf(KEYS[1])
for i = 4, #ARGV, 2 do
  local at = tonumber(ARGV[i])
  if at + 60 > sec then add(minute, KEYS[1], at, tonumber(ARGV[i + 1])) end
end
if KEYS[2] then redis.call('HDEL', KEYS[2], 'keys') end
if KEYS[2] and redis.call('HGET', KEYS[2], 'day') == ARGV[2] then
  local known = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
  if tonumber(ARGV[3]) > known then redis.call('HSET', KEYS[2], ARGV[1], ARGV[3]) end
end
return { sec, us }
`;

/**
 * Sets a mark by which a node recognizes that Valkey has lost its data. Argument: a new mark, used if there is none.
 */
export const markScript = `redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('EXPIRE', KEYS[1], 30 * 86400)
return { redis.call('GET', KEYS[1]) }`;
