/* slice_chunk.c - chunks of rows of the slice table, and the values of their columns */
#include "query/tables/slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const hd_kind kinds[SLICE_KINDS] = {HD_KIND_SLICE, HD_KIND_INSTANT, HD_KIND_ASYNC};

/* ---- sections ---- */

hd_status slice_open(slice_table *table, hd_error *err)
{
    if (table->sections) return HD_OK;
    size_t count = table->tables->count * SLICE_KINDS;
    slice_section *sections = calloc(count, sizeof *sections);
    if (!sections) return HD_NOMEM(err);
    table->count = 0;
    for (size_t i = 0; i < count; i++) {
        query_source *source = &table->tables->sources[i / SLICE_KINDS];
        hd_status status = query_async_make(source, err);
        if (status != HD_OK) {
            free(sections);
            return status;
        }
        hd_kind kind = kinds[i % SLICE_KINDS];
        uint64_t rows = kind == HD_KIND_ASYNC ? source->async->slice_count : hd_trace_row_count(source->trace, kind);
        sections[i] = (slice_section){.source = source,
                                      .kind = kind,
                                      .first = table->count,
                                      .count = rows,
                                      .id = query_id(source, (uint64_t)(i % SLICE_KINDS) << QUERY_KIND_SHIFT)};
        table->count += rows;
    }
    table->sections = sections;
    table->section_count = count;
    return HD_OK;
}

void slice_table_deinit(slice_table *table)
{
    for (size_t i = 0; i < table->section_count; i += SLICE_KINDS) {
        for (int place = 0; place < SLICE_PLACES; place++) free((void *)(uintptr_t)table->sections[i].places[place]);
        free((void *)(uintptr_t)table->sections[i].has_args);
    }
    for (int column = 0; column < SLICE_COLUMNS; column++) query_index_deinit(&table->indexes[column]);
    slice_numbers_free(table);
    free(table->sections);
}

static slice_section *section_at(const slice_table *table, uint64_t position)
{
    size_t low = 1, high = table->section_count; /* the first section after the position */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->sections[middle].first <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return &table->sections[low - 1];
}

slice_section *slice_section_of(const slice_table *table, int64_t id)
{
    uint64_t at = (uint64_t)id >> QUERY_INPUT_SHIFT, kind = (uint64_t)id >> QUERY_KIND_SHIFT & 3;
    if (id < 0 || at >= table->tables->count || kind >= SLICE_KINDS) return NULL;
    slice_section *section = &table->sections[at * SLICE_KINDS + kind];
    return (uint64_t)(id - section->id) < section->count ? section : NULL;
}

/* ---- what columns need ---- */

enum {
    NEEDS_ARGS = 1u << SLICE_CORRELATION | 1u << SLICE_THREAD_TS | 1u << SLICE_THREAD_DUR | 1u << SLICE_TRACK,
    NEEDS_NESTING = 1u << SLICE_DEPTH | 1u << SLICE_PARENT,
};

bool slice_needs_args(uint32_t columns)
{
    return columns & (1u << SLICE_CORRELATION | 1u << SLICE_THREAD_TS | 1u << SLICE_THREAD_DUR);
}

/* Only instants have their track in an argument. */
const hd_block *slice_load(const slice_section *section, size_t block, bool whole)
{
    if (whole || section->kind == HD_KIND_INSTANT)
        return hd_trace_block_at(section->source->trace, section->kind, block);
    return hd_trace_columns_at(section->source->trace, section->kind, block);
}

static int32_t *find_place(const hd_trace *trace, slice_place place)
{
    static const char *const words[SLICE_PLACES] = {
        [PLACE_THREAD_TS] = "tts", [PLACE_THREAD_DUR] = "tdur", [PLACE_SCOPE] = "s"};
    uint32_t shapes = hd_trace_shape_count(trace),
             key = hd_trace_find_string(trace, words[place], strlen(words[place]));
    int32_t *out = malloc((shapes + 1) * sizeof *out);
    for (uint32_t shape = 0; shape < shapes && out; shape++)
        out[shape] = hd_shape_find(hd_trace_shape_at(trace, shape), key, HD_SCOPE_EVENT);
    return out;
}

bool *query_shapes_with_args(const hd_trace *trace);

static hd_status prepare_places(slice_section *sections, hd_error *err)
{
    const hd_trace *trace = sections->source->trace;
    if (sections->has_args) return HD_OK;
    bool *has_args = query_shapes_with_args(trace);
    int32_t *places[SLICE_PLACES];
    bool room = has_args != NULL;
    for (int place = 0; place < SLICE_PLACES; place++) {
        places[place] = find_place(trace, (slice_place)place);
        room &= places[place] != NULL;
    }
    for (int place = 0; place < SLICE_PLACES; place++) {
        if (!room) free(places[place]);
        for (int kind = 0; kind < SLICE_KINDS && room; kind++) sections[kind].places[place] = places[place];
    }
    for (int kind = 0; kind < SLICE_KINDS && room; kind++) sections[kind].has_args = has_args;
    if (room) return HD_OK;
    free(has_args);
    return HD_NOMEM(err);
}

hd_status slice_prepare(slice_table *table, uint32_t columns, hd_error *err)
{
    for (size_t i = 0; i < table->section_count; i += SLICE_KINDS) {
        query_source *source = table->sections[i].source;
        if (columns & (NEEDS_ARGS | 1u << SLICE_ARGS)) HD_TRY(prepare_places(&table->sections[i], err));
        if (columns & NEEDS_NESTING) HD_TRY(query_nesting(source, err));
        if (columns & 1u << SLICE_ROLE) HD_TRY(query_roles(source, err));
    }
    return HD_OK;
}

/* ---- values of one row ---- */

static const hd_column *argument_of(hd_value *out, const slice_section *section, const hd_block *block,
                                    uint32_t in_block, slice_place place)
{
    uint32_t shape = (uint32_t)hd_column_at(&block->columns[HD_COL_SHAPE], in_block);
    if (!shape || shape >= hd_trace_shape_count(section->source->trace) || section->places[place][shape] < 0)
        return NULL;
    const hd_arg_group *group = hd_block_group(block, shape);
    uint32_t at = (uint32_t)hd_column_at(&block->columns[HD_COL_ARGS_ROW], in_block);
    if (!group || at >= group->row_count) return NULL;
    const hd_column *column = &group->columns[section->places[place][shape]];
    out->type = (hd_arg_type)hd_trace_shape_at(section->source->trace, shape)->keys[section->places[place][shape]].type;
    out->bits = hd_column_at(column, at);
    return column;
}

static int64_t ns_of(const hd_trace *trace, hd_value value)
{
    double number;
    int64_t ns = value.bits;
    if (value.type == HD_ARG_INT) return __builtin_mul_overflow(ns, 1000, &ns) ? QUERY_NULL : ns;
    if (!hd_value_double(&number, trace, value) || !(fabs(number) < 9e15)) return QUERY_NULL;
    return llround(number * 1000);
}

static int64_t argument_value(const slice_section *section, const hd_block *block, uint32_t in_block, slice_place place)
{
    const hd_trace *trace = section->source->trace;
    hd_value value;
    return argument_of(&value, section, block, in_block, place) ? ns_of(trace, value) : QUERY_NULL;
}

/* The track of an instant: of its process, or none, depending on its scope. */
static int64_t instant_track(const slice_section *section, const hd_block *block, uint32_t in_block, uint32_t track)
{
    query_source *source = section->source;
    hd_value value;
    if (!argument_of(&value, section, block, in_block, PLACE_SCOPE) || value.type != HD_ARG_STRING)
        return query_id(source, track);
    hd_string scope = hd_trace_string(source->trace, (uint32_t)value.bits);
    if (scope.size != 1) return query_id(source, track);
    if (scope.data[0] == 'g') return query_id(source, query_global_track_number(source));
    if (scope.data[0] != 'p' || track >= hd_trace_track_count(source->trace)) return query_id(source, track);
    uint32_t parent = hd_trace_track_at(source->trace, track)->parent;
    return query_id(source, parent == HD_NONE ? track : parent);
}

static int64_t arg_set_of(const slice_section *section, const hd_block *block, uint32_t in_block, uint64_t row)
{
    uint64_t shape = (uint64_t)hd_column_at(&block->columns[HD_COL_SHAPE], in_block);
    bool has_args = shape < hd_trace_shape_count(section->source->trace) && section->has_args[shape];
    return has_args ? (section->id + (int64_t)row) << QUERY_ARG_SHIFT : QUERY_NULL;
}

static int64_t async_value(const slice_section *section, uint64_t row, slice_column column)
{
    const query_async_slice *slice = &section->source->async->slices[row];
    const hd_block *block;
    uint32_t in_block;
    switch (column) {
    case SLICE_TS: return query_time(section->source, slice->start_ns);
    case SLICE_DUR: return slice->duration_ns;
    case SLICE_TRACK: return query_id(section->source, query_async_track_number(section->source, slice->track));
    case SLICE_CATEGORY: return slice->category;
    case SLICE_NAME: return slice->name;
    case SLICE_DEPTH: return slice->depth;
    case SLICE_RANK: return query_rank_of(section->source, section->source->async->tracks[slice->track].process);
    case SLICE_PARENT: return slice->parent == HD_NONE ? QUERY_NULL : section->id + slice->parent;
    case SLICE_ARGS:
        block = hd_trace_columns_of(&in_block, section->source->trace, HD_KIND_ASYNC, slice->row);
        return arg_set_of(section, block, in_block, row);
    default: return QUERY_NULL;
    }
}

static int64_t nesting_value(const slice_section *section, uint64_t row, slice_column column)
{
    const hd_nesting *nesting = section->source->nesting;
    if (section->kind != HD_KIND_SLICE || row >= nesting->count) return column == SLICE_DEPTH ? 0 : QUERY_NULL;
    if (column == SLICE_DEPTH) return nesting->depths[row];
    return nesting->parents[row] == HD_NONE ? QUERY_NULL : section->id + nesting->parents[row];
}

static int64_t value_at(const slice_section *section, const hd_block *block, uint32_t in_block, uint64_t row,
                        slice_column column)
{
    int64_t value;
    if (column == SLICE_ID) return section->id + (int64_t)row;
    if (column == SLICE_TYPE) return section->kind;
    if (column == SLICE_INPUT) return section->source->index;
    if (!block) return async_value(section, row, column);
    if (column == SLICE_RANK)
        return section->source->ranks
                   ? query_rank_of(section->source, (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], in_block))
                   : section->source->rank;
    switch (column) {
    case SLICE_TS: return query_time(section->source, hd_column_at(&block->columns[HD_COL_START], in_block));
    case SLICE_DUR:
        return section->kind == HD_KIND_SLICE ? hd_column_at(&block->columns[HD_COL_DURATION], in_block) : 0;
    case SLICE_TRACK:
        value = hd_column_at(&block->columns[HD_COL_TRACK], in_block);
        if (value == HD_NONE) return QUERY_NULL;
        if (section->kind == HD_KIND_INSTANT) return instant_track(section, block, in_block, (uint32_t)value);
        return query_id(section->source, (uint64_t)value);
    case SLICE_CATEGORY: return hd_column_at(&block->columns[HD_COL_CATEGORY], in_block);
    case SLICE_NAME: return hd_column_at(&block->columns[HD_COL_NAME], in_block);
    case SLICE_DEPTH:
    case SLICE_PARENT: return nesting_value(section, row, column);
    case SLICE_ARGS: return arg_set_of(section, block, in_block, row);
    case SLICE_THREAD_TS: return argument_value(section, block, in_block, PLACE_THREAD_TS);
    case SLICE_THREAD_DUR: return argument_value(section, block, in_block, PLACE_THREAD_DUR);
    case SLICE_CORRELATION:
        value = hd_column_at(&block->columns[HD_COL_CORRELATION], in_block);
        return value == HD_NO_CORRELATION ? QUERY_NULL : value;
    case SLICE_ROLE:
        if (section->kind != HD_KIND_SLICE) return HD_ROLE_OTHER;
        return hd_roles_in(&section->source->roles, block, in_block,
                           (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], in_block));
    default: return QUERY_NULL;
    }
}

/* ---- chunks ---- */

void slice_chunk_run(slice_chunk *chunk, slice_section *section, const hd_block *block, uint32_t in_block, uint64_t row,
                     uint32_t count)
{
    chunk->section = section;
    chunk->block = block;
    chunk->in_block = in_block;
    chunk->row = row;
    chunk->count = chunk->selected_count = count;
    chunk->have = 0;
    for (uint32_t i = 0; i < count; i++) chunk->selected[i] = (uint16_t)i;
}

void slice_chunk_list(slice_chunk *chunk, const slice_table *table, const uint32_t *positions, uint32_t count,
                      bool whole)
{
    slice_section *section = NULL;
    const hd_block *block = NULL;
    chunk->section = NULL;
    chunk->count = chunk->selected_count = count;
    chunk->have = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t position = positions[i];
        if (!section || position - section->first >= section->count) {
            section = section_at(table, position);
            block = NULL;
        }
        uint64_t row = position - section->first;
        const hd_trace *trace = section->source->trace;
        if (section->kind == HD_KIND_ASYNC) {
            block = NULL;
        } else if (!block || row - block->first_row >= block->row_count) {
            uint32_t ignored;
            block = whole || section->kind == HD_KIND_INSTANT
                        ? hd_trace_block_of(&ignored, trace, section->kind, row)
                        : hd_trace_columns_of(&ignored, trace, section->kind, row);
        }
        chunk->sections[i] = section;
        chunk->blocks[i] = block;
        chunk->rows[i] = row;
        chunk->in_blocks[i] = block ? (uint32_t)(row - block->first_row) : 0;
        chunk->selected[i] = (uint16_t)i;
    }
}

uint64_t slice_chunk_position(const slice_chunk *chunk, uint32_t i)
{
    return chunk->section ? chunk->section->first + chunk->row + i : chunk->sections[i]->first + chunk->rows[i];
}

/* The trace's column for a column of the table; HD_COL_COUNT: none. The track of instants is an argument. */
static hd_column_id plain_column(slice_column column, hd_kind kind)
{
    bool is_slice = kind == HD_KIND_SLICE;
    switch (column) {
    case SLICE_TS: return HD_COL_START;
    case SLICE_NAME: return HD_COL_NAME;
    case SLICE_CATEGORY: return HD_COL_CATEGORY;
    case SLICE_CORRELATION: return HD_COL_CORRELATION;
    case SLICE_DUR: return is_slice ? HD_COL_DURATION : HD_COL_COUNT;
    case SLICE_TRACK: return is_slice ? HD_COL_TRACK : HD_COL_COUNT;
    default: return HD_COL_COUNT;
    }
}

/* Converts absent values and track numbers from the trace's column, and times to the query's clock. */
static void finish_plain(int64_t *values, uint32_t count, slice_column column, const slice_section *section)
{
    const int64_t base = query_id(section->source, 0);
    if (column == SLICE_TS && section->source->shift)
        for (uint32_t i = 0; i < count; i++) values[i] = query_time(section->source, values[i]);
    if (column == SLICE_CORRELATION)
        for (uint32_t i = 0; i < count; i++) values[i] = values[i] == HD_NO_CORRELATION ? QUERY_NULL : values[i];
    if (column == SLICE_TRACK)
        for (uint32_t i = 0; i < count; i++) values[i] = values[i] == HD_NONE ? QUERY_NULL : base + values[i];
}

static void fill_run(slice_chunk *chunk, slice_column column)
{
    int64_t *out = chunk->values[column];
    hd_column_id id = chunk->block ? plain_column(column, chunk->section->kind) : HD_COL_COUNT;
    bool few = chunk->selected_count < chunk->count / 8;
    if (id != HD_COL_COUNT && !few) {
        hd_column_decode(out, &chunk->block->columns[id], chunk->in_block, chunk->count);
        finish_plain(out, chunk->count, column, chunk->section);
        return;
    }
    for (uint32_t k = 0; k < chunk->selected_count; k++) {
        uint32_t i = chunk->selected[k];
        out[i] = value_at(chunk->section, chunk->block, chunk->in_block + i, chunk->row + i, column);
    }
}

/* Consecutive rows of the list in one block are gathered at once. */
static void fill_list(slice_chunk *chunk, slice_column column)
{
    int64_t *out = chunk->values[column];
    for (uint32_t i = 0, end; i < chunk->count; i = end) {
        const hd_block *block = chunk->blocks[i];
        const slice_section *section = chunk->sections[i];
        hd_column_id id = block ? plain_column(column, section->kind) : HD_COL_COUNT;
        for (end = i + 1; end < chunk->count && chunk->blocks[end] == block && chunk->sections[end] == section;) end++;
        if (id != HD_COL_COUNT) {
            for (uint32_t k = i; k < end; k++) out[k] = hd_column_at(&block->columns[id], chunk->in_blocks[k]);
            finish_plain(out + i, end - i, column, section);
        } else {
            for (uint32_t k = i; k < end; k++)
                out[k] = value_at(section, block, chunk->in_blocks[k], chunk->rows[k], column);
        }
    }
}

void slice_chunk_fill(slice_chunk *chunk, slice_column column)
{
    chunk->have |= 1u << column;
    if (chunk->section)
        fill_run(chunk, column);
    else
        fill_list(chunk, column);
}

const char *slice_word(slice_column column, int64_t value)
{
    static const char *const roles[HD_ROLES] = {
        [HD_ROLE_OTHER] = NULL,          [HD_ROLE_OP] = "op",
        [HD_ROLE_PYTHON] = "python",     [HD_ROLE_ANNOTATION] = "annotation",
        [HD_ROLE_RUNTIME] = "runtime",   [HD_ROLE_DRIVER] = "driver",
        [HD_ROLE_OVERHEAD] = "overhead", [HD_ROLE_KERNEL] = "kernel",
        [HD_ROLE_COPY] = "copy",         [HD_ROLE_SET] = "set",
        [HD_ROLE_SYNC] = "sync",         [HD_ROLE_GPU_ANNOTATION] = "gpu_annotation",
    };
    if (column == SLICE_TYPE) return hd_kind_name((hd_kind)value);
    return value >= 0 && value < HD_ROLES ? roles[value] : NULL;
}
