-- The requests that wrk sends; the first argument is the mode. At the end it prints the results as one line of JSON.
--   get [AUTHORIZATION]                            GET, without a body
--   same FILE [AUTHORIZATION]                      one JSON body, repeated
--   each FILE THREADS AUTHORIZATION                forms, one a line, in turn
--   write FILE IDS FIRST THREADS [RATE]            one JSON body; in it and in the path, $id is a random number and $n a unique one
--   chain FILE THREADS AUTHORIZATION [PAUSE]       refresh tokens: each answer's token is the body of a later request
-- THREADS share the lines, and the unique numbers from FIRST on. Random numbers are from 1 to IDS, the same in each run.
-- RATE is the most requests a second of all connections of a thread. PAUSE is the wait of a connection before each request, in milliseconds.

local threads = 0

function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end

local function own_lines(path, count)
    local lines, line = {}, 0
    for text in io.lines(path) do
        if line % count == number then
            lines[#lines + 1] = text
        end
        line = line + 1
    end
    return lines
end

local modes = {}

function modes.get(authorization)
    wrk.headers["authorization"] = authorization
end

function modes.same(path, authorization)
    local file = assert(io.open(path, "rb"))
    wrk.method, wrk.body = "POST", file:read("*a")
    wrk.headers["content-type"] = "application/json"
    wrk.headers["authorization"] = authorization
    file:close()
end

local function forms(authorization)
    wrk.method = "POST"
    wrk.headers["content-type"] = "application/x-www-form-urlencoded"
    wrk.headers["authorization"] = authorization
end

function modes.each(path, count, authorization)
    local bodies, last = own_lines(path, tonumber(count)), 0
    forms(authorization)
    function request()
        last = last % #bodies + 1
        return wrk.format(nil, nil, nil, bodies[last])
    end
end

-- Milliseconds of a clock that never goes back.
local function clock()
    local ffi = require("ffi")
    if not pcall(ffi.typeof, "struct bench_time") then
        ffi.cdef("struct bench_time { long seconds, nanoseconds; }; int clock_gettime(int, struct bench_time *);")
    end
    local time = ffi.new("struct bench_time")
    return function()
        ffi.C.clock_gettime(1, time)
        return tonumber(time.seconds) * 1e3 + tonumber(time.nanoseconds) / 1e6
    end
end

function modes.write(path, ids, first, count, rate)
    local file = assert(io.open(path, "rb"))
    local body, url = file:read("*a"), wrk.path
    file:close()
    wrk.method = "POST"
    wrk.headers["content-type"] = "application/json"
    ids, count = tonumber(ids), tonumber(count)
    local last = tonumber(first) + number - count
    math.randomseed(number + 1)
    function request()
        last = last + count
        local values = { ["$id"] = string.format("%d", math.random(ids)), ["$n"] = string.format("%d", last) }
        return wrk.format(nil, (url:gsub("%$%l+", values)), nil, (body:gsub("%$%l+", values)))
    end
    if rate then
        -- Each request has its own time. A late one does not delay those after it.
        local now, pause, due = clock(), 1e3 / tonumber(rate), nil
        function delay()
            due = due and due + pause or now()
            return math.max(0, math.floor(due - now() + 0.5))
        end
    end
end

function modes.chain(path, count, authorization, pause)
    local tokens, first = own_lines(path, tonumber(count)), 1
    local last = #tokens
    forms(authorization)
    function request()
        local token = tokens[first]
        tokens[first] = nil
        first = first + 1
        return wrk.format(nil, nil, nil, "grant_type=refresh_token&refresh_token=" .. token)
    end
    function response(status, headers, body)
        local token = body:match('"refresh_token":"([^"]+)"')
        if token then
            last = last + 1
            tokens[last] = token
        end
    end
    if pause then
        function delay()
            return tonumber(pause)
        end
    end
end

function init(args)
    assert(modes[args[1]], "the first argument is get, same, each, write or chain")(unpack(args, 2))
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests":%d,"microseconds":%d,"failed":%d,"p50":%d,"p99":%d}\n',
        summary.requests, summary.duration,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
