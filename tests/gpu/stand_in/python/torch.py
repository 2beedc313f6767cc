"""A stand-in for the parts of PyTorch that wrappers use: "device" memory is the host's."""
import ctypes

allocations = 0
_grad = True


class dtype:
    def __init__(self, name, size):
        self.name, self.size = name, size

    def __repr__(self):
        return "torch." + self.name


float16, bfloat16, float32, float64 = (
    dtype("float16", 2),
    dtype("bfloat16", 2),
    dtype("float32", 4),
    dtype("float64", 8),
)
int32, int8, bool = dtype("int32", 4), dtype("int8", 1), dtype("bool", 1)


class device:
    def __init__(self, type, index=None):
        self.type, self.index = type, index

    def __eq__(self, other):
        return (self.type, self.index) == (other.type, other.index)

    def __repr__(self):
        return self.type if self.index is None else "%s:%d" % (self.type, self.index)


class Tensor:
    def __init__(self, shape, dtype, device, strides=None, shift=0):
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self.requires_grad = False
        n = 1
        dense = []
        for e in reversed(self.shape):
            dense.insert(0, n)
            n *= e
        self._dense, self._strides = tuple(dense), tuple(strides or dense)
        self._room = ctypes.create_string_buffer(n * dtype.size + 512)
        self._at = (ctypes.addressof(self._room) + 255) // 256 * 256 + shift
        self._n = n

    def stride(self):
        return self._strides

    def is_contiguous(self):
        return self._strides == self._dense

    def data_ptr(self):
        return self._at

    def numel(self):
        return self._n

    def element_size(self):
        return self.dtype.size

    def floats(self):
        return (ctypes.c_float * self._n).from_address(self._at)


def empty(shape, dtype, device):
    global allocations
    allocations += 1
    return Tensor((shape,) if isinstance(shape, int) else shape, dtype, device)


def is_grad_enabled():
    return _grad


class _Stream:
    cuda_stream = None


class cuda:
    capability = (9, 0)
    stream = None

    class device:
        def __init__(self, d):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def current_stream(_):
        s = _Stream()
        s.cuda_stream = cuda.stream
        return s

    @staticmethod
    def get_device_capability(_):
        return cuda.capability
