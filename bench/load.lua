-- The requests that wrk sends; the first argument is the mode. At the end it prints the results as one line of JSON.
--   get                                            GET, without a body
--   same FILE [AUTHORIZATION]                      one JSON body, repeated
--   each FILE THREADS AUTHORIZATION                forms, one a line, in turn
--   chain FILE THREADS AUTHORIZATION [PAUSE]       refresh tokens: each answer's token is the body of a later request
-- THREADS share the lines. PAUSE is the wait of a connection before each request, in milliseconds.

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

function modes.get() end

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
    assert(modes[args[1]], "the first argument is get, same, each or chain")(unpack(args, 2))
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests":%d,"microseconds":%d,"failed":%d,"p50":%d,"p99":%d}\n',
        summary.requests, summary.duration,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
