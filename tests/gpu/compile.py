"""Every kernel of the corpus compiled for targets, at its typical sizes and at those of models: registers, spills, occupancy.
Needs nvcc but no GPU.

    python3 tests/gpu/compile.py --program build/gpu-host/bin/nautilusc --out results [--targets sm_80 sm_90a] [KERNEL...]

Writes results/compile.csv: one line a kernel, target and sizes. Exit status 1 if one does not compile, spills registers, or was not
run in the memory interpreter.
"""
import argparse
import concurrent.futures
import csv
import pathlib
import sys
import tempfile

from cases import PROGRAM, REAL, call, programs, reason, text, typical


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--program", default=PROGRAM)
    a.add_argument("--out", default="results")
    a.add_argument("--targets", nargs="+", default=["sm_80", "sm_90a"])
    a.add_argument("--jobs", type=int, default=12)
    a.add_argument("--plans", type=int, default=300)
    a.add_argument("kernels", nargs="*")
    o = a.parse_args()
    todo = []
    for f in programs(o.kernels):
        base = typical(o.program, f)
        for target in o.targets:
            todo += [(f, target, s) for s in [base] + ([{**base, **REAL[f.stem]}] if f.stem in REAL else [])]
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)

    def one(item):
        file, target, sizes = item
        with tempfile.TemporaryDirectory() as folder:
            args = [o.program, "compile", str(file), "--target", target, "--json", "-o", folder]
            args += ["--max-plans", str(o.plans), "--seconds", "60"]
            args += ["--size"] + text(sizes).split()
            return (file.stem, target, sizes) + call(args, 300)

    bad = 0
    with open(out / "compile.csv", "w", newline="") as f, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        rows = csv.writer(f)
        rows.writerow(["kernel", "target", "sizes", "registers", "spills", "shared_bytes", "occupancy", "interpreted", "why"])
        for name, target, sizes, found, why in pool.map(one, todo):
            get = (found or {}).get
            checked = bool((get("checked") or {}).get("done"))
            good = get("spills") == 0 and checked
            bad += not good
            rows.writerow([name, target, text(sizes), get("registers"), get("spills"), get("shared_bytes"), get("occupancy"), checked,
                           "" if good else reason(found, why)])
            f.flush()
            print("%-22s %-6s %-40s %s registers, %s spilled%s" % (name, target, text(sizes)[:40], get("registers"), get("spills"),
                                                                   "" if good else ": " + reason(found, why)[:160]), flush=True)
    print("%d kernels, %d not as they should be" % (len(todo), bad))
    return 1 if bad else 0


sys.exit(main())
