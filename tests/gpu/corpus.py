"""Every kernel of the corpus on a GPU, at its typical sizes and at awkward ones, compared with the double-precision reference.

    python3 tests/gpu/corpus.py --program build/gpu-host/bin/nautilusc --out results [KERNEL...]

Writes results/corpus.csv: one line a kernel and sizes. Exit status 1 if any run is wrong or fails. Times are not taken here: several
kernels run at once.
"""
import argparse
import concurrent.futures
import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
AWKWARD = (1, 17, 65, 129, 1025)
ATTENTION = {"B": 1, "H": 32, "N": 4096, "M": 4096, "D": 128}
# Sizes of the models that the specs name.
REAL = {
    "attention_causal": ATTENTION,
    "attention_causal_gqa": {"B": 1, "Hk": 8, "G": 4, "N": 4096, "M": 4096, "D": 128},
    "attention_causal_mqa": {"B": 1, "H": 8, "N": 4096, "M": 4096, "D": 256},
    "attention_sink": {**ATTENTION, "D": 64},
    "attention_lse": ATTENTION,
    "attention_qk_norm": {**ATTENTION, "D": 64},
    "attention_mla": {"B": 1, "H": 32, "N": 4096, "M": 4096, "D": 192, "E": 128},
    "attention_t5": {**ATTENTION, "N": 512, "M": 512, "D": 64, "Buckets": 32},
    "attention_ragged": {**ATTENTION, "B": 4, "N": 1024, "M": 1024},
    "attention_window": {**ATTENTION, "W": 1024},
    "rmsnorm": {"N": 4096, "D": 4096},
    "rmsnorm_residual": {"N": 4096, "D": 4096},
    "matmul": {"N": 4096, "M": 4096, "K": 4096},
    "matmul_batched": {"B": 32, "N": 1024, "M": 1024, "K": 128},
    "matmul_chain": {"N": 4096, "K": 4096, "R": 128, "M": 4096},
    "lora": {"N": 4096, "K": 4096, "M": 4096, "R": 16},
}
# Rows without any key: more queries than keys under a causal mask, a prefix or window of nothing.
EMPTY = [{"N": 65, "M": 17}, {"N": 130, "M": 129}, {"W": 0}, {"A": 0}, {"M": 0}]


def call(args, seconds):
    try:
        p = subprocess.run(args, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, "more than %d s" % seconds
    try:
        return json.loads(p.stdout), p.stderr
    except ValueError:
        return None, (p.stdout + p.stderr)[-400:]


def typical(program, file):
    found, why = call([program, "check", file, "--json"], 60)
    if not found:
        sys.exit("%s: %s" % (file, why))
    return found["typical"]


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
    a.add_argument("--program", default=str(ROOT / "build/gpu-host/bin/nautilusc"))
    a.add_argument("--out", default="results")
    a.add_argument("--target", default="")
    a.add_argument("--jobs", type=int, default=12)
    a.add_argument("--plans", type=int, default=300)
    a.add_argument("--sanitize", default="", help="memcheck, racecheck, ...: under compute-sanitizer")
    a.add_argument("kernels", nargs="*")
    o = a.parse_args()
    files = sorted((ROOT / "tests/golden").glob("*.naut"))
    files = [f for f in files if not o.kernels or f.stem in o.kernels]
    todo = [(f, c) for f in files for c in cases(o.program, str(f))]
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
            reason = "" if good else str(get("why") or get("error") or get("refusal") or get("fault") or why)[:400]
            rows.writerow([name, text, good, get("max_error"), get("rms_error"), get("registers"), get("spills"),
                           get("shared_bytes"), reason])
            f.flush()
            print("%-28s %-44s %s" % (name, text[:44], "ok %.2g" % get("max_error") if good else "WRONG " + reason[:160]), flush=True)
    print("%d runs, %d wrong" % (len(todo), wrong))
    return 1 if wrong else 0


sys.exit(main())
