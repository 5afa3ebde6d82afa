-- Script of wrk. Sends the requests of a file as fast as responses arrive, in random order or each once, and prints the
-- result as one line of JSON. Each line of the file is METHOD, path and body, separated by tabs. {n} in a path becomes
-- a number that no other request has.

local requests = {}
local sent = 0
local once = false

function init(args)
  math.randomseed(1)
  once = args[2] == 'once'
  for line in io.lines(args[1]) do
    local method, path, body = line:match('^(%u+)\t([^\t]+)\t?(.*)$')
    local headers = {}
    if body == '' then body = nil else headers['Content-Type'] = 'application/json' end
    for name, value in pairs(wrk.headers) do headers[name] = value end
    local raw = wrk.format(method, path, headers, body)
    local from, to = raw:find('{n}', 1, true)
    if from then raw = { before = raw:sub(1, from - 1), after = raw:sub(to + 1) } end
    requests[#requests + 1] = raw
  end
end

function request()
  sent = sent + 1
  -- With `once`, a repeated request gets an error response, and load() reports it.
  local raw = requests[once and (sent - 1) % #requests + 1 or math.random(#requests)]
  if type(raw) == 'string' then return raw end
  return raw.before .. sent .. raw.after
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"durationUs":%d,"p50Us":%d,"p99Us":%d,"errorResponses":%d,"failed":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
