"""Random operators with shapes, types and values as PyTorch's profiler writes them; some of them wrong."""
UNARY = ["pow", "neg", "silu_", "gelu", "relu", "sigmoid", "tanh_", "exp", "sqrt", "rsqrt", "cos", "sin"]
NORMS = ["native_layer_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "native_group_norm",
         "_fused_rms_norm"]
ATTENTION = {"_scaled_dot_product_flash_attention": 4, "_scaled_dot_product_efficient_attention": 6,
             "_scaled_dot_product_cudnn_attention": 6, "_flash_attention_forward": 8,
             "_scaled_dot_product_flash_attention_backward": 11,
             "_scaled_dot_product_efficient_attention_backward": 11,
             "_scaled_dot_product_cudnn_attention_backward": 14, "_flash_attention_backward": 11,
             "_efficient_attention_forward": 9, "_efficient_attention_backward": 14}
CONVOLUTIONS = {"cudnn_convolution": (3, 2, 4), "miopen_convolution": (4, 3, 5), "convolution": (3, 4, 5, 7, 8),
                "_convolution": (3, 4, 5, 7, 8), "cudnn_convolution_transpose": (4, 2, 5, 3, 6),
                "miopen_convolution_transpose": (5, 3, 6, 4, 7)}
TYPES = ["float"] * 3 + ["c10::BFloat16"] * 3 + ["c10::Half", "double", "long int", "int", "bool", "signed char",
                                                 "c10::Float8_e4m3fn", "Odd", "BFloat16", "Float", "c10::bfloat16",
                                                 "float16", "Int", "uint8", "Long"]
SIZES = [0, 1, 2, 3, 5, 7, 16, 64]


def numbers(r, count):
    return [r.choice(SIZES) for _ in range(count)]


def gemm(r):
    name = r.choice(["mm", "bmm", "addmm", "baddbmm", "_scaled_mm", "_addmm_activation", "_grouped_mm",
                     "_scaled_grouped_mm"])
    b, m, k, n = numbers(r, 4)
    batch = [b] if name in ("bmm", "baddbmm") else []
    dims, values = [batch + [m, k], batch + [k, n]], {}
    made = r.choice(["", "", "15", "6", "5", "99", "None"])
    if name in ("addmm", "_addmm_activation", "baddbmm"):
        dims = [r.choice([[n], batch + [m, n], []])] + dims + [[], []]
    elif name == "_scaled_mm":
        values = {r.choice([3, 6]): made}
    elif name == "_grouped_mm":
        dims, values = [r.choice([[], [b]]) + dims[0], r.choice([[], [b]]) + dims[1], r.choice([[b], []])], {4: made}
    elif name == "_scaled_grouped_mm":
        dims = [r.choice([[], [b]]) + dims[0], r.choice([[], [b]]) + dims[1], [m], [n], r.choice([[b], []])]
        values = {7: made}
    return name, dims, values


def attention(r):
    name = r.choice(sorted(ATTENTION))
    b, h, n_q, n_k, d = numbers(r, 5)
    n_k, h_k, d_v = r.choice([n_q, n_k]), r.choice([h, 1]), r.choice([d, d + 1])
    def shape(heads, tokens, depth):
        return [b, heads, tokens, depth] if "_dot_product_" in name else [b, tokens, heads, depth]
    dims = [shape(h, n_q, d), shape(h_k, n_k, d), shape(h_k, n_k, d_v), [], []]
    if name.endswith("backward"):
        dims.insert(0, shape(h, n_q, d_v))
    if "_efficient_attention" in name and "_dot_product_" not in name and r.random() < 0.2:
        dims += [[], [3]] if name.endswith("backward") else []
        dims[6 if name.endswith("backward") else 4] = [3]
    number = name in ("_efficient_attention_forward", "_efficient_attention_backward")
    return name, dims, {ATTENTION[name]: r.choice(["0", "1", "2", "True"] if number else
                                                  ["True", "True", "False", "False", "None", "0", ""])}


def settings(r, rank):
    return str([r.choice([1, 1, 2, 3]) for _ in range(r.choice([rank, rank, 1]))])


def convolution(r):
    name, rank = r.choice(sorted(CONVOLUTIONS)), r.choice([1, 2, 2, 3])
    image = [r.choice([1, 4]), 3] + [r.choice([2, 7, 16, 33]) for _ in range(rank)]
    weight = [8, r.choice([3, 1])] + [r.choice([1, 2, 3, 9]) for _ in range(rank)]
    values = {at: settings(r, rank) for at in CONVOLUTIONS[name][:4]}
    if name.endswith("transpose") or len(CONVOLUTIONS[name]) == 5:
        values[CONVOLUTIONS[name][4]] = r.choice(["1", "1", "3", "0", ""])
    if name.endswith("n_convolution") or name == "convolution" or name == "_convolution":
        values[6] = r.choice(["False", "False", "True", "True", ""])
    if r.random() < 0.1:
        values[r.choice(CONVOLUTIONS[name])] = r.choice(["", "[]", "[0]", "[-1, -1]", "3", "[1, x]", "[1, 2"])
    return name, [image, weight, [8], [], [], [], []], values


def convolution_back(r):
    rank = r.choice([1, 2, 2, 3])
    made, image = ([r.choice([1, 4]), c] + [r.choice([0, 2, 7, 16]) for _ in range(rank)] for c in (8, 3))
    weight = [8, r.choice([3, 1])] + [r.choice([1, 2, 3]) for _ in range(rank)]
    mask = r.choice(["[True, True, True]", "[True, True, False]", "[False, True, True]", "[True, False, False]",
                     "[False, False, True]", "", "[True]"])
    return "convolution_backward", [made, image, weight, [], [], [], [], [], [], [], []], {
        7: r.choice(["False", "False", "True", ""]), 10: mask}


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
    name, dims, values = r.choice([gemm, gemm, attention, convolution, convolution_back, two, one, norm])(r)
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
