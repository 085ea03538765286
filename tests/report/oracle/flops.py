"""FLOP and bytes of operators from their shapes: see "flops" in docs/reports/definitions.md."""
import ast
import collections
import fractions
import math
import pathlib
import tomllib

import spans
from lists import json_text, launch_places, rank_cells
from scope import ordered, ratio
from trace import Around, outer_first

SIZES = {"float": 4, "c10::BFloat16": 2, "c10::Half": 2, "double": 8, "long int": 8, "long": 8, "int": 4, "short": 2,
         "signed char": 1, "unsigned char": 1, "bool": 1}
UNARY = {"pow", "neg", "silu", "gelu", "relu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "cos", "sin"}
BINARY = {"add", "sub", "mul", "div"}
NORMS = {"native_layer_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "native_group_norm",
         "_fused_rms_norm"}
CAUSAL = {"_scaled_dot_product_flash_attention": 4, "_scaled_dot_product_efficient_attention": 6,
          "_scaled_dot_product_cudnn_attention": 6, "_flash_attention_forward": 8}
CONVOLUTIONS = {"cudnn_convolution": (3, 2, 4), "miopen_convolution": (4, 3, 5), "convolution": (3, 4, 5),
                "_convolution": (3, 4, 5)}  # where stride, padding, dilation stand
NORM_FLOP = 5
DTYPES = {"double": "fp64", "float": "fp32", "c10::BFloat16": "bf16", "c10::Half": "fp16", "signed char": "int8",
          "unsigned char": "int8"}
MODEL = ("gemm", "attention", "convolution")
GPUS = pathlib.Path(__file__).resolve().parents[3] / "share" / "gpus.toml"


class Unknown(Exception):
    pass


class Op:
    """The arguments of an op; whatever is not as expected raises Unknown."""

    def __init__(self, args):
        self.dims, self.types = args.get("Input Dims"), args.get("Input type")
        self.concrete = args.get("Concrete Inputs")
        if not isinstance(self.dims, list) or not isinstance(self.types, list):
            raise Unknown

    def shape(self, i, rank=None):
        shape = self.dims[i] if i < len(self.dims) else None
        if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
            raise Unknown
        if rank is not None and len(shape) != rank:
            raise Unknown
        return shape

    def size(self, i):
        name = self.types[i] if i < len(self.types) else None
        if not isinstance(name, str):
            raise Unknown
        if name.startswith("c10::Float8"):
            return 1
        if name not in SIZES:
            raise Unknown
        return SIZES[name]

    def is_tensor(self, i):
        try:
            self.size(i)
            self.shape(i)
            return True
        except Unknown:
            return False

    def bytes(self, i):
        return math.prod(self.shape(i)) * self.size(i)

    def value(self, i):
        try:
            return ast.literal_eval(self.concrete[i])
        except (TypeError, IndexError, ValueError, SyntaxError):
            raise Unknown from None


def gemm(op, first, rank):
    """first: 1 where a bias stands before the matrices."""
    a, b = op.shape(first, rank), op.shape(first + 1, rank)
    batch = a[0] if rank == 3 else 1
    m, k = a[-2:]
    n = b[-1]
    if b[-2] != k or (rank == 3 and b[0] != batch):
        raise Unknown
    flop = 2 * m * n * k * batch + (m * n * batch if first else 0)
    moved = batch * (m * k * op.size(first) + k * n * op.size(first + 1) + m * n * op.size(first))
    return "gemm", op.types[first], flop, moved + (op.bytes(0) if first else 0)


def attention(op, name):
    q, k, v = (op.shape(i, 4) for i in range(3))
    heads, tokens = (2, 1) if name == "_flash_attention_forward" else (1, 2)
    batch, n_q, n_k = q[0], q[tokens], k[tokens]
    flop = 2 * batch * q[heads] * n_q * n_k * (q[3] + v[3])
    if op.value(CAUSAL[name]) is True and n_q == n_k:
        flop //= 2
    out = batch * q[heads] * n_q * v[3] * op.size(0)
    return "attention", op.types[0], flop, op.bytes(0) + op.bytes(1) + op.bytes(2) + out


def convolution(op, name):
    image, weight = op.shape(0), op.shape(1)
    if len(image) < 3 or len(weight) != len(image):
        raise Unknown
    if name in ("convolution", "_convolution") and op.value(6) is not False:
        raise Unknown  # transposed
    settings = [op.value(i) for i in CONVOLUTIONS[name]]
    if not all(isinstance(s, list) and s and all(type(n) is int for n in s) for s in settings):
        raise Unknown
    out = [image[0], weight[0]]
    for i, (length, kernel) in enumerate(zip(image[2:], weight[2:])):
        stride, padding, dilation = (s[i] if len(s) > i else s[-1] for s in settings)
        if stride < 1:
            raise Unknown
        out.append((length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    if min(out) < 0:
        raise Unknown
    moved = op.bytes(0) + op.bytes(1) + math.prod(out) * op.size(0)
    return "convolution", op.types[0], 2 * math.prod(weight[1:]) * math.prod(out), moved


def broadcast(a, b):
    out = []
    for i in range(1, max(len(a), len(b)) + 1):
        x, y = a[-i] if i <= len(a) else 1, b[-i] if i <= len(b) else 1
        if x != y and 1 not in (x, y):
            raise Unknown
        out.append(y if x == 1 else x)
    return out[::-1]


def elementwise(op, name):
    count = math.prod(op.shape(0))
    if name == "copy_":
        return "elementwise", op.types[0], 0, op.bytes(0) + op.bytes(1)
    moved = op.bytes(0)
    if name in BINARY and op.is_tensor(1):
        count = math.prod(broadcast(op.shape(0), op.shape(1)))
        moved += op.bytes(1)
    return "elementwise", op.types[0], count, moved + count * op.size(0)


def norm(op):
    count = math.prod(op.shape(0))
    moved = sum(op.bytes(i) for i in range(len(op.dims)) if op.is_tensor(i))
    return "norm", op.types[0], NORM_FLOP * count, moved + op.bytes(0)


def figures(slice_):
    """(kind, dtype, FLOP, bytes) of an op; None: it is not known."""
    if not slice_.name.startswith("aten::"):
        return None
    name = slice_.name[len("aten::"):]
    plain = name[:-1] if name.endswith("_") and name != "copy_" else name
    try:
        op = Op(slice_.args)
        if name in ("mm", "bmm"):
            return gemm(op, 0, 3 if name == "bmm" else 2)
        if name in ("addmm", "baddbmm"):
            return gemm(op, 1, 3 if name == "baddbmm" else 2)
        if name in CAUSAL:
            return attention(op, name)
        if name in CONVOLUTIONS:
            return convolution(op, name)
        if name in NORMS:
            return norm(op)
        if name == "copy_" or plain in UNARY or plain in BINARY:
            return elementwise(op, name if name == "copy_" else plain)
    except Unknown:
        pass
    return None


def known_ops(trace):
    """Known ops with no known op around them: [(op, figures)]."""
    rows = collections.defaultdict(list)
    for op in trace.ops:
        said = figures(op)
        if said is not None:
            rows[op.row].append((op, said))
    for row in rows.values():
        active = []
        for op, said in sorted(row, key=lambda item: outer_first(item[0])):
            active = [o for o in active if o.end > op.start]
            if not active:
                yield op, said
            active.append(op)


# ---- what GPUs could do ----

def table_of_gpus(*texts):
    """By name, of share/gpus.toml and then of each text; figures are fractions."""
    known = {}
    for text in [GPUS.read_text(encoding="utf-8"), *texts]:
        for gpu in tomllib.loads(text, parse_float=fractions.Fraction).get("gpu", []):
            known.update(dict.fromkeys(gpu["names"], gpu))
    return known


def model_of(scope, rank):
    """The model of all of a rank's GPUs; None: it is not told, or there are several."""
    if scope.options.gpu is not None:
        return scope.options.gpu
    said = scope.trace.document.get("deviceProperties")
    names = {gpu["id"]: gpu.get("name") for gpu in (said if isinstance(said, list) else []) if "id" in gpu}
    of_all = next(iter(names.values())) if len(set(names.values())) == 1 else None
    found = {names.get(device) if isinstance(device, int) else of_all for r, device in scope.devices if r == rank}
    return found.pop() if len(found) == 1 else None


def dtype_of(scope, kind, dtype):
    name = "fp8" if dtype.startswith("c10::Float8") else DTYPES.get(dtype)
    return "tf32" if name == "fp32" and scope.options.tf32 and kind in MODEL else name


def least_times(gpu, dtype, flop, moved):
    """ns that the peak and the memory allow; None: not known."""
    peak = gpu.get(dtype)
    return (fractions.Fraction(flop) / (peak * 1000) if peak else None if flop else 0,
            fractions.Fraction(moved) / gpu["bandwidth"])


def peak_cells(gpu, dtype, flop, moved, calls, time):
    if gpu is None:
        return dict.fromkeys(("peak", "roof", "peak_share", "bound", "roofline_share"))
    peak, (compute, memory) = gpu.get(dtype), least_times(gpu, dtype, flop, moved)
    known = compute is not None and max(compute, memory) > 0
    least = max(compute, memory) if known else None
    return {"peak": fractions.Fraction(peak) if peak else None, "roof": flop / least / 1000 if known and flop else None,
            "peak_share": ratio(flop * calls, 1000 * time * fractions.Fraction(peak), 100) if peak else None,
            "bound": None if not known else "compute" if compute >= memory else "memory",
            "roofline_share": ratio(calls * least, time, 100) if known else None}


def mfu_rows(scope, done, gpus):
    """done: by (rank, step) [(flop of all calls, ns that the peak allows for them)]."""
    windows = collections.defaultdict(list)
    for key in scope.device_keys():
        for step, window, _ in scope.windows(key):
            if spans.length(window):
                windows[key[0], step].append(spans.length(window))
    for (rank, step), list_ in done.items():
        span, flop, times = sum(windows[rank, step]), sum(f for f, _ in list_), [t for _, t in list_]
        yield {**rank_cells(scope, rank, step), "devices": len(windows[rank, step]), "span": span, "flop": flop,
               "tflops": ratio(flop, 1000 * span),
               "mfu": None if None in times or model_of(scope, rank) not in gpus else ratio(sum(times), span, 100)}


def flops(scope):
    gpus = table_of_gpus(*scope.options.gpus)
    ops = dict((op.index, (op, said)) for op, said in known_ops(scope.trace) if scope.options.has(op.start))
    linked = [w for w in scope.works if w.launch is not None]
    around = Around([op for op, _ in ops.values()], launch_places(linked))
    times = collections.Counter()
    for w in linked:
        for op in around.at(w.launch.row, w.launch.start):
            times[op.index] += w.duration
    groups = collections.defaultdict(list)
    for index in times:
        op, said = ops[index]
        groups[op.rank, scope.step_of(op), op.name, json_text(op.args["Input Dims"]), said].append(times[index])
    rows, done = [], collections.defaultdict(list)
    for (rank, step, name, shapes, (kind, dtype, flop, moved)), list_ in groups.items():
        gpu, peak, calls = gpus.get(model_of(scope, rank)), dtype_of(scope, kind, dtype), len(list_)
        rows.append({**rank_cells(scope, rank, step), "kind": kind, "op": name, "shapes": shapes, "dtype": dtype,
                     "calls": calls, "time": sum(list_), "flop": flop, "bytes": moved,
                     "tflops": ratio(flop * calls, 1000 * sum(list_)),
                     "bandwidth": ratio(moved * calls, sum(list_)), "intensity": ratio(flop, moved),
                     **peak_cells(gpu, peak, flop, moved, calls, sum(list_))})
        if kind in MODEL:
            least = least_times(gpu, peak, flop, moved)[0] if gpu else None
            done[rank, step].append((flop * calls, None if least is None else least * calls))
    return {"flops": ordered(rows, "time"), "mfu": ordered(list(mfu_rows(scope, done, gpus)))}
