#include "compiler/backend/torch/runtime_text.h"

namespace nautilus::torch {

// It reads the tables that wrapper() writes above it: _NAME, _TARGET, _CUBIN, _SIZES, _SOLVE,
// _TENSORS, _FACTS, _ZEROED, _LAUNCHES.
const std::string_view kRuntimeText = R"py(

_INPUTS = [t for t in _TENSORS if t[1] == "input"]
_OUTPUTS = [t for t in _TENSORS if t[1] == "output"]
_OUTPUT_NAMES = {t[0] for t in _OUTPUTS}
_SCRATCH = [t for t in _TENSORS if t[1] == "temp"]
_LARGEST = 2**31 - 2**16  # extents are below it


class _Driver:
    """The entry points of libcuda.so.1 that a launch needs."""

    def __init__(self):
        self.lib = ctypes.CDLL(os.environ.get("NAUTILUS_LIBCUDA", "libcuda.so.1"))
        p, u = ctypes.c_void_p, ctypes.c_uint
        self.lib.cuLaunchKernel.argtypes = [p, u, u, u, u, u, u, u, p, p, p]
        self.lib.cuModuleLoadData.argtypes = [p, ctypes.c_char_p]
        self.lib.cuModuleGetFunction.argtypes = [p, p, ctypes.c_char_p]
        self.lib.cuFuncSetAttribute.argtypes = [p, ctypes.c_int, ctypes.c_int]
        self.lib.cuMemsetD8Async.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, p]

    def check(self, error, asked):
        if error:
            name = ctypes.c_char_p()
            self.lib.cuGetErrorName(error, ctypes.byref(name))
            what = name.value.decode() if name.value else "CUDA error %d" % error
            raise RuntimeError("%s: %s: %s" % (_NAME, asked, what))


_driver = None
_functions = {}  # device index -> kernels
_scratch = {}  # (device index, stream) -> tensors
_lock = threading.Lock()


def _load(index):
    """The kernels on a device; loaded at the first call there."""
    global _driver
    with _lock:
        if index in _functions:
            return _functions[index]
        if _driver is None:
            _driver = _Driver()
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), _CUBIN)
        with open(path, "rb") as f:
            image = f.read()
        module = ctypes.c_void_p()
        _driver.check(_driver.lib.cuModuleLoadData(ctypes.byref(module), image), "load " + _CUBIN)
        found = []
        for kernel, _, _, shared, _ in _LAUNCHES:
            f = ctypes.c_void_p()
            _driver.check(
                _driver.lib.cuModuleGetFunction(ctypes.byref(f), module, kernel.encode()),
                "find kernel " + kernel,
            )
            if shared > 48 * 1024:  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                _driver.check(
                    _driver.lib.cuFuncSetAttribute(f, 8, shared), "shared memory of " + kernel
                )
            found.append(f)
        _functions[index] = found
        return found


def _check_tensor(t, name, dtype, device):
    if not isinstance(t, torch.Tensor):
        raise TypeError("%s: %s must be a torch.Tensor, not %s" % (_NAME, name, type(t).__name__))
    if t.dtype != dtype:
        raise TypeError("%s: %s must be of %s, not %s" % (_NAME, name, dtype, t.dtype))
    if t.device.type != "cuda":
        raise ValueError("%s: %s must be on a CUDA device, not %s" % (_NAME, name, t.device))
    if device is not None and t.device != device:
        raise ValueError(
            "%s: %s is on %s, the first input on %s" % (_NAME, name, t.device, device)
        )
    if not t.is_contiguous():
        raise ValueError(
            "%s: %s must be contiguous (row-major); its strides are %s. Use .contiguous()"
            % (_NAME, name, tuple(t.stride()))
        )
    if t.data_ptr() % 16:
        raise ValueError(
            "%s: %s does not start at a multiple of 16 bytes. Use .clone()" % (_NAME, name)
        )


def _find_sizes(shapes, given):
    """Sizes from the shapes of the inputs (and given outputs), and those given by name."""
    s = {}
    for size, value in given.items():
        if not isinstance(value, int) or not 0 <= value < _LARGEST:
            raise ValueError("%s: %s must be a size, not %r" % (_NAME, size, value))
        s[size] = value
    for size, tensor, dim, factor, offset in _SOLVE:
        if tensor not in shapes or (size in s and tensor in _OUTPUT_NAMES):
            continue  # outputs tell what inputs do not; else they are checked
        shape = shapes[tensor]
        if dim >= len(shape):
            continue  # said below
        value, rest = divmod(shape[dim] - offset, factor)
        if rest or value < 0:
            raise ValueError(
                "%s: dimension %d of %s is %d, which is not %d*%s + %d for any size %s"
                % (_NAME, dim, tensor, shape[dim], factor, size, offset, size)
            )
        if s.setdefault(size, value) != value:
            raise ValueError(
                "%s: size %s is %d by an argument before, but %d by dimension %d of %s"
                % (_NAME, size, s[size], value, dim, tensor)
            )
    for size in _SIZES:
        if size not in s:
            raise ValueError("%s: no shape tells the size %s" % (_NAME, size))
    return s


def _check_shape(name, shape, extents, s):
    want = tuple(extents(s))
    if tuple(shape) != want:
        raise ValueError(
            "%s: %s must have shape %s, not %s" % (_NAME, name, want, tuple(shape))
        )
    if any(e >= _LARGEST for e in want):
        raise ValueError("%s: %s has an extent of 2^31 - 2^16 or more" % (_NAME, name))


def _check_device(device):
    major, minor = torch.cuda.get_device_capability(device)
    exact = _TARGET.endswith("a")
    want = int(_TARGET[3:].rstrip("a"))
    if major != want // 10 or minor < want % 10 or (exact and minor != want % 10):
        raise ValueError(
            "%s: compiled for %s; %s has compute capability %d.%d"
            % (_NAME, _TARGET, device, major, minor)
        )


def _dims_of(m, s):
    """Extents and strides in bytes, innermost first, of a tensor map; None of an empty tensor."""
    tensor, _, width, extents, _, _ = m
    dims = extents(s)
    if 0 in dims:
        return None  # no copy reads one
    strides = []
    for e in dims[:-1]:
        width *= e
        if width % 16 or width >= 2**40:
            raise ValueError(
                "%s: a stride of %s is %d bytes, which is no multiple of 16 below 2^40"
                % (_NAME, tensor, width)
            )
        strides.append(width)
    return dims, strides


def _encode(m, dims, addresses):
    """A tensor map (CUtensorMap: 128 bytes at a multiple of 64)."""
    tensor, kind, _, _, box, swizzle = m
    room = ctypes.create_string_buffer(192)
    at = (ctypes.addressof(room) + 63) // 64 * 64
    if dims is None:
        return room, at
    n = len(box)
    extents, strides = dims
    _driver.check(
        _driver.lib.cuTensorMapEncodeTiled(
            ctypes.c_void_p(at), kind, n, ctypes.c_void_p(addresses[tensor]),
            (ctypes.c_uint64 * n)(*extents), (ctypes.c_uint64 * max(1, n - 1))(*strides),
            (ctypes.c_uint32 * n)(*box), (ctypes.c_uint32 * n)(*([1] * n)), 0, swizzle, 2, 0,
        ),
        "tensor map of " + tensor,
    )
    return room, at


def _scratch_of(device, stream, s):
    """Scratch of this stream, kept; larger than before if it must be."""
    key = (device.index, stream)
    kept = _scratch.setdefault(key, {})
    for name, _, dtype, extents in _SCRATCH:
        n = 1
        for e in extents(s):
            n *= e
        if name not in kept or kept[name].numel() < max(1, n):
            kept[name] = torch.empty(max(1, n), dtype=dtype, device=device)
    return kept


def _call(args, out, given_sizes={}):
    given = None
    if out is not None:
        given = (out,) if isinstance(out, torch.Tensor) else tuple(out)
        if len(given) != len(_OUTPUTS):
            raise TypeError(
                "%s: out must be %d tensors (%s), not %d"
                % (_NAME, len(_OUTPUTS), ", ".join(t[0] for t in _OUTPUTS), len(given))
            )
    device = None
    shapes, tensors = {}, {}
    known = list(zip(_INPUTS, args)) + (list(zip(_OUTPUTS, given)) if given else [])
    for (name, _, dtype, _), t in known:
        _check_tensor(t, name, dtype, device)
        device = t.device if device is None else device
        shapes[name], tensors[name] = tuple(t.shape), t
    if device is None:
        device = torch.device("cuda", torch.cuda.current_device())
    s = _find_sizes(shapes, given_sizes)
    for (name, _, _, extents), t in known:
        _check_shape(name, t.shape, extents, s)
    for words, holds in _FACTS:
        if not holds(s):
            raise ValueError("%s: needs %s; sizes are %s" % (_NAME, words, s))
    if given:
        for (name, *_), t in zip(_OUTPUTS, given):
            for other, u in tensors.items():
                a, b = t.data_ptr(), u.data_ptr()
                if t is not u or other != name:
                    if a < b + u.numel() * u.element_size() and b < a + t.numel() * t.element_size():
                        raise ValueError("%s: out %s overlaps %s" % (_NAME, name, other))
    if torch.is_grad_enabled() and any(t.requires_grad for t in args):
        raise ValueError(
            "%s has no backward pass: call it under torch.no_grad() or on detached tensors" % _NAME
        )
    grids = []
    for kernel, grid, *_ in _LAUNCHES:
        blocks = 1
        for e in grid(s):
            blocks *= max(0, e)
        if blocks >= 2**31:
            raise ValueError("%s: kernel %s would take %d blocks" % (_NAME, kernel, blocks))
        grids.append(blocks)
    dims = [[_dims_of(m, s) for m in maps] for *_, maps in _LAUNCHES]
    _check_device(device)
    with torch.cuda.device(device):
        functions = _load(device.index)
        stream = torch.cuda.current_stream(device).cuda_stream
        for name, _, dtype, extents in _OUTPUTS:
            if name not in tensors:
                tensors[name] = torch.empty(tuple(extents(s)), dtype=dtype, device=device)
        scratch = _scratch_of(device, stream, s)
        addresses = {t[0]: (tensors.get(t[0]) if t[0] in tensors else scratch[t[0]]).data_ptr()
                     for t in _TENSORS}
        lib = _driver.lib
        for name in _ZEROED:
            t = tensors[name] if name in tensors else scratch[name]
            n = t.numel() * t.element_size()
            if n:
                _driver.check(lib.cuMemsetD8Async(addresses[name], 0, n, stream), "zero " + name)
        values = [ctypes.c_uint64(addresses[t[0]]) for t in _TENSORS]
        values += [ctypes.c_int64(s[size]) for size in _SIZES]
        for f, blocks, of_maps, launch in zip(functions, grids, dims, _LAUNCHES):
            if blocks == 0:
                continue
            kernel, _, threads, shared, maps = launch
            encoded = [_encode(m, d, addresses) for m, d in zip(maps, of_maps)]
            where = [ctypes.addressof(v) for v in values] + [at for _, at in encoded]
            parameters = (ctypes.c_void_p * max(1, len(where)))(*where)
            _driver.check(
                lib.cuLaunchKernel(
                    f, blocks, 1, 1, threads, 1, 1, shared, stream, parameters, None
                ),
                "kernel " + kernel,
            )
    results = tuple(tensors[t[0]] for t in _OUTPUTS)
    return results[0] if len(results) == 1 else results
)py";

}  // namespace nautilus::torch
