/* read.c - an SQLite file of a profiler -> trace
 *
 * Sniffs   "SQLite format 3"; then the first format that has a table of this file
 * Maps     by the mapping of that format; an unknown table by its columns: with times it is events, without it is
 *          metadata, if it is small
 * Shapes   n rows of tables of events -> n events, or counted as lost by reason
 * Errors   FORMAT: an SQLite file of an unknown program; those of sq_file_open
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "base/pipeline.h"
#include "format/sqlite/map.h"
#include "trace/lazy.h"

enum { PIECE_BYTES = 1 << 20 };

/* Some leaves of a table in progress, and their results. */
typedef struct piece {
    const sq_plan *plan;
    const sq_page *pages;
    size_t count;
    hd_chunk *chunk;
    sq_damage damage;
    hd_status status;
    hd_error error;
} piece;

/* A table of events, while its rows are read. */
typedef struct source {
    sq_plan plan;
    sq_leaves leaves;
} source;

typedef struct sources {
    source *list;
    size_t count, capacity;
} sources;

/* ---- on threads ---- */

static hd_status read_rows(sq_worker *w, piece *p)
{
    hd_status status;
    sq_cursor_begin(&w->cursor, w->reader->file, p->plan->table, p->pages, p->count);
    while ((status = sq_cursor_next(&w->cursor, &p->error)) == HD_OK) {
        sq_worker_take_row(w, p->plan);
        HD_TRY(sq_worker_row(w, &p->error));
    }
    p->damage = w->cursor.damage;
    return status == HD_END ? hd_batch_take(&p->chunk, w->batch, &p->error) : status;
}

static void work(void *user, unsigned worker, void *item)
{
    sq_reader *reader = user;
    piece *p = item;
    p->error = (hd_error){0};
    p->status = read_rows(&reader->workers[worker], p);
}

static hd_status take(void *user, void *item, hd_error *err)
{
    sq_reader *reader = user;
    piece *p = item;
    if (p->status != HD_OK) {
        if (err && err->status == HD_OK) *err = p->error;
        return p->status;
    }
    sq_damage_add(&reader->damage, &p->damage);
    hd_chunk *chunk = p->chunk;
    p->chunk = NULL;
    HD_TRY(hd_builder_append(reader->builder, chunk, err));
    reader->done += p->count;
    if (reader->options->progress)
        reader->options->progress(reader->options->progress_user, reader->done * reader->file->page_size,
                                  reader->total * reader->file->page_size);
    return HD_OK;
}

static void deinit_piece(void *item)
{
    hd_chunk_free(((piece *)item)->chunk);
}

static hd_status give_all(sq_reader *reader, hd_pipeline *pipeline, const sources *all, hd_error *err)
{
    size_t most = PIECE_BYTES / reader->file->page_size + 1;
    for (size_t i = 0; i < all->count; i++) {
        const source *s = &all->list[i];
        for (size_t at = 0; at < s->leaves.count; at += most) {
            void *item;
            HD_TRY(hd_pipeline_next(&item, pipeline, err));
            piece *p = item;
            p->plan = &s->plan;
            p->pages = s->leaves.pages + at;
            p->count = s->leaves.count - at < most ? s->leaves.count - at : most;
            hd_pipeline_give(pipeline);
        }
    }
    return hd_pipeline_drain(pipeline, err);
}

static hd_status read_events(sq_reader *reader, const sources *all, hd_error *err)
{
    hd_pipeline *pipeline;
    const hd_pipeline_steps steps = {sizeof(piece), work, take, deinit_piece, reader};
    for (size_t i = 0; i < all->count; i++) reader->total += all->list[i].leaves.count;
    HD_TRY(hd_pipeline_new(&pipeline, &steps, reader->worker_count, err));
    hd_status status = give_all(reader, pipeline, all, err);
    hd_pipeline_free(pipeline);
    return status;
}

/* ---- which tables ---- */

static hd_status add_source(sources *all, sq_reader *reader, const sq_map_table *map, const sq_table *table,
                            hd_error *err)
{
    if (!hd_grow((void **)&all->list, &all->capacity, all->count, sizeof *all->list)) return HD_NOMEM(err);
    source *s = &all->list[all->count];
    HD_TRY(sq_plan_init(&s->plan, reader, map, table, reader->mapping->columns, err));
    HD_TRY(sq_file_leaves(&s->leaves, reader->file, table, err));
    sq_damage_add(&reader->damage, &s->leaves.damage);
    reader->used[table - reader->file->tables] = 1;
    all->count++;
    return HD_OK;
}

static bool is_listed(const char *const *names, const char *name)
{
    for (; names && *names; names++) {
        if (sq_name_is(*names, name)) return true;
    }
    return false;
}

static bool has_times(const sq_reader *reader, const sq_table *table)
{
    for (const sq_map_column *c = reader->mapping->columns; c->name; c++) {
        if (c->role == SQ_START && sq_table_column(table, c->name) >= 0) return true;
    }
    return false;
}

/* A loss or a repair. */
static void note(sq_reader *reader, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset,
                 uint32_t detail)
{
    if (!count) return;
    hd_builder_ledger_detail(reader->builder, reader->format->info.name, code, level, count, offset, detail);
    if (reader->refused && (reader->refused_offset != HD_OFFSET_NONE || offset == HD_OFFSET_NONE)) return;
    reader->refused = code;
    reader->refused_offset = offset;
}

static hd_status note_unread(sq_reader *reader, const sq_table *table)
{
    char text[160];
    snprintf(text, sizeof text, "table %.120s", table->name);
    if (!hd_utf8_valid(text, strlen(text), false)) text[0] = '\0';
    note(reader, "sqlite.table-unread", HD_LEDGER_LOSS, 1, HD_OFFSET_NONE,
         hd_builder_intern_text(reader->builder, text));
    return HD_OK;
}

/* A table that the mapping does not list. */
static hd_status take_other(sources *all, sq_reader *reader, const sq_table *table, hd_error *err)
{
    if (is_listed(reader->mapping->looked_up, table->name) || strncmp(table->name, "sqlite_", 7) == 0) return HD_OK;
    if (reader->mapping->others && has_times(reader, table))
        return add_source(all, reader, reader->mapping->others, table, err);
    bool fits = false;
    HD_TRY(sq_table_to_metadata(&fits, reader, table, table->name, err));
    return fits ? HD_OK : note_unread(reader, table);
}

static hd_status choose_tables(sources *all, sq_reader *reader, hd_error *err)
{
    for (const sq_map_table *map = reader->mapping->tables; map->name; map++) {
        for (size_t t = 0; t < reader->file->table_count; t++) {
            const sq_table *table = &reader->file->tables[t];
            if (!reader->used[t] && sq_name_is(map->name, table->name))
                HD_TRY(add_source(all, reader, map, table, err));
        }
    }
    for (size_t t = 0; t < reader->file->table_count; t++) {
        if (!reader->used[t]) HD_TRY(take_other(all, reader, &reader->file->tables[t], err));
    }
    return HD_OK;
}

/* ---- accounts ---- */

static void add_losses(sq_reader *reader, const sq_worker *w)
{
    for (int i = 0; i < SQ_LOSSES && w->losses[i].code; i++)
        note(reader, w->losses[i].code, HD_LEDGER_LOSS, w->losses[i].count, HD_OFFSET_NONE, HD_STRING_NONE);
    reader->rows += w->rows;
    reader->events += w->events;
    reader->lost += w->lost;
    reader->placed += w->placed;
    reader->text_repairs += w->text_repairs;
    reader->arguments_lost += w->arguments_lost;
    reader->texts_missing += w->texts_missing;
}

static uint64_t count_virtual(const sq_file *file)
{
    uint64_t count = 0;
    for (size_t t = 0; t < file->table_count; t++) count += file->tables[t].virtual_count;
    return count;
}

static hd_status account(sq_reader *reader, hd_error *err)
{
    const sq_file *file = reader->file;
    HD_TRY(sq_library_unchanged(file, err));
    for (unsigned i = 0; i < reader->worker_count; i++) add_losses(reader, &reader->workers[i]);
    if (reader->rows != reader->events + reader->lost + reader->placed)
        return hd_error_set(err, HD_ERR_INTERNAL, NULL, HD_OFFSET_NONE, "rows of tables are not all accounted for");
    sq_damage damage = file->damage;
    sq_damage_add(&damage, &reader->damage);
    note(reader, "sqlite.page-damaged", HD_LEDGER_LOSS, damage.pages, damage.offset, HD_STRING_NONE);
    note(reader, "sqlite.row-damaged", HD_LEDGER_LOSS, damage.rows, damage.offset, HD_STRING_NONE);
    note(reader, "sqlite.default-unread", HD_LEDGER_LOSS, damage.defaults, HD_OFFSET_NONE, HD_STRING_NONE);
    note(reader, "sqlite.table-unread", HD_LEDGER_LOSS, file->unreadable, HD_OFFSET_NONE, HD_STRING_NONE);
    note(reader, "sqlite.column-unread", HD_LEDGER_LOSS, count_virtual(file), HD_OFFSET_NONE, HD_STRING_NONE);
    bool is_alone = !file->library; /* what is next to the file is not read */
    note(reader, "sqlite.wal-unread", HD_LEDGER_LOSS, is_alone && file->has_wal, HD_OFFSET_NONE, HD_STRING_NONE);
    note(reader, "sqlite.journal-unread", HD_LEDGER_LOSS, is_alone && file->has_journal, HD_OFFSET_NONE,
         HD_STRING_NONE);
    note(reader, "sqlite.schema-repaired", HD_LEDGER_REPAIR, file->schema_repaired, HD_OFFSET_NONE, HD_STRING_NONE);
    note(reader, "sqlite.text-not-utf8", HD_LEDGER_REPAIR, reader->text_repairs, HD_OFFSET_NONE, HD_STRING_NONE);
    note(reader, "sqlite.arguments-lost", HD_LEDGER_LOSS, reader->arguments_lost, HD_OFFSET_NONE, HD_STRING_NONE);
    note(reader, "sqlite.name-missing", HD_LEDGER_LOSS, reader->texts_missing, HD_OFFSET_NONE, HD_STRING_NONE);
    uint64_t rest = file->pieces.size % file->page_size;
    note(reader, "sqlite.cut", HD_LEDGER_LOSS, rest != 0, file->pieces.size - rest, HD_STRING_NONE);
    if (reader->options->strict && reader->refused)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, reader->refused_offset, "%s, and --strict refuses repairs",
                            reader->refused);
    return HD_OK;
}

static void set_facts(sq_reader *reader)
{
    hd_trace_facts *facts = hd_builder_facts(reader->builder);
    facts->input_bytes = reader->file->pieces.size;
    facts->has_args = reader->options->args == HD_ARGS_ALL;
}

/* ---- the whole ---- */

static hd_status read_tables(sq_reader *reader, hd_error *err)
{
    sources all = {0};
    hd_status status = reader->mapping->begin ? reader->mapping->begin(reader, err) : HD_OK;
    if (status == HD_OK) status = choose_tables(&all, reader, err);
    if (status == HD_OK) status = read_events(reader, &all, err);
    for (size_t i = 0; i < all.count; i++) free(all.list[i].leaves.pages);
    free(all.list);
    HD_TRY(status);
    if (reader->mapping->finish) HD_TRY(reader->mapping->finish(reader, err)); /* by the tracks' numbers of now */
    HD_TRY(hd_builder_settle_tracks(reader->builder, err));
    HD_TRY(account(reader, err));
    set_facts(reader);
    hd_stacks *stacks = reader->stacks;
    reader->stacks = NULL;
    return hd_stacks_give(stacks, reader->builder, err);
}

static void deinit(sq_reader *reader)
{
    if (reader->mapping->deinit && reader->state) reader->mapping->deinit(reader);
    for (unsigned i = 0; reader->workers && i < reader->worker_count; i++) {
        sq_worker *w = &reader->workers[i];
        hd_batch_free(w->batch);
        sq_cursor_deinit(&w->cursor);
        for (int s = 0; s < SQ_SHAPE_SLOTS; s++) free(w->shapes[s].keys);
        hd_map_deinit(&w->track_index);
        free(w->tracks);
        hd_bytes_deinit(&w->text);
        free(w->own);
    }
    free(reader->workers);
    free(reader->used);
    free(reader->state);
    hd_map_deinit(&reader->strings.map);
    for (int i = 0; i < SQ_LABEL_TABLES; i++) hd_map_deinit(&reader->labels[i].strings.map);
    hd_stacks_free(reader->stacks);
}

static hd_status init(sq_reader *reader, hd_error *err)
{
    bool is_small = reader->file->pieces.size < 2 * PIECE_BYTES && !reader->options->threads;
    unsigned count = is_small ? 1 : hd_pipeline_threads(reader->options->threads);
    reader->sf = hd_builder_intern_text(reader->builder, "sf");
    reader->used = calloc(reader->file->table_count, 1);
    reader->workers = calloc(count, sizeof *reader->workers);
    reader->state = calloc(1, reader->mapping->state_size + 1);
    if (!reader->used || !reader->workers || !reader->state) return HD_NOMEM(err);
    reader->worker_count = count;
    for (unsigned i = 0; i < count; i++) {
        reader->workers[i].reader = reader;
        reader->workers[i].own = calloc(1, reader->mapping->worker_size + 1);
        if (!reader->workers[i].own) return HD_NOMEM(err);
        HD_TRY(hd_batch_new(&reader->workers[i].batch, reader->builder, err));
    }
    return hd_stacks_new(&reader->stacks, err);
}

static bool has_any(const sq_file *file, const char *const *names)
{
    for (size_t t = 0; t < file->table_count; t++) {
        if (is_listed(names, file->tables[t].name)) return true;
    }
    return false;
}

static hd_status choose_format(const hd_format **out, const sq_file *file, hd_error *err)
{
    char names[160] = "";
    for (size_t i = 0; i < hd_format_count(); i++) {
        *out = hd_format_descriptor(i);
        if ((*out)->mapping && has_any(file, (*out)->mapping->tells)) return HD_OK;
    }
    size_t listed = 0;
    for (; listed < file->table_count && strlen(names) < 100; listed++) {
        strncat(names, listed ? ", " : "", 3);
        strncat(names, file->tables[listed].name, 40);
    }
    return hd_error_set(err, HD_ERR_FORMAT, NULL, 0,
                        "is an SQLite file of no profiler that is known: its tables are %s%s; those of Nsight Systems "
                        "(`nsys export --type sqlite`), of Ascend's profilers and of ROCm's are read",
                        names, listed < file->table_count ? " …" : "");
}

hd_status sq_read(const hd_format **out_format, hd_builder *builder, hd_input *input, const hd_read_options *options,
                  hd_error *err)
{
    sq_file file;
    hd_status status = sq_file_open(&file, input, err);
    if (status == HD_OK) status = choose_format(out_format, &file, err);
    if (status == HD_OK) {
        sq_reader reader = {.format = *out_format,
                            .mapping = (*out_format)->mapping,
                            .file = &file,
                            .builder = builder,
                            .options = options,
                            .damage.offset = HD_OFFSET_NONE};
        status = init(&reader, err);
        if (status == HD_OK) status = read_tables(&reader, err);
        deinit(&reader);
    }
    sq_file_close(&file);
    return status;
}

int sq_sniff(const unsigned char *head, size_t size)
{
    return sq_is_file(head, size) ? 100 : 0;
}
