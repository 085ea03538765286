/* faults.c - faults of the synthetic run, on request
 *
 * Crossings are added where they fit: an op that ends before its last child, a kernel that starts before the previous
 * one has ended, an annotation that outlasts its parent. Crossings that fit nowhere, and all other faults, are added at
 * the end of a step, after a wait for the GPU. Faults there take the same time on all ranks, without noise.
 */
#include "synth/impl.h"

bool synth_quota_take(synth_quota *quota)
{
    quota->chances++;
    if (quota->done >= quota->due) return false;
    if ((quota->done + 1) * (quota->last_chances + 1) > quota->chances * (quota->due + 1)) return false;
    quota->done++;
    return true;
}

/* ---- what is due in a step ---- */

static uint64_t share(const synth *s, uint64_t total, uint32_t number)
{
    return total * (number + 1) / s->step_count - total * number / s->step_count;
}

static uint64_t small_total(const synth *s)
{
    return s->options.crossings / 2;
}

static uint64_t genuine_total(const synth *s)
{
    return s->options.crossings - small_total(s);
}

static void begin_quota(synth_quota *quota, uint64_t due)
{
    if (quota->chances) quota->last_chances = quota->chances;
    quota->chances = 0;
    quota->done = 0;
    quota->due = due;
}

void synth_faults_begin_step(synth *s, uint32_t number)
{
    uint64_t small_gpu = small_total(s) / 2;
    begin_quota(&s->now.small_cpu, share(s, small_total(s) - small_gpu, number));
    begin_quota(&s->now.small_gpu, share(s, small_gpu, number));
    begin_quota(&s->now.genuine, share(s, genuine_total(s), number));
}

uint64_t synth_faults_size(const synth *s)
{
    const hd_synth_options *o = &s->options;
    return genuine_total(s) * 2 + o->late_kernels * (o->flows ? 5u : 3u) + o->orphans * 3 / 2 + o->negatives;
}

/* ---- slices at exact places ---- */

static void put_exact(synth *s, const synth_thread *t, synth_text_id name, bool annotation, int64_t start_ns,
                      int64_t end_ns)
{
    int64_t external = ++s->now.external;
    synth_event event = {
        .kind = HD_KIND_SLICE,
        .shape = SYNTH_SHAPE_OP,
        .phase = 'X',
        .track = t->track,
        .name = s->texts[name],
        .category = s->texts[annotation ? SYNTH_TEXT_USER_ANNOTATION : SYNTH_TEXT_CPU_OP],
        .start_ns = start_ns,
        .duration_ns = end_ns - start_ns,
    };
    synth_put(s, SYNTH_CPU, &event, (int64_t[]){external, external - 1, s->now.event_index++});
}

static int64_t put_runtime(synth *s, const synth_thread *t, int64_t start_ns, int64_t end_ns)
{
    int64_t correlation = ++s->now.correlation;
    synth_event event = {
        .kind = HD_KIND_SLICE,
        .shape = SYNTH_SHAPE_RUNTIME,
        .phase = 'X',
        .track = t->track,
        .name = s->texts[SYNTH_TEXT_LAUNCH],
        .category = s->texts[SYNTH_TEXT_CUDA_RUNTIME],
        .start_ns = start_ns,
        .duration_ns = end_ns - start_ns,
    };
    synth_put(s, SYNTH_CPU, &event, (int64_t[]){s->now.external, 211, correlation});
    synth_sample(s, &s->now.main, SYNTH_TEXT_LAUNCH, SYNTH_FILL, correlation, start_ns);
    s->now.truth.launches++;
    return correlation;
}

/* A launch at one place and its kernel at another. */
static void put_launched(synth *s, const synth_thread *t, int64_t launch_ns, int64_t start_ns, int64_t duration_ns)
{
    int64_t correlation = put_runtime(s, t, launch_ns, launch_ns + 3000);
    if (s->options.flows) {
        synth_flow(s, SYNTH_CPU, t->track, SYNTH_TEXT_AC2G, 's', correlation, launch_ns);
        s->now.truth.flows++;
    }
    synth_kernel_at(s, 0, SYNTH_FILL, correlation, s->now.external, start_ns, duration_ns);
    synth_arrive(s, 0, correlation, start_ns);
}

/* ---- crossings ---- */

static void count_genuine(synth *s, unsigned crossed)
{
    s->now.truth.crossings_genuine++;
    s->now.truth.crossings_multi += crossed > 1;
    s->now.truth.crossing_pairs += crossed;
}

/* Slices within each other, and one that begins in the innermost and outlasts them all. */
static void put_straddler(synth *s, synth_thread *t, unsigned crossed)
{
    static const synth_text_id names[] = {SYNTH_TEXT_LOG_METRICS, SYNTH_TEXT_CHECKPOINT, SYNTH_TEXT_WAIT_QUEUE};
    int64_t at = t->now.own + 300, past = 7000 + synth_below(&s->now.shape, 50000);
    for (unsigned i = 0; i < crossed; i++) put_exact(s, t, names[i], true, at + 1000 * i, at + 40000 - 1000 * i);
    put_exact(s, t, SYNTH_TEXT_PREFETCH, true, at + 20000, at + 40000 + past);
    synth_pause(&t->now, 300 + 40000 + past + 300);
    count_genuine(s, crossed);
}

/* Every fourth crosses three slices at once. */
static unsigned next_crossed(synth *s)
{
    return s->now.genuine_serial++ % 4 == 0 ? 3 : 1;
}

bool synth_cross_genuine(synth *s, synth_thread *t)
{
    unsigned crossed = genuine_total(s) > 1 ? next_crossed(s) : 1;
    if (crossed > 1) {
        put_straddler(s, t, crossed);
        t->frames[t->depth - 1].leaf_ns = 0;
        return false;
    }
    int64_t begin_ns = t->now.own + 300, past = 6000 + synth_below(&s->now.shape, 40000);
    int64_t end_ns = begin_ns + 8000;
    const synth_frame *frame = &t->frames[--t->depth];
    if (!s->failed) s->lists[SYNTH_CPU].events[frame->event].duration_ns = end_ns - frame->start_ns;
    put_exact(s, t, SYNTH_TEXT_PREFETCH, true, begin_ns, end_ns + past);
    synth_pause(&t->now, 300 + 8000 + past + 300);
    t->frames[t->depth - 1].leaf_ns = 0;
    count_genuine(s, 1);
    return true;
}

static int64_t small_overlap(synth *s)
{
    return 20 + synth_below(&s->now.noise, SYNTH_SMALL_NS - 60);
}

static void small_on_cpu(synth *s, synth_thread *t)
{
    int64_t at = t->now.own;
    put_exact(s, t, SYNTH_TEXT_MUL, false, at, at + 25000 - small_overlap(s));
    put_exact(s, t, SYNTH_TEXT_EMPTY, false, at + 5000, at + 25000);
    synth_pause(&t->now, 26000);
    s->now.truth.crossings_small++;
    s->now.truth.crossing_pairs++;
}

static void small_on_gpu(synth *s, synth_thread *t)
{
    int64_t at = t->now.own;
    put_exact(s, t, SYNTH_TEXT_ADD, false, at, at + 12000);
    put_launched(s, t, at + 1000, at + 20000, 20000);
    put_launched(s, t, at + 6000, at + 40000 - small_overlap(s), 20000);
    synth_pause(&t->now, 70000);
    s->now.truth.crossings_small++;
    s->now.truth.crossing_pairs++;
}

/* ---- other faults ---- */

static void late_kernel(synth *s, synth_thread *t)
{
    int64_t at = t->now.own, early = 200 + synth_below(&s->now.noise, 6000);
    put_exact(s, t, SYNTH_TEXT_ADD, false, at, at + 14000);
    put_launched(s, t, at + 9000, at + 9000 - early, 2000);
    synth_pause(&t->now, 16000);
    s->now.truth.late_kernels++;
}

static void negative(synth *s, synth_thread *t)
{
    int64_t at = t->now.own + 10000;
    put_exact(s, t, SYNTH_TEXT_DETACH, false, at, at - 100 - synth_below(&s->now.noise, 8000));
    synth_pause(&t->now, 12000);
    s->now.truth.negatives++;
}

static void put_mark(synth *s, hd_kind kind, char phase, uint32_t track, int64_t at_ns)
{
    synth_event event = {
        .kind = (uint8_t)kind,
        .phase = phase,
        .track = track,
        .name = s->texts[kind == HD_KIND_END ? SYNTH_TEXT_PIN_MEMORY : SYNTH_TEXT_WAIT_QUEUE],
        .category = s->texts[SYNTH_TEXT_LOADER],
        .start_ns = at_ns,
        .duration_ns = HD_NO_TIME,
    };
    synth_put(s, SYNTH_CPU, &event, NULL);
}

static void orphan(synth *s, synth_thread *t, uint64_t serial)
{
    static const uint8_t without_flows[] = {0, 1, 4, 5};
    int64_t at = t->now.own;
    hd_synth_truth *truth = &s->now.truth;
    switch (s->options.cupti ? serial % 2 : s->options.flows ? serial % 6 : without_flows[serial % 4]) {
    case 0:
        put_runtime(s, t, at + 1000, at + 4000);
        truth->orphan_launches++;
        break;
    case 1:
        synth_kernel_at(s, 0, SYNTH_FILL, ++s->now.correlation, s->now.external, at + 1000, 2000);
        truth->orphan_kernels++;
        break;
    case 2:
        put_exact(s, t, SYNTH_TEXT_ADD, false, at + 1000, at + 4000);
        synth_flow(s, SYNTH_CPU, t->track, SYNTH_TEXT_AC2G, 's', ++s->now.correlation, at + 1000);
        truth->orphan_flow_starts++;
        break;
    case 3:
        put_exact(s, t, SYNTH_TEXT_ADD, false, at + 1000, at + 4000);
        synth_flow(s, SYNTH_CPU, t->track, SYNTH_TEXT_FWDBWD, 'f', s->now.flow++, at + 1000);
        truth->orphan_flow_ends++;
        break;
    case 4:
        put_mark(s, HD_KIND_SLICE, 'B', s->watch_thread, at);
        truth->orphan_begins++;
        break;
    default:
        put_mark(s, HD_KIND_END, 'E', s->begin_thread, at);
        truth->orphan_ends++;
        break;
    }
    synth_pause(&t->now, 6000);
}

void synth_faults_end_step(synth *s, uint32_t number)
{
    synth_thread *t = &s->now.main;
    const hd_synth_options *o = &s->options;
    uint64_t late = share(s, o->late_kernels, number), orphans = share(s, o->orphans, number);
    uint64_t negatives = share(s, o->negatives, number);
    uint64_t all = s->now.small_cpu.due + s->now.small_gpu.due + s->now.genuine.due + late + orphans + negatives;
    synth_when start = t->now;
    for (; s->now.small_cpu.done < s->now.small_cpu.due; s->now.small_cpu.done++) small_on_cpu(s, t);
    for (; s->now.small_gpu.done < s->now.small_gpu.due; s->now.small_gpu.done++) small_on_gpu(s, t);
    for (; s->now.genuine.done < s->now.genuine.due; s->now.genuine.done++)
        put_straddler(s, t, genuine_total(s) > 1 ? next_crossed(s) : 1);
    for (uint64_t i = 0; i < late; i++) late_kernel(s, t);
    for (uint64_t i = 0; i < negatives; i++) negative(s, t);
    uint64_t first = o->orphans * (uint64_t)number / s->step_count;
    for (uint64_t i = 0; i < orphans; i++) orphan(s, t, first + i);
    t->now = start;
    synth_pause(&t->now, (int64_t)all * SYNTH_FAULT_NS);
    t->frames[t->depth - 1].leaf_ns = 0;
}
