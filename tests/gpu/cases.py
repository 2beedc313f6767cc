"""What the scripts of this folder share: programs, the sizes they are run at, calls of nautilusc."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build/gpu-host/bin/nautilusc")
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


def programs(names):
    """The corpus as program text, or those of these names."""
    files = sorted((ROOT / "tests/golden").glob("*.naut"))
    unknown = set(names) - {f.stem for f in files}
    if unknown:
        sys.exit("no such kernel: " + " ".join(sorted(unknown)))
    return [f for f in files if not names or f.stem in names]


def call(args, seconds):
    """What nautilusc answers in JSON, or None; and why there is none."""
    try:
        p = subprocess.run(args, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, "more than %d s" % seconds
    try:
        return json.loads(p.stdout), p.stderr
    except ValueError:
        return None, (p.stdout + p.stderr)[-400:]


def typical(program, file):
    found, why = call([program, "check", str(file), "--json"], 60)
    if not found:
        sys.exit("%s: %s" % (file, why))
    return found["typical"]


def text(sizes):
    return " ".join("%s=%d" % s for s in sizes.items())


def reason(found, why):
    get = (found or {}).get
    return str(get("why") or get("error") or get("refusal") or get("fault") or why)[:400]
