/* read.c - Perfetto protobuf -> trace
 *
 * Format   one protobuf message `Trace`: packets of field 1, one after the other. Specified by the .proto files of the
 *          Perfetto project; written by its SDKs, Chrome, Android, traceconv, JAX and TensorFlow, and this program
 * Sniffs   the first packet: length and fields must fit, their contents must parse as messages, and a second packet or
 *          the end must follow
 * Maps     see docs/formats/perfetto.md; packets without a home -> ledger `perfetto.packet-…`, one code per kind
 * Units    times of any clock -> int64 ns of the trace's clock
 * Shapes   n packets -> n rows or fewer: begin and end become one slice
 * Limits   512 MiB a packet, as stored and decompressed
 * Damage   a packet that contradicts itself or does not decompress is skipped; after bytes that are not a packet,
 *          reading continues with the next one; a file cut off within a packet is read up to the cut
 * Errors   FORMAT when the first packet is invalid; DAMAGED when strict, or no packet can be read
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "format/perfetto/read/reader.h"

enum {
    BUFFER_BYTES = 1 << 20,
    PACKET_LIMIT = 512 << 20,
    HEADER_BYTES = 2 * 10,
    LOOK_BYTES = 512,       /* of a possible packet, when one is searched */
    FOUND_LIMIT = 16 << 20, /* of a packet that is found by searching */
};

/* ---- sniff ---- */

/* Whether a number or a length is wrong, and not merely cut off where the bytes end that are there. */
static bool is_no_number(size_t at, size_t size, size_t have)
{
    return have == size || have - at >= HD_PROTO_VARINT_BYTES;
}

/* Whether bytes parse as the fields of a message, as far as available: names and other texts hardly ever do. */
static bool is_message(const unsigned char *data, size_t size, size_t have)
{
    for (size_t at = 0; at < have;) {
        uint64_t tag, value;
        if (!hd_proto_varint(&tag, data, have, &at)) return !is_no_number(at, size, have);
        if (tag > UINT32_MAX || tag >> 3 == 0) return false;
        uint32_t wire = tag & 7;
        if (wire == HD_WIRE_FIXED64 || wire == HD_WIRE_FIXED32) {
            value = wire == HD_WIRE_FIXED64 ? 8 : 4;
        } else {
            if (wire != HD_WIRE_VARINT && wire != HD_WIRE_BYTES) return false;
            if (!hd_proto_varint(&value, data, have, &at)) return !is_no_number(at, size, have);
            if (wire == HD_WIRE_VARINT) continue;
        }
        if (value > size - at) return false;
        at += (size_t)value;
    }
    return true;
}

/* Fields of TracePacket that are bytes and no message. */
static bool is_opaque(uint32_t number)
{
    return number == PF_PACKET_SYNCHRONIZATION_MARKER || number == PF_PACKET_COMPRESSED_PACKETS ||
           number == PF_PACKET_ZSTD_COMPRESSED_PACKETS;
}

/* Whether a field of TracePacket has the wire type of its number. */
static bool is_packet_field(uint32_t tag)
{
    uint32_t number = tag >> 3, wire = tag & 7;
    switch (number) {
    case PF_PACKET_TRUSTED_UID:
    case PF_PACKET_TIMESTAMP:
    case PF_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
    case PF_PACKET_SEQUENCE_FLAGS:
    case PF_PACKET_INCREMENTAL_STATE_CLEARED:
    case PF_PACKET_PREVIOUS_PACKET_DROPPED:
    case PF_PACKET_TIMESTAMP_CLOCK_ID:
    case PF_PACKET_TRUSTED_PID:
    case PF_PACKET_FIRST_PACKET_ON_SEQUENCE:
    case PF_PACKET_MACHINE_ID: return wire == HD_WIRE_VARINT;
    default: return wire == HD_WIRE_BYTES && number <= 2000;
    }
}

/* Walk a packet of `size` bytes of which `have` are there. */
static bool is_packet(const unsigned char *data, size_t size, size_t have)
{
    for (size_t at = 0; at < have;) {
        uint64_t tag, value;
        if (!hd_proto_varint(&tag, data, have, &at)) return !is_no_number(at, size, have);
        if (tag > UINT32_MAX || !is_packet_field((uint32_t)tag)) return false;
        if (!hd_proto_varint(&value, data, have, &at)) return !is_no_number(at, size, have);
        if ((tag & 7) != HD_WIRE_BYTES) continue;
        if (value > size - at) return false;
        size_t left = have - at;
        if (!is_opaque((uint32_t)tag >> 3) &&
            !is_message(data + at, (size_t)value, value < left ? (size_t)value : left))
            return false;
        at += (size_t)value;
    }
    return true;
}

/* JSON after an empty line begins like a packet: JSON has no bytes below a space except white space. */
static bool is_json_text(const unsigned char *head, size_t size)
{
    size_t i = 0;
    while (i < size && strchr(" \t\r\n", head[i]) && head[i]) i++;
    if (i < size && head[i] != '{' && head[i] != '[') return false;
    for (; i < size; i++) {
        if (head[i] < ' ' && head[i] != '\t' && head[i] != '\r' && head[i] != '\n') return false;
    }
    return true;
}

int perfetto_sniff(const unsigned char *head, size_t size)
{
    size_t at = 1;
    uint64_t length;
    if (size < 3 || head[0] != HD_PROTO_BYTES(PF_TRACE_PACKET) || is_json_text(head, size)) return 0;
    if (!hd_proto_varint(&length, head, size, &at) || length == 0 || length > PACKET_LIMIT) return 0;
    bool whole = length <= size - at;
    if (!is_packet(head + at, (size_t)length, whole ? (size_t)length : size - at)) return 0;
    if (!whole) return 70;
    at += (size_t)length;
    return at == size || head[at] == HD_PROTO_BYTES(PF_TRACE_PACKET) ? 90 : 0;
}

/* ---- what all of the reader uses ---- */

hd_status perfetto_check(perfetto_reader *reader, const hd_proto_reader *message)
{
    if (!message->failed) return HD_OK;
    const uint8_t *place = message->data + message->at;
    uint64_t offset = reader->base_offset;
    if (place >= reader->base && place <= reader->base + reader->base_size) offset += (uint64_t)(place - reader->base);
    return hd_error_set(reader->err, HD_ERR_DAMAGED, NULL, offset,
                        "a field here is cut off or longer than the message that holds it (packet at %" PRIu64 ")",
                        reader->packet_offset);
}

void perfetto_note(perfetto_reader *reader, const char *code, hd_ledger_level level, uint64_t count)
{
    hd_builder_ledger(reader->builder, PERFETTO_STAGE, code, level, count, reader->packet_offset);
}

hd_status perfetto_grow(perfetto_reader *reader, void **list, size_t *capacity, size_t count, size_t element_size)
{
    return hd_grow(list, capacity, count, element_size) ? HD_OK : HD_NOMEM(reader->err);
}

hd_status perfetto_add_row(perfetto_reader *reader, hd_row *row, const perfetto_args *args)
{
    HD_TRY(perfetto_shape(reader, row, args));
    return hd_rows_out_add(&reader->rows, row, reader->values, reader->err);
}

/* ---- packets ---- */

hd_status perfetto_read_trace(perfetto_reader *reader, const uint8_t *data, size_t size)
{
    hd_proto_reader message = hd_proto_reader_of(data, size);
    hd_proto_field field;
    while (hd_proto_next(&field, &message)) {
        if (field.tag != HD_PROTO_BYTES(PF_TRACE_PACKET)) {
            perfetto_note(reader, "perfetto.unknown-field", HD_LEDGER_LOSS, 1);
            continue;
        }
        uint64_t damaged = reader->damaged_count;
        HD_TRY(perfetto_read_packet(reader, field.data, field.size));
        reader->packet_count += damaged == reader->damaged_count;
    }
    return perfetto_check(reader, &message);
}

/* The bytes of the input from `offset` on, as many as are there. */
typedef struct window {
    uint8_t *data;
    size_t size, at, capacity;
    uint64_t offset; /* of data[0] */
    bool ended;
} window;

/* At least `wanted` bytes from w->at on, or all there are. Memory grows with the bytes read, not with the claimed size.
 */
static hd_status fill(window *w, perfetto_reader *reader, size_t wanted)
{
    while (w->size - w->at < wanted && !w->ended) {
        if (w->at && (w->at >= w->size / 2 || w->size == w->capacity)) {
            memmove(w->data, w->data + w->at, w->size - w->at);
            w->offset += w->at;
            w->size -= w->at;
            w->at = 0;
        }
        if (w->size == w->capacity) {
            size_t capacity = w->capacity ? w->capacity * 2 : BUFFER_BYTES;
            uint8_t *data = realloc(w->data, capacity);
            if (!data) return HD_NOMEM(reader->err);
            w->data = data;
            w->capacity = capacity;
        }
        size_t got = 0;
        hd_status status = hd_input_next(reader->input, w->data + w->size, w->capacity - w->size, &got, reader->err);
        if (status != HD_OK && status != HD_END) return status;
        w->size += got;
        w->ended = status == HD_END;
        if (reader->options->progress)
            reader->options->progress(reader->options->progress_user, hd_input_stored_position(reader->input),
                                      hd_input_size_bytes(reader->input));
    }
    return HD_OK;
}

/* Sniffs at `at` bytes after w->at. */
static int sniff_at(const window *w, size_t at)
{
    size_t have = w->size - w->at - at;
    return perfetto_sniff(w->data + w->at + at, have < LOOK_BYTES ? have : LOOK_BYTES);
}

/* Whether a packet is at w->at: whole, and followed by another one or the end. */
static hd_status is_packet_here(bool *out, window *w, perfetto_reader *reader)
{
    uint64_t tag, length;
    size_t header = 0;
    *out = false;
    HD_TRY(fill(w, reader, LOOK_BYTES));
    const uint8_t *p = w->data + w->at;
    size_t have = w->size - w->at;
    if (!sniff_at(w, 0) || !hd_proto_varint(&tag, p, have, &header) || !hd_proto_varint(&length, p, have, &header))
        return HD_OK;
    if (length > FOUND_LIMIT) return HD_OK;
    size_t size = header + (size_t)length;
    HD_TRY(fill(w, reader, size + LOOK_BYTES));
    have = w->size - w->at;
    *out = have == size || (have > size && sniff_at(w, size));
    return HD_OK;
}

/* To the next packet behind w->at, or to the end. */
static hd_status find_packet(window *w, perfetto_reader *reader)
{
    bool found = false;
    for (w->at++; !found;) {
        HD_TRY(fill(w, reader, LOOK_BYTES));
        if (w->at == w->size) return HD_OK;
        const uint8_t *next = memchr(w->data + w->at, HD_PROTO_BYTES(PF_TRACE_PACKET), w->size - w->at);
        w->at = next ? (size_t)(next - w->data) : w->size;
        if (next) HD_TRY(is_packet_here(&found, w, reader));
        w->at += next && !found;
    }
    return HD_OK;
}

/* No packet begins at w->at: moves on to the next one. */
static hd_status skip_damage(window *w, perfetto_reader *reader, const char *what)
{
    bool first = reader->packet_count == 0 && reader->damaged_count == 0;
    if (reader->options->strict || first)
        return hd_error_set(reader->err, first ? HD_ERR_FORMAT : HD_ERR_DAMAGED, NULL, reader->packet_offset,
                            "expected a Perfetto packet, found %s", what);
    perfetto_lose(reader, 0);
    return find_packet(w, reader);
}

/* The input ends within the packet at w->at; or a length is wrong, and packets follow anyway. */
static hd_status skip_cut(window *w, perfetto_reader *reader)
{
    uint64_t offset = reader->packet_offset;
    if (reader->options->strict)
        return hd_error_set(reader->err, HD_ERR_DAMAGED, NULL, offset,
                            "the input ends within the packet that begins here, and --strict refuses repairs");
    if (reader->packet_count == 0 && reader->damaged_count == 0)
        return hd_error_set(reader->err, HD_ERR_DAMAGED, NULL, offset, "the input ends within its first packet");
    HD_TRY(find_packet(w, reader));
    if (w->at < w->size)
        perfetto_lose(reader, 0);
    else
        perfetto_note(reader, "perfetto.truncated", HD_LEDGER_LOSS, 1);
    return HD_OK;
}

/* A field of Trace that is not a packet: counted, and passed over if packets follow. */
static hd_status skip_other(window *w, perfetto_reader *reader, size_t header, uint64_t tag, uint64_t value)
{
    size_t size = header;
    switch (tag & 7) {
    case HD_WIRE_VARINT: break; /* its value is part of the header */
    case HD_WIRE_BYTES: size += (size_t)value; break;
    default: return skip_damage(w, reader, "another kind of field");
    }
    HD_TRY(fill(w, reader, size + LOOK_BYTES));
    size_t have = w->size - w->at;
    if (have < size && reader->packet_count + reader->damaged_count == 0) return skip_cut(w, reader);
    if (have != size && (have < size || !sniff_at(w, size))) return skip_damage(w, reader, "another field");
    perfetto_note(reader, "perfetto.unknown-field", HD_LEDGER_LOSS, 1);
    w->at += size;
    return HD_OK;
}

/* The packet at w->at. HD_END: the input is read. */
static hd_status read_next(window *w, perfetto_reader *reader)
{
    HD_TRY(fill(w, reader, HEADER_BYTES));
    size_t have = w->size - w->at, header = 0;
    const uint8_t *p = w->data + w->at;
    uint64_t tag, length, damaged = reader->damaged_count;
    if (have == 0) return HD_END;
    uint64_t offset = reader->packet_offset = w->offset + w->at;
    reader->group_damaged = false;
    if (!hd_proto_varint(&tag, p, have, &header) || !hd_proto_varint(&length, p, have, &header))
        return have - header >= HD_PROTO_VARINT_BYTES ? skip_damage(w, reader, "no number") : skip_cut(w, reader);
    if (tag > UINT32_MAX || tag >> 3 == 0) return skip_damage(w, reader, "no field");
    if ((tag & 7) == HD_WIRE_BYTES && length > PACKET_LIMIT) return skip_damage(w, reader, "a length beyond 512 MiB");
    if (tag != HD_PROTO_BYTES(PF_TRACE_PACKET)) return skip_other(w, reader, header, tag, length);
    size_t size = header + (size_t)length;
    HD_TRY(fill(w, reader, size));
    if (w->size - w->at < size) return skip_cut(w, reader);
    reader->base = w->data + w->at;
    reader->base_size = size;
    reader->base_offset = offset;
    HD_TRY(perfetto_read_packet(reader, reader->base + header, (size_t)length));
    if (damaged == reader->damaged_count) {
        reader->packet_count++;
        w->at += size;
        return HD_OK;
    }
    HD_TRY(fill(w, reader, size + LOOK_BYTES));
    have = w->size - w->at;
    if (reader->group_damaged && (have == size || sniff_at(w, size))) {
        w->at += size; /* its readable part was read */
        return HD_OK;
    }
    return find_packet(w, reader); /* its length may be damaged */
}

static hd_status read_packets(perfetto_reader *reader)
{
    window w = {0};
    hd_status status;
    do status = read_next(&w, reader);
    while (status == HD_OK);
    hd_builder_facts(reader->builder)->input_bytes = w.offset + w.size;
    free(w.data);
    if (status != HD_END) return status;
    if (reader->packet_count == 0)
        return hd_error_set(reader->err, reader->damaged_count ? HD_ERR_DAMAGED : HD_ERR_FORMAT, NULL, 0,
                            "no Perfetto packet in this input%s", reader->damaged_count ? " can be read" : "");
    return HD_OK;
}

/* ---- the whole ---- */

static hd_status read_all(perfetto_reader *reader)
{
    HD_TRY(hd_rows_out_init(&reader->rows, reader->builder, reader->options->threads, reader->err));
    HD_TRY(read_packets(reader));
    reader->packet_offset = HD_OFFSET_NONE;
    HD_TRY(perfetto_prepare_tracks(reader));
    HD_TRY(perfetto_finish_slices(reader));
    HD_TRY(perfetto_finish_samples(reader));
    HD_TRY(perfetto_finish_flows(reader));
    HD_TRY(perfetto_finish_stacks(reader));
    HD_TRY(hd_rows_out_flush(&reader->rows, reader->err));
    HD_TRY(perfetto_finish_ftrace(reader));
    HD_TRY(perfetto_finish_tracks(reader));
    hd_builder_facts(reader->builder)->has_args = reader->want_args;
    return perfetto_find_facts(reader);
}

static void reader_free(perfetto_reader *reader)
{
    for (size_t i = 0; i < reader->sequence_count; i++) perfetto_sequence_free(reader->sequences[i]);
    hd_map *maps[] = {&reader->sequence_index, &reader->track_index,  &reader->thread_index, &reader->process_index,
                      &reader->group_index,    &reader->used_pids,    &reader->gpu_counters, &reader->old_queues,
                      &reader->old_stages,     &reader->old_contexts, &reader->gpu_tracks};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    void *lists[] = {reader->sequences,
                     reader->records,
                     reader->threads,
                     reader->late,
                     reader->args.list,
                     reader->joined.list,
                     reader->counter_args.list,
                     reader->keys,
                     reader->values,
                     reader->json.data,
                     reader->text.data,
                     reader->utf8,
                     reader->event_flows,
                     reader->extra_tracks,
                     reader->extra_double_tracks,
                     reader->extra_values,
                     reader->extra_doubles};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    hd_large_free(reader->flows);
    hd_large_free(reader->tracks);
    perfetto_slices_free(reader);
    perfetto_stacks_free(reader);
    perfetto_ftrace_free(reader);
    perfetto_clocks_free(&reader->clocks);
    hd_rows_out_deinit(&reader->rows);
}

hd_status perfetto_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    perfetto_reader reader = {
        .builder = builder,
        .options = options,
        .input = input,
        .err = err,
        .want_args = options->args == HD_ARGS_ALL,
    };
    hd_status status = read_all(&reader);
    if (status == HD_OK && (reader.json.failed || reader.text.failed)) status = HD_NOMEM(err);
    reader_free(&reader);
    return status;
}
