/* shapes.c - what an operator computes and moves, by the shapes of its inputs */
#include "report/gpu/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/memory/vector.h"

const char *const gpu_shape_kind_names[GPU_SHAPE_KINDS] = {"gemm", "attention", "convolution", "elementwise", "norm"};

enum { NO_SHAPE_RANK = -1, NORM_FLOP = 5 };
#define NO_RANK SIZE_MAX

/* ---- arguments ---- */

typedef struct gpu_shape_input input;

static input *input_at(gpu_shapes *s, size_t i)
{
    while (s->count <= i) {
        if (!hd_grow((void **)&s->inputs, &s->capacity, s->count, sizeof *s->inputs)) return NULL;
        s->inputs[s->count++] = (input){.rank = NO_RANK};
    }
    return &s->inputs[i];
}

static bool add_size(gpu_shapes *s, int64_t size)
{
    if (!hd_grow((void **)&s->sizes, &s->size_capacity, s->size_count, sizeof *s->sizes)) return false;
    s->sizes[s->size_count++] = size;
    return true;
}

/* A list of whole numbers of 0 and more becomes the shape of an input. Anything else is none. */
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

static bool is_text(hd_string text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static unsigned type_bytes(hd_string type)
{
    static const struct type {
        const char *name;
        unsigned bytes;
    } types[] = {{"float", 4},       {"c10::BFloat16", 2}, {"c10::Half", 2}, {"double", 8},
                 {"long int", 8},    {"long", 8},          {"int", 4},       {"short", 2},
                 {"signed char", 1}, {"unsigned char", 1}, {"bool", 1}};
    static const char narrow[] = "c10::Float8";
    if (type.size >= sizeof narrow - 1 && memcmp(type.data, narrow, sizeof narrow - 1) == 0) return 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (is_text(type, types[i].name)) return types[i].bytes;
    }
    return 0;
}

enum { SHAPES, TYPES, VALUES, LISTS };

static bool read_item(gpu_shapes *s, int list, size_t index, const char *p)
{
    input *in = input_at(s, index);
    if (!in) return false;
    if (list == SHAPES) return read_shape(s, in, p);
    if (list == VALUES)
        in->value = string_at(p);
    else
        in->bytes = type_bytes(in->type = string_at(p));
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

/* All lists, of padded copies. *has: those that all figures need are there. */
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
    *has = is_there[SHAPES] && is_there[TYPES];
    return true;
}

/* ---- sums that stop at the greatest ---- */

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* NULL: there is no such input, or it is of another rank. rank NO_SHAPE_RANK: any. */
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
    return i < s->count && s->inputs[i].rank != NO_RANK && s->inputs[i].bytes;
}

/* Of a tensor. */
static int64_t elements_of(const gpu_shapes *s, size_t i)
{
    return product(shape_of(NULL, s, i, NO_SHAPE_RANK), s->inputs[i].rank);
}

static int64_t bytes_of(const gpu_shapes *s, size_t i)
{
    return times(elements_of(s, i), s->inputs[i].bytes);
}

/* ---- kinds of operators ---- */

/* first: 1 where a bias stands before the matrices. */
static bool find_gemm(gpu_shape_figures *out, const gpu_shapes *s, size_t first, int rank)
{
    const int64_t *a = shape_of(NULL, s, first, rank), *b = shape_of(NULL, s, first + 1, rank);
    if (!a || !b || !is_tensor(s, first) || !is_tensor(s, first + 1) || (first && !is_tensor(s, 0))) return false;
    int64_t batch = rank == 3 ? *a++ : 1;
    if (rank == 3 && *b++ != batch) return false;
    if (a[1] != b[0]) return false;
    int64_t mn = times(a[0], b[1]), k = a[1], size = s->inputs[first].bytes;
    int64_t moved =
        plus(plus(times(times(a[0], k), size), times(times(k, b[1]), s->inputs[first + 1].bytes)), times(mn, size));
    out->flop = times(times(times(2, mn), k), batch);
    out->bytes = times(batch, moved);
    if (first) {
        out->flop = plus(out->flop, times(mn, batch));
        out->bytes = plus(out->bytes, bytes_of(s, 0));
    }
    out->dtype = s->inputs[first].type;
    return true;
}

/* true and false as Python writes them, or something else that is a value. false: nothing stands there. */
static bool read_flag(bool *is_true, const gpu_shapes *s, size_t i)
{
    hd_string value = i < s->count ? s->inputs[i].value : (hd_string){NULL, 0};
    if (!value.size) return false;
    *is_true = is_text(value, "True");
    return *is_true || is_text(value, "False") || is_text(value, "None") || hd_json_is_digit(value.data[0]) ||
           value.data[0] == '-';
}

/* heads, tokens: which dimension. */
static bool find_attention(gpu_shape_figures *out, const gpu_shapes *s, size_t causal_at, int heads, int tokens)
{
    const int64_t *q = shape_of(NULL, s, 0, 4), *k = shape_of(NULL, s, 1, 4), *v = shape_of(NULL, s, 2, 4);
    bool causal;
    if (!q || !k || !v || !is_tensor(s, 0) || !is_tensor(s, 1) || !is_tensor(s, 2)) return false;
    if (!read_flag(&causal, s, causal_at)) return false;
    int64_t rows = times(times(q[0], q[heads]), q[tokens]);
    out->flop = times(times(times(2, rows), k[tokens]), plus(q[3], v[3]));
    if (causal && q[tokens] == k[tokens]) out->flop /= 2;
    out->bytes =
        plus(plus(plus(bytes_of(s, 0), bytes_of(s, 1)), bytes_of(s, 2)), times(times(rows, v[3]), s->inputs[0].bytes));
    return true;
}

/* Of a list of whole numbers as Python writes it the one at `at`, of a short list the last. false: it is none. */
static bool read_setting(int64_t *out, const gpu_shapes *s, size_t i, size_t at)
{
    hd_string value = i < s->count ? s->inputs[i].value : (hd_string){NULL, 0};
    size_t count = 0, k = 1;
    if (value.size < 3 || value.data[0] != '[' || value.data[value.size - 1] != ']') return false;
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

/* What a convolution makes of one dimension; negative: nothing. */
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

/* settings: where stride, padding and dilation stand. */
static bool find_convolution(gpu_shape_figures *out, const gpu_shapes *s, const size_t *settings, bool may_transpose)
{
    size_t rank = 0, weight_rank = 0;
    const int64_t *image = shape_of(&rank, s, 0, NO_SHAPE_RANK), *weight = shape_of(&weight_rank, s, 1, NO_SHAPE_RANK);
    if (!image || !weight || rank < 3 || rank != weight_rank || !is_tensor(s, 0) || !is_tensor(s, 1)) return false;
    if (may_transpose && (s->count < 7 || !is_text(s->inputs[6].value, "False"))) return false;
    int64_t made = times(image[0], weight[0]);
    for (size_t i = 2; i < rank; i++) {
        int64_t size;
        if (!output_size(&size, s, settings, i - 2, image[i], weight[i]) || size < 0) return false;
        made = made && size ? times(made, size) : 0;
    }
    out->flop = times(times(2, product(weight + 1, rank - 1)), made);
    out->bytes = plus(plus(bytes_of(s, 0), bytes_of(s, 1)), times(made, s->inputs[0].bytes));
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

typedef enum form { MM, BMM, ADDMM, BADDBMM, ATTEND, ATTEND_FLASH, CONVOLVE, CONVOLVE_ANY, ONE, TWO, COPY, NORM } form;

static const struct known {
    const char *name;
    form form;
    size_t at[3]; /* of Concrete Inputs: causal, or stride, padding, dilation */
} names[] = {
    {"mm", MM},
    {"bmm", BMM},
    {"addmm", ADDMM},
    {"baddbmm", BADDBMM},
    {"_scaled_dot_product_flash_attention", ATTEND, {4}},
    {"_scaled_dot_product_efficient_attention", ATTEND, {6}},
    {"_scaled_dot_product_cudnn_attention", ATTEND, {6}},
    {"_flash_attention_forward", ATTEND_FLASH, {8}},
    {"cudnn_convolution", CONVOLVE, {3, 2, 4}},
    {"miopen_convolution", CONVOLVE, {4, 3, 5}},
    {"convolution", CONVOLVE_ANY, {3, 4, 5}},
    {"_convolution", CONVOLVE_ANY, {3, 4, 5}},
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
        if (is_text(elementwise ? stem : plain, names[i].name)) return &names[i];
    }
    return NULL;
}

bool gpu_shapes_know(hd_string name)
{
    return known_of(name) != NULL;
}

static bool find(gpu_shape_figures *out, const gpu_shapes *s, const struct known *op)
{
    static const gpu_shape_kind kinds[] = {GPU_GEMM,        GPU_GEMM,        GPU_GEMM,        GPU_GEMM,
                                           GPU_ATTENTION,   GPU_ATTENTION,   GPU_CONVOLUTION, GPU_CONVOLUTION,
                                           GPU_ELEMENTWISE, GPU_ELEMENTWISE, GPU_ELEMENTWISE, GPU_NORM};
    out->kind = kinds[op->form];
    out->dtype = s->count ? s->inputs[0].type : (hd_string){NULL, 0};
    switch (op->form) {
    case MM:
    case BMM: return find_gemm(out, s, 0, op->form == BMM ? 3 : 2);
    case ADDMM:
    case BADDBMM: return find_gemm(out, s, 1, op->form == BADDBMM ? 3 : 2);
    case ATTEND: return find_attention(out, s, op->at[0], 1, 2);
    case ATTEND_FLASH: return find_attention(out, s, op->at[0], 2, 1);
    case CONVOLVE:
    case CONVOLVE_ANY: return find_convolution(out, s, op->at, op->form == CONVOLVE_ANY);
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
    *known = false;
    if (!op) return true;
    if (!read_inputs(known, s, texts)) return false;
    *known = *known && find(out, s, op);
    return true;
}

void gpu_shapes_deinit(gpu_shapes *s)
{
    free(s->inputs);
    free(s->sizes);
    free(s->texts);
    *s = (gpu_shapes){0};
}
