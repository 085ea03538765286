/* read.c - store -> trace
 *
 * Format   docs/formats/heddle.md
 * Sniffs   the magic of a file, or that of a section at the place of the first one
 * Maps     everything unchanged; facts.origin is the input that the store was made from
 * Lazy     tables and strings at once, blocks and the order at first use; a damaged store is read at once, as is any
 *          store when strict
 * Shapes   n rows in the file -> n rows, minus those of lost blocks
 * Errors   DAMAGED: strict and any fault; or invalid contents under a correct checksum; or nothing is left;
 *          UNSUPPORTED: a later major version, a section that must not be skipped
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/heddle/read/reader.h"
#include "model/roles/busy.h"
#include "trace/index/lane_index.h"

enum { TABLE_LIMIT = 1 << 30 };

int heddle_sniff(const unsigned char *head, size_t size)
{
    if (size >= STORE_MAGIC_BYTES && memcmp(head, store_file_magic, STORE_MAGIC_BYTES) == 0) return 100;
    if (size >= STORE_HEADER_BYTES + STORE_MAGIC_BYTES &&
        memcmp(head + STORE_HEADER_BYTES, store_section_magic, STORE_MAGIC_BYTES) == 0)
        return 95;
    return 0;
}

hd_status store_report(const store_opening *o, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset)
{
    if (o->options->strict && level != HD_LEDGER_NOTE)
        return hd_error_set(o->err, HD_ERR_DAMAGED, o->path, offset, "%s: the store is not whole", code);
    hd_builder_ledger(o->builder, HEDDLE_STAGE, code, level, count, offset);
    return HD_OK;
}

hd_status store_lies(const store_opening *o, uint64_t offset, const char *what)
{
    return hd_error_set(o->err, HD_ERR_DAMAGED, o->path, offset, "the store contradicts itself: %s", what);
}

/* ---- tables ---- */

bool store_open_payload(const store_opening *o, hd_byte_reader *out_body, const store_section *section)
{
    store *s = o->store;
    store_section whole;
    hd_status status = store_map_payload(&whole, out_body, &s->payload, &s->map, section, NULL);
    if (status == HD_ERR_MEMORY) hd_builder_fail(o->builder);
    return status == HD_OK;
}

bool store_open_packed(const store_opening *o, hd_bytes *out, const store_section *section, uint64_t limit)
{
    hd_byte_reader body;
    out->size = 0;
    if (!store_open_payload(o, &body, section)) return false;
    hd_status status = store_unpack(out, &o->store->decompressor, &body, limit);
    if (status == HD_ERR_MEMORY) hd_builder_fail(o->builder);
    return status == HD_OK;
}

static bool get_table(const store_opening *o, store_type type, hd_byte_reader body)
{
    store *s = o->store;
    hd_builder *b = o->builder;
    switch (type) {
    case STORE_FACTS: return store_get_facts(&s->totals, b, &s->arena, body);
    case STORE_METADATA: return store_get_metadata(b, s->string_count, body);
    case STORE_LEDGER: return store_get_ledger(b, &s->arena, body);
    default: return store_get_tracks(b, s->string_count, !s->anew, body);
    }
}

/* The first of its kind that is whole: itself, else its copy. */
static hd_status open_table(const store_opening *o, store_type type, const char *lost_code)
{
    store *s = o->store;
    hd_bytes plain = {0};
    bool found = false, damaged = false;
    uint64_t offset = HD_OFFSET_NONE;
    hd_status status = HD_OK;
    for (size_t i = 0; i < s->map.count && !found; i++) {
        const store_section *section = &s->map.sections[i];
        if (section->type != type) continue;
        found = store_open_packed(o, &plain, section, TABLE_LIMIT);
        damaged |= !found || section->flags & STORE_COPY;
        if (offset == HD_OFFSET_NONE) offset = section->offset;
        if (found && !get_table(o, type, hd_byte_reader_of(plain.data, plain.size)))
            status = store_lies(o, section->offset, "a table has no sense");
    }
    hd_bytes_deinit(&plain);
    if (status == HD_OK && !found) return store_report(o, lost_code, HD_LEDGER_LOSS, 1, offset);
    return status == HD_OK && damaged ? store_report(o, "heddle.copy-used", HD_LEDGER_REPAIR, 1, offset) : status;
}

/* Missing rows that are known before tracks are read, since then the tracks' sums would be wrong. */
static void foresee_loss(store *s)
{
    uint64_t rows[HD_KIND_COUNT] = {0};
    for (size_t i = 0; i < s->map.count; i++) {
        store_block_head head;
        if (s->map.sections[i].type == STORE_BLOCK && store_get_block_head(&head, &s->map.sections[i]))
            rows[head.kind] += head.row_count;
    }
    s->anew = s->totals.known ? memcmp(rows, s->totals.rows, sizeof rows) != 0 : !s->map.has_footer;
}

/* Adds placeholder tracks, as many as blocks refer to. */
static hd_status stand_in_tracks(const store_opening *o)
{
    enum { LIMIT = 1 << 20 };
    store *s = o->store;
    uint32_t count = 0;
    for (size_t i = 0; i < s->map.count; i++) {
        store_block_head head;
        if (s->map.sections[i].type == STORE_BLOCK && store_get_block_head(&head, &s->map.sections[i]) &&
            head.last_track != HD_NONE && head.last_track >= count)
            count = head.last_track + 1;
    }
    if (count > LIMIT) return store_lies(o, HD_OFFSET_NONE, "too many tracks are lost");
    for (uint32_t i = 0; i < count; i++) {
        if (hd_builder_thread(o->builder, 0, i) != i) return HD_NOMEM(o->err);
    }
    return HD_OK;
}

static hd_status open_tracks(const store_opening *o)
{
    store *s = o->store;
    HD_TRY(open_table(o, STORE_TRACKS, "heddle.tracks-lost"));
    if (hd_trace_track_count(s->trace) == 0) {
        HD_TRY(stand_in_tracks(o));
        s->anew |= hd_trace_track_count(s->trace) > 0;
    }
    s->track_count = hd_trace_track_count(s->trace);
    return HD_OK;
}

/* ---- the whole ---- */

static bool is_known(const store_section *section)
{
    return section->type >= STORE_FACTS && section->type < STORE_TYPES;
}

static hd_status check_sections(const store_opening *o)
{
    const store_map *map = &o->store->map;
    for (size_t i = 0; i < map->count; i++) {
        const store_section *section = &map->sections[i];
        if (!is_known(section) && !(section->flags & STORE_SKIPPABLE))
            return hd_error_set(o->err, HD_ERR_UNSUPPORTED, o->path, section->offset,
                                "a section of type %u, which this program does not know: use a newer one",
                                section->type);
    }
    return HD_OK;
}

/* Reports the results of the survey. */
static hd_status report_survey(const store_opening *o)
{
    const store_map *map = &o->store->map;
    if (map->count == 0)
        return hd_error_set(o->err, HD_ERR_DAMAGED, o->path, map->file.size,
                            "a store of which no section is whole: there is nothing to read");
    if (!map->header_whole) HD_TRY(store_report(o, "heddle.header-damaged", HD_LEDGER_REPAIR, 1, 0));
    if (!map->has_footer)
        HD_TRY(
            store_report(o, "heddle.recovered", map->has_end ? HD_LEDGER_REPAIR : HD_LEDGER_LOSS, 1, map->file.size));
    else if (!map->has_trailer)
        HD_TRY(store_report(o, "heddle.trailer-damaged", HD_LEDGER_REPAIR, 1, map->file.size));
    if (map->skipped_bytes && !map->has_footer)
        HD_TRY(store_report(o, "heddle.bytes-skipped", HD_LEDGER_NOTE, map->skipped_bytes, map->skipped_offset));
    return HD_OK;
}

/* Sections that reading did not need are looked at all the same, so that a store that reads without a word is whole. */
static hd_status verify_rest(const store_opening *o)
{
    const store_map *map = &o->store->map;
    hd_byte_reader body;
    for (size_t i = 0; i < map->count; i++) {
        const store_section *listed = &map->sections[i];
        store_section found;
        if (!store_map_section_at(&found, map, listed->offset) || found.type != listed->type ||
            found.payload_size != listed->payload_size || found.checksum != listed->checksum)
            HD_TRY(store_report(o, "heddle.section-header-damaged", HD_LEDGER_REPAIR, 1, listed->offset));
        bool needed = is_known(listed) && !(listed->flags & STORE_COPY);
        if (!needed && !store_open_payload(o, &body, listed))
            HD_TRY(store_report(o, listed->flags & STORE_COPY ? "heddle.copy-damaged" : "heddle.section-damaged",
                                listed->flags & STORE_COPY ? HD_LEDGER_REPAIR : HD_LEDGER_LOSS, 1, listed->offset));
    }
    return HD_OK;
}

/* Where all events were read, the times of activities are those of the events. */
static hd_status check_activity(const store_opening *o, hd_index *index, uint64_t offset)
{
    hd_roles roles;
    int64_t *work_ns = NULL;
    hd_status status = hd_roles_init(&roles, o->store->trace) ? HD_OK : HD_NOMEM(o->err);
    if (status == HD_OK) status = hd_queues_busy(&work_ns, &roles, index, true, o->err);
    if (status == HD_OK && memcmp(work_ns, index->work_ns, index->lane_count * sizeof *work_ns) != 0) {
        free(index->work_ns);
        index->work_ns = NULL;
        status = store_report(o, "heddle.sums-differ", HD_LEDGER_REPAIR, 1, offset);
    }
    free(work_ns);
    hd_roles_deinit(&roles);
    return status;
}

static hd_status open_activity(const store_opening *o, hd_index *index, const store_section *section, bool loaded)
{
    hd_bytes plain = {0};
    hd_status status = HD_ERR_DAMAGED;
    if (store_open_packed(o, &plain, section, TABLE_LIMIT))
        status = store_get_activity(index, hd_byte_reader_of(plain.data, plain.size));
    hd_bytes_deinit(&plain);
    if (status == HD_ERR_MEMORY) return HD_NOMEM(o->err);
    if (status != HD_OK) return store_report(o, "heddle.activity-damaged", HD_LEDGER_REPAIR, 1, section->offset);
    return loaded && index->work_ns ? check_activity(o, index, section->offset) : HD_OK;
}

/* Only for a trace with all rows: the index counts them. The times of activities are by its lanes. */
static hd_status open_index(const store_opening *o, bool loaded)
{
    store *s = o->store;
    hd_index *index = NULL;
    for (size_t i = 0; i < s->map.count; i++) {
        const store_section *section = &s->map.sections[i];
        hd_bytes plain = {0};
        if (section->type == STORE_ACTIVITY && index) HD_TRY(open_activity(o, index, section, loaded));
        if (section->type != STORE_INDEX || index) continue;
        hd_status status = HD_ERR_DAMAGED;
        if (store_open_packed(o, &plain, section, TABLE_LIMIT))
            status = hd_index_load(&index, s->trace, plain.data, plain.size, NULL);
        hd_bytes_deinit(&plain);
        if (status == HD_ERR_MEMORY) return HD_NOMEM(o->err);
        if (status != HD_OK) return store_report(o, "heddle.index-damaged", HD_LEDGER_REPAIR, 1, section->offset);
        if (!index) return HD_OK;
        hd_builder_set_index(o->builder, index);
    }
    return HD_OK;
}

static hd_status open_tables(store_opening *o)
{
    store *s = o->store;
    hd_builder_facts(o->builder)->has_args = true; /* unless the facts say otherwise */
    HD_TRY(report_survey(o));
    HD_TRY(check_sections(o));
    HD_TRY(open_table(o, STORE_FACTS, "heddle.facts-lost"));
    foresee_loss(s);
    HD_TRY(store_open_strings(o));
    HD_TRY(open_tracks(o));
    HD_TRY(store_open_shapes(o));
    HD_TRY(open_table(o, STORE_METADATA, "heddle.metadata-lost"));
    HD_TRY(open_table(o, STORE_LEDGER, "heddle.ledger-lost"));
    return store_open_events(o);
}

typedef struct loss {
    const store_opening *o;
    hd_status status;
} loss;

static void note_lost(void *user, hd_kind kind, uint32_t row_count, uint64_t place, const hd_error *why)
{
    loss *l = user;
    const store_map *map = &l->o->store->map;
    uint64_t offset = place < map->count ? map->sections[place].offset : HD_OFFSET_NONE;
    if (l->status != HD_OK) return;
    if (kind == HD_KIND_COUNT)
        l->status = store_report(l->o, "heddle.order-damaged", HD_LEDGER_LOSS, 1, offset);
    else if (place >= map->count) /* compare_totals cannot detect it, since the next block exists */
        l->status = store_report(l->o, "heddle.events-missing", HD_LEDGER_LOSS, row_count, HD_OFFSET_NONE);
    else
        l->status = store_report(l->o, "heddle.block-damaged", HD_LEDGER_LOSS, row_count, offset);
    if (l->status != HD_OK && why->cause_count) hd_error_add_cause(l->o->err, "%s", why->causes[0]);
}

static hd_status load_events(store_opening *o, bool *out_anew)
{
    store *s = o->store;
    loss l = {.o = o};
    uint64_t lost;
    HD_TRY(verify_rest(o));
    HD_TRY(hd_builder_load_all(o->builder, o->options->threads, note_lost, &l, &lost, o->err));
    *out_anew = s->anew || lost > 0;
    if (!*out_anew && l.status == HD_OK) l.status = store_check_sums(o, out_anew);
    if (*out_anew) hd_builder_facts(o->builder)->start_ns = hd_builder_facts(o->builder)->end_ns = HD_NO_TIME;
    return l.status;
}

static hd_status open_all(store_opening *o, bool *out_anew)
{
    store *s = o->store;
    const hd_read_options *options = o->options;
    hd_block_source source = store_block_source(s);
    hd_builder_set_source(o->builder, &source);
    HD_TRY(open_tables(o));
    bool whole = s->map.header_whole && s->map.has_trailer && !s->anew;
    bool loaded = !options->lazy || options->strict || !whole;
    if (loaded) HD_TRY(load_events(o, out_anew));
    return s->anew || *out_anew ? HD_OK : open_index(o, loaded);
}

static hd_status read_store(store_opening *o, hd_input *input)
{
    store *s = o->store;
    bool anew = false;
    HD_TRY(store_map_open(&s->map, input, o->err));
    HD_TRY(store_map_survey(&s->map, o->err));
    s->trace = hd_builder_trace(o->builder);
    hd_status status = open_all(o, &anew);
    if (hd_builder_failed(o->builder)) status = HD_NOMEM(o->err); /* and no row was missing */
    /* Missing or damaged parts of a file that is still being written are not damage: it has been read in part. */
    hd_error why = {0};
    if (status != HD_ERR_MEMORY && hd_pieces_unchanged(&s->map.file, &why) != HD_OK) {
        status = why.status;
        if (o->err) *o->err = why;
    }
    if (status == HD_OK && !anew) hd_builder_set_stored(o->builder);
    return status;
}

hd_status heddle_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    store *s = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    store_opening o = {.store = s, .builder = builder, .options = options, .path = hd_input_path(input), .err = err};
    s->owners = 1;
    s->path = strdup(hd_input_path(input));
    pthread_mutex_init(&s->lock, NULL);
    hd_status status = s->path ? read_store(&o, input) : HD_NOMEM(err);
    store_release(s);
    return status;
}
