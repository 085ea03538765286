/* maps.c - functions that no file has: the trace's `symbols`, and maps that JIT compilers write for perf
 *
 * Addresses are used again when code is freed, and a map is only appended to: of each address the last line holds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/io/lines.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/unwind/perf_map.h"
#include "symbolize/impl.h"

hd_status sym_range_add(symbolizer *s, uint64_t start, uint64_t size, const char *name, size_t name_size)
{
    uint64_t end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
    if (end == start) return HD_OK;
    if (s->range_count >= HD_NONE ||
        !hd_grow((void **)&s->ranges, &s->range_capacity, s->range_count, sizeof *s->ranges))
        return HD_NOMEM(s->err);
    uint32_t text = sym_answers_text(&s->process.answers, name, name_size);
    if (text == HD_STRING_NONE) return HD_NOMEM(s->err);
    s->ranges[s->range_count] = (sym_range){start, end, text, (uint32_t)s->range_count};
    s->range_count++;
    return HD_OK;
}

/* ---- maps of perf ---- */

static bool is_empty(const hd_line *line)
{
    for (size_t i = 0; i < line->size; i++) {
        if (line->text[i] != ' ' && line->text[i] != '\t') return false;
    }
    return true;
}

static hd_status read_lines(symbolizer *s, hd_lines *lines, const char *path)
{
    hd_line line;
    hd_status status;
    bool is_map = false;
    hd_perf_symbol symbol;
    uint64_t first_bad = 0, bad = 0;
    while ((status = hd_lines_next(&line, lines, s->err)) == HD_OK) {
        if (hd_perf_map_line(&symbol, line.text, line.size)) {
            is_map = true;
            HD_TRY(sym_range_add(s, symbol.start, symbol.size, symbol.name, symbol.name_size));
        } else if (!is_empty(&line)) {
            first_bad = first_bad ? first_bad : line.number;
            s->bad_symbols++;
            if (!is_map && ++bad > 64) break;
        }
    }
    if (status != HD_END && status != HD_OK) return status;
    if (first_bad && !is_map)
        return hd_error_set(s->err, HD_ERR_FORMAT, path, HD_OFFSET_NONE,
                            "line %llu is not START SIZE NAME in hexadecimal, as a map of perf has it",
                            (unsigned long long)first_bad);
    return HD_OK;
}

hd_status sym_maps_read(symbolizer *s)
{
    for (size_t i = 0; i < s->options->perf_map_count; i++) {
        const char *path = s->options->perf_maps[i];
        hd_input *input;
        HD_TRY(hd_input_open(&input, path, NULL, s->err));
        hd_lines lines = {.input = input};
        hd_status status = read_lines(s, &lines, path);
        hd_lines_deinit(&lines);
        hd_input_close(input);
        if (status != HD_OK) return status;
    }
    return HD_OK;
}

/* ---- ranges ---- */

static int by_start(const void *a, const void *b)
{
    const sym_range *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

typedef struct settling {
    sym_range *heap; /* ranges that have begun and may not have ended, the last added on top */
    size_t heap_count;
    sym_range *out;
    size_t out_count;
} settling;

static void heap_push(settling *t, sym_range range)
{
    HD_HEAP_PUSH(t->heap, t->heap_count, range, x, y, x->order > y->order);
}

static void heap_pop(settling *t)
{
    HD_HEAP_POP(t->heap, t->heap_count, x, y, x->order > y->order);
}

/* Sets the range that counts from `from` up to `until`, where the next one begins. */
static void settle_until(settling *t, uint64_t from, uint64_t until)
{
    while (from < until && t->heap_count) {
        sym_range top = t->heap[0];
        if (top.end <= from) {
            heap_pop(t);
            continue;
        }
        uint64_t end = top.end < until ? top.end : until;
        sym_range *last = t->out_count ? &t->out[t->out_count - 1] : NULL;
        if (last && last->order == top.order && last->end == from)
            last->end = end;
        else
            t->out[t->out_count++] = (sym_range){from, end, top.text, top.order};
        from = end;
    }
}

/* A sweep. Every range begins one piece and ends one, so there are at most twice as many. */
hd_status sym_ranges_settle(symbolizer *s)
{
    size_t count = s->range_count;
    if (!count) return HD_OK;
    settling t = {.heap = malloc(count * sizeof *t.heap), .out = malloc(2 * count * sizeof *t.out)};
    if (!t.heap || !t.out) {
        free(t.heap);
        free(t.out);
        return HD_NOMEM(s->err);
    }
    hd_sort(s->ranges, count, sizeof *s->ranges, by_start);
    for (size_t i = 0; i < count; i++) {
        heap_push(&t, s->ranges[i]);
        settle_until(&t, s->ranges[i].start, i + 1 < count ? s->ranges[i + 1].start : UINT64_MAX);
    }
    free(t.heap);
    free(s->ranges);
    s->ranges = t.out;
    s->range_count = t.out_count;
    return HD_OK;
}

const sym_range *sym_range_at(const symbolizer *s, uint64_t address)
{
    size_t begun = hd_sorted_up_to(address, s->ranges, s->range_count, sizeof *s->ranges);
    return begun && address < s->ranges[begun - 1].end ? &s->ranges[begun - 1] : NULL;
}
