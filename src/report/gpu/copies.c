/* copies.c - copies and sets by kind and size, and their bandwidth: see "copies" in docs/reports/definitions.md */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "model/roles/copy_ways.h"
#include "report/gpu/gpu.h"

typedef struct copies_options {
    gpu_options gpu;
    uint64_t pieces;
} copies_options;

/* A way (HD_COPY_WAY), "set", or nothing. */
enum { NO_KIND, SET };

enum { UNKNOWN_SIZE = 6 };
static const char *const size_names[UNKNOWN_SIZE] = {"< 4 KiB",  "< 64 KiB",  "< 1 MiB",
                                                     "< 16 MiB", "< 256 MiB", ">= 256 MiB"};

/* What a row of copies is of, and one of sizes, where `detail` is the class of the size. */
typedef struct copy_key {
    uint32_t device, step, kind;
    uint32_t detail; /* memory: text, HD_NONE: null */
} copy_key;

typedef struct copy_sum {
    uint64_t count, known, unknown;
    gpu_i128 time, bytes, timed_bytes, timed; /* timed: of those that have bytes and a duration */
    int64_t min, max;
    uint64_t longest_row;
} copy_sum;

typedef struct copy_sums {
    gpu_groups groups;
    copy_sum *sums;
    size_t capacity;
} copy_sums;

typedef struct copies {
    gpu_scope scope;
    const copies_options *options;
    gpu_groups rates;  /* device and kind */
    double **bytes_in; /* by those, then by piece of the time */
    size_t bytes_capacity;
    gpu_arg bytes, size, direction;
    gpu_texts texts;
    copy_sums kinds, sizes;
    gpu_shares shares;
} copies;

/* ---- what a copy is ---- */

static uint32_t kind_of(copies *c, const gpu_work *work, hd_string name, const hd_block *block, uint32_t row)
{
    if (work->role == HD_ROLE_SET) return SET;
    uint32_t kind = hd_copy_way_of(name);
    if (kind != NO_KIND) return kind;
    return hd_copy_way_of(hd_trace_string(c->scope.trace, gpu_arg_text(&c->direction, block, row)));
}

/* "Pageable -> Device" of the first parentheses that hold no others. false: no memory. */
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
    if (bytes < 0) return UNKNOWN_SIZE;
    while (i < sizeof limits / sizeof *limits && bytes >= limits[i]) i++;
    return i;
}

/* -1: unknown. */
static int64_t bytes_of(copies *c, const hd_block *block, uint32_t row)
{
    hd_value value;
    int64_t bytes;
    gpu_arg *arg = gpu_arg_get(&value, &c->bytes, block, row) ? &c->bytes : &c->size;
    return gpu_arg_whole(&bytes, arg, block, row) && bytes >= 0 ? bytes : -1;
}

/* ---- sums ---- */

static bool add_to(copy_sums *sums, copy_key key, int64_t time, int64_t bytes, uint64_t row)
{
    uint32_t count = sums->groups.count, group = gpu_group(&sums->groups, &key);
    if (group == HD_NONE || !hd_grow((void **)&sums->sums, &sums->capacity, group, sizeof *sums->sums)) return false;
    copy_sum *sum = &sums->sums[group];
    if (group == count) *sum = (copy_sum){.min = time, .max = time, .longest_row = row};
    sum->count++;
    sum->time += time;
    if (time < sum->min) sum->min = time;
    if (time > sum->max) {
        sum->max = time;
        sum->longest_row = row;
    }
    sum->known += bytes >= 0;
    sum->unknown += bytes < 0;
    if (bytes >= 0) sum->bytes += bytes;
    if (bytes < 0 || time <= 0) return true;
    sum->timed_bytes += bytes;
    sum->timed += time;
    return true;
}

/* Bytes are copied evenly over the time of a copy. false: no memory. */
static bool add_rate(copies *c, const copy_key *key, const gpu_work *work, int64_t bytes)
{
    gpu_pieces pieces = gpu_pieces_of(&c->scope, key->device, c->options->pieces);
    if (!pieces.count || bytes < 0 || work->end <= work->start) return true;
    const copy_key of = {.device = key->device, .step = HD_NONE, .kind = key->kind};
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
    uint32_t row, memory;
    const gpu_scope *s = &c->scope;
    const gpu_work *work = &s->works[index];
    const hd_work *told = &s->launches->works[index];
    const hd_block *block = hd_trace_block_of(&row, s->trace, HD_KIND_SLICE, told->row);
    hd_string name = hd_trace_string(s->trace, told->name);
    int64_t time = gpu_duration(work), bytes = bytes_of(c, block, row);
    copy_key key = {work->device, work->step, kind_of(c, work, name, block, row), 0};
    if (c->options->pieces && !add_rate(c, &key, work, bytes)) return false;
    if (!work->is_listed) return true;
    if (!memory_of(&memory, c, work, name)) return false;
    key.detail = memory;
    if (!add_to(&c->kinds, key, time, bytes, told->row)) return false;
    key.detail = size_class(bytes);
    return add_to(&c->sizes, key, time, bytes, told->row) &&
           gpu_share_add(&c->shares, s, work->device, work->step, time);
}

/* ---- rows ---- */

static void cell_kind(hd_table_builder *b, uint32_t kind)
{
    const char text[] = {(char)(kind >> 8), 't', 'o', (char)kind, '\0'};
    hd_table_add_text(b, kind == NO_KIND ? NULL : kind == SET ? "set" : text);
}

static void add_kind(hd_table_builder *b, copies *c, uint32_t group)
{
    const copy_key *key = gpu_group_key(&c->kinds.groups, group);
    const copy_sum *sum = &c->kinds.sums[group];
    gpu_cells_device(b, &c->scope, key->device, key->step);
    cell_kind(b, key->kind);
    gpu_cell_text(b, &c->texts, key->detail);
    hd_table_add_count(b, sum->count);
    hd_table_add_int(b, gpu_whole(sum->time));
    gpu_cell_share(b, &c->shares, &c->scope, key->device, key->step, gpu_whole(sum->time));
    gpu_cell_count(b, (uint64_t)gpu_whole(sum->bytes), sum->known > 0);
    hd_table_add_count(b, sum->unknown);
    hd_table_add_int(b, gpu_nearest(sum->time, (gpu_i128)sum->count));
    hd_table_add_int(b, sum->min);
    hd_table_add_int(b, sum->max);
    gpu_cell_ratio(b, sum->timed_bytes, sum->timed, 1);
    hd_table_add_int(b, (int64_t)sum->longest_row);
}

static void add_size(hd_table_builder *b, copies *c, uint32_t group)
{
    const copy_key *key = gpu_group_key(&c->sizes.groups, group);
    const copy_sum *sum = &c->sizes.sums[group];
    gpu_cells_device(b, &c->scope, key->device, key->step);
    cell_kind(b, key->kind);
    hd_table_add_text(b, key->detail == UNKNOWN_SIZE ? NULL : size_names[key->detail]);
    hd_table_add_count(b, sum->count);
    hd_table_add_int(b, gpu_whole(sum->time));
    gpu_cell_count(b, (uint64_t)gpu_whole(sum->bytes), sum->known > 0);
    gpu_cell_ratio(b, sum->timed_bytes, sum->timed, 1);
}

static void add_rates(hd_table_builder *b, const copies *c, uint32_t group)
{
    const copy_key *key = gpu_group_key(&c->rates, group);
    gpu_pieces pieces = gpu_pieces_of(&c->scope, key->device, c->options->pieces);
    for (uint32_t i = 0; i < pieces.count; i++) {
        int64_t start = gpu_piece_start(&pieces, i), length = gpu_piece_start(&pieces, i + 1) - start;
        gpu_cells_device(b, &c->scope, key->device, HD_NONE);
        cell_kind(b, key->kind);
        hd_table_add_int(b, start);
        hd_table_add_decimal(b, c->bytes_in[group][i] / (double)length);
    }
}

static hd_status add_tables(hd_report *out, copies *c, hd_error *err)
{
    hd_table_builder *b;
    for (size_t i = 0; i < c->scope.launches->work_count; i++) {
        const gpu_work *work = &c->scope.works[i];
        if (work->device != HD_NONE && (work->class == GPU_COPY || work->role == HD_ROLE_SET) && !add_copy(c, i))
            return HD_NOMEM(err);
    }
    HD_TRY(report_builder(&b, &report_copies_about, "copies", err));
    for (uint32_t g = 0; g < c->kinds.groups.count; g++) add_kind(b, c, g);
    HD_TRY(gpu_add(out, b, "total", err));
    HD_TRY(report_builder(&b, &report_copies_about, "sizes", err));
    for (uint32_t g = 0; g < c->sizes.groups.count; g++) add_size(b, c, g);
    HD_TRY(gpu_add(out, b, "total", err));
    if (c->options->pieces) {
        HD_TRY(report_builder(&b, &report_copies_about, "bandwidth", err));
        for (uint32_t g = 0; g < c->rates.count; g++) add_rates(b, c, g);
        HD_TRY(gpu_add(out, b, "", err));
    }
    return gpu_add_notes(out, &report_copies_about, &c->scope, NULL, err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    copies c = {.options = options,
                .rates = {.key_size = sizeof(copy_key)},
                .kinds = {.groups = {.key_size = sizeof(copy_key)}},
                .sizes = {.groups = {.key_size = sizeof(copy_key)}}};
    hd_status status = gpu_scope_init(&c.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK &&
        (!gpu_arg_init(&c.bytes, input->trace, "bytes") || !gpu_arg_init(&c.size, input->trace, "size") ||
         !gpu_arg_init(&c.direction, input->trace, "direction")))
        status = HD_NOMEM(err);
    if (status == HD_OK) status = add_tables(out, &c, err);
    if (status != HD_OK) hd_report_free(out);
    gpu_arg_deinit(&c.bytes);
    gpu_arg_deinit(&c.size);
    gpu_arg_deinit(&c.direction);
    gpu_texts_deinit(&c.texts);
    gpu_groups_deinit(&c.kinds.groups);
    gpu_groups_deinit(&c.sizes.groups);
    gpu_shares_deinit(&c.shares);
    for (uint32_t i = 0; i < c.rates.count && i < c.bytes_capacity; i++) free(c.bytes_in[i]);
    free(c.bytes_in);
    gpu_groups_deinit(&c.rates);
    free(c.kinds.sums);
    free(c.sizes.sums);
    gpu_scope_deinit(&c.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column copies_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"kind", HD_VALUE_STRING, "HtoD, DtoH, DtoD, PtoP …; set; null: the name does not tell"},
    {"memory", HD_VALUE_STRING, "from what to what, as the name tells: Pageable -> Device"},
    {"count", HD_VALUE_COUNT, "copies"},
    {"total", HD_VALUE_DURATION, "sum of the durations"},
    {"share", HD_VALUE_DECIMAL, "percent of the time of all copies and sets of the device"},
    {"bytes", HD_VALUE_BYTES, "of those that tell; null: none does"},
    {"unknown", HD_VALUE_COUNT, "copies that do not tell"},
    {"mean", HD_VALUE_DURATION, "of the durations"},
    {"min", HD_VALUE_DURATION, "the shortest"},
    {"max", HD_VALUE_DURATION, "the longest"},
    {"bandwidth", HD_VALUE_DECIMAL, "GB/s: bytes per time of those that tell both"},
    {"longest_id", HD_VALUE_INT, GPU_ID_OF "the longest"},
    {0},
};

static const hd_report_column sizes_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"kind", HD_VALUE_STRING, "as above"},
    {"size", HD_VALUE_STRING, "of a copy; null: it does not tell"},
    {"count", HD_VALUE_COUNT, "copies"},
    {"total", HD_VALUE_DURATION, "sum of the durations"},
    {"bytes", HD_VALUE_BYTES, "of those that tell; null: none does"},
    {"bandwidth", HD_VALUE_DECIMAL, "GB/s: bytes per time of those that tell both"},
    {0},
};

static const hd_report_column bandwidth_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"kind", HD_VALUE_STRING, "as above"},
    {"time", HD_VALUE_TIME, "when a piece of the time begins"},
    {"bandwidth", HD_VALUE_DECIMAL, "GB/s in that piece, of those that tell their bytes, which move evenly"},
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
    .title = "copies and sets: how much, how long, how fast",
    .text = "Sums up copies and sets of each device by kind, memory and size, with their bandwidth. What does not tell "
            "its bytes is counted, and in no bandwidth.",
    .options = options,
    .options_size = sizeof(copies_options),
    .tables = tables,
    .run = run,
};
