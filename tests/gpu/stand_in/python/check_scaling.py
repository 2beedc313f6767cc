"""Uses the wrapper `scaling` (X f32[8*N, M], W f32[M] -> Y f32[8*N, M]; 3 M scratch) as a program
would. Arguments: the wrapper's folder."""
import os
import sys

sys.path.insert(0, sys.argv[1])
import torch
import scaling as module
from scaling import scaling

log = os.environ["FAKE_CUDA_LOG"]
gpu = torch.device("cuda", 0)


def calls(head=""):
    if not os.path.exists(log):
        return []
    return [line.strip() for line in open(log) if line.startswith(head)]


def refused(kind, words, *args, **more):
    before = calls(), torch.allocations
    try:
        scaling(*args, **more)
    except kind as e:
        assert words in str(e), (words, str(e))
        assert type(e) is kind, type(e)
    else:
        raise AssertionError("not refused: " + words)
    assert (calls(), torch.allocations) == before, "something was touched: " + words


def tensor(*shape, dtype=torch.float32, device=gpu, **more):
    return torch.Tensor(shape, dtype, device, **more)


x, w = tensor(16, 4), tensor(4)
refused(TypeError, "missing 1 required positional argument: 'W'", x)
refused(TypeError, "takes 2 positional arguments but 3", x, w, w)
refused(TypeError, "W must be a torch.Tensor, not list", x, [1.0])
refused(TypeError, "X must be of torch.float32, not torch.float16", tensor(16, 4, dtype=torch.float16), w)
refused(ValueError, "X must be on a CUDA device, not cpu", tensor(16, 4, device=torch.device("cpu")), w)
refused(ValueError, "W is on cuda:1, the first input on cuda:0", x, tensor(4, device=torch.device("cuda", 1)))
refused(ValueError, "dimension 0 of X is 17, which is not 8*N + 0", tensor(17, 4), w)
refused(ValueError, "size M is 4 by an argument before, but 5 by dimension 0 of W", x, tensor(5))
refused(ValueError, "X must have shape (16, 4), not (16, 4, 1)", tensor(16, 4, 1), w)
refused(ValueError, "no shape tells the size M", tensor(16), tensor())
refused(ValueError, "X must be contiguous (row-major); its strides are (1, 16)", tensor(16, 4, strides=(1, 16)), w)
refused(ValueError, "X does not start at a multiple of 16 bytes", tensor(16, 4, shift=4), w)
refused(ValueError, "needs -M + 100 >= 0; sizes are", tensor(16, 101), tensor(101))
refused(ValueError, "extent of 2^31 - 2^16", type("Huge", (torch.Tensor,), {
    "__init__": lambda self: (torch.Tensor.__init__(self, (0, 4), torch.float32, gpu),
                              setattr(self, "shape", (2**31, 4)))[0]})(), w)
refused(TypeError, "out must be 1 tensors (Y), not 2", x, w, out=(x, x))
refused(TypeError, "Y must be of torch.float32", x, w, out=tensor(16, 4, dtype=torch.int32))
refused(ValueError, "Y must have shape (16, 4), not (16, 3)", x, w, out=tensor(16, 3))
refused(ValueError, "out Y overlaps X", x, w, out=x)
x.requires_grad = True
refused(ValueError, "no backward pass", x, w)
x.requires_grad = False
torch.cuda.capability = (8, 9)
refused(ValueError, "compiled for sm_90; cuda:0 has compute capability 8.9", x, w)
torch.cuda.capability = (9, 0)

for k in range(64):
    x.floats()[k] = k
torch.cuda.stream = 77
y = scaling(x, w)
assert y.shape == (16, 4) and y.dtype is torch.float32
assert list(y.floats()) == [2.0 * k + 1.5 for k in range(64)], list(y.floats())
assert torch.allocations == 2, torch.allocations  # the output and the scratch
assert calls("cuMemsetD8Async") == ["cuMemsetD8Async 0 96"], calls("cuMemsetD8Async")
launches = calls("cuLaunchKernel")
assert launches == [
    "cuLaunchKernel scale_x grid 8x1x1 block 64x1x1 shared 60000 stream other",
    "cuLaunchKernel add_y grid 1x1x1 block 32x1x1 shared 0 stream other",
], launches
assert calls("cuFuncSetAttribute") == ["cuFuncSetAttribute scale_x 8 60000"]
assert calls("cuTensorMapEncodeTiled") == [
    "cuTensorMapEncodeTiled type 7 rank 2 4/64/1 16/2/1/16 modes 0320"
], calls("cuTensorMapEncodeTiled")
assert calls("map-of-kernel") == ["map-of-kernel 4 64"], calls("map-of-kernel")

# Again: only the output is new; given out: nothing is.
scaling(x, w)
assert torch.allocations == 3, torch.allocations
out = tensor(16, 4)
assert scaling(x, w, out=out) is out
assert list(out.floats())[3] == 7.5
assert torch.allocations == 3
torch.cuda.stream = 78  # scratch of its own
scaling(x, w, out=out)
assert torch.allocations == 4
assert len(calls("cuModuleLoadData")) == 1

# Rows of 36 bytes: no tensor map has such a stride.
refused(ValueError, "a stride of X is 36 bytes", tensor(8, 9), tensor(9))

# Larger scratch where sizes ask for it; empty tensors launch nothing.
scaling(tensor(8, 12), tensor(12))
assert torch.allocations == 6, torch.allocations
before = len(calls("cuLaunchKernel scale_x"))
assert scaling(tensor(0, 4), w).shape == (0, 4)
assert len(calls("cuLaunchKernel scale_x")) == before

# What the driver answers is said.
os.environ["FAKE_CUDA_FAIL"] = "cuLaunchKernel=700"
import ctypes
libc = ctypes.CDLL(None)
libc.setenv(b"FAKE_CUDA_FAIL", b"cuLaunchKernel=700", 1)
try:
    scaling(x, w)
except RuntimeError as e:
    assert "kernel scale_x: CUDA_ERROR_ILLEGAL_ADDRESS" in str(e), e
else:
    raise AssertionError("an error of the driver was not said")
print("all checks passed")
