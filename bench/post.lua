-- wrk sends one body over and over; what it saw is printed as one line of JSON at the end.

function init(args)
    local file = assert(io.open(args[1], "rb"))
    wrk.method = "POST"
    wrk.body = file:read("*a")
    wrk.headers["content-type"] = "application/json"
    file:close()
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests":%d,"microseconds":%d,"failed":%d,"p50":%d,"p99":%d}\n',
        summary.requests, summary.duration,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
