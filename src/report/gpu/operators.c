/* operators.c - time of operators, and modules, on the CPU and of their activities on the GPU: see "operators" and
 * "modules" in docs/reports/definitions.md
 *
 * The ops of a track are walked in start order. The last open one is the parent of the next.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/json/write.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "report/coverage.h"
#include "report/gpu/gpu.h"

/* The key of ops: a name, and with --by shape a text; of modules the key of the enclosing module. */
GPU_KEY
typedef struct op_key {
    uint32_t name, more; /* HD_NONE: none */
} op_key;
GPU_KEY_END

/* In place of a name: activities whose launch is in no op, and activities without a launch. */
enum { NO_OPERATOR = HD_NONE, NO_LAUNCH = HD_NONE - 1 };

/* What a row is of. */
GPU_KEY
typedef struct op_place {
    int64_t rank;
    uint32_t step, key;
} op_place;
GPU_KEY_END

typedef struct op_sum {
    uint64_t calls, repeats, works; /* repeats: the only op within an op of their name */
    gpu_i128 cpu_total, cpu_self, gpu_self, gpu_total;
} op_sum;

/* Of a key, on the row at hand. */
typedef struct key_state {
    gpu_reach reach;
    uint32_t place;      /* the last item it was counted in */
    uint32_t open;       /* ops around the time that the sweep has come to */
    uint64_t works_then; /* of the sweep, since when they count for the key */
    gpu_i128 time_then;
} key_state;

typedef struct operators {
    gpu_scope scope;
    bool is_modules;
    gpu_slices ops; /* or modules, whose keys walk_ops finds. user: key */
    gpu_arg dims;
    gpu_texts texts;
    gpu_groups keys, places;
    key_state *states; /* by key */
    op_sum *sums;      /* by place */
    size_t state_capacity, sum_capacity;
    bool linked;
    report_covered shaped;
    hd_json_out path; /* of a module */
    uint32_t *above;  /* keys around it */
    size_t above_capacity;
    uint64_t path_room; /* bytes, for all paths */
} operators;

enum { PATH_ROOM = 64 << 20 };

/* ---- keys and sums ---- */

static uint32_t key_number(operators *o, uint32_t name, uint32_t more)
{
    const op_key key = {name, more};
    uint32_t count = o->keys.count, number = gpu_group(&o->keys, &key);
    if (number == HD_NONE || !hd_grow((void **)&o->states, &o->state_capacity, number, sizeof *o->states))
        return HD_NONE;
    if (number == count) o->states[number] = (key_state){.reach.lane = HD_NONE, .place = HD_NONE};
    return number;
}

/* NULL: no memory. */
static op_sum *sum_of(operators *o, int64_t rank, uint32_t step, uint32_t key)
{
    const op_place place = {rank, step, key}, *last = NULL;
    if (o->states[key].place != HD_NONE) last = gpu_group_key(&o->places, o->states[key].place);
    if (last && last->rank == rank && last->step == step) return &o->sums[o->states[key].place];
    uint32_t count = o->places.count, number = gpu_group(&o->places, &place);
    if (number == HD_NONE || !hd_grow((void **)&o->sums, &o->sum_capacity, number, sizeof *o->sums)) return NULL;
    if (number == count) o->sums[number] = (op_sum){0};
    o->states[key].place = number;
    return &o->sums[number];
}

static bool find_keys_with_shapes(operators *o)
{
    for (size_t i = 0; i < o->ops.count; i++) {
        gpu_slice *op = &o->ops.list[i];
        uint32_t shape, at;
        const hd_block *block = hd_trace_block_of(&at, o->scope.trace, HD_KIND_SLICE, op->row);
        if (!gpu_arg_written(&shape, &o->texts, &o->dims, block, at)) return false;
        op->user = key_number(o, op->name, shape);
        if (op->user == HD_NONE) return false;
    }
    return true;
}

static bool find_keys(operators *o)
{
    if (o->scope.by & GPU_BY_SHAPE) return find_keys_with_shapes(o);
    uint32_t *keys = calloc(hd_trace_string_count(o->scope.trace) + 1, sizeof *keys); /* by name, 0: not computed yet */
    bool fine = keys != NULL;
    for (size_t i = 0; fine && i < o->ops.count; i++) {
        gpu_slice *op = &o->ops.list[i];
        if (!keys[op->name]) keys[op->name] = key_number(o, op->name, HD_NONE) + 1;
        op->user = keys[op->name] - 1;
        fine = op->user != HD_NONE;
    }
    free(keys);
    return fine;
}

/* ---- the CPU ---- */

/* An op that is open: until when its children cover it, and how many there are. */
typedef struct open_op {
    int64_t until;
    uint32_t op, children;
} open_op;

static bool add_call(operators *o, const gpu_slice *op, int64_t from)
{
    if (!gpu_is_listed(&o->scope, op->start)) return true;
    int64_t rank = o->scope.ranks[op->lane];
    op_sum *sum = sum_of(o, rank, gpu_step_by(&o->scope, op->lane, op->start), op->user);
    if (!sum) return false;
    sum->calls++;
    sum->cpu_self += (gpu_i128)op->end - op->start;
    sum->cpu_total += (gpu_i128)op->end - from;
    return true;
}

/* Time covered by a child is not its parent's own. Children come in start order. */
static bool take_from_parent(operators *o, open_op *parent, const gpu_slice *child)
{
    const gpu_slice *op = &o->ops.list[parent->op];
    int64_t start = child->start > parent->until ? child->start : parent->until;
    int64_t end = child->end < op->end ? child->end : op->end;
    if (end <= start) return true;
    parent->until = end;
    if (!gpu_is_listed(&o->scope, op->start)) return true;
    int64_t rank = o->scope.ranks[op->lane];
    op_sum *sum = sum_of(o, rank, gpu_step_by(&o->scope, op->lane, op->start), op->user);
    if (sum) sum->cpu_self -= (gpu_i128)end - start;
    return sum != NULL;
}

/* The innermost open op has ended. Its only child, if that has its name, repeats it. */
static bool close_op(operators *o, const open_op *closed)
{
    const gpu_slice *parent = &o->ops.list[closed->op];
    if (closed->children != 1) return true;
    const gpu_slice *child = parent + 1; /* the first child comes right after its parent */
    if (child->name != parent->name || !gpu_is_listed(&o->scope, child->start)) return true;
    op_sum *sum =
        sum_of(o, o->scope.ranks[child->lane], gpu_step_by(&o->scope, child->lane, child->start), child->user);
    if (sum) sum->repeats++;
    return sum != NULL;
}

static hd_status walk_ops(operators *o, hd_error *err)
{
    open_op *open = hd_large_new(o->ops.count + 1, sizeof *open, o->scope.large);
    size_t count = 0;
    bool fine = open != NULL;
    for (uint32_t i = 0; fine && i < o->ops.count; i++) {
        gpu_slice *op = &o->ops.list[i];
        while (fine && count && (op->lane != op[-1].lane || o->ops.list[open[count - 1].op].end <= op->start))
            fine = close_op(o, &open[--count]);
        if (o->is_modules) op->user = key_number(o, op->name, count ? o->ops.list[open[count - 1].op].user : HD_NONE);
        if (op->user == HD_NONE) {
            fine = false;
            break;
        }
        key_state *state = &o->states[op->user];
        if (count) {
            open[count - 1].children++;
            fine = fine && take_from_parent(o, &open[count - 1], op);
        }
        fine = fine && add_call(o, op, gpu_reach_add(&state->reach, op->lane, op->start, op->end));
        open[count++] = (open_op){.until = op->start, .op = i};
    }
    while (fine && count) fine = close_op(o, &open[--count]);
    hd_large_free(open);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- the GPU ---- */

/* An activity that an op launched itself, or with is_nobodys one for the row without an op. */
static bool add_own(operators *o, int64_t rank, uint32_t step, uint32_t key, int64_t time, bool is_nobodys)
{
    op_sum *sum = sum_of(o, rank, step, key);
    if (!sum) return false;
    sum->works++;
    sum->gpu_self += time;
    if (is_nobodys) sum->gpu_total += time;
    return true;
}

typedef struct open_end {
    int64_t end;
    uint32_t key;
} open_end;

/* Launches of a track in order of time. A key gets the activities launched while one of its ops is open: the sweep's
 * sum when the last of them ends, minus the sum when the first began. */
typedef struct gpu_sweeper {
    operators *o;
    open_end *open; /* heap, the first end on top */
    size_t count;
    int64_t rank; /* of the current sums; changes seldom */
    uint32_t step;
    uint64_t works;
    gpu_i128 time;
} gpu_sweeper;

static bool settle(gpu_sweeper *w, uint32_t key)
{
    key_state *state = &w->o->states[key];
    if (state->works_then != w->works) {
        op_sum *sum = sum_of(w->o, w->rank, w->step, key);
        if (!sum) return false;
        sum->gpu_total += w->time - state->time_then;
    }
    state->works_then = w->works;
    state->time_then = w->time;
    return true;
}

/* false: no memory. */
static bool close_until(gpu_sweeper *w, int64_t time)
{
    while (w->count && w->open[0].end <= time) {
        uint32_t key = w->open[0].key;
        HD_HEAP_POP(w->open, w->count, x, y, x->end < y->end);
        if (--w->o->states[key].open == 0 && !settle(w, key)) return false;
    }
    return true;
}

static void open_op_at(gpu_sweeper *w, const gpu_slice *op)
{
    key_state *state = &w->o->states[op->user];
    HD_HEAP_PUSH(w->open, w->count, ((open_end){op->end, op->user}), x, y, x->end < y->end);
    if (state->open++) return;
    state->works_then = w->works;
    state->time_then = w->time;
}

static bool count_for(gpu_sweeper *w, int64_t rank, uint32_t step)
{
    if (rank == w->rank && step == w->step) return true;
    for (size_t i = 0; i < w->count; i++) {
        if (!settle(w, w->open[i].key)) return false;
    }
    w->rank = rank;
    w->step = step;
    return true;
}

/* The works of a launch, those of graphs where their nodes were created; inner: its innermost op, HD_NONE: there is
 * none. */
static bool add_launch(gpu_sweeper *w, const gpu_origins *of, uint32_t id, uint32_t inner)
{
    operators *o = w->o;
    const gpu_scope *s = &o->scope;
    bool is_nobodys = inner == HD_NONE;
    for (uint32_t i = of->first[id]; i < of->first[id + 1]; i++) {
        const gpu_work *work = &s->works[of->works[i]];
        if (!work->is_listed) continue;
        int64_t rank = s->devices[work->device].rank, time = gpu_duration(work);
        uint32_t key = is_nobodys ? key_number(o, NO_OPERATOR, HD_NONE) : o->ops.list[inner].user;
        uint32_t step = gpu_step_of(s, work);
        if (key == HD_NONE || !count_for(w, rank, step) || !add_own(o, rank, step, key, time, is_nobodys)) return false;
        w->works++;
        w->time += time;
    }
    return true;
}

static bool sweep_launches(operators *o, const gpu_place *places, size_t count, const uint32_t *innermost)
{
    gpu_sweeper w = {.o = o, .rank = HD_NO_NUMBER, .step = HD_NONE};
    gpu_origins of;
    w.open = hd_large_new(o->ops.count + 1, sizeof *w.open, o->scope.large);
    bool fine = gpu_origins_init(&of, &o->scope) && w.open != NULL;
    uint32_t lane = HD_NONE, next = 0, end = 0;
    for (size_t i = 0; fine && i < count; i++) {
        if (places[i].lane != lane) {
            fine = close_until(&w, INT64_MAX);
            lane = places[i].lane;
            next = o->ops.first[lane];
            end = o->ops.first[lane + 1];
        }
        for (; next < end && o->ops.list[next].start <= places[i].time; next++) {
            if (o->ops.list[next].end > places[i].time) open_op_at(&w, &o->ops.list[next]);
        }
        fine = fine && close_until(&w, places[i].time) && add_launch(&w, &of, places[i].id, innermost[places[i].id]);
    }
    fine = fine && close_until(&w, INT64_MAX);
    gpu_origins_deinit(&of);
    hd_large_free(w.open);
    return fine;
}

static hd_status add_gpu(operators *o, hd_error *err)
{
    gpu_place *places;
    uint32_t *innermost;
    size_t count;
    gpu_i128 all = 0, sum = 0;
    for (size_t i = 0; i < o->scope.launches->work_count; i++) {
        const gpu_work *work = &o->scope.works[i];
        o->linked |= work->device != HD_NONE && work->launch != HD_NONE;
        if (!work->is_listed) continue;
        all += gpu_duration(work);
        if (work->launch != HD_NONE) continue;
        uint32_t key = key_number(o, NO_LAUNCH, HD_NONE);
        int64_t rank = o->scope.devices[work->device].rank;
        if (key == HD_NONE || !add_own(o, rank, gpu_step_of(&o->scope, work), key, gpu_duration(work), true))
            return HD_NOMEM(err);
    }
    HD_TRY(gpu_innermost_of_launches(&innermost, &o->scope, &o->ops, err));
    hd_status status = gpu_launch_places(&places, &count, &o->scope, err);
    if (status == HD_OK && !sweep_launches(o, places, count, innermost)) status = HD_NOMEM(err);
    hd_large_free(places);
    hd_large_free(innermost);
    for (uint32_t i = 0; i < o->places.count; i++) {
        const op_key *key = gpu_group_key(&o->keys, ((const op_place *)gpu_group_key(&o->places, i))->key);
        sum += o->sums[i].gpu_self;
        if (o->scope.by & GPU_BY_SHAPE) report_cover(&o->shaped, gpu_whole(o->sums[i].gpu_self), key->more != HD_NONE);
    }
    if (status == HD_OK && sum != all)
        return gpu_broken("the GPU time below all operators, in ns", (int64_t)sum, (int64_t)all, err);
    return status;
}

/* ---- rows ---- */

/* "Model_0/Block_1/Linear_0", as far as there is room. */
static void add_path(hd_table_builder *b, operators *o, uint32_t key)
{
    size_t depth = 0;
    o->path.size = 0;
    for (uint32_t at = key; at != HD_NONE && o->path_room; at = ((const op_key *)gpu_group_key(&o->keys, at))->more) {
        if (!hd_grow((void **)&o->above, &o->above_capacity, depth, sizeof *o->above)) o->path_room = 0;
        if (o->path_room) o->above[depth++] = at;
    }
    while (depth-- && o->path.size < o->path_room) {
        hd_string name =
            hd_trace_string(o->scope.trace, ((const op_key *)gpu_group_key(&o->keys, o->above[depth]))->name);
        hd_json_put(&o->path, name.data + GPU_MODULE_WORD, name.size - GPU_MODULE_WORD);
        if (depth) hd_json_put_text(&o->path, "/");
    }
    if (o->path.failed || o->path.size >= o->path_room) {
        o->path_room = 0;
        hd_table_add_null(b);
        return;
    }
    o->path_room -= o->path.size;
    hd_table_add_string(b, o->path.size ? o->path.data : "", o->path.size);
}

static void add_row(hd_table_builder *b, operators *o, uint32_t number)
{
    const op_place *place = gpu_group_key(&o->places, number);
    const op_key *key = gpu_group_key(&o->keys, place->key);
    const op_sum *sum = &o->sums[number];
    bool is_op = key->name != NO_OPERATOR && key->name != NO_LAUNCH;
    if (!is_op && !o->linked) return;
    gpu_cells_rank(b, &o->scope, place->rank, place->step);
    if (!is_op)
        hd_table_add_text(b, key->name == NO_LAUNCH ? "(no launch)" : o->is_modules ? "(no module)" : "(no operator)");
    else if (o->is_modules)
        add_path(b, o, place->key);
    else
        report_cell_string(b, o->scope.trace, key->name);
    if (!o->is_modules) gpu_cell_text(b, &o->texts, key->more);
    gpu_cell_count(b, sum->calls, is_op);
    if (!o->is_modules) gpu_cell_count(b, sum->calls - sum->repeats, is_op);
    gpu_cell_time(b, gpu_whole(sum->cpu_total), is_op);
    gpu_cell_time(b, gpu_whole(sum->cpu_self), is_op);
    gpu_cell_count(b, sum->works, o->linked);
    gpu_cell_time(b, gpu_whole(sum->gpu_self), o->linked);
    gpu_cell_time(b, gpu_whole(sum->gpu_total), o->linked);
}

static hd_status add_tables(hd_report *out, operators *o, hd_error *err)
{
    const hd_report_about *about = o->is_modules ? &report_modules_about : &report_operators_about;
    hd_table_builder *b;
    HD_TRY(o->is_modules ? gpu_modules_init(&o->ops, &o->scope, err)
                         : gpu_slices_init(&o->ops, &o->scope, 1u << HD_ROLE_OP, err));
    if (!o->is_modules && !find_keys(o)) return HD_NOMEM(err);
    HD_TRY(walk_ops(o, err));
    HD_TRY(add_gpu(o, err));
    HD_TRY(report_builder(&b, about, about->name, err));
    for (uint32_t i = 0; i < o->places.count; i++) add_row(b, o, i);
    HD_TRY(gpu_add(out, b, o->is_modules ? "" : "gpu_total,cpu_total", err));
    const char *const more[] = {o->ops.count ? NULL
                                : o->is_modules
                                    ? "there are no nn.Modules in this trace: PyTorch records them with with_stack=True"
                                    : "there are no operators in this trace",
                                NULL};
    const char *const cut[] = {"not all modules have a name: the paths would take too much room", NULL};
    HD_TRY(gpu_add_notes(out, about, &o->scope, o->path_room ? more : cut, err));
    return report_add_coverage(out, COVERAGE_SHAPES, &o->shaped, NULL, err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, bool is_modules, hd_error *err)
{
    operators o = {.is_modules = is_modules,
                   .keys = {.key_size = sizeof(op_key)},
                   .places = {.key_size = sizeof(op_place)},
                   .path_room = PATH_ROOM};
    hd_status status = gpu_scope_init(&o.scope, input, options, GPU_BY_STEP | (is_modules ? 0u : GPU_BY_SHAPE), err);
    if (status == HD_OK && !gpu_arg_init(&o.dims, input->trace, "Input Dims")) status = HD_NOMEM(err);
    if (status == HD_OK) status = add_tables(out, &o, err);
    gpu_slices_deinit(&o.ops);
    gpu_arg_deinit(&o.dims);
    gpu_texts_deinit(&o.texts);
    gpu_groups_deinit(&o.keys);
    gpu_groups_deinit(&o.places);
    free(o.states);
    free(o.sums);
    free(o.path.data);
    free(o.above);
    gpu_scope_deinit(&o.scope);
    return status;
}

static hd_status run_operators(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    return run(out, input, options, false, err);
}

static hd_status run_modules(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    return run(out, input, options, true, err);
}

/* ---- about ---- */

static const hd_report_column columns[] = {
    GPU_COLUMNS_RANK,
    {"name", HD_VALUE_STRING, "name of the operator; (no operator), (no launch): activities without one"},
    {"shape", HD_VALUE_STRING, "with --by shape: Input Dims"},
    {"calls", HD_VALUE_COUNT, "of the operator"},
    {"distinct_calls", HD_VALUE_COUNT,
     "as torch's key_averages counts: an operator that is the only one inside an operator of its name is the same "
     "call"},
    {"cpu_total", HD_VALUE_DURATION, "time in the operator; a call inside another of the same name counts once"},
    {"cpu_self", HD_VALUE_DURATION, "the same without the operators inside"},
    {"works", HD_VALUE_COUNT, "GPU activities that it launched itself"},
    {"gpu_self", HD_VALUE_DURATION, "time of these activities"},
    {"gpu_total", HD_VALUE_DURATION, "time of all activities that were launched inside it"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"operators", "by name, most GPU time first", columns, HD_CHART_LANES, "name", "gpu_total,cpu_total"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {GPU_OPTIONS("shape, step"), {0}};

const hd_report_about report_operators_about = {
    .name = "operators",
    .title = "operators: their time on the CPU, and on the GPU below them",
    .text = "Sums up operators (cpu_op) by name: their time on the CPU, with and without the operators inside, and "
            "the time of the GPU activities that they launched. The gpu_self of all rows add up to the GPU time.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run_operators,
};

static const hd_report_column modules_columns[] = {
    GPU_COLUMNS_RANK,
    {"module", HD_VALUE_STRING,
     "with the modules around it, outermost first; (no module), (no launch): other "
     "activities"},
    {"calls", HD_VALUE_COUNT, "of the module"},
    {"cpu_total", HD_VALUE_DURATION, "time of the calls that are not inside another call of the same module"},
    {"cpu_self", HD_VALUE_DURATION, "less the modules within"},
    {"works", HD_VALUE_COUNT, "GPU activities launched in it, and in no module inside it"},
    {"gpu_self", HD_VALUE_DURATION, "time of these activities"},
    {"gpu_total", HD_VALUE_DURATION, "time of all activities that were launched inside it"},
    {0},
};

static const hd_report_table_about modules_tables[] = {
    {"modules", "the tree of modules, each before the modules inside it", modules_columns, HD_CHART_BARS, "module",
     "gpu_self"},
    GPU_NOTES,
    {0},
};

static const hd_option_about modules_options[] = {GPU_OPTIONS("step"), {0}};

const hd_report_about report_modules_about = {
    .name = "modules",
    .title = "a tree of nn.Modules: their time on the CPU, and on the GPU below them",
    .text = "Sums up the calls of PyTorch's modules as a tree. A trace has modules if it was recorded with "
            "with_stack=True. The gpu_self of all rows add up to the GPU time.",
    .options = modules_options,
    .options_size = sizeof(gpu_options),
    .tables = modules_tables,
    .run = run_modules,
};
