"""On a machine with a GPU and PyTorch: one kernel with open sizes, compiled once, called at many; each result compared with double
precision.

    nautilusc compile attention_causal --symbolic B H N M --size N=4096 M=4096 D=128 H=32 -o out
    python3 tests/gpu/symbolic.py out attention_causal N=4096 M=4096, N=65 M=17 -- B=1 H=32 D=128

Shapes stand before `--`, with commas between them; what stands after it is the same for all.
"""
import importlib
import sys

import torch


def attention(q, k, v, causal):
    n, m = q.shape[-2], k.shape[-2]
    s = q.double() @ k.double().transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        i = torch.arange(n, device=q.device)[:, None]
        s = s.masked_fill(torch.arange(m, device=q.device)[None] > i + m - n, float("-inf"))
    return torch.softmax(s, -1).nan_to_num(0.0) @ v.double()


def rms(x):
    return torch.rsqrt((x.double() ** 2).mean(-1, keepdim=True) + 1e-5)


def layer(x, w, c):
    x = x.double()
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt(((x - mean) ** 2).mean(-1, keepdim=True) + 1e-6) * w.double() + c.double()


REFERENCE = {
    "attention_causal": lambda q, k, v: attention(q, k, v, True),
    "attention_causal_gqa": lambda q, k, v: attention(q, k.unsqueeze(2), v.unsqueeze(2), True),
    "attention_global": lambda q, k, v: attention(q, k, v, False),
    "matmul": lambda a, b: a.double() @ b.double(),
    "softmax": lambda x: torch.softmax(x.double(), -1),
    "rmsnorm": lambda x, w: x.double() * rms(x) * w.double(),
    "layernorm": layer,
}


def sizes(words):
    return {s: int(v) for s, v in (w.split("=") for w in words)}


def main():
    folder, name, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    at = rest.index("--") if "--" in rest else len(rest)
    shapes = [sizes(s.split()) for s in " ".join(rest[:at]).split(",")]
    fixed = sizes(rest[at + 1 :])
    sys.path.insert(0, folder)
    module = importlib.import_module(name)
    function = getattr(module, module.__all__[0])
    torch.manual_seed(1)
    wrong = 0
    for shape in shapes:
        at = {**fixed, **shape}
        inputs = [torch.randn(tuple(e(at)), device="cuda").to(d) for _, _, d, e in module._INPUTS]
        got = function(*inputs)
        want = REFERENCE[name](*inputs)
        scale = float(want.abs().max()) if want.numel() else 1.0
        error = float((got.double() - want).abs().max()) if want.numel() else 0.0
        good = got.shape == want.shape and error <= 4e-3 * max(scale, 1e-3)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        times = []
        for _ in range(9):
            start.record()
            function(*inputs, out=got)
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) * 1e3)
        wrong += not good
        print("%s %s: %s, off by %.2g of %.2g, %.1f us" % (
            name, " ".join("%s=%d" % s for s in at.items()), "right" if good else "WRONG", error, scale, sorted(times)[4]), flush=True)
    print("%s: %d shapes, %d wrong" % (name, len(shapes), wrong))
    return 1 if wrong else 0


sys.exit(main())
