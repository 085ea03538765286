/* read.c - XPlane -> trace
 *
 * Format   one protobuf message XSpace: planes (a device, the host's threads), errors, warnings, hostnames. Specified
 *          by xplane.proto of OpenXLA's TSL; written by the profilers of JAX, TensorFlow and PyTorch/XLA.
 *          docs/formats/xplane.md has the mapping
 * Sniffs   a plane with a known name
 * Maps     events with a duration, and all of devices -> slices; of the host without one -> instants; aggregated
 *          occurrences -> other; statistics -> arguments; producers and consumers -> flows
 * Units    ps -> ns and picoseconds        Shapes   n events -> n rows, and one for each end of a flow
 * Limits   XPLANE_ARGS statistics an event
 * Damage   complete parts of an incomplete message are read; after an invalid plane, reading continues with the next
 * Errors   FORMAT: no plane; DAMAGED: strict
 *
 * The files of a folder are the hosts of a run. One plane is in memory at a time. It is walked twice, since its names
 * come after its events.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io/pieces.h"
#include "base/json/json.h"
#include "format/stack_text.h"
#include "format/xplane/xplane.h"

enum { SPACE_PLANES = 1, SPACE_ERRORS, SPACE_WARNINGS, SPACE_HOSTNAMES };
enum { PLANE_LINES = 3, PLANE_EVENT_NAMES, PLANE_STAT_NAMES };
enum { HEADER_BYTES = 2 * HD_PROTO_VARINT_BYTES, SEARCH_BYTES = 1 << 16, LOOK_BYTES = 64, CLOCK_BYTES = 1 << 16 };

/* ---- what all of the reader uses ---- */

hd_status xplane_note(xplane_reader *r, const char *code, hd_ledger_level level, const uint8_t *place)
{
    uint64_t offset = r->base_offset;
    if (r->base && place >= r->base && place <= r->base + r->base_size) offset += (uint64_t)(place - r->base);
    hd_builder_ledger(r->builder, XPLANE_STAGE, code, level, 1, offset);
    if (!r->options->strict || level == HD_LEDGER_NOTE) return HD_OK;
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s, and --strict refuses repairs", code);
}

hd_status xplane_check(xplane_reader *r, const char *code, const hd_proto_reader *message, const hd_proto_head *head)
{
    if (head->unknown) HD_TRY(xplane_note(r, "xplane.unknown-field", HD_LEDGER_LOSS, message->data));
    if (!message->failed) return HD_OK;
    bool by_cut = r->is_cut && message->data + message->size == r->base + r->base_size; /* which is reported once */
    return by_cut ? HD_OK : xplane_note(r, code, HD_LEDGER_LOSS, message->data + message->at);
}

hd_status xplane_lose(xplane_reader *r, const char *code, const hd_proto_field *field)
{
    bool by_cut = r->is_cut && field->data + field->size == r->base + r->base_size;
    return by_cut ? HD_OK : xplane_note(r, code, HD_LEDGER_LOSS, field->data);
}

hd_status xplane_text(uint32_t *out, xplane_reader *r, hd_proto_span text)
{
    const char *data = text.size ? (const char *)text.data : "";
    size_t size = text.size;
    if (!hd_utf8_valid(data, size, false)) {
        r->text.size = 0;
        hd_text_put_utf8(&r->text, data, size);
        if (r->text.failed) return HD_NOMEM(r->err);
        data = (const char *)r->text.data;
        size = r->text.size;
        HD_TRY(xplane_note(r, "xplane.utf8", HD_LEDGER_REPAIR, text.data));
    }
    *out = hd_builder_intern(r->builder, data, size);
    return HD_OK;
}

/* ---- one plane ---- */

typedef struct plane_message {
    hd_proto_head head;
    uint64_t id;
    hd_proto_span name;
} plane_message;

#define PLANE_MEMBERS(names, rest)                                                                                     \
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, plane_message, id),                                                 \
    [HD_PROTO_BYTES(2)] = HD_MEMBER(HD_PUT_SPAN, plane_message, name), [HD_PROTO_BYTES(PLANE_LINES)] = {rest, 0},      \
    [HD_PROTO_BYTES(PLANE_EVENT_NAMES)] = {names, 0}, [HD_PROTO_BYTES(PLANE_STAT_NAMES)] = {names, 0},                 \
    [HD_PROTO_BYTES(6)] = {rest, 0}

static const hd_proto_member members_of_names[] = {PLANE_MEMBERS(HD_PUT_EACH, HD_PUT_PASS)};
static const hd_proto_member members_of_lines[] = {PLANE_MEMBERS(HD_PUT_PASS, HD_PUT_EACH)};
static const hd_proto_schema schema_of_names = {members_of_names, HD_PROTO_COUNT(members_of_names)};
static const hd_proto_schema schema_of_lines = {members_of_lines, HD_PROTO_COUNT(members_of_lines)};

static hd_status each_name(void *user, const hd_proto_field *field)
{
    bool is_stat = hd_proto_number(field) == PLANE_STAT_NAMES;
    if (field->value) return xplane_lose(user, "xplane.name-damaged", field);
    return is_stat ? xplane_add_stat_name(user, field) : xplane_add_event_name(user, field);
}

static hd_status each_part(void *user, const hd_proto_field *field)
{
    return hd_proto_number(field) == PLANE_LINES ? xplane_read_line(user, field) : xplane_add_plane_stat(user, field);
}

static hd_status read_plane(xplane_reader *r)
{
    hd_proto_reader names = hd_proto_reader_of(r->base, r->base_size), lines = names;
    plane_message about = {0}, again = {0};
    r->plane.number = ++r->plane_count;
    HD_TRY(hd_proto_walk(&about, &names, &schema_of_names, each_name, r));
    r->plane.id = about.id;
    r->plane.name = about.name;
    if (r->only_clock && !xplane_is_clock(about.name)) return HD_OK;
    HD_TRY(xplane_begin_plane(r));
    HD_TRY(hd_proto_walk(&again, &lines, &schema_of_lines, each_part, r));
    HD_TRY(xplane_check(r, "xplane.plane-damaged", &lines, &again.head));
    return xplane_end_plane(r);
}

/* ---- the file ---- */

typedef struct space {
    xplane_reader *r;
    hd_pieces pieces;
    hd_window window;
    uint64_t at;
} space;

/* Where a plane begins at or after `at`; the end of the file if none does. */
static hd_status find_plane(uint64_t *out, space *s, uint64_t at)
{
    while (at < s->pieces.size) {
        uint64_t left = s->pieces.size - at;
        size_t size = left < SEARCH_BYTES ? (size_t)left : SEARCH_BYTES, last = left > size ? size - LOOK_BYTES : size;
        const uint8_t *data = hd_window_at(&s->window, at, size, s->r->err);
        if (!data) return HD_ERR_IO;
        for (size_t i = 0; i < last; i++) {
            const uint8_t *next = memchr(data + i, HD_PROTO_BYTES(SPACE_PLANES), last - i);
            if (!next) break;
            i = (size_t)(next - data);
            *out = at + i;
            if (xplane_is_plane(next, size - i)) return HD_OK;
        }
        at += last;
    }
    *out = s->pieces.size;
    return HD_OK;
}

/* The bytes at s->at are not a field of XSpace. */
static hd_status skip_damage(space *s)
{
    xplane_reader *r = s->r;
    r->base_offset = s->at;
    if (r->plane_count == 0)
        return hd_error_set(r->err, HD_ERR_FORMAT, NULL, s->at, "expected a plane of an XSpace, found another field");
    HD_TRY(xplane_note(r, "xplane.bytes-skipped", HD_LEDGER_LOSS, NULL));
    return find_plane(&s->at, s, s->at + 1);
}

static hd_status add_text(space *s, uint32_t number, hd_proto_span text)
{
    xplane_reader *r = s->r;
    hd_json_out *lists[] = {NULL, NULL, &r->errors, &r->warnings, &r->hostnames};
    hd_json_out *list = lists[number];
    uint32_t id;
    HD_TRY(xplane_text(&id, r, text));
    hd_string whole = hd_builder_string(r->builder, id);
    hd_json_put_text(list, list->size ? "," : "[");
    hd_json_put_string(list, whole.data, whole.size);
    if (number == SPACE_HOSTNAMES) {
        if (!r->hostname) r->hostname = id;
        return HD_OK;
    }
    hd_builder_ledger_detail(r->builder, XPLANE_STAGE,
                             number == SPACE_ERRORS ? "xplane.profiler-error" : "xplane.profiler-warning",
                             HD_LEDGER_NOTE, 1, r->base_offset, id);
    return HD_OK;
}

/* `size` bytes after a header, in memory; all there are, if there are fewer. */
static hd_status read_content(space *s, uint32_t number, uint64_t from, uint64_t size)
{
    xplane_reader *r = s->r;
    if (r->only_clock && (number != SPACE_PLANES || size > CLOCK_BYTES)) return HD_OK;
    uint8_t *data = size <= SIZE_MAX ? malloc(size ? (size_t)size : 1) : NULL;
    if (!data) return HD_NOMEM(r->err);
    hd_status status = size ? hd_pieces_read(&s->pieces, data, from, (size_t)size, r->err) : HD_OK;
    r->base = data;
    r->base_size = (size_t)size;
    r->base_offset = from;
    if (status == HD_OK)
        status = number == SPACE_PLANES ? read_plane(r) : add_text(s, number, (hd_proto_span){data, (size_t)size});
    xplane_plane_deinit(&r->plane);
    r->plane = (xplane_plane){0};
    r->base = NULL;
    r->base_size = 0;
    free(data);
    return status;
}

static hd_status read_field(space *s)
{
    xplane_reader *r = s->r;
    uint64_t tag, length, left = s->pieces.size - s->at, next;
    size_t have = left < HEADER_BYTES ? (size_t)left : HEADER_BYTES, header = 0;
    const uint8_t *data = hd_window_at(&s->window, s->at, have, r->err);
    if (!data) return HD_ERR_IO;
    if (!hd_proto_varint(&tag, data, have, &header) || !hd_proto_varint(&length, data, have, &header)) {
        if (left >= HEADER_BYTES || r->plane_count == 0) return skip_damage(s);
        s->at = s->pieces.size;
        return xplane_note(r, "xplane.truncated", HD_LEDGER_LOSS, NULL);
    }
    uint32_t number = (uint32_t)(tag >> 3);
    if ((tag & 7) != HD_WIRE_BYTES || tag > HD_PROTO_BYTES(SPACE_HOSTNAMES) || !number) return skip_damage(s);
    uint64_t from = s->at + header;
    next = from + length;
    if (length > left - header) { /* cut off, or the length is wrong: as far as the next plane */
        r->base_offset = s->at;
        HD_TRY(xplane_note(r, "xplane.truncated", HD_LEDGER_LOSS, NULL));
        HD_TRY(find_plane(&next, s, from));
        r->is_cut = true;
    }
    HD_TRY(read_content(s, number, from, next - from));
    r->is_cut = false;
    s->at = next;
    return HD_OK;
}

static hd_status read_space(xplane_reader *r, hd_input *input)
{
    space s = {.r = r};
    HD_TRY(hd_pieces_open(&s.pieces, input, r->err));
    s.window.pieces = &s.pieces;
    hd_builder_facts(r->builder)->input_bytes += s.pieces.size;
    hd_status status = HD_OK;
    while (status == HD_OK && s.at < s.pieces.size) {
        status = read_field(&s);
        if (r->options->progress) r->options->progress(r->options->progress_user, s.at, s.pieces.size);
    }
    if (status == HD_OK) status = hd_pieces_unchanged(&s.pieces, r->err);
    hd_window_deinit(&s.window);
    hd_pieces_close(&s.pieces);
    return status;
}

/* ---- the whole ---- */

/* One file: a host of the run. Its planes, flows and names are its own. */
static hd_status read_host(xplane_reader *r, hd_input *input)
{
    const uint8_t *head;
    size_t size;
    HD_TRY(hd_input_peek(input, &head, &size, r->err));
    if (xplane_is_text_copy(head, size))
        return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, 0,
                            "an XPlane that was copied as text: bytes that are not UTF-8 were replaced by U+FFFD, and "
                            "its numbers are lost. Copy the original anew, as binary");
    r->first_track = hd_trace_track_count(hd_builder_trace(r->builder));
    r->planes_before = r->plane_count;
    r->hostname = HD_STRING_NONE;
    HD_TRY(read_space(r, input));
    HD_TRY(xplane_finish_flows(r));
    return xplane_finish_host(r, hd_input_path(input));
}

static void init(xplane_reader *r, hd_builder *builder, const hd_read_options *options, hd_error *err)
{
    *r = (xplane_reader){.builder = builder,
                         .options = options,
                         .err = err,
                         .want_args = options->args == HD_ARGS_ALL,
                         .host = HD_NO_NUMBER,
                         .profile_start_ns = HD_NO_TIME,
                         .first_ns = HD_NO_TIME};
    const struct {
        uint32_t *id;
        const char *text;
    } names[] = {{&r->key_bytes, "bytes"},
                 {&r->key_grid, "grid"},
                 {&r->key_block, "block"},
                 {&r->key_registers, "registers per thread"},
                 {&r->key_shared, "shared memory"},
                 {&r->key_long_name, "long_name"},
                 {&r->key_occurrences, "num_occurrences"},
                 {&r->key_offset, "offset_ps"},
                 {&r->key_duration, "duration_ps"},
                 {&r->category_kernel, "kernel"},
                 {&r->category_copy, "gpu_memcpy"},
                 {&r->category_set, "gpu_memset"},
                 {&r->category_python, "python_function"},
                 {&r->category_call, "runtime"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        *names[i].id = hd_builder_intern_text(builder, names[i].text);
}

static void deinit(xplane_reader *r)
{
    hd_json_out *texts[] = {&r->planes, &r->devices, &r->hostnames, &r->errors, &r->warnings};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]->data);
    hd_bytes_deinit(&r->text);
    hd_map_deinit(&r->flow_ends);
    hd_rows_out_deinit(&r->rows);
    free(r->flows);
    free(r->shapes);
}

static hd_status begin(xplane_reader *r)
{
    r->shapes = calloc(XPLANE_SHAPES, sizeof *r->shapes);
    return r->shapes ? hd_rows_out_init(&r->rows, r->builder, r->options->threads, r->err) : HD_NOMEM(r->err);
}

static hd_status finish(xplane_reader *r)
{
    HD_TRY(hd_rows_out_flush(&r->rows, r->err));
    return xplane_finish_metadata(r);
}

hd_status xplane_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    xplane_reader r;
    init(&r, builder, options, err);
    hd_status status = begin(&r);
    if (status == HD_OK) status = read_host(&r, input);
    if (status == HD_OK) status = finish(&r);
    deinit(&r);
    return status;
}

static hd_status read_file(xplane_reader *r, const char *path)
{
    hd_input *input;
    HD_TRY(hd_input_open(&input, path, NULL, r->err));
    hd_status status = read_host(r, input);
    hd_builder_facts(r->builder)->stored_bytes += hd_input_size_bytes(input);
    hd_input_close(input);
    if (status != HD_OK) hd_error_set_path(r->err, path);
    return status;
}

/* When the profile of a file began, which its plane Task Environment says; HD_NO_TIME: it does not. */
static hd_status find_start(int64_t *out, const char *path, const hd_read_options *options, hd_error *err)
{
    xplane_reader r;
    hd_read_options lenient = *options;
    hd_builder *builder;
    hd_input *input;
    lenient.strict = false; /* damage is reported when the file is read */
    lenient.progress = NULL;
    HD_TRY(hd_builder_new(&builder, err));
    init(&r, builder, &lenient, err);
    r.only_clock = true;
    hd_status status = hd_input_open(&input, path, NULL, err);
    if (status == HD_OK) {
        status = begin(&r);
        if (status == HD_OK) status = read_space(&r, input);
        hd_input_close(input);
    }
    *out = r.profile_start_ns;
    deinit(&r);
    hd_builder_free(builder);
    return status;
}

/* Hosts count from their own starts, unless their times are Unix times. */
static hd_status set_clock(xplane_reader *r, int64_t first_ns, int64_t own_ns)
{
    bool is_known = first_ns != HD_NO_TIME && own_ns != HD_NO_TIME;
    if (!is_known || __builtin_sub_overflow(own_ns, first_ns, &r->shift_ns)) r->shift_ns = 0;
    return is_known ? HD_OK : xplane_note(r, "xplane.clock-unknown", HD_LEDGER_NOTE, NULL);
}

/* A run of several hosts: each is a rank, so that device 0 of one is not that of another. */
static hd_status read_hosts(hd_builder *builder, char *const *paths, size_t count, const hd_read_options *options,
                            hd_error *err)
{
    xplane_reader r;
    hd_read_options own = *options;
    own.sources = false; /* offsets of several files say nothing */
    init(&r, builder, &own, err);
    int64_t first = HD_NO_TIME, start;
    hd_status status = begin(&r);
    for (size_t i = 0; status == HD_OK && i < count; i++) {
        r.host = count > 1 ? (int64_t)i : HD_NO_NUMBER;
        if (count > 1) status = find_start(&start, paths[i], options, err);
        if (i == 0 && count > 1) first = start;
        if (status == HD_OK && count > 1) status = set_clock(&r, first, start);
        if (status == HD_OK) status = read_file(&r, paths[i]);
    }
    if (status == HD_OK) status = finish(&r);
    deinit(&r);
    return status;
}

hd_status xplane_read_folder(hd_builder *builder, const char *folder, const hd_read_options *options, hd_error *err)
{
    char **paths;
    size_t count;
    HD_TRY(hd_folder_list(&paths, &count, folder, ".xplane.pb", "plugins/profile", err));
    hd_status status = count ? read_hosts(builder, paths, count, options, err) : HD_END;
    hd_folder_list_free(paths, count);
    return status;
}
