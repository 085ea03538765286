/* slow_layer.c - a layer that takes longer than its like: ranges that differ only in the number at their end */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/memory/large.h"
#include "report/findings/finding.h"

enum { LEAST_LAYERS = 4 };

/* Bytes of the name before "_" or "." and a number at its end; 0: it has none. */
static size_t base_size(hd_string name)
{
    size_t size = name.size;
    while (size && hd_json_is_digit(name.data[size - 1])) size--;
    bool has_number = size && size < name.size && (name.data[size - 1] == '_' || name.data[size - 1] == '.');
    return has_number ? size : 0;
}

static bool has_number(hd_string name)
{
    return base_size(name) && !findings_begins(name, "ProfilerStep");
}

/* A layer is worth naming if it takes a twentieth of the whole longer. */
static bool is_worth(const findings *f, int64_t ns)
{
    return findings_is_worth(f, ns / 5);
}

typedef struct layer {
    hd_string name;
    size_t base;
    uint32_t lane;
    int64_t ns, row;
} layer;

static int by_layer(const void *a, const void *b)
{
    const layer *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    size_t size = x->base < y->base ? x->base : y->base;
    int order = memcmp(x->name.data, y->name.data, size);
    if (order) return order;
    if (x->base != y->base) return x->base < y->base ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The slowest of layers of one kind, if it takes 1.5 times the median and is beyond the quartiles by 1.5 times their
 * distance; NULL. */
static const layer *slowest(const layer *list, size_t count)
{
    int64_t median = list[count / 2].ns, low = list[count / 4].ns, high = list[(count - 1) - count / 4].ns;
    const layer *of = &list[count - 1];
    if (count < LEAST_LAYERS || of->ns - median <= median / 2) return NULL;
    return of->ns - high > (high - low) + (high - low) / 2 ? of : NULL;
}

static hd_status find_in(findings *f, const finding_rule *rule, const layer *list, size_t count, hd_error *err)
{
    const layer *best = NULL;
    int64_t median = 0;
    size_t alike = 0;
    char name[72], length[HD_VALUE_TEXT_BYTES], usual[HD_VALUE_TEXT_BYTES];
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && list[end].lane == list[i].lane && list[end].base == list[i].base &&
                          !memcmp(list[end].name.data, list[i].name.data, list[i].base);)
            end++;
        const layer *of = slowest(list + i, end - i);
        int64_t usual_ns = list[i + (end - i) / 2].ns;
        if (!of || (best && of->ns - usual_ns <= best->ns - median)) continue;
        best = of;
        median = usual_ns;
        alike = end - i;
    }
    if (!best || !is_worth(f, best->ns - median)) return HD_OK;
    finding *of = findings_add(f, rule);
    if (!of) return HD_NOMEM(err);
    of->amount = best->ns - median;
    of->events = 1;
    of->reason = "what happens in the layer is in the other findings";
    findings_show(f, best->row, best->ns);
    snprintf(of->text, sizeof of->text,
             "One layer, %s, takes the host %s, %.2f times the median of the %zu calls of its kind, %s.",
             findings_longest(name, f, of), hd_text_duration(length, best->ns), (double)best->ns / (double)median,
             alike, hd_text_duration(usual, median));
    return HD_OK;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    bool any;
    gpu_slices slices = {0};
    size_t count = 0;
    bool any_worth = false;
    uint8_t *names = findings_choose_names(&any, f, has_number);
    hd_status status = names ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && any)
        status = gpu_slices_named(&slices, &f->scope, 1u << HD_ROLE_PYTHON | 1u << HD_ROLE_ANNOTATION, names, err);
    free(names);
    layer *list = status == HD_OK ? hd_large_new(slices.count + 1, sizeof *list, f->scope.large) : NULL;
    if (status == HD_OK && !list) status = HD_NOMEM(err);
    for (size_t i = 0; list && i < slices.count; i++) {
        const gpu_slice *s = &slices.list[i];
        hd_string name = hd_trace_string(f->scope.trace, s->name);
        if (s->start < f->from || s->end > f->until || s->end <= s->start) continue;
        any_worth |= is_worth(f, s->end - s->start);
        list[count++] = (layer){name, base_size(name), s->lane, s->end - s->start, (int64_t)s->row};
    }
    if (any_worth && !hd_large_sort(list, count, sizeof *list, by_layer, f->scope.large)) status = HD_NOMEM(err);
    if (any_worth && status == HD_OK) status = find_in(f, rule, list, count, err);
    hd_large_free(list);
    gpu_slices_deinit(&slices);
    return status;
}

const finding_rule finding_slow_layer = {
    .about.code = "slow-layer",
    .about.severity = "note",
    .about.meaning = "a layer takes longer than others of its kind",
    .about.advice =
        "Look at what only this layer does: heddle view at its start. The first one often warms up (module loading, "
        "autotuning, allocation): then record later.",
    .find = find,
};
