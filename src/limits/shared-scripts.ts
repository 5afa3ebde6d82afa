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
    if at + 60 <= sec then
      redis.call('HDEL', key, entries[i])
    else
      minute.total = minute.total + requests
      table.insert(minute.seconds, at)
      minute.requests[at] = requests
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

/** The requests of an account on one day. Reads the key of the day, whose fields are the counts of nodes by name. */
const dayCounts = `
local fields = redis.call('HGETALL', KEYS[2])
local counts = {}
for i = 1, #fields, 2 do counts[fields[i]] = tonumber(fields[i + 1]) end
`;

/**
 * Decides on and counts one request of an account.
 *
 * Keys: the account's minute, its day, the rejections of its key. Arguments: the two limits; the end of the ban that the
 * node knows (ms, 0 for none); the start of the latest ban, if it was lifted (ms, or 0); the minutes of a ban that would
 * start now; the latest day that the node knows, with what Valkey had counted and taken back then; the day of the
 * remaining arguments (0 for none), which are the stored counts: node and count in turn.
 *
 * Returns: outcome, seconds and microseconds of Valkey's time, requests left in the minute, its reset, requests of the
 * day counted by Valkey and by all, end and start of the ban (ms), requests of the day that Valkey took back.
 */
export const countScript = `${prelude}
local perMinute, perDay = tonumber(ARGV[1]), tonumber(ARGV[2])
local day = math.floor(sec / 86400)
${dayCounts}
local stored, newDay = tonumber(ARGV[9]) == day, counts.day ~= day
if newDay then
  if not stored then return { 'unknownDay', sec, us, 0, 0, 0, 0, 0, 0, 0 } end
  redis.call('DEL', KEYS[2])
  counts = { shared = 0, day = day }
  redis.call('HSET', KEYS[2], 'shared', 0, 'day', day)
  redis.call('EXPIREAT', KEYS[2], (day + 1) * 86400 + 3600)
end
if stored then
  for i = 10, #ARGV, 2 do
    local name, count = ARGV[i], tonumber(ARGV[i + 1])
    -- Stored counts of Valkey are reserved ahead, so they count only on the first request of the day.
    if (newDay or name ~= 'shared') and count > (counts[name] or 0) then
      counts[name] = count
      redis.call('HSET', KEYS[2], name, count)
    end
  end
end
-- A Valkey that was restored from an older state continues from the latest count that a node has seen.
if tonumber(ARGV[6]) == day and tonumber(ARGV[7]) > counts.shared then
  counts.shared, counts.returned = tonumber(ARGV[7]), -tonumber(ARGV[8])
  redis.call('HSET', KEYS[2], 'shared', counts.shared, 'returned', counts.returned)
end
local used = -day
for _, count in pairs(counts) do used = used + count end

local minute = minuteOf(KEYS[1])
local key = redis.call('HMGET', KEYS[3], 'first', 'allowed', 'until', 'bannedAt', 'violations')
local first, allowed = tonumber(key[1]), tonumber(key[2])
local banUntil, bannedAt = tonumber(ARGV[3]), 0
if key[3] and key[4] ~= ARGV[4] and tonumber(key[3]) > banUntil then
  banUntil, bannedAt = tonumber(key[3]), tonumber(key[4])
end

local function result(outcome)
  return { outcome, sec, us, perMinute - minute.total, resetOf(minute, perMinute), counts.shared, used, banUntil, bannedAt,
    -(counts.returned or 0) }
end

if now < banUntil then return result('banned') end

if minute.total < perMinute and used < perDay then
  add(minute, KEYS[1], second, 1)
  counts.shared = redis.call('HINCRBY', KEYS[2], 'shared', 1)
  used = used + 1
  if first then redis.call('HDEL', KEYS[3], 'first', 'allowed') end
  return result('accepted')
end

local allowedAt = 0
if minute.total >= perMinute then allowedAt = resetOf(minute, perMinute) end
if used >= perDay then allowedAt = math.max(allowedAt, (day + 1) * 86400) end
local violations = {}
for at in string.gmatch(key[5] or '', '[%d.]+') do
  if now - tonumber(at) <= 60000 then table.insert(violations, at) end
end
if first and now - first > 2000 and now < allowed * 1000 then
  table.insert(violations, string.format('%.3f', now))
end
if #violations >= 20 then
  banUntil, bannedAt = (second + tonumber(ARGV[5]) * 60) * 1000, math.floor(now)
  redis.call('DEL', KEYS[3])
  redis.call('HSET', KEYS[3], 'until', string.format('%.0f', banUntil), 'bannedAt', string.format('%.0f', bannedAt))
  redis.call('EXPIREAT', KEYS[3], banUntil / 1000 + 1)
  return result('newlyBanned')
end
redis.call('HSET', KEYS[3], 'first', string.format('%.3f', first or now), 'allowed', allowedAt,
  'violations', table.concat(violations, ' '))
redis.call('HDEL', KEYS[3], 'until', 'bannedAt')
redis.call('EXPIREAT', KEYS[3], math.max(allowedAt, sec + 61) + 1)
return result('limited')
`;

/**
 * Takes back the count of one request. Keys: the account's minute and its day. Arguments: the limit of the minute; the
 * second and the day in which the request was counted. Returns the values of `countScript`.
 *
 * The day has a field of its own for it, because nodes take a smaller `shared` than they know for that of a Valkey which
 * was restored from an older state.
 */
export const uncountScript = `${prelude}
local perMinute, at = tonumber(ARGV[1]), tonumber(ARGV[2])
if redis.call('HEXISTS', KEYS[1], at) == 1 and redis.call('HINCRBY', KEYS[1], at, -1) <= 0 then
  redis.call('HDEL', KEYS[1], at)
end
if redis.call('HGET', KEYS[2], 'day') == ARGV[3] then redis.call('HINCRBY', KEYS[2], 'returned', -1) end
local minute = minuteOf(KEYS[1])
${dayCounts}
local used = -(counts.day or 0)
for _, count in pairs(counts) do used = used + count end
return { 'accepted', sec, us, perMinute - minute.total, resetOf(minute, perMinute), counts.shared or 0, used, 0, 0,
  -(counts.returned or 0) }
`;

/** Decides on and counts one request of an address. Key: its minute; argument: the limit. Returns the first five values of `countScript`. */
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
 * Adds the counts of a node that counted alone. Keys: the minute, and for accounts the day. Arguments: the name of the
 * node, the day, its count on that day; then seconds and requests in turn.
 */
export const syncScript = `${prelude}
local minute = minuteOf(KEYS[1])
for i = 4, #ARGV, 2 do
  local at = tonumber(ARGV[i])
  if at + 60 > sec then add(minute, KEYS[1], at, tonumber(ARGV[i + 1])) end
end
if KEYS[2] and redis.call('HGET', KEYS[2], 'day') == ARGV[2] then
  local known = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
  if tonumber(ARGV[3]) > known then redis.call('HSET', KEYS[2], ARGV[1], ARGV[3]) end
end
return { sec, us }
`;

/** Sets a mark by which a node recognizes that Valkey has lost its data. Argument: a new mark, used if there is none. */
export const markScript = `redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('EXPIRE', KEYS[1], 30 * 86400)
return { redis.call('GET', KEYS[1]) }`;
