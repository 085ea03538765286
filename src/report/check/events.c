/* events.c - checks of single events, tracks and the clock: durations, begins, times, order, ids, counters */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "report/check/check.h"
#include "trace/event.h"
#include "trace/lazy.h"

/* ---- slices and ends ---- */

/* The slice before the one at hand, of one lane. */
typedef struct last_slice {
    int64_t start_ns;
    uint64_t row;
} last_slice;

static void check_slice_block(check *c, const hd_block *block, last_slice *lasts)
{
    const hd_column *columns = block->columns;
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t track = (uint32_t)hd_column_at(&columns[HD_COL_TRACK], i);
        if (track == HD_NONE) continue;
        uint64_t row = block->first_row + i;
        int64_t start = hd_column_at(&columns[HD_COL_START], i), duration = hd_column_at(&columns[HD_COL_DURATION], i);
        if (duration == HD_NO_TIME) {
            bool begin = hd_never_ends(duration, hd_column_at(&columns[HD_COL_PHASE], i));
            check_found(c, begin ? CHECK_BEGIN_WITHOUT_END : CHECK_NO_DURATION, track, CHECK_EVENT(HD_KIND_SLICE, row));
        } else if (check_is_negative(duration)) {
            check_example example = CHECK_EVENT(HD_KIND_SLICE, row);
            example.value_ns = duration;
            check_found(c, CHECK_NEGATIVE_DURATION, track, example);
        }
        if (start == HD_NO_TIME) continue;
        last_slice *last = &lasts[hd_trace_track_at(c->trace, track)->same_as];
        int64_t back;
        if (last->start_ns != HD_NO_TIME && start < last->start_ns) {
            if (__builtin_sub_overflow(last->start_ns, start, &back)) back = INT64_MAX;
            check_found(c, CHECK_OUT_OF_ORDER, track, CHECK_PAIR(HD_KIND_SLICE, row, HD_KIND_SLICE, last->row, back));
        }
        *last = (last_slice){start, row};
    }
}

static hd_status check_slices(check *c, hd_error *err)
{
    uint32_t tracks = hd_trace_track_count(c->trace);
    last_slice *lasts = malloc((size_t)tracks * sizeof *lasts + 1);
    if (!lasts) return HD_NOMEM(err);
    for (uint32_t i = 0; i < tracks; i++) lasts[i] = (last_slice){.start_ns = HD_NO_TIME};
    for (size_t b = 0; b < hd_trace_block_count(c->trace, HD_KIND_SLICE); b++)
        check_slice_block(c, hd_trace_block_at(c->trace, HD_KIND_SLICE, b), lasts);
    free(lasts);
    return HD_OK;
}

/* Whether an end and the slice that it closes have different names. */
static bool is_of_other_name(const check *c, const hd_block *ends, uint32_t row, int64_t slice)
{
    uint32_t at, name = (uint32_t)hd_column_at(&ends->columns[HD_COL_NAME], row);
    const hd_block *block = hd_trace_columns_of(&at, c->trace, HD_KIND_SLICE, (uint64_t)slice);
    uint32_t begun = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], at);
    return name != begun && hd_trace_string(c->trace, name).size && hd_trace_string(c->trace, begun).size;
}

static void check_ends(check *c)
{
    for (size_t b = 0; b < hd_trace_block_count(c->trace, HD_KIND_END); b++) {
        const hd_block *block = hd_trace_block_at(c->trace, HD_KIND_END, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], i);
            int64_t slice = hd_column_at(&block->columns[HD_COL_PARTNER], i);
            if (slice >= 0 && !is_of_other_name(c, block, i, slice)) continue;
            check_found(c, slice < 0 ? CHECK_END_WITHOUT_BEGIN : CHECK_END_OF_OTHER_NAME, track,
                        CHECK_EVENT(HD_KIND_END, block->first_row + i));
        }
    }
}

static void check_others(check *c)
{
    for (size_t b = 0; b < hd_trace_block_count(c->trace, HD_KIND_OTHER); b++) {
        const hd_block *block = hd_trace_block_at(c->trace, HD_KIND_OTHER, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            int64_t start = hd_column_at(&block->columns[HD_COL_START], i);
            if (!check_is_without_time(start, hd_column_at(&block->columns[HD_COL_PHASE], i))) continue;
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], i);
            check_found(c, CHECK_NO_TIME, track, CHECK_EVENT(HD_KIND_OTHER, block->first_row + i));
        }
    }
}

/* ---- counters ---- */

static bool is_numeric(const hd_trace *trace, const hd_event *event)
{
    const hd_shape *shape = hd_trace_shape_at(trace, event->shape);
    for (uint32_t i = 0; event->args && i < shape->key_count; i++) {
        if (shape->keys[i].scope != HD_SCOPE_ARGS) continue;
        hd_value value = {.type = (hd_arg_type)shape->keys[i].type};
        if (value.type == HD_ARG_INT || value.type == HD_ARG_DECIMAL || value.type == HD_ARG_NUMBER) continue;
        value.bits = hd_column_at(&event->args->columns[i], event->args_row);
        double number;
        if (value.type != HD_ARG_STRING || !hd_value_double(&number, trace, value) || number != number) return false;
    }
    return true;
}

static void check_counters(check *c)
{
    if (!hd_trace_facts_of(c->trace)->has_args) return;
    for (size_t b = 0; b < hd_trace_block_count(c->trace, HD_KIND_COUNTER); b++) {
        const hd_block *block = hd_trace_block_at(c->trace, HD_KIND_COUNTER, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (!is_numeric(c->trace, &event))
                check_found(c, CHECK_COUNTER_NOT_NUMERIC, event.track, CHECK_EVENT(HD_KIND_COUNTER, event.row));
        }
    }
}

/* ---- tracks ---- */

static void check_ids(check *c)
{
    check_example none = {.kind = -1, .other_kind = -1, .value_ns = HD_NO_TIME};
    for (uint32_t i = 0; i < hd_trace_track_count(c->trace); i++) {
        const hd_track *track = hd_trace_track_at(c->trace, i);
        uint64_t events = 0;
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) events += kind == HD_KIND_META ? 0 : track->rows[kind];
        if (track->same_as == i || events == 0 || track->kind == HD_TRACK_PROCESS) continue;
        check_finding *finding = check_finding_of(c, CHECK_MIXED_IDS, i);
        if (!finding) return;
        finding->count = events;
        check_keep(c, finding, none);
    }
}

hd_status check_events(check *c, hd_error *err)
{
    HD_TRY(check_slices(c, err));
    check_ends(c);
    check_others(c);
    check_counters(c);
    check_ids(c);
    return HD_OK;
}

/* ---- the clock ---- */

enum { SAMPLES_PER_BLOCK = 256 };
#define YEAR_NS INT64_C(31557600000000000)
#define MINUTE_NS INT64_C(60000000000)

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The times of some rows of every block, sorted; NULL: no memory. */
static int64_t *sample_times(size_t *out_count, const hd_trace *trace)
{
    size_t blocks = 0, count = 0;
    bool slices = hd_trace_row_count(trace, HD_KIND_SLICE) > 0;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) blocks += hd_trace_block_count(trace, (hd_kind)kind);
    int64_t *samples = malloc(blocks * SAMPLES_PER_BLOCK * sizeof *samples + 1);
    for (int kind = 0; samples && kind < HD_KIND_COUNT; kind++) {
        if (kind == HD_KIND_META || (slices && kind != HD_KIND_SLICE)) continue;
        for (size_t b = 0; b < hd_trace_block_count(trace, (hd_kind)kind); b++) {
            const hd_block *block = hd_trace_block_at(trace, (hd_kind)kind, b);
            uint64_t n = block->row_count < SAMPLES_PER_BLOCK ? block->row_count : SAMPLES_PER_BLOCK;
            for (uint64_t i = 0; i < n; i++) {
                int64_t at = hd_column_at(&block->columns[HD_COL_START], (uint32_t)(i * block->row_count / n));
                if (at != HD_NO_TIME) samples[count++] = at;
            }
        }
    }
    if (samples && count) hd_sort(samples, count, sizeof *samples, by_value);
    *out_count = count;
    return samples;
}

/* The plausible range of the trace: the middle four fifths of its slices, extended on both sides by twenty times their
 * length and a minute. */
static bool core_of(int64_t *low, int64_t *high, const hd_trace *trace)
{
    size_t count = 0;
    int64_t margin, *samples = sample_times(&count, trace);
    if (count) {
        *low = samples[count / 10];
        *high = samples[count - 1 - count / 10];
        if (__builtin_sub_overflow(*high, *low, &margin) || __builtin_mul_overflow(margin, INT64_C(20), &margin) ||
            __builtin_add_overflow(margin, MINUTE_NS, &margin))
            margin = INT64_MAX;
        if (__builtin_sub_overflow(*low, margin, low)) *low = INT64_MIN + 1;
        if (__builtin_add_overflow(*high, margin, high)) *high = INT64_MAX;
    }
    free(samples);
    return count > 0;
}

static void check_outliers(check *c, int64_t low, int64_t high)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (kind == HD_KIND_META) continue;
        for (size_t b = 0; b < hd_trace_block_count(c->trace, (hd_kind)kind); b++) {
            const hd_block *block = hd_trace_block_at(c->trace, (hd_kind)kind, b);
            if (block->start_ns == HD_NO_TIME || (block->start_ns >= low && block->end_ns <= high)) continue;
            for (uint32_t i = 0; i < block->row_count; i++) {
                int64_t at = hd_column_at(&block->columns[HD_COL_START], i);
                if (at == HD_NO_TIME || (at >= low && at <= high)) continue;
                uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], i);
                check_found(c, CHECK_TIME_OUTLIER, track, CHECK_EVENT(kind, block->first_row + i));
            }
        }
    }
}

/* The first and last events, as far as found: one of them has the wrong time. */
static check_example ends_of_span(const hd_trace *trace, const hd_trace_facts *facts, int64_t span)
{
    check_example out = {.kind = -1, .other_kind = -1, .value_ns = span};
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t b = 0; kind != HD_KIND_META && b < hd_trace_block_count(trace, (hd_kind)kind); b++) {
            const hd_block *block = hd_trace_block_at(trace, (hd_kind)kind, b);
            bool has_first = out.kind < 0 && block->start_ns <= facts->start_ns;
            bool has_last = out.other_kind < 0 && block->end_ns >= facts->end_ns;
            for (uint32_t i = 0; (has_first || has_last) && i < block->row_count; i++) {
                hd_event event;
                hd_block_event(&event, block, i);
                if (event.start_ns == HD_NO_TIME) continue;
                if (has_first && out.kind < 0 && event.start_ns == facts->start_ns) {
                    out.kind = (int8_t)kind;
                    out.row = event.row;
                }
                if (has_last && out.other_kind < 0 &&
                    hd_end_or_last(event.start_ns, event.duration_ns) == facts->end_ns) {
                    out.other_kind = (int8_t)kind;
                    out.other_row = event.row;
                }
            }
        }
    }
    if (out.kind < 0 && out.other_kind >= 0)
        out = (check_example){.kind = out.other_kind, .row = out.other_row, .other_kind = -1, .value_ns = span};
    return out;
}

void check_clock(check *c)
{
    const hd_trace_facts *facts = hd_trace_facts_of(c->trace);
    int64_t low, high, span;
    if (facts->start_ns == HD_NO_TIME) return;
    if (__builtin_sub_overflow(facts->end_ns, facts->start_ns, &span)) span = INT64_MAX;
    if (span > YEAR_NS) check_found(c, CHECK_SPAN_OVER_YEAR, HD_NONE, ends_of_span(c->trace, facts, span));
    if (check_wants(c, CHECK_TIME_OUTLIER) && core_of(&low, &high, c->trace)) check_outliers(c, low, high);
}
