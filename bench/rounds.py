"""Alternating rounds of the contestants of `bench/run`, and the words of its tables."""

import statistics
import subprocess

from harness import BENCH, fail, find_program, load, say, seen

CONNECTIONS, THREADS = 16, 2


def statement(name):
    return BENCH / "statements" / f"{name.lower()}.json"


def http_round(url, name, seconds):
    """One round of the same request."""
    return seen(load(url, seconds, "same", statement(name), connections=CONNECTIONS, threads=THREADS), seconds, f"{name}: {url}")


def pgbench(cluster, name, *words):
    """Runs pgbench with the script of a workload and returns its output."""
    command = [
        find_program("pgbench"), "-n", "-M", "prepared", *words, "-f", str(BENCH / f"{name.lower()}.sql"),
        "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "postgres", "bench",
    ]
    outcome = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    if outcome.returncode != 0:
        fail(f"{name}: pgbench failed: {outcome.stderr.strip()}")
    return outcome.stdout


def pgbench_round(cluster, name, seconds, connections=CONNECTIONS, threads=THREADS, rate=None):
    limit = ["-R", str(rate)] if rate else []
    output = pgbench(cluster, name, f"-c{connections}", f"-j{threads}", "-T", str(seconds), *limit)
    line = next((line for line in output.splitlines() if line.startswith("tps = ")), None)
    if line is None:
        fail(f"{name}: pgbench printed no rate: {output.strip()}")
    return {"rate": float(line.split()[2])}


def alternate(name, options, quiet, contestants, prepare=lambda: None):
    """Runs alternating rounds and returns those of each contestant. `prepare` runs before each round."""
    for warm_up in contestants.values():
        prepare()
        warm_up(2)
    rounds = {contestant: [] for contestant in contestants}
    order = list(contestants)
    for number in range(options.rounds):
        say(f"{name}: round {number + 1} of {options.rounds}")
        for contestant in order:
            prepare()
            quiet.wait()
            rounds[contestant].append(contestants[contestant](options.seconds))
        # The order changes, so that no contestant always runs after the same one.
        order = order[1:] + order[:1]
    return rounds


def medians(rounds):
    """The median of each figure of each contestant."""
    return {contestant: {key: statistics.median(one[key] for one in own) for key in own[0]} for contestant, own in rounds.items()}


def ratio(rounds, ours, theirs):
    """Rounds with one number are adjacent in time, so the median of their ratios is steadier than a ratio of medians."""
    return statistics.median(one["rate"] / other["rate"] for one, other in zip(rounds[ours], rounds[theirs]))


def in_turns(name, options, quiet, contestants, prepare=lambda: None):
    """Runs alternating rounds. Returns the median of each contestant, and the ratio of the first one to each of the others."""
    rounds = alternate(name, options, quiet, contestants, prepare)
    first, *others = contestants
    return medians(rounds) | {f"to_{other}": ratio(rounds, first, other) for other in others}


def verdict(value, target, form=".2f"):
    return f"{value:{form}} (≥ {target}{'' if value >= target else ', missed'})"


def latency(result):
    return f"{result['p50']:.1f} / {result['p99']:.1f}"
