/* flight.c - dumps of PyTorch's flight recorder -> slices of collectives, one track per process group
 *
 * Format   torch/csrc/distributed/c10d/FlightRecorder: TORCH_NCCL_DUMP_ON_TIMEOUT writes a pickle PREFIX<rank>,
 *          _dump_nccl_trace_json() the same members as JSON. Versions 2.0 to 2.10
 * Sniffs   a dict or an object with keys that only the recorder has
 * Maps     an entry -> a slice with the arguments that Kineto gives collectives; pg_config -> distributedInfo, as in
 *          Kineto's traces; all else -> top-level keys. docs/formats/flight.md
 * Units    ns         Shapes   n entries -> n slices
 * Limits   2 GiB (JSON 256 MiB); the metadata as large as the input         Errors   DAMAGED: nothing can be read,
 *          strict
 */
#include "format/flight/flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "base/text/ends.h"
#include "format/conventions.h"
#include "format/pickle/values.h"
#include "model/recorder/recorder.h"
#include "trace/ranks.h"
#include "trace/text.h"

enum { ENTRY_UNREADABLE = PICKLE_CODES, TIME_MISSING, TIME_REVERSED, ENTRY_LOST, NO_ENTRIES, ENTRIES_UNREADABLE };

static const hd_stack_code codes[] = {
    [PICKLE_TRUNCATED] = {"flight.truncated", HD_LEDGER_LOSS, NULL},
    [PICKLE_DAMAGED] = {"flight.pickle-damaged", HD_LEDGER_LOSS, NULL},
    [PICKLE_OBJECT_SKIPPED] = {"flight.object-skipped", HD_LEDGER_LOSS, NULL},
    [PICKLE_METADATA_CUT] = {"flight.metadata-cut", HD_LEDGER_NOTE, NULL},
    [PICKLE_ARGUMENT_LOST] = {"flight.argument-lost", HD_LEDGER_LOSS, NULL},
    [PICKLE_TEXT_UTF8] = {"flight.utf8", HD_LEDGER_REPAIR, NULL},
    [ENTRY_UNREADABLE] = {"flight.entry-unreadable", HD_LEDGER_LOSS, NULL},
    [TIME_MISSING] = {"flight.time-missing", HD_LEDGER_LOSS, NULL},
    [TIME_REVERSED] = {"flight.time-reversed", HD_LEDGER_REPAIR, NULL},
    [ENTRY_LOST] = {"flight.entry-lost", HD_LEDGER_LOSS, NULL},
    [NO_ENTRIES] = {"flight.no-entries", HD_LEDGER_NOTE, NULL},
    [ENTRIES_UNREADABLE] = {"flight.entries-unreadable", HD_LEDGER_LOSS, NULL},
};

typedef struct group {
    uint32_t track, name, description; /* string ids; description: HD_STRING_NONE: none */
    pickle_value ranks;
    int64_t size; /* HD_NO_NUMBER: unknown */
} group;

typedef struct reader {
    pickle_reader in;
    hd_map numbers; /* of groups, by name and description */
    group *groups;
    size_t group_capacity;
    uint32_t group_count;
    hd_ident process;
    pickle_value config;
} reader;

/* ---- process groups ---- */

/* The members of "[0, 1]", or of a list. HD_NO_NUMBER: neither. */
static int64_t count_ranks(const reader *r, pickle_value ranks)
{
    int64_t count = 0;
    if (ranks.type == PICKLE_LIST) return pickle_item_count(&r->in, ranks);
    hd_string text = pickle_text(&r->in.pickle, ranks);
    for (size_t i = 0; i < text.size; i++) {
        if (hd_is_digit(text.data[i]))
            count += i == 0 || !hd_is_digit(text.data[i - 1]);
        else if (!strchr("[], ", text.data[i]))
            return HD_NO_NUMBER;
    }
    return text.size ? count : HD_NO_NUMBER;
}

/* "tp (3)", or the name alone. */
static hd_status make_track(reader *r, group *g)
{
    hd_string name = hd_trace_string(hd_builder_trace(r->in.builder), g->name);
    hd_string description =
        g->description == HD_STRING_NONE ? name : hd_trace_string(hd_builder_trace(r->in.builder), g->description);
    r->in.text.size = 0;
    hd_bytes_put(&r->in.text, description.data, description.size);
    if (g->description != HD_STRING_NONE && g->description != g->name) {
        hd_bytes_put(&r->in.text, " (", 2);
        hd_bytes_put(&r->in.text, name.data, name.size);
        hd_bytes_put(&r->in.text, ")", 1);
    }
    if (r->in.text.failed) return HD_NOMEM(r->in.err);
    uint32_t label = hd_builder_intern(r->in.builder, (const char *)r->in.text.data, r->in.text.size);
    if (label == HD_STRING_NONE) return HD_NOMEM(r->in.err);
    g->track = hd_builder_track(r->in.builder, r->process, (hd_ident){HD_IDENT_STRING, label}, false);
    if (g->track == HD_NONE) return HD_NOMEM(r->in.err);
    hd_builder_name_track(r->in.builder, g->track, label);
    return HD_OK;
}

/* The process_group of an entry: (name, description), in early versions a name; without one the number of the group. */
static hd_status find_group(reader *r, group *out, pickle_value entry)
{
    pickle_value of = pickle_find(&r->in.pickle, entry, "process_group"), name = of, description = {0}, config;
    pickle_cursor c = {0};
    if (of.type == PICKLE_LIST && pickle_next(&name, &c, &r->in.pickle, of))
        pickle_next(&description, &c, &r->in.pickle, of);
    *out = (group){.description = HD_STRING_NONE, .size = HD_NO_NUMBER};
    hd_string text = pickle_text(&r->in.pickle, name), own = pickle_text(&r->in.pickle, description);
    char key[256] = "";
    if (!text.size) {
        snprintf(key, sizeof key, "%lld", (long long)pickle_int_of(&r->in, entry, "pg_id", 0));
        out->name = hd_builder_intern_text(r->in.builder, key);
    } else {
        HD_TRY(pickle_intern(&r->in, &out->name, name));
        if (text.size < sizeof key) memcpy(key, text.data, text.size);
    }
    if (own.size && !hd_string_is(own, "undefined")) HD_TRY(pickle_intern(&r->in, &out->description, description));
    const hd_map_entry *known = hd_map_find(&r->numbers, out->name, out->description);
    if (known) {
        *out = r->groups[known->value];
        return HD_OK;
    }
    if (!hd_grow((void **)&r->groups, &r->group_capacity, r->group_count, sizeof *r->groups) ||
        !hd_map_set(&r->numbers, out->name, out->description, r->group_count))
        return HD_NOMEM(r->in.err);
    config = pickle_find(&r->in.pickle, r->config, key);
    out->ranks = pickle_find(&r->in.pickle, config, "ranks");
    out->size = count_ranks(r, out->ranks);
    HD_TRY(make_track(r, out));
    r->groups[r->group_count++] = *out;
    return HD_OK;
}

static void put_json_text(hd_json_out *out, const char *before, hd_string text)
{
    hd_json_put_text(out, before);
    hd_json_put_string(out, text.data ? text.data : "", text.size);
}

/* A group as an object of Kineto's list. */
static void put_group(reader *r, hd_json_out *out, hd_string key, pickle_value config)
{
    const pickle *p = &r->in.pickle;
    pickle_value ranks = pickle_find(p, config, "ranks");
    hd_string name = pickle_text(p, pickle_find(p, config, "name")), text = pickle_text(p, ranks);
    int64_t size = count_ranks(r, ranks);
    hd_string description = pickle_text(p, pickle_find(p, config, "desc"));
    put_json_text(out, "{\"pg_name\": ", name.size ? name : key);
    put_json_text(out, ", \"pg_desc\": ", description);
    if (size != HD_NO_NUMBER && ranks.type == PICKLE_TEXT && *text.data == '[' && text.data[text.size - 1] == ']') {
        hd_json_put_text(out, ", \"pg_size\": ");
        hd_json_put_int(out, size);
        hd_json_put_text(out, ", \"ranks\": ");
        hd_json_put(out, text.data, text.size);
        if (hd_string_is(description, "default_pg")) hd_builder_facts(r->in.builder)->world_size = size;
    }
    hd_json_put_text(out, "}");
}

static void put_fact(hd_json_out *out, const char *before, int64_t value)
{
    if (value == HD_NO_NUMBER) return;
    hd_json_put_text(out, before);
    hd_json_put_int(out, value);
}

/* pg_config in the form of Kineto's traces, which reports on jobs read. */
static hd_status add_groups(reader *r)
{
    pickle_cursor c = {0};
    pickle_value key, config;
    hd_json_out out = {0};
    bool first = true;
    hd_json_put_text(&out, "{\"pg_config\": [");
    while (pickle_next(&key, &c, &r->in.pickle, r->config) && pickle_next(&config, &c, &r->in.pickle, r->config)) {
        if (config.type != PICKLE_DICT || !pickle_afford(&r->in, config)) continue;
        if (!first) hd_json_put_text(&out, ", ");
        first = false;
        put_group(r, &out, pickle_text(&r->in.pickle, key), config);
        if (out.size / 8 > r->in.pickle.in.size + 64) out.failed = true; /* shared again and again */
    }
    hd_json_put_text(&out, "]");
    put_fact(&out, ", \"rank\": ", hd_builder_facts(r->in.builder)->rank);
    put_fact(&out, ", \"world_size\": ", hd_builder_facts(r->in.builder)->world_size);
    hd_json_put_text(&out, "}");
    hd_status status = HD_OK;
    if (out.failed) {
        status = pickle_count(&r->in, PICKLE_ARGUMENT_LOST, 1, HD_OFFSET_NONE);
    } else if (!first) {
        uint32_t place = hd_builder_intern_text(r->in.builder, "distributedInfo");
        hd_builder_metadata(r->in.builder, place, hd_builder_intern(r->in.builder, out.data, out.size), true);
    }
    free(out.data);
    return status;
}

/* ---- entries ---- */

enum {
    NAME,
    FRAMES,
    CREATED,
    STARTED,
    COMPLETED,
    IS_P2P,
    SEQUENCE,
    P2P_SEQUENCE,
    IN_SIZES,
    OUT_SIZES,
    IN_TYPES,
    MEMBERS
};
static const char *const members[MEMBERS] = {"profiling_name",
                                             "frames",
                                             "time_created_ns",
                                             "time_discovered_started_ns",
                                             "time_discovered_completed_ns",
                                             "is_p2p",
                                             "collective_seq_id",
                                             "p2p_seq_id",
                                             "input_sizes",
                                             "output_sizes",
                                             "input_dtypes"};

/* The elements of a list of shapes; HD_NO_NUMBER: unknown, or beyond int64. */
static int64_t count_elements(reader *r, pickle_value shapes)
{
    pickle_cursor c = {0};
    pickle_value shape, extent;
    int64_t sum = 0;
    if (shapes.type != PICKLE_LIST) return HD_NO_NUMBER;
    while (pickle_next(&shape, &c, &r->in.pickle, shapes)) {
        pickle_cursor d = {0};
        int64_t product = 1;
        if (shape.type != PICKLE_LIST || !pickle_afford(&r->in, shape)) return HD_NO_NUMBER;
        while (pickle_next(&extent, &d, &r->in.pickle, shape)) {
            if (extent.type != PICKLE_INT || __builtin_mul_overflow(product, (int64_t)extent.bits, &product))
                return HD_NO_NUMBER;
        }
        if (__builtin_add_overflow(sum, product, &sum)) return HD_NO_NUMBER;
    }
    return sum;
}

static hd_status add_number(reader *r, const char *key, int64_t value)
{
    return value == HD_NO_NUMBER ? HD_OK : pickle_add_arg(&r->in, key, 0, HD_ARG_INT, value);
}

/* What Kineto calls all_reduce, of "nccl:all_reduce", and the peers of "nccl:send 0->1", "nccl:recv 1<-0". */
static hd_status add_operation(reader *r, hd_string name)
{
    const char *colon = memchr(name.data, ':', name.size);
    hd_string operation = name;
    if (colon) operation = (hd_string){colon + 1, (size_t)(name.data + name.size - colon - 1)};
    const char *blank = memchr(operation.data, ' ', operation.size);
    if (blank) operation.size = (size_t)(blank - operation.data);
    size_t repaired;
    operation = hd_stack_samples_utf8(&r->in.samples, &repaired, operation);
    uint32_t id = hd_builder_intern(r->in.builder, operation.data, operation.size);
    if (id == HD_STRING_NONE) return HD_NOMEM(r->in.err);
    return pickle_add_arg(&r->in, "Collective name", 0, HD_ARG_STRING, id);
}

static hd_status add_collective(reader *r, const group *g, const pickle_value *found)
{
    pickle_cursor c = {0};
    pickle_value type = {0};
    bool is_p2p = found[IS_P2P].type == PICKLE_BOOL && found[IS_P2P].bits;
    HD_TRY(add_operation(r, pickle_text(&r->in.pickle, found[NAME])));
    HD_TRY(pickle_add_arg(&r->in, "Process Group Name", 0, HD_ARG_STRING, g->name));
    if (g->description != HD_STRING_NONE)
        HD_TRY(pickle_add_arg(&r->in, "Process Group Description", 0, HD_ARG_STRING, g->description));
    HD_TRY(pickle_add_value(&r->in, "Process Group Ranks", 0, g->ranks));
    HD_TRY(add_number(r, "Group size", g->size));
    HD_TRY(add_number(r, "Seq", pickle_int_or(found[is_p2p ? P2P_SEQUENCE : SEQUENCE], HD_NO_NUMBER)));
    HD_TRY(add_number(r, "In msg nelems", count_elements(r, found[IN_SIZES])));
    HD_TRY(add_number(r, "Out msg nelems", count_elements(r, found[OUT_SIZES])));
    if (found[IN_TYPES].type == PICKLE_LIST) pickle_next(&type, &c, &r->in.pickle, found[IN_TYPES]);
    return type.type == PICKLE_TEXT ? pickle_add_value(&r->in, "dtype", 0, type) : HD_OK;
}

/* All members but those that have another place. */
static hd_status add_members(reader *r, pickle_value entry)
{
    static const char *const placed[] = {"profiling_name", "frames", "process_group"};
    pickle_cursor c = {0};
    pickle_value key, value;
    uint32_t id;
    while (pickle_next(&key, &c, &r->in.pickle, entry) && pickle_next(&value, &c, &r->in.pickle, entry)) {
        hd_string name = pickle_text(&r->in.pickle, key);
        bool skip = false;
        for (size_t i = 0; i < sizeof placed / sizeof *placed; i++) skip |= hd_string_is(name, placed[i]);
        if (skip) continue;
        HD_TRY(pickle_intern(&r->in, &id, key));
        HD_TRY(pickle_add_value(&r->in, NULL, id, value));
    }
    return HD_OK;
}

/* A time, which JSON has as 0 and a pickle as None where there is none. */
static int64_t time_of(pickle_value v)
{
    int64_t time = pickle_int_or(v, 0);
    return time > 0 ? time : HD_NO_TIME;
}

/* From when it was seen to have started, else from its creation, to when it was seen to be complete. */
static hd_status set_times(reader *r, hd_row *row, const pickle_value *found)
{
    int64_t start = time_of(found[STARTED]), end = time_of(found[COMPLETED]);
    if (start == HD_NO_TIME) start = time_of(found[CREATED]);
    *row = hd_row_of(HD_KIND_SLICE, end == HD_NO_TIME ? 'B' : 'X');
    row->start_ns = start;
    if (start == HD_NO_TIME) return pickle_count(&r->in, TIME_MISSING, 1, HD_OFFSET_NONE);
    if (end == HD_NO_TIME) return HD_OK;
    if (end < start) HD_TRY(pickle_count(&r->in, TIME_REVERSED, 1, HD_OFFSET_NONE));
    row->duration_ns = end < start ? 0 : end - start;
    return HD_OK;
}

static hd_status add_entry(reader *r, pickle_value entry)
{
    pickle_value found[MEMBERS];
    group g;
    hd_row row;
    if (entry.type == PICKLE_DICT && pickle_is_open(&r->in, entry)) return HD_OK; /* cut off, which is reported */
    if (!pickle_afford(&r->in, entry)) return pickle_count(&r->in, ENTRY_LOST, 1, HD_OFFSET_NONE);
    pickle_find_all(found, members, MEMBERS, &r->in.pickle, entry);
    hd_string name = pickle_text(&r->in.pickle, found[NAME]);
    if (entry.type != PICKLE_DICT || !name.size) return pickle_count(&r->in, ENTRY_UNREADABLE, 1, HD_OFFSET_NONE);
    HD_TRY(set_times(r, &row, found));
    if (row.start_ns == HD_NO_TIME) return HD_OK;
    HD_TRY(find_group(r, &g, entry));
    row.track = g.track;
    row.category = hd_builder_intern_text(r->in.builder, HD_FLIGHT_CATEGORY);
    HD_TRY(pickle_intern(&r->in, &row.name, found[NAME]));
    r->in.arg_count = 0;
    HD_TRY(add_collective(r, &g, found));
    HD_TRY(add_members(r, entry));
    HD_TRY(pickle_add_stack(&r->in, found[FRAMES]));
    return pickle_add_row(&r->in, &row);
}

static hd_status add_entries(reader *r)
{
    pickle_value entries = pickle_find(&r->in.pickle, r->in.pickle.root, "entries"), entry;
    pickle_cursor c = {0};
    if (entries.type != PICKLE_LIST && entries.type != PICKLE_ABSENT && entries.type != PICKLE_NONE)
        return pickle_count(&r->in, ENTRIES_UNREADABLE, 1, HD_OFFSET_NONE);
    uint32_t left = pickle_item_count(&r->in, entries);
    if (!left) return pickle_count(&r->in, NO_ENTRIES, 1, HD_OFFSET_NONE);
    for (; !pickle_is_spent(&r->in) && pickle_next(&entry, &c, &r->in.pickle, entries); left--)
        HD_TRY(add_entry(r, entry));
    return pickle_count(&r->in, ENTRY_LOST, left, HD_OFFSET_NONE);
}

/* ---- the dump ---- */

/* The recorder names a file by any prefix and the rank. */
static int64_t rank_of_name(const char *path)
{
    int64_t rank = hd_rank_of_path(path);
    const char *name = path ? hd_base_name(path) : "", *end = name + strcspn(name, "."), *first = end;
    while (first > name && hd_is_digit(first[-1])) first--;
    if (rank == HD_NO_NUMBER && end > first && end - first <= 6 && first > name)
        hd_fixed_parse_whole(&rank, first, (size_t)(end - first));
    return rank;
}

static hd_status read_dump(reader *r, const hd_pieces *pieces, uint64_t input_bytes, const char *path)
{
    HD_TRY(pickle_reader_read(&r->in, pieces, NULL, "flight recorder's dump"));
    HD_TRY(pickle_reader_check(&r->in));
    hd_trace_facts *facts = hd_builder_facts(r->in.builder);
    facts->rank = pickle_int_of(&r->in, r->in.pickle.root, "rank", HD_NO_NUMBER);
    if (facts->rank == HD_NO_NUMBER) facts->rank = rank_of_name(path);
    r->process = (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(r->in.builder, "PyTorch flight recorder")};
    r->config = pickle_find(&r->in.pickle, r->in.pickle.root, "pg_config");
    HD_TRY(add_entries(r));
    HD_TRY(add_groups(r));
    HD_TRY(pickle_add_rest(&r->in, "entries"));
    return pickle_reader_finish(&r->in, input_bytes);
}

static hd_status flight_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    hd_bytes bytes = {0};
    hd_pieces pieces = {0};
    hd_error own = {0};
    reader r = {0};
    const uint8_t *head;
    size_t head_size;
    uint64_t size = 0;
    err = err ? err : &own;
    HD_TRY(hd_input_peek(input, &head, &head_size, err));
    bool is_json = hd_walk_is_object(head, head_size);
    hd_status status = is_json ? flight_pickle_of_json(&bytes, &size, builder, input, options, err)
                               : hd_pieces_open(&pieces, input, err);
    if (is_json)
        pieces = (hd_pieces){.memory = bytes.data, .size = bytes.size};
    else
        size = pieces.size;
    if (status == HD_OK) status = pickle_reader_open(&r.in, builder, input, "flight", codes, options, err);
    if (status == HD_OK) status = read_dump(&r, &pieces, size, hd_input_path(input));
    pickle_reader_close(&r.in);
    hd_map_deinit(&r.numbers);
    free(r.groups);
    hd_pieces_close(&pieces);
    hd_bytes_deinit(&bytes);
    return status;
}

/* Members come in any order. */
static int flight_sniff(const unsigned char *head, size_t size)
{
    static const char *const keys[] = {"pg_status",      "pg_config",  "last_enqueued_collective", "collective_seq_id",
                                       "profiling_name", "p2p_seq_id", "time_created_ns",          "nccl_version",
                                       "entries" /* without one, an early version has only these and pg_config */};
    static const char *const others[] = {"traceEvents", "distributedInfo"};
    unsigned found = 0;
    bool is_json = hd_walk_is_object(head, size);
    if (!is_json && !pickle_begins_dict(head, size)) return 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) found += memmem(head, size, keys[i], strlen(keys[i])) != 0;
    for (size_t i = 0; is_json && i < sizeof others / sizeof *others; i++)
        if (memmem(head, size, others[i], strlen(others[i]))) return 0;
    return found >= 2 ? 92 : 0;
}

const hd_format hd_flight_format = {
    .info = {.name = "flight",
             .title = "Dumps of PyTorch's NCCL flight recorder",
             .extensions = "",
             .reads = true,
             .keeps = "collectives of each process group with state, sizes, types and stacks; all else as JSON",
             .loses = "nothing, as nothing writes it here"},
    .sniff = flight_sniff,
    .read = flight_read,
};
