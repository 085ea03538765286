/* own_ops.c - FLOP and bytes of the user's operators: the table of --ops in TOML, and a parser of its formulas
 *
 *     [[op]]
 *     names = ["mylib::grouped_gemm*"]               # patterns of names of operators
 *     shapes = ["g,m,k", "g,k,n"]                    # a name for each dimension of inputs 0, 1 …
 *     flop = "2*g*m*n*k"
 *     bytes = "(g*m*k + g*m*n)*size0 + g*k*n*size1"  # size0: bytes of an element of input 0. Optional
 *     kind = "gemm"                                  # optional
 *
 * In a shape, a number is a size that the dimension must have, and _ is any size; the shape "-" is any input or none.
 * A formula has + - * / and parentheses, whole numbers and names of dimensions. It is exact in 64 bits: a result that
 * overflows, is below 0 or divides with a remainder is not known.
 */
#include "report/gpu/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "base/text/pattern.h"
#include "base/text/toml.h"
#include "heddle/gpus.h"

enum { OP_LIMIT = 1000, SHAPE_LIMIT = 32, NAME_LIMIT = 64, DEPTH_LIMIT = 32, TEXT_LIMIT = 10000 };
#define NO_RANK SIZE_MAX

typedef struct own_op {
    size_t first_name, names, first_shape, shapes; /* of own.texts */
    hd_json_span flop, bytes;                      /* size 0: none */
    gpu_shape_kind kind;
} own_op;

/* Read before any trace is used, as the rules of model/class. */
static struct own_ops {
    own_op *list;
    size_t count, capacity;
    hd_json_span *texts;
    size_t text_count, text_capacity;
    hd_arena arena;
    char *file;
} own;

/* ---- dimensions ---- */

typedef struct dimensions {
    hd_json_span names[NAME_LIMIT];
    int64_t sizes[NAME_LIMIT];
    size_t count;
    int64_t elements[SHAPE_LIMIT]; /* bytes of an element of each input; below 0: not known */
    size_t inputs;
} dimensions;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The number that is all of a text; false: it is none of 64 bits. */
static bool read_number(int64_t *out, hd_json_span text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!is_digit(text.data[i])) return false;
    return text.size && hd_fixed_parse_whole(out, text.data, text.size);
}

static bool same(hd_json_span a, hd_json_span b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* "size12": the input; SIZE_MAX: another word. */
static size_t sized_input(hd_json_span word)
{
    int64_t number;
    if (word.size < 5 || word.size > 6 || memcmp(word.data, "size", 4) != 0) return SIZE_MAX;
    return read_number(&number, (hd_json_span){word.data + 4, word.size - 4}) ? (size_t)number : SIZE_MAX;
}

/* The next of "m, k"; size 0: it is no word. */
static hd_json_span next_dimension(const char **p, const char *end)
{
    while (*p < end && **p == ' ') ++*p;
    hd_json_span word = {*p, 0};
    while (*p < end && is_word(**p)) ++*p;
    word.size = (size_t)(*p - word.data);
    while (*p < end && **p == ' ') ++*p;
    if (*p < end && *(*p)++ != ',') word.size = 0;
    return word;
}

/* Gives a dimension its size. false: it has another already, or there are too many. */
static bool bind(dimensions *d, hd_json_span word, int64_t size)
{
    int64_t wanted;
    if (word.size == 1 && *word.data == '_') return true;
    if (is_digit(*word.data)) return read_number(&wanted, word) && wanted == size;
    for (size_t i = 0; i < d->count; i++)
        if (same(d->names[i], word)) return d->sizes[i] == size;
    if (d->count == NAME_LIMIT) return false;
    d->names[d->count] = word;
    d->sizes[d->count++] = size;
    return true;
}

static bool bind_shape(dimensions *d, hd_json_span shape, const int64_t *sizes, size_t rank)
{
    const char *p = shape.data, *end = shape.data + shape.size;
    size_t i = 0;
    for (; p < end; i++) {
        hd_json_span word = next_dimension(&p, end);
        if (i >= rank || !bind(d, word, sizes[i])) return false;
    }
    return i == rank;
}

static bool bind_inputs(dimensions *d, const own_op *op, const gpu_shapes *s)
{
    d->count = 0;
    d->inputs = op->shapes;
    for (size_t i = 0; i < op->shapes; i++) {
        hd_json_span shape = own.texts[op->first_shape + i];
        const struct gpu_shape_input *in = i < s->count ? &s->inputs[i] : NULL;
        d->elements[i] = in ? in->bytes : -1;
        if (hd_json_span_is(shape, "-")) continue;
        if (!in || in->rank == NO_RANK || !bind_shape(d, shape, s->sizes + in->first, in->rank)) return false;
    }
    return true;
}

/* ---- formulas ---- */

typedef struct formula {
    const char *p, *end;
    const dimensions *of;
    const char *wrong;  /* what the text must be; NULL: it is fine */
    const char *reason; /* why the result is not known; NULL: it is */
    unsigned depth;
} formula;

static int64_t read_sum(formula *f);

static char peek(formula *f)
{
    while (f->p < f->end && *f->p == ' ') f->p++;
    return f->p < f->end ? *f->p : '\0';
}

static int64_t fail(formula *f, const char *reason)
{
    if (!f->reason) f->reason = reason;
    return 1;
}

static int64_t read_word(formula *f)
{
    int64_t number = 1;
    hd_json_span word = {f->p, 0};
    while (f->p < f->end && is_word(*f->p)) f->p++;
    word.size = (size_t)(f->p - word.data);
    if (is_digit(*word.data)) {
        if (!read_number(&number, word)) f->wrong = "a number is whole and below 2^63";
        return number;
    }
    for (size_t i = 0; i < f->of->count; i++)
        if (same(f->of->names[i], word)) return f->of->sizes[i];
    size_t input = sized_input(word);
    if (input < f->of->inputs)
        return f->of->elements[input] > 0 ? f->of->elements[input] : fail(f, "has an input of no known type");
    f->wrong = "a name is one of shapes, or size0 for the bytes of an element of input 0";
    return 1;
}

static int64_t read_factor(formula *f)
{
    char c = peek(f);
    if (is_word(c)) return read_word(f);
    if (c != '(' || f->depth == DEPTH_LIMIT) {
        if (!f->wrong) f->wrong = "a formula is made of numbers, names, + - * / and up to 32 nested parentheses";
        return 1;
    }
    f->p++;
    f->depth++;
    int64_t value = read_sum(f);
    f->depth--;
    if (peek(f) != ')') {
        if (!f->wrong) f->wrong = "a parenthesis is not closed";
        return 1;
    }
    f->p++;
    return value;
}

static int64_t divide(formula *f, int64_t a, int64_t b)
{
    if (b == 0) return fail(f, "divides by 0");
    if (b == -1) return a == INT64_MIN ? fail(f, "overflows 64 bits") : -a;
    return a % b ? fail(f, "divides with a remainder") : a / b;
}

static int64_t read_product(formula *f)
{
    int64_t value = read_factor(f);
    for (char c = peek(f); !f->wrong && (c == '*' || c == '/'); c = peek(f)) {
        f->p++;
        int64_t factor = read_factor(f);
        if (c == '/')
            value = divide(f, value, factor);
        else if (__builtin_mul_overflow(value, factor, &value))
            value = fail(f, "overflows 64 bits");
    }
    return value;
}

static int64_t read_sum(formula *f)
{
    int64_t value = read_product(f);
    for (char c = peek(f); !f->wrong && (c == '+' || c == '-'); c = peek(f)) {
        f->p++;
        int64_t part = read_product(f);
        if (c == '+' ? __builtin_add_overflow(value, part, &value) : __builtin_sub_overflow(value, part, &value))
            value = fail(f, "overflows 64 bits");
    }
    return value;
}

/* f->reason is set where the result is not known. */
static int64_t evaluate(formula *f, hd_json_span text, const dimensions *of)
{
    *f = (formula){.p = text.data, .end = text.data + text.size, .of = of};
    int64_t value = read_sum(f);
    if (!f->wrong && peek(f)) f->wrong = "an operator, + - * or /, is expected";
    if (value < 0) fail(f, "is below 0");
    return value;
}

/* ---- operators ---- */

static bool has_name(const own_op *op, hd_string name)
{
    for (size_t i = 0; i < op->names; i++)
        if (hd_glob_matches(own.texts[op->first_name + i].data, name.data, name.size, false)) return true;
    return false;
}

bool own_ops_know(hd_string name)
{
    for (size_t i = 0; i < own.count; i++)
        if (has_name(&own.list[i], name)) return true;
    return false;
}

static void refuse(gpu_shapes *s, const char *formula_name, const char *reason)
{
    s->refused++;
    if (s->refused_formula) return;
    s->refused_formula = formula_name;
    s->refused_reason = reason;
}

bool own_ops_find(gpu_shape_figures *out, gpu_shapes *s, hd_string name)
{
    for (size_t i = 0; i < own.count; i++) {
        const own_op *op = &own.list[i];
        dimensions d;
        formula f;
        if (!has_name(op, name) || !bind_inputs(&d, op, s)) continue;
        *out = (gpu_shape_figures){.kind = op->kind, .bytes = -1, .is_own = true};
        if (s->count) out->dtype = s->inputs[0].type;
        out->flop = evaluate(&f, op->flop, &d);
        if (f.reason) {
            refuse(s, "flop", f.reason);
            return false;
        }
        if (op->bytes.size) out->bytes = evaluate(&f, op->bytes, &d);
        if (op->bytes.size && f.reason) {
            out->bytes = -1;
            refuse(s, "bytes", f.reason);
        }
        return true;
    }
    return false;
}

const char *own_ops_file(void)
{
    return own.file;
}

/* ---- the file ---- */

enum { KEY_NAMES, KEY_SHAPES, KEY_FLOP, KEY_BYTES, KEY_KIND, KEYS };
static const char *const keys[KEYS] = {"names", "shapes", "flop", "bytes", "kind"};

typedef struct reader {
    hd_toml toml;
    const char *head;     /* of the [[op]] at hand; NULL: none yet */
    const char *at[KEYS]; /* of its values; NULL: it has none */
} reader;

static hd_status add_text(void *user, hd_json_span text, const char *at)
{
    reader *r = user;
    (void)at;
    if (own.text_count == TEXT_LIMIT)
        return hd_error_set(r->toml.err, HD_ERR_LIMIT, r->toml.name, HD_OFFSET_NONE, "more than %d names and shapes",
                            TEXT_LIMIT);
    if (!hd_grow((void **)&own.texts, &own.text_capacity, own.text_count, sizeof *own.texts))
        return HD_NOMEM(r->toml.err);
    own.texts[own.text_count++] = text;
    return HD_OK;
}

/* Names of all dimensions, with any size, so that formulas can be tried. */
static hd_status check_shapes(dimensions *out, const reader *r, const own_op *op)
{
    out->count = 0;
    out->inputs = op->shapes;
    if (op->shapes > SHAPE_LIMIT)
        return hd_toml_refuse(&r->toml, r->at[KEY_SHAPES], "more than %d shapes", SHAPE_LIMIT);
    for (size_t i = 0; i < op->shapes; i++) {
        hd_json_span shape = own.texts[op->first_shape + i];
        const char *p = shape.data, *end = shape.data + shape.size;
        out->elements[i] = 1;
        while (p < end && !hd_json_span_is(shape, "-")) {
            int64_t number;
            hd_json_span word = next_dimension(&p, end);
            bool is_number = word.size && is_digit(*word.data);
            if (!word.size || (is_number && !read_number(&number, word)) || sized_input(word) != SIZE_MAX)
                return hd_toml_refuse(&r->toml, r->at[KEY_SHAPES],
                                      "a shape is names, sizes and _, as \"m,k\", or \"-\"; size0 is no name");
            if (!is_number && !bind(out, word, 1))
                return hd_toml_refuse(&r->toml, r->at[KEY_SHAPES], "more than %d names", NAME_LIMIT);
        }
    }
    return HD_OK;
}

static hd_status check_formula(const reader *r, int key, hd_json_span text, const dimensions *of)
{
    formula f;
    if (!text.size) return HD_OK;
    evaluate(&f, text, of);
    return f.wrong ? hd_toml_refuse(&r->toml, r->at[key], "%s", f.wrong) : HD_OK;
}

static hd_status finish_op(const reader *r)
{
    static const int needed[] = {KEY_NAMES, KEY_SHAPES, KEY_FLOP};
    dimensions d;
    if (!r->head) return HD_OK;
    const own_op *op = &own.list[own.count - 1];
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!r->at[needed[i]]) return hd_toml_refuse(&r->toml, r->head, "this [[op]] has no %s", keys[needed[i]]);
    HD_TRY(check_shapes(&d, r, op));
    HD_TRY(check_formula(r, KEY_FLOP, op->flop, &d));
    return check_formula(r, KEY_BYTES, op->bytes, &d);
}

static hd_status read_head(reader *r)
{
    hd_json_span word;
    const char *at = r->toml.p;
    HD_TRY(finish_op(r));
    HD_TRY(hd_toml_head(&word, &r->toml));
    if (!hd_json_span_is(word, "op")) return hd_toml_refuse(&r->toml, at, "the only kind of table is [[op]]");
    if (own.count == OP_LIMIT)
        return hd_error_set(r->toml.err, HD_ERR_LIMIT, r->toml.name, HD_OFFSET_NONE, "more than %d operators",
                            OP_LIMIT);
    if (!hd_grow((void **)&own.list, &own.capacity, own.count, sizeof *own.list)) return HD_NOMEM(r->toml.err);
    own.list[own.count++] = (own_op){.kind = GPU_CUSTOM};
    memset(r->at, 0, sizeof r->at);
    r->head = at;
    return HD_OK;
}

static hd_status read_kind(own_op *op, reader *r)
{
    hd_json_span word;
    HD_TRY(hd_toml_string(&word, &r->toml, "a kind is a string: kind = \"gemm\""));
    for (op->kind = 0; op->kind < GPU_SHAPE_KINDS; op->kind++)
        if (hd_json_span_is(word, gpu_shape_kind_names[op->kind])) return HD_OK;
    return hd_toml_refuse(&r->toml, r->at[KEY_KIND],
                          "a kind is gemm, attention, convolution, elementwise, norm or custom");
}

static hd_status read_list(size_t *first, size_t *count, reader *r, const char *form)
{
    *first = own.text_count;
    HD_TRY(hd_toml_strings(&r->toml, form, add_text, r));
    *count = own.text_count - *first;
    return HD_OK;
}

static hd_status read_pair(reader *r)
{
    const char *at = r->toml.p;
    hd_json_span key;
    int which = 0;
    HD_TRY(hd_toml_key(&key, &r->toml));
    while (which < KEYS && !hd_json_span_is(key, keys[which])) which++;
    if (which == KEYS) return hd_toml_refuse(&r->toml, at, "a key is one of names, shapes, flop, bytes, kind");
    if (!r->head) return hd_toml_refuse(&r->toml, at, "a line [[op]] must come before this");
    if (r->at[which]) return hd_toml_refuse(&r->toml, at, "'%s' is given a second time", keys[which]);
    r->at[which] = at;
    own_op *op = &own.list[own.count - 1];
    switch (which) {
    case KEY_NAMES:
        return read_list(&op->first_name, &op->names, r, "names are an array of strings: names = [\"mylib::gemm\"]");
    case KEY_SHAPES:
        return read_list(&op->first_shape, &op->shapes, r,
                         "shapes are an array of strings: shapes = [\"m,k\", \"k,n\"]");
    case KEY_KIND: return read_kind(op, r);
    default:
        return hd_toml_string(which == KEY_FLOP ? &op->flop : &op->bytes, &r->toml,
                              "a formula is a string in double quotes: flop = \"2*m*n*k\"");
    }
}

static hd_status read_ops(reader *r)
{
    while (hd_toml_more(&r->toml)) {
        HD_TRY(*r->toml.p == '[' ? read_head(r) : read_pair(r));
        HD_TRY(hd_toml_end_line(&r->toml));
    }
    return finish_op(r);
}

hd_status hd_ops_read(const char *path, hd_error *err)
{
    reader r = {0};
    char *text, *file = strdup(path);
    size_t size, count = own.count;
    if (!file) return HD_NOMEM(err);
    hd_status status = hd_toml_read_file(&text, &size, path, err);
    if (status == HD_OK) {
        status = hd_toml_open(&r.toml, text, size, path, &own.arena, err);
        free(text);
        if (status == HD_OK) {
            status = read_ops(&r);
            hd_toml_close(&r.toml);
        }
    }
    if (status != HD_OK) {
        own.count = count;
        free(file);
        return status;
    }
    free(own.file);
    own.file = file;
    return HD_OK;
}
