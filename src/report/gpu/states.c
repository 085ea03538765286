/* states.c - the state of each track of a device over time: see "states" in docs/reports/definitions.md */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "report/gpu/gpu.h"

/* The first that holds. */
enum { RUNNING, WAITING, QUEUED, IDLE, STATES };
static const char *const state_names[STATES] = {"running", "waiting", "queued", "idle"};

/* Of a row in a window. */
typedef struct state_sum {
    int64_t time[STATES];
    uint64_t moves[STATES][STATES];
} state_sum;

typedef struct states {
    gpu_scope scope;
    gpu_slices waits;
    gpu_sweep sweep;
    gpu_windows windows; /* of the device at hand */
    state_sum *sums;     /* by window */
    size_t capacity;
    int before;      /* the state before, STATES: none */
    int64_t until;   /* its end */
    uint32_t window; /* its window */
    hd_table_builder *table, *moves;
} states;

/* A segment continues the previous one within a window; at the start of a window the state before is unknown. */
static hd_status add_stretch(void *user, const gpu_stretch *stretch, hd_error *err)
{
    states *s = user;
    state_sum *sum = &s->sums[stretch->window];
    int state = RUNNING;
    (void)err;
    while (state < IDLE && !stretch->running[state]) state++;
    sum->time[state] += stretch->end - stretch->start;
    bool follows = s->before != STATES && s->until == stretch->start && s->window == stretch->window;
    if (follows && state != s->before) sum->moves[s->before][state]++;
    s->before = state;
    s->until = stretch->end;
    s->window = stretch->window;
    return HD_OK;
}

static bool add_edges(states *t, gpu_sweep *sweep, const gpu_row *row)
{
    const gpu_scope *s = &t->scope;
    for (uint32_t i = 0; i < row->count; i++) {
        const gpu_work *work = &s->works[s->by_row[row->first + i]];
        if (!gpu_sweep_add(sweep, work->start, work->end, RUNNING)) return false;
        if (work->launch == HD_NONE) continue;
        if (!gpu_sweep_add(sweep, s->launches->launches[work->launch].start_ns, work->start, QUEUED)) return false;
    }
    for (uint32_t i = t->waits.first[row->lane]; i < t->waits.first[row->lane + 1]; i++) {
        if (!gpu_sweep_add(sweep, t->waits.list[i].start, t->waits.list[i].end, WAITING)) return false;
    }
    return true;
}

static hd_status add_rows(states *t, const gpu_row *row, hd_error *err)
{
    for (uint32_t w = 0; w < t->windows.count; w++) {
        const state_sum *sum = &t->sums[w];
        const gpu_window *window = &t->windows.windows[w];
        uint64_t transitions = 0;
        int64_t all = 0;
        gpu_cells_row(t->table, &t->scope, row, window->step);
        hd_table_add_int(t->table, window->length);
        for (int i = 0; i < STATES; i++) {
            hd_table_add_int(t->table, sum->time[i]);
            all += sum->time[i];
        }
        if (all != window->length) return gpu_broken("the time of all states, in ns", all, window->length, err);
        for (int from = 0; from < STATES; from++) {
            for (int to = 0; to < STATES; to++) {
                if (!sum->moves[from][to]) continue;
                transitions += sum->moves[from][to];
                gpu_cells_row(t->moves, &t->scope, row, window->step);
                hd_table_add_text(t->moves, state_names[from]);
                hd_table_add_text(t->moves, state_names[to]);
                hd_table_add_count(t->moves, sum->moves[from][to]);
            }
        }
        gpu_cell_ratio(t->table, sum->time[RUNNING], window->length, 100);
        hd_table_add_count(t->table, transitions);
    }
    return HD_OK;
}

static hd_status add_row(void *user, const gpu_row *row, hd_error *err)
{
    states *t = user;
    if (!hd_renew((void **)&t->sums, &t->capacity, (size_t)t->windows.count + 1, sizeof *t->sums)) return HD_NOMEM(err);
    for (uint32_t w = 0; w < t->windows.count; w++) t->sums[w] = (state_sum){0};
    t->sweep.count = 0;
    t->before = STATES;
    if (!add_edges(t, &t->sweep, row)) return HD_NOMEM(err);
    HD_TRY(gpu_sweep_run(&t->sweep, t->windows.pieces, t->windows.piece_count, add_stretch, t, err));
    return add_rows(t, row, err);
}

static hd_status add_tables(hd_report *out, states *t, hd_error *err)
{
    t->sweep.large = t->scope.large;
    HD_TRY(gpu_slices_init(&t->waits, &t->scope, 1u << HD_ROLE_SYNC, err));
    HD_TRY(report_builder(&t->table, &report_states_about, "states", err));
    HD_TRY(report_builder(&t->moves, &report_states_about, "transitions", err));
    HD_TRY(gpu_each_row(&t->scope, &t->windows, add_row, t, err));
    HD_TRY(gpu_add_kept(out, &t->table, "", err));
    HD_TRY(gpu_add_kept(out, &t->moves, "", err));
    return gpu_add_notes(out, &report_states_about, &t->scope, NULL, err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    states t = {0};
    hd_status status = gpu_scope_init(&t.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_tables(out, &t, err);
    gpu_slices_deinit(&t.waits);
    gpu_windows_deinit(&t.windows);
    gpu_sweep_deinit(&t.sweep);
    hd_table_builder_free(t.table);
    hd_table_builder_free(t.moves);
    free(t.sums);
    gpu_scope_deinit(&t.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column states_columns[] = {
    GPU_COLUMNS_ROW,
    {"span", HD_VALUE_DURATION, "of the device: running + waiting + queued + idle"},
    {"running", HD_VALUE_DURATION, "an activity of the stream runs"},
    {"waiting", HD_VALUE_DURATION,
     "else: the stream waits for an event or another stream, as far as the trace "
     "shows it"},
    {"queued", HD_VALUE_DURATION, "else: an activity is launched and has not begun"},
    {"idle", HD_VALUE_DURATION, "else"},
    {"utilisation", HD_VALUE_DECIMAL, "percent of the span in which an activity runs"},
    {"transitions", HD_VALUE_COUNT, "from one state to another"},
    {0},
};

static const hd_report_column moves_columns[] = {
    GPU_COLUMNS_ROW,
    {"from", HD_VALUE_STRING, "state"},
    {"to", HD_VALUE_STRING, "the next"},
    {"count", HD_VALUE_COUNT, "how often"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"states", "a row per stream: its states over the device's span", states_columns, HD_CHART_BARS,
     "rank,device,stream,step", "running,waiting,queued,idle"},
    {"transitions", "how often one state follows another", moves_columns},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {GPU_OPTIONS("step"), {0}};

const hd_report_about report_states_about = {
    .name = "states",
    .title = "what each stream does: running, waiting, queued, idle",
    .text = "Divides the span of the device, for each stream, into four states: an activity runs, the stream waits for "
            "another stream, activities are queued, or the stream has nothing to do.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
