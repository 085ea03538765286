/* kernels.c - which kernels take the time: see "kernels" in docs/reports/definitions.md */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "heddle/analysis/attribution.h"
#include "heddle/names.h"
#include "model/class/class.h"
#include "model/host/lines.h"
#include "model/roles/trace_roles.h"
#include "report/coverage.h"
#include "report/gpu/gpu.h"
#include "trace/stacks/trace_stacks.h"

/* A kernel. Texts of `texts`, HD_NONE: null. */
GPU_KEY
typedef struct kernel_row {
    gpu_key on;
    uint32_t name;                                                      /* string, or with --by short text */
    uint32_t op, module, shape, grid, block, class, stack, line, group; /* stack: node; group: of model/class */
    int64_t stream;
    /* of which it has: */
    int64_t time, registers, shared, id, doubts;
    double occupancy;
} kernel_row;
GPU_KEY_END

enum { STACK_ROOM = 64 << 20 }; /* bytes */
enum { REGISTERS, SHARED, OCCUPANCY, GRID, BLOCK, DIMS, ARGUMENTS };
static const char *const argument_names[ARGUMENTS] = {
    "registers per thread", "shared memory", "est. achieved occupancy %", "grid", "block", "Input Dims"};

typedef struct kernels {
    gpu_scope scope;
    const gpu_trust *trust;
    gpu_arg args[ARGUMENTS];
    gpu_texts texts;
    uint32_t *short_of;         /* by string: text + 1; with --by short */
    gpu_group_names own_groups; /* with --by group */
    gpu_slices ops;
    uint32_t *op_of;     /* by launch: of ops */
    uint32_t *module_of; /* by launch: text */
    gpu_lines lines;
    uint32_t *line_of; /* by launch: text; with --by line */
    bool has_lines;
    hd_attribution *attribution; /* with --by stack */
    hd_stacks *stacks;
    uint32_t *stack_of; /* by node of the attribution's stacks */
    hd_json_out stack_text;
    uint64_t stack_room; /* for the texts of stacks */
    gpu_aggregate rows;
    report_covered shaped; /* with --by shape */
    hd_block_room room;    /* of sum_kernels */
} kernels;

/* ---- activities around the launches ---- */

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

/* The stacks of activities with one frame for all steps, as in flame graphs. */
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

/* The stacks that flame graphs show for the kernels. */
static hd_status find_stacks(kernels *k, hd_error *err)
{
    const hd_attribution_options options = {.size = sizeof options};
    HD_TRY(hd_attribute(&k->attribution, k->scope.trace, NULL, &options, err));
    size_t wanted = k->scope.launches->work_count, found = k->attribution->launches->work_count;
    if (found != wanted) return gpu_broken("works with stacks", (int64_t)found, (int64_t)wanted, err);
    return merge_steps(k, err);
}

/* ---- keys ---- */

/* "[4, 1, 1]" as "4x1x1"; HD_NONE for anything but a list of three. false: no memory. */
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
    if (!k->short_of || string == HD_STRING_NONE) return true;
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

static int64_t whole_of(kernels *k, int argument, const hd_block *block, uint32_t row)
{
    int64_t value;
    return gpu_arg_whole(&value, &k->args[argument], block, row) && value >= 0 ? value : HD_NO_NUMBER;
}

/* time HD_NO_NUMBER: it has none, and counts without. */
static bool add_kernel(kernels *k, const gpu_work *work, const hd_work *of, int64_t time, uint32_t stack,
                       int64_t doubts)
{
    const gpu_scope *s = &k->scope;
    uint32_t at, launch = work->origin;
    const hd_block *block = hd_walk_row(&at, &k->room, s->trace, HD_KIND_SLICE, of->row);
    gpu_slice *op =
        k->op_of && launch != HD_NONE && k->op_of[launch] != HD_NONE ? &k->ops.list[k->op_of[launch]] : NULL;
    kernel_row row = {
        .on = {work->device, gpu_step_of(s, work)},
        .op = s->by & GPU_BY_OP && op ? op->name : HD_NONE,
        .module = k->module_of && launch != HD_NONE ? k->module_of[launch] : HD_NONE,
        .shape = HD_NONE,
        .grid = HD_NONE,
        .block = HD_NONE,
        .class = s->by & GPU_BY_CLASS ? work->class : HD_NONE,
        .stack = stack,
        .line = HD_NONE,
        .group = s->by & GPU_BY_GROUP ? gpu_group_of_string(&k->own_groups, of->name) : HD_NONE,
        .stream = s->by & GPU_BY_STREAM ? s->rows[work->row].stream : HD_NO_NUMBER,
        .time = time,
        .registers = whole_of(k, REGISTERS, block, at),
        .shared = whole_of(k, SHARED, block, at),
        .id = (int64_t)of->row,
        .occupancy = NAN,
        .doubts = doubts,
    };
    hd_value value;
    if (gpu_arg_get(&value, &k->args[OCCUPANCY], block, at)) hd_value_double(&row.occupancy, s->trace, value);
    bool is_named = !(s->by & (GPU_BY_LINE | GPU_BY_GROUP)) || s->by & (GPU_BY_NAME | GPU_BY_SHORT);
    bool fine = name_of(&row.name, k, is_named ? of->name : HD_STRING_NONE);
    if (fine && s->by & GPU_BY_SHAPE && op) fine = shape_of(&row.shape, k, op);
    if (fine && s->by & GPU_BY_GRID)
        fine = dimensions(&row.grid, k, GRID, block, at) && dimensions(&row.block, k, BLOCK, block, at);
    if (fine && s->by & GPU_BY_SHAPE && time != HD_NO_NUMBER) report_cover(&k->shaped, time, row.shape != HD_NONE);
    if (fine && k->line_of) fine = gpu_line_of_slice(&row.line, &k->lines, of->row);
    if (k->line_of && row.line == HD_NONE && launch != HD_NONE) row.line = k->line_of[launch];
    k->has_lines |= row.line != HD_NONE;
    return fine && gpu_aggregate_add(&k->rows, &row);
}

static hd_status sum_kernels(kernels *k, hd_error *err)
{
    const gpu_scope *s = &k->scope;
    gpu_i128 listed = 0;
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (!work->is_listed || work->role != HD_ROLE_KERNEL) continue;
        listed += gpu_duration(work);
        uint32_t stack = k->stacks ? k->stack_of[k->attribution->work_stack[i]] : HD_STACK_NONE;
        int64_t doubts = k->trust->of_works ? k->trust->of_works[i] : 0;
        if (!add_kernel(k, work, &s->launches->works[i], gpu_duration(work), stack, doubts)) return HD_NOMEM(err);
    }
    for (size_t i = 0; i < s->launches->works_without_time; i++) {
        const gpu_work *work = &s->untimed[i];
        if (work->device == HD_NONE || work->role != HD_ROLE_KERNEL) continue;
        if (!add_kernel(k, work, &s->launches->untimed[i], HD_NO_NUMBER, HD_STACK_NONE, 0)) return HD_NOMEM(err);
    }
    gpu_i128 sum = gpu_aggregate_total(&k->rows, offsetof(kernel_row, time));
    return sum == listed ? HD_OK : gpu_broken("the time of all kernels, in ns", (int64_t)sum, (int64_t)listed, err);
}

/* ---- rows ---- */

static void add_name(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *c)
{
    uint32_t name = ((const kernel_row *)gpu_group_key(&a->groups, group))->name;
    (void)c;
    if (((const kernels *)a->user)->short_of)
        gpu_cell_text(b, a->texts, name);
    else
        report_cell_string(b, a->scope->trace, name);
}

static void add_stack(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *c)
{
    kernels *k = a->user;
    uint32_t node = ((const kernel_row *)gpu_group_key(&a->groups, group))->stack;
    (void)c;
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

static void add_doubts(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *c)
{
    unsigned all = ((const kernels *)a->user)->trust->all, own = (unsigned)gpu_aggregate_sum(a, group, c->fill->at);
    gpu_cell_doubts(b, gpu_doubts_of(own | all, GPU_FIGURE_TIME));
}

static void add_group(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *c)
{
    const char *path = gpu_group_path(((const kernel_row *)gpu_group_key(&a->groups, group))->group);
    (void)c;
    hd_table_add_text(b, path);
}

static hd_status add_tables(hd_report *out, kernels *k, hd_error *err)
{
    gpu_aggregate_init(&k->rows, &k->scope, &k->texts, offsetof(kernel_row, time), &report_kernels_about, "kernels");
    k->rows.user = k;
    if (k->scope.by & (GPU_BY_OP | GPU_BY_SHAPE)) HD_TRY(find_ops(k, err));
    if (k->scope.by & GPU_BY_MODULE) HD_TRY(find_modules(k, err));
    if (k->scope.by & GPU_BY_STACK) HD_TRY(find_stacks(k, err));
    if (k->scope.by & GPU_BY_LINE) {
        HD_TRY(gpu_lines_init(&k->lines, &k->texts, k->scope.trace, "", err));
        HD_TRY(gpu_lines_of_launches(&k->line_of, &k->lines, &k->scope, true, err));
    }
    HD_TRY(gpu_trust_of_scope(&k->trust, &k->scope, err));
    HD_TRY(sum_kernels(k, err));
    k->stack_room = STACK_ROOM;
    HD_TRY(gpu_add_aggregate(out, &k->rows, "total", err));
    const char *more[5] = {NULL};
    size_t notes = 0;
    if (!k->stack_room) more[notes++] = "not all stacks have a text: they would take too much room";
    if (k->line_of && !k->has_lines)
        more[notes++] = "no launch is within a line of Python: the trace has no frames (with_stack=True)";
    if (k->scope.by & GPU_BY_GROUP && !gpu_group_count())
        more[notes++] = "there are no groups: --groups FILE defines them";
    if (k->scope.by & GPU_BY_GROUP && !gpu_group_names_notes(&more[notes], &k->own_groups)) return HD_NOMEM(err);
    HD_TRY(gpu_add_notes(out, &report_kernels_about, &k->scope, more, err));
    return report_add_coverage(out, COVERAGE_SHAPES, &k->shaped, "of kernels", err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    kernels k = {0};
    hd_status status =
        gpu_scope_init(&k.scope, input, options,
                       GPU_BY_STEP | GPU_BY_NAME | GPU_BY_SHORT | GPU_BY_OP | GPU_BY_MODULE | GPU_BY_SHAPE |
                           GPU_BY_GRID | GPU_BY_STREAM | GPU_BY_CLASS | GPU_BY_STACK | GPU_BY_LINE | GPU_BY_GROUP,
                       err);
    for (int i = 0; i < ARGUMENTS && status == HD_OK; i++) {
        if (!gpu_arg_init(&k.args[i], input->trace, argument_names[i])) status = HD_NOMEM(err);
    }
    if (status == HD_OK && k.scope.by & GPU_BY_SHORT) {
        k.short_of = calloc((size_t)hd_trace_string_count(input->trace) + 1, sizeof *k.short_of);
        if (!k.short_of) status = HD_NOMEM(err);
    }
    if (status == HD_OK && k.scope.by & GPU_BY_GROUP && !gpu_group_names_init(&k.own_groups, input->trace))
        status = HD_NOMEM(err);
    if (status == HD_OK) status = add_tables(out, &k, err);
    for (int i = 0; i < ARGUMENTS; i++) gpu_arg_deinit(&k.args[i]);
    gpu_texts_deinit(&k.texts);
    hd_walk_end(&k.room, input->trace);
    gpu_slices_deinit(&k.ops);
    gpu_aggregate_deinit(&k.rows);
    hd_large_free(k.op_of);
    hd_large_free(k.module_of);
    hd_large_free(k.line_of);
    gpu_lines_deinit(&k.lines);
    hd_attribution_free(k.attribution);
    hd_stacks_free(k.stacks);
    hd_large_free(k.stack_of);
    free(k.stack_text.data);
    free(k.short_of);
    gpu_group_names_deinit(&k.own_groups);
    gpu_scope_deinit(&k.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column columns[] = {
    GPU_COLUMNS_DEVICE,
    {"name", HD_VALUE_STRING,
     "name of the kernel; with --by short without template arguments and parameters; null with --by line or group "
     "alone",
     GPU_FILL_OWN(add_name)},
    {"op", HD_VALUE_STRING, "with --by op: the innermost operator around the launch", GPU_FILL(STRING, kernel_row, op)},
    {"module", HD_VALUE_STRING, "with --by module: the nn.Modules around the launch, outermost first",
     GPU_FILL(TEXT, kernel_row, module)},
    {"shape", HD_VALUE_STRING, "with --by shape: Input Dims of that operator", GPU_FILL(TEXT, kernel_row, shape)},
    {"grid", HD_VALUE_STRING, "with --by grid: blocks", GPU_FILL(TEXT, kernel_row, grid)},
    {"block", HD_VALUE_STRING, "with --by grid: threads of a block", GPU_FILL(TEXT, kernel_row, block)},
    {"stream", HD_VALUE_INT, "with --by stream", GPU_FILL(NUMBER, kernel_row, stream)},
    {"class", HD_VALUE_STRING, "with --by class: compute, communication or copy",
     GPU_FILL(WORD, kernel_row, class, .words = gpu_class_names)},
    {"stack", HD_VALUE_STRING, "with --by stack: the frames below the kernel in a flame graph, from the root",
     GPU_FILL_OWN(add_stack)},
    {"share", HD_VALUE_DECIMAL, "percent of the time of all kernels of the device", GPU_FILL(SHARE, kernel_row, time)},
    {"total", HD_VALUE_DURATION, "sum of the durations", GPU_FILL(SUM, kernel_row, time)},
    {"count", HD_VALUE_COUNT, "kernels, including those without a duration, which no other figure includes",
     GPU_FILL(ROWS, kernel_row, time)},
    {"mean", HD_VALUE_DURATION, "of the durations", GPU_FILL(MEAN, kernel_row, time)},
    {"median", HD_VALUE_DURATION, "of the durations", GPU_FILL(MEDIAN, kernel_row, time)},
    {"min", HD_VALUE_DURATION, "the shortest", GPU_FILL(MIN, kernel_row, time)},
    {"max", HD_VALUE_DURATION, "the longest", GPU_FILL(MAX, kernel_row, time)},
    {"stddev", HD_VALUE_DURATION, "of the durations (n - 1); null for one", GPU_FILL(STDDEV, kernel_row, time)},
    {"registers", HD_VALUE_COUNT, "per thread: the maximum of the kernels that have it",
     GPU_FILL(MAX, kernel_row, registers)},
    {"shared", HD_VALUE_BYTES, "shared memory: the maximum of the kernels that have it",
     GPU_FILL(MAX, kernel_row, shared)},
    {"occupancy", HD_VALUE_DECIMAL, "achieved, as the profiler estimates it: mean in percent",
     GPU_FILL(MEAN_DECIMAL, kernel_row, occupancy)},
    {"longest_id", HD_VALUE_INT, GPU_ID_OF "the longest", GPU_FILL(OF_MAX, kernel_row, time, offsetof(kernel_row, id))},
    {"line", HD_VALUE_STRING,
     "with --by line: the function of the user's own Python code that launched it, the innermost; of a library where "
     "there is none",
     GPU_FILL(TEXT, kernel_row, line)},
    {"group", HD_VALUE_STRING,
     "with --by group: that of --groups FILE, its parents first: model/attention; null: of no group",
     GPU_FILL_OWN(add_group)},
    GPU_COLUMN_DOUBT_OF(GPU_FILL(BITS, kernel_row, doubts, .own = add_doubts)),
    {0},
};

static const hd_report_table_about tables[] = {
    {"kernels", "by name, most time first", columns, HD_CHART_BARS, "name", "total"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {
    GPU_OPTIONS("name, short, op, module, shape, grid, stream, class, stack, line, group, step"),
    {0},
};

const hd_report_about report_kernels_about = {
    .name = "kernels",
    .title = "which kernels take the time",
    .text = "Sums up kernels by name, or by what --by selects: the operator or module that launched them, its "
            "shapes, grid, stream, class, group (--groups), or the line of the user's code. All kernels count, "
            "including those with an "
            "unknown launch.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
