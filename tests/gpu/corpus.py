"""Every kernel of the corpus on a GPU, at its typical sizes and at awkward ones, compared with the double-precision reference.

    python3 tests/gpu/corpus.py --program build/gpu-host/bin/nautilusc --out results [KERNEL...]

Writes results/corpus.csv: one line a kernel and sizes. Exit status 1 if any run is wrong or fails. Times are not taken here: several
kernels run at once.
"""
import argparse
import concurrent.futures
import csv
import pathlib
import subprocess
import sys

from cases import PROGRAM, REAL, call, programs, reason, typical

AWKWARD = (1, 17, 65, 129, 1025)
# Rows without any key: more queries than keys under a causal mask, a prefix or window of nothing.
EMPTY = [{"N": 65, "M": 17}, {"N": 130, "M": 129}, {"W": 0}, {"A": 0}, {"M": 0}]


def allowed(program, file, name, value):
    p = subprocess.run([program, "check", file, "--size", "%s=%d" % (name, value), "--json"], capture_output=True)
    return p.returncode == 0


def cases(program, file):
    """Typical and real sizes; rows without a key; then every size that may be is 1, 17, ...: long ones one at a time."""
    base = typical(program, file)
    yield base
    name = pathlib.Path(file).stem
    if name in REAL:
        yield {**base, **REAL[name]}
    if name.startswith("attention_"):
        for sizes in EMPTY:
            if set(sizes) <= set(base):
                yield {**base, **sizes}
    for value in AWKWARD:
        free = [s for s in base if allowed(program, file, s, value)]
        if value <= 65:
            small = dict(base)
            budget = 1
            for s in free:
                # Small problems: the reference is exact and slow.
                if budget * value <= 20000 or value == 1:
                    small[s], budget = value, budget * value
                else:
                    small[s] = 1
            yield small
        else:
            longest = [s for s in free if s in ("N", "M", "T", "L", "S")] or free[:1]
            yield {**base, **{s: value for s in longest}}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--program", default=PROGRAM)
    a.add_argument("--out", default="results")
    a.add_argument("--target", default="")
    a.add_argument("--jobs", type=int, default=12)
    a.add_argument("--plans", type=int, default=300)
    a.add_argument("--sanitize", default="", help="memcheck, racecheck, ...: under compute-sanitizer")
    a.add_argument("kernels", nargs="*")
    o = a.parse_args()
    todo = [(f, c) for f in programs(o.kernels) for c in cases(o.program, str(f))]
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)

    def one(item):
        file, sizes = item
        args = [o.program, "run", str(file), "--on", "gpu", "--json", "--max-plans", str(o.plans), "--seconds", "60"]
        args += ["--size"] + ["%s=%d" % s for s in sorted(sizes.items())]
        if o.target:
            args += ["--target", o.target]
        found, why = call(args, 240)
        return file.stem, sizes, found, why

    wrong = 0
    with open(out / "corpus.csv", "w", newline="") as f, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        rows = csv.writer(f)
        rows.writerow(["kernel", "sizes", "passed", "max_error", "rms_error", "registers", "spills", "shared_bytes", "why"])
        for name, sizes, found, why in pool.map(one, todo):
            text = " ".join("%s=%d" % s for s in sorted(sizes.items()))
            good = bool(found and found.get("passed"))
            wrong += not good
            get = (found or {}).get
            wherefore = "" if good else reason(found, why)
            rows.writerow([name, text, good, get("max_error"), get("rms_error"), get("registers"), get("spills"),
                           get("shared_bytes"), wherefore])
            f.flush()
            print("%-28s %-44s %s" % (name, text[:44], "ok %.2g" % get("max_error") if good else "WRONG " + wherefore[:160]), flush=True)
    print("%d runs, %d wrong" % (len(todo), wrong))
    return 1 if wrong else 0


sys.exit(main())
