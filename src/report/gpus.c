/* gpus.c - tables of GPUs: a strict parser of the subset of TOML in heddle/gpus.h
 *
 * Every accepted text is TOML with the same meaning (tests/report/check_gpus.py compares with Python's tomllib).
 */
#include "report/gpus.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/vector.h"
#include "base/text/toml.h"
#include "heddle/names.h"

const char *const report_dtype_names[REPORT_DTYPES] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"};

enum { TABLE_NAMES = 1000 };

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
    hd_toml toml;
    const char *head;  /* of the [[gpu]] at hand; NULL: none yet */
    unsigned seen;     /* its keys: bits */
    size_t first_name; /* of this table */
} reader;

/* ---- values ---- */

static hd_status add_name(void *user, hd_json_span name, const char *at)
{
    reader *r = user;
    const hd_string text = {name.data, name.size};
    hd_gpus *g = r->gpus;
    for (size_t i = r->first_name; i < g->name_count; i++) {
        const hd_string *known = &g->names[i].text;
        if (known->size == text.size && memcmp(known->data, text.data, text.size) == 0)
            return hd_toml_refuse(&r->toml, at, "'%.*s' is named a second time", text.size < 100 ? (int)text.size : 100,
                                  text.data);
    }
    if (g->name_count - r->first_name == TABLE_NAMES)
        return hd_error_set(r->toml.err, HD_ERR_LIMIT, r->toml.name, HD_OFFSET_NONE, "more than %d names", TABLE_NAMES);
    if (!hd_grow((void **)&g->names, &g->name_capacity, g->name_count, sizeof *g->names)) return HD_NOMEM(r->toml.err);
    g->names[g->name_count++] = (gpu_name){text, g->count - 1};
    return HD_OK;
}

static hd_status read_number(double *out, reader *r)
{
    hd_json_number number;
    const char *at = r->toml.p, *behind = hd_json_is_digit(*at) ? hd_json_scan_number(&number, at) : NULL;
    double power = 1;
    if (!behind || !number.exact)
        return hd_toml_refuse(&r->toml, at, "a number above 0 in digits is expected, such as 989.4");
    for (unsigned i = 0; i < number.scale; i++) power *= 10;
    *out = (double)number.mantissa / power;
    r->toml.p = behind;
    if (*out > 0 && *out <= 1e9) return HD_OK;
    return hd_toml_refuse(&r->toml, at, "a number above 0 is expected, up to 1000000000");
}

/* ---- tables ---- */

static hd_status finish_gpu(const reader *r)
{
    if (!r->head) return HD_OK;
    if (!(r->seen & 1u << KEY_NAMES)) return hd_toml_refuse(&r->toml, r->head, "this [[gpu]] has no names = [\"...\"]");
    if (!(r->seen & 1u << KEY_BANDWIDTH))
        return hd_toml_refuse(&r->toml, r->head, "this [[gpu]] has no bandwidth = GB/s");
    return HD_OK;
}

static hd_status read_head(reader *r)
{
    hd_gpus *g = r->gpus;
    hd_json_span word;
    const char *at = r->toml.p;
    HD_TRY(finish_gpu(r));
    HD_TRY(hd_toml_head(&word, &r->toml));
    if (!hd_json_span_is(word, "gpu")) return hd_toml_refuse(&r->toml, at, "the only kind of table is [[gpu]]");
    r->head = at;
    r->seen = 0;
    if (!hd_grow((void **)&g->list, &g->capacity, g->count, sizeof *g->list)) return HD_NOMEM(r->toml.err);
    g->list[g->count++] = (report_gpu){0};
    return HD_OK;
}

static hd_status read_key(unsigned *out, reader *r)
{
    const char *at = r->toml.p;
    size_t size = hd_toml_key_size(at);
    for (*out = 0; *out < KEYS; ++*out) {
        const char *key = *out == KEY_NAMES ? "names" : *out == KEY_BANDWIDTH ? "bandwidth" : report_dtype_names[*out];
        if (strlen(key) == size && memcmp(key, at, size) == 0) break;
    }
    if (*out == KEYS)
        return hd_toml_refuse(
            &r->toml, at, "a key is one of names, bandwidth, fp64, fp32, tf32, bf16, fp16, fp8, int8; '%.*s' is none",
            size < 40 ? (int)size : 40, at);
    if (!r->head) return hd_toml_refuse(&r->toml, at, "a line [[gpu]] must come before this");
    if (r->seen & 1u << *out) return hd_toml_refuse(&r->toml, at, "'%.*s' is given a second time", (int)size, at);
    r->seen |= 1u << *out;
    return hd_toml_key(&(hd_json_span){0}, &r->toml);
}

static hd_status read_pair(reader *r)
{
    unsigned key;
    HD_TRY(read_key(&key, r));
    report_gpu *gpu = &r->gpus->list[r->gpus->count - 1];
    if (key != KEY_NAMES) return read_number(key == KEY_BANDWIDTH ? &gpu->bandwidth : &gpu->peaks[key], r);
    if (*r->toml.p != '[')
        return hd_toml_refuse(&r->toml, r->toml.p, "names are an array: names = [\"NVIDIA H100 PCIe\"]");
    return hd_toml_strings(&r->toml, "names are strings in double quotes: names = [\"NVIDIA H100 PCIe\"]", add_name, r);
}

static hd_status read_tables(reader *r)
{
    while (hd_toml_more(&r->toml)) {
        HD_TRY(*r->toml.p == '[' ? read_head(r) : read_pair(r));
        HD_TRY(hd_toml_end_line(&r->toml));
    }
    return finish_gpu(r);
}

hd_status hd_gpus_add_text(hd_gpus *gpus, const char *text, size_t size, const char *name, hd_error *err)
{
    size_t count = gpus->count, name_count = gpus->name_count;
    reader r = {.gpus = gpus, .first_name = name_count};
    HD_TRY(hd_toml_open(&r.toml, text, size, name, &gpus->texts, err));
    hd_status status = read_tables(&r);
    hd_toml_close(&r.toml);
    if (status == HD_OK) return HD_OK;
    gpus->count = count;
    gpus->name_count = name_count;
    return status;
}

hd_status hd_gpus_add_file(hd_gpus *gpus, const char *path, hd_error *err)
{
    char *text;
    size_t size;
    HD_TRY(hd_toml_read_file(&text, &size, path, err));
    hd_status status = hd_gpus_add_text(gpus, text, size, path, err);
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
