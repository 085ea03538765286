/* ops.c - reads a table of operations in the form of the straggler study: CSV, compressed or not
 *
 * Columns by name: dp_rank, stage, step, optype, start_ts and duration (seconds) must be there; seq_id (the order of
 * operations of a kind), mc and gmc (chunks of layers) may. An unusable row is counted with its number. Steps whose
 * operations differ from those of most steps are left out entirely.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/io/csv.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "report/whatif/whatif.h"

static const char *const kind_names[WHATIF_KINDS] = {
    "forward-compute",
    "backward-compute",
    "gc",
    "optimizer",
    "forward-send",
    "forward-recv",
    "backward-send",
    "backward-recv",
    "params-all-gather",
    "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce",
    "grads-reduce-scatter",
    "optimizer-clip-main-grad",
};

const char *whatif_kind_name(unsigned kind)
{
    return kind_names[kind];
}

enum { COLUMN_DP, COLUMN_STAGE, COLUMN_STEP, COLUMN_START, COLUMN_DURATION, COLUMN_KIND, NEEDED };
enum { COLUMN_SEQUENCE = NEEDED, COLUMN_CHUNK, COLUMN_MODEL_CHUNK, COLUMNS };

static const char *const column_names[COLUMNS] = {"dp_rank", "stage",  "step", "start_ts", "duration",
                                                  "optype",  "seq_id", "mc",   "gmc"};

typedef struct reader {
    hd_csv csv;
    whatif_ops *out;
    size_t capacity;
    size_t columns[COLUMNS]; /* SIZE_MAX: the table has none */
} reader;

static void count_loss(whatif_ops *ops, whatif_loss loss, uint64_t row)
{
    if (ops->losses[loss]++ == 0) ops->first_rows[loss] = row;
}

static bool field_is(const hd_csv_field *field, const char *text)
{
    return field->size == strlen(text) && memcmp(field->data, text, field->size) == 0;
}

static hd_status read_head(reader *r, hd_error *err)
{
    hd_status status = hd_csv_next(&r->csv, err);
    if (status == HD_END) return hd_error_set(err, HD_ERR_FORMAT, NULL, 0, "a table without its names of columns");
    HD_TRY(status);
    r->csv.expected = r->csv.count;
    for (size_t c = 0; c < COLUMNS; c++) {
        size_t at = 0;
        while (at < r->csv.count && !field_is(&r->csv.fields[at], column_names[c])) at++;
        r->columns[c] = at < r->csv.count ? at : SIZE_MAX;
        if (c < NEEDED && at == r->csv.count)
            return hd_error_set(err, HD_ERR_FORMAT, NULL, 0, "a table of operations needs the column %s",
                                column_names[c]);
    }
    return HD_OK;
}

static bool read_whole(int64_t *out, const reader *r, unsigned column, int64_t low, int64_t high)
{
    if (r->columns[column] == SIZE_MAX) return true;
    if (r->columns[column] >= r->csv.count) return false;
    const hd_csv_field *field = &r->csv.fields[r->columns[column]];
    return hd_fixed_parse_whole(out, field->data, field->size) && *out >= low && *out <= high;
}

/* Seconds; sums of two stay within int64. */
static bool read_seconds(int64_t *out, const reader *r, unsigned column)
{
    hd_fixed number;
    if (r->columns[column] >= r->csv.count) return false;
    const hd_csv_field *field = &r->csv.fields[r->columns[column]];
    if (!hd_fixed_parse(&number, field->data, field->size, 9)) return false;
    *out = number.whole + (number.part >= HD_FIXED_ONE / 2);
    return number.whole > INT64_MIN / 4 && number.whole < INT64_MAX / 4;
}

/* The fault of the record; WHATIF_LOSSES: none. */
static whatif_loss parse_op(whatif_op *out, const reader *r)
{
    int64_t dp = 0, stage = 0, chunk = -1, model_chunk = -1;
    bool fine = read_whole(&dp, r, COLUMN_DP, 0, INT32_MAX) && read_whole(&stage, r, COLUMN_STAGE, 0, INT32_MAX) &&
                read_whole(&out->step, r, COLUMN_STEP, INT64_MIN, INT64_MAX) &&
                read_whole(&out->sequence, r, COLUMN_SEQUENCE, INT64_MIN, INT64_MAX) &&
                read_whole(&chunk, r, COLUMN_CHUNK, -1, INT32_MAX) &&
                read_whole(&model_chunk, r, COLUMN_MODEL_CHUNK, -1, INT32_MAX) &&
                read_seconds(&out->start_ns, r, COLUMN_START) && read_seconds(&out->duration_ns, r, COLUMN_DURATION) &&
                r->columns[COLUMN_KIND] < r->csv.count;
    if (!fine) return WHATIF_BAD_NUMBER;
    if (out->duration_ns < 0) return WHATIF_NEGATIVE;
    out->dp = (int32_t)dp;
    out->stage = (int32_t)stage;
    out->chunk = (int32_t)chunk;
    out->model_chunk = (int32_t)model_chunk;
    for (out->kind = 0; out->kind < WHATIF_KINDS; out->kind++) {
        if (field_is(&r->csv.fields[r->columns[COLUMN_KIND]], kind_names[out->kind])) return WHATIF_LOSSES;
    }
    return WHATIF_UNKNOWN_KIND;
}

static hd_status read_rows(reader *r, hd_error *err)
{
    hd_status status;
    whatif_ops *out = r->out;
    while ((status = hd_csv_next(&r->csv, err)) == HD_OK) {
        whatif_op op = {.row = ++out->rows};
        whatif_loss loss = parse_op(&op, r);
        if (loss != WHATIF_LOSSES) {
            count_loss(out, loss, op.row);
            continue;
        }
        if (!hd_grow((void **)&out->ops, &r->capacity, out->count, sizeof op)) return HD_NOMEM(err);
        out->ops[out->count++] = op;
    }
    return status == HD_END ? HD_OK : status;
}

/* ---- whole steps ---- */

#define ORDER(a, b)                                                                                                    \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

static int by_place(const void *a, const void *b)
{
    const whatif_op *x = a, *y = b;
    ORDER(x->step, y->step);
    ORDER(x->dp, y->dp);
    ORDER(x->stage, y->stage);
    ORDER(x->kind, y->kind);
    ORDER(x->sequence, y->sequence);
    ORDER(x->start_ns, y->start_ns);
    ORDER(x->row, y->row);
    return 0;
}

static bool is_same_node(const whatif_op *x, const whatif_op *y)
{
    return x->dp == y->dp && x->stage == y->stage && x->kind == y->kind;
}

static void drop_doubles(whatif_ops *ops, bool has_sequence)
{
    size_t kept = 0;
    for (size_t i = 0; i < ops->count; i++) {
        const whatif_op *op = &ops->ops[i], *last = kept ? &ops->ops[kept - 1] : NULL;
        bool is_double = last && last->step == op->step && is_same_node(last, op) && last->sequence == op->sequence &&
                         (has_sequence || last->start_ns == op->start_ns);
        if (is_double)
            count_loss(ops, WHATIF_DOUBLE, op->row);
        else
            ops->ops[kept++] = *op;
    }
    ops->count = kept;
}

typedef struct step_run {
    size_t first, count; /* operations */
    uint64_t hash;       /* of their places */
} step_run;

static int by_hash(const void *a, const void *b)
{
    const step_run *x = a, *y = b;
    ORDER(x->hash, y->hash);
    ORDER(x->first, y->first);
    return 0;
}

static step_run next_step(const whatif_ops *ops, size_t first)
{
    step_run run = {first, 0, 0};
    for (size_t i = first; i < ops->count && ops->ops[i].step == ops->ops[first].step; i++, run.count++) {
        const whatif_op *op = &ops->ops[i];
        const int32_t place[] = {op->dp, op->stage, op->kind};
        run.hash = hd_hash_pair(run.hash, hd_hash(place, sizeof place));
    }
    return run;
}

/* The first step with the most common set of operations; of equally common ones the largest. */
static hd_status find_template(step_run *out, const whatif_ops *ops, hd_error *err)
{
    step_run *runs = NULL;
    size_t count = 0, capacity = 0, most = 0;
    for (size_t at = 0; at < ops->count; at += runs[count - 1].count) {
        if (!hd_grow((void **)&runs, &capacity, count, sizeof *runs)) {
            free(runs);
            return HD_NOMEM(err);
        }
        runs[count++] = next_step(ops, at);
    }
    hd_sort(runs, count, sizeof *runs, by_hash);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && runs[end].hash == runs[i].hash; end++) continue;
        size_t size = runs[i].count, steps = end - i;
        bool is_larger = size > out->count || (size == out->count && runs[i].first < out->first);
        if (steps > most || (steps == most && is_larger)) *out = runs[i];
        if (steps > most) most = steps;
    }
    free(runs);
    return HD_OK;
}

static bool fits_template(const whatif_ops *ops, const whatif_op *template, step_run run, size_t size, size_t *odd)
{
    for (*odd = 0; *odd < run.count && *odd < size; ++*odd) {
        if (!is_same_node(&ops->ops[run.first + *odd], &template[*odd])) return false;
    }
    if (*odd) --*odd;
    return run.count == size;
}

/* Keep the steps that have the operations of the template. */
static hd_status keep_whole_steps(whatif_ops *ops, hd_error *err)
{
    step_run like = {0};
    size_t kept = 0, odd;
    HD_TRY(find_template(&like, ops, err));
    whatif_op *template = malloc(like.count * sizeof *template);
    if (!template) return HD_NOMEM(err);
    memcpy(template, ops->ops + like.first, like.count * sizeof *template);
    for (size_t at = 0, count; at < ops->count; at += count) {
        step_run run = next_step(ops, at);
        count = run.count;
        if (fits_template(ops, template, run, like.count, &odd)) {
            memmove(ops->ops + kept, ops->ops + at, count * sizeof *ops->ops);
            kept += count;
            ops->step_count++;
        } else {
            count_loss(ops, WHATIF_ODD_STEP, ops->ops[at + odd].row);
            ops->losses[WHATIF_ODD_STEP] += count - 1;
        }
    }
    ops->count = kept;
    free(template);
    return HD_OK;
}

/* Every dp rank has the operations of the first one, and stages count from 0. */
static hd_status find_shape(whatif_ops *ops, hd_error *err)
{
    const whatif_op *first = ops->ops;
    size_t size = ops->count / ops->step_count;
    while (ops->node_count < size && first[ops->node_count].dp == first->dp) ops->node_count++;
    for (size_t i = 0; i < size; i++) {
        const whatif_op *like = &first[i % ops->node_count], *op = &first[i];
        bool begins = i % ops->node_count == 0;
        bool ends_early = i + 1 == size && size % ops->node_count;
        if (op->stage != like->stage || op->kind != like->kind || ends_early || (i && (op->dp != op[-1].dp) != begins))
            return hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE,
                                "row %llu: the dp ranks of step %lld have not the same operations, seen at %s of stage "
                                "%d of dp rank %d",
                                (unsigned long long)op->row, (long long)op->step, kind_names[op->kind], (int)op->stage,
                                (int)op->dp);
        if ((uint32_t)op->stage > ops->stage_count)
            return hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "no operation is of stage %zu",
                                ops->stage_count);
        if ((uint32_t)op->stage == ops->stage_count) ops->stage_count++;
    }
    ops->dp_count = size / ops->node_count;
    return HD_OK;
}

hd_status whatif_ops_read(whatif_ops *out, const char *path, hd_error *err)
{
    hd_input *in;
    *out = (whatif_ops){0};
    HD_TRY(hd_input_open(&in, path, NULL, err));
    reader *r = calloc(1, sizeof *r);
    hd_status status = r ? HD_OK : HD_NOMEM(err);
    if (r) {
        r->csv.input = in;
        r->out = out;
        status = read_head(r, err);
        if (status == HD_OK) status = read_rows(r, err);
        hd_csv_deinit(&r->csv);
    }
    for (size_t i = 0; i < hd_input_damage_count(in); i++) {
        count_loss(out, WHATIF_DAMAGE, out->rows);
        out->losses[WHATIF_DAMAGE] += hd_input_damage_at(in, i)->count - 1;
    }
    bool has_sequence = r && r->columns[COLUMN_SEQUENCE] != SIZE_MAX;
    free(r);
    hd_input_close(in);
    if (status == HD_OK && !out->count)
        status = hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE,
                              "no row of %llu is an operation that can be simulated", (unsigned long long)out->rows);
    if (status == HD_OK) {
        hd_sort(out->ops, out->count, sizeof *out->ops, by_place);
        drop_doubles(out, has_sequence);
        status = keep_whole_steps(out, err);
    }
    if (status == HD_OK) status = find_shape(out, err);
    if (status != HD_OK) hd_error_set_path(err, path);
    return status;
}

void whatif_ops_deinit(whatif_ops *ops)
{
    free(ops->ops);
    ops->ops = NULL;
}
