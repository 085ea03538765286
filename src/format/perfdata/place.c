/* place.c - records -> rows: samples with their stacks, thread events as instants, modules
 *
 * Records come in order of time, so that an address is looked up in the mappings of its time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/ends.h"
#include "format/numbers.h"
#include "format/perfdata/perfdata.h"

enum { NODE_CACHE = 1 << 16, NAME_BYTES = 1024 };
enum { MODE_UNKNOWN, MODE_KERNEL, MODE_USER, MODE_HYPERVISOR, MODE_GUEST_KERNEL, MODE_GUEST_USER, MODE_MASK = 7 };
enum { MISC_EXEC = 1 << 13, MISC_OUT = 1 << 13, MISC_BUILD_ID = 1 << 14 };

uint32_t perfdata_text(perfdata_reader *r, const uint8_t *data, size_t size)
{
    size_t repaired;
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    hd_string text = hd_stack_samples_utf8(&r->samples, &repaired,
                                           (hd_string){(const char *)data, end ? (size_t)(end - data) : size});
    hd_status status = perfdata_count(r, PERFDATA_UTF8, repaired, r->place);
    if (status != HD_OK) r->refused = status;
    return hd_builder_intern(r->samples.builder, text.data, text.size);
}

/* ---- modules ---- */

static hd_string basename_of(hd_string path)
{
    const char *slash = path.size && *path.data == '/' ? memrchr(path.data, '/', path.size) : NULL;
    return slash ? (hd_string){slash + 1, (size_t)(path.data + path.size - slash) - 1} : path;
}

/* The name of a module is its file's name; of a second one of that name its path; of another build both. */
static uint32_t name_module(perfdata_reader *r, const perfdata_module *m)
{
    hd_builder *b = r->samples.builder;
    hd_string path = hd_builder_string(b, m->path), file = basename_of(path), id = hd_builder_string(b, m->build_id);
    uint32_t name = hd_builder_intern(b, file.data, file.size);
    if (hd_map_find(&r->module_by_name, name, 0)) name = m->path;
    if (hd_map_find(&r->module_by_name, name, 0)) {
        r->text.size = 0;
        hd_bytes_put(&r->text, path.data, path.size);
        hd_bytes_put(&r->text, "@", 1);
        hd_bytes_put(&r->text, id.data, id.size);
        name = hd_builder_intern(b, (char *)r->text.data, r->text.size);
    }
    return name;
}

/* The system's own names for its kernel's code end with a symbol: "[kernel.kallsyms]_text". */
static uint32_t kernel_path(perfdata_reader *r, uint32_t path)
{
    hd_string text = hd_builder_string(r->samples.builder, path);
    const char *end = text.size && *text.data == '[' ? memchr(text.data, ']', text.size) : NULL;
    return end ? hd_builder_intern(r->samples.builder, text.data, (size_t)(end - text.data) + 1) : path;
}

static bool is_core_kernel(hd_string path)
{
    static const char *const starts[] = {"[kernel.kallsyms", "[kernel.vmlinux", "[guest.kernel"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (hd_starts_with(path.data, path.size, starts[i])) return true;
    }
    return false;
}

/* HD_NONE: no memory. */
static uint32_t module_of(perfdata_reader *r, uint32_t path, uint32_t build_id, bool is_kernel)
{
    if (is_kernel) path = kernel_path(r, path);
    hd_map_entry *entry = hd_map_at(&r->module_by_path, path, build_id);
    if (!entry) return HD_NONE;
    if (entry->value) return entry->value - 1;
    if (!hd_grow((void **)&r->modules, &r->module_capacity, r->module_count, sizeof *r->modules)) return HD_NONE;
    perfdata_module *m = &r->modules[r->module_count];
    *m = (perfdata_module){.path = path, .build_id = build_id, .is_kernel = is_kernel};
    m->name = name_module(r, m);
    if (!hd_map_set(&r->module_by_name, m->name, 0, (uint32_t)r->module_count)) return HD_NONE;
    entry->value = (uint32_t)++r->module_count;
    return entry->value - 1;
}

static hd_status add_mapping(perfdata_reader *r, const perfdata_record *record, size_t text_at, uint32_t build_id)
{
    if (text_at >= record->size) return perfdata_count(r, PERFDATA_DAMAGED, 1, record->offset);
    const uint8_t *data = record->data + PERFDATA_HEAD_BYTES;
    uint32_t pid = (uint32_t)perfdata_get(record->is_big, data, 4),
             path = perfdata_text(r, record->data + text_at, record->size - text_at);
    bool is_kernel = pid == (uint32_t)PERFDATA_KERNEL_PID || (record->misc & MODE_MASK) == MODE_KERNEL;
    uint64_t start = perfdata_get(record->is_big, data + 8, 8), size = perfdata_get(record->is_big, data + 16, 8);
    perfdata_mapping mapping = {
        .start = start,
        .end = size > UINT64_MAX - start ? UINT64_MAX : start + size,
        .offset = perfdata_get(record->is_big, data + 24, 8),
        .module = module_of(r, path, build_id, is_kernel),
    };
    /* Within the kernel itself the offset is where a symbol was: it keeps its addresses. */
    if (is_kernel && is_core_kernel(hd_builder_string(r->samples.builder, path))) mapping.offset = start;
    perfdata_space *space = perfdata_space_of(&r->spaces, is_kernel ? (uint32_t)PERFDATA_KERNEL_PID : pid);
    if (mapping.module == HD_NONE || !space) return HD_NOMEM(r->samples.err);
    bool fits = perfdata_space_map(&r->spaces, space, &mapping);
    return fits ? HD_OK : perfdata_count(r, PERFDATA_MAPS_MANY, 1, record->offset);
}

static uint32_t build_id_in(perfdata_reader *r, const uint8_t *data)
{
    enum { MOST = 20 };
    char text[2 * MOST + 1];
    size_t size = *data <= MOST ? *data : MOST;
    for (size_t i = 0; i < size; i++) snprintf(text + 2 * i, 3, "%02x", data[4 + i]);
    return hd_builder_intern(r->samples.builder, text, 2 * size);
}

static hd_status place_mmap(perfdata_reader *r, const perfdata_record *record)
{
    enum { PATH = 40, BUILD_ID = 40, PATH2 = 72 };
    bool is_second = record->type == PERFDATA_MMAP2;
    if (record->size <= (is_second ? PATH2 : PATH)) return perfdata_count(r, PERFDATA_DAMAGED, 1, record->offset);
    bool has_id = is_second && record->misc & MISC_BUILD_ID;
    return add_mapping(r, record, is_second ? PATH2 : PATH,
                       has_id ? build_id_in(r, record->data + BUILD_ID) : HD_STRING_NONE);
}

static void put_member(hd_json_out *json, const char *before, hd_string text)
{
    hd_json_put_text(json, before);
    hd_json_put_string(json, text.data, text.size);
}

hd_status perfdata_finish_modules(perfdata_reader *r)
{
    hd_builder *b = r->samples.builder;
    hd_json_out json = {0};
    for (size_t i = 0; i < r->module_count; i++) {
        const perfdata_module *m = &r->modules[i];
        uint32_t id = m->build_id;
        if (!id) hd_map_get(&id, &r->build_ids, m->path, 0);
        put_member(&json, i ? ", {\"name\": " : "[{\"name\": ", hd_builder_string(b, m->name));
        put_member(&json, ", \"path\": ", hd_builder_string(b, m->path));
        if (id) put_member(&json, ", \"buildId\": ", hd_builder_string(b, id));
        hd_json_put_text(&json, m->is_kernel ? "}" : ", \"fileOffsets\": true}");
    }
    hd_json_put_text(&json, "]");
    if (r->module_count && !json.failed) {
        const uint32_t key_id = hd_builder_intern_text(b, "modules");
        hd_builder_metadata(b, key_id, hd_builder_intern(b, json.data, json.size), false);
    }
    free(json.data);
    return json.failed ? HD_NOMEM(r->samples.err) : HD_OK;
}

/* ---- threads ---- */

/* The track of a thread by the name that it has now; HD_NONE: no thread, or no memory. */
static hd_status thread_of(perfdata_reader *r, uint32_t *out, uint32_t pid, uint32_t tid, uint64_t offset)
{
    uint64_t hash;
    bool changed;
    uint32_t comm = HD_STRING_NONE;
    if (!hd_map_get(&comm, &r->comms, tid, 0) && tid == 0) comm = hd_builder_intern_text(r->samples.builder, "swapper");
    const uint32_t key[3] = {pid, tid, comm};
    const hd_string text = {(const char *)key, sizeof key};
    *out = hd_stack_samples_known(&r->samples, &hash, &changed, text);
    if (*out == HD_NONE) {
        const hd_stack_thread thread = {.comm = hd_builder_string(r->samples.builder, comm),
                                        .has_pid = true,
                                        .has_tid = true,
                                        .pid = (int32_t)pid,
                                        .tid = (int32_t)tid};
        *out = hd_stack_samples_thread(&r->samples, hash, &changed, text, &thread);
    }
    return changed ? perfdata_count(r, PERFDATA_COMM_CHANGED, 1, offset) : HD_OK;
}

static hd_status time_of(perfdata_reader *r, int64_t *out, const perfdata_fields *fields, uint64_t offset)
{
    *out = HD_NO_TIME;
    if (!fields->has_time) return HD_OK;
    if (fields->time > INT64_MAX) return perfdata_count(r, PERFDATA_TIME, 1, offset);
    *out = (int64_t)fields->time;
    return HD_OK;
}

/* ---- stacks ---- */

static void put_offset(hd_bytes *out, uint64_t offset)
{
    char text[24];
    hd_bytes_put(out, text, (size_t)snprintf(text, sizeof text, "+0x%llx", (unsigned long long)offset));
}

/* MODULE+0xOFFSET, as `heddle convert --symbolize` reads them: an offset in the file, an address of the kernel. */
static uint32_t frame_name(perfdata_reader *r, hd_frame_kind *out_kind, const perfdata_space *space, uint64_t address,
                           uint8_t mode)
{
    const perfdata_mapping *mapping = space ? perfdata_space_find(space, address) : NULL;
    bool is_kernel = mode == MODE_KERNEL || mode == MODE_GUEST_KERNEL || mode == MODE_HYPERVISOR;
    hd_string name = {0};
    *out_kind = is_kernel ? HD_FRAME_OS : HD_FRAME_NATIVE;
    r->text.size = 0;
    if (mapping)
        name = hd_builder_string(r->samples.builder, r->modules[mapping->module].name);
    else if (mode == MODE_KERNEL && address >> 63)
        name = (hd_string){"[kernel.kallsyms]", 17};
    hd_bytes_put(&r->text, name.data, name.size < NAME_BYTES ? name.size : NAME_BYTES);
    if (mapping)
        put_offset(&r->text, address - mapping->start + mapping->offset);
    else if (name.size)
        put_offset(&r->text, address);
    else
        hd_text_put_unknown(&r->text, name, true, address);
    return hd_stack_samples_frame(&r->samples, NULL, (char *)r->text.data, r->text.size);
}

static uint32_t push_frame(perfdata_reader *r, const perfdata_space *user, const perfdata_space *kernel,
                           uint32_t caller, uint64_t address, uint8_t mode)
{
    hd_frame_kind kind;
    const perfdata_space *space = mode == MODE_KERNEL ? kernel : mode == MODE_USER ? user : NULL;
    uint64_t place = (uint64_t)(space ? space->generation : 0) << 32 | caller;
    uint64_t key = address ^ (uint64_t)mode << 56;
    const hd_map_entry *known = hd_map_find(&r->nodes, key, place);
    if (known) return known->value;
    uint32_t name = frame_name(r, &kind, space, address, mode);
    uint32_t node = hd_stacks_push(r->samples.stacks, caller, name, kind);
    if (r->nodes.count >= NODE_CACHE) hd_map_clear(&r->nodes);
    if (node == HD_NONE || !hd_map_set(&r->nodes, key, place, node)) return HD_NONE;
    return node;
}

static hd_status add_address(perfdata_reader *r, size_t *count, uint64_t address, uint8_t mode)
{
    if (!hd_grow((void **)&r->chain, &r->chain_capacity, *count, sizeof *r->chain) ||
        !hd_grow((void **)&r->modes, &r->mode_capacity, *count, sizeof *r->modes))
        return HD_NOMEM(r->samples.err);
    r->chain[*count] = address;
    r->modes[(*count)++] = mode;
    return HD_OK;
}

/* Before its addresses a chain says whose code they are: numbers just below 2^64. */
static uint8_t mode_of_marker(uint64_t marker)
{
    switch (-(int64_t)marker) {
    case 32: return MODE_HYPERVISOR;
    case 128: return MODE_KERNEL;
    case 512: return MODE_USER;
    case 2176: return MODE_GUEST_KERNEL;
    case 2560: return MODE_GUEST_USER;
    default: return MODE_UNKNOWN;
    }
}

/* The address within the call that returns to an address, since function and module may end with that call. The first
 * address of each mode is where its code was interrupted, and is unchanged. */
static hd_status collect_chain(perfdata_reader *r, size_t *out, const perfdata_record *record,
                               const perfdata_fields *fields)
{
    enum { MARKERS = 4095 };
    uint8_t mode = record->misc & MODE_MASK;
    bool is_return = false;
    *out = 0;
    for (uint64_t i = 0; i < fields->chain_count; i++) {
        uint64_t address = perfdata_get(record->is_big, fields->chain + 8 * i, 8);
        if (address >= -(uint64_t)MARKERS) {
            mode = mode_of_marker(address);
            is_return = false;
        } else {
            HD_TRY(add_address(r, out, address - (is_return && address), mode));
            is_return = true;
        }
    }
    if (!*out && fields->has_ip) return add_address(r, out, fields->ip, record->misc & MODE_MASK);
    return HD_OK;
}

static hd_status stack_of(perfdata_reader *r, uint32_t *out, const perfdata_record *record,
                          const perfdata_fields *fields)
{
    size_t count;
    uint32_t node = HD_STACK_NONE;
    HD_TRY(collect_chain(r, &count, record, fields));
    const perfdata_space *user = hd_map_pointer(&r->spaces.by_pid, fields->has_thread ? fields->pid : 0, 0);
    const perfdata_space *kernel = hd_map_pointer(&r->spaces.by_pid, (uint32_t)PERFDATA_KERNEL_PID, 0);
    for (size_t i = count; i-- > 0 && node != HD_NONE;)
        node = push_frame(r, user, kernel, node, r->chain[i], r->modes[i]);
    *out = node;
    return node == HD_NONE ? HD_NOMEM(r->samples.err) : HD_OK;
}

/* ---- samples ---- */

enum { TRACEPOINT = 2 }; /* perf_event_attr.type */

/* The raw data of a tracepoint, as text; switches also make slices of CPUs and states of threads. *out_known: its
 * layout is known. *out_placed: it was recorded without a code address, so that it is an event, not a sample. */
static hd_status place_raw(perfdata_reader *r, bool *out_known, bool *out_placed, hd_stack_sample *sample,
                           const perfdata_fields *f, uint64_t offset)
{
    tp_event event;
    bool has_place = f->has_ip || f->chain_count;
    bool is_one = f->event->type == TRACEPOINT && f->event->config <= UINT32_MAX;
    const tp_layout *layout = is_one ? tp_layouts_find(&r->layouts.layouts, (uint32_t)f->event->config) : NULL;
    *out_known = layout != NULL;
    if (!layout) return HD_OK;
    if (!tp_decode(&event, &r->tracepoints, layout, f->raw, f->raw_size))
        HD_TRY(perfdata_count(r, PERFDATA_SAMPLE_DAMAGED, 1, offset));
    r->text.size = 0;
    if (has_place || sample->time_ns == HD_NO_TIME) tp_put_words(&r->text, &r->tracepoints, &event);
    if (r->text.failed) return HD_NOMEM(r->samples.err);
    sample->trace = hd_builder_intern(r->samples.builder, r->text.size ? (char *)r->text.data : "", r->text.size);
    if (sample->time_ns == HD_NO_TIME) return HD_OK;
    event.time_ns = sample->time_ns;
    event.cpu = f->has_cpu ? (int64_t)f->cpu : TP_NO_CPU;
    r->tracepoints.no_instants = has_place;
    *out_placed = !has_place;
    return tp_add(&r->tracepoints, &event);
}

static hd_status place_sample(perfdata_reader *r, const perfdata_record *record)
{
    perfdata_fields f;
    hd_stack_sample sample = {.track = HD_NONE};
    perfdata_sample_fields(&f, &r->events, record);
    if (!f.event) return perfdata_count(r, PERFDATA_NO_EVENT, 1, record->offset);
    if (f.is_damaged) return perfdata_count(r, PERFDATA_SAMPLE_DAMAGED, 1, record->offset);
    HD_TRY(time_of(r, &sample.time_ns, &f, record->offset));
    if (f.has_thread) HD_TRY(thread_of(r, &sample.track, f.pid, f.tid, record->offset));
    HD_TRY(stack_of(r, &sample.node, record, &f));
    sample.name = f.event->name;
    if (f.has_period) sample.weight_type = hd_value_of_unsigned(&sample.weight, r->samples.builder, f.period);
    if (f.has_cpu) sample.cpu_type = HD_ARG_INT;
    sample.cpu = f.cpu;
    if (f.has_address) sample.address_type = hd_value_of_unsigned(&sample.address, r->samples.builder, f.address);
    bool is_known = true, is_placed = false;
    if (f.raw_size) HD_TRY(place_raw(r, &is_known, &is_placed, &sample, &f, record->offset));
    if (!is_known && f.event->type == TRACEPOINT)
        HD_TRY(perfdata_count(r, PERFDATA_LAYOUT_MISSING, 1, record->offset));
    else if (f.has_others || !is_known)
        HD_TRY(perfdata_count(r, PERFDATA_FIELDS, 1, record->offset));
    if (f.has_user_stack) HD_TRY(perfdata_count(r, PERFDATA_USER_STACK, 1, record->offset));
    return is_placed ? HD_OK : hd_stack_samples_add(&r->samples, &sample);
}

/* ---- what threads do ---- */

typedef struct record_field {
    const char *key;
    uint8_t at, width;
} record_field;
typedef struct record_about {
    const char *name;
    record_field fields[5];
} record_about;

static const record_about abouts[PERFDATA_KERNEL_TYPES] = {
    [PERFDATA_LOST] = {"lost", {{"id", 8, 8}, {"lost", 16, 8}}},
    [PERFDATA_COMM] = {"comm", {{"pid", 8, 4}, {"tid", 12, 4}}},
    [PERFDATA_EXIT] = {"exit", {{"pid", 8, 4}, {"ppid", 12, 4}, {"tid", 16, 4}, {"ptid", 20, 4}}},
    [PERFDATA_THROTTLE] = {"throttle", {{"time", 8, 8}, {"id", 16, 8}, {"stream_id", 24, 8}}},
    [PERFDATA_UNTHROTTLE] = {"unthrottle", {{"time", 8, 8}, {"id", 16, 8}, {"stream_id", 24, 8}}},
    [PERFDATA_FORK] = {"fork", {{"pid", 8, 4}, {"ppid", 12, 4}, {"tid", 16, 4}, {"ptid", 20, 4}}},
    [PERFDATA_LOST_SAMPLES] = {"lost_samples", {{"lost", 8, 8}}},
    [PERFDATA_SWITCH] = {"switch", {{0}}},
    [PERFDATA_SWITCH_CPU_WIDE] = {"switch", {{"next_prev_pid", 8, 4}, {"next_prev_tid", 12, 4}}},
    [PERFDATA_NAMESPACES] = {"namespaces", {{"pid", 8, 4}, {"tid", 12, 4}, {"count", 16, 8}}},
};

static uint64_t field_at(const perfdata_record *record, unsigned at, unsigned width)
{
    return at + width <= record->size ? perfdata_get(record->is_big, record->data + at, width) : 0;
}

static uint32_t shape_of(perfdata_reader *r, int64_t values[6], const perfdata_record *record,
                         const record_about *about)
{
    hd_builder *b = r->samples.builder;
    hd_arg_key keys[6];
    uint32_t count = 0;
    for (const record_field *f = about->fields; f->key; f++) {
        uint64_t value = field_at(record, f->at, f->width);
        keys[count] = (hd_arg_key){.key = hd_builder_intern_text(b, f->key), .scope = HD_SCOPE_ARGS};
        keys[count].type = (uint8_t)hd_value_of_unsigned(&values[count], b, value);
        count++;
    }
    if (record->type == PERFDATA_SWITCH || record->type == PERFDATA_SWITCH_CPU_WIDE) {
        keys[count] = (hd_arg_key){hd_builder_intern_text(b, "out"), HD_ARG_BOOL, HD_SCOPE_ARGS, 0};
        values[count++] = (record->misc & MISC_OUT) != 0;
    }
    uint32_t shape = hd_builder_shape(b, keys, count, true);
    return shape == HD_NONE ? 0 : shape;
}

/* A thread by the body of a record, where its end says none. */
static bool has_body_thread(const perfdata_record *record, perfdata_fields *f)
{
    bool has_parent = record->type == PERFDATA_FORK || record->type == PERFDATA_EXIT;
    if (!has_parent && record->type != PERFDATA_COMM && record->type != PERFDATA_NAMESPACES) return f->has_thread;
    f->pid = (uint32_t)field_at(record, 8, 4);
    f->tid = (uint32_t)field_at(record, has_parent ? 16 : 12, 4);
    return true;
}

static hd_status place_instant(perfdata_reader *r, const perfdata_record *record)
{
    const record_about *about = &abouts[record->type];
    perfdata_fields f;
    int64_t values[6];
    hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
    perfdata_other_fields(&f, &r->events, record);
    if (!f.has_time && (record->type == PERFDATA_FORK || record->type == PERFDATA_EXIT) && record->size >= 32) {
        f.has_time = true;
        f.time = field_at(record, 24, 8);
    }
    HD_TRY(time_of(r, &row.start_ns, &f, record->offset));
    if (has_body_thread(record, &f)) HD_TRY(thread_of(r, &row.track, f.pid, f.tid, record->offset));
    row.name = hd_builder_intern_text(r->samples.builder, about->name);
    row.category = hd_builder_intern_text(r->samples.builder, "perf");
    if (r->samples.options->args == HD_ARGS_ALL) row.shape = shape_of(r, values, record, about);
    return hd_stack_samples_row(&r->samples, &row, values);
}

static hd_status place_comm(perfdata_reader *r, const perfdata_record *record)
{
    enum { TEXT = 16 };
    if (record->size <= TEXT) return perfdata_count(r, PERFDATA_DAMAGED, 1, record->offset);
    uint32_t pid = (uint32_t)field_at(record, 8, 4), tid = (uint32_t)field_at(record, 12, 4), track;
    uint32_t comm = perfdata_text(r, record->data + TEXT, record->size - TEXT);
    if (!hd_map_set(&r->comms, tid, 0, comm)) return HD_NOMEM(r->samples.err);
    HD_TRY(tp_know_process(&r->tracepoints, tid, pid));
    perfdata_space *space = record->misc & MISC_EXEC ? hd_map_pointer(&r->spaces.by_pid, pid, 0) : NULL;
    if (space) perfdata_space_clear(&r->spaces, space);
    return record->misc & MISC_EXEC ? place_instant(r, record) : thread_of(r, &track, pid, tid, record->offset);
}

static hd_status place_fork(perfdata_reader *r, const perfdata_record *record)
{
    uint32_t pid = (uint32_t)field_at(record, 8, 4), parent = (uint32_t)field_at(record, 12, 4), comm;
    uint32_t tid = (uint32_t)field_at(record, 16, 4), parent_tid = (uint32_t)field_at(record, 20, 4);
    if (record->size < 32) return perfdata_count(r, PERFDATA_DAMAGED, 1, record->offset);
    if (hd_map_get(&comm, &r->comms, parent_tid, 0) && !hd_map_set(&r->comms, tid, 0, comm))
        return HD_NOMEM(r->samples.err);
    HD_TRY(tp_know_process(&r->tracepoints, tid, pid));
    if (pid != parent && !perfdata_space_fork(&r->spaces, pid, parent))
        HD_TRY(perfdata_count(r, PERFDATA_MAPS_MANY, 1, record->offset));
    return place_instant(r, record);
}

static hd_status place_exit(perfdata_reader *r, const perfdata_record *record)
{
    uint32_t pid = (uint32_t)field_at(record, 8, 4), tid = (uint32_t)field_at(record, 16, 4);
    if (pid == tid) perfdata_space_end(&r->spaces, pid);
    return place_instant(r, record);
}

/* Code that the kernel made at run time, as of BPF: a mapping that is called by its function. */
static hd_status place_symbol(perfdata_reader *r, const perfdata_record *record)
{
    enum { TEXT = 24 };
    if (record->size <= TEXT) return perfdata_count(r, PERFDATA_DAMAGED, 1, record->offset);
    perfdata_space *kernel = perfdata_space_of(&r->spaces, (uint32_t)PERFDATA_KERNEL_PID);
    uint64_t start = field_at(record, 8, 8), size = field_at(record, 16, 4);
    uint32_t name = perfdata_text(r, record->data + TEXT, record->size - TEXT);
    perfdata_mapping mapping = {.start = start, .end = start + size, .module = module_of(r, name, 0, true)};
    if (!kernel || mapping.module == HD_NONE) return HD_NOMEM(r->samples.err);
    bool fits = perfdata_space_map(&r->spaces, kernel, &mapping);
    return fits ? HD_OK : perfdata_count(r, PERFDATA_MAPS_MANY, 1, record->offset);
}

hd_status perfdata_place(perfdata_reader *r, const perfdata_record *record)
{
    r->place = record->offset;
    switch (record->type) {
    case PERFDATA_SAMPLE: return place_sample(r, record);
    case PERFDATA_MMAP:
    case PERFDATA_MMAP2: return place_mmap(r, record);
    case PERFDATA_COMM: return place_comm(r, record);
    case PERFDATA_FORK: return place_fork(r, record);
    case PERFDATA_EXIT: return place_exit(r, record);
    case PERFDATA_KSYMBOL: return place_symbol(r, record);
    case PERFDATA_LOST: HD_TRY(perfdata_count(r, PERFDATA_EVENTS_LOST, field_at(record, 16, 8), record->offset)); break;
    case PERFDATA_LOST_SAMPLES:
        HD_TRY(perfdata_count(r, PERFDATA_SAMPLES_LOST, field_at(record, 8, 8), record->offset));
        break;
    default: break;
    }
    if (record->type < PERFDATA_KERNEL_TYPES && abouts[record->type].name) return place_instant(r, record);
    return perfdata_count(r, PERFDATA_UNUSED, 1, record->offset);
}
