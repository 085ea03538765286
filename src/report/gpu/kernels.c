/* kernels.c - which kernels take the time: see "kernels" in docs/reports/definitions.md */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "heddle/attribution.h"
#include "heddle/names.h"
#include "model/roles/trace_roles.h"
#include "report/gpu/gpu.h"
#include "trace/stacks/trace_stacks.h"

/* What a row is of. Texts of `texts`, HD_NONE: null. */
typedef struct kernel_key {
    int64_t stream;
    uint32_t device, step, name; /* name: string, or with --by short text */
    uint32_t op, module, shape, grid, block, class;
    uint32_t stack; /* node */
} kernel_key;

/* What the kernels of a row tell. */
typedef struct kernel_sum {
    int64_t registers, shared; /* HD_NO_NUMBER: nothing */
    double occupancy;
    uint64_t occupancy_count;
    int64_t longest;
    uint64_t longest_row;
    uint64_t untimed; /* kernels without a time */
} kernel_sum;

enum { STACK_ROOM = 64 << 20 }; /* bytes */
enum { REGISTERS, SHARED, OCCUPANCY, GRID, BLOCK, DIMS, ARGUMENTS };
static const char *const argument_names[ARGUMENTS] = {
    "registers per thread", "shared memory", "est. achieved occupancy %", "grid", "block", "Input Dims"};

typedef struct kernels {
    gpu_scope scope;
    gpu_arg args[ARGUMENTS];
    gpu_texts texts;
    uint32_t *short_of; /* by string: text + 1; with --by short */
    gpu_slices ops;
    uint32_t *op_of;             /* by launch: of ops */
    uint32_t *module_of;         /* by launch: text */
    hd_attribution *attribution; /* with --by stack */
    hd_stacks *stacks;
    uint32_t *stack_of; /* by node of the attribution's stacks */
    hd_json_out stack_text;
    uint64_t stack_room; /* for the texts of stacks */
    gpu_groups groups;
    kernel_sum *sums; /* by group */
    size_t sum_capacity;
    gpu_value *values;
    size_t value_count;
    gpu_stats *stats;
    gpu_shares shares;
} kernels;

/* ---- what stands around the launches ---- */

static hd_status find_ops(kernels *k, hd_error *err)
{
    HD_TRY(gpu_slices_init(&k->ops, &k->scope, 1u << HD_ROLE_OP, err));
    return gpu_innermost_of_launches(&k->op_of, &k->scope, &k->ops, err);
}

typedef struct module_finder {
    kernels *k;
    gpu_slices frames; /* of modules */
    char *text;
    size_t capacity;
} module_finder;

/* "Block_1/Linear_0" of the modules around a launch. */
static hd_status join_modules(void *user, uint32_t id, const uint32_t *slices, size_t count, hd_error *err)
{
    module_finder *m = user;
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        hd_string name = hd_trace_string(m->k->scope.trace, m->frames.list[slices[i]].name);
        name.data += GPU_MODULE_WORD;
        name.size -= GPU_MODULE_WORD;
        if (!hd_reserve(&m->text, &m->capacity, size + name.size + 2)) return HD_NOMEM(err);
        if (i) m->text[size++] = '/';
        memcpy(m->text + size, name.data, name.size);
        size += name.size;
    }
    if (!size) return HD_OK;
    m->k->module_of[id] = gpu_text(&m->k->texts, m->text, size);
    return m->k->module_of[id] == HD_NONE ? HD_NOMEM(err) : HD_OK;
}

static hd_status find_modules(kernels *k, hd_error *err)
{
    module_finder m = {.k = k};
    gpu_place *places = NULL;
    size_t count, launches = k->scope.launches->launch_count;
    k->module_of = hd_large_new(launches + 1, sizeof *k->module_of, k->scope.large);
    hd_status status = k->module_of ? gpu_modules_init(&m.frames, &k->scope, err) : HD_NOMEM(err);
    for (size_t i = 0; status == HD_OK && i < launches; i++) k->module_of[i] = HD_NONE;
    if (status == HD_OK) status = gpu_launch_places(&places, &count, &k->scope, err);
    if (status == HD_OK) status = gpu_around(&m.frames, places, count, join_modules, &m, err);
    hd_large_free(places);
    gpu_slices_deinit(&m.frames);
    free(m.text);
    return status;
}

/* The stacks of work with one frame for all steps, as flame graphs have them. */
static hd_status merge_steps(kernels *k, hd_error *err)
{
    const hd_stacks *stacks = k->attribution->stacks;
    uint32_t count = hd_stacks_count(stacks);
    HD_TRY(hd_stacks_new(&k->stacks, err));
    hd_stacks_set_large(k->stacks, k->scope.large);
    k->stack_of = hd_large_new(count, sizeof *k->stack_of, k->scope.large);
    if (!k->stack_of) return HD_NOMEM(err);
    k->stack_of[HD_STACK_NONE] = HD_STACK_NONE;
    for (uint32_t node = 1; node < count; node++) {
        hd_frame frame = hd_stacks_at(stacks, node);
        hd_string name = hd_stacks_text(stacks, frame.name);
        if (!(k->scope.by & GPU_BY_STEP) && hd_is_profiler_step(name)) name.size = strcspn(name.data, "#");
        k->stack_of[node] = hd_stacks_push(k->stacks, k->stack_of[frame.caller],
                                           hd_stacks_name(k->stacks, name.data, name.size), frame.kind);
        if (k->stack_of[node] == HD_NONE) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* What flame graphs put under the kernels. */
static hd_status find_stacks(kernels *k, hd_error *err)
{
    const hd_attribution_options options = {.size = sizeof options};
    HD_TRY(hd_attribute(&k->attribution, k->scope.trace, NULL, &options, err));
    size_t wanted = k->scope.launches->work_count, found = k->attribution->launches->work_count;
    if (found != wanted) return gpu_broken("works with stacks", (int64_t)found, (int64_t)wanted, err);
    return merge_steps(k, err);
}

/* ---- keys ---- */

/* "[4, 1, 1]" as "4x1x1"; HD_NONE for what is no list of three. false: no memory. */
static bool dimensions(uint32_t *out, kernels *k, int argument, const hd_block *block, uint32_t row)
{
    char text[128];
    size_t size = 0, parts = 1;
    hd_value value;
    *out = HD_NONE;
    if (!gpu_arg_get(&value, &k->args[argument], block, row) || value.type != HD_ARG_JSON) return true;
    hd_string json = hd_trace_string(k->scope.trace, (uint32_t)value.bits);
    if (json.size < 3 || json.size >= sizeof text || json.data[0] != '[') return true;
    for (size_t i = 1; i + 1 < json.size; i++) {
        char c = json.data[i];
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
        if (c != ',' && c != '-' && (c < '0' || c > '9')) return true;
        parts += c == ',';
        text[size++] = c == ',' ? 'x' : c;
    }
    if (parts != 3) return true;
    *out = gpu_text(&k->texts, text, size);
    return *out != HD_NONE;
}

/* The shape of an op is kept with its slice. */
enum { NO_SHAPE = HD_NONE - 1 };

static bool shape_of(uint32_t *out, kernels *k, gpu_slice *op)
{
    if (op->user == HD_NONE) {
        uint32_t at;
        const hd_block *block = hd_trace_block_of(&at, k->scope.trace, HD_KIND_SLICE, op->row);
        if (!gpu_arg_written(&op->user, &k->texts, &k->args[DIMS], block, at)) return false;
        if (op->user == HD_NONE) op->user = NO_SHAPE;
    }
    *out = op->user == NO_SHAPE ? HD_NONE : op->user;
    return true;
}

static bool name_of(uint32_t *out, kernels *k, uint32_t string)
{
    *out = string;
    if (!k->short_of) return true;
    if (!k->short_of[string]) {
        char text[HD_NAME_BYTES];
        size_t size = hd_name_short(text, hd_trace_string(k->scope.trace, string));
        uint32_t number = gpu_text(&k->texts, text, size);
        if (number == HD_NONE) return false;
        k->short_of[string] = number + 1;
    }
    *out = k->short_of[string] - 1;
    return true;
}

static bool key_of(kernel_key *out, kernels *k, const gpu_work *work, uint32_t name, uint32_t stack,
                   const hd_block *block, uint32_t row)
{
    gpu_scope *s = &k->scope;
    gpu_slice *op = k->op_of && work->launch != HD_NONE && k->op_of[work->launch] != HD_NONE
                        ? &k->ops.list[k->op_of[work->launch]]
                        : NULL;
    *out = (kernel_key){
        .stream = s->by & GPU_BY_STREAM ? s->rows[work->row].stream : HD_NO_NUMBER,
        .device = work->device,
        .step = work->step,
        .op = s->by & GPU_BY_OP && op ? op->name : HD_NONE,
        .module = k->module_of && work->launch != HD_NONE ? k->module_of[work->launch] : HD_NONE,
        .shape = HD_NONE,
        .grid = HD_NONE,
        .block = HD_NONE,
        .class = s->by & GPU_BY_CLASS ? work->class : HD_NONE,
        .stack = stack,
    };
    bool fine = name_of(&out->name, k, name);
    if (fine && s->by & GPU_BY_SHAPE && op) fine = shape_of(&out->shape, k, op);
    if (fine && s->by & GPU_BY_GRID)
        fine = dimensions(&out->grid, k, GRID, block, row) && dimensions(&out->block, k, BLOCK, block, row);
    return fine;
}

/* ---- sums ---- */

static void tell_most(int64_t *most, kernels *k, int argument, const hd_block *block, uint32_t row)
{
    int64_t said;
    if (gpu_arg_whole(&said, &k->args[argument], block, row) && said > *most) *most = said;
}

/* What all its kernels have, with a time or without one. HD_NONE: no memory. */
static uint32_t group_of(kernels *k, const gpu_work *work, const hd_work *what, uint32_t stack)
{
    kernel_key key;
    hd_value occupancy;
    double percent;
    uint32_t row;
    const gpu_scope *s = &k->scope;
    const hd_block *block = hd_trace_block_of(&row, s->trace, HD_KIND_SLICE, what->row);
    if (!key_of(&key, k, work, what->name, stack, block, row)) return HD_NONE;
    uint32_t count = k->groups.count, group = gpu_group(&k->groups, &key);
    if (group == HD_NONE || !hd_grow((void **)&k->sums, &k->sum_capacity, group, sizeof *k->sums)) return HD_NONE;
    kernel_sum *sum = &k->sums[group];
    if (group == count) *sum = (kernel_sum){.registers = HD_NO_NUMBER, .shared = HD_NO_NUMBER, .longest = -1};
    tell_most(&sum->registers, k, REGISTERS, block, row);
    tell_most(&sum->shared, k, SHARED, block, row);
    if (gpu_arg_get(&occupancy, &k->args[OCCUPANCY], block, row) && hd_value_double(&percent, s->trace, occupancy)) {
        sum->occupancy += percent;
        sum->occupancy_count++;
    }
    return group;
}

static bool add_kernel(kernels *k, size_t index)
{
    const gpu_scope *s = &k->scope;
    const gpu_work *work = &s->works[index];
    uint32_t stack = k->stacks ? k->stack_of[k->attribution->work_stack[index]] : HD_STACK_NONE;
    uint32_t group = group_of(k, work, &s->launches->works[index], stack);
    if (group == HD_NONE) return false;
    kernel_sum *sum = &k->sums[group];
    if (gpu_duration(work) > sum->longest) {
        sum->longest = gpu_duration(work);
        sum->longest_row = s->launches->works[index].row;
    }
    k->values[k->value_count++] = (gpu_value){gpu_duration(work), group};
    return gpu_share_add(&k->shares, s, work->device, work->step, gpu_duration(work));
}

static hd_status sum_kernels(kernels *k, hd_error *err)
{
    const gpu_scope *s = &k->scope;
    gpu_i128 sum = 0, listed = 0;
    k->values = hd_large_new(s->counted + 1, sizeof *k->values, s->large);
    if (!k->values) return HD_NOMEM(err);
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (!work->is_listed || work->role != HD_ROLE_KERNEL) continue;
        listed += gpu_duration(work);
        if (!add_kernel(k, i)) return HD_NOMEM(err);
    }
    for (size_t i = 0; i < s->launches->works_without_time; i++) {
        const gpu_work *work = &s->untimed[i];
        if (work->device == HD_NONE || work->role != HD_ROLE_KERNEL) continue;
        uint32_t group = group_of(k, work, &s->launches->untimed[i], HD_STACK_NONE);
        if (group == HD_NONE) return HD_NOMEM(err);
        k->sums[group].untimed++;
    }
    k->stats = hd_large_new((size_t)k->groups.count + 1, sizeof *k->stats, s->large);
    if (!k->stats || !gpu_stats_of(k->stats, k->groups.count, k->values, k->value_count, s->large))
        return HD_NOMEM(err);
    for (uint32_t g = 0; g < k->groups.count; g++) sum += k->stats[g].total;
    return sum == listed || listed > INT64_MAX
               ? HD_OK
               : gpu_broken("the time of all kernels, in ns", (int64_t)sum, (int64_t)listed, err);
}

/* ---- rows ---- */

static void add_stack(hd_table_builder *b, kernels *k, uint32_t node)
{
    k->stack_text.size = 0;
    bool fits = node != HD_STACK_NONE && hd_stacks_put(&k->stack_text, k->stacks, node, k->stack_room) &&
                k->stack_text.size <= k->stack_room;
    if (!fits) {
        if (node != HD_STACK_NONE) k->stack_room = 0;
        hd_table_add_null(b);
        return;
    }
    k->stack_room -= k->stack_text.size;
    hd_table_add_string(b, k->stack_text.data, k->stack_text.size);
}

static void add_row(hd_table_builder *b, kernels *k, uint32_t group)
{
    const kernel_key *key = gpu_group_key(&k->groups, group);
    const kernel_sum *sum = &k->sums[group];
    const gpu_stats *stats = &k->stats[group];
    gpu_cells_device(b, &k->scope, key->device, key->step);
    if (k->short_of)
        gpu_cell_text(b, &k->texts, key->name);
    else
        report_cell_string(b, k->scope.trace, key->name);
    report_cell_string(b, k->scope.trace, key->op == HD_NONE ? HD_STRING_NONE : key->op);
    gpu_cell_text(b, &k->texts, key->module);
    gpu_cell_text(b, &k->texts, key->shape);
    gpu_cell_text(b, &k->texts, key->grid);
    gpu_cell_text(b, &k->texts, key->block);
    report_cell_int(b, key->stream);
    hd_table_add_text(b, key->class == HD_NONE ? NULL : gpu_class_names[key->class]);
    add_stack(b, k, key->stack);
    bool any = stats->count > 0;
    if (any)
        gpu_cell_share(b, &k->shares, &k->scope, key->device, key->step, stats->total);
    else
        hd_table_add_null(b);
    gpu_cell_time(b, stats->total, any);
    hd_table_add_count(b, stats->count + sum->untimed);
    gpu_cell_time(b, stats->mean, any);
    gpu_cell_time(b, stats->median, any);
    gpu_cell_time(b, stats->min, any);
    gpu_cell_time(b, stats->max, any);
    report_cell_int(b, any ? stats->stddev : HD_NO_NUMBER);
    gpu_cell_count(b, (uint64_t)sum->registers, sum->registers >= 0);
    gpu_cell_count(b, (uint64_t)sum->shared, sum->shared >= 0);
    if (sum->occupancy_count)
        hd_table_add_decimal(b, sum->occupancy / (double)sum->occupancy_count);
    else
        hd_table_add_null(b);
    report_cell_int(b, any ? (int64_t)sum->longest_row : HD_NO_NUMBER);
}

static hd_status add_tables(hd_report *out, kernels *k, hd_error *err)
{
    hd_table_builder *b;
    if (k->scope.by & (GPU_BY_OP | GPU_BY_SHAPE)) HD_TRY(find_ops(k, err));
    if (k->scope.by & GPU_BY_MODULE) HD_TRY(find_modules(k, err));
    if (k->scope.by & GPU_BY_STACK) HD_TRY(find_stacks(k, err));
    HD_TRY(sum_kernels(k, err));
    k->stack_room = STACK_ROOM;
    HD_TRY(report_builder(&b, &report_kernels_about, "kernels", err));
    for (uint32_t g = 0; g < k->groups.count; g++) add_row(b, k, g);
    HD_TRY(gpu_add(out, b, "total", err));
    const char *const more[] = {k->stack_room ? NULL : "not all stacks have a text: they would take too much room",
                                NULL};
    return gpu_add_notes(out, &report_kernels_about, &k->scope, more, err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    kernels k = {.groups = {.key_size = sizeof(kernel_key)}};
    hd_status status = gpu_scope_init(&k.scope, input, options,
                                      GPU_BY_STEP | GPU_BY_NAME | GPU_BY_SHORT | GPU_BY_OP | GPU_BY_MODULE |
                                          GPU_BY_SHAPE | GPU_BY_GRID | GPU_BY_STREAM | GPU_BY_CLASS | GPU_BY_STACK,
                                      err);
    for (int i = 0; i < ARGUMENTS && status == HD_OK; i++) {
        if (!gpu_arg_init(&k.args[i], input->trace, argument_names[i])) status = HD_NOMEM(err);
    }
    if (status == HD_OK && k.scope.by & GPU_BY_SHORT) {
        k.short_of = calloc((size_t)hd_trace_string_count(input->trace) + 1, sizeof *k.short_of);
        if (!k.short_of) status = HD_NOMEM(err);
    }
    if (status == HD_OK) status = add_tables(out, &k, err);
    if (status != HD_OK) hd_report_free(out);
    for (int i = 0; i < ARGUMENTS; i++) gpu_arg_deinit(&k.args[i]);
    gpu_texts_deinit(&k.texts);
    gpu_slices_deinit(&k.ops);
    gpu_groups_deinit(&k.groups);
    gpu_shares_deinit(&k.shares);
    hd_large_free(k.op_of);
    hd_large_free(k.module_of);
    hd_attribution_free(k.attribution);
    hd_stacks_free(k.stacks);
    hd_large_free(k.stack_of);
    free(k.stack_text.data);
    hd_large_free(k.values);
    hd_large_free(k.stats);
    free(k.short_of);
    free(k.sums);
    gpu_scope_deinit(&k.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column columns[] = {
    GPU_COLUMNS_DEVICE,
    {"name", HD_VALUE_STRING, "of the kernel; with --by short without template arguments and parameters"},
    {"op", HD_VALUE_STRING, "with --by op: the innermost operator around the launch"},
    {"module", HD_VALUE_STRING, "with --by module: the nn.Modules around the launch, outermost first"},
    {"shape", HD_VALUE_STRING, "with --by shape: Input Dims of that operator"},
    {"grid", HD_VALUE_STRING, "with --by grid: blocks"},
    {"block", HD_VALUE_STRING, "with --by grid: threads of a block"},
    {"stream", HD_VALUE_INT, "with --by stream"},
    {"class", HD_VALUE_STRING, "with --by class: compute, communication or copy"},
    {"stack", HD_VALUE_STRING, "with --by stack: what flame graphs put below the kernel, from the root"},
    {"share", HD_VALUE_DECIMAL, "percent of the time of all kernels of the device"},
    {"total", HD_VALUE_DURATION, "sum of the durations"},
    {"count", HD_VALUE_COUNT, "kernels, with those that have no time, of which no other figure is"},
    {"mean", HD_VALUE_DURATION, "of the durations"},
    {"median", HD_VALUE_DURATION, "of the durations"},
    {"min", HD_VALUE_DURATION, "the shortest"},
    {"max", HD_VALUE_DURATION, "the longest"},
    {"stddev", HD_VALUE_DURATION, "of the durations (n - 1); null for one"},
    {"registers", HD_VALUE_COUNT, "of a thread, the most that one tells"},
    {"shared", HD_VALUE_BYTES, "shared memory, the most that one tells"},
    {"occupancy", HD_VALUE_DECIMAL, "achieved, as the profiler estimates it: mean in percent"},
    {"longest_id", HD_VALUE_INT, GPU_ID_OF "the longest"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"kernels", "by name, most time first", columns, HD_CHART_BARS, "name", "total"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {
    GPU_OPTIONS("name, short, op, module, shape, grid, stream, class, stack, step"),
    {0},
};

const hd_report_about report_kernels_about = {
    .name = "kernels",
    .title = "which kernels take the time",
    .text = "Sums up kernels by name, and by what --by names: the operator or module that launched them, its shapes, "
            "grid, stream, class. All kernels count, also those whose launch is not known.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
