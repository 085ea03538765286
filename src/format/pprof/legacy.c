/* legacy.c - formats of gperftools and old Go before protobuf -> samples
 *
 * Format   CPU: words of 4 or 8 bytes of either order, then the lines of /proc/self/maps. Heap and growth: text, one
 *          stack per line, then the mappings. Both are read like legacy_profile.go of github.com/google/pprof:
 *          addresses of callers are return addresses, so 1 is subtracted; sampled sizes are scaled up
 * Sniffs   the header
 * Maps     stack -> one sample for each value: samples, cpu; objects, space; alloc_…, inuse_…
 * Errors   FORMAT: not one sample
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/ends.h"
#include "base/text/hex.h"
#include "format/pprof/pprof.h"

enum { DEPTH_LIMIT = 1 << 16, ATTRIBUTES = 16 };

/* ---- text ---- */

typedef struct cursor {
    const char *at, *end;
} cursor;

static bool next_line(cursor *out, cursor *text)
{
    if (text->at == text->end) return false;
    const char *stop = memchr(text->at, '\n', (size_t)(text->end - text->at));
    hd_string line = hd_text_trim(text->at, (size_t)((stop ? stop : text->end) - text->at));
    *out = (cursor){line.data, line.data + line.size};
    text->at = stop ? stop + 1 : text->end;
    return true;
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && hd_is_blank(*c->at)) c->at++;
}

static bool skip_char(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool take_int(int64_t *out, cursor *c)
{
    skip_blanks(c);
    const char *start = c->at;
    if (c->at < c->end && *c->at == '-') c->at++;
    while (c->at < c->end && hd_is_digit(*c->at)) c->at++;
    return hd_text_int(out, start, (size_t)(c->at - start));
}

/* With or without 0x. */
static bool take_hex(uint64_t *out, cursor *c)
{
    skip_blanks(c);
    if (c->end - c->at > 2 && c->at[0] == '0' && (c->at[1] | 0x20) == 'x') c->at += 2;
    const char *start = c->at;
    *out = 0;
    while (c->at < c->end && hd_hex_digit(*c->at) >= 0 && c->at - start < 17)
        *out = *out << 4 | (unsigned)hd_hex_digit(*c->at++);
    return c->at > start && c->at - start <= 16;
}

static hd_string take_word(cursor *c)
{
    skip_blanks(c);
    const char *start = c->at;
    while (c->at < c->end && !hd_is_blank(*c->at)) c->at++;
    return (hd_string){start, (size_t)(c->at - start)};
}

static hd_string rest_of(cursor *c)
{
    return hd_text_trim(c->at, (size_t)(c->end - c->at));
}

/* ---- what was mapped where ---- */

/* "source=/home": the value of $source in the paths below. */
typedef struct attribute {
    hd_string name, value;
} attribute;

typedef struct attributes {
    attribute list[ATTRIBUTES];
    size_t count;
} attributes;

static bool take_attribute(attributes *all, cursor line)
{
    const char *equals = memchr(line.at, '=', (size_t)(line.end - line.at));
    if (!equals || all->count == ATTRIBUTES || memchr(line.at, ' ', (size_t)(equals - line.at))) return false;
    all->list[all->count++] = (attribute){hd_text_trim(line.at, (size_t)(equals - line.at)),
                                          hd_text_trim(equals + 1, (size_t)(line.end - equals) - 1)};
    return true;
}

/* A path that begins with $name. false: no memory. */
static bool expand(hd_string *path, pprof_profile *p, const attributes *all)
{
    for (size_t i = all->count; i-- > 0;) {
        const attribute *a = &all->list[i];
        size_t size = a->name.size + 1;
        if (!a->name.size || path->size < size || path->data[0] != '$' ||
            memcmp(path->data + 1, a->name.data, size - 1) != 0)
            continue;
        char *longer = hd_arena_alloc(&p->arena, a->value.size + path->size - size + 1);
        if (!longer) return false;
        memcpy(longer, a->value.data, a->value.size);
        memcpy(longer + a->value.size, path->data + size, path->size - size);
        *path = (hd_string){longer, a->value.size + path->size - size};
        return true;
    }
    return true;
}

/* "start-end perms offset device inode path" as /proc/self/maps has it, or "start-end: path". */
static hd_status read_mapping(pprof_profile *p, const attributes *all, cursor line)
{
    uint64_t start, end, offset = 0;
    const char *place = line.at;
    if (!take_hex(&start, &line) || !skip_char(&line, '-') || !take_hex(&end, &line))
        return pprof_count(p, PPROF_LINE, 1, place);
    skip_char(&line, ':');
    cursor long_form = line;
    hd_string perms = take_word(&long_form);
    bool is_long = perms.size == 4 && (perms.data[0] == 'r' || perms.data[0] == '-') && take_hex(&offset, &long_form);
    if (is_long && perms.data[2] != 'x') return HD_OK; /* no code */
    if (is_long) {
        take_word(&long_form); /* device */
        take_word(&long_form); /* inode */
        line = long_form;
    }
    hd_mapping *m = hd_mappings_add(&p->mappings);
    if (!m) return HD_NOMEM(p->err);
    m->start = start;
    m->end = end;
    m->offset = offset;
    m->file = rest_of(&line);
    return expand(&m->file, p, all) ? HD_OK : HD_NOMEM(p->err);
}

static bool is_map_title(cursor line)
{
    hd_string s = rest_of(&line);
    return hd_starts_with(s.data, s.size, "MAPPED_LIBRARIES") || hd_starts_with(s.data, s.size, "--- Memory map");
}

static hd_status read_mappings(pprof_profile *p, cursor text)
{
    cursor line;
    attributes all = {.count = 0};
    while (next_line(&line, &text)) {
        if (line.at == line.end || *line.at == '#' || is_map_title(line)) continue;
        if (!take_attribute(&all, line)) HD_TRY(read_mapping(p, &all, line));
    }
    hd_mappings_sort(&p->mappings);
    return HD_OK;
}

/* ---- stacks ---- */

typedef struct stack {
    uint64_t *at; /* the leaf first */
    size_t count, capacity;
} stack;

static bool push_address(stack *s, uint64_t address)
{
    if (!hd_grow((void **)&s->at, &s->capacity, s->count, sizeof *s->at)) return false;
    s->at[s->count++] = address;
    return true;
}

static hd_status add_stack(pprof_profile *p, const stack *s, const int64_t *values)
{
    uint32_t node = HD_STACK_NONE;
    hd_frame_kind kind;
    for (size_t i = s->count; i-- > 0;) {
        uint32_t name =
            hd_mappings_name(&p->mappings, &kind, &p->samples, s->at[i], hd_mappings_find(&p->mappings, s->at[i]));
        node = hd_stacks_push(p->samples.stacks, node, name, kind);
    }
    if (node == HD_NONE) return HD_NOMEM(p->err);
    return pprof_add_sample(p, node, values, p->type_count);
}

/* ---- CPU ---- */

typedef struct words {
    const uint8_t *data;
    size_t size, at;
    unsigned width;
    bool big;
} words;

static bool take_raw(uint64_t *out, words *w)
{
    if (w->size - w->at < w->width) return false;
    *out = hd_le_get(w->data + w->at, w->width);
    if (w->big) *out = __builtin_bswap64(*out) >> (64 - 8 * w->width);
    w->at += w->width;
    return true;
}

/* 0, 3, 0 (version), period in µs, 0. */
static bool read_cpu_header(words *out, uint64_t *out_period, const uint8_t *data, size_t size)
{
    for (unsigned i = 0; i < 4; i++) {
        uint64_t v[5] = {1};
        words w = {.data = data, .size = size, .width = i & 1 ? 4 : 8, .big = i >> 1};
        for (size_t k = 0; k < 5 && take_raw(&v[k], &w); k++) {}
        if (w.at != 5 * w.width || v[0] || v[1] != 3 || v[2] || !v[3] || v[3] > INT64_MAX / 1000 || v[4]) continue;
        *out = w;
        *out_period = v[3];
        return true;
    }
    return false;
}

typedef struct cpu_sample {
    int64_t count;
    size_t at; /* where its addresses begin, in words */
    size_t depth;
    bool removed[2]; /* frames of the signal handler, after the leaf */
} cpu_sample;

typedef struct cpu_profile {
    words words;
    size_t first; /* of the samples */
    cpu_sample *list;
    size_t count, capacity;
} cpu_profile;

static uint64_t word_at(const cpu_profile *c, size_t at)
{
    uint64_t value = 0;
    words w = c->words;
    w.at = at * w.width;
    take_raw(&value, &w);
    return value;
}

/* *out_whole: the trailer 0, 1, 0 was there. */
static hd_status list_samples(pprof_profile *p, cpu_profile *c, bool *out_whole)
{
    uint64_t count, depth;
    words *w = &c->words;
    *out_whole = false;
    while (!*out_whole) {
        size_t start = w->at;
        if (!take_raw(&count, w) || !take_raw(&depth, w) || depth > (w->size - w->at) / w->width) return HD_OK;
        if (depth > DEPTH_LIMIT || count > INT64_MAX) return pprof_count(p, PPROF_DAMAGED, 1, w->data + start);
        size_t at = w->at / w->width;
        w->at += (size_t)depth * w->width;
        if (count == 0 && depth == 1 && word_at(c, at) == 0) {
            *out_whole = true;
            continue;
        }
        if (!hd_grow((void **)&c->list, &c->capacity, c->count, sizeof *c->list)) return HD_NOMEM(p->err);
        c->list[c->count++] = (cpu_sample){.count = (int64_t)count, .at = at, .depth = (size_t)depth};
    }
    return HD_OK;
}

/* The frame after the leaf, of those not removed; 0: none. */
static size_t second_frame(const cpu_sample *s)
{
    size_t second = 1 + s->removed[0] + s->removed[1];
    return second < s->depth ? s->at + second : 0;
}

/* If nearly all samples have the same frame after the leaf, it is the profiler's signal handler. At most twice. */
static hd_status remove_signal_frames(pprof_profile *p, cpu_profile *c)
{
    enum { SIMILAR = 32 };
    for (int round = 0; round < 2; round++) {
        hd_map counts = {0};
        uint64_t handler = 0;
        size_t needed = c->count - c->count / SIMILAR;
        bool found = false;
        for (size_t i = 0; i < c->count && !found; i++) {
            size_t at = second_frame(&c->list[i]);
            if (!at) continue;
            hd_map_entry *entry = hd_map_at(&counts, word_at(c, at), 0);
            if (!entry) {
                hd_map_deinit(&counts);
                return HD_NOMEM(p->err);
            }
            found = ++entry->value >= needed;
            handler = word_at(c, at);
        }
        hd_map_deinit(&counts);
        if (!found) return HD_OK;
        for (size_t i = 0; i < c->count; i++) {
            size_t at = second_frame(&c->list[i]);
            if (!at || word_at(c, at) != handler) continue;
            c->list[i].removed[c->list[i].removed[0]] = true;
            HD_TRY(pprof_count(p, PPROF_SIGNAL_FRAMES, 1, c->words.data + at * c->words.width));
        }
    }
    return HD_OK;
}

/* The leaf may occur twice: from the signal, and from the unwinder. */
static hd_status add_cpu_sample(pprof_profile *p, const cpu_profile *c, const cpu_sample *sample, stack *s,
                                int64_t period)
{
    int64_t values[2] = {sample->count, 0};
    size_t removed = (size_t)sample->removed[0] + sample->removed[1];
    s->count = 0;
    for (size_t i = 0; i < sample->depth; i++) {
        if (i > 0 && i <= removed) continue;
        uint64_t address = word_at(c, sample->at + i) - (i > 0);
        if (s->count == 1 && s->at[0] == address + 1) continue;
        if (!push_address(s, address)) return HD_NOMEM(p->err);
    }
    if (__builtin_mul_overflow(sample->count, period, &values[1])) {
        values[1] = INT64_MAX;
        HD_TRY(pprof_count(p, PPROF_DAMAGED, 1, c->words.data + sample->at * c->words.width));
    }
    return add_stack(p, s, values);
}

static hd_status read_cpu(pprof_profile *p, cpu_profile *c, stack *s)
{
    uint64_t period = 0;
    bool whole;
    read_cpu_header(&c->words, &period, p->data, p->size);
    HD_TRY(pprof_add_type(p, (hd_string){"samples", 7}, (hd_string){"count", 5}));
    HD_TRY(pprof_add_type(p, (hd_string){"cpu", 3}, (hd_string){"nanoseconds", 11}));
    p->first_type = 1;
    pprof_tell_text(p, "period_type", (hd_string){"cpu", 3});
    pprof_tell_text(p, "period_unit", (hd_string){"nanoseconds", 11});
    pprof_tell_int(p, "period", (int64_t)period * 1000);
    HD_TRY(list_samples(p, c, &whole));
    if (whole)
        HD_TRY(read_mappings(p, (cursor){(const char *)p->data + c->words.at, (const char *)p->data + p->size}));
    else
        HD_TRY(pprof_count(p, PPROF_TRUNCATED, 1, p->data + c->words.at));
    HD_TRY(remove_signal_frames(p, c));
    for (size_t i = 0; i < c->count; i++) HD_TRY(add_cpu_sample(p, c, &c->list[i], s, (int64_t)period * 1000));
    return HD_OK;
}

/* ---- heap ---- */

typedef struct heap_line {
    int64_t in_use[2], allocated[2]; /* objects, bytes */
} heap_line;

typedef struct heap_header {
    heap_line sums;
    int64_t rate; /* bytes between samples, 1: all were taken */
    bool scaled, has_allocated;
} heap_header;

/* "144: 8498176 [   144:  8498176] @" */
static bool take_heap_line(heap_line *out, cursor *c)
{
    return take_int(&out->in_use[0], c) && skip_char(c, ':') && take_int(&out->in_use[1], c) && skip_char(c, '[') &&
           take_int(&out->allocated[0], c) && skip_char(c, ':') && take_int(&out->allocated[1], c) &&
           skip_char(c, ']') && skip_char(c, '@');
}

/* "heap profile: … @ heap_v2/524288" */
static bool read_heap_header(heap_header *out, cursor line)
{
    static const char title[] = "heap profile:";
    *out = (heap_header){.rate = 1};
    if (!hd_starts_with(line.at, (size_t)(line.end - line.at), title)) return false;
    line.at += sizeof title - 1;
    if (!take_heap_line(&out->sums, &line)) return false;
    hd_string kind = rest_of(&line);
    const char *slash = memchr(kind.data, '/', kind.size);
    int64_t rate = 0;
    if (slash) {
        hd_text_int(&rate, slash + 1, (size_t)(kind.data + kind.size - slash) - 1);
        kind.size = (size_t)(slash - kind.data);
    }
    bool plain = kind.size == 4 && memcmp(kind.data, "heap", 4) == 0; /* Go: twice the rate */
    bool v2 =
        kind.size > 3 && hd_starts_with(kind.data, kind.size, "heap") && hd_ends_with(kind.data, kind.size, "_v2");
    out->scaled = plain || v2;
    if (out->scaled) out->rate = plain ? rate / 2 : rate;
    bool is_heap = hd_starts_with(kind.data, kind.size, "heap"); /* growth and fragmentation have no allocations */
    const heap_line *s = &out->sums;
    for (int i = 0; i < 2; i++)
        out->has_allocated |= is_heap && s->allocated[i] != s->in_use[i] && s->allocated[i] != 0;
    return true;
}

/* Estimates the real amount from samples of one byte in `rate`; false: more than any machine has. */
static bool scale(int64_t *count, int64_t *bytes, const heap_header *h)
{
    if (*count == 0 || *bytes == 0) *count = *bytes = 0;
    if (h->rate <= 1 || *count == 0) return true;
    double size = (double)*bytes / (double)*count, factor = 1 / (1 - exp(-size / (double)h->rate));
    if (!(fabs((double)*count * factor) < 9.2e18 && fabs((double)*bytes * factor) < 9.2e18)) return false;
    *count = (int64_t)((double)*count * factor);
    *bytes = (int64_t)((double)*bytes * factor);
    return true;
}

static hd_status add_heap_line(pprof_profile *p, cursor line, const heap_header *h, stack *s, uint32_t bytes_key)
{
    heap_line l;
    uint64_t address;
    int64_t values[4], block = 0;
    size_t n = 0;
    const char *place = line.at;
    bool fine = take_heap_line(&l, &line);
    for (s->count = 0; fine && line.at < line.end; skip_blanks(&line)) {
        fine = take_hex(&address, &line);
        if (fine && !push_address(s, address - 1)) return HD_NOMEM(p->err);
    }
    const int64_t(*parts[2])[2] = {&l.allocated, &l.in_use};
    for (int i = h->has_allocated ? 0 : 1; fine && i < 2; i++) {
        int64_t count = (*parts[i])[0], bytes = (*parts[i])[1];
        fine = count != 0 || bytes == 0;
        if (!fine) break;
        if (count) block = bytes / count;
        fine = !h->scaled || scale(&count, &bytes, h);
        values[n++] = count;
        values[n++] = bytes;
    }
    if (!fine) return pprof_count(p, PPROF_LINE, 1, place);
    HD_TRY(pprof_add_label(p, bytes_key, HD_ARG_INT, block));
    return add_stack(p, s, values);
}

static hd_status add_heap_types(pprof_profile *p, const heap_header *h)
{
    static const char *const all[] = {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"};
    static const char *const plain[] = {"objects", "space"};
    size_t count = h->has_allocated ? 4 : 2;
    for (size_t i = 0; i < count; i++) {
        const char *name = h->has_allocated ? all[i] : plain[i], *unit = i % 2 ? "bytes" : "count";
        HD_TRY(pprof_add_type(p, (hd_string){name, strlen(name)}, (hd_string){unit, strlen(unit)}));
    }
    p->first_type = count - 1;
    pprof_tell_text(p, "period_type", (hd_string){"space", 5});
    pprof_tell_text(p, "period_unit", (hd_string){"bytes", 5});
    pprof_tell_int(p, "period", h->rate);
    return HD_OK;
}

static hd_status read_heap(pprof_profile *p, stack *s)
{
    heap_header h;
    cursor text = {(const char *)p->data, (const char *)p->data + p->size}, line;
    bool is_cut = p->data[p->size - 1] != '\n';
    if (is_cut) HD_TRY(pprof_count(p, PPROF_TRUNCATED, 1, text.end - 1));
    next_line(&line, &text);
    read_heap_header(&h, line);
    HD_TRY(add_heap_types(p, &h));
    cursor maps = text, samples = text;
    while (next_line(&line, &maps) && !is_map_title(line)) {}
    HD_TRY(read_mappings(p, maps));
    uint32_t bytes_key = hd_builder_intern_text(p->builder, "bytes");
    while (next_line(&line, &samples) && !is_map_title(line)) {
        if (line.at == line.end || *line.at == '#') continue;
        if (is_cut && samples.at == samples.end) break; /* its numbers may be shorter than they were */
        HD_TRY(add_heap_line(p, line, &h, s, bytes_key));
    }
    return HD_OK;
}

/* ---- both ---- */

pprof_legacy pprof_legacy_of(const unsigned char *head, size_t size)
{
    words w;
    uint64_t period;
    heap_header h;
    cursor text = {(const char *)head, (const char *)head + size}, line;
    if (read_cpu_header(&w, &period, head, size)) return PPROF_CPU;
    return next_line(&line, &text) && read_heap_header(&h, line) ? PPROF_HEAP : PPROF_NO_LEGACY;
}

hd_status pprof_read_legacy(pprof_profile *p, pprof_legacy kind)
{
    stack s = {0};
    cpu_profile c = {0};
    hd_status status = kind == PPROF_CPU ? read_cpu(p, &c, &s) : read_heap(p, &s);
    free(c.list);
    free(s.at);
    return status;
}
