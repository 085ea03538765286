/* low_clock.c - kernels that run while the clock of the GPU is below its highest: power or heat limits it, or it idles
 *
 * Of counters of a GPU's clock, the first by name; where several processes or devices have one, it is not known whose. A kernel takes no less of
 * its time at the highest clock than the clocks' ratio.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "model/identity/process.h"
#include "report/findings/finding.h"
#include "trace/event.h"
#include "trace/lazy.h"

typedef struct sample {
    int64_t time;
    double clock;
} sample;

typedef struct clocks {
    sample *list; /* by time */
    size_t count, capacity;
    double highest;
    uint32_t name, process; /* there may be clocks of several parts of the GPU */
    bool has_several;       /* GPUs, each with a clock */
} clocks;

static bool is_clock(hd_string name)
{
    static const char *const clock[] = {"Clock", "clock", "sclk", "SCLK"};
    static const char *const of_gpu[] = {"SM", "GPC", "GFX", "gfx", "raphics", "sclk", "SCLK", "GPU", "gpu"};
    static const char *const of_memory[] = {"Mem", "mem", "DRAM"};
    return FINDINGS_HAS(name, clock) && FINDINGS_HAS(name, of_gpu) && !FINDINGS_HAS(name, of_memory);
}

static bool first_number(double *out, const hd_trace *trace, const hd_event *event)
{
    const hd_shape *shape = event->args ? hd_trace_shape_at(trace, event->shape) : NULL;
    if (!shape || !shape->key_count) return false;
    hd_value value = {.type = (hd_arg_type)shape->keys[0].type,
                      .bits = hd_column_at(&event->args->columns[0], event->args_row)};
    return hd_value_double(out, trace, value) && *out > 0;
}

static int by_time(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

static bool read_clocks(clocks *c, const hd_trace *trace)
{
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_COUNTER); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_COUNTER, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            double value;
            hd_block_event(&event, block, i);
            if (event.name == HD_STRING_NONE || event.start_ns == HD_NO_TIME) continue;
            if (!is_clock(hd_trace_string(trace, event.name)) || !first_number(&value, trace, &event)) continue;
            uint32_t process = hd_process_of(trace, event.track);
            hd_string name = hd_trace_string(trace, event.name), of = hd_trace_string(trace, c->name);
            if (c->count && process != c->process) c->has_several = true;
            if (c->count && hd_text_compare(name.data, name.size, of.data, of.size) > 0) continue;
            if (event.name != c->name)
                *c = (clocks){.list = c->list, .capacity = c->capacity, .has_several = c->has_several};
            c->name = event.name;
            c->process = process;
            if (!hd_grow((void **)&c->list, &c->capacity, c->count, sizeof *c->list)) return false;
            c->list[c->count++] = (sample){gpu_time(event.start_ns), value};
            if (value > c->highest) c->highest = value;
        }
        hd_trace_release(trace, block);
    }
    hd_sort(c->list, c->count, sizeof *c->list, by_time);
    return true;
}

static bool claim_losses(findings *f, const clocks *c)
{
    bool fine = true;
    for (uint32_t n = f->first_work; fine && n < f->graph->node_count; n++) {
        size_t low = 0, high = c->count;
        if (!findings_is_of_class(f, n, GPU_COMPUTE)) continue;
        HD_PARTITION_POINT(low, high, at, c->list[at].time <= f->graph->starts[n]);
        if (!low) continue;
        double part = 1 - c->list[low - 1].clock / c->highest;
        fine = findings_claim(f, n, (int64_t)(part * (double)gpu_duration(findings_work(f, n))));
    }
    return fine;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    clocks c = {0};
    finding *of = NULL;
    char amount[96];
    if (f->scope.device_count != 1) return HD_OK;
    hd_status status = read_clocks(&c, f->scope.trace) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && c.count && !c.has_several) {
        status = findings_add(f, rule) && claim_losses(f, &c) ? findings_keep(&of, f, err) : HD_NOMEM(err);
    }
    free(c.list);
    if (!of) return status;
    snprintf(
        of->text, sizeof of->text,
        "Kernels run while the clock of the GPU is below its highest, %.0f, which costs %s at most: %llu kernel%s.",
        c.highest, findings_amount(amount, of), (unsigned long long)of->events, FINDINGS_S(of->events));
    return HD_OK;
}

const finding_rule finding_low_clock = {
    .about.code = "low-clock",
    .about.severity = "warning",
    .about.meaning = "kernels run while the clock of the GPU is below its highest",
    .about.advice = "nvidia-smi -q -d PERFORMANCE (or rocm-smi) says whether power or heat is the limit: cooling, a "
                    "higher power limit "
                    "(nvidia-smi -pl), locked clocks (nvidia-smi -lgc) to compare runs.",
    .find = find,
    .least_part = 20,
};
