/** A script that Valkey runs as one step: nothing else happens between its lines. */
export interface Script {
  readonly text: string;
}

/** What all scripts begin with: Valkey's own time, and the window of a minute as `MinuteWindow` has it. */
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

/** The outcomes of the scripts, by number. */
export const outcomes = { unknownDay: 0, accepted: 1, limited: 2, banned: 3, newlyBanned: 4 } as const;

/**
 * Judges and counts one request of an account.
 *
 * Keys: the account's minute, its day, its key's refusals. Arguments: the two limits; the end of the ban that the node
 * knows (ms, 0 for none); the beginning of the latest ban, where that was lifted (ms, or 0); the minutes of a ban that
 * would begin now; the latest day that the node knows and how much it has seen counted then; the day for which the
 * rest, nodes and counts in turn, says what is on disk (0 for none).
 *
 * Answers: outcome, seconds and microseconds of Valkey's time, what is left of the minute, its reset, what the shared
 * counts and what all together have counted of the day, end and beginning of the ban (ms).
 */
export const countScript: Script = {
  text: `${prelude}
local perMinute, perDay = tonumber(ARGV[1]), tonumber(ARGV[2])
local day = math.floor(sec / 86400)

local fields = redis.call('HGETALL', KEYS[2])
local counts = {}
for i = 1, #fields, 2 do counts[fields[i]] = tonumber(fields[i + 1]) end
local told, begins = tonumber(ARGV[8]) == day, counts.day ~= day
if begins then
  if not told then return { ${outcomes.unknownDay}, sec, us, 0, 0, 0, 0, 0, 0 } end
  redis.call('DEL', KEYS[2])
  counts = { shared = 0, day = day }
  redis.call('HSET', KEYS[2], 'shared', 0, 'day', day)
  redis.call('EXPIREAT', KEYS[2], (day + 1) * 86400 + 3600)
end
if told then
  for i = 9, #ARGV, 2 do
    local name, count = ARGV[i], tonumber(ARGV[i + 1])
    -- What is on disk of the shared counts is reserved ahead, so it counts only where there is nothing better.
    if (begins or name ~= 'shared') and count > (counts[name] or 0) then
      counts[name] = count
      redis.call('HSET', KEYS[2], name, count)
    end
  end
end
-- A Valkey that came back with an older state goes on from the latest that anyone has seen.
if tonumber(ARGV[6]) == day and tonumber(ARGV[7]) > counts.shared then
  counts.shared = tonumber(ARGV[7])
  redis.call('HSET', KEYS[2], 'shared', counts.shared)
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

local function answer(outcome)
  return { outcome, sec, us, perMinute - minute.total, resetOf(minute, perMinute), counts.shared, used, banUntil, bannedAt }
end

if now < banUntil then return answer(${outcomes.banned}) end

if minute.total < perMinute and used < perDay then
  add(minute, KEYS[1], second, 1)
  counts.shared = redis.call('HINCRBY', KEYS[2], 'shared', 1)
  used = used + 1
  if first then redis.call('HDEL', KEYS[3], 'first', 'allowed') end
  return answer(${outcomes.accepted})
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
  return answer(${outcomes.newlyBanned})
end
redis.call('HSET', KEYS[3], 'first', string.format('%.3f', first or now), 'allowed', allowedAt,
  'violations', table.concat(violations, ' '))
redis.call('HDEL', KEYS[3], 'until', 'bannedAt')
redis.call('EXPIREAT', KEYS[3], math.max(allowedAt, sec + 61) + 1)
return answer(${outcomes.limited})
`,
};

/** Judges and counts one request of an address. Key: its minute; argument: the limit. Answers as far as `countScript`'s reset. */
export const countAddressScript: Script = {
  text: `${prelude}
local limit = tonumber(ARGV[1])
local minute = minuteOf(KEYS[1])
local outcome = ${outcomes.limited}
if minute.total < limit then
  outcome = ${outcomes.accepted}
  add(minute, KEYS[1], second, 1)
end
return { outcome, sec, us, limit - minute.total, resetOf(minute, limit) }
`,
};

/**
 * Adds what a node has counted by itself. Keys: the minute, and the day where there is one. Arguments: the node's name,
 * the day, what the node has counted on that day; then seconds and requests in turn.
 */
export const handOverScript: Script = {
  text: `${prelude}
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
`,
};

/** The mark by which a Valkey that lost everything is told. Key: the mark's; argument: a new one, where there is none. */
export const markScript: Script = {
  text: `redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('EXPIRE', KEYS[1], 30 * 86400)
return { redis.call('GET', KEYS[1]) }`,
};
