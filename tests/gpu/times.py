"""Times of kernels at the sizes of models on a GPU that does nothing else: one after the other, each compared with the reference.

    python3 tests/gpu/times.py --program build/gpu-host/bin/nautilusc --out results [--machine h200] [KERNEL...]

Writes results/times.csv: median seconds of the runs of `nautilusc run --on gpu` (L2 not flushed), what was predicted, registers,
spills. Exit status 1 if a run is wrong or fails.
"""
import argparse
import csv
import pathlib
import sys

from cases import PROGRAM, REAL, call, programs, reason, text, typical

ATTENTION = {"B": 1, "H": 32, "N": 4096, "M": 4096, "D": 128}
TIMED = [
    ("matmul", REAL["matmul"]),
    ("attention_causal", ATTENTION),
    ("attention_causal", {**ATTENTION, "B": 4}),
    ("attention_causal_gqa", REAL["attention_causal_gqa"]),
    ("attention_global", {**ATTENTION, "B": 4, "H": 16}),
    ("attention_mla", REAL["attention_mla"]),
    ("attention_sink", REAL["attention_sink"]),
    ("attention_window", REAL["attention_window"]),
    ("attention_ragged", {"B": 4, "H": 16, "N": 2048, "M": 2048, "D": 128}),
    ("attention_prefix_lm", {"B": 1, "H": 32, "N": 2048, "A": 512, "D": 128}),
    ("attention_t5", {"B": 1, "H": 16, "N": 2048, "M": 2048, "D": 64, "Buckets": 32}),
    ("attention_softcap", ATTENTION),
    ("attention_alibi", ATTENTION),
    ("softmax", {"N": 16384, "M": 4096}),
    ("rmsnorm", {"N": 16384, "D": 4096}),
    ("layernorm", {"N": 16384, "D": 4096}),
]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--program", default=PROGRAM)
    a.add_argument("--out", default="results")
    a.add_argument("--machine", default="h200")
    a.add_argument("--plans", type=int, default=1500)
    a.add_argument("--symbolic", action="store_true", help="leave B, H, N and M open, where kernels have them")
    a.add_argument("kernels", nargs="*")
    o = a.parse_args()
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)
    bad = 0
    with open(out / "times.csv", "w", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["kernel", "sizes", "open", "passed", "seconds", "flops_per_second", "predicted", "registers", "spills", "notes"])
        for name, sizes in TIMED:
            if o.kernels and name not in o.kernels:
                continue
            file = programs([name])[0]
            sizes = {**typical(o.program, file), **sizes}
            args = [o.program, "run", str(file), "--on", "gpu", "--machine", o.machine, "--max-plans", str(o.plans), "--json"]
            args += ["--size"] + text(sizes).split()
            left = [s for s in ("B", "H", "Hk", "G", "N", "M") if o.symbolic and s in sizes]
            args += ["--symbolic"] + left if left else []
            found, why = call(args, 100)
            get = (found or {}).get
            good = bool(get("passed"))
            bad += not good
            notes = "; ".join(get("notes") or []) if good else reason(found, why)
            seconds = get("seconds") or 0
            rows.writerow([name, text(sizes), " ".join(left), good, seconds, get("flops_per_second"), get("predicted_seconds"),
                           get("registers"), get("spills"), notes])
            f.flush()
            print("%-22s %-36s %9.1f us %6.0f TFLOP/s, predicted %7.1f us, %s registers, %s spilled %s" % (
                name, text(sizes)[:36], seconds * 1e6, (get("flops_per_second") or 0) / 1e12, (get("predicted_seconds") or 0) * 1e6,
                get("registers"), get("spills"), "" if good else "WRONG " + notes), flush=True)
    return 1 if bad else 0


sys.exit(main())
