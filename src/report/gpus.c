/* gpus.c - tables of GPUs: a strict parser of the subset of TOML in heddle/gpus.h
 *
 * Every accepted text is TOML with the same meaning (tests/report/check_gpus.py compares with Python's tomllib).
 */
#include "report/gpus.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/vector.h"
#include "heddle/names.h"

const char *const report_dtype_names[REPORT_DTYPES] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"};

enum { TABLE_BYTES = 1 << 20, TABLE_NAMES = 1000 };

typedef struct gpu_name {
    hd_string text;
    size_t gpu;
} gpu_name;

struct hd_gpus {
    report_gpu *list;
    size_t count, capacity;
    gpu_name *names;
    size_t name_count, name_capacity;
    hd_arena texts;
};

const report_gpu *report_gpu_find(const hd_gpus *gpus, hd_string name)
{
    for (size_t i = gpus->name_count; i-- > 0;) {
        const gpu_name *n = &gpus->names[i];
        if (n->text.size == name.size && memcmp(n->text.data, name.data, name.size) == 0) return &gpus->list[n->gpu];
    }
    return NULL;
}

static bool has_word(hd_string text, hd_string word)
{
    for (size_t at = 0; word.size && at + word.size <= text.size; at++) {
        bool is_start = at == 0 || text.data[at - 1] == ' ' || text.data[at - 1] == '-';
        char end = at + word.size < text.size ? text.data[at + word.size] : ' ';
        if (is_start && (end == ' ' || end == '-') && !memcmp(text.data + at, word.data, word.size)) return true;
    }
    return false;
}

const report_gpu *report_gpu_with(hd_string *out_name, const hd_gpus *gpus, hd_string word)
{
    for (size_t i = 0; i < gpus->name_count; i++) {
        if (!has_word(gpus->names[i].text, word)) continue;
        *out_name = gpus->names[i].text;
        return &gpus->list[gpus->names[i].gpu];
    }
    return NULL;
}

/* Names with this word are all of one entry, or it is a whole name. */
static bool is_only_with(const hd_gpus *gpus, hd_string word, const report_gpu *gpu)
{
    if (report_gpu_find(gpus, word)) return true;
    for (size_t i = 0; i < gpus->name_count; i++)
        if (has_word(gpus->names[i].text, word) && report_gpu_find(gpus, gpus->names[i].text) != gpu) return false;
    return true;
}

static hd_status refuse_several(const hd_gpus *gpus, hd_string word, hd_error *err)
{
    char list[160] = "";
    for (size_t i = 0, size = 0; i < gpus->name_count; i++) {
        hd_string name = gpus->names[i].text;
        if (!has_word(name, word) || size + name.size + 5 > sizeof list) continue;
        size +=
            (size_t)snprintf(list + size, sizeof list - size, "%s'%.*s'", size ? ", " : "", (int)name.size, name.data);
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "gpu: '%.*s' may be %s", (int)word.size, word.data,
                        list);
}

hd_status report_gpu_named(const report_gpu **out, const hd_gpus *gpus, const char *name, hd_error *err)
{
    char best[80] = "";
    unsigned distance = UINT_MAX;
    hd_string text = {name, strlen(name)}, full;
    *out = report_gpu_find(gpus, text);
    if (!*out && report_gpu_with(&full, gpus, text)) *out = report_gpu_find(gpus, full); /* the last of that name */
    if (*out && is_only_with(gpus, text, *out)) return HD_OK;
    if (*out) return refuse_several(gpus, text, err);
    for (size_t i = 0; i < gpus->name_count; i++) {
        char known[sizeof best];
        const char *nearest = NULL;
        snprintf(known, sizeof known, "%.*s", (int)gpus->names[i].text.size, gpus->names[i].text.data);
        hd_name_suggest(name, known, &nearest, &distance);
        if (nearest) memcpy(best, known, sizeof best);
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "gpu: the table of GPUs has no '%.60s'%s%s%s", name,
                        *best ? "; did you mean " : "; add it by --gpus", best, *best ? "?" : "");
}

/* ---- text ---- */

enum { KEY_NAMES = REPORT_DTYPES, KEY_BANDWIDTH, KEYS };

typedef struct reader {
    hd_gpus *gpus;
    const char *text, *p, *end; /* of a copy, followed by zeros */
    const char *head;           /* of the [[gpu]] at hand; NULL: none yet */
    unsigned seen;              /* its keys: bits */
    size_t first_name;          /* of this table */
    const char *name;
    hd_error *err;
} reader;

HD_PRINTF(3, 4) static hd_status refuse(const reader *r, const char *at, const char *form, ...)
{
    char what[HD_ERROR_MESSAGE_BYTES];
    size_t line = 1;
    va_list arguments;
    for (const char *p = r->text; p < at; p++) line += *p == '\n';
    va_start(arguments, form);
    vsnprintf(what, sizeof what, form, arguments);
    va_end(arguments);
    return hd_error_set(r->err, HD_ERR_FORMAT, r->name, HD_OFFSET_NONE, "line %zu: %.220s", line, what);
}

static hd_status check_bytes(const reader *r)
{
    if (!hd_utf8_valid(r->text, (size_t)(r->end - r->text), false))
        return hd_error_set(r->err, HD_ERR_FORMAT, r->name, HD_OFFSET_NONE, "this is not text in UTF-8");
    for (const char *p = r->text; p < r->end; p++) {
        bool ends_line = *p == '\n' || (*p == '\r' && p[1] == '\n');
        if (!ends_line && *p != '\t' && ((unsigned char)*p < ' ' || *p == 0x7f))
            return refuse(r, p, "a control character (%u)", (unsigned)*p);
    }
    return HD_OK;
}

static void skip_blanks(reader *r)
{
    while (*r->p == ' ' || *r->p == '\t') r->p++;
}

/* Blanks, lines' ends and comments. */
static void skip_lines(reader *r)
{
    for (;; r->p++) {
        if (*r->p == '#') r->p += strcspn(r->p, "\n");
        if (!hd_json_is_space(*r->p)) return;
    }
}

static hd_status end_line(reader *r)
{
    skip_blanks(r);
    if (*r->p == '#') r->p += strcspn(r->p, "\n");
    if (*r->p == '\r') r->p++;
    if (r->p == r->end || *r->p == '\n') return HD_OK;
    int size = (int)strcspn(r->p, "\r\n");
    return refuse(r, r->p, "'%.*s' stands where only a comment may", size < 40 ? size : 40, r->p);
}

/* ---- values ---- */

/* In double quotes, where \" and \\ are the only escapes. */
static hd_status read_string(hd_string *out, reader *r)
{
    const char *start = r->p + 1;
    char *text = *r->p == '"' ? hd_arena_alloc(&r->gpus->texts, strcspn(start, "\n") + 1) : NULL;
    size_t size = 0;
    if (*r->p != '"') return refuse(r, r->p, "names are strings in double quotes: names = [\"NVIDIA H100 PCIe\"]");
    if (!text) return HD_NOMEM(r->err);
    for (r->p++; *r->p != '"'; r->p++) {
        if (*r->p == '\\' && r->p[1] != '"' && r->p[1] != '\\')
            return refuse(r, r->p, "of escapes only \\\" and \\\\ are known");
        r->p += *r->p == '\\';
        if (r->p == r->end || *r->p == '\n' || *r->p == '\r') return refuse(r, start, "a string without its end");
        text[size++] = *r->p;
    }
    r->p++;
    *out = (hd_string){text, size};
    return size ? HD_OK : refuse(r, start, "a name is empty");
}

static hd_status add_name(reader *r)
{
    hd_gpus *g = r->gpus;
    const char *at = r->p;
    hd_string text;
    HD_TRY(read_string(&text, r));
    for (size_t i = r->first_name; i < g->name_count; i++) {
        const hd_string *known = &g->names[i].text;
        if (known->size == text.size && memcmp(known->data, text.data, text.size) == 0)
            return refuse(r, at, "'%.*s' is named a second time", text.size < 100 ? (int)text.size : 100, text.data);
    }
    if (g->name_count - r->first_name == TABLE_NAMES)
        return hd_error_set(r->err, HD_ERR_LIMIT, r->name, HD_OFFSET_NONE, "more than %d names", TABLE_NAMES);
    if (!hd_grow((void **)&g->names, &g->name_capacity, g->name_count, sizeof *g->names)) return HD_NOMEM(r->err);
    g->names[g->name_count++] = (gpu_name){text, g->count - 1};
    return HD_OK;
}

static hd_status read_names(reader *r)
{
    if (*r->p != '[') return refuse(r, r->p, "names are an array: names = [\"NVIDIA H100 PCIe\"]");
    r->p++;
    skip_lines(r);
    do {
        HD_TRY(add_name(r));
        skip_lines(r);
        bool more = *r->p == ',';
        r->p += more;
        skip_lines(r);
        if (!more && *r->p != ']')
            return refuse(r, r->p, "a name is followed by a comma, or by the ] that ends the array");
    } while (*r->p != ']');
    r->p++;
    return HD_OK;
}

static hd_status read_number(double *out, reader *r)
{
    hd_json_number number;
    const char *at = r->p, *behind = hd_json_is_digit(*at) ? hd_json_scan_number(&number, at) : NULL;
    double power = 1;
    if (!behind || !number.exact) return refuse(r, at, "a number above 0 in digits is expected, such as 989.4");
    for (unsigned i = 0; i < number.scale; i++) power *= 10;
    *out = (double)number.mantissa / power;
    r->p = behind;
    if (*out > 0 && *out <= 1e9) return HD_OK;
    return refuse(r, at, "a number above 0 is expected, up to 1000000000");
}

/* ---- tables ---- */

static hd_status finish_gpu(const reader *r)
{
    if (!r->head) return HD_OK;
    if (!(r->seen & 1u << KEY_NAMES)) return refuse(r, r->head, "this [[gpu]] has no names = [\"...\"]");
    if (!(r->seen & 1u << KEY_BANDWIDTH)) return refuse(r, r->head, "this [[gpu]] has no bandwidth = GB/s");
    return HD_OK;
}

static hd_status read_head(reader *r)
{
    static const char word[] = "[[gpu]]";
    hd_gpus *g = r->gpus;
    HD_TRY(finish_gpu(r));
    if (strncmp(r->p, word, sizeof word - 1) != 0) return refuse(r, r->p, "the only kind of table is [[gpu]]");
    r->head = r->p;
    r->seen = 0;
    r->p += sizeof word - 1;
    if (!hd_grow((void **)&g->list, &g->capacity, g->count, sizeof *g->list)) return HD_NOMEM(r->err);
    g->list[g->count++] = (report_gpu){0};
    return HD_OK;
}

static hd_status read_key(unsigned *out, reader *r)
{
    size_t size = strspn(r->p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    for (*out = 0; *out < KEYS; ++*out) {
        const char *key = *out == KEY_NAMES ? "names" : *out == KEY_BANDWIDTH ? "bandwidth" : report_dtype_names[*out];
        if (strlen(key) == size && memcmp(key, r->p, size) == 0) break;
    }
    if (*out == KEYS)
        return refuse(r, r->p,
                      "a key is one of names, bandwidth, fp64, fp32, tf32, bf16, fp16, fp8, int8; '%.*s' is none",
                      size < 40 ? (int)size : 40, r->p);
    if (!r->head) return refuse(r, r->p, "a line [[gpu]] must stand before this");
    if (r->seen & 1u << *out) return refuse(r, r->p, "'%.*s' is given a second time", (int)size, r->p);
    r->seen |= 1u << *out;
    r->p += size;
    skip_blanks(r);
    if (*r->p != '=') return refuse(r, r->p, "a key is followed by =");
    r->p++;
    skip_blanks(r);
    return HD_OK;
}

static hd_status read_pair(reader *r)
{
    unsigned key;
    HD_TRY(read_key(&key, r));
    report_gpu *gpu = &r->gpus->list[r->gpus->count - 1];
    if (key == KEY_NAMES) return read_names(r);
    return read_number(key == KEY_BANDWIDTH ? &gpu->bandwidth : &gpu->peaks[key], r);
}

static hd_status read_tables(reader *r)
{
    HD_TRY(check_bytes(r));
    for (;;) {
        skip_lines(r);
        if (r->p == r->end) return finish_gpu(r);
        HD_TRY(*r->p == '[' ? read_head(r) : read_pair(r));
        HD_TRY(end_line(r));
    }
}

hd_status hd_gpus_add_text(hd_gpus *gpus, const char *text, size_t size, const char *name, hd_error *err)
{
    size_t count = gpus->count, name_count = gpus->name_count;
    if (size > TABLE_BYTES)
        return hd_error_set(err, HD_ERR_LIMIT, name, HD_OFFSET_NONE, "more than %d bytes", TABLE_BYTES);
    char *copy = calloc(1, size + HD_JSON_PADDING);
    if (!copy) return HD_NOMEM(err);
    if (size) memcpy(copy, text, size);
    reader r = {
        .gpus = gpus, .text = copy, .p = copy, .end = copy + size, .first_name = name_count, .name = name, .err = err};
    hd_status status = read_tables(&r);
    free(copy);
    if (status == HD_OK) return HD_OK;
    gpus->count = count;
    gpus->name_count = name_count;
    return status;
}

/* ---- files ---- */

/* Up to TABLE_BYTES + 1 bytes. */
static hd_status read_input(char *text, size_t *size, hd_input *input, hd_error *err)
{
    size_t more;
    hd_status status = HD_OK;
    *size = 0;
    while (*size <= TABLE_BYTES && status == HD_OK) {
        status = hd_input_next(input, text + *size, TABLE_BYTES + 1 - *size, &more, err);
        if (status == HD_OK) *size += more;
    }
    if (status != HD_END) return status;
    const hd_input_damage *damage = hd_input_damage_at(input, 0);
    if (!damage) return HD_OK;
    return hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), damage->offset, "%s", damage->code);
}

hd_status hd_gpus_add_file(hd_gpus *gpus, const char *path, hd_error *err)
{
    hd_input *input;
    size_t size = 0;
    HD_TRY(hd_input_open(&input, path, NULL, err));
    char *text = malloc(TABLE_BYTES + 1);
    hd_status status = text ? read_input(text, &size, input, err) : HD_NOMEM(err);
    if (status == HD_OK) status = hd_gpus_add_text(gpus, text, size, path, err);
    hd_input_close(input);
    free(text);
    return status;
}

/* ---- the table of the library ---- */

hd_status hd_gpus_new(hd_gpus **out, hd_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return HD_NOMEM(err);
    hd_status status = hd_gpus_add_text(*out, report_gpus, report_gpus_size, "share/gpus.toml", err);
    if (status == HD_OK) return HD_OK;
    hd_gpus_free(*out);
    *out = NULL;
    return status;
}

void hd_gpus_free(hd_gpus *gpus)
{
    if (!gpus) return;
    free(gpus->list);
    free(gpus->names);
    hd_arena_deinit(&gpus->texts);
    free(gpus);
}
