/* side.c - the data kept of a side's traces: samples, items, entries
 *
 * Steps, windows, classes, gaps and their causes come from the model and the reports; here they become one table of
 * numbers per step, so that steps can be compared.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "heddle/names.h"
#include "model/host/syncs.h"
#include "model/host/waits.h"
#include "model/roles/trace_roles.h"
#include "report/diff/diff.h"
#include "report/properties.h"

const char *const diff_fact_names[DIFF_FACTS] = {
    "GPU",      "world size", "cuda_driver_version", "cuda_runtime_version",
    "producer", "format",     "with_stack",          "record_shapes"};

/* One trace on its way into a side. */
typedef struct adder {
    hd_diff_side *side;
    gpu_scope scope;
    gpu_slices ops, modules; /* user: node */
    gpu_gaps gaps;
    uint32_t *op_of, *module_of; /* by launch: of the slices */
    uint32_t *hosts;             /* by gap: string */
    uint32_t *text_of;           /* by string: text + 1 */
    uint32_t *sample_of_step;    /* by step: on the first device that has it; HD_NONE */
    uint32_t *last_of_row;       /* by row of works: the item before; HD_NONE */
    uint32_t first_sample;       /* of the trace; HD_NONE */
    gpu_copy_bytes bytes;
    gpu_arg grid;
    diff_figures *figures;
    bool is_host; /* there is no GPU: the time of operators is that on the CPU */
    /* the device at hand */
    gpu_windows windows;
    uint32_t *sample_of;      /* by window */
    uint32_t *window_of_step; /* by step */
} adder;

/* ---- texts ---- */

static uint32_t text_of(adder *a, uint32_t string)
{
    if (string == HD_STRING_NONE) return HD_NONE;
    if (!a->text_of[string]) {
        hd_string name = hd_trace_string(a->scope.trace, string);
        a->text_of[string] = gpu_text(&a->side->texts, name.data, name.size) + 1;
    }
    return a->text_of[string] - 1;
}

/* The length of a separate number at a position of a name: digits, or 0x and hexadecimal digits. 0: none. */
static size_t number_at(hd_string name, size_t at)
{
    size_t end = at;
    if (at && isalnum((unsigned char)name.data[at - 1])) return 0;
    if (name.size - at > 2 && name.data[at] == '0' && name.data[at + 1] == 'x' &&
        isxdigit((unsigned char)name.data[at + 2])) {
        for (end += 2; end < name.size && isxdigit((unsigned char)name.data[end]);) end++;
    } else {
        while (end < name.size && isdigit((unsigned char)name.data[end])) end++;
    }
    return end < name.size && isalpha((unsigned char)name.data[end]) ? 0 : end - at;
}

/* Replaces such numbers by "#": "layer_12" and "layer_13" are the same, "conv2d" and "conv3d" are not. */
static uint32_t fold(gpu_texts *texts, uint32_t text)
{
    char out[HD_NAME_BYTES];
    hd_string name = gpu_text_of(texts, text);
    size_t size = 0;
    if (name.size > sizeof out) return text;
    for (size_t i = 0; i < name.size;) {
        size_t length = number_at(name, i);
        out[size++] = length ? '#' : name.data[i];
        i += length ? length : 1;
    }
    return gpu_text(texts, out, size);
}

static uint32_t folded_text_of(adder *a, uint32_t string)
{
    uint32_t text = text_of(a, string);
    return text == HD_NONE ? HD_NONE : fold(&a->side->texts, text);
}

/* ---- items and entries ---- */

uint32_t diff_item_of(hd_diff_side *s, uint32_t kind, uint32_t node, uint32_t name)
{
    const diff_item_key key = {kind, node, name};
    uint32_t count = s->items.count, item = gpu_group(&s->items, &key);
    if (item == HD_NONE || item < count) return item;
    if (!hd_grow((void **)&s->about, &s->about_capacity, item, sizeof *s->about) ||
        !hd_grow((void **)&s->last_entry, &s->last_capacity, item, sizeof *s->last_entry))
        return HD_NONE;
    s->about[item] = (diff_item){HD_NONE, HD_NONE, HD_NONE, HD_NO_NUMBER, 0, 0, 0};
    s->last_entry[item] = HD_NONE;
    return item;
}

static bool add_entry(hd_diff_side *s, uint32_t item, uint32_t sample, uint32_t calls, int64_t time, int64_t cpu)
{
    if (item == HD_NONE) return false;
    if (sample == HD_NONE) return true;
    uint32_t last = s->last_entry[item];
    if (last == HD_NONE || s->entries[last].sample != sample) {
        if (s->entry_count >= HD_NONE ||
            !hd_grow((void **)&s->entries, &s->entry_capacity, s->entry_count, sizeof *s->entries))
            return false;
        last = (uint32_t)s->entry_count++;
        s->last_entry[item] = last;
        s->entries[last] = (diff_entry){item, sample, 0, 0, 0};
    }
    diff_entry *entry = &s->entries[last];
    entry->calls += calls;
    entry->time = gpu_sum(entry->time, time);
    entry->cpu = gpu_sum(entry->cpu, cpu);
    return true;
}

uint32_t diff_node_of(hd_diff_side *s, diff_node_key key, uint32_t raw)
{
    uint32_t count = s->nodes.count, node = gpu_group(&s->nodes, &key);
    if (node == HD_NONE || !hd_grow((void **)&s->raw_of, &s->raw_capacity, node, sizeof *s->raw_of)) return HD_NONE;
    if (node == count)
        s->raw_of[node] = raw;
    else if (s->raw_of[node] != raw)
        s->raw_of[node] = HD_NONE;
    return node;
}

static uint32_t node_of(adder *a, uint32_t parent, uint32_t string, bool is_module)
{
    uint32_t raw = text_of(a, string), name = folded_text_of(a, string);
    return name == HD_NONE ? HD_NONE : diff_node_of(a->side, (diff_node_key){parent, name, is_module}, raw);
}

/* ---- what the host does ---- */

static uint32_t sample_at(const adder *a, uint32_t track, int64_t time)
{
    if (!a->scope.step_count) return a->first_sample;
    uint32_t step = gpu_step_at(&a->scope, track, time);
    return step == HD_NONE ? HD_NONE : a->sample_of_step[step];
}

typedef struct open_op {
    int64_t until;
    uint32_t op, sample, item;
} open_op;

/* Nodes of slices, which come lane by lane by their starts, with calls and the time that is theirs alone. */
static hd_status walk(adder *a, gpu_slices *slices, bool is_module, hd_error *err)
{
    open_op *open = hd_large_new(slices->count + 1, sizeof *open, a->scope.large);
    size_t count = 0;
    bool fine = open != NULL;
    for (uint32_t i = 0; fine && i < slices->count; i++) {
        gpu_slice *op = &slices->list[i];
        while (count && (op->lane != op[-1].lane || slices->list[open[count - 1].op].end <= op->start)) count--;
        open_op *parent = count ? &open[count - 1] : NULL;
        op->user = node_of(a, parent ? slices->list[parent->op].user : HD_NONE, op->name, is_module);
        if (op->user == HD_NONE) {
            fine = false;
            break;
        }
        if (parent) {
            int64_t end = op->end < slices->list[parent->op].end ? op->end : slices->list[parent->op].end;
            int64_t from = op->start > parent->until ? op->start : parent->until;
            if (end > from) {
                fine = add_entry(a->side, parent->item, parent->sample, 0, a->is_host ? from - end : 0, from - end);
                parent->until = end;
            }
        }
        uint32_t item = diff_item_of(a->side, is_module ? DIFF_MODULE : DIFF_OPERATOR, op->user, HD_NONE);
        uint32_t sample = sample_at(a, op->lane, op->start);
        int64_t length = op->end - op->start;
        fine = fine && add_entry(a->side, item, sample, 1, a->is_host ? length : 0, length);
        open[count++] = (open_op){op->start, i, sample, item};
    }
    hd_large_free(open);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* Operators and ranges, but for the steps themselves, and modules. */
static hd_status find_host(adder *a, hd_error *err)
{
    gpu_scope *s = &a->scope;
    uint32_t strings = (uint32_t)hd_trace_string_count(s->trace);
    uint8_t *names = malloc((size_t)strings + 1);
    if (!names) return HD_NOMEM(err);
    for (uint32_t i = 0; i < strings; i++) names[i] = !hd_is_profiler_step(hd_trace_string(s->trace, i));
    for (uint32_t i = 0; i < s->step_count; i++) names[s->steps[i].name] = 0;
    hd_status status = gpu_slices_named(&a->ops, s, 1u << HD_ROLE_OP | 1u << HD_ROLE_ANNOTATION, names, err);
    free(names);
    if (status == HD_OK) status = gpu_modules_init(&a->modules, s, err);
    if (status == HD_OK) status = walk(a, &a->ops, false, err);
    if (status == HD_OK) status = walk(a, &a->modules, true, err);
    if (status == HD_OK) status = gpu_innermost_of_launches(&a->op_of, s, &a->ops, err);
    if (status == HD_OK) status = gpu_innermost_of_launches(&a->module_of, s, &a->modules, err);
    return status;
}

static void count_calls(adder *a)
{
    const hd_launches *l = a->scope.launches;
    for (size_t i = 0; i < l->launch_count; i++) {
        uint32_t sample = sample_at(a, l->launches[i].track, l->launches[i].start_ns);
        if (sample != HD_NONE) a->side->samples[sample].columns[DIFF_LAUNCHES]++;
    }
    for (size_t i = 0; i < a->gaps.syncs.count; i++) {
        uint32_t sample = sample_at(a, a->gaps.syncs.list[i].lane, a->gaps.syncs.list[i].start);
        if (sample != HD_NONE) a->side->samples[sample].columns[DIFF_SYNCS]++;
    }
}

/* ---- samples ---- */

static int64_t number_of(hd_string name)
{
    size_t at = name.size;
    while (at && isdigit((unsigned char)name.data[at - 1]) && name.size - at < 18) at--;
    int64_t number = 0;
    if (at == name.size) return HD_NO_NUMBER;
    for (; at < name.size; at++) number = 10 * number + (name.data[at] - '0');
    return number;
}

static bool add_sample(adder *a, uint32_t window, uint32_t place)
{
    hd_diff_side *s = a->side;
    const gpu_window *w = &a->windows.windows[window];
    a->sample_of[window] = HD_NONE;
    if (w->step == HD_NONE && a->scope.step_count) return true; /* besides the steps */
    if (!hd_grow((void **)&s->samples, &s->sample_capacity, s->sample_count, sizeof *s->samples)) return false;
    uint32_t name = w->step == HD_NONE ? HD_NONE : text_of(a, a->scope.steps[w->step].name);
    uint32_t sample = a->sample_of[window] = (uint32_t)s->sample_count++;
    s->samples[sample] = (diff_sample){
        .length = w->length,
        .start = w->step == HD_NONE ? 0 : a->scope.steps[w->step].start,
        .number = name == HD_NONE ? HD_NO_NUMBER : number_of(gpu_text_of(&s->texts, name)),
        .name = name,
        .place = place,
        .run = s->runs_of[place],
        .input = (uint32_t)s->path_count - 1,
    };
    if (a->first_sample == HD_NONE) a->first_sample = sample;
    if (w->step == HD_NONE) return true;
    a->window_of_step[w->step] = window;
    if (a->sample_of_step[w->step] == HD_NONE) a->sample_of_step[w->step] = sample;
    return name != HD_NONE;
}

uint32_t diff_place_of(hd_diff_side *s, diff_place_key key)
{
    uint32_t count = s->places.count, place = gpu_group(&s->places, &key);
    if (place == HD_NONE || !hd_grow((void **)&s->runs_of, &s->runs_capacity, place, sizeof *s->runs_of))
        return HD_NONE;
    if (place == count) s->runs_of[place] = 0;
    return place;
}

/* Samples of a device in the order of its windows. */
static hd_status add_samples(adder *a, uint32_t device, hd_error *err)
{
    hd_diff_side *s = a->side;
    uint32_t place = diff_place_of(s, (diff_place_key){a->scope.devices[device].rank, a->scope.devices[device].device});
    if (place == HD_NONE) return HD_NOMEM(err);
    free(a->sample_of);
    a->sample_of = malloc(((size_t)a->windows.count + 1) * sizeof *a->sample_of);
    if (!a->sample_of) return HD_NOMEM(err);
    for (uint32_t w = 0; w < a->windows.count; w++)
        if (!add_sample(a, w, place)) return HD_NOMEM(err);
    s->runs_of[place]++;
    if (s->runs_of[place] > s->runs) s->runs = s->runs_of[place];
    return HD_OK;
}

/* ---- a device ---- */

static hd_status add_stretch(void *user, const gpu_stretch *stretch, hd_error *err)
{
    adder *a = user;
    uint32_t sample = a->sample_of[stretch->window];
    gpu_part part = gpu_part_of(gpu_running(stretch));
    (void)err;
    if (sample != HD_NONE && part != GPU_PART_IDLE)
        a->side->samples[sample].columns[DIFF_COMPUTE + part] += stretch->end - stretch->start;
    return HD_OK;
}

static hd_status add_parts(adder *a, uint32_t device, hd_error *err)
{
    const gpu_scope *s = &a->scope;
    const gpu_spans *waits = &a->gaps.waits.list[device];
    gpu_sweep sweep = {.large = s->large};
    bool fine = true;
    for (uint32_t i = 0; fine && i < s->devices[device].count; i++) {
        const gpu_work *work = &s->works[s->order[s->devices[device].first + i]];
        fine = gpu_sweep_add(&sweep, work->start, work->end, work->class);
    }
    for (size_t i = 0; fine && i < waits->count; i++)
        fine = gpu_sweep_add(&sweep, waits->list[i].start, waits->list[i].end, GPU_CLASSES);
    hd_status status =
        fine ? gpu_sweep_run(&sweep, a->windows.pieces, a->windows.piece_count, add_stretch, a, err) : HD_NOMEM(err);
    gpu_sweep_deinit(&sweep);
    return status;
}

/* Gaps and the pieces of windows, both in the order of time. */
static hd_status add_gaps(adder *a, uint32_t device, hd_error *err)
{
    size_t next = a->gaps.first[device], last = a->gaps.first[device + 1];
    for (size_t p = 0; p < a->windows.piece_count; p++) {
        const gpu_piece *piece = &a->windows.pieces[p];
        uint32_t sample = a->sample_of[piece->window];
        while (next < last && a->gaps.list[next].end <= piece->start) next++;
        for (size_t i = next; sample != HD_NONE && i < last && a->gaps.list[i].start < piece->end; i++) {
            const gpu_gap *gap = &a->gaps.list[i];
            int64_t start = gap->start > piece->start ? gap->start : piece->start;
            int64_t length = (gap->end < piece->end ? gap->end : piece->end) - start;
            uint32_t host = folded_text_of(a, a->hosts[i]), item = diff_item_of(a->side, DIFF_GAP, gap->cause, host);
            a->side->samples[sample].columns[DIFF_IDLE + gap->cause] += length;
            if (!add_entry(a->side, item, sample, 1, length, 0)) return HD_NOMEM(err);
        }
    }
    return HD_OK;
}

/* Its neighbours on its stream at its first occurrence, and where most of it runs. */
static bool describe(adder *a, uint32_t item, const gpu_work *work, uint32_t index)
{
    const hd_work *of = &a->scope.launches->works[index];
    diff_item *about = &a->side->about[item];
    uint32_t *last = &a->last_of_row[work->row];
    int64_t stream = a->scope.rows[work->row].stream;
    if (stream == HD_NO_NUMBER) stream = -1 - (int64_t)a->scope.rows[work->row].lane;
    if (!about->works++) {
        uint32_t at;
        const hd_block *block = hd_trace_block_of(&at, a->scope.trace, HD_KIND_SLICE, of->row);
        about->before = *last;
        if (*last != HD_NONE && a->side->about[*last].after == HD_NONE) a->side->about[*last].after = item;
        if (!gpu_arg_written(&about->grid, &a->side->texts, &a->grid, block, at)) return false;
    }
    *last = item;
    if (about->stream == stream)
        about->votes++;
    else if (about->votes)
        about->votes--;
    else
        about->stream = stream;
    about->in_graphs += of->launch != HD_NONE && a->scope.launches->launches[of->launch].sort == HD_LAUNCH_GRAPH;
    return true;
}

static bool add_work(adder *a, const gpu_work *work, uint32_t index)
{
    hd_diff_side *s = a->side;
    uint32_t step = gpu_step_of(&a->scope, work);
    uint32_t window = step != HD_NONE ? a->window_of_step[step] : gpu_window_of(&a->windows, work->start);
    uint32_t sample = window == HD_NONE ? HD_NONE : a->sample_of[window];
    if (sample == HD_NONE) return true;
    uint32_t op = work->origin == HD_NONE ? HD_NONE : a->op_of[work->origin];
    uint32_t module = work->origin == HD_NONE ? HD_NONE : a->module_of[work->origin];
    uint32_t node = op == HD_NONE ? HD_NONE : a->ops.list[op].user;
    uint32_t kind = work->class == GPU_COMMUNICATION ? DIFF_COLLECTIVE
                    : work->role == HD_ROLE_COPY     ? DIFF_COPYING
                                                     : DIFF_KERNEL;
    uint32_t name = text_of(a, a->scope.launches->works[index].name);
    int64_t time = gpu_duration(work);
    uint32_t item = name == HD_NONE ? HD_NONE : diff_item_of(s, kind, node, name);
    if (!add_entry(s, item, sample, 1, time, 0) || !describe(a, item, work, index)) return false;
    if (node != HD_NONE && !add_entry(s, diff_item_of(s, DIFF_OPERATOR, node, HD_NONE), sample, 0, time, 0))
        return false;
    if (module != HD_NONE &&
        !add_entry(s, diff_item_of(s, DIFF_MODULE, a->modules.list[module].user, HD_NONE), sample, 0, time, 0))
        return false;
    s->samples[sample].columns[DIFF_KERNELS] += work->role == HD_ROLE_KERNEL;
    if (!diff_figures_add(a->figures, &s->samples[sample], index)) return false;
    if (work->role != HD_ROLE_COPY) return true;
    int64_t bytes = gpu_copy_bytes_of(&a->bytes, a->scope.launches->works[index].row);
    s->samples[sample].columns[DIFF_COPIES]++;
    s->samples[sample].columns[DIFF_COPIES_SIZED] += bytes != HD_NO_NUMBER;
    if (bytes != HD_NO_NUMBER)
        s->samples[sample].columns[DIFF_BYTES] = gpu_sum(s->samples[sample].columns[DIFF_BYTES], bytes);
    return true;
}

static hd_status add_works(adder *a, uint32_t device, hd_error *err)
{
    const gpu_scope *s = &a->scope;
    for (uint32_t i = 0; i < s->devices[device].count; i++) {
        uint32_t index = s->order[s->devices[device].first + i];
        if (!add_work(a, &s->works[index], index)) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* The identity that all rests on. */
static hd_status add_device(adder *a, uint32_t device, hd_error *err)
{
    size_t first = a->side->sample_count;
    HD_TRY(add_samples(a, device, err));
    HD_TRY(add_parts(a, device, err));
    HD_TRY(add_gaps(a, device, err));
    for (size_t i = first; i < a->side->sample_count; i++) {
        const diff_sample *sample = &a->side->samples[i];
        int64_t sum = 0;
        for (unsigned c = 0; c < DIFF_PARTS; c++) sum += sample->columns[c];
        if (sum != sample->length) return gpu_broken("the parts of a step, in ns", sum, sample->length, err);
    }
    return HD_OK;
}

/* Works want the nodes of their operators, which want the samples of their steps: two rounds over the devices. */
static hd_status add_devices(adder *a, hd_error *err)
{
    uint32_t count = a->scope.device_count;
    hd_status status = HD_OK;
    uint32_t **samples = calloc((size_t)count + 1, sizeof *samples);
    if (!samples) return HD_NOMEM(err);
    for (int round = 0; round < 2 && status == HD_OK; round++) {
        for (uint32_t d = 0; d < count && status == HD_OK; d++) {
            for (uint32_t i = 0; i < a->scope.step_count; i++) a->window_of_step[i] = HD_NONE;
            gpu_windows_deinit(&a->windows);
            status = gpu_windows_init(&a->windows, &a->scope, d, err);
            if (status == HD_OK && round == 0) {
                status = add_device(a, d, err);
                samples[d] = a->sample_of;
                a->sample_of = NULL;
            } else if (status == HD_OK) {
                for (uint32_t w = 0; w < a->windows.count; w++)
                    if (a->windows.windows[w].step != HD_NONE) a->window_of_step[a->windows.windows[w].step] = w;
                a->sample_of = samples[d];
                samples[d] = NULL;
                status = add_works(a, d, err);
                diff_figures_add_memory(a->figures, a->side, &a->windows, a->sample_of, d);
                free(a->sample_of);
                a->sample_of = NULL;
            }
        }
        if (status == HD_OK && round == 0) status = find_host(a, err);
    }
    for (uint32_t d = 0; d < count; d++) free(samples[d]);
    free(samples);
    return status;
}

/* Steps on the CPU. A trace that launches kernels has lost its GPU activities, and is not compared so. */
static hd_status add_host(adder *a, hd_error *err)
{
    hd_diff_side *s = a->side;
    const gpu_scope *scope = &a->scope;
    size_t first = s->sample_count;
    if (scope->device_count || scope->launches->launch_count) return HD_OK;
    for (uint32_t i = 0; i < scope->step_count; i++) {
        const gpu_step *step = &scope->steps[i];
        uint32_t place = diff_place_of(s, (diff_place_key){step->rank, HD_NO_NUMBER}), name = text_of(a, step->name);
        if (place == HD_NONE || name == HD_NONE || s->sample_count >= HD_NONE ||
            !hd_grow((void **)&s->samples, &s->sample_capacity, s->sample_count, sizeof *s->samples))
            return HD_NOMEM(err);
        diff_sample *sample = &s->samples[a->sample_of_step[i] = (uint32_t)s->sample_count++];
        *sample = (diff_sample){.length = step->end - step->start,
                                .start = step->start,
                                .number = number_of(gpu_text_of(&s->texts, name)),
                                .name = name,
                                .place = place,
                                .run = s->runs_of[place],
                                .input = (uint32_t)s->path_count - 1};
        sample->columns[DIFF_HOST] = sample->length;
    }
    for (size_t i = first; i < s->sample_count; i++) {
        uint32_t runs = s->samples[i].run + 1;
        s->runs_of[s->samples[i].place] = runs;
        if (runs > s->runs) s->runs = runs;
    }
    a->is_host = s->sample_count > first;
    s->has_host |= a->is_host;
    s->has_steps |= a->is_host;
    return a->is_host ? find_host(a, err) : HD_OK;
}

/* ---- what the trace is of ---- */

static bool take_name(void *user, report_properties *p)
{
    char **name = user;
    if (*name) return true;
    *name = p->name;
    p->name = NULL;
    return true;
}

static bool set_fact(hd_diff_side *s, int fact, const char *data, size_t size)
{
    if (!data || s->facts[fact] != HD_NONE) return true;
    s->facts[fact] = gpu_text(&s->texts, data, size);
    return s->facts[fact] != HD_NONE;
}

static hd_status add_facts(hd_diff_side *s, const hd_trace *trace, hd_error *err)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    const char *format = facts->origin ? facts->origin : facts->format, *producer = hd_producer_of(trace);
    char *gpu = NULL, world[32] = "";
    bool fine = report_properties_read(trace, take_name, &gpu);
    if (facts->world_size != HD_NO_NUMBER) snprintf(world, sizeof world, "%lld", (long long)facts->world_size);
    fine = fine && set_fact(s, DIFF_FACT_GPU, gpu, gpu ? strlen(gpu) : 0) &&
           set_fact(s, DIFF_FACT_WORLD, *world ? world : NULL, strlen(world)) &&
           set_fact(s, DIFF_FACT_PRODUCER, producer, producer ? strlen(producer) : 0) &&
           set_fact(s, DIFF_FACT_FORMAT, format, strlen(format));
    for (int i = 2; fine && i < DIFF_FACTS; i++) {
        hd_string value = hd_trace_metadata_find(trace, diff_fact_names[i]);
        fine = set_fact(s, i, value.size ? value.data : NULL, value.size);
    }
    free(gpu);
    return fine ? HD_OK : HD_NOMEM(err);
}

static hd_status add_trust(hd_diff_side *s, const gpu_scope *scope, hd_error *err)
{
    const gpu_trust *trust;
    HD_TRY(gpu_trust_of_scope(&trust, scope, err));
    for (int i = 0; i < GPU_DOUBTS; i++) {
        s->doubts[i] += trust->doubts[i].count;
        s->doubts_of[i] += trust->doubts[i].of;
    }
    return HD_OK;
}

static bool make_room(adder *a)
{
    const gpu_scope *s = &a->scope;
    a->text_of = calloc((size_t)hd_trace_string_count(s->trace) + 1, sizeof *a->text_of);
    a->sample_of_step = malloc(((size_t)s->step_count + 1) * sizeof *a->sample_of_step);
    a->window_of_step = malloc(((size_t)s->step_count + 1) * sizeof *a->window_of_step);
    a->last_of_row = malloc(((size_t)s->row_count + 1) * sizeof *a->last_of_row);
    if (!a->text_of || !a->sample_of_step || !a->window_of_step || !a->last_of_row) return false;
    for (uint32_t i = 0; i < s->step_count; i++) a->sample_of_step[i] = HD_NONE;
    for (uint32_t i = 0; i < s->row_count; i++) a->last_of_row[i] = HD_NONE;
    return gpu_copy_bytes_init(&a->bytes, s->trace) && gpu_arg_init(&a->grid, s->trace, "grid");
}

static hd_status add_trace(adder *a, hd_error *err)
{
    hd_diff_side *side = a->side;
    if (!make_room(a)) return HD_NOMEM(err);
    HD_TRY(gpu_gaps_init(&a->gaps, &a->scope, err));
    HD_TRY(gpu_gap_hosts(&a->hosts, NULL, &a->scope, &a->gaps, err));
    HD_TRY(add_facts(side, a->scope.trace, err));
    HD_TRY(add_trust(side, &a->scope, err));
    if (a->scope.device_count) *(a->scope.step_count ? &side->has_steps : &side->lacks_steps) = true;
    if (a->scope.device_count) HD_TRY(diff_figures_new(&a->figures, &a->scope, err));
    HD_TRY(a->scope.device_count ? add_devices(a, err) : add_host(a, err));
    count_calls(a);
    return HD_OK;
}

/* ---- sides ---- */

hd_status hd_diff_side_new(hd_diff_side **out, const char *step, hd_error *err)
{
    hd_diff_side *s = *out = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    s->nodes.key_size = sizeof(diff_node_key);
    s->items.key_size = sizeof(diff_item_key);
    s->places.key_size = sizeof(diff_place_key);
    for (int i = 0; i < DIFF_FACTS; i++) s->facts[i] = HD_NONE;
    s->step = step ? strdup(step) : NULL;
    if (!step || s->step) return HD_OK;
    hd_diff_side_free(s);
    *out = NULL;
    return HD_NOMEM(err);
}

hd_status diff_path_add(hd_diff_side *side, const char *path, hd_error *err)
{
    char *name = strdup(path ? path : "");
    if (!name || !hd_grow((void **)&side->paths, &side->path_capacity, side->path_count, sizeof *side->paths)) {
        free(name);
        return HD_NOMEM(err);
    }
    side->paths[side->path_count++] = name;
    return HD_OK;
}

size_t hd_diff_side_step_count(const hd_diff_side *side)
{
    return side->lacks_steps ? 0 : side->sample_count;
}

hd_status hd_diff_side_add(hd_diff_side *side, const hd_trace *trace, const char *path, hd_error *err)
{
    adder a = {.side = side, .first_sample = HD_NONE};
    bool is_whole = side->step && strcmp(side->step, "none") == 0;
    const gpu_options options = {.by = is_whole ? NULL : "step", .step = is_whole ? NULL : side->step};
    const hd_report_input input = {.trace = trace};
    HD_TRY(diff_path_add(side, path, err));
    hd_status status = gpu_scope_init(&a.scope, &input, &options, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_trace(&a, err);
    gpu_windows_deinit(&a.windows);
    gpu_slices_deinit(&a.ops);
    gpu_slices_deinit(&a.modules);
    gpu_gaps_deinit(&a.gaps);
    hd_large_free(a.op_of);
    hd_large_free(a.module_of);
    hd_large_free(a.hosts);
    diff_figures_free(a.figures);
    gpu_copy_bytes_deinit(&a.bytes);
    gpu_arg_deinit(&a.grid);
    free(a.text_of);
    free(a.sample_of_step);
    free(a.window_of_step);
    free(a.last_of_row);
    free(a.sample_of);
    gpu_scope_deinit(&a.scope);
    return status;
}

void hd_diff_side_free(hd_diff_side *side)
{
    if (!side) return;
    for (size_t i = 0; i < side->path_count; i++) free(side->paths[i]);
    free(side->paths);
    gpu_texts_deinit(&side->texts);
    gpu_groups_deinit(&side->nodes);
    gpu_groups_deinit(&side->items);
    gpu_groups_deinit(&side->places);
    free(side->raw_of);
    free(side->about);
    free(side->samples);
    free(side->entries);
    free(side->last_entry);
    free(side->runs_of);
    free(side->step);
    free(side);
}

static bool samples_are_same(const diff_sample *x, const diff_sample *y)
{
    return x->length == y->length && x->start == y->start && x->name == y->name && x->place == y->place &&
           x->run == y->run && memcmp(x->columns, y->columns, sizeof x->columns) == 0;
}

bool diff_sides_are_same(const hd_diff_side *x, const hd_diff_side *y)
{
    if (x->sample_count != y->sample_count || x->entry_count != y->entry_count || x->items.count != y->items.count ||
        x->nodes.count != y->nodes.count || x->texts.size != y->texts.size || x->places.count != y->places.count)
        return false;
    if (x->texts.size && memcmp(x->texts.bytes, y->texts.bytes, x->texts.size) != 0) return false;
    if (x->nodes.count && memcmp(x->nodes.keys, y->nodes.keys, x->nodes.count * sizeof(diff_node_key)) != 0)
        return false;
    if (x->items.count && memcmp(x->items.keys, y->items.keys, x->items.count * sizeof(diff_item_key)) != 0)
        return false;
    for (size_t i = 0; i < x->sample_count; i++)
        if (!samples_are_same(&x->samples[i], &y->samples[i])) return false;
    for (uint32_t i = 0; i < x->items.count; i++) {
        const diff_item *a = &x->about[i], *b = &y->about[i];
        if (a->stream != b->stream || a->works != b->works || a->grid != b->grid || a->in_graphs != b->in_graphs)
            return false;
    }
    for (size_t i = 0; i < x->entry_count; i++) {
        const diff_entry *a = &x->entries[i], *b = &y->entries[i];
        if (a->item != b->item || a->sample != b->sample || a->calls != b->calls || a->time != b->time ||
            a->cpu != b->cpu)
            return false;
    }
    return true;
}
