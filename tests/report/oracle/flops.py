"""FLOP and bytes of operators from their shapes: see "flops" in docs/reports/definitions.md."""
import ast
import collections
import fractions
import math
import pathlib
import tomllib

import spans
from lists import json_text, launch_places, rank_cells
from scope import class_of, ordered, ratio
from trace import Around, outer_first

SIZES = {8: "double float64 long int64", 4: "float float32 int int32", 2: "bfloat16 half float16 short int16",
         1: "char byte int8 uint8 bool"}
SIZES = {name: size for size, names in SIZES.items() for name in names.split()}
SIZES |= {"long int": 8, "signed char": 1, "unsigned char": 1}
UNARY = {"pow", "neg", "silu", "gelu", "relu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "cos", "sin"}
BINARY = {"add", "sub", "mul", "div"}
NORMS = {"native_layer_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "native_group_norm",
         "_fused_rms_norm"}
ATTENTION = {  # where causal stands, and where packed sequences end
    "_scaled_dot_product_flash_attention": (4, None), "_scaled_dot_product_efficient_attention": (6, None),
    "_scaled_dot_product_cudnn_attention": (6, None), "_flash_attention_forward": (8, None),
    "_efficient_attention_forward": (9, 4), "_scaled_dot_product_flash_attention_backward": (11, None),
    "_scaled_dot_product_efficient_attention_backward": (11, None),
    "_scaled_dot_product_cudnn_attention_backward": (14, None), "_flash_attention_backward": (11, None),
    "_efficient_attention_backward": (14, 6)}
CONVOLUTIONS = {"cudnn_convolution": (3, 2, 4), "miopen_convolution": (4, 3, 5), "convolution": (3, 4, 5, 7, 8),
                "_convolution": (3, 4, 5, 7, 8), "cudnn_convolution_transpose": (4, 2, 5, 3, 6),
                "miopen_convolution_transpose": (5, 3, 6, 4, 7)}  # stride, padding, dilation, output padding, groups
PRODUCTS = {"mm": (0, 2), "bmm": (0, 3), "addmm": (1, 2), "_addmm_activation": (1, 2), "baddbmm": (1, 3)}
SCALAR_TYPES = {3: 4, 5: 2, 6: 4, 7: 8, 15: 2, 23: 1, 24: 1, 25: 1, 26: 1}  # bytes by c10::ScalarType
NORM_FLOP = 5
DTYPES = {"double": "fp64", "float64": "fp64", "float": "fp32", "float32": "fp32", "bfloat16": "bf16", "half": "fp16",
          "float16": "fp16"} | dict.fromkeys(("signed char", "unsigned char", "char", "byte", "int8", "uint8"), "int8")
COVERAGE = 90
MODEL = ("gemm", "attention", "convolution")
GPUS = pathlib.Path(__file__).resolve().parents[3] / "share" / "gpus.toml"


class Unknown(Exception):
    pass


def plain_type(name):
    """In small letters, without a namespace."""
    return name.removeprefix("c10::").lower()


class Op:
    """The arguments of an op; whatever is not as expected raises Unknown."""

    def __init__(self, args):
        self.dims, self.types = args.get("Input Dims"), args.get("Input type")
        self.concrete = args.get("Concrete Inputs")
        if not isinstance(self.dims, list):
            raise Unknown
        if not isinstance(self.types, list):
            self.types = []

    def shape(self, i, rank=None):
        shape = self.dims[i] if i < len(self.dims) else None
        if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
            raise Unknown
        if rank is not None and len(shape) != rank:
            raise Unknown
        return shape

    def type(self, i):
        name = self.types[i] if i < len(self.types) else None
        return name if isinstance(name, str) else None

    def size(self, i):
        """nan: not known."""
        name = self.type(i) or ""
        size = 1 if plain_type(name).startswith("float8") else SIZES.get(plain_type(name), math.nan)
        is_plain = name.startswith("c10::") or name == name.lower()
        try:
            return size if is_plain or self.shape(i) else math.nan  # Int and Double are types of numbers as well
        except Unknown:
            return math.nan

    def is_tensor(self, i):
        try:
            return not math.isnan(self.size(i)) and self.shape(i) is not None
        except Unknown:
            return False

    def tensor(self, i):
        if not self.is_tensor(i):
            raise Unknown
        return self.shape(i)

    def bytes(self, i):
        return math.prod(self.shape(i)) * self.size(i)

    def text(self, i):
        texts = self.concrete if isinstance(self.concrete, list) else []
        return texts[i] if i < len(texts) and isinstance(texts[i], str) else ""

    def value(self, i):
        try:
            return ast.literal_eval(self.text(i))
        except (ValueError, SyntaxError):
            raise Unknown from None

    def made_size(self, first, places):
        """Bytes of an element of a product, of which one of the places tells the c10::ScalarType."""
        for place in places:
            try:
                return SCALAR_TYPES.get(int(self.text(place)), math.nan)
            except ValueError:
                pass
        return self.size(first)


def whole(moved):
    return None if math.isnan(moved) else int(moved)


def gemm(op, first, rank, made=()):
    """first: 1 where a bias stands before the matrices."""
    a, b = op.shape(first, rank), op.shape(first + 1, rank)
    batch = a[0] if rank == 3 else 1
    m, k = a[-2:]
    n = b[-1]
    if b[-2] != k or (rank == 3 and b[0] != batch):
        raise Unknown
    flop = 2 * m * n * k * batch + (m * n * batch if first else 0)
    moved = batch * (m * k * op.size(first) + k * n * op.size(first + 1) + m * n * op.made_size(first, made))
    if first:
        moved += math.prod(op.shape(0)) * op.size(0)
    return "gemm", op.type(first), flop, whole(moved)


def grouped_gemm(op, made, ends):
    a, b = op.shape(0), op.shape(1)
    if len(a) == len(b) == 3:
        return gemm(op, 0, 3, (made,))
    if len(a) not in (2, 3) or len(b) not in (2, 3) or a[-1] != b[-2]:
        raise Unknown
    products = 1
    if len(a) == len(b):
        try:
            products = op.shape(ends, 1)[0]
        except Unknown:
            products = math.nan
    moved = op.bytes(0) + op.bytes(1) + a[-2] * b[-1] * products * op.made_size(0, (made,))
    return "gemm", op.type(0), 2 * a[-2] * a[-1] * b[-1], whole(moved)


def attention(op, name):
    back = name.endswith("backward")
    causal_at, packed = ATTENTION[name]
    q, k, v = (op.shape(i + back, 4) for i in range(3))
    heads, tokens = (1, 2) if "_dot_product_" in name else (2, 1)
    batch, n_q, n_k = q[0], q[tokens], k[tokens]
    if packed is None:
        causal = op.value(causal_at) is True
    else:
        causal = type(op.value(causal_at)) is int and op.value(causal_at) != 0
        if type(op.value(causal_at)) is not int:
            raise Unknown
        try:
            op.shape(packed, 1)
        except Unknown:
            pass
        else:
            raise Unknown
    # Forward q k' and p v; backward q k' again, and two products for each of these two.
    depth = 3 * q[3] + 2 * v[3] if back else q[3] + v[3]
    flop = 2 * batch * q[heads] * n_q * n_k * depth
    if causal and n_q == n_k:
        flop //= 2
    out = batch * q[heads] * n_q * v[3] * op.size(back)
    moved = sum(op.bytes(i + back) for i in range(3)) + out
    return "attention", op.type(0), flop, whole(moved * (2 if back else 1))


def convolution(op, name):
    image, weight = op.shape(0), op.shape(1)
    if len(image) < 3 or len(weight) != len(image):
        raise Unknown
    places = CONVOLUTIONS[name]
    transposed = op.value(6) if name in ("convolution", "_convolution") else name.endswith("transpose")
    if type(transposed) is not bool:
        raise Unknown
    settings = [op.value(i) for i in places[:4 if transposed else 3]]
    if not all(isinstance(s, list) and s and all(type(n) is int for n in s) for s in settings):
        raise Unknown
    made = []
    for i, (length, kernel) in enumerate(zip(image[2:], weight[2:])):
        stride, padding, dilation, *more = (s[i] if len(s) > i else s[-1] for s in settings)
        if stride < 1:
            raise Unknown
        reach = dilation * (kernel - 1)
        made.append((length - 1) * stride - 2 * padding + reach + more[0] + 1 if transposed else
                    (length + 2 * padding - reach - 1) // stride + 1)
    groups = op.value(places[4]) if transposed else 1
    if min(made) < 0 or type(groups) is not int or groups < 1:
        raise Unknown
    channels = weight[1] * groups if transposed else weight[0]
    moved = op.bytes(0) + op.bytes(1) + image[0] * channels * math.prod(made) * op.size(0)
    flop = 2 * math.prod(weight) * image[0] * math.prod(image[2:] if transposed else made)
    return "convolution", op.type(0), flop, whole(moved)


def convolution_back(op):
    made, image, weight = op.shape(0), op.shape(1), op.shape(2)
    mask, transposed = op.value(10), op.value(7)
    if not 3 <= len(made) == len(image) == len(weight) or type(transposed) is not bool:
        raise Unknown
    if not isinstance(mask, list) or len(mask) != 3 or not all(type(m) is bool for m in mask):
        raise Unknown
    gradients, places = mask[0] + mask[1], image if transposed else made
    moved = op.bytes(0) + gradients * (op.bytes(1) + op.bytes(2))
    return "convolution", op.type(0), gradients * 2 * math.prod(weight) * places[0] * math.prod(places[2:]), whole(moved)


def broadcast(a, b):
    out = []
    for i in range(1, max(len(a), len(b)) + 1):
        x, y = a[-i] if i <= len(a) else 1, b[-i] if i <= len(b) else 1
        if x != y and 1 not in (x, y):
            raise Unknown
        out.append(y if x == 1 else x)
    return out[::-1]


def elementwise(op, name):
    count = math.prod(op.tensor(0))
    if name == "copy_":
        op.tensor(1)
        return "elementwise", op.type(0), 0, op.bytes(0) + op.bytes(1)
    moved = op.bytes(0)
    if name in BINARY and op.is_tensor(1):
        count = math.prod(broadcast(op.shape(0), op.shape(1)))
        moved += op.bytes(1)
    return "elementwise", op.type(0), count, moved + count * op.size(0)


def norm(op):
    count = math.prod(op.tensor(0))
    moved = sum(op.bytes(i) for i in range(len(op.dims)) if op.is_tensor(i))
    return "norm", op.type(0), NORM_FLOP * count, moved + op.bytes(0)


def figures(slice_):
    """(kind, dtype, FLOP, bytes) of an op; None: it is not known."""
    if not slice_.name.startswith("aten::"):
        return None
    name = slice_.name[len("aten::"):]
    plain = name[:-1] if name.endswith("_") and name != "copy_" else name
    try:
        op = Op(slice_.args)
        if name in PRODUCTS:
            return gemm(op, *PRODUCTS[name])
        if name == "_scaled_mm":
            return gemm(op, 0, 2, (6, 3))
        if name in ("_grouped_mm", "_scaled_grouped_mm"):
            return grouped_gemm(op, *((4, 2) if name == "_grouped_mm" else (7, 4)))
        if name in ATTENTION:
            return attention(op, name)
        if name in CONVOLUTIONS:
            return convolution(op, name)
        if name == "convolution_backward":
            return convolution_back(op)
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
    plain = plain_type(dtype or "")
    name = "fp8" if plain.startswith("float8") else DTYPES.get(plain)
    return "tf32" if name == "fp32" and scope.options.tf32 and kind in MODEL else name


def least_times(gpu, dtype, flop, moved):
    """ns that the peak and the memory allow; None: not known."""
    peak = gpu.get(dtype)
    return (fractions.Fraction(flop) / (peak * 1000) if peak else None if flop else 0,
            None if moved is None else fractions.Fraction(moved) / gpu["bandwidth"])


def peak_cells(gpu, dtype, flop, moved, calls, time):
    if gpu is None:
        return dict.fromkeys(("peak", "roof", "peak_share", "bound", "roofline_share"))
    peak, (compute, memory) = gpu.get(dtype), least_times(gpu, dtype, flop, moved)
    known = compute is not None and memory is not None and max(compute, memory) > 0
    least = max(compute, memory) if known else None
    return {"peak": fractions.Fraction(peak) if peak else None, "roof": flop / least / 1000 if known and flop else None,
            "peak_share": ratio(flop * calls, 1000 * time * fractions.Fraction(peak), 100) if peak else None,
            "bound": None if not known else "compute" if compute >= memory else "memory",
            "roofline_share": ratio(calls * least, time, 100) if known else None}


def mfu_rows(scope, done, gpus, known):
    """done: by (rank, step) [(flop of all calls, ns that the peak allows for them)]; known: works of known ops."""
    windows = collections.defaultdict(list)
    compute, covered = collections.Counter(), collections.Counter()
    for w in scope.works:
        if w.role == "kernel" and class_of(w) == "compute" and scope.options.has(w.start):
            key = (w.rank, scope.step_of(w))
            compute[key] += w.duration
            covered[key] += w.duration if w.index in known else 0
    for key in scope.device_keys():
        for step, window, _ in scope.windows(key):
            if spans.length(window):
                windows[key[0], step].append(spans.length(window))
    for (rank, step), list_ in done.items():
        span, flop, times = sum(windows[rank, step]), sum(f for f, _ in list_), [t for _, t in list_]
        yield {**rank_cells(scope, rank, step), "devices": len(windows[rank, step]), "span": span, "flop": flop,
               "tflops": ratio(flop, 1000 * span),
               "mfu": None if None in times or model_of(scope, rank) not in gpus else ratio(sum(times), span, 100),
               "compute_time": compute[rank, step], "coverage": ratio(covered[rank, step], compute[rank, step], 100),
               "lower_bound": 100 * covered[rank, step] < COVERAGE * compute[rank, step]}


def flops(scope):
    gpus = table_of_gpus(*scope.options.gpus)
    ops = dict((op.index, (op, said)) for op, said in known_ops(scope.trace))
    linked = [w for w in scope.works if w.launch is not None]
    around = Around([op for op, _ in ops.values()], launch_places(linked))
    times, known = collections.Counter(), set()
    for w in linked:
        for op in around.at(w.launch.row, w.launch.start):
            known.add(w.index)
            if scope.options.has(op.start):
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
                     "bandwidth": None if moved is None else ratio(moved * calls, sum(list_)),
                     "intensity": None if moved is None else ratio(flop, moved),
                     **peak_cells(gpu, peak, flop, moved, calls, sum(list_))})
        if kind in MODEL:
            least = least_times(gpu, peak, flop, moved)[0] if gpu else None
            done[rank, step].append((flop * calls, None if least is None else least * calls))
    return {"flops": ordered(rows, "time"), "mfu": ordered(list(mfu_rows(scope, done, gpus, known)))}
