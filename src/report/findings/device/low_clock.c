/* low_clock.c - kernels that run while the clock of the GPU is below its highest: power or heat limits it
 *
 * Of counters of the GPU's clock (model/counters), of the trace or joined with it. A kernel loses at most 1 - clock /
 * highest clock of its time, where the clock is the highest of the samples around and within it: that it was lower
 * between them is not known. After the last sample it is known for as long as two samples are apart at most. Where
 * counters say why the clock is low, samples without a limit, or of an idle GPU, show nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/counters/counters.h"
#include "model/identity/process.h"
#include "report/findings/finding.h"
#include "trace/event.h"
#include "trace/lazy.h"

typedef struct sample {
    int64_t time;
    double value;
} sample;

typedef struct series {
    sample *list; /* by time */
    size_t count, capacity;
    double highest;
    uint32_t name, track; /* of the first: there may be clocks of several parts of the GPU */
} series;

typedef struct clocks {
    series clock, limit, reasons; /* limit: the highest clock that it may have */
    double highest;
    int64_t apart;   /* two samples at most */
    bool is_unknown; /* several processes have a clock, and neither says of which GPU */
} clocks;

static bool first_number(double *out, const hd_trace *trace, const hd_event *event)
{
    const hd_shape *shape = event->args ? hd_trace_shape_at(trace, event->shape) : NULL;
    if (!shape || !shape->key_count) return false;
    hd_value value = {.type = (hd_arg_type)shape->keys[0].type,
                      .bits = hd_column_at(&event->args->columns[0], event->args_row)};
    return hd_value_double(out, trace, value) && *out >= 0 && *out <= 1e15;
}

static int by_time(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* The device that a track of counters is about, of scope.devices; HD_NONE: unknown, or not there. */
static uint32_t device_of(const findings *f, uint32_t track)
{
    const hd_trace *trace = f->scope.trace;
    const hd_track *process = hd_process_track(trace, hd_trace_track_at(trace, track));
    int64_t number = hd_counter_device(hd_trace_string(trace, process->name));
    uint32_t found = HD_NONE;
    if (number == HD_NO_NUMBER) return f->scope.device_count == 1 ? 0 : HD_NONE;
    for (uint32_t i = 0; i < f->scope.device_count; i++) {
        if (f->scope.devices[i].device != number) continue;
        if (found != HD_NONE) return HD_NONE; /* of several ranks or hosts */
        found = i;
    }
    return found;
}

static bool add_sample(series *s, const hd_event *event, double value)
{
    if (!s->count) {
        s->name = event->name;
        s->track = event->track;
    }
    if (event->name != s->name || event->track != s->track) return true;
    if (!hd_grow((void **)&s->list, &s->capacity, s->count, sizeof *s->list)) return false;
    s->list[s->count++] = (sample){gpu_time(event->start_ns), value};
    if (value > s->highest) s->highest = value;
    return true;
}

/* Whether two tracks are of two processes that do not say of which GPU their counters are. */
static bool is_of_another(const hd_trace *trace, uint32_t a, uint32_t b)
{
    const hd_track *of_a = hd_process_track(trace, hd_trace_track_at(trace, a));
    const hd_track *of_b = hd_process_track(trace, hd_trace_track_at(trace, b));
    return of_a != of_b && hd_counter_device(hd_trace_string(trace, of_a->name)) == HD_NO_NUMBER;
}

static bool read_counters(clocks *all, const findings *f)
{
    const hd_trace *trace = f->scope.trace;
    bool fine = true;
    hd_block_room room = {0};
    for (size_t b = 0; fine && b < hd_trace_block_count(trace, HD_KIND_COUNTER); b++) {
        const hd_block *block = hd_walk_block(&room, trace, HD_KIND_COUNTER, b);
        for (uint32_t i = 0; fine && i < block->row_count; i++) {
            hd_event event;
            double value;
            hd_block_event(&event, block, i);
            if (event.name == HD_STRING_NONE || event.start_ns == HD_NO_TIME) continue;
            hd_counter_kind kind = hd_counter_kind_of(hd_trace_string(trace, event.name));
            if (kind == HD_COUNTER_OTHER || !first_number(&value, trace, &event)) continue;
            uint32_t device = device_of(f, event.track);
            if (device == HD_NONE || (kind == HD_COUNTER_CLOCK && value <= 0)) continue;
            clocks *c = &all[device];
            c->is_unknown |=
                kind == HD_COUNTER_CLOCK && c->clock.count && is_of_another(trace, event.track, c->clock.track);
            fine = add_sample(kind == HD_COUNTER_CLOCK     ? &c->clock
                              : kind == HD_COUNTER_REASONS ? &c->reasons
                                                           : &c->limit,
                              &event, value);
        }
    }
    hd_walk_end(&room, trace);
    return fine;
}

/* Why the clock is low at a time: of the last sample before it; HD_REASON_IDLE where none says so. */
static uint64_t reason_at(const series *reasons, int64_t time)
{
    size_t low = 0, high = reasons->count;
    HD_PARTITION_POINT(low, high, at, reasons->list[at].time <= time);
    return low ? (uint64_t)reasons->list[low - 1].value : HD_REASON_IDLE;
}

static bool is_limited(uint64_t reason)
{
    return (reason & (HD_REASON_POWER | HD_REASON_HEAT | HD_REASON_HARDWARE)) && !(reason & HD_REASON_IDLE);
}

/* Samples that show no limit have the highest clock from here on. */
static void prepare(clocks *c)
{
    series *s = &c->clock;
    hd_sort(s->list, s->count, sizeof *s->list, by_time);
    hd_sort(c->reasons.list, c->reasons.count, sizeof *s->list, by_time);
    c->highest = c->limit.highest > s->highest ? c->limit.highest : s->highest;
    for (size_t i = 0; i < s->count; i++) {
        if (i && s->list[i].time - s->list[i - 1].time > c->apart) c->apart = s->list[i].time - s->list[i - 1].time;
        if (c->reasons.count && !is_limited(reason_at(&c->reasons, s->list[i].time))) s->list[i].value = c->highest;
    }
}

/* The highest clock that it may have had meanwhile. */
static double clock_of(const clocks *c, int64_t start, int64_t end)
{
    const series *s = &c->clock;
    size_t low = 0, high = s->count;
    HD_PARTITION_POINT(low, high, at, s->list[at].time <= start);
    if (!low) return c->highest;
    double clock = s->list[low - 1].value;
    for (size_t i = low; i < s->count; i++) {
        if (s->list[i].value > clock) clock = s->list[i].value;
        if (s->list[i].time >= end) return clock;
    }
    return end - s->list[s->count - 1].time <= c->apart ? clock : c->highest;
}

static bool claim_losses(findings *f, const clocks *all)
{
    bool fine = true;
    for (uint32_t n = f->first_work; fine && n < f->graph->node_count; n++) {
        if (!findings_is_of_class(f, n, GPU_COMPUTE)) continue;
        const gpu_work *work = findings_work(f, n);
        const clocks *c = work->device == HD_NONE ? NULL : &all[work->device];
        if (!c || !c->clock.count || c->is_unknown || c->highest <= 0) continue;
        int64_t start = f->graph->starts[n], length = gpu_duration(work);
        double part = 1 - clock_of(c, start, start + length) / c->highest;
        fine = part <= 0 || findings_claim(f, n, (int64_t)(part * (double)length));
    }
    return fine;
}

/* How many samples of all devices show power, and how many heat, or what the hardware does not say. */
typedef struct tally {
    size_t samples, power, heat, hardware;
    double highest;
    int64_t apart;
    bool has_reasons;
} tally;

static tally count_samples(const clocks *all, uint32_t count)
{
    tally t = {.has_reasons = true};
    for (uint32_t d = 0; d < count; d++) {
        const clocks *c = &all[d];
        if (c->highest > t.highest) t.highest = c->highest;
        if (c->apart > t.apart) t.apart = c->apart;
        if (c->clock.count && !c->reasons.count) t.has_reasons = false;
        for (size_t i = 0; i < c->clock.count; i++) {
            uint64_t reason = c->reasons.count ? reason_at(&c->reasons, c->clock.list[i].time) : 0;
            if (c->clock.list[i].value >= c->highest) continue;
            t.samples++;
            t.power += (reason & HD_REASON_POWER) != 0;
            t.heat += (reason & HD_REASON_HEAT) != 0;
            t.hardware += (reason & HD_REASON_HARDWARE) != 0;
        }
    }
    return t;
}

static void write_text(finding *of, const clocks *all, uint32_t device_count)
{
    char amount[96], apart[HD_VALUE_TEXT_BYTES], why[120] = "";
    tally t = count_samples(all, device_count);
    if (t.has_reasons)
        snprintf(why, sizeof why, "; by power in %zu, heat in %zu, other limits of the hardware in %zu", t.power,
                 t.heat, t.hardware);
    else
        of->trust_reason = "the counters do not say why the clock is low";
    snprintf(
        of->text, sizeof of->text,
        "Kernels run while the clock of the GPU is below its highest, %.0f, which costs %s at most: %llu kernel%s. "
        "%zu sample%s of the clock, at most %s apart, show it%s.",
        t.highest, findings_amount(amount, of), (unsigned long long)of->events, FINDINGS_S(of->events), t.samples,
        FINDINGS_S(t.samples), hd_text_duration(apart, t.apart), why);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of = NULL;
    bool any = false;
    clocks *all = calloc((size_t)f->scope.device_count + 1, sizeof *all);
    hd_status status = all && read_counters(all, f) ? HD_OK : HD_NOMEM(err);
    for (uint32_t d = 0; status == HD_OK && d < f->scope.device_count; d++) {
        prepare(&all[d]);
        any |= all[d].clock.count > 0 && !all[d].is_unknown;
    }
    if (status == HD_OK && any)
        status = findings_add(f, rule) && claim_losses(f, all) ? findings_keep(&of, f, err) : HD_NOMEM(err);
    if (of) write_text(of, all, f->scope.device_count);
    for (uint32_t d = 0; all && d < f->scope.device_count; d++) {
        free(all[d].clock.list);
        free(all[d].limit.list);
        free(all[d].reasons.list);
    }
    free(all);
    return status;
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
