"""Random operators with shapes, types and values as PyTorch's profiler writes them; some of them wrong."""
UNARY = ["pow", "neg", "silu_", "gelu", "relu", "sigmoid", "tanh_", "exp", "sqrt", "rsqrt", "cos", "sin"]
NORMS = ["native_layer_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "native_group_norm",
         "_fused_rms_norm"]
ATTENTION = {"_scaled_dot_product_flash_attention": 4, "_scaled_dot_product_efficient_attention": 6,
             "_scaled_dot_product_cudnn_attention": 6, "_flash_attention_forward": 8}
CONVOLUTIONS = {"cudnn_convolution": (3, 2, 4), "miopen_convolution": (4, 3, 5), "convolution": (3, 4, 5),
                "_convolution": (3, 4, 5)}
TYPES = ["float"] * 3 + ["c10::BFloat16"] * 3 + ["c10::Half", "double", "long int", "int", "bool", "signed char",
                                                 "c10::Float8_e4m3fn", "Odd"]
SIZES = [0, 1, 2, 3, 5, 7, 16, 64]


def numbers(r, count):
    return [r.choice(SIZES) for _ in range(count)]


def gemm(r):
    name = r.choice(["mm", "bmm", "addmm", "baddbmm"])
    b, m, k, n = numbers(r, 4)
    batch = [b] if "b" in name[:4] and name != "addmm" else []
    dims = [batch + [m, k], batch + [k, n]]
    if name.endswith("addmm") or name == "baddbmm":
        dims = [r.choice([[n], batch + [m, n], []])] + dims + [[], []]
    return name, dims, {}


def attention(r):
    name = r.choice(sorted(ATTENTION))
    b, h, n_q, n_k, d = numbers(r, 5)
    n_k, h_k, d_v = r.choice([n_q, n_k]), r.choice([h, 1]), r.choice([d, d + 1])
    first, rest = ([b, n_q, h, d], [b, n_k, h_k]) if name == "_flash_attention_forward" else (
        [b, h, n_q, d], [b, h_k, n_k])
    return name, [first, rest + [d], rest + [d_v], [], []], {
        ATTENTION[name]: r.choice(["True", "True", "False", "False", "None", "0", ""])}


def settings(r, rank):
    return str([r.choice([1, 1, 2, 3]) for _ in range(r.choice([rank, rank, 1]))])


def convolution(r):
    name, rank = r.choice(sorted(CONVOLUTIONS)), r.choice([1, 2, 2, 3])
    image = [r.choice([1, 4]), 3] + [r.choice([2, 7, 16, 33]) for _ in range(rank)]
    weight = [8, r.choice([3, 1])] + [r.choice([1, 2, 3, 9]) for _ in range(rank)]
    values = {at: settings(r, rank) for at in CONVOLUTIONS[name]}
    if not name.endswith("n_convolution"):
        values[6] = r.choice(["False", "False", "False", "True", ""])
    if r.random() < 0.1:
        values[r.choice(CONVOLUTIONS[name])] = r.choice(["", "[]", "[0]", "[-1, -1]", "3", "[1, x]", "[1, 2"])
    return name, [image, weight, [8], [], [], [], []], values


def two(r):
    shape = numbers(r, r.randint(0, 3))
    other = [n if r.random() < 0.8 else 1 for n in shape[r.randint(0, len(shape)):]]
    return r.choice(["add", "add_", "sub", "mul_", "mul", "div", "copy_"]), [shape, other, []], {}


def one(r):
    return r.choice(UNARY), [numbers(r, r.randint(0, 4)), []], {}


def norm(r):
    shape = numbers(r, r.randint(1, 4))
    return r.choice(NORMS), [shape, shape[1:2], shape[1:2], [], [[2, 3], [4]]], {}


def operator(r):
    """Name and arguments."""
    name, dims, values = r.choice([gemm, attention, convolution, two, one, norm])(r)
    types = [r.choice(TYPES)] * len(dims)
    types = [t if r.random() < 0.9 else r.choice(["Scalar", "", "float", "TensorList"]) for t in types]
    fault = r.random()
    if fault < 0.05:
        dims.pop(r.randrange(len(dims)))
    elif fault < 0.1:
        dims[r.randrange(len(dims))] = r.choice([[-1], [2, 3, 4], "x", None, [1.5], [[1]], [True]])
    elif fault < 0.13:
        types.pop()
    args = {"Input Dims": dims, "Input type": types,
            "Concrete Inputs": [values.get(i, "") for i in range(max([len(dims)] + [at + 1 for at in values]))]}
    if fault > 0.97:
        del args[r.choice(sorted(args))]
    return "aten::" + name, args
