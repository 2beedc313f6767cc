"""Kernels that the search finds beside PyTorch's best for the same operator, in one process, interleaved: the card's clock falls under
load, so only ratios of runs side by side mean anything.

    python3 tests/gpu/peers.py --program build/gpu-host/bin/nautilusc --out results

Needs a GPU and PyTorch. Peers: cuDNN's attention (scaled_dot_product_attention); FlexAttention, compiled, for variants that cuDNN does
not have; torch.matmul; for row reductions the faster of PyTorch's own and torch.compile's. L2 is not flushed. Six rounds of ten launches
each, medians. Values are compared with double precision (attention: the first four heads). Writes results/peers.csv; exit status 1 if
a kernel does not compile or is off by more than 1e-2 of the largest value.
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

from cases import PROGRAM, call, programs, reason, text
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
    ("attention_softcap", CAUSAL),
    ("attention_alibi", CAUSAL),
    ("attention_window", {**CAUSAL, "W": 1024}),
    ("attention_prefix_lm", {"B": 1, "H": 32, "N": 4096, "A": 512, "D": 128}),
    ("softmax", {"N": 16384, "M": 4096}),
    ("rmsnorm", {"N": 16384, "D": 4096}),
    ("layernorm", {"N": 16384, "D": 4096}),
]
ROWS = {
    "softmax": lambda x: torch.softmax(x, -1),
    "rmsnorm": lambda x, w: F.rms_norm(x, x.shape[-1:], w),
    "layernorm": lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
}


class Variant:
    """A form of attention by its scores and its mask, as FlexAttention takes them; all have as many queries as keys."""

    def __init__(self, at, score=lambda s, h, i, j, more: s, mask=lambda i, j: i >= j):
        self.at, self.score, self.mask = at, score, mask

    def compiled(self, inputs):
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        q, k, v, *more = inputs
        n = self.at["N"]
        blocks = create_block_mask(lambda b, h, i, j: self.mask(i, j), None, None, n, n)
        run = torch.compile(flex_attention, dynamic=False)
        score = lambda s, b, h, i, j: self.score(s, h, i, j, more)
        return lambda: run(q, k, v, score_mod=score, block_mask=blocks)

    def reference(self, inputs):
        q, k, v, *more = inputs
        q, k, v = (t[:1, :4].double() for t in (q, k, v))
        i = torch.arange(q.shape[2], device=q.device).view(-1, 1)
        j = torch.arange(k.shape[2], device=q.device).view(1, -1)
        h = torch.arange(4, device=q.device).view(-1, 1, 1)
        s = self.score(q @ k.mT / q.shape[-1] ** 0.5, h, i, j, more)
        return torch.softmax(s.masked_fill(~self.mask(i, j), -torch.inf), -1) @ v


def variant(name, at):
    """None where cuDNN has it."""
    if name == "attention_softcap":
        return Variant(at, score=lambda s, h, i, j, more: 50.0 * torch.tanh(s / 50.0))
    if name == "attention_alibi":
        return Variant(at, score=lambda s, h, i, j, more: s + more[0][h] * (j - i))
    if name == "attention_window":
        return Variant(at, mask=lambda i, j: (i >= j) & (j > i - at["W"]))
    if name == "attention_prefix_lm":
        return Variant(at, mask=lambda i, j: (i >= j) | (j < at["A"]))
    return None


def peers(name, at, inputs):
    if name == "matmul":
        return [lambda: torch.matmul(*inputs)]
    if name in ROWS:
        fast = torch.compile(ROWS[name], dynamic=False)
        return [lambda: ROWS[name](*inputs), lambda: fast(*inputs)]
    if variant(name, at):
        return [variant(name, at).compiled(inputs)]
    q, k, v = (t.flatten(1, 2) if t.dim() == 5 else t for t in inputs)

    def attention():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal=name != "attention_global", enable_gqa="gqa" in name)

    return [attention]


def micros(run, times=10):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(times):
        run()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / times * 1e3


def error(name, at, inputs, got):
    """Largest difference from double precision over the largest value; None without a reference."""
    if variant(name, at):
        want, got = variant(name, at).reference(inputs), got[:1, :4]
    elif name not in REFERENCE:
        return None
    elif name in ROWS:
        want = REFERENCE[name](*inputs)
    elif name == "matmul":
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
    off = error(name, at, inputs, got)
    all_of = [lambda: ours(*inputs, out=got)] + peers(name, at, inputs)
    for run in all_of:
        run()
    rounds = [[micros(run) for run in all_of] for _ in range(6)]
    mine, *others = [statistics.median(r) for r in zip(*rounds)]
    return mine, min(others), off


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
            good = found and not found.get("error")
            return folder, None if good else reason(found, why), (found or {}).get("useful_flops", 0)

        rows = csv.writer(f)
        rows.writerow(["case", "sizes", "ours_us", "ours_tflops", "peer_us", "ratio", "max_error_over_max"])
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            made = list(pool.map(compiled, enumerate(CASES)))
        for (name, at), (folder, why, flops) in zip(CASES, made):
            if why:
                bad += 1
                print("%-22s %-40s does not compile: %s" % (name, text(at), why), flush=True)
                continue
            try:
                ours, theirs, off = measured(name, at, folder)
            except Exception as e:  # of a peer: the others are measured all the same
                bad += 1
                print("%-22s %-40s %s: %s" % (name, text(at), type(e).__name__, str(e)[:300]), flush=True)
                continue
            bad += off is not None and not off < 1e-2
            rate = flops / ours / 1e6
            shown = "" if off is None else "%.1e" % off
            rows.writerow([name, text(at), "%.1f" % ours, "%.0f" % rate, "%.1f" % theirs, "%.3f" % (theirs / ours), shown])
            f.flush()
            print("%-22s %-40s %8.1f us %5.0f TFLOP/s, peer %8.1f us, ratio %.3f %s" %
                  (name, text(at), ours, rate, theirs, theirs / ours, shown), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
