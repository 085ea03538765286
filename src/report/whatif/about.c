/* about.c - the report what-if: the self-check first, then slowdowns by worker, stage, dp rank, kind and step */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "report/whatif/whatif.h"

static const hd_report_column check_columns[] = {
    {"workers", HD_VALUE_COUNT, "pairs of dp rank and stage"},
    {"steps", HD_VALUE_COUNT, "steps with all operations"},
    {"operations", HD_VALUE_COUNT, "of those steps"},
    {"measured", HD_VALUE_DURATION, "mean time of a step, to the end of the last optimizer"},
    {"replayed", HD_VALUE_DURATION, "the same, simulated from what was measured"},
    {"error", HD_VALUE_DECIMAL, "difference between the two in percent; above 5 the report is refused"},
    {"worst_error", HD_VALUE_DECIMAL, "the largest of a step, in percent"},
    {0},
};

static const hd_report_column whatif_columns[] = {
    {"no_delay", HD_VALUE_DURATION, "mean time of a step without launch delays"},
    {"ideal", HD_VALUE_DURATION, "the same where every operation takes the ideal time of its kind"},
    {"slowdown", HD_VALUE_DECIMAL, "S: no_delay / ideal"},
    {"launch_slowdown", HD_VALUE_DECIMAL, "measured / no_delay"},
    {"worst_workers_share", HD_VALUE_DECIMAL,
     "M_W: the share of the lost time that is recovered if the worst 3 % of the workers were ideal"},
    {"last_stage_share", HD_VALUE_DECIMAL, "M_S: the same for the last stage"},
    {0},
};

#define SLOWDOWN                                                                                                       \
    {                                                                                                                  \
        "slowdown", HD_VALUE_DECIMAL, "of a mean step where only this is as measured and the rest ideal"               \
    }

static const hd_report_column workers_columns[] = {
    {"dp_rank", HD_VALUE_INT, "data-parallel rank"},
    {"stage", HD_VALUE_INT, "of the pipeline"},
    SLOWDOWN,
    {"score", HD_VALUE_DECIMAL, "the lesser of the slowdowns of its dp rank and its stage, as the study ranks workers"},
    {"worst", HD_VALUE_BOOL, "among the worst 3 % by score"},
    {0},
};

static const hd_report_column stages_columns[] = {{"stage", HD_VALUE_INT, "of the pipeline"}, SLOWDOWN, {0}};
static const hd_report_column dps_columns[] = {{"dp_rank", HD_VALUE_INT, "data-parallel rank"}, SLOWDOWN, {0}};

static const hd_report_column kinds_columns[] = {
    {"operation", HD_VALUE_STRING, "kind; sends and receives of a direction are one kind"},
    {"count", HD_VALUE_COUNT, "of them"},
    SLOWDOWN,
    {0},
};

static const hd_report_column steps_columns[] = {
    {"step", HD_VALUE_INT, "as the table numbers it"},
    {"measured", HD_VALUE_DURATION, "to the end of the last optimizer"},
    {"replayed", HD_VALUE_DURATION, "simulated from what was measured"},
    {"no_delay", HD_VALUE_DURATION, "without launch delays"},
    {"ideal", HD_VALUE_DURATION, "where every operation takes the ideal time of its kind"},
    {"slowdown", HD_VALUE_DECIMAL, "no_delay / ideal"},
    {"launch_slowdown", HD_VALUE_DECIMAL, "measured / no_delay"},
    {0},
};

static const hd_report_column parts_columns[] = {
    {"step", HD_VALUE_INT, "as the table numbers it"},
    {"part", HD_VALUE_STRING, "dp_rank, stage or operation"},
    {"name", HD_VALUE_STRING, "number of the rank or stage, or name of the operation"},
    {"slowdown", HD_VALUE_DECIMAL, "of the step where only this is as measured and the rest ideal"},
    {0},
};

static const hd_report_column ledger_columns[] = {
    {"code", HD_VALUE_STRING, "the reason why rows were left out"},
    {"rows", HD_VALUE_COUNT, "how many; for damage how often"},
    {"first_row", HD_VALUE_COUNT, "the first, from 1 on after the head"},
    {"meaning", HD_VALUE_STRING, "in a sentence"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"self_check", "one row: the simulation against what was measured", check_columns},
    {"what_if", "one row: the job without stragglers", whatif_columns},
    {"workers", "by dp rank and stage", workers_columns, HD_CHART_NONE},
    {"stages", "by stage of the pipeline", stages_columns},
    {"dp_ranks", "by data-parallel rank", dps_columns},
    {"operations", "by kind of operation", kinds_columns, HD_CHART_BARS, "operation", "slowdown"},
    {"steps", "by step", steps_columns},
    {"parts", "by step, and dp rank, stage or kind", parts_columns},
    {"ledger", "rows of the table that are in no figure", ledger_columns},
    {0},
};

typedef struct whatif_values {
    const char *ops;
} whatif_values;

static const char *const loss_texts[WHATIF_LOSSES][2] = {
    {"bad-number", "a cell is missing, is not a number, or is beyond its limits"},
    {"unknown-operation", "optype is none of the study's"},
    {"negative-duration", "an operation that ends before it starts"},
    {"double-row", "the same operation again; the first is taken"},
    {"odd-step", "of a step that has not the operations of most steps"},
    {"damage", "the packed file is damaged; what could be read was"},
};

/* ---- which operations are kept ---- */

enum { ANY = -1, CLASSES = WHATIF_KINDS - 2, WORST_PERCENT = 3 };
static const double visits_max = 1e10; /* about a minute */

/* Sends and receives of a direction are one class. */
static unsigned class_of(unsigned kind)
{
    static const uint8_t classes[WHATIF_KINDS] = {0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10};
    return classes[kind];
}

static const char *class_name(unsigned c)
{
    if (c == class_of(WHATIF_FORWARD_SEND)) return "forward-pp-comm";
    if (c == class_of(WHATIF_BACKWARD_SEND)) return "backward-pp-comm";
    return whatif_kind_name(c < WHATIF_COMPUTE_KINDS ? c : c + 2);
}

typedef struct part {
    int64_t dp, stage, class; /* or ANY */
} part;

static bool is_part(const whatif_op *op, const void *which)
{
    const part *p = which;
    return (p->dp == ANY || p->dp == op->dp) && (p->stage == ANY || p->stage == op->stage) &&
           (p->class == ANY || p->class == class_of(op->kind));
}

typedef struct worker {
    int64_t dp;
    size_t at; /* in the list of workers: dp index * stages + stage */
    double slowdown, score;
    bool is_worst;
} worker;

typedef struct figures {
    whatif_job job;
    size_t steps, dps, stages, part_count;
    double *measured, *replayed, *no_delay, *ideal, *parts; /* of each step; parts of each of dps, stages, classes */
    double measured_ns, replayed_ns, no_delay_ns, ideal_ns, without_worst_ns, without_last_ns;
    double *slowdowns; /* of the parts */
    worker *workers;
    double *step_ns; /* of a simulation that only its mean is wanted of */
} figures;

static bool is_not_worst(const whatif_op *op, const void *which)
{
    const figures *f = which;
    size_t dp = (size_t)(op - f->job.ops.ops) / f->job.ops.node_count;
    return !f->workers[dp * f->stages + (size_t)op->stage].is_worst;
}

static bool is_not_last(const whatif_op *op, const void *which)
{
    return (size_t)op->stage + 1 != ((const figures *)which)->stages;
}

static bool is_none(const whatif_op *op, const void *which)
{
    return (void)op, (void)which, false;
}

/* ---- figures ---- */

static int64_t dp_at(const figures *f, size_t dp)
{
    return f->job.ops.ops[dp * f->job.ops.node_count].dp;
}

/* dp ranks, then stages, then classes. */
static part part_at(const figures *f, size_t i)
{
    if (i < f->dps) return (part){dp_at(f, i), ANY, ANY};
    if (i < f->dps + f->stages) return (part){ANY, (int64_t)(i - f->dps), ANY};
    return (part){ANY, ANY, (int64_t)(i - f->dps - f->stages)};
}

static double error_percent(double a, double b)
{
    return b > 0 ? 100 * (a > b ? a - b : b - a) / b : 100;
}

static hd_status check_self(figures *f, hd_error *err)
{
    enum { PERCENT_MAX = 5 };
    f->measured_ns = whatif_measure(f->measured, &f->job);
    f->replayed_ns = whatif_simulate(f->replayed, &f->job, true, NULL, NULL);
    double error = error_percent(f->replayed_ns, f->measured_ns);
    if (error <= PERCENT_MAX) return HD_OK;
    return hd_error_set(
        err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
        "the simulation takes %.6f s a step where %.6f s were measured, %.1f %% off: above %d %% nothing is predicted",
        f->replayed_ns / 1e9, f->measured_ns / 1e9, error, (int)PERCENT_MAX);
}

static int by_score(const void *a, const void *b)
{
    const worker *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_at(const void *a, const void *b)
{
    const worker *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void find_workers(figures *f)
{
    size_t count = f->dps * f->stages, worst = (count * WORST_PERCENT + 99) / 100;
    for (size_t i = 0; i < count; i++) {
        worker *w = &f->workers[i];
        double of_dp = f->slowdowns[i / f->stages], of_stage = f->slowdowns[f->dps + i % f->stages];
        const part p = {dp_at(f, i / f->stages), (int64_t)(i % f->stages), ANY};
        *w = (worker){.dp = p.dp, .at = i, .score = of_dp < of_stage ? of_dp : of_stage};
        w->slowdown = whatif_simulate(f->step_ns, &f->job, false, is_part, &p) / f->ideal_ns;
    }
    hd_sort(f->workers, count, sizeof *f->workers, by_score);
    for (size_t i = 0; i < worst; i++) f->workers[i].is_worst = true;
    hd_sort(f->workers, count, sizeof *f->workers, by_at);
}

static hd_status compute(figures *f, hd_error *err)
{
    HD_TRY(check_self(f, err));
    f->no_delay_ns = whatif_simulate(f->no_delay, &f->job, false, NULL, NULL);
    f->ideal_ns = whatif_simulate(f->ideal, &f->job, false, is_none, NULL);
    if (f->ideal_ns <= 0) return hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "no operation takes any time");
    for (size_t i = 0; i < f->part_count; i++) {
        const part p = part_at(f, i);
        f->slowdowns[i] = whatif_simulate(f->parts + i * f->steps, &f->job, false, is_part, &p) / f->ideal_ns;
    }
    find_workers(f);
    f->without_worst_ns = whatif_simulate(f->step_ns, &f->job, false, is_not_worst, f);
    f->without_last_ns = whatif_simulate(f->step_ns, &f->job, false, is_not_last, f);
    return HD_OK;
}

static hd_status open_figures(figures *f, const char *path, hd_error *err)
{
    HD_TRY(whatif_job_open(&f->job, path, err));
    const whatif_ops *ops = &f->job.ops;
    f->steps = ops->step_count;
    f->dps = ops->dp_count;
    f->stages = ops->stage_count;
    f->part_count = f->dps + f->stages + CLASSES;
    if ((double)(f->part_count + f->dps * f->stages) * (double)ops->count > visits_max)
        return hd_error_set(err, HD_ERR_LIMIT, path, HD_OFFSET_NONE,
                            "%zu workers with %zu operations are too many to simulate each of them", f->dps * f->stages,
                            ops->count);
    f->measured = calloc(f->steps * 5, sizeof *f->measured);
    f->parts = calloc(f->steps * f->part_count, sizeof *f->parts);
    f->slowdowns = calloc(f->part_count, sizeof *f->slowdowns);
    f->workers = calloc(f->dps * f->stages, sizeof *f->workers);
    if (!f->measured || !f->parts || !f->slowdowns || !f->workers) return HD_NOMEM(err);
    f->replayed = f->measured + f->steps;
    f->no_delay = f->replayed + f->steps;
    f->ideal = f->no_delay + f->steps;
    f->step_ns = f->ideal + f->steps;
    hd_status status = compute(f, err);
    if (status != HD_OK) hd_error_set_path(err, path);
    return status;
}

static void deinit_figures(figures *f)
{
    whatif_job_deinit(&f->job);
    free(f->measured);
    free(f->parts);
    free(f->slowdowns);
    free(f->workers);
}

/* ---- tables ---- */

static void cell_ns(hd_table_builder *b, double ns)
{
    hd_table_add_int(b, (int64_t)(ns + 0.5));
}

static void cell_ratio(hd_table_builder *b, double a, double of)
{
    if (of > 0)
        hd_table_add_decimal(b, a / of);
    else
        hd_table_add_null(b);
}

/* report_builder, with the digits that published results have. */
static hd_status builder(hd_table_builder **out, const char *name, hd_error *err)
{
    const hd_report_table_about *t = tables;
    while (strcmp(t->name, name) != 0) t++;
    HD_TRY(hd_table_builder_new(out, name, err));
    hd_table_set_saturating(*out);
    for (const hd_report_column *c = t->columns; c->name; c++) {
        hd_table_add_column(*out, c->name, c->type);
        if (c->type == HD_VALUE_DECIMAL) hd_table_set_decimals(*out, 6);
    }
    return HD_OK;
}

static hd_status add_check(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    double worst = 0;
    for (size_t i = 0; i < f->steps; i++) {
        double error = error_percent(f->replayed[i], f->measured[i]);
        if (error > worst) worst = error;
    }
    HD_TRY(builder(&b, "self_check", err));
    hd_table_add_count(b, f->dps * f->stages);
    hd_table_add_count(b, f->steps);
    hd_table_add_count(b, f->job.ops.count);
    cell_ns(b, f->measured_ns);
    cell_ns(b, f->replayed_ns);
    hd_table_add_decimal(b, error_percent(f->replayed_ns, f->measured_ns));
    hd_table_add_decimal(b, worst);
    return report_add(out, b, err);
}

static hd_status add_whatif(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    double lost = f->no_delay_ns - f->ideal_ns;
    HD_TRY(builder(&b, "what_if", err));
    cell_ns(b, f->no_delay_ns);
    cell_ns(b, f->ideal_ns);
    cell_ratio(b, f->no_delay_ns, f->ideal_ns);
    cell_ratio(b, f->measured_ns, f->no_delay_ns);
    cell_ratio(b, f->no_delay_ns - f->without_worst_ns, lost);
    cell_ratio(b, f->no_delay_ns - f->without_last_ns, lost);
    return report_add(out, b, err);
}

static hd_status add_workers(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(builder(&b, "workers", err));
    for (size_t i = 0; i < f->dps * f->stages; i++) {
        const worker *w = &f->workers[i];
        hd_table_add_int(b, w->dp);
        hd_table_add_int(b, (int64_t)(i % f->stages));
        hd_table_add_decimal(b, w->slowdown);
        hd_table_add_decimal(b, w->score);
        hd_table_add_bool(b, w->is_worst);
    }
    return report_add(out, b, err);
}

static hd_status add_stages(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(builder(&b, "stages", err));
    for (size_t i = 0; i < f->stages; i++) {
        hd_table_add_int(b, (int64_t)i);
        hd_table_add_decimal(b, f->slowdowns[f->dps + i]);
    }
    return report_add(out, b, err);
}

static hd_status add_dps(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(builder(&b, "dp_ranks", err));
    for (size_t i = 0; i < f->dps; i++) {
        hd_table_add_int(b, dp_at(f, i));
        hd_table_add_decimal(b, f->slowdowns[i]);
    }
    return report_add(out, b, err);
}

static void count_classes(uint64_t counts[CLASSES], const figures *f)
{
    memset(counts, 0, CLASSES * sizeof *counts);
    for (size_t i = 0; i < f->job.ops.count; i++) counts[class_of(f->job.ops.ops[i].kind)]++;
}

static hd_status add_kinds(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    uint64_t counts[CLASSES];
    count_classes(counts, f);
    HD_TRY(builder(&b, "operations", err));
    for (unsigned c = 0; c < CLASSES; c++) {
        if (!counts[c]) continue;
        hd_table_add_text(b, class_name(c));
        hd_table_add_count(b, counts[c]);
        hd_table_add_decimal(b, f->slowdowns[f->dps + f->stages + c]);
    }
    hd_table_sort(b, "", "slowdown");
    return report_add(out, b, err);
}

static int64_t step_at(const figures *f, size_t i)
{
    return f->job.ops.ops[i * f->dps * f->job.ops.node_count].step;
}

static hd_status add_steps(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(builder(&b, "steps", err));
    for (size_t i = 0; i < f->steps; i++) {
        hd_table_add_int(b, step_at(f, i));
        cell_ns(b, f->measured[i]);
        cell_ns(b, f->replayed[i]);
        cell_ns(b, f->no_delay[i]);
        cell_ns(b, f->ideal[i]);
        cell_ratio(b, f->no_delay[i], f->ideal[i]);
        cell_ratio(b, f->measured[i], f->no_delay[i]);
    }
    return report_add(out, b, err);
}

static hd_status add_parts(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    uint64_t counts[CLASSES];
    count_classes(counts, f);
    HD_TRY(builder(&b, "parts", err));
    for (size_t step = 0; step < f->steps; step++) {
        for (size_t i = 0; i < f->part_count; i++) {
            const part p = part_at(f, i);
            char number[24];
            if (p.class != ANY && !counts[p.class]) continue;
            snprintf(number, sizeof number, "%lld", (long long)(p.dp != ANY ? p.dp : p.stage));
            hd_table_add_int(b, step_at(f, step));
            hd_table_add_text(b, p.class != ANY ? "operation" : p.dp != ANY ? "dp_rank" : "stage");
            hd_table_add_text(b, p.class != ANY ? class_name((unsigned)p.class) : number);
            cell_ratio(b, f->parts[i * f->steps + step], f->ideal[step]);
        }
    }
    return report_add(out, b, err);
}

static hd_status add_ledger(hd_report *out, const figures *f, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(builder(&b, "ledger", err));
    for (int i = 0; i < WHATIF_LOSSES; i++) {
        if (!f->job.ops.losses[i]) continue;
        hd_table_add_text(b, loss_texts[i][0]);
        hd_table_add_count(b, f->job.ops.losses[i]);
        hd_table_add_count(b, f->job.ops.first_rows[i]);
        hd_table_add_text(b, loss_texts[i][1]);
    }
    return report_add(out, b, err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    static hd_status (*const adds[])(hd_report *, const figures *, hd_error *) = {
        add_check, add_whatif, add_workers, add_stages, add_dps, add_kinds, add_steps, add_parts, add_ledger};
    const whatif_values *values = options;
    figures f = {0};
    (void)input;
    if (!values->ops)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "report what-if needs --operations FILE");
    hd_status status = open_figures(&f, values->ops, err);
    for (size_t i = 0; i < sizeof adds / sizeof *adds && status == HD_OK; i++) status = adds[i](out, &f, err);
    deinit_figures(&f);
    return status;
}

static const hd_option_about options[] = {
    {"operations", HD_OPTION_TEXT, NULL,
     "the table of operations: CSV with the columns dp_rank, stage, step, optype, start_ts, duration (seconds), and, "
     "with several chunks of layers, seq_id, mc, gmc",
     offsetof(whatif_values, ops)},
    {0},
};

const hd_report_about report_whatif_about = {
    .name = "what-if",
    .title = "how fast a training job would be without stragglers",
    .text = "Simulates a pipeline-parallel job from a table of its operations, by the rules of the straggler study of "
            "2025: as measured, without launch delays, and with the ideal time of each kind of operation. The "
            "self-check comes first; a job whose simulation is more than 5 % off is refused.",
    .options = options,
    .options_size = sizeof(whatif_values),
    .table_option = "operations",
    .tables = tables,
    .run = run,
};
