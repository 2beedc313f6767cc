"""On a machine with a GPU and PyTorch: a compiled kernel's wrapper refuses wrong arguments and touches
nothing, runs on streams and in graphs, and allocates only its outputs.

    nautilusc compile softmax -o out && python3 tests/gpu/on_device.py out softmax
"""
import importlib
import sys

import torch

folder, name = sys.argv[1:3]
sys.path.insert(0, folder)
module = importlib.import_module(name)
function = getattr(module, module.__all__[0])
sizes = {s: int(v) for s, v in (a.split("=") for a in sys.argv[3:])}


def make(shape, dtype):
    if dtype == torch.bool:
        return torch.ones(shape, dtype=dtype, device="cuda")
    if not dtype.is_floating_point:
        return torch.zeros(shape, dtype=dtype, device="cuda")  # an index that is always there
    return torch.randn(shape, device="cuda").to(dtype)


inputs = [make(tuple(e(sizes)), d) for _, _, d, e in module._INPUTS]
outputs = [tuple(e(sizes)) for _, _, _, e in module._OUTPUTS]
kinds = [d for _, _, d, _ in module._OUTPUTS]


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def refused(kind, args, why):
    """The call raises, and a given output keeps its bytes."""
    given = [torch.full(s, 7, dtype=torch.float32, device="cuda").to(d) for s, d in zip(outputs, kinds)]
    before = [g.clone() for g in given]
    memory = torch.cuda.memory_allocated()
    try:
        function(*args, out=tuple(given))
    except kind as e:
        print("refused (%s): %s" % (why, e))
    else:
        sys.exit("not refused: " + why)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == memory, "memory was allocated: " + why
    for g, b in zip(given, before):
        assert torch.equal(g.view(torch.uint8), b.view(torch.uint8)), "an output was touched: " + why


refused(TypeError, inputs[:-1], "one argument is missing")
refused(TypeError, inputs + [inputs[0]], "one argument too many")
for k, t in enumerate(inputs):
    def with_(u):
        return inputs[:k] + [u] + inputs[k + 1 :]

    refused(TypeError, with_(t.cpu().numpy() if t.dtype != torch.bfloat16 else [1.0]), "no tensor")
    other = torch.float64 if t.dtype != torch.float64 else torch.float32
    refused(TypeError, with_(t.to(other)), "type")
    refused(ValueError, with_(t.cpu()), "device")
    refused(ValueError, with_(t.unsqueeze(0)), "rank")
    if t.dim() > 0 and t.numel() > 0:
        refused(ValueError, with_(torch.cat([t, t[:1]], 0).contiguous()), "extent")
    if t.dim() > 1 and t.shape[-1] > 1 and t.shape[-2] > 1:
        strided = t.transpose(-1, -2).contiguous().transpose(-1, -2)
        refused(ValueError, with_(strided), "strides")
    if t.numel() > 0:
        room = torch.empty(t.numel() + 16, dtype=t.dtype, device="cuda")
        shifted = room[1 : 1 + t.numel()].view(t.shape)
        if shifted.data_ptr() % 16:
            refused(ValueError, with_(shifted), "alignment")
    if t.dtype.is_floating_point:
        refused(ValueError, with_(t.clone().requires_grad_()), "no backward pass")

first = as_tuple(function(*inputs))
torch.cuda.synchronize()
for f, s, d in zip(first, outputs, kinds):
    assert tuple(f.shape) == s and f.dtype == d

memory = torch.cuda.memory_allocated()
again = as_tuple(function(*inputs))
torch.cuda.synchronize()
grown = torch.cuda.memory_allocated() - memory
# The allocator rounds up to 512 bytes.
most = sum((f.numel() * f.element_size() + 511) // 512 * 512 for f in first)
assert grown <= most, "a second call allocated %d bytes, its outputs take %d" % (grown, most)
memory = torch.cuda.memory_allocated()
function(*inputs, out=again)
assert torch.cuda.memory_allocated() == memory, "a call with out= allocated"

stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    elsewhere = as_tuple(function(*inputs))
stream.synchronize()
graph = torch.cuda.CUDAGraph()
captured = tuple(torch.empty_like(f) for f in first)
with torch.cuda.stream(stream):
    function(*inputs, out=captured)  # scratch of the stream is there
    stream.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        function(*inputs, out=captured)
for c in captured:
    c.zero_()
graph.replay()
torch.cuda.synchronize()
for f, a, e, c in zip(first, again, elsewhere, captured):
    for what, other in (("again", a), ("on a stream", e), ("in a graph", c)):
        assert torch.allclose(f.float(), other.float(), equal_nan=True, rtol=1e-2, atol=1e-2), what
print("%s: wrapper checks passed" % name)
