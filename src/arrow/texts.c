/* texts.c - dictionaries: many texts one after the other, valid UTF-8, shared by arrays that have indices of them */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/impl.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "table/impl.h"

struct arrow_texts {
    atomic_uint references;
    uint32_t count;
    bool is_large; /* 64-bit offsets: more than 2 GiB of text */
    void *offsets; /* count + 1 */
    char *data;
    uint32_t *map; /* by id of a string of the trace; NULL: a list of other texts */
};

static const char replacement[] = "\xef\xbf\xbd";

/* Writes the text, each invalid byte as U+FFFD; out NULL: only its size. */
static size_t put_valid(char *out, hd_string text)
{
    if (hd_utf8_valid(text.data, text.size, false)) {
        if (out && text.size) memcpy(out, text.data, text.size);
        return text.size;
    }
    size_t size = 0;
    for (size_t at = 0; at < text.size;) {
        uint32_t point;
        size_t length = table_utf8_length(&point, text.data + at, text.size - at);
        size_t put = length ? length : sizeof replacement - 1;
        if (out) memcpy(out + size, length ? text.data + at : replacement, put);
        size += put;
        at += length ? length : 1;
    }
    return size;
}

static void set_offset(arrow_texts *texts, uint32_t index, uint64_t offset)
{
    if (texts->is_large)
        ((int64_t *)texts->offsets)[index] = (int64_t)offset;
    else
        ((int32_t *)texts->offsets)[index] = (int32_t)offset;
}

static bool fill_texts(arrow_texts *texts, arrow_text_at *at, const void *user)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < texts->count; i++) size += put_valid(NULL, at(user, i));
    texts->is_large = size > INT32_MAX;
    texts->offsets = calloc((size_t)texts->count + 1, texts->is_large ? 8 : 4);
    texts->data = malloc(size + 1);
    if (!texts->offsets || !texts->data) return false;
    uint64_t offset = 0;
    for (uint32_t i = 0; i < texts->count; i++) {
        offset += put_valid(texts->data + offset, at(user, i));
        set_offset(texts, i + 1, offset);
    }
    return true;
}

hd_status arrow_texts_of_list(arrow_texts **out, uint32_t count, arrow_text_at *at, const void *user, hd_error *err)
{
    *out = NULL;
    if (count > INT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "%u texts: Arrow's indices go up to 2147483647; crop or filter the trace", count);
    arrow_texts *texts = calloc(1, sizeof *texts);
    if (!texts) return HD_NOMEM(err);
    atomic_init(&texts->references, 1);
    texts->count = count;
    if (fill_texts(texts, at, user)) {
        *out = texts;
        return HD_OK;
    }
    arrow_texts_free(texts);
    return HD_NOMEM(err);
}

/* ---- strings of a trace ---- */

typedef struct used_string {
    hd_string text;
    uint32_t id;
} used_string;

static hd_string text_of_used(const void *user, uint32_t index)
{
    return ((const used_string *)user)[index].text;
}

static int compare_used(const void *a, const void *b)
{
    const hd_string x = ((const used_string *)a)->text, y = ((const used_string *)b)->text;
    return hd_text_compare(x.data, x.size, y.data, y.size);
}

/* Ids depend on which thread of the reader came first, texts do not. */
hd_status arrow_texts_of_trace(arrow_texts **out, const hd_trace *trace, const uint8_t *used, hd_error *err)
{
    uint32_t strings = hd_trace_string_count(trace), count = 0;
    *out = NULL;
    uint32_t *map = calloc(strings, sizeof *map);
    used_string *list = malloc((size_t)strings * sizeof *list);
    hd_status status = map && list ? HD_OK : HD_NOMEM(err);
    for (uint32_t id = 0; status == HD_OK && id < strings; id++) {
        if (!used || used[id]) list[count++] = (used_string){hd_trace_string(trace, id), id};
    }
    if (status == HD_OK) {
        hd_sort(list, count, sizeof *list, compare_used);
        for (uint32_t i = 0; i < count; i++) map[list[i].id] = i;
        status = arrow_texts_of_list(out, count, text_of_used, list, err);
    }
    free(list);
    if (status == HD_OK)
        (*out)->map = map;
    else
        free(map);
    return status;
}

const uint32_t *arrow_texts_map(const arrow_texts *texts)
{
    return texts->map;
}

/* ---- sharing ---- */

arrow_texts *arrow_texts_keep(arrow_texts *texts)
{
    atomic_fetch_add(&texts->references, 1);
    return texts;
}

void arrow_texts_free(arrow_texts *texts)
{
    if (!texts || atomic_fetch_sub(&texts->references, 1) != 1) return;
    free(texts->offsets);
    free(texts->data);
    free(texts->map);
    free(texts);
}

static void release_texts(void *user)
{
    arrow_texts_free(user);
}

int arrow_texts_schema(struct ArrowSchema *out, const char *name, bool nullable, const arrow_texts *texts)
{
    return arrow_schema_init(out, texts->is_large ? "U" : "u", name, nullable, 0);
}

int arrow_texts_array(struct ArrowArray *out, arrow_texts *texts)
{
    void *none[3] = {NULL, NULL, NULL};
    if (arrow_array_init(out, texts->count, none, 3, 0) != 0) return ENOMEM;
    arrow_array_borrow(out, 1, texts->offsets, NULL, NULL);
    arrow_array_borrow(out, 2, texts->data, release_texts, arrow_texts_keep(texts));
    return 0;
}
