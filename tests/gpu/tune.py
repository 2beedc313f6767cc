"""What the cost model says beside what a GPU does: the search's best plans of some kernels, measured by `nautilusc tune`.

    python3 tests/gpu/tune.py --program build/gpu-host/bin/nautilusc --out results [--candidates 24] [KERNEL...]

Needs a GPU and nvcc. Writes results/tune.csv: one row a kernel that was right, with the plan's knobs, the median seconds
(L2 not flushed) and what was predicted then. tests/cost/measured_test.cpp holds the model to these figures. Exit status 1 if
a kernel has no right candidate.
"""
import argparse
import csv
import pathlib
import sys

from cases import PROGRAM, call, programs, reason, text

CAUSAL = {"B": 1, "H": 32, "N": 4096, "M": 4096, "D": 128}
CASES = [
    ("attention_causal", {**CAUSAL, "B": 4, "N": 1024, "M": 1024}),
    ("attention_causal", CAUSAL),
    ("attention_global", {**CAUSAL, "B": 4, "N": 1000, "M": 1000}),
    ("attention_global", {**CAUSAL, "B": 4, "H": 16}),
    ("attention_sink", {**CAUSAL, "D": 64}),
    ("attention_softcap", CAUSAL),
    ("attention_t5", {"B": 1, "H": 16, "N": 2048, "M": 2048, "D": 64, "Buckets": 32}),
    ("matmul", {"N": 4096, "M": 4096, "K": 4096}),
]
COLUMNS = ["kernel", "sizes", "knobs", "structure", "seconds", "predicted_seconds", "registers", "shared_bytes"]


def rows_of(found):
    for c in sorted(found["candidates"], key=lambda c: c.get("seconds", 0)):
        if c.get("seconds"):
            yield [found["name"], text(found["sizes"]), text(c["knobs"]), c["structure"], "%.4g" % c["seconds"],
                   "%.4g" % c["predicted_seconds"], c.get("registers"), c.get("shared_bytes")]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--program", default=PROGRAM)
    a.add_argument("--out", default="results")
    a.add_argument("--candidates", type=int, default=24)
    a.add_argument("kernels", nargs="*")
    o = a.parse_args()
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)
    bad = 0
    with open(out / "tune.csv", "w", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(COLUMNS)
        for name, sizes in CASES:
            if o.kernels and name not in o.kernels:
                continue
            args = [o.program, "tune", str(programs([name])[0]), "--candidates", str(o.candidates), "--json", "--size"]
            found, why = call(args + text(sizes).split(), 600)
            if not found or "best" not in found:
                bad += 1
                print("%-20s %-40s %s" % (name, text(sizes), reason(found, why)), flush=True)
                continue
            rows.writerows(rows_of(found))
            f.flush()
            print("%-20s %-40s best %8.1f us, %.2f times as fast as the best predicted; rank correlation %.2f" %
                  (name, text(sizes), found["best"]["seconds"] * 1e6, found["gain_over_prediction"], found["rank_correlation"]),
                  flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
