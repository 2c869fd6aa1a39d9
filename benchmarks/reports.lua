-- Each request takes the next prepared body; bodies are never used twice.
local bodies = {}
local position = 0
local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(args)
  wrk.method = "POST"
  wrk.path = args[1]
  wrk.headers["Content-Type"] = "application/json"
  if args[3] then wrk.headers["Authorization"] = "Bearer " .. args[3] end
  for line in io.lines(args[2]) do bodies[#bodies + 1] = line end
end

function request()
  position = position + 1
  return wrk.format(nil, nil, nil, bodies[position])
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests": %d, "duration_s": %f, "p50_ms": %f, "p99_ms": %f, "failed": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
