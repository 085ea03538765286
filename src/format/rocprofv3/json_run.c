/* json_run.c - PID_results.json: a list of processes, each with its names and its lists of records
 *
 * Names come before records, as the tool writes them; a record whose name comes later is named by its number.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/ends.h"
#include "format/numbers.h"
#include "format/rocprofv3/rocprofv3.h"

enum { METADATA_BYTES = 1 << 20 };

typedef struct json_reader {
    rocprof_run *run;
    hd_json_stream s;
    rocprof_record record;
    hd_json_span counters; /* those of the record in hand */
    struct {               /* sums of them */
        uint64_t id;
        double sum;
    } sums[64];
    size_t sum_count;
    uint64_t too_many;
    bool has_records; /* the process at hand has lists of records */
} json_reader;

static bool member_int(int64_t *out, hd_json_span object, const char *key)
{
    hd_json_text text;
    hd_json_span value;
    for (const char *p = object.data; (p = hd_json_next_member(&text, &value, p)) != NULL;)
        if (hd_json_span_is((hd_json_span){text.data, text.size}, key)) {
            hd_json_span inner;
            if (*value.data == '{' && hd_json_next_member(&text, &inner, value.data)) value = inner; /* {"handle":n} */
            return hd_json_span_int(out, value);
        }
    return false;
}

static uint32_t member_text(rocprof_run *run, hd_json_span object, const char *key)
{
    hd_json_text text;
    hd_json_span value;
    for (const char *p = object.data; (p = hd_json_next_member(&text, &value, p)) != NULL;)
        if (hd_json_span_is((hd_json_span){text.data, text.size}, key)) return hd_args_text(&run->args, value);
    return HD_STRING_NONE;
}

static hd_status keep_metadata(json_reader *r, const char *key, hd_json_span value)
{
    hd_builder *b = r->run->builder;
    uint32_t name = r->run->ordinal ? hd_intern_format(b, "%s of process %u", key, r->run->ordinal)
                                    : hd_builder_intern_text(b, key);
    if (value.size <= METADATA_BYTES)
        hd_builder_metadata(b, name, hd_builder_intern(b, value.data, value.size), false);
    else
        hd_builder_ledger(b, ROCPROF_STAGE, "rocprofv3.metadata-lost", HD_LEDGER_LOSS, 1, r->s.value_offset);
    return HD_OK;
}

/* ---- notes, once each ---- */

static hd_status see_metadata(json_reader *r, hd_json_span value, hd_error *err)
{
    rocprof_run *run = r->run;
    hd_json_text text;
    hd_json_span inner;
    (void)err;
    member_int(&run->pid, value, "pid");
    for (const char *p = value.data; (p = hd_json_next_member(&text, &inner, p)) != NULL;) {
        hd_json_span first;
        if (!hd_json_span_is((hd_json_span){text.data, text.size}, "command") || *inner.data != '[') continue;
        if (!hd_json_next_item(&first, inner.data)) continue;
        hd_string path = hd_builder_string(run->builder, hd_args_text(&run->args, first));
        size_t at = path.size;
        while (at && path.data[at - 1] != '/') at--;
        if (at < path.size) rocprof_name_process(run, hd_builder_intern(run->builder, path.data + at, path.size - at));
    }
    return keep_metadata(r, "rocprofv3", value);
}

/* GPUs are numbered in order of appearance. */
static hd_status see_agent(json_reader *r, hd_json_span value, hd_error *err)
{
    enum { GPU = 2 };
    int64_t id, type = 0, device, units;
    rocprof_run *run = r->run;
    if (!member_int(&id, value, "id")) return HD_OK;
    member_int(&type, value, "type");
    bool is_gpu = type == GPU;
    if (run->ordinal == 0) {
        hd_json_put_text(&run->agents_text, run->agents_text.size ? "," : "[");
        hd_json_put(&run->agents_text, value.data, value.size);
    }
    if (!member_int(&device, value, "logical_node_type_id") || device < 0 || device > UINT16_MAX) {
        device = 0;
        for (size_t i = 0; i < run->agents.count; i++) device += run->agents.entries[i].value != ROCPROF_CPU_AGENT;
    }
    if (!hd_map_set(&run->agents, (uint64_t)id, 0, is_gpu ? (uint32_t)device : ROCPROF_CPU_AGENT)) return HD_NOMEM(err);
    if (!is_gpu || run->ordinal) return HD_OK;
    hd_string name = hd_builder_string(run->builder, member_text(run, value, "product_name"));
    if (!name.size) name = hd_builder_string(run->builder, member_text(run, value, "name"));
    if (!member_int(&units, value, "cu_count")) units = HD_NO_NUMBER;
    rocprof_add_device(run, device, name, units);
    return HD_OK;
}

static hd_status see_symbol(json_reader *r, hd_json_span value, hd_error *err)
{
    rocprof_run *run = r->run;
    int64_t id;
    rocprof_symbol symbol = {.registers = HD_NO_NUMBER};
    if (!member_int(&id, value, "kernel_id")) return HD_OK;
    member_int(&symbol.registers, value, "arch_vgpr_count");
    symbol.name = member_text(run, value, "formatted_kernel_name");
    if (symbol.name == HD_STRING_NONE) symbol.name = member_text(run, value, "kernel_name");
    if (!hd_grow((void **)&run->symbols, &run->symbol_capacity, run->symbol_count, sizeof symbol)) return HD_NOMEM(err);
    run->symbols[run->symbol_count] = symbol;
    return hd_map_set(&run->kernels, (uint64_t)id, 0, (uint32_t)run->symbol_count++) ? HD_OK : HD_NOMEM(err);
}

static hd_status see_counter(json_reader *r, hd_json_span value, hd_error *err)
{
    int64_t id;
    if (!member_int(&id, value, "id")) return HD_OK;
    uint32_t name = member_text(r->run, value, "name");
    return hd_map_set(&r->run->counters, (uint64_t)id, 0, name) ? HD_OK : HD_NOMEM(err);
}

/* {"key":7,"value":"step 1"}, as maps are written. */
static hd_status see_pair(hd_map *map, json_reader *r, hd_json_span value, hd_error *err)
{
    int64_t id;
    if (!member_int(&id, value, "key")) return HD_OK;
    uint32_t text = member_text(r->run, value, "value");
    return text == HD_STRING_NONE || hd_map_set(map, (uint64_t)id, 0, text) ? HD_OK : HD_NOMEM(err);
}

static hd_status see_marker(json_reader *r, hd_json_span value, hd_error *err)
{
    return see_pair(&r->run->markers, r, value, err);
}

static hd_status see_external(json_reader *r, hd_json_span value, hd_error *err)
{
    return see_pair(&r->run->externals, r, value, err);
}

/* The names of a kind of records, by its place in the list, and of its operations. */
static hd_status see_kind(json_reader *r, hd_json_span value, uint64_t kind, hd_error *err)
{
    rocprof_run *run = r->run;
    hd_json_text text;
    hd_json_span inner, item;
    if (!hd_map_set(&run->names, kind + 1, 0, member_text(run, value, "kind"))) return HD_NOMEM(err);
    for (const char *p = value.data; (p = hd_json_next_member(&text, &inner, p)) != NULL;) {
        if (!hd_json_span_is((hd_json_span){text.data, text.size}, "operations") || *inner.data != '[') continue;
        uint64_t operation = 0;
        for (const char *q = inner.data; (q = hd_json_next_item(&item, q)) != NULL;)
            if (!hd_map_set(&run->names, kind + 1, ++operation, hd_args_text(&run->args, item))) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* ---- lists of objects ---- */

typedef hd_status json_see(json_reader *r, hd_json_span value, hd_error *err);

static void note_value(json_reader *r)
{
    if (r->s.damaged++ == 0) r->s.damage_offset = r->s.value_offset;
}

/* All objects of the list at hand; another value is passed over. */
static hd_status each(json_reader *r, json_see *see, hd_error *err)
{
    hd_json_span value;
    hd_status status = hd_json_stream_enter(&r->s, '[', err);
    if (status == HD_END) {
        status = hd_json_stream_value(&r->s, &value, err);
        return status == HD_END ? HD_OK : status;
    }
    HD_TRY(status);
    while ((status = hd_json_stream_item(&r->s, err)) == HD_OK) {
        status = hd_json_stream_value(&r->s, &value, err);
        if (status == HD_END) continue;
        HD_TRY(status);
        if (*value.data == '{')
            HD_TRY(see(r, value, err));
        else
            note_value(r);
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status skip(json_reader *r, hd_error *err)
{
    hd_json_span value;
    hd_status status = hd_json_stream_value(&r->s, &value, err);
    return status == HD_END ? HD_OK : status;
}

static hd_status read_kinds(json_reader *r, hd_error *err)
{
    hd_json_span value;
    hd_status status;
    status = hd_json_stream_enter(&r->s, '[', err);
    if (status == HD_END) return skip(r, err);
    HD_TRY(status);
    for (uint64_t kind = 0; (status = hd_json_stream_item(&r->s, err)) == HD_OK; kind++) {
        status = hd_json_stream_value(&r->s, &value, err);
        if (status != HD_END) HD_TRY(status);
        if (status == HD_OK && *value.data == '{') HD_TRY(see_kind(r, value, kind, err));
    }
    return status;
}

/* Handles a member of the current object. HD_END from `member`: not consumed. */
typedef hd_status json_member(json_reader *r, hd_json_span key, hd_error *err);
static hd_status members(json_reader *r, json_member *member, hd_error *err)
{
    hd_json_span key;
    hd_status status = hd_json_stream_enter(&r->s, '{', err);
    if (status == HD_END) return skip(r, err);
    HD_TRY(status);
    while ((status = hd_json_stream_member(&r->s, &key, err)) == HD_OK) HD_TRY(member(r, key, err));
    return status == HD_END ? HD_OK : status;
}

static hd_status string_external(json_reader *r, hd_json_span key, hd_error *err)
{
    return hd_json_span_is(key, "external") ? each(r, see_external, err) : skip(r, err);
}

static hd_status string_member(json_reader *r, hd_json_span key, hd_error *err)
{
    if (hd_json_span_is(key, "marker_api")) return each(r, see_marker, err);
    if (hd_json_span_is(key, "correlation_id")) return members(r, string_external, err);
    if (!hd_json_span_is(key, "buffer_records")) return skip(r, err);
    hd_status status = read_kinds(r, err);
    return status == HD_END ? HD_OK : status;
}

/* ---- records ---- */

static void take_object(json_reader *r, hd_json_span parent, hd_json_span object);

/* "hw_id.chiplet" */
static uint32_t argument_name(json_reader *r, const char *argument, hd_json_span parent, hd_json_span key)
{
    enum { MOST = 100 };
    if (argument) return hd_builder_intern_text(r->run->builder, argument);
    if (!parent.size || rocprof_is_group(parent)) return hd_args_intern(&r->run->args, key.data, key.size);
    return hd_intern_format(r->run->builder, "%.*s.%.*s", (int)(parent.size < MOST ? parent.size : MOST), parent.data,
                            (int)(key.size < MOST ? key.size : MOST), key.data);
}

static void take_member(json_reader *r, hd_json_span parent, hd_json_span key, hd_json_span value)
{
    const char *argument;
    rocprof_field field = rocprof_json_field(&argument, parent, key);
    if (field == ROCPROF_SKIP) return;
    if (*value.data == '{') return take_object(r, key, value);
    if (*value.data == '[' && r->record.domain == ROCPROF_COUNTERS && hd_json_span_is(key, "records")) {
        r->counters = value;
        return;
    }
    if (field != ROCPROF_ARG && hd_json_span_int(&r->record.numbers[field], value)) return;
    hd_args_json(&r->run->args, argument_name(r, argument, parent, key), value);
}

static void take_object(json_reader *r, hd_json_span parent, hd_json_span object)
{
    hd_json_text text;
    hd_json_span value;
    for (const char *p = object.data; (p = hd_json_next_member(&text, &value, p)) != NULL;)
        take_member(r, parent, (hd_json_span){text.data, text.size}, value);
}

static void find_names(json_reader *r)
{
    rocprof_record *record = &r->record;
    int64_t kind = record->numbers[ROCPROF_KIND], operation = record->numbers[ROCPROF_OPERATION];
    if (kind == HD_NO_NUMBER || kind < 0) return;
    hd_map_get(&record->names[ROCPROF_KIND], &r->run->names, (uint64_t)kind + 1, 0);
    if (operation == HD_NO_NUMBER || operation < 0) return;
    if (!hd_map_get(&record->names[ROCPROF_OPERATION], &r->run->names, (uint64_t)kind + 1, (uint64_t)operation + 1))
        record->names[ROCPROF_OPERATION] = hd_intern_format(r->run->builder, "operation %lld", (long long)operation);
}

/* The sum of a counter over its dimensions, as the CSVs have it. */
static void sum_counters(json_reader *r)
{
    enum { MOST = sizeof r->sums / sizeof *r->sums };
    hd_json_span item, value;
    hd_json_text key;
    r->sum_count = 0;
    for (const char *p = r->counters.data; p && (p = hd_json_next_item(&item, p)) != NULL;) {
        int64_t id;
        double number = 0;
        if (*item.data != '{' || (!member_int(&id, item, "counter_id") && !member_int(&id, item, "id"))) continue;
        for (const char *q = item.data; (q = hd_json_next_member(&key, &value, q)) != NULL;)
            if (key.size >= 5 && memcmp(key.data + key.size - 5, "value", 5) == 0) number = strtod(value.data, NULL);
        size_t i = 0;
        while (i < r->sum_count && r->sums[i].id != (uint64_t)id) i++;
        if (i == MOST) {
            r->too_many++;
            continue;
        }
        if (i == r->sum_count) r->sums[r->sum_count++].id = (uint64_t)id, r->sums[i].sum = 0;
        r->sums[i].sum += number;
    }
}

static hd_status emit_counters(json_reader *r, hd_json_span value, hd_error *err)
{
    rocprof_run *run = r->run;
    sum_counters(r);
    for (size_t i = 0; i < r->sum_count; i++) {
        int64_t bits;
        if (i) take_object(r, (hd_json_span){"", 0}, value); /* the arguments again */
        rocprof_record record = r->record;
        hd_arg_type type = hd_value_of_double(&bits, run->builder, r->sums[i].sum);
        hd_args_add(&run->args, run->text.value, type, bits, HD_SCOPE_ARGS);
        if (!hd_map_get(&record.names[ROCPROF_COUNTER_NAME], &run->counters, r->sums[i].id, 0))
            record.names[ROCPROF_COUNTER_NAME] =
                hd_intern_format(run->builder, "counter %llu", (unsigned long long)r->sums[i].id);
        HD_TRY(rocprof_emit(run, &record, err));
    }
    if (r->sum_count) return HD_OK;
    r->record.domain = ROCPROF_OTHERS;
    return rocprof_emit(run, &r->record, err);
}

static hd_status see_record(json_reader *r, hd_json_span value, hd_error *err)
{
    rocprof_record_init(&r->record, r->record.domain, r->record.list);
    rocprof_domain domain = r->record.domain;
    r->counters = (hd_json_span){0};
    take_object(r, (hd_json_span){"", 0}, value);
    find_names(r);
    if (domain != ROCPROF_COUNTERS) return rocprof_emit(r->run, &r->record, err);
    hd_status status = emit_counters(r, value, err);
    r->record.domain = domain;
    return status;
}

static rocprof_domain domain_of_list(hd_json_span key)
{
    static const struct {
        const char *list;
        rocprof_domain domain;
    } lists[] = {{"kernel_dispatch", ROCPROF_KERNELS},
                 {"memory_copy", ROCPROF_COPIES},
                 {"memory_allocation", ROCPROF_ALLOCATIONS},
                 {"scratch_memory", ROCPROF_SCRATCH},
                 {"counter_collection", ROCPROF_COUNTERS}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (hd_json_span_is(key, lists[i].list)) return lists[i].domain;
    return hd_ends_with(key.data, key.size, "_api") || hd_json_span_is(key, "ompt") ? ROCPROF_CALLS : ROCPROF_OTHERS;
}

static hd_status record_list(json_reader *r, hd_json_span key, hd_error *err)
{
    r->record.domain = domain_of_list(key);
    r->record.list = hd_args_intern(&r->run->args, key.data, key.size);
    if (r->run->options->progress)
        r->run->options->progress(r->run->options->progress_user, hd_input_stored_position(r->s.input),
                                  hd_input_size_bytes(r->s.input));
    return each(r, see_record, err);
}

/* ---- processes ---- */

static hd_status process_member(json_reader *r, hd_json_span key, hd_error *err)
{
    static const char *const looked_up[] = {"code_objects", "host_functions", "strings", NULL};
    hd_json_span value;
    if (hd_json_span_is(key, "agents")) return each(r, see_agent, err);
    if (hd_json_span_is(key, "counters")) return each(r, see_counter, err);
    if (hd_json_span_is(key, "kernel_symbols")) return each(r, see_symbol, err);
    if (hd_json_span_is(key, "strings")) return members(r, string_member, err);
    if (hd_json_span_is(key, "buffer_records") || hd_json_span_is(key, "callback_records")) {
        r->has_records = true;
        return members(r, record_list, err);
    }
    char name[64];
    size_t size = key.size < sizeof name - 1 ? key.size : sizeof name - 1;
    memcpy(name, key.data, size);
    name[size] = '\0';
    hd_status status = hd_json_stream_value(&r->s, &value, err);
    if (status == HD_END) return HD_OK;
    HD_TRY(status);
    if (strcmp(name, "metadata") == 0) return see_metadata(r, value, err);
    for (size_t i = 0; looked_up[i]; i++)
        if (strcmp(name, looked_up[i]) == 0) return HD_OK;
    return keep_metadata(r, name, value);
}

static hd_status top_member(json_reader *r, hd_json_span key, hd_error *err)
{
    if (!hd_json_span_is(key, "rocprofiler-sdk-tool")) return skip(r, err);
    hd_status status = hd_json_stream_enter(&r->s, '[', err);
    if (status == HD_END) return skip(r, err);
    HD_TRY(status);
    for (uint32_t i = 0; (status = hd_json_stream_item(&r->s, err)) == HD_OK; i++) {
        rocprof_run_begin(r->run, i, HD_NO_NUMBER);
        r->has_records = false;
        HD_TRY(members(r, process_member, err));
        if (!r->has_records && !r->s.cut) note_value(r); /* rocprofv3 writes both lists, even if they are empty */
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status tell_damage(json_reader *r, hd_error *err)
{
    rocprof_run *run = r->run;
    char c = 0;
    bool is_cut = r->s.cut;
    if (!is_cut) HD_TRY(hd_json_stream_peek(&r->s, &c, err));
    if (c) note_value(r); /* more text behind the run */
    uint64_t offset = r->s.damaged ? r->s.damage_offset : r->s.read_bytes;
    if (run->options->strict && (r->s.damaged || is_cut))
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, offset, "%s",
                            r->s.damaged ? "no valid JSON, or a process without records"
                                         : "the run ends in the middle");
    if (r->s.damaged)
        hd_builder_ledger(run->builder, ROCPROF_STAGE, "rocprofv3.value-damaged", HD_LEDGER_LOSS, r->s.damaged, offset);
    if (is_cut)
        hd_builder_ledger(run->builder, ROCPROF_STAGE, "rocprofv3.truncated", HD_LEDGER_LOSS, 1, r->s.read_bytes);
    if (r->too_many)
        hd_builder_ledger(run->builder, ROCPROF_STAGE, "rocprofv3.counters-lost", HD_LEDGER_LOSS, r->too_many,
                          HD_OFFSET_NONE);
    hd_builder_facts(run->builder)->input_bytes = r->s.read_bytes;
    return HD_OK;
}

hd_status rocprof_read_json(rocprof_run *run, hd_input *input, hd_error *err)
{
    json_reader *r = calloc(1, sizeof *r);
    if (!r) return HD_NOMEM(err);
    r->run = run;
    r->s.input = input;
    hd_status status = members(r, top_member, err);
    if (status == HD_OK) status = tell_damage(r, err);
    hd_json_stream_deinit(&r->s);
    free(r);
    return status;
}
