/* copies.c - copies and memsets by kind and size, and their bandwidth: see "copies" in docs/reports/definitions.md */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "model/roles/copy_ways.h"
#include "report/coverage.h"
#include "report/gpu/gpu.h"

typedef struct copies_options {
    gpu_options gpu;
    uint64_t pieces;
} copies_options;

/* A way (HD_COPY_WAY), "set", or nothing. */
enum { NO_KIND, SET };

static const char *const size_names[] = {"< 4 KiB", "< 64 KiB", "< 1 MiB", "< 16 MiB", "< 256 MiB", ">= 256 MiB"};

/* The key of bins of time, too; there without a step. */
GPU_KEY
typedef struct copy_key {
    gpu_key on;
    uint32_t kind;
    uint32_t detail; /* memory: text; or class of the size; HD_NONE: null */
} copy_key;
GPU_KEY_END

typedef struct copy_row {
    copy_key key;
    int64_t time, bytes, timed_bytes, timed, id; /* timed: of those that have bytes and a duration */
} copy_row;

typedef struct copies {
    gpu_scope scope;
    const copies_options *options;
    gpu_groups rates;  /* device and kind */
    double **bytes_in; /* by key, then by bin of time */
    size_t bytes_capacity;
    gpu_copy_bytes bytes;
    gpu_arg direction;
    gpu_texts texts;
    gpu_aggregate kinds, sizes;
    report_covered covered;
} copies;

/* ---- what a copy is ---- */

static uint32_t kind_of(copies *c, const gpu_work *work, hd_string name, const hd_block *block, uint32_t row)
{
    if (work->role == HD_ROLE_SET) return SET;
    uint32_t kind = hd_copy_way_of(name);
    if (kind != NO_KIND) return kind;
    return hd_copy_way_of(hd_trace_string(c->scope.trace, gpu_arg_text(&c->direction, block, row)));
}

/* "Pageable -> Device" from the first innermost parentheses. false: no memory. */
static bool memory_of(uint32_t *out, copies *c, const gpu_work *work, hd_string name)
{
    size_t open = SIZE_MAX;
    *out = HD_NONE;
    if (work->role != HD_ROLE_COPY) return true;
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '(') open = i;
        if (name.data[i] != ')' || open == SIZE_MAX) continue;
        *out = gpu_text(&c->texts, name.data + open + 1, i - open - 1);
        return *out != HD_NONE;
    }
    return true;
}

static uint32_t size_class(int64_t bytes)
{
    static const int64_t limits[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};
    uint32_t i = 0;
    if (bytes < 0) return HD_NONE;
    while (i < sizeof limits / sizeof *limits && bytes >= limits[i]) i++;
    return i;
}

/* ---- sums ---- */

/* Bytes are copied evenly over the time of a copy. false: no memory. */
static bool add_rate(copies *c, const copy_key *key, const gpu_work *work, int64_t bytes)
{
    gpu_pieces pieces = gpu_pieces_of(&c->scope, key->on.device, c->options->pieces);
    if (!pieces.count || bytes < 0 || work->end <= work->start) return true;
    const copy_key of = {{key->on.device, HD_NONE}, .kind = key->kind};
    uint32_t count = c->rates.count, group = gpu_group(&c->rates, &of);
    if (group == HD_NONE || !hd_grow((void **)&c->bytes_in, &c->bytes_capacity, group, sizeof *c->bytes_in))
        return false;
    if (group == count) c->bytes_in[group] = calloc(pieces.count, sizeof *c->bytes_in[group]);
    if (!c->bytes_in[group]) return false;
    gpu_pieces_add(c->bytes_in[group], &pieces, work->start, work->end,
                   (double)bytes / (double)(work->end - work->start));
    return true;
}

static bool add_copy(copies *c, size_t index)
{
    uint32_t at;
    const gpu_scope *s = &c->scope;
    const gpu_work *work = &s->works[index];
    const hd_work *told = &s->launches->works[index];
    const hd_block *block = hd_trace_block_of(&at, s->trace, HD_KIND_SLICE, told->row);
    hd_string name = hd_trace_string(s->trace, told->name);
    int64_t time = gpu_duration(work), bytes = gpu_copy_bytes_of(&c->bytes, told->row);
    bool is_timed = bytes >= 0 && time > 0;
    copy_row row = {{{work->device, gpu_step_of(s, work)}, kind_of(c, work, name, block, at), 0},
                    time,
                    bytes,
                    is_timed ? bytes : HD_NO_NUMBER,
                    is_timed ? time : HD_NO_NUMBER,
                    (int64_t)told->row};
    if (c->options->pieces && !add_rate(c, &row.key, work, bytes)) return false;
    if (!work->is_listed) return true;
    if (work->class == GPU_COPY) report_cover(&c->covered, time, bytes >= 0);
    if (!memory_of(&row.key.detail, c, work, name) || !gpu_aggregate_add(&c->kinds, &row)) return false;
    row.key.detail = size_class(bytes);
    return gpu_aggregate_add(&c->sizes, &row);
}

/* ---- rows ---- */

static void cell_kind(hd_table_builder *b, uint32_t kind)
{
    const char text[] = {(char)(kind >> 8), 't', 'o', (char)kind, '\0'};
    hd_table_add_text(b, kind == NO_KIND ? NULL : kind == SET ? "set" : text);
}

static void add_kind(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *column)
{
    (void)column;
    cell_kind(b, ((const copy_key *)gpu_group_key(&a->groups, group))->kind);
}

static void add_rates(hd_table_builder *b, const copies *c, uint32_t group)
{
    const copy_key *key = gpu_group_key(&c->rates, group);
    gpu_pieces pieces = gpu_pieces_of(&c->scope, key->on.device, c->options->pieces);
    for (uint32_t i = 0; i < pieces.count; i++) {
        int64_t start = gpu_piece_start(&pieces, i), length = gpu_piece_start(&pieces, i + 1) - start;
        gpu_cells_device(b, &c->scope, key->on.device, HD_NONE);
        cell_kind(b, key->kind);
        hd_table_add_int(b, start);
        hd_table_add_decimal(b, c->bytes_in[group][i] / (double)length);
    }
}

static hd_status add_tables(hd_report *out, copies *c, hd_error *err)
{
    hd_table_builder *b;
    gpu_aggregate_init(&c->kinds, &c->scope, &c->texts, sizeof(copy_key), &report_copies_about, "copies");
    gpu_aggregate_init(&c->sizes, &c->scope, &c->texts, sizeof(copy_key), &report_copies_about, "sizes");
    for (size_t i = 0; i < c->scope.launches->work_count; i++) {
        const gpu_work *work = &c->scope.works[i];
        if (work->device != HD_NONE && (work->class == GPU_COPY || work->role == HD_ROLE_SET) && !add_copy(c, i))
            return HD_NOMEM(err);
    }
    HD_TRY(gpu_add_aggregate(out, &c->kinds, "total", err));
    HD_TRY(gpu_add_aggregate(out, &c->sizes, "total", err));
    if (c->options->pieces) {
        HD_TRY(report_builder(&b, &report_copies_about, "bandwidth", err));
        for (uint32_t g = 0; g < c->rates.count; g++) add_rates(b, c, g);
        HD_TRY(gpu_add(out, b, "", err));
    }
    HD_TRY(gpu_add_notes(out, &report_copies_about, &c->scope, NULL, err));
    return report_add_coverage(out, COVERAGE_BYTES, &c->covered, "of copies", err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    copies c = {.options = options, .rates = {.key_size = sizeof(copy_key)}};
    hd_status status = gpu_scope_init(&c.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK &&
        (!gpu_copy_bytes_init(&c.bytes, input->trace) || !gpu_arg_init(&c.direction, input->trace, "direction")))
        status = HD_NOMEM(err);
    if (status == HD_OK) status = add_tables(out, &c, err);
    gpu_copy_bytes_deinit(&c.bytes);
    gpu_arg_deinit(&c.direction);
    gpu_texts_deinit(&c.texts);
    gpu_aggregate_deinit(&c.kinds);
    gpu_aggregate_deinit(&c.sizes);
    for (uint32_t i = 0; i < c.rates.count && i < c.bytes_capacity; i++) free(c.bytes_in[i]);
    free(c.bytes_in);
    gpu_groups_deinit(&c.rates);
    gpu_scope_deinit(&c.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column copies_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"kind", HD_VALUE_STRING, "HtoD, DtoH, DtoD, PtoP …; set (memset); null: not in the name", GPU_FILL_OWN(add_kind)},
    {"memory", HD_VALUE_STRING, "source and target, from the name: Pageable -> Device",
     GPU_FILL(TEXT, copy_row, key.detail)},
    {"count", HD_VALUE_COUNT, "copies", GPU_FILL(ROWS, copy_row, time)},
    {"total", HD_VALUE_DURATION, "sum of the durations", GPU_FILL(SUM, copy_row, time)},
    {"share", HD_VALUE_DECIMAL, "percent of the time of all copies and memsets of the device",
     GPU_FILL(SHARE, copy_row, time)},
    {"bytes", HD_VALUE_BYTES, "sum over the copies with a size; null: none has one", GPU_FILL(SUM, copy_row, bytes)},
    {"unknown", HD_VALUE_COUNT, "copies without a size", GPU_FILL(UNKNOWN, copy_row, bytes)},
    {"mean", HD_VALUE_DURATION, "of the durations", GPU_FILL(MEAN, copy_row, time)},
    {"min", HD_VALUE_DURATION, "the shortest", GPU_FILL(MIN, copy_row, time)},
    {"max", HD_VALUE_DURATION, "the longest", GPU_FILL(MAX, copy_row, time)},
    {"bandwidth", HD_VALUE_DECIMAL, "GB/s: bytes per time of the copies that have both",
     GPU_FILL(RATIO, copy_row, timed_bytes, offsetof(copy_row, timed))},
    {"longest_id", HD_VALUE_INT, GPU_ID_OF "the longest", GPU_FILL(OF_MAX, copy_row, time, offsetof(copy_row, id))},
    {0},
};

static const hd_report_column sizes_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"kind", HD_VALUE_STRING, "as above", GPU_FILL_OWN(add_kind)},
    {"size", HD_VALUE_STRING, "of a copy; null: unknown", GPU_FILL(WORD, copy_row, key.detail, .words = size_names)},
    {"count", HD_VALUE_COUNT, "copies", GPU_FILL(ROWS, copy_row, time)},
    {"total", HD_VALUE_DURATION, "sum of the durations", GPU_FILL(SUM, copy_row, time)},
    {"bytes", HD_VALUE_BYTES, "sum over the copies with a size; null: none has one", GPU_FILL(SUM, copy_row, bytes)},
    {"bandwidth", HD_VALUE_DECIMAL, "GB/s: bytes per time of the copies that have both",
     GPU_FILL(RATIO, copy_row, timed_bytes, offsetof(copy_row, timed))},
    {0},
};

static const hd_report_column bandwidth_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"kind", HD_VALUE_STRING, "as above"},
    {"time", HD_VALUE_TIME, "start of the bin"},
    {"bandwidth", HD_VALUE_DECIMAL,
     "GB/s in the bin, of the copies with a size; a copy counts evenly over its "
     "duration"},
    {0},
};

static const hd_report_table_about tables[] = {
    {"copies", "by kind and memory, most time first", copies_columns, HD_CHART_BARS, "kind,memory", "total"},
    {"sizes", "by kind and size, most time first", sizes_columns, HD_CHART_BARS, "kind,size", "bandwidth"},
    {"bandwidth", "with --pieces: the bandwidth over time", bandwidth_columns, HD_CHART_SERIES, "rank,device,kind",
     "time,bandwidth"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {GPU_OPTION_PIECES(copies_options, "bandwidth"), GPU_OPTIONS("step"), {0}};

const hd_report_about report_copies_about = {
    .name = "copies",
    .title = "copies and memsets: how many bytes, how long, how fast",
    .text = "Sums up copies and memsets (sets) of each device by kind, memory and size, with their bandwidth. "
            "Copies without a size in bytes are counted, but no bandwidth includes them.",
    .options = options,
    .options_size = sizeof(copies_options),
    .tables = tables,
    .run = run,
};
