/* emit_record.c - a record as rows of the trace, in Kineto's form
 *
 * Kernels are on the streams of a process "GPU 0", or on its queues if no stream is given; copies on tracks next to
 * them, since they overlap; calls on the threads of the process.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/numbers.h"
#include "format/rocprofv3/rocprofv3.h"
#include "trace/lazy.h"
#include "trace/text.h"

/* ---- the run ---- */

static void intern_texts(rocprof_run *run)
{
    static const char *const keys[ROCPROF_FIELDS] = {
        [ROCPROF_QUEUE] = "queue",          [ROCPROF_STREAM] = "stream",
        [ROCPROF_THREAD] = "thread",        [ROCPROF_CORRELATION] = "correlation",
        [ROCPROF_KERNEL] = "kernel_id",     [ROCPROF_EXTERNAL] = "external correlation",
        [ROCPROF_DISPATCH] = "dispatch_id", [ROCPROF_SHARED] = "shared memory",
        [ROCPROF_BYTES] = "bytes",          [ROCPROF_REGISTERS] = "registers per thread",
    };
    const hd_named_text list[] = {
        {&run->text.kernel, "kernel"},
        {&run->text.copy, "gpu_memcpy"},
        {&run->text.memory, "[memory]"},
        {&run->text.scratch, "scratch_memory"},
        {&run->text.grid, "grid"},
        {&run->text.block, "block"},
        {&run->text.grid_items, "grid_size"},
        {&run->text.device, "device"},
        {&run->text.domain, "domain"},
        {&run->text.end, "end_timestamp"},
        {&run->text.operation, "operation"},
        {&run->text.value, "value"},
        {0},
    };
    for (int i = 0; i < ROCPROF_FIELDS; i++)
        if (keys[i]) run->keys[i] = hd_builder_intern_text(run->builder, keys[i]);
    hd_intern_texts(run->builder, list);
}

hd_status rocprof_run_init(rocprof_run *run, hd_builder *builder, const hd_read_options *options, hd_error *err)
{
    *run = (rocprof_run){.builder = builder, .options = options};
    intern_texts(run);
    rocprof_run_begin(run, 0, HD_NO_NUMBER);
    HD_TRY(hd_args_init(&run->args, builder, options, err));
    HD_TRY(hd_args_init(&run->spare, builder, options, err));
    run->spare.rows.holds = true;
    return HD_OK;
}

void rocprof_run_deinit(rocprof_run *run)
{
    hd_map *const maps[] = {&run->agents,   &run->kernels, &run->names,  &run->markers,  &run->externals,
                            &run->counters, &run->tracks,  &run->memory, &run->processes};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    hd_args_deinit(&run->args);
    hd_args_deinit(&run->spare);
    free(run->symbols);
    free(run->sizes);
    free(run->agents_text.data);
    free(run->devices.data);
}

void rocprof_run_begin(rocprof_run *run, uint32_t ordinal, int64_t pid)
{
    hd_map *const maps[] = {&run->agents,    &run->kernels,  &run->names, &run->markers,
                            &run->externals, &run->counters, &run->memory};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_clear(maps[i]);
    run->symbol_count = run->size_count = 0;
    run->ordinal = ordinal;
    run->pid = pid;
    run->last_dispatch = HD_NO_NUMBER;
}

static hd_status note(rocprof_run *run, const char *code, hd_ledger_level level, uint64_t count, hd_error *err)
{
    if (count && run->options->strict)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "%s, and --strict refuses repairs", code);
    if (count) hd_builder_ledger(run->builder, ROCPROF_STAGE, code, level, count, HD_OFFSET_NONE);
    return HD_OK;
}

void rocprof_add_device(rocprof_run *run, int64_t device, hd_string name, int64_t units)
{
    hd_json_out *out = &run->devices;
    hd_json_put_text(out, out->size ? ",{\"id\":" : "[{\"id\":");
    hd_json_put_int(out, device);
    hd_json_put_text(out, ",\"name\":");
    hd_json_put_string(out, name.data, name.size);
    if (units != HD_NO_NUMBER) {
        hd_json_put_text(out, ",\"numSms\":");
        hd_json_put_int(out, units);
    }
    hd_json_put_text(out, "}");
}

static hd_status put_metadata(rocprof_run *run, const char *key, hd_json_out *out, hd_error *err)
{
    if (!out->size) return HD_OK;
    hd_json_put_text(out, "]");
    if (out->failed) return HD_NOMEM(err);
    const uint32_t key_id = hd_builder_intern_text(run->builder, key);
    hd_builder_metadata(run->builder, key_id, hd_builder_intern(run->builder, out->data, out->size), false);
    return HD_OK;
}

hd_status rocprof_run_finish(rocprof_run *run, hd_error *err)
{
    HD_TRY(hd_args_finish(&run->args, err));
    bool is_spared = hd_batch_row_count(run->spare.rows.batch) > 0;
    if (run->kernel_count == 0)
        HD_TRY(hd_args_finish(&run->spare, err));
    else if (is_spared)
        HD_TRY(hd_builder_settle_tracks(run->builder, err)); /* without the rows that were never added */
    HD_TRY(put_metadata(run, "agents", &run->agents_text, err));
    HD_TRY(put_metadata(run, "deviceProperties", &run->devices, err));
    HD_TRY(note(run, "rocprofv3.end-before-start", HD_LEDGER_REPAIR, run->bad_times, err));
    HD_TRY(note(run, "rocprofv3.no-time", HD_LEDGER_REPAIR, run->no_times, err));
    HD_TRY(note(run, "rocprofv3.text-not-utf8", HD_LEDGER_REPAIR, run->args.text_repairs, err));
    HD_TRY(note(run, "rocprofv3.arguments-lost", HD_LEDGER_LOSS, run->args.lost, err));
    hd_trace_facts *facts = hd_builder_facts(run->builder);
    facts->has_args = run->options->args == HD_ARGS_ALL;
    facts->base_ns = HD_NO_TIME; /* the clock counts from the machine's start */
    return HD_OK;
}

/* ---- tracks ---- */

enum { TRACK_THREAD, TRACK_PROCESS, TRACK_STREAM, TRACK_QUEUE, TRACK_COPIES, TRACK_DEVICE };

static hd_ident process_ident(rocprof_run *run)
{
    if (run->pid != HD_NO_NUMBER) return hd_ident_number(run->builder, run->pid);
    return (hd_ident){HD_IDENT_STRING, hd_intern_format(run->builder, "process %u", run->ordinal)};
}

static hd_ident device_ident(rocprof_run *run, int64_t device)
{
    hd_builder *b = run->builder;
    uint32_t text = run->pid != HD_NO_NUMBER
                        ? hd_intern_format(b, "GPU %lld of %lld", (long long)device, (long long)run->pid)
                        : hd_intern_format(b, "GPU %lld of process %u", (long long)device, run->ordinal);
    return (hd_ident){HD_IDENT_STRING, text};
}

static uint32_t make_device(rocprof_run *run, int64_t device)
{
    uint32_t process = hd_builder_track(run->builder, device_ident(run, device), (hd_ident){0}, true);
    if (process == HD_NONE) return HD_NONE;
    hd_builder_name_track(run->builder, process, hd_intern_format(run->builder, "GPU %lld", (long long)device));
    hd_sort_numbered(run->builder, process, HD_SORT_DEVICES, device);
    return process;
}

static uint32_t make_queue(rocprof_run *run, int kind, int64_t device, int64_t number)
{
    static const char *const names[] = {
        [TRACK_STREAM] = "stream", [TRACK_QUEUE] = "queue", [TRACK_COPIES] = "copies of stream"};
    hd_builder *b = run->builder;
    uint32_t name = number == HD_NO_NUMBER ? hd_intern_format(b, kind == TRACK_COPIES ? "copies" : "kernels")
                                           : hd_intern_format(b, "%s %lld", names[kind], (long long)number);
    uint32_t track = hd_builder_track(b, device_ident(run, device), (hd_ident){HD_IDENT_STRING, name}, false);
    if (track == HD_NONE || make_device(run, device) == HD_NONE) return HD_NONE;
    hd_builder_set_stream(b, track, device, number);
    hd_builder_name_track(b, track, name);
    if (number != HD_NO_NUMBER) hd_builder_sort_track(b, track, number);
    return track;
}

static uint32_t make_track(rocprof_run *run, int kind, int64_t device, int64_t number)
{
    hd_ident tid = {0};
    switch (kind) {
    case TRACK_THREAD: tid = hd_ident_number(run->builder, number); break;
    case TRACK_PROCESS: break;
    case TRACK_DEVICE: return make_device(run, device);
    default: return make_queue(run, kind, device, number);
    }
    return hd_builder_track(run->builder, process_ident(run), tid, kind == TRACK_PROCESS);
}

/* Of the process in hand among all, below 2^24. */
static uint32_t process_index(rocprof_run *run)
{
    bool is_known = run->pid != HD_NO_NUMBER;
    uint64_t key = is_known ? (uint64_t)run->pid : run->ordinal;
    uint32_t index = (uint32_t)run->processes.count & 0xffffff;
    if (hd_map_get(&index, &run->processes, key, is_known)) return index;
    if (!hd_map_set(&run->processes, key, is_known, index)) hd_builder_fail(run->builder);
    return index;
}

static uint32_t track_of(rocprof_run *run, int kind, int64_t device, int64_t number)
{
    uint64_t a = (uint64_t)kind | (uint64_t)process_index(run) << 8 | (uint64_t)(device + 1) << 32;
    uint32_t track;
    if (hd_map_get(&track, &run->tracks, a, (uint64_t)number)) return track;
    track = make_track(run, kind, device, number);
    if (track == HD_NONE || !hd_map_set(&run->tracks, a, (uint64_t)number, track)) hd_builder_fail(run->builder);
    return track;
}

static uint32_t thread_track(rocprof_run *run, const rocprof_record *r)
{
    int64_t thread = r->numbers[ROCPROF_THREAD];
    return thread == HD_NO_NUMBER ? track_of(run, TRACK_PROCESS, -1, 0) : track_of(run, TRACK_THREAD, -1, thread);
}

/* The device of an agent; negative: it is a CPU, or none is given. */
static int64_t device_of(const rocprof_run *run, int64_t agent)
{
    uint32_t device;
    if (agent == HD_NO_NUMBER || agent & ROCPROF_CPU_KEY) return -1;
    if (agent & ROCPROF_GPU_KEY) return agent & UINT16_MAX;
    if (hd_map_get(&device, &run->agents, (uint64_t)agent, 0)) return device & ROCPROF_CPU_AGENT ? -1 : (int64_t)device;
    return agent & INT32_MAX;
}

uint32_t rocprof_name_process(rocprof_run *run, uint32_t name)
{
    uint32_t process = track_of(run, TRACK_PROCESS, -1, 0);
    if (process != HD_NONE) hd_builder_name_track(run->builder, process, name);
    return process;
}

/* ---- arguments ---- */

void rocprof_record_init(rocprof_record *record, rocprof_domain domain, uint32_t list)
{
    record->domain = domain;
    record->list = list;
    record->has_bad_number = false;
    for (int i = 0; i < ROCPROF_FIELDS; i++) record->numbers[i] = HD_NO_NUMBER;
    memset(record->names, 0, sizeof record->names);
}

static void add_int(hd_args *args, uint32_t key, int64_t value)
{
    if (value != HD_NO_NUMBER) hd_args_add(args, key, HD_ARG_INT, value, HD_SCOPE_ARGS);
}

static void add_text(hd_args *args, uint32_t key, uint32_t text)
{
    if (text != HD_STRING_NONE) hd_args_add(args, key, HD_ARG_STRING, text, HD_SCOPE_ARGS);
}

/* Ids of several processes repeat, so each but the first gets its number in front. */
static int64_t correlation_of(const rocprof_run *run, int64_t id)
{
    bool is_small = id > 0 && id <= UINT32_MAX;
    return is_small && run->ordinal ? (int64_t)run->ordinal << 32 | id : id;
}

static void add_fields(const rocprof_run *run, hd_args *args, const rocprof_record *r)
{
    for (int i = ROCPROF_NAMES; i < ROCPROF_FIELDS; i++) {
        if (!run->keys[i]) continue;
        add_int(args, run->keys[i], i == ROCPROF_CORRELATION ? correlation_of(run, r->numbers[i]) : r->numbers[i]);
    }
}

static void add_triple(rocprof_run *run, hd_args *args, uint32_t key, const int64_t *n)
{
    if (n[0] == HD_NO_NUMBER || n[1] == HD_NO_NUMBER || n[2] == HD_NO_NUMBER || !args->wanted) return;
    uint32_t text =
        hd_intern_format(run->builder, "[%lld,%lld,%lld]", (long long)n[0], (long long)n[1], (long long)n[2]);
    hd_args_add(args, key, HD_ARG_JSON, text, HD_SCOPE_ARGS);
}

/* ROCm counts a grid in work-items, all others in blocks. */
static void add_launch(rocprof_run *run, hd_args *args, const rocprof_record *r)
{
    const int64_t *items = &r->numbers[ROCPROF_GRID_X], *block = &r->numbers[ROCPROF_BLOCK_X];
    int64_t grid[3];
    for (int i = 0; i < 3; i++) grid[i] = items[i] > 0 && block[i] > 0 ? (items[i] - 1) / block[i] + 1 : HD_NO_NUMBER;
    add_triple(run, args, run->text.grid, grid);
    add_triple(run, args, run->text.block, block);
    add_triple(run, args, run->text.grid_items, items);
}

/* ---- rows ---- */

/* A record without a start is kept unchanged; one that would end before it starts has length 0. */
static hd_row timed_row(rocprof_run *run, const rocprof_record *r, hd_kind kind, char phase)
{
    int64_t start = r->numbers[ROCPROF_START], end = r->numbers[ROCPROF_END];
    bool is_timed = start != HD_NO_NUMBER && start >= 0;
    hd_row row = is_timed ? hd_row_of(kind, phase) : hd_row_of(HD_KIND_OTHER, 0);
    row.category = r->list;
    if (!is_timed) {
        run->no_times++;
        add_int(&run->args, run->text.end, end);
        return row;
    }
    row.start_ns = start;
    if (kind != HD_KIND_SLICE) return row;
    row.duration_ns = end == HD_NO_NUMBER ? HD_NO_TIME : end < start ? 0 : end - start;
    run->bad_times += end != HD_NO_NUMBER && end < start;
    if (end != HD_NO_NUMBER && end < start) add_int(&run->args, run->text.end, end);
    return row;
}

static uint32_t kernel_name(rocprof_run *run, rocprof_record *r)
{
    uint32_t name = r->names[ROCPROF_KERNEL_NAME], index;
    int64_t id = r->numbers[ROCPROF_KERNEL], external = r->numbers[ROCPROF_EXTERNAL];
    if (name == HD_STRING_NONE && id != HD_NO_NUMBER && hd_map_get(&index, &run->kernels, (uint64_t)id, 0)) {
        name = run->symbols[index].name;
        if (r->numbers[ROCPROF_REGISTERS] == HD_NO_NUMBER)
            r->numbers[ROCPROF_REGISTERS] = run->symbols[index].registers;
    }
    if (name == HD_STRING_NONE) name = hd_intern_format(run->builder, "kernel %lld", (long long)(id < 0 ? 0 : id));
    if (external != HD_NO_NUMBER && hd_map_get(&index, &run->externals, (uint64_t)external, 0)) {
        add_text(&run->args, run->text.kernel, name); /* the program has renamed it */
        return index;
    }
    return name;
}

static uint32_t queue_of(rocprof_run *run, const rocprof_record *r, int64_t device)
{
    if (device < 0) device = 0;
    if (r->numbers[ROCPROF_STREAM] != HD_NO_NUMBER)
        return track_of(run, TRACK_STREAM, device, r->numbers[ROCPROF_STREAM]);
    return track_of(run, TRACK_QUEUE, device, r->numbers[ROCPROF_QUEUE]);
}

static hd_status emit_kernel(rocprof_run *run, rocprof_record *r, hd_args *args, hd_error *err)
{
    int64_t device = device_of(run, r->numbers[ROCPROF_AGENT]);
    uint32_t name = kernel_name(run, r);
    hd_row row = timed_row(run, r, HD_KIND_SLICE, 'X');
    row.name = name;
    row.category = run->text.kernel;
    row.track = queue_of(run, r, device);
    if (device >= 0) add_int(args, run->text.device, device);
    add_fields(run, args, r);
    add_launch(run, args, r);
    return hd_args_add_row(args, &row, err);
}

/* "MEMORY_COPY_HOST_TO_DEVICE" -> "Memcpy HtoD" */
static uint32_t copy_name(rocprof_run *run, const rocprof_record *r)
{
    static const char *const kinds[][2] = {
        {"HOST_TO_HOST", "HtoH"}, {"HOST_TO_DEVICE", "HtoD"}, {"DEVICE_TO_HOST", "DtoH"}, {"DEVICE_TO_DEVICE", "DtoD"}};
    hd_string text = hd_builder_string(run->builder, r->names[ROCPROF_OPERATION]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i][0]);
        if (text.size >= size && memcmp(text.data + text.size - size, kinds[i][0], size) == 0)
            return hd_intern_format(run->builder, "Memcpy %s", kinds[i][1]);
    }
    return hd_builder_intern_text(run->builder, "Memcpy Unknown");
}

static void add_agent(rocprof_run *run, const char *key, int64_t agent)
{
    if (agent != HD_NO_NUMBER) hd_args_int(&run->args, key, agent & ~(ROCPROF_GPU_KEY | ROCPROF_CPU_KEY));
}

static hd_status emit_copy(rocprof_run *run, const rocprof_record *r, hd_error *err)
{
    int64_t from = device_of(run, r->numbers[ROCPROF_SOURCE]), to = device_of(run, r->numbers[ROCPROF_TARGET]);
    int64_t device = to >= 0 ? to : from >= 0 ? from : 0;
    hd_string kind = hd_builder_string(run->builder, r->names[ROCPROF_OPERATION]);
    bool to_host = kind.size > 8 && memcmp(kind.data + kind.size - 8, "_TO_HOST", 8) == 0;
    if (to_host && from >= 0) device = from;
    hd_row row = timed_row(run, r, HD_KIND_SLICE, 'X');
    row.name = copy_name(run, r);
    row.category = run->text.copy;
    row.track = track_of(run, TRACK_COPIES, device, r->numbers[ROCPROF_STREAM]);
    add_int(&run->args, run->text.device, device);
    add_text(&run->args, run->text.operation, r->names[ROCPROF_OPERATION]);
    add_agent(run, "source agent", r->numbers[ROCPROF_SOURCE]);
    add_agent(run, "destination agent", r->numbers[ROCPROF_TARGET]);
    add_fields(run, &run->args, r);
    return hd_args_add_row(&run->args, &row, err);
}

static bool list_is(const rocprof_run *run, const rocprof_record *r, const char *text)
{
    hd_string list = hd_builder_string(run->builder, r->list);
    return hd_string_is(list, text);
}

/* Markers are named by their text; one without a length is a mark. */
static hd_status emit_call(rocprof_run *run, const rocprof_record *r, hd_error *err)
{
    bool is_marker = list_is(run, r, "marker_api"), is_mark = false;
    uint32_t name = r->names[ROCPROF_OPERATION], message;
    int64_t id = r->numbers[ROCPROF_CORRELATION];
    if (is_marker) {
        is_mark = r->numbers[ROCPROF_START] == r->numbers[ROCPROF_END];
        if (id != HD_NO_NUMBER && hd_map_get(&message, &run->markers, (uint64_t)id, 0)) {
            add_text(&run->args, run->text.operation, name);
            name = message;
        }
    }
    hd_row row = timed_row(run, r, is_mark ? HD_KIND_INSTANT : HD_KIND_SLICE, is_mark ? 'i' : 'X');
    row.track = thread_track(run, r);
    row.name = name == HD_STRING_NONE ? r->list : name;
    if (is_marker) row.category = hd_builder_intern_text(run->builder, "user_annotation");
    add_text(&run->args, run->text.domain, r->names[ROCPROF_KIND]);
    rocprof_record copy = *r;
    copy.numbers[ROCPROF_THREAD] = HD_NO_NUMBER; /* the track says it */
    add_fields(run, &run->args, &copy);
    return hd_args_add_row(&run->args, &row, err);
}

/* Size of an allocation, by address: a free has none. */
static int64_t bytes_of(rocprof_run *run, const rocprof_record *r, bool is_free)
{
    int64_t bytes = r->numbers[ROCPROF_BYTES], address = r->numbers[ROCPROF_ADDRESS];
    uint32_t index;
    if (address == HD_NO_NUMBER) return bytes;
    if (is_free) {
        if (!hd_map_get(&index, &run->memory, (uint64_t)address, 0)) return bytes > 0 ? -bytes : HD_NO_NUMBER;
        hd_map_remove(&run->memory, (uint64_t)address, 0);
        return -run->sizes[index];
    }
    if (bytes == HD_NO_NUMBER || bytes < 0) return bytes;
    if (!hd_grow((void **)&run->sizes, &run->size_capacity, run->size_count, sizeof *run->sizes) ||
        !hd_map_set(&run->memory, (uint64_t)address, 0, (uint32_t)run->size_count)) {
        hd_builder_fail(run->builder);
        return bytes;
    }
    run->sizes[run->size_count++] = bytes;
    return bytes;
}

/* As `heddle report memory` reads them. */
static hd_status emit_allocation(rocprof_run *run, const rocprof_record *r, hd_error *err)
{
    hd_string operation = hd_builder_string(run->builder, r->names[ROCPROF_OPERATION]);
    bool is_free = operation.size > 4 && memcmp(operation.data + operation.size - 4, "FREE", 4) == 0;
    int64_t device = device_of(run, r->numbers[ROCPROF_AGENT]);
    bool is_host = device < 0 && r->numbers[ROCPROF_AGENT] != HD_NO_NUMBER && !is_free;
    hd_row row = timed_row(run, r, HD_KIND_INSTANT, 'i');
    row.track = thread_track(run, r);
    row.name = run->text.memory;
    hd_args_int(&run->args, "Device Type", is_host ? 0 : 1);
    if (device >= 0) hd_args_int(&run->args, "Device Id", device);
    hd_args_int(&run->args, "Addr", r->numbers[ROCPROF_ADDRESS]);
    hd_args_int(&run->args, "Bytes", bytes_of(run, r, is_free));
    add_text(&run->args, run->text.operation, r->names[ROCPROF_OPERATION]);
    if (row.kind != HD_KIND_OTHER) add_int(&run->args, run->text.end, r->numbers[ROCPROF_END]);
    add_int(&run->args, run->keys[ROCPROF_CORRELATION], correlation_of(run, r->numbers[ROCPROF_CORRELATION]));
    return hd_args_add_row(&run->args, &row, err);
}

/* A sample when the kernel begins; and, the first time, the kernel itself, for runs without a separate record of it. */
static hd_status emit_counter(rocprof_run *run, rocprof_record *r, hd_error *err)
{
    int64_t device = device_of(run, r->numbers[ROCPROF_AGENT]), dispatch = r->numbers[ROCPROF_DISPATCH];
    uint32_t counter = r->names[ROCPROF_COUNTER_NAME];
    uint64_t bad = run->bad_times;
    if (dispatch != run->last_dispatch) HD_TRY(emit_kernel(run, r, &run->spare, err));
    run->bad_times = bad;
    run->last_dispatch = dispatch;
    uint32_t kernel = kernel_name(run, r);
    hd_row row = timed_row(run, r, HD_KIND_COUNTER, 'C');
    row.name = counter == HD_STRING_NONE ? r->list : counter;
    row.track = track_of(run, TRACK_DEVICE, device < 0 ? 0 : device, 0);
    add_text(&run->args, run->text.kernel, kernel);
    add_int(&run->args, run->text.end, r->numbers[ROCPROF_END]);
    add_fields(run, &run->args, r);
    for (uint32_t i = 0; i < run->args.count; i++) /* all else would be series as well */
        if (run->args.keys[i].key != run->text.value) run->args.keys[i].scope = HD_SCOPE_EVENT;
    return hd_args_add_row(&run->args, &row, err);
}

static hd_status emit_other(rocprof_run *run, const rocprof_record *r, hd_error *err)
{
    bool is_slice = r->numbers[ROCPROF_END] != HD_NO_NUMBER;
    hd_row row = timed_row(run, r, is_slice ? HD_KIND_SLICE : HD_KIND_INSTANT, is_slice ? 'X' : 'i');
    int64_t device = device_of(run, r->numbers[ROCPROF_AGENT]);
    row.track = thread_track(run, r);
    row.name = r->names[ROCPROF_OPERATION] == HD_STRING_NONE ? r->list : r->names[ROCPROF_OPERATION];
    if (device >= 0) add_int(&run->args, run->text.device, device);
    hd_args_int(&run->args, "address", r->numbers[ROCPROF_ADDRESS]);
    add_fields(run, &run->args, r);
    return hd_args_add_row(&run->args, &row, err);
}

hd_status rocprof_emit(rocprof_run *run, rocprof_record *r, hd_error *err)
{
    switch (r->domain) {
    case ROCPROF_KERNELS: run->kernel_count++; return emit_kernel(run, r, &run->args, err);
    case ROCPROF_COPIES: return emit_copy(run, r, err);
    case ROCPROF_CALLS: return emit_call(run, r, err);
    case ROCPROF_ALLOCATIONS: return emit_allocation(run, r, err);
    case ROCPROF_COUNTERS: return emit_counter(run, r, err);
    default: return emit_other(run, r, err);
    }
}
