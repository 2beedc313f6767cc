"""Kernels that the search finds beside PyTorch's best for the same operator, in one process, interleaved: the card's clock falls under
load, so only ratios of runs side by side mean anything.

    python3 tests/gpu/peers.py --program build/gpu-host/bin/nautilusc --out results

Needs a GPU and PyTorch. Peers: cuDNN's attention (scaled_dot_product_attention), torch.matmul. L2 is not flushed. Six rounds of ten
launches each, medians. Values are compared with double precision (attention: the first four heads). Writes results/peers.csv; exit
status 1 if a kernel does not compile or is off by more than 1e-2 of the largest value.
"""
import argparse
import concurrent.futures
import csv
import importlib.util
import pathlib
import statistics
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from cases import PROGRAM, call, programs, text
from symbolic import REFERENCE

CAUSAL = {"B": 1, "H": 32, "N": 4096, "M": 4096, "D": 128}
CASES = [
    ("attention_causal", CAUSAL),
    ("attention_causal", {**CAUSAL, "B": 4}),
    ("attention_causal", {**CAUSAL, "B": 4, "N": 1024, "M": 1024}),
    ("attention_causal", {**CAUSAL, "H": 16, "N": 16384, "M": 16384}),
    ("attention_causal_gqa", {"B": 1, "Hk": 8, "G": 4, "N": 4096, "M": 4096, "D": 128}),
    ("attention_global", {**CAUSAL, "B": 4, "H": 16}),
    ("attention_global", {**CAUSAL, "B": 4, "N": 1000, "M": 1000}),
    ("attention_mla", {"B": 1, "H": 32, "N": 4096, "M": 4096, "D": 192, "E": 128}),
    ("matmul", {"N": 4096, "M": 4096, "K": 4096}),
    ("matmul", {"N": 8192, "M": 8192, "K": 8192}),
]


def peer(name, inputs):
    if name == "matmul":
        return lambda: torch.matmul(*inputs)
    q, k, v = (t.flatten(1, 2) if t.dim() == 5 else t for t in inputs)

    def attention():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal=name != "attention_global", enable_gqa="gqa" in name)

    return attention


def flops(name, at):
    if name == "matmul":
        return 2 * at["N"] * at["M"] * at["K"]
    heads = at.get("H") or at["Hk"] * at["G"]
    all_pairs = 2 * at["B"] * heads * at["N"] * at["M"] * (at["D"] + at.get("E", at["D"]))
    return all_pairs if name == "attention_global" else all_pairs / 2


def micros(run, times=10):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(times):
        run()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / times * 1e3


def error(name, inputs, got):
    """Largest difference from double precision over the largest value; None without a reference."""
    if name not in REFERENCE:
        return None
    if name == "matmul":
        want, got = inputs[0][:256].double() @ inputs[1].double(), got[:256]
    else:
        want, got = REFERENCE[name](*[t[:1, :4] if t.dim() >= 4 else t for t in inputs]), got[:1, :4]
    return float((got.double() - want).abs().max() / want.abs().max())


def measured(name, at, folder):
    spec = importlib.util.spec_from_file_location(pathlib.Path(folder).name, pathlib.Path(folder) / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ours = getattr(module, module.__all__[0])
    torch.manual_seed(1)
    inputs = [torch.randn(tuple(extents(at)), device="cuda").to(kind) for _, _, kind, extents in module._INPUTS]
    got = ours(*inputs)
    off = error(name, inputs, got)
    theirs = peer(name, inputs)
    theirs()
    rounds = [(micros(lambda: ours(*inputs, out=got)), micros(theirs)) for _ in range(6)]
    return statistics.median(r[0] for r in rounds), statistics.median(r[1] for r in rounds), off


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--program", default=PROGRAM)
    a.add_argument("--out", default="results")
    a.add_argument("--plans", type=int, default=600)
    a.add_argument("--jobs", type=int, default=10)
    o = a.parse_args()
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)
    bad = 0
    with tempfile.TemporaryDirectory() as work, open(out / "peers.csv", "w", newline="") as f:

        def compiled(item):
            n, (name, at) = item
            folder = "%s/case%d" % (work, n)
            args = [o.program, "compile", str(programs([name])[0]), "--machine", "h200", "--json", "-o", folder]
            found, why = call(args + ["--max-plans", str(o.plans), "--size"] + text(at).split(), 300)
            return folder, None if found and not found.get("error") else why or str(found.get("error"))

        rows = csv.writer(f)
        rows.writerow(["case", "sizes", "ours_us", "ours_tflops", "peer_us", "ratio", "max_error_over_max"])
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            made = list(pool.map(compiled, enumerate(CASES)))
        for (name, at), (folder, why) in zip(CASES, made):
            if why:
                bad += 1
                print("%-22s %-40s does not compile: %s" % (name, text(at), why), flush=True)
                continue
            ours, theirs, off = measured(name, at, folder)
            bad += off is not None and not off < 1e-2
            rate = flops(name, at) / ours / 1e6
            shown = "" if off is None else "%.1e" % off
            rows.writerow([name, text(at), "%.1f" % ours, "%.0f" % rate, "%.1f" % theirs, "%.3f" % (theirs / ours), shown])
            f.flush()
            print("%-22s %-40s %8.1f us %5.0f TFLOP/s, peer %8.1f us, ratio %.3f %s" %
                  (name, text(at), ours, rate, theirs, theirs / ours, shown), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
