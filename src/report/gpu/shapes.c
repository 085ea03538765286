/* shapes.c - FLOP and bytes of an operator, from the shapes of its inputs */
#include "report/gpu/shapes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json/json.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "trace/text.h"

const char *const gpu_shape_kind_names[GPU_SHAPE_KINDS] = {"gemm",        "attention", "convolution",
                                                           "elementwise", "norm",      "custom"};

enum { NO_SHAPE_RANK = -1, NORM_FLOP = 5, NOT_KNOWN = -1 };
#define NO_RANK SIZE_MAX

/* ---- arguments ---- */

typedef struct gpu_shape_input input;

static input *input_at(gpu_shapes *s, size_t i)
{
    while (s->count <= i) {
        if (!hd_grow((void **)&s->inputs, &s->capacity, s->count, sizeof *s->inputs)) return NULL;
        s->inputs[s->count++] = (input){.rank = NO_RANK, .bytes = NOT_KNOWN};
    }
    return &s->inputs[i];
}

static bool add_size(gpu_shapes *s, int64_t size)
{
    if (!hd_grow((void **)&s->sizes, &s->size_capacity, s->size_count, sizeof *s->sizes)) return false;
    s->sizes[s->size_count++] = size;
    return true;
}

/* A list of nonnegative integers is the shape of an input. Anything else is none. */
static bool read_shape(gpu_shapes *s, input *in, const char *p)
{
    size_t first = s->size_count;
    if (*p != '[') return true;
    p = hd_json_skip_space(p + 1);
    while (*p != ']') {
        hd_json_number number;
        p = hd_json_is_digit(*p) ? hd_json_scan_number(&number, p) : NULL;
        if (!p || !number.exact || number.scale || number.mantissa > INT64_MAX) return true;
        if (!add_size(s, (int64_t)number.mantissa)) return false;
        p = hd_json_skip_space(p);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    in->first = first;
    in->rank = s->size_count - first;
    return true;
}

static hd_string string_at(const char *p)
{
    hd_json_text text;
    if (*p != '"' || !hd_json_string(&text, p + 1) || text.escaped) return (hd_string){NULL, 0};
    return (hd_string){text.data, text.size};
}

/* PyTorch writes types of tensors in C++ form, "float", "c10::BFloat16"; others "BFloat16", "bfloat16", "Float". */
static const struct element {
    const char *name; /* in lower case, without "c10::"; with begins_so a prefix */
    int bytes;
    report_dtype dtype;
    bool begins_so;
} elements[] = {{"float", 4, REPORT_FP32},      {"float32", 4, REPORT_FP32},     {"double", 8, REPORT_FP64},
                {"float64", 8, REPORT_FP64},    {"bfloat16", 2, REPORT_BF16},    {"half", 2, REPORT_FP16},
                {"float16", 2, REPORT_FP16},    {"signed char", 1, REPORT_INT8}, {"unsigned char", 1, REPORT_INT8},
                {"char", 1, REPORT_INT8},       {"byte", 1, REPORT_INT8},        {"int8", 1, REPORT_INT8},
                {"uint8", 1, REPORT_INT8},      {"long int", 8, REPORT_DTYPES},  {"long", 8, REPORT_DTYPES},
                {"int64", 8, REPORT_DTYPES},    {"int", 4, REPORT_DTYPES},       {"int32", 4, REPORT_DTYPES},
                {"short", 2, REPORT_DTYPES},    {"int16", 2, REPORT_DTYPES},     {"bool", 1, REPORT_DTYPES},
                {"float8", 1, REPORT_FP8, true}};

/* *is_plain: in a form used only for types of tensors; "Int" and "Double" are also those of scalars. NULL: none. */
static const struct element *element_of(bool *is_plain, hd_string type)
{
    static const char space[] = "c10::";
    char text[32];
    size_t skip =
        type.size >= sizeof space - 1 && memcmp(type.data, space, sizeof space - 1) == 0 ? sizeof space - 1 : 0;
    size_t size = type.size - skip;
    if (!type.size || size >= sizeof text) return NULL;
    *is_plain = skip > 0;
    for (size_t i = 0; i < size; i++) text[i] = type.data[skip + i];
    text[size] = '\0';
    bool has_capital = strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL;
    *is_plain |= !has_capital;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        const struct element *e = &elements[i];
        if (e->begins_so ? strncasecmp(text, e->name, strlen(e->name)) == 0 : strcasecmp(text, e->name) == 0) return e;
    }
    return NULL;
}

report_dtype gpu_shapes_dtype(hd_string type)
{
    bool is_plain;
    const struct element *e = element_of(&is_plain, type);
    return e ? e->dtype : REPORT_DTYPES;
}

/* NOT_KNOWN: it is of no type that tensors have. */
static int64_t bytes_of_type(const input *in)
{
    bool is_plain;
    const struct element *e = element_of(&is_plain, in->type);
    bool is_tensor = e && (is_plain || (in->rank != NO_RANK && in->rank > 0));
    return is_tensor ? e->bytes : NOT_KNOWN;
}

enum { SHAPES, TYPES, VALUES, LISTS };

static bool read_item(gpu_shapes *s, int list, size_t index, const char *p)
{
    input *in = input_at(s, index);
    if (!in) return false;
    if (list == SHAPES) return read_shape(s, in, p);
    if (list == VALUES) {
        in->value = string_at(p);
        return true;
    }
    in->type = string_at(p);
    in->bytes = bytes_of_type(in);
    return true;
}

/* *has: it is a list. */
static bool read_list(bool *has, gpu_shapes *s, int list, const char *p)
{
    p = hd_json_skip_space(p);
    *has = *p == '[';
    if (!*has) return true;
    p = hd_json_skip_space(p + 1);
    for (size_t i = 0; *p && *p != ']'; i++) {
        const char *end = hd_json_skip_value(p);
        if (!end) return !(*has = false);
        if (!read_item(s, list, i, p)) return false;
        p = hd_json_skip_space(end);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return true;
}

/* All lists, of padded copies. *has: shapes are there. */
static bool read_inputs(bool *has, gpu_shapes *s, const hd_string *texts)
{
    size_t size = 0, at = 0;
    bool is_there[LISTS];
    s->count = s->size_count = 0;
    for (int i = 0; i < LISTS; i++) size += texts[i].size + HD_JSON_PADDING;
    if (!hd_reserve(&s->texts, &s->text_capacity, size)) return false;
    for (int i = 0; i < LISTS; i++) {
        if (texts[i].size) memcpy(s->texts + at, texts[i].data, texts[i].size);
        memset(s->texts + at + texts[i].size, 0, HD_JSON_PADDING);
        if (!read_list(&is_there[i], s, i, s->texts + at)) return false;
        at += texts[i].size + HD_JSON_PADDING;
    }
    *has = is_there[SHAPES];
    return true;
}

/* ---- sums that stop at the greatest, and are NOT_KNOWN if a part is ---- */

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    if (a < 0 || b < 0) return NOT_KNOWN;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    if (a < 0 || b < 0) return NOT_KNOWN;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* NULL: no such input, or it has another rank. rank NO_SHAPE_RANK: any. */
static const int64_t *shape_of(size_t *out_rank, const gpu_shapes *s, size_t i, int rank)
{
    if (i >= s->count || s->inputs[i].rank == NO_RANK) return NULL;
    if (rank >= 0 && s->inputs[i].rank != (size_t)rank) return NULL;
    if (out_rank) *out_rank = s->inputs[i].rank;
    static const int64_t none[1];
    return s->inputs[i].rank ? s->sizes + s->inputs[i].first : none;
}

static int64_t product(const int64_t *sizes, size_t count)
{
    int64_t all = 1;
    for (size_t i = 0; i < count; i++) {
        if (!sizes[i]) return 0;
    }
    for (size_t i = 0; i < count; i++) all = times(all, sizes[i]);
    return all;
}

static bool is_tensor(const gpu_shapes *s, size_t i)
{
    return i < s->count && s->inputs[i].rank != NO_RANK && s->inputs[i].bytes > 0;
}

/* Of a shape. */
static int64_t elements_of(const gpu_shapes *s, size_t i)
{
    return product(shape_of(NULL, s, i, NO_SHAPE_RANK), s->inputs[i].rank);
}

static int64_t bytes_of(const gpu_shapes *s, size_t i)
{
    return times(elements_of(s, i), s->inputs[i].bytes);
}

/* ---- operators ---- */

typedef enum form {
    MM,
    BMM,
    ADDMM,
    BADDBMM,
    GROUPED_MM,
    ATTEND, /* batch, heads, tokens */
    ATTEND_BACK,
    ATTEND_TOKENS, /* batch, tokens, heads */
    ATTEND_TOKENS_BACK,
    CONVOLVE,
    CONVOLVE_ANY, /* transposed or not */
    CONVOLVE_TRANSPOSED,
    CONVOLVE_BACK,
    ONE,
    TWO,
    COPY,
    NORM
} form;

enum { CONVOLVE_DIMENSIONS = 8 };

static const struct known {
    const char *name;
    form form;
    /* Indices in Concrete Inputs. gemm: those that give the type of the result; grouped: that, 0, the groups' ends.
     * Attention: causal; the ends of packed sequences, if possible: then causal is a number. Convolution: stride,
     * padding, dilation, output padding, groups. */
    size_t at[5];
} names[] = {
    {"mm", MM},
    {"bmm", BMM},
    {"addmm", ADDMM},
    {"_addmm_activation", ADDMM},
    {"baddbmm", BADDBMM},
    {"_scaled_mm", MM, {6, 3}}, /* 3: of PyTorch up to 2.3 */
    {"_grouped_mm", GROUPED_MM, {4, 0, 2}},
    {"_scaled_grouped_mm", GROUPED_MM, {7, 0, 4}},
    {"_scaled_dot_product_flash_attention", ATTEND, {4}},
    {"_scaled_dot_product_efficient_attention", ATTEND, {6}},
    {"_scaled_dot_product_cudnn_attention", ATTEND, {6}},
    {"_flash_attention_forward", ATTEND_TOKENS, {8}},
    {"_efficient_attention_forward", ATTEND_TOKENS, {9, 4}},
    {"_scaled_dot_product_flash_attention_backward", ATTEND_BACK, {11}},
    {"_scaled_dot_product_efficient_attention_backward", ATTEND_BACK, {11}},
    {"_scaled_dot_product_cudnn_attention_backward", ATTEND_BACK, {14}},
    {"_flash_attention_backward", ATTEND_TOKENS_BACK, {11}},
    {"_efficient_attention_backward", ATTEND_TOKENS_BACK, {14, 6}},
    {"cudnn_convolution", CONVOLVE, {3, 2, 4}},
    {"miopen_convolution", CONVOLVE, {4, 3, 5}},
    {"convolution", CONVOLVE_ANY, {3, 4, 5, 7, 8}},
    {"_convolution", CONVOLVE_ANY, {3, 4, 5, 7, 8}},
    {"cudnn_convolution_transpose", CONVOLVE_TRANSPOSED, {4, 2, 5, 3, 6}},
    {"miopen_convolution_transpose", CONVOLVE_TRANSPOSED, {5, 3, 6, 4, 7}},
    {"convolution_backward", CONVOLVE_BACK},
    {"native_layer_norm", NORM},
    {"native_batch_norm", NORM},
    {"cudnn_batch_norm", NORM},
    {"miopen_batch_norm", NORM},
    {"native_group_norm", NORM},
    {"_fused_rms_norm", NORM},
    {"copy_", COPY},
    {"pow", ONE},
    {"neg", ONE},
    {"silu", ONE},
    {"gelu", ONE},
    {"relu", ONE},
    {"sigmoid", ONE},
    {"tanh", ONE},
    {"exp", ONE},
    {"sqrt", ONE},
    {"rsqrt", ONE},
    {"cos", ONE},
    {"sin", ONE},
    {"add", TWO},
    {"sub", TWO},
    {"mul", TWO},
    {"div", TWO},
};

/* ---- kinds of operators ---- */

static hd_string value_of(const gpu_shapes *s, size_t i)
{
    return i < s->count ? s->inputs[i].value : (hd_string){NULL, 0};
}

/* Element size of the result of a matrix product: by the first of these arguments that is a number, c10::ScalarType,
 * else that of its first matrix. at: ends with 0. */
static int64_t made_bytes(const gpu_shapes *s, size_t first, const size_t *at)
{
    static const struct {
        int64_t type;
        int bytes;
    } types[] = {{3, 4}, {5, 2}, {6, 4}, {7, 8}, {15, 2}, {23, 1}, {24, 1}, {25, 1}, {26, 1}};
    int64_t number;
    for (; *at; at++) {
        hd_string value = value_of(s, *at);
        if (!value.size || !hd_fixed_parse_whole(&number, value.data, value.size)) continue;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            if (types[i].type == number) return types[i].bytes;
        }
        return NOT_KNOWN;
    }
    return s->inputs[first].bytes;
}

/* first: 1 if a bias precedes the matrices. made: of made_bytes. */
static bool find_gemm(gpu_shape_figures *out, const gpu_shapes *s, size_t first, int rank, const size_t *made)
{
    const int64_t *a = shape_of(NULL, s, first, rank), *b = shape_of(NULL, s, first + 1, rank);
    if (!a || !b || (first && !shape_of(NULL, s, 0, NO_SHAPE_RANK))) return false;
    int64_t batch = rank == 3 ? *a++ : 1;
    if (rank == 3 && *b++ != batch) return false;
    if (a[1] != b[0]) return false;
    int64_t mn = times(a[0], b[1]), k = a[1];
    int64_t moved =
        plus(plus(times(times(a[0], k), s->inputs[first].bytes), times(times(k, b[1]), s->inputs[first + 1].bytes)),
             times(mn, made_bytes(s, first, made)));
    out->flop = times(times(times(2, mn), k), batch);
    out->m = a[0], out->n = b[1], out->k = k;
    out->bytes = times(batch, moved);
    if (first) {
        out->flop = plus(out->flop, times(mn, batch));
        out->bytes = plus(out->bytes, bytes_of(s, 0));
    }
    out->dtype = s->inputs[first].type;
    return true;
}

/* Products of several sizes at once: groups split the rows of the first matrix (with one second matrix each), the
 * columns of the second, or the summed dimension. Shapes do not give the end of the last group: everything is
 * counted. */
static bool find_grouped_gemm(gpu_shape_figures *out, const gpu_shapes *s, const size_t *made, size_t offsets)
{
    size_t a_rank = 0, b_rank = 0;
    const int64_t *a = shape_of(&a_rank, s, 0, NO_SHAPE_RANK), *b = shape_of(&b_rank, s, 1, NO_SHAPE_RANK);
    if (!a || !b || a_rank < 2 || a_rank > 3 || b_rank < 2 || b_rank > 3) return false;
    if (a_rank == 3 && b_rank == 3) return find_gemm(out, s, 0, 3, made);
    int64_t m = a[a_rank - 2], k = a[a_rank - 1], n = b[b_rank - 1];
    if (b[b_rank - 2] != k) return false;
    const int64_t *ends = shape_of(NULL, s, offsets, 1);
    int64_t products = a_rank == b_rank ? ends ? *ends : NOT_KNOWN : 1;
    out->flop = times(times(times(2, m), n), k);
    out->bytes =
        plus(plus(bytes_of(s, 0), bytes_of(s, 1)), times(times(times(m, n), products), made_bytes(s, 0, made)));
    return true;
}

/* true and false in Python's form, or any other value. false: absent. */
static bool read_flag(bool *is_true, const gpu_shapes *s, size_t i)
{
    hd_string value = value_of(s, i);
    if (!value.size) return false;
    *is_true = hd_string_is(value, "True");
    return *is_true || hd_string_is(value, "False") || hd_string_is(value, "None") || hd_json_is_digit(value.data[0]) ||
           value.data[0] == '-';
}

/* Whether attention is causal; `type`: given by a number, where 0 means no. false: unknown. */
static bool read_causal(bool *is_causal, const gpu_shapes *s, size_t at, bool type)
{
    int64_t number;
    hd_string value = value_of(s, at);
    if (!type) return read_flag(is_causal, s, at);
    if (!value.size || !hd_fixed_parse_whole(&number, value.data, value.size)) return false;
    *is_causal = number != 0;
    return true;
}

/* Forward two products, of queries and keys, and of that and the values. Backward five: the former again, and two for
 * the gradients of each. */
static bool find_attention(gpu_shape_figures *out, const gpu_shapes *s, const struct known *op)
{
    const bool is_back = op->form == ATTEND_BACK || op->form == ATTEND_TOKENS_BACK;
    const bool tokens_first = op->form == ATTEND_TOKENS || op->form == ATTEND_TOKENS_BACK;
    const size_t first = is_back, heads = tokens_first ? 2 : 1, tokens = tokens_first ? 1 : 2, packed = op->at[1];
    const int64_t *q = shape_of(NULL, s, first, 4), *k = shape_of(NULL, s, first + 1, 4);
    const int64_t *v = shape_of(NULL, s, first + 2, 4);
    bool causal;
    if (!q || !k || !v || !read_causal(&causal, s, op->at[0], packed)) return false;
    if (packed && shape_of(NULL, s, packed, 1)) return false; /* packed sequences of any lengths */
    int64_t rows = times(times(q[0], q[heads]), q[tokens]), pairs = times(rows, k[tokens]);
    int64_t made = times(times(rows, v[3]), s->inputs[first].bytes);
    int64_t read = plus(plus(bytes_of(s, first), bytes_of(s, first + 1)), bytes_of(s, first + 2));
    int64_t depth = is_back ? plus(times(3, q[3]), times(2, v[3])) : plus(q[3], v[3]);
    out->flop = times(times(2, pairs), depth);
    if (causal && q[tokens] == k[tokens]) out->flop /= 2;
    out->bytes = is_back ? times(2, plus(read, made)) : plus(read, made);
    return true;
}

/* Element `at` of a list or tuple of integers in Python's form, of a shorter list the last. false: not a list. */
static bool read_setting(int64_t *out, const gpu_shapes *s, size_t i, size_t at)
{
    hd_string value = value_of(s, i);
    size_t count = 0, k = 1;
    if (value.size < 3 || (value.data[0] != '[' && value.data[0] != '(')) return false;
    if (value.data[value.size - 1] != (value.data[0] == '[' ? ']' : ')')) return false;
    while (value.data[k] == ' ') k++;
    while (k < value.size - 1) {
        bool negative = value.data[k] == '-';
        int64_t number = 0;
        size_t digits = k += negative;
        for (; hd_json_is_digit(value.data[k]); k++) number = plus(times(number, 10), value.data[k] - '0');
        if (k == digits) return false;
        if (count++ <= at) *out = negative ? -number : number;
        while (value.data[k] == ' ') k++;
        if (value.data[k] == ',')
            for (k++; value.data[k] == ' ';) k++;
        else if (k < value.size - 1)
            return false;
    }
    return count > 0;
}

/* The output size of a convolution in one dimension; negative: none. */
static bool output_size(int64_t *out, const gpu_shapes *s, const size_t *settings, size_t at, int64_t size,
                        int64_t kernel)
{
    int64_t stride, padding, dilation, reach;
    if (!read_setting(&stride, s, settings[0], at) || !read_setting(&padding, s, settings[1], at) ||
        !read_setting(&dilation, s, settings[2], at) || stride < 1 || __builtin_mul_overflow(padding, 2, &padding) ||
        __builtin_add_overflow(size, padding, &size) || __builtin_mul_overflow(dilation, kernel - 1, &reach) ||
        __builtin_sub_overflow(size - 1, reach, &size))
        return false;
    *out = size / stride - (size % stride < 0);
    return !__builtin_add_overflow(*out, 1, out);
}

/* The same of one that is transposed. */
static bool transposed_size(int64_t *out, const gpu_shapes *s, const size_t *settings, size_t at, int64_t size,
                            int64_t kernel)
{
    int64_t stride, padding, dilation, more, reach;
    if (!read_setting(&stride, s, settings[0], at) || !read_setting(&padding, s, settings[1], at) ||
        !read_setting(&dilation, s, settings[2], at) || !read_setting(&more, s, settings[3], at) || stride < 1 ||
        __builtin_mul_overflow(size - 1, stride, &size) || __builtin_mul_overflow(padding, -2, &padding) ||
        __builtin_mul_overflow(dilation, kernel - 1, &reach))
        return false;
    return !__builtin_add_overflow(size, padding, &size) && !__builtin_add_overflow(size, reach, &size) &&
           !__builtin_add_overflow(more, 1, &more) && !__builtin_add_overflow(size, more, out);
}

/* Each output element (or input element, if transposed) is multiplied with each filter element. */
static int64_t convolution_flop(const int64_t *weight, size_t rank, int64_t batch, const int64_t *places)
{
    return times(times(times(2, product(weight, rank)), batch), product(places, rank - 2));
}

static bool find_convolution(gpu_shape_figures *out, const gpu_shapes *s, const struct known *op)
{
    size_t rank = 0, weight_rank = 0;
    const int64_t *image = shape_of(&rank, s, 0, NO_SHAPE_RANK), *weight = shape_of(&weight_rank, s, 1, NO_SHAPE_RANK);
    bool is_transposed = op->form == CONVOLVE_TRANSPOSED;
    int64_t places[CONVOLVE_DIMENSIONS], groups = 1;
    if (!image || !weight || rank < 3 || rank != weight_rank || rank - 2 > CONVOLVE_DIMENSIONS) return false;
    if (op->form == CONVOLVE_ANY) {
        is_transposed = hd_string_is(value_of(s, 6), "True");
        if (!is_transposed && !hd_string_is(value_of(s, 6), "False")) return false;
    }
    hd_string of = value_of(s, op->at[4]);
    if (is_transposed && (!of.size || !hd_fixed_parse_whole(&groups, of.data, of.size) || groups < 1)) return false;
    for (size_t i = 2; i < rank; i++) {
        bool fine = is_transposed ? transposed_size(&places[i - 2], s, op->at, i - 2, image[i], weight[i])
                                  : output_size(&places[i - 2], s, op->at, i - 2, image[i], weight[i]);
        if (!fine || places[i - 2] < 0) return false;
    }
    int64_t channels = is_transposed ? times(weight[1], groups) : weight[0];
    int64_t made = times(times(image[0], channels), product(places, rank - 2));
    out->flop = convolution_flop(weight, rank, image[0], is_transposed ? image + 2 : places);
    out->bytes = plus(plus(bytes_of(s, 0), bytes_of(s, 1)), times(made, s->inputs[0].bytes));
    return true;
}

/* How many of the first two of a list of True and False are True; NOT_KNOWN: it is none. */
static int64_t asked_gradients(hd_string mask)
{
    static const char *const masks[][2] = {
        {"[True, True, ", "2"}, {"[True, False, ", "1"}, {"[False, True, ", "1"}, {"[False, False, ", "0"}};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        size_t size = strlen(masks[i][0]);
        if (mask.size > size && memcmp(mask.data, masks[i][0], size) == 0) return masks[i][1][0] - '0';
    }
    return NOT_KNOWN;
}

/* The gradients of input and filters cost as much as the convolution each; that of the bias is not counted. */
static bool find_convolution_back(gpu_shape_figures *out, const gpu_shapes *s)
{
    enum { MADE, IMAGE, WEIGHT, TRANSPOSED = 7, MASK = 10 };
    size_t rank = 0, image_rank = 0, weight_rank = 0;
    const int64_t *made = shape_of(&rank, s, MADE, NO_SHAPE_RANK);
    const int64_t *image = shape_of(&image_rank, s, IMAGE, NO_SHAPE_RANK);
    const int64_t *weight = shape_of(&weight_rank, s, WEIGHT, NO_SHAPE_RANK);
    bool is_transposed = hd_string_is(value_of(s, TRANSPOSED), "True");
    int64_t gradients = asked_gradients(value_of(s, MASK));
    if (!made || !image || !weight || rank < 3 || rank != image_rank || rank != weight_rank || gradients < 0 ||
        (!is_transposed && !hd_string_is(value_of(s, TRANSPOSED), "False")))
        return false;
    const int64_t *places = is_transposed ? image : made;
    out->flop = times(gradients, convolution_flop(weight, rank, places[0], places + 2));
    out->bytes = plus(bytes_of(s, MADE), times(gradients, plus(bytes_of(s, IMAGE), bytes_of(s, WEIGHT))));
    return true;
}

/* Elements of two shapes broadcast; false: they do not fit. */
static bool broadcast(int64_t *out, const gpu_shapes *s)
{
    size_t x_rank, y_rank;
    const int64_t *x = shape_of(&x_rank, s, 0, NO_SHAPE_RANK), *y = shape_of(&y_rank, s, 1, NO_SHAPE_RANK);
    size_t rank = x_rank > y_rank ? x_rank : y_rank;
    bool empty = false;
    *out = 1;
    for (size_t i = 1; i <= rank; i++) {
        int64_t a = i <= x_rank ? x[x_rank - i] : 1, b = i <= y_rank ? y[y_rank - i] : 1;
        if (a != b && a != 1 && b != 1) return false;
        int64_t size = a == 1 ? b : a;
        empty |= !size;
        *out = times(*out, size);
    }
    if (empty) *out = 0;
    return true;
}

static bool find_elementwise(gpu_shape_figures *out, const gpu_shapes *s, bool of_two)
{
    if (!is_tensor(s, 0)) return false;
    int64_t count = elements_of(s, 0), moved = bytes_of(s, 0);
    if (of_two && is_tensor(s, 1)) {
        if (!broadcast(&count, s)) return false;
        moved = plus(moved, bytes_of(s, 1));
    }
    out->flop = count;
    out->bytes = plus(moved, times(count, s->inputs[0].bytes));
    return true;
}

static bool find_copy(gpu_shape_figures *out, const gpu_shapes *s)
{
    if (!is_tensor(s, 0) || !is_tensor(s, 1)) return false;
    out->flop = 0;
    out->bytes = plus(bytes_of(s, 0), bytes_of(s, 1));
    return true;
}

static bool find_norm(gpu_shape_figures *out, const gpu_shapes *s)
{
    if (!is_tensor(s, 0)) return false;
    out->flop = times(NORM_FLOP, elements_of(s, 0));
    out->bytes = bytes_of(s, 0);
    for (size_t i = 0; i < s->count; i++) {
        if (is_tensor(s, i)) out->bytes = plus(out->bytes, bytes_of(s, i));
    }
    return true;
}

/* ---- by name ---- */

/* In place, an elementwise operator has a `_` behind its name. */
static const struct known *known_of(hd_string name)
{
    static const char space[] = "aten::";
    size_t size = sizeof space - 1;
    if (name.size <= size || memcmp(name.data, space, size) != 0) return NULL;
    hd_string plain = {name.data + size, name.size - size};
    hd_string stem = {plain.data, plain.size - (plain.data[plain.size - 1] == '_')};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool elementwise = names[i].form == ONE || names[i].form == TWO;
        if (hd_string_is(elementwise ? stem : plain, names[i].name)) return &names[i];
    }
    return NULL;
}

bool gpu_shapes_know(hd_string name)
{
    return known_of(name) || own_ops_know(name);
}

static bool find(gpu_shape_figures *out, const gpu_shapes *s, const struct known *op)
{
    out->kind = op->form <= GROUPED_MM           ? GPU_GEMM
                : op->form <= ATTEND_TOKENS_BACK ? GPU_ATTENTION
                : op->form <= CONVOLVE_BACK      ? GPU_CONVOLUTION
                : op->form <= COPY               ? GPU_ELEMENTWISE
                                                 : GPU_NORM;
    out->dtype = s->count ? s->inputs[0].type : (hd_string){NULL, 0};
    switch (op->form) {
    case MM:
    case BMM: return find_gemm(out, s, 0, op->form == BMM ? 3 : 2, op->at);
    case ADDMM:
    case BADDBMM: return find_gemm(out, s, 1, op->form == BADDBMM ? 3 : 2, op->at);
    case GROUPED_MM: return find_grouped_gemm(out, s, op->at, op->at[2]);
    case ATTEND:
    case ATTEND_BACK:
    case ATTEND_TOKENS:
    case ATTEND_TOKENS_BACK: return find_attention(out, s, op);
    case CONVOLVE:
    case CONVOLVE_ANY:
    case CONVOLVE_TRANSPOSED: return find_convolution(out, s, op);
    case CONVOLVE_BACK: return find_convolution_back(out, s);
    case ONE:
    case TWO: return find_elementwise(out, s, op->form == TWO);
    case COPY: return find_copy(out, s);
    default: return find_norm(out, s);
    }
}

bool gpu_shapes_find(bool *known, gpu_shape_figures *out, gpu_shapes *s, hd_string name, hd_string dims,
                     hd_string types, hd_string values)
{
    const hd_string texts[LISTS] = {dims, types, values};
    const struct known *op = known_of(name);
    bool is_own = own_ops_know(name);
    *known = false;
    if (!op && !is_own) return true;
    if (!read_inputs(known, s, texts)) return false;
    *known = *known && ((is_own && own_ops_find(out, s, name)) || (op && find(out, s, op)));
    return true;
}

void gpu_shapes_deinit(gpu_shapes *s)
{
    free(s->inputs);
    free(s->sizes);
    free(s->texts);
    *s = (gpu_shapes){0};
}
