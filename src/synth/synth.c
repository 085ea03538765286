/* synth.c - synthetic traces: options, the plan of steps, rank after rank */
#include <stdlib.h>
#include <string.h>

#include "synth/random_program.h"

enum { STEPS_MAX = 100000000, JITTER_MAX = 2000000 };
#define HOUR_NS INT64_C(3600000000000)
#define RUN_NS INT64_C(100000000000000000) /* no run is longer: three years */
static const uint64_t events_max = 4000000000;

hd_synth_options hd_synth_options_default(void)
{
    return (hd_synth_options){
        .seed = 1,
        .steps = 4,
        .layers = 4,
        .ranks = 1,
        .rank = HD_SYNTH_ALL_RANKS,
        .streams = 2,
        .jitter_percent = 8,
        .python = true,
        .flows = true,
        .counters = true,
        .memory = true,
    };
}

/* ---- options ---- */

static hd_status check_range(const char *name, uint64_t value, uint64_t least, uint64_t most, hd_error *err)
{
    if (value >= least && value <= most) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "a synthetic trace cannot have %llu %s: expected %llu to %llu", (unsigned long long)value, name,
                        (unsigned long long)least, (unsigned long long)most);
}

static hd_status check_stack_options(const hd_synth_options *o, hd_error *err)
{
    HD_TRY(check_range("kernels of a graph", o->graphs, 0, HD_SYNTH_GRAPH_MAX, err));
    HD_TRY(check_range("us of jitter", o->stack_jitter_us, 0, JITTER_MAX, err));
    int64_t base_ns = synth_clock_base(o->cupti), least_ns = (int64_t)o->stack_jitter_us * 1000 - base_ns;
    if (o->stack_offset_ns < least_ns || o->stack_offset_ns > INT64_MAX - base_ns - RUN_NS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "samples with a clock offset of %lld ns would lie outside of 64 bits, or before zero",
                            (long long)o->stack_offset_ns);
    size_t size = o->stack_comm ? strlen(o->stack_comm) : 1;
    if (size < 1 || size > HD_SYNTH_COMM_MAX || (o->stack_comm && strpbrk(o->stack_comm, "\r\n")))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "'%.40s' is not a thread's name: expected 1 to %d bytes without a newline", o->stack_comm,
                            HD_SYNTH_COMM_MAX);
    return HD_OK;
}

static hd_status check_job_faults(const hd_synth_options *o, hd_error *err)
{
    static const struct {
        const char *name;
        int64_t least, most;
        bool is_of_host;
    } kinds[HD_SYNTH_JOB_FAULTS] = {
        [HD_SYNTH_SLOW_GPU] = {"a GPU can be 0 to 10,000 percent slower", 0, 10000, false},
        [HD_SYNTH_SLOW_HOST] = {"a host can be 0 to 10,000 percent slower", 0, 10000, true},
        [HD_SYNTH_LATE_LOADER] = {"a batch can come up to an hour late", 0, HOUR_NS, false},
        [HD_SYNTH_SHIFTED_CLOCK] = {"a clock can be shifted by an hour at most", -HOUR_NS, HOUR_NS, true},
    };
    uint32_t hosts = synth_host_of(o, o->ranks - 1) + 1;
    for (int i = 0; i < HD_SYNTH_JOB_FAULTS; i++) {
        const hd_synth_job_fault *fault = &o->job_faults[i];
        uint32_t most = kinds[i].is_of_host ? hosts : o->ranks;
        if (fault->amount < kinds[i].least || fault->amount > kinds[i].most)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s", kinds[i].name);
        if (fault->amount && fault->where >= most)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no %s %u among %u",
                                kinds[i].is_of_host ? "host" : "rank", (unsigned)fault->where, (unsigned)most);
    }
    return HD_OK;
}

/* Whether only a program's options are set: its seed, steps, flows and changes. */
static bool is_of_program(const hd_synth_options *o)
{
    hd_synth_options plain = hd_synth_options_default();
    uint64_t faults = (uint64_t)o->crossings + o->late_kernels + o->orphans + o->negatives;
    for (int i = 0; i < HD_SYNTH_JOB_FAULTS; i++) faults += o->job_faults[i].amount != 0;
    return !faults && !o->events && !o->graphs && !o->cupti && o->ranks == 1 && o->layers == plain.layers &&
           o->streams == plain.streams && o->jitter_percent == plain.jitter_percent && o->python == plain.python &&
           o->counters == plain.counters && o->memory == plain.memory && o->steps <= PROGRAM_STEPS_MAX;
}

static hd_status check_program(const hd_synth_options *o, bool has_stacks, hd_error *err)
{
    if (o->what_if_count && !o->program)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "only a program can be changed");
    if (!o->program || (!has_stacks && is_of_program(o))) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "of a program only seed, steps (up to %d), flows and changes can be chosen",
                        (int)PROGRAM_STEPS_MAX);
}

static hd_status check_options(const hd_synth_options *o, hd_error *err)
{
    HD_TRY(check_range("events", o->events, 0, events_max, err));
    HD_TRY(check_range("steps", o->steps, 0, STEPS_MAX, err));
    HD_TRY(check_range("layers", o->layers, 0, HD_SYNTH_LAYERS_MAX, err));
    HD_TRY(check_range("ranks", o->ranks, 1, HD_SYNTH_RANKS_MAX, err));
    HD_TRY(check_range("streams", o->streams, 1, HD_SYNTH_STREAMS_MAX, err));
    HD_TRY(check_range("percent of jitter", o->jitter_percent, 0, 100, err));
    if (o->rank < HD_SYNTH_ALL_RANKS || o->rank >= (int64_t)o->ranks)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no rank %d among %u ranks",
                            (int)o->rank, (unsigned)o->ranks);
    if (o->cupti && (o->crossings || o->negatives))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "crossings and negative durations are of ops, which a trace of CUPTI does not have");
    HD_TRY(check_job_faults(o, err));
    return check_stack_options(o, err);
}

/* ---- the plan ---- */

/* Events of a step of so many layers. The step is played, and forgotten. */
static uint64_t try_step(synth *s, uint32_t layers)
{
    synth_state saved = s->now;
    synth_quota small_cpu, small_gpu, genuine;
    synth_step(s, 0, layers);
    small_cpu = s->now.small_cpu;
    small_gpu = s->now.small_gpu;
    genuine = s->now.genuine;
    uint64_t count = synth_count_lists(s);
    synth_drop(s);
    s->now = saved;
    s->now.small_cpu.last_chances = small_cpu.chances;
    s->now.small_gpu.last_chances = small_gpu.chances;
    s->now.genuine.last_chances = genuine.chances;
    return count;
}

static uint64_t count_meta(synth *s)
{
    synth_rank_meta(s);
    uint64_t count = synth_count_lists(s) + (s->options.cupti ? 0 : 3);
    synth_drop(s);
    return count;
}

typedef struct schedule {
    uint32_t layers, last_layers; /* of all steps but the last; of the last */
    uint64_t steps, error;
} schedule;

/* Steps of so many layers, and a last one of fewer, to come near the target. */
static schedule schedule_of(uint64_t target, uint64_t base, uint64_t layer, uint32_t layers)
{
    uint64_t full = base + layer * layers, rest = target % full;
    schedule plan = {.layers = layers, .last_layers = layers, .steps = target / full, .error = rest};
    if (rest <= base / 2) return plan;
    uint64_t more = rest > base ? (rest - base + layer / 2) / layer : 0;
    plan.last_layers = more < layers ? (uint32_t)more : layers;
    plan.steps++;
    uint64_t last = base + layer * plan.last_layers;
    plan.error = last > rest ? last - rest : rest - last;
    return plan;
}

/* Where few steps do not come near enough, a model of fewer layers may. */
static void plan_steps(synth *s, uint64_t target, uint64_t base, uint64_t layer)
{
    schedule best = schedule_of(target, base, layer, s->options.layers);
    for (uint32_t layers = s->options.layers; layers-- > 1 && best.error > target / 50;) {
        schedule plan = schedule_of(target, base, layer, layers);
        if (plan.error < best.error) best = plan;
    }
    s->step_layers = best.steps > 1 ? best.layers : best.last_layers;
    s->last_layers = best.last_layers;
    s->step_count = (uint32_t)(best.steps < STEPS_MAX ? best.steps : STEPS_MAX);
}

static hd_status plan(synth *s)
{
    const hd_synth_options *o = &s->options;
    uint64_t ranks = s->last_rank - s->first_rank + 1;
    hd_synth_options faultless = *o;
    s->step_count = 1;
    s->options.crossings = s->options.late_kernels = s->options.orphans = s->options.negatives = 0;
    uint64_t meta = count_meta(s), base = try_step(s, 0), layer = try_step(s, 1) - base, full = try_step(s, o->layers);
    if (s->failed) return HD_NOMEM(s->err);
    s->options = faultless;
    uint64_t spent = meta + synth_faults_size(s) + synth_graph_size(s), target = o->events / ranks;
    s->step_count = o->steps;
    s->step_layers = s->last_layers = o->layers;
    if (o->events) plan_steps(s, target > spent ? target - spent : 0, base, layer);
    uint64_t events = (meta + s->step_count * full) * ranks;
    if (events > events_max)
        return hd_error_set(s->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "about %llu events would be made: expected at most %llu", (unsigned long long)events,
                            (unsigned long long)events_max);
    uint64_t faults = ((uint64_t)o->crossings + o->late_kernels + o->orphans + o->negatives) * ranks;
    uint64_t room = o->events ? o->events : events;
    if (faults && (s->step_count == 0 || faults > room / 4))
        return hd_error_set(s->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "%llu faults do not fit into %llu events: expected at most one in four",
                            (unsigned long long)faults, (unsigned long long)(s->step_count ? room : meta * ranks));
    return HD_OK;
}

/* ---- ranks ---- */

/* A rank starts afresh, but ids go on, since they are one space within a trace. */
static void begin_rank(synth *s, uint32_t rank)
{
    synth_state before = s->now;
    s->rank = rank;
    s->now = (synth_state){
        .external = before.external,
        .correlation = before.correlation,
        .python = before.python,
        .flow = before.flow,
        .async = before.async,
        .reserved = (int64_t)24 << 30,
        .allocated = (int64_t)19 << 30,
        .truth = before.truth,
    };
    s->now.small_cpu.last_chances = before.small_cpu.last_chances;
    s->now.small_gpu.last_chances = before.small_gpu.last_chances;
    s->now.genuine.last_chances = before.genuine.last_chances;
    synth_rank_tracks(s);
}

static hd_status play_rank(synth *s, uint32_t rank)
{
    begin_rank(s, rank);
    if (s->failed) return HD_NOMEM(s->err);
    synth_samples_begin_rank(s);
    synth_capture_graph(s);
    for (uint32_t number = 0; number < s->step_count; number++) {
        synth_faults_begin_step(s, number);
        synth_step(s, number, number + 1 == s->step_count ? s->last_layers : s->step_layers);
        HD_TRY(synth_flush(s));
        s->now.truth.steps++;
    }
    synth_rank_meta(s);
    HD_TRY(synth_flush(s));
    HD_TRY(synth_samples_end_rank(s));
    s->now.truth.ranks++;
    s->now.truth.clock_offset_ns = s->clock_offset_ns;
    s->now.truth.clock_drift_ppb = s->clock_drift_ppb;
    return HD_OK;
}

static hd_status play_program(synth *s)
{
    program p = {0};
    s->options.streams = PROGRAM_STREAMS;
    synth_trace_meta_before(s);
    begin_rank(s, 0);
    hd_status status = s->failed ? HD_NOMEM(s->err) : program_draw(&p, s);
    for (size_t i = 0; status == HD_OK && i < s->options.what_if_count; i++)
        status = program_change(&p, s, s->options.what_ifs[i]);
    if (status == HD_OK) status = program_run(&p, s);
    if (status == HD_OK) status = program_emit(&p, s);
    program_deinit(&p);
    HD_TRY(status);
    s->now.truth.steps = s->options.steps;
    s->now.truth.ranks = 1;
    synth_rank_meta(s);
    return HD_OK;
}

static hd_status play_run(synth *s)
{
    HD_TRY(synth_graph_init(s));
    if (s->stacks) HD_TRY(synth_frames_init(s));
    synth_trace_meta_before(s);
    begin_rank(s, s->first_rank);
    if (s->failed) return HD_NOMEM(s->err);
    HD_TRY(plan(s));
    s->collect = s->stacks != NULL;
    for (uint32_t rank = s->first_rank; rank <= s->last_rank; rank++) HD_TRY(play_rank(s, rank));
    return HD_OK;
}

static hd_status play(synth *s)
{
    HD_TRY(synth_emit_init(s));
    HD_TRY(s->options.program ? play_program(s) : play_run(s));
    synth_trace_meta_after(s);
    HD_TRY(synth_flush(s));
    hd_chunk *chunk;
    HD_TRY(hd_batch_take(&chunk, s->batch, s->err));
    return hd_builder_append(s->builder, chunk, s->err);
}

/* An injected library sees the runtime calls, and nothing of the framework. */
static hd_synth_options settle(const hd_synth_options *options)
{
    hd_synth_options chosen = options ? *options : hd_synth_options_default();
    if (chosen.cupti) chosen.flows = chosen.counters = chosen.memory = false;
    return chosen;
}

hd_status hd_synth_trace_with_stacks(hd_trace **out, hd_synth_stacks *stacks, hd_synth_truth *truth,
                                     const hd_synth_options *options, hd_error *err)
{
    hd_synth_options chosen = settle(options);
    *out = NULL;
    HD_TRY(check_options(&chosen, err));
    HD_TRY(check_program(&chosen, stacks != NULL, err));
    synth *s = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    s->options = chosen;
    s->stacks = stacks;
    s->err = err;
    s->first_rank = chosen.rank < 0 ? 0 : (uint32_t)chosen.rank;
    s->last_rank = chosen.rank < 0 ? chosen.ranks - 1 : (uint32_t)chosen.rank;
    hd_status status = play(s);
    if (status == HD_OK) {
        hd_builder *builder = s->builder;
        s->builder = NULL;
        status = hd_builder_finish(out, builder, err);
    }
    synth_samples_finish(s);
    if (status == HD_OK) {
        s->now.truth.start_ns = hd_trace_facts_of(*out)->start_ns;
        s->now.truth.end_ns = hd_trace_facts_of(*out)->end_ns;
        if (truth) *truth = s->now.truth;
    }
    synth_emit_deinit(s);
    free(s);
    return status;
}

hd_status hd_synth_trace(hd_trace **out, hd_synth_truth *truth, const hd_synth_options *options, hd_error *err)
{
    return hd_synth_trace_with_stacks(out, NULL, truth, options, err);
}
