/* stream.c - tables of a trace as Arrow streams: which columns, which blocks, batch by batch */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/impl.h"
#include "base/error.h"
#include "base/options.h"
#include "heddle/names.h"
#include "trace/lazy.h"
#include "trace/ranks.h"

/* With more strings than this, dictionaries have those alone that the table's names and categories use. */
enum { ALL_STRINGS_MOST = 65536 };

/* ---- columns ---- */

static const arrow_field *find_field(const arrow_field *fields, const char *name)
{
    for (; fields && fields->name; fields++) {
        if (strcmp(fields->name, name) == 0) return fields;
    }
    return NULL;
}

static void add_column(arrow_stream *s, const hd_arrow_column *column)
{
    const arrow_field *field = find_field(s->table->fields, column->name);
    if (!field) field = find_field(arrow_event_fields, column->name);
    s->columns[s->column_count++] = (arrow_column){.field = field, .format = column->format, .name = column->name};
}

static const hd_arrow_column *find_column(const arrow_table *table, const char *name, size_t size)
{
    for (const hd_arrow_column *c = table->about.columns; c->name; c++) {
        if (strlen(c->name) == size && memcmp(c->name, name, size) == 0) return c;
    }
    return NULL;
}

static hd_status refuse_column(const arrow_table *table, const char *name, size_t size, hd_error *err)
{
    enum { NAME_BYTES = 100 };
    char known[640] = "", typed[NAME_BYTES + 1];
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    snprintf(typed, sizeof typed, "%.*s", (int)(size < NAME_BYTES ? size : NAME_BYTES), name);
    for (const hd_arrow_column *c = table->about.columns; c->name; c++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", c->name);
        hd_name_suggest(typed, c->name, &best, &distance);
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the table %s has no column '%s'; %s%s%s %s",
                        table->about.name, typed, best ? "did you mean " : "", best ? best : "",
                        best ? "? It has" : "it has", known);
}

static hd_status choose_columns(arrow_stream *s, const char *list, hd_error *err)
{
    size_t count = 0;
    if (list)
        for (const char *at = list; (at = strchr(at, ',')) != NULL; at++) count++;
    else
        for (const hd_arrow_column *c = s->table->about.columns; c->name; c++) count++;
    s->columns = calloc(count + 1, sizeof *s->columns);
    if (!s->columns) return HD_NOMEM(err);
    for (const hd_arrow_column *c = s->table->about.columns; !list && c->name; c++) add_column(s, c);
    for (const char *at = list; at;) {
        size_t size = strcspn(at, ",");
        const hd_arrow_column *column = find_column(s->table, at, size);
        if (!column) return refuse_column(s->table, at, size, err);
        add_column(s, column);
        at = at[size] ? at + size + 1 : NULL;
    }
    return HD_OK;
}

bool arrow_wants(const arrow_stream *stream, const char *name)
{
    for (size_t i = 0; i < stream->column_count; i++) {
        if (strcmp(stream->columns[i].name, name) == 0) return true;
    }
    return false;
}

/* ---- blocks ---- */

/* Arguments of a store's block are decoded only where the table has them. */
static const hd_block *block_at(const arrow_stream *s, hd_kind kind, size_t index)
{
    bool needs_all = s->table->walk == ARROW_EXPLODE || kind == HD_KIND_SAMPLE || arrow_wants(s, "correlation");
    return needs_all ? hd_trace_block_at(s->trace, kind, index) : hd_trace_columns_at(s->trace, kind, index);
}

/* ---- dictionaries ---- */

static hd_string phase_at(const void *user, uint32_t index)
{
    static const char printable[] = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                                    "abcdefghijklmnopqrstuvwxyz{|}~";
    (void)user;
    return (hd_string){&printable[index], 1};
}

static hd_string word_at(const void *user, uint32_t index)
{
    const char *const *words = user;
    return (hd_string){words[index], strlen(words[index])};
}

static bool is_of_strings(const arrow_column *column)
{
    return *column->format == 'u' && column->field->dictionary == ARROW_STRINGS;
}

static void mark_used(uint8_t *used, arrow_stream *s, const hd_block *block)
{
    for (size_t i = 0; i < s->column_count; i++) {
        arrow_rows rows = {.stream = s, .block = block, .count = block->row_count};
        const arrow_field *field = s->columns[i].field;
        if (!is_of_strings(&s->columns[i])) continue;
        if (field->make)
            field->make(&rows, s->values);
        else
            hd_column_decode(s->values, &block->columns[field->column], 0, block->row_count);
        for (uint32_t k = 0; k < block->row_count; k++) used[s->values[k]] = 1;
    }
}

/* The strings of a table of events, if there are many others. */
static hd_status find_used(uint8_t **out, arrow_stream *s, hd_error *err)
{
    *out = NULL;
    if (s->table->walk != ARROW_EVENTS || hd_trace_string_count(s->trace) <= ALL_STRINGS_MOST) return HD_OK;
    uint8_t *used = calloc(hd_trace_string_count(s->trace), 1);
    if (!used) return HD_NOMEM(err);
    for (size_t i = 0; i < hd_trace_block_count(s->trace, s->table->first_kind); i++) {
        const hd_block *block = hd_trace_columns_at(s->trace, s->table->first_kind, i);
        if (arrow_filter_takes_block(&s->filter, block)) mark_used(used, s, block);
    }
    *out = used;
    return HD_OK;
}

static hd_status make_texts_of(arrow_texts **out, arrow_stream *s, const arrow_field *field, hd_error *err)
{
    uint32_t count = 0;
    switch (field->dictionary) {
    case ARROW_PHASES: return arrow_texts_of_list(out, '~' - ' ' + 1, phase_at, NULL, err);
    case ARROW_OWN: *out = arrow_texts_keep(s->own); return HD_OK;
    case ARROW_WORDS:
        while (field->words[count]) count++;
        return arrow_texts_of_list(out, count, word_at, field->words, err);
    default: break;
    }
    uint8_t *used;
    HD_TRY(find_used(&used, s, err));
    hd_status status = arrow_texts_of_trace(out, s->trace, used, err);
    free(used);
    return status;
}

/* One dictionary of strings for all columns. */
static hd_status make_texts(arrow_stream *s, hd_error *err)
{
    arrow_texts *strings = NULL;
    for (size_t i = 0; i < s->column_count; i++) {
        arrow_column *column = &s->columns[i];
        if (*column->format != 'u') continue;
        if (is_of_strings(column) && strings)
            column->texts = arrow_texts_keep(strings);
        else
            HD_TRY(make_texts_of(&column->texts, s, column->field, err));
        if (is_of_strings(column)) strings = column->texts;
    }
    return HD_OK;
}

/* ---- a batch ---- */

static bool find_nulls(arrow_stream *s, const arrow_rows *rows, int64_t null)
{
    bool some = false;
    if (null == ARROW_NEVER) return false;
    for (uint32_t i = 0; i < rows->count; i++) some |= s->values[i] == null;
    for (uint32_t i = 0; some && i < rows->count; i++) s->null[i] = s->values[i] == null;
    return some;
}

/* 8 bytes a value and nothing added or left out: as Arrow has it. */
static bool is_arrow_already(const arrow_rows *rows, const arrow_column *column)
{
    if (*column->format != 'l' || column->field->make || !rows->block || rows->rows) return false;
    const hd_column *c = &rows->block->columns[column->field->column];
    return c->width == 8 && c->base == 0 && (uintptr_t)c->data % 8 == 0;
}

static int borrow_column(struct ArrowArray *out, arrow_stream *s, const arrow_rows *rows, hd_column_id id)
{
    void *none[2] = {NULL, NULL};
    if (arrow_array_init(out, rows->count, none, 2, 0) != 0) return ENOMEM;
    if (s->keep) s->keep(s->user);
    arrow_array_borrow(out, 1, rows->block->columns[id].data, s->keep ? s->release : NULL, s->user);
    return 0;
}

static int make_column(struct ArrowArray *out, arrow_stream *s, arrow_rows *rows, const arrow_column *column)
{
    const arrow_field *field = column->field;
    rows->has_null = false;
    if (field->make)
        field->make(rows, s->values);
    else if (!rows->rows)
        hd_column_decode(s->values, &rows->block->columns[field->column], 0, rows->count);
    else {
        const int64_t *all = arrow_look(rows, 0, field->column);
        for (uint32_t i = 0; i < rows->count; i++) s->values[i] = all[rows->rows[i]];
    }
    bool has_null = rows->has_null || find_nulls(s, rows, field->null);
    if (!has_null && is_arrow_already(rows, column)) return borrow_column(out, s, rows, field->column);
    const uint32_t *map = is_of_strings(column) ? arrow_texts_map(column->texts) : NULL;
    for (uint32_t i = 0; map && i < rows->count; i++) {
        if (!has_null || !s->null[i]) s->values[i] = map[s->values[i]];
    }
    return arrow_column_array(out, *column->format, s->values, has_null ? s->null : NULL, rows->count, column->texts);
}

static int make_batch(struct ArrowArray *out, arrow_stream *s, arrow_rows *rows)
{
    void *no_validity = NULL;
    int problem = arrow_array_init(out, rows->count, &no_validity, 1, s->column_count);
    if (problem) return problem;
    for (size_t i = 0; i < s->column_count && !problem; i++)
        problem = make_column(out->children[i], s, rows, &s->columns[i]);
    if (problem) out->release(out);
    return problem;
}

/* ---- batches in order ---- */

static bool next_list(arrow_rows *out, arrow_stream *s)
{
    uint64_t left = s->table->count(s) - s->row;
    if (left == 0) return false;
    *out = (arrow_rows){.stream = s, .first = s->row, .count = left < HD_BLOCK_ROWS ? (uint32_t)left : HD_BLOCK_ROWS};
    s->row += out->count;
    return true;
}

static hd_status rows_of_block(arrow_rows *out, arrow_stream *s, const hd_block *block, hd_error *err)
{
    *out = (arrow_rows){.stream = s, .block = block, .count = block->row_count};
    if (s->table->walk == ARROW_EXPLODE) {
        HD_TRY(arrow_explode(out, s, block, err));
        if (out->count > 0) return HD_OK; /* there may be more */
    } else if (arrow_filter_rows(s->rows, &out->count, s, block) && out->count < block->row_count) {
        out->rows = s->rows;
    }
    s->block++;
    return HD_OK;
}

/* END: there are no more. */
static hd_status next_rows(arrow_rows *out, arrow_stream *s, hd_error *err)
{
    if (s->table->walk == ARROW_ROWS) return next_list(out, s) ? HD_OK : HD_END;
    for (; s->kind <= s->table->last_kind; s->kind++, s->block = 0) {
        while (s->block < hd_trace_block_count(s->trace, s->kind)) {
            const hd_block *block = block_at(s, s->kind, s->block);
            if (!arrow_filter_takes_block(&s->filter, block)) {
                s->block++;
                continue;
            }
            HD_TRY(rows_of_block(out, s, block, err));
            if (out->count > 0) return HD_OK;
            hd_trace_release(s->trace, block);
        }
    }
    return HD_END;
}

/* ---- the stream ---- */

static int number_of(hd_status status)
{
    return status == HD_ERR_MEMORY ? ENOMEM : status == HD_ERR_IO ? EIO : EINVAL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    arrow_stream *s = stream->private_data;
    int problem = arrow_schema_init(out, "+s", "", false, s->column_count);
    if (problem) return problem;
    for (size_t i = 0; i < s->column_count && !problem; i++) {
        const arrow_column *column = &s->columns[i];
        const char *format = *column->format == 'u' ? "i" : column->format;
        bool nullable = column->field->null != ARROW_NEVER;
        struct ArrowSchema *child = out->children[i];
        problem = arrow_schema_init(child, format, column->name, nullable, 0);
        if (problem || !column->texts) continue;
        child->dictionary = calloc(1, sizeof(struct ArrowSchema));
        problem = child->dictionary ? arrow_texts_schema(child->dictionary, "", false, column->texts) : ENOMEM;
    }
    if (problem) out->release(out);
    return problem;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    arrow_stream *s = stream->private_data;
    arrow_rows rows;
    *out = (struct ArrowArray){0};
    s->err = (hd_error){0};
    hd_status status = next_rows(&rows, s, &s->err);
    if (status == HD_OK && make_batch(out, s, &rows) != 0) status = HD_NOMEM(&s->err);
    if (status == HD_OK && s->table->walk == ARROW_EVENTS) hd_trace_release(s->trace, rows.block);
    if (status == HD_OK || status == HD_END) {
        hd_status input = hd_trace_input_status(s->trace, &s->err);
        if (input != HD_OK) status = input;
    }
    if (status == HD_OK || status == HD_END) return 0;
    if (out->release) out->release(out);
    return number_of(status);
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    const arrow_stream *s = stream->private_data;
    return s->err.status == HD_OK ? NULL : s->err.message;
}

static void free_stream(arrow_stream *s)
{
    for (size_t i = 0; i < s->column_count; i++) arrow_texts_free(s->columns[i].texts);
    for (size_t i = 0; i < sizeof s->side / sizeof *s->side; i++) {
        if (s->side[i].free) s->side[i].free(s->side[i].data);
    }
    arrow_texts_free(s->own);
    arrow_filter_deinit(&s->filter);
    arrow_explosion_free(s->explosion);
    void *lists[] = {s->columns, s->ranks, s->values, s->scratch[0], s->scratch[1], s->scratch[2], s->null, s->rows};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    free(s);
}

static void release_stream(struct ArrowArrayStream *stream)
{
    arrow_stream *s = stream->private_data;
    void (*release)(void *user) = s->keep ? s->release : NULL;
    void *user = s->user;
    free_stream(s);
    stream->release = NULL;
    if (release) release(user);
}

static hd_status find_ranks(arrow_stream *s, hd_error *err)
{
    uint32_t count = hd_trace_track_count(s->trace);
    int64_t own = hd_trace_facts_of(s->trace)->rank;
    s->ranks = malloc(((size_t)count + 1) * sizeof *s->ranks);
    if (!s->ranks) return HD_NOMEM(err);
    for (uint32_t i = 0; i < count; i++) {
        s->ranks[i] = hd_trace_rank_of(s->trace, i);
        if (s->ranks[i] == HD_NO_NUMBER) s->ranks[i] = own;
    }
    s->ranks[count] = own;
    return HD_OK;
}

static hd_status open_stream(arrow_stream *s, const hd_arrow_options *options, hd_error *err)
{
    s->kind = s->table->first_kind;
    s->values = malloc(HD_BLOCK_ROWS * sizeof *s->values);
    s->scratch[0] = malloc(HD_BLOCK_ROWS * sizeof *s->values);
    s->scratch[1] = malloc(HD_BLOCK_ROWS * sizeof *s->values);
    s->scratch[2] = malloc(HD_BLOCK_ROWS * sizeof *s->values);
    s->null = malloc(HD_BLOCK_ROWS);
    s->rows = malloc(HD_BLOCK_ROWS * sizeof *s->rows);
    if (!s->values || !s->scratch[0] || !s->scratch[1] || !s->scratch[2] || !s->null || !s->rows) return HD_NOMEM(err);
    HD_TRY(choose_columns(s, options->columns, err));
    HD_TRY(find_ranks(s, err));
    if (s->table->walk != ARROW_ROWS) HD_TRY(arrow_filter_init(&s->filter, s->trace, options, err));
    if (s->table->open) HD_TRY(s->table->open(s, err));
    HD_TRY(make_texts(s, err));
    return hd_trace_input_status(s->trace, err);
}

hd_status hd_trace_arrow_stream(struct ArrowArrayStream *out, const hd_trace *trace, const char *table,
                                const hd_arrow_options *options, hd_error *err)
{
    HD_OWN_OPTIONS(hd_arrow_options, options, err);
    const arrow_table *found = NULL;
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    *out = (struct ArrowArrayStream){0};
    for (size_t i = 0; arrow_table_at(i) && !found; i++) {
        if (strcmp(arrow_table_at(i)->about.name, table) == 0) found = arrow_table_at(i);
        hd_name_suggest(table, arrow_table_at(i)->about.name, &best, &distance);
    }
    if (!found)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no table '%.100s'%s%s%s", table,
                            best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
    arrow_stream *s = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    s->trace = trace;
    s->table = found;
    hd_status status = open_stream(s, options, err);
    if (status != HD_OK) {
        free_stream(s);
        return status;
    }
    s->keep = options->keep;
    s->release = options->release;
    s->user = options->user;
    if (s->keep) s->keep(s->user);
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, s};
    return HD_OK;
}
