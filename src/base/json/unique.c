/* unique.c - JSON text in which no object has a key twice
 *
 * One pass lists the members of all objects. Sorted by object and key, equal keys are adjacent.
 */
#include "base/json/unique.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/memory/vector.h"
#include "base/sorted.h"

enum { DEPTH_LIMIT = 65536 };

typedef struct member {
    size_t object; /* position of its `{` */
    size_t from, to;
    const char *key; /* without escapes */
    size_t key_size;
    char *decoded; /* malloc'ed, if there were any */
} member;

typedef struct walk {
    const char *text;
    size_t size;
    member *members;
    size_t count, capacity;
    struct open {        /* containers */
        size_t at, last; /* last: its member that is being read; SIZE_MAX: none */
        bool is_object, wants_key;
    } * open;
    size_t depth, open_capacity;
} walk;

/* The position after the string whose quote is at `at`. */
static size_t skip_string(bool *escaped, const walk *w, size_t at)
{
    *escaped = false;
    for (at++; w->text[at] != '"'; at++) {
        if (w->text[at] != '\\') continue;
        *escaped = true;
        at++;
    }
    return at + 1;
}

static hd_status add_member(walk *w, size_t at, size_t end, bool escaped, hd_error *err)
{
    struct open *top = &w->open[w->depth - 1];
    if (!hd_grow((void **)&w->members, &w->capacity, w->count, sizeof *w->members)) return HD_NOMEM(err);
    member m = {.object = top->at, .from = at, .key = w->text + at + 1, .key_size = end - at - 2};
    top->last = w->count;
    top->wants_key = false;
    if (escaped) {
        hd_json_text key = {.data = m.key, .size = m.key_size, .escaped = true, .wide = true};
        size_t size;
        m.decoded = malloc(m.key_size + 1);
        if (!m.decoded) return HD_NOMEM(err);
        if (hd_json_decode(m.decoded, &size, &key)) m.key = m.decoded, m.key_size = size;
    }
    w->members[w->count++] = m;
    return HD_OK;
}

static void end_member(walk *w, size_t at)
{
    struct open *top = w->depth ? &w->open[w->depth - 1] : NULL;
    if (!top || !top->is_object) return;
    if (top->last != SIZE_MAX) w->members[top->last].to = at;
    top->last = SIZE_MAX;
    top->wants_key = true;
}

/* The text is valid. */
static hd_status list_members(walk *w, hd_error *err)
{
    bool escaped;
    for (size_t at = 0; at < w->size;) {
        char c = w->text[at];
        if (c == '"') {
            size_t end = skip_string(&escaped, w, at);
            if (w->depth && w->open[w->depth - 1].wants_key) HD_TRY(add_member(w, at, end, escaped, err));
            at = end;
            continue;
        }
        if (c == '{' || c == '[') {
            if (!hd_grow((void **)&w->open, &w->open_capacity, w->depth, sizeof *w->open)) return HD_NOMEM(err);
            w->open[w->depth++] = (struct open){at, SIZE_MAX, c == '{', c == '{'};
        } else if (c == ',' || c == '}' || c == ']') {
            end_member(w, at);
            w->depth -= c != ',';
        }
        at++;
    }
    return HD_OK;
}

static int by_object_and_key(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    size_t size = x->key_size < y->key_size ? x->key_size : y->key_size;
    int order = size ? memcmp(x->key, y->key, size) : 0;
    if (order) return order;
    if (x->key_size != y->key_size) return x->key_size < y->key_size ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static bool same_key(const member *a, const member *b)
{
    return a->object == b->object && a->key_size == b->key_size &&
           (a->key_size == 0 || memcmp(a->key, b->key, a->key_size) == 0);
}

static int by_place(const void *a, const void *b)
{
    const member *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Keeps only the members that a later one replaces, in text order. */
static void keep_replaced(walk *w)
{
    size_t gone = 0;
    if (w->count) hd_sort(w->members, w->count, sizeof *w->members, by_object_and_key);
    for (size_t i = 0, last; i < w->count; i = last + 1) {
        for (last = i; last + 1 < w->count && same_key(&w->members[i], &w->members[last + 1]);) last++;
        for (size_t k = i; k <= last; k++) free(w->members[k].decoded);
        for (size_t k = i; k < last; k++) w->members[gone++] = w->members[k];
    }
    w->count = gone;
    if (gone) hd_sort(w->members, gone, sizeof *w->members, by_place);
}

hd_status hd_json_put_unique(hd_json_out *out, uint64_t *out_gone, const char *text, size_t size, hd_error *err)
{
    walk w = {.text = text, .size = size};
    size_t at = 0;
    *out_gone = 0;
    if (!hd_json_valid(text, size, DEPTH_LIMIT)) {
        hd_json_put_string(out, text, size);
        return HD_OK;
    }
    hd_status status = memchr(text, '{', size) ? list_members(&w, err) : HD_OK;
    keep_replaced(&w);
    *out_gone = w.count;
    for (size_t i = 0; status == HD_OK && i < w.count; i++) {
        if (w.members[i].from < at) continue; /* within a removed member */
        hd_json_put(out, text + at, w.members[i].from - at);
        at = w.members[i].to + 1; /* with its comma: another follows */
    }
    hd_json_put(out, text + at, size - at);
    free(w.members);
    free(w.open);
    return status;
}
