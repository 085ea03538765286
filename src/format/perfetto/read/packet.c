/* packet.c - one packet: its sequence, its time, its contents */
#include "base/bytes.h"
#include "base/io/compress.h"
#include "format/perfetto/read/reader.h"

#include <stdlib.h>

enum { DECOMPRESSED_LIMIT = 512 << 20 };

/* Contents of a packet without a place in a trace. */
typedef struct cargo {
    uint16_t number;
    uint8_t level;
    const char *code;
} cargo;

static const cargo cargoes[] = {
    {PF_PACKET_INODE_FILE_MAP, HD_LEDGER_LOSS, "perfetto.packet-inode-file-map"},
    {PF_PACKET_SYS_STATS, HD_LEDGER_LOSS, "perfetto.packet-sys-stats"},
    {PF_PACKET_PROCESS_STATS, HD_LEDGER_LOSS, "perfetto.packet-process-stats"},
    {PF_PACKET_TRACE_CONFIG, HD_LEDGER_NOTE, "perfetto.packet-trace-config"},
    {PF_PACKET_FTRACE_STATS, HD_LEDGER_NOTE, "perfetto.packet-ftrace-stats"},
    {PF_PACKET_TRACE_STATS, HD_LEDGER_NOTE, "perfetto.packet-trace-stats"},
    {PF_PACKET_SYNCHRONIZATION_MARKER, HD_LEDGER_NOTE, "perfetto.packet-synchronization-marker"},
    {PF_PACKET_PROFILE_PACKET, HD_LEDGER_LOSS, "perfetto.packet-profile"},
    {PF_PACKET_BATTERY, HD_LEDGER_LOSS, "perfetto.packet-battery"},
    {PF_PACKET_ANDROID_LOG, HD_LEDGER_LOSS, "perfetto.packet-android-log"},
    {PF_PACKET_POWER_RAILS, HD_LEDGER_LOSS, "perfetto.packet-power-rails"},
    {PF_PACKET_TRIGGER, HD_LEDGER_NOTE, "perfetto.packet-trigger"},
    {PF_PACKET_PACKAGES_LIST, HD_LEDGER_NOTE, "perfetto.packet-packages-list"},
    {PF_PACKET_CHROME_BENCHMARK_METADATA, HD_LEDGER_NOTE, "perfetto.packet-chrome-benchmark-metadata"},
    {PF_PACKET_PERFETTO_METATRACE, HD_LEDGER_LOSS, "perfetto.packet-metatrace"},
    {PF_PACKET_CHROME_METADATA, HD_LEDGER_NOTE, "perfetto.packet-chrome-metadata"},
    {PF_PACKET_STREAMING_PROFILE_PACKET, HD_LEDGER_LOSS, "perfetto.packet-streaming-profile"},
    {PF_PACKET_GRAPHICS_FRAME_EVENT, HD_LEDGER_LOSS, "perfetto.packet-graphics-frame-event"},
    {PF_PACKET_MODULE_SYMBOLS, HD_LEDGER_LOSS, "perfetto.packet-module-symbols"},
    {PF_PACKET_VULKAN_MEMORY_EVENT, HD_LEDGER_LOSS, "perfetto.packet-vulkan-memory-event"},
    {PF_PACKET_GPU_LOG, HD_LEDGER_LOSS, "perfetto.packet-gpu-log"},
    {PF_PACKET_DEOBFUSCATION_MAPPING, HD_LEDGER_LOSS, "perfetto.packet-deobfuscation-mapping"},
    {PF_PACKET_VULKAN_API_EVENT, HD_LEDGER_LOSS, "perfetto.packet-vulkan-api-event"},
    {PF_PACKET_CPU_INFO, HD_LEDGER_NOTE, "perfetto.packet-cpu-info"},
    {PF_PACKET_SMAPS_PACKET, HD_LEDGER_LOSS, "perfetto.packet-smaps"},
    {PF_PACKET_SERVICE_EVENT, HD_LEDGER_NOTE, "perfetto.packet-service-event"},
    {PF_PACKET_INITIAL_DISPLAY_STATE, HD_LEDGER_LOSS, "perfetto.packet-initial-display-state"},
    {PF_PACKET_GPU_MEM_TOTAL_EVENT, HD_LEDGER_LOSS, "perfetto.packet-gpu-mem-total-event"},
    {PF_PACKET_EXTENSION_DESCRIPTOR, HD_LEDGER_NOTE, "perfetto.packet-extension-descriptor"},
    {PF_PACKET_MEMORY_TRACKER_SNAPSHOT, HD_LEDGER_LOSS, "perfetto.packet-memory-tracker-snapshot"},
    {PF_PACKET_STREAMING_ALLOCATION, HD_LEDGER_LOSS, "perfetto.packet-streaming-allocation"},
    {PF_PACKET_STREAMING_FREE, HD_LEDGER_LOSS, "perfetto.packet-streaming-free"},
    {PF_PACKET_ANDROID_ENERGY_ESTIMATION_BREAKDOWN, HD_LEDGER_LOSS, "perfetto.packet-android-energy-estimation"},
    {PF_PACKET_UI_STATE, HD_LEDGER_NOTE, "perfetto.packet-ui-state"},
    {PF_PACKET_TRANSLATION_TABLE, HD_LEDGER_LOSS, "perfetto.packet-translation-table"},
    {PF_PACKET_ANDROID_GAME_INTERVENTION_LIST, HD_LEDGER_LOSS, "perfetto.packet-android-game-intervention-list"},
    {PF_PACKET_STATSD_ATOM, HD_LEDGER_LOSS, "perfetto.packet-statsd-atom"},
    {PF_PACKET_ANDROID_SYSTEM_PROPERTY, HD_LEDGER_LOSS, "perfetto.packet-android-system-property"},
    {PF_PACKET_TRACE_UUID, HD_LEDGER_NOTE, "perfetto.packet-trace-uuid"},
    {PF_PACKET_TRACK_EVENT_RANGE_OF_INTEREST, HD_LEDGER_NOTE, "perfetto.packet-range-of-interest"},
    {PF_PACKET_ENTITY_STATE_RESIDENCY, HD_LEDGER_LOSS, "perfetto.packet-entity-state-residency"},
    {PF_PACKET_ETW_EVENTS, HD_LEDGER_LOSS, "perfetto.packet-etw-events"},
    {PF_PACKET_V8_JS_CODE, HD_LEDGER_LOSS, "perfetto.packet-v8-code"},
    {PF_PACKET_V8_JS_CODE + 1, HD_LEDGER_LOSS, "perfetto.packet-v8-code"}, /* internal, Wasm, RegExp code, code moves */
    {PF_PACKET_V8_JS_CODE + 2, HD_LEDGER_LOSS, "perfetto.packet-v8-code"},
    {PF_PACKET_V8_JS_CODE + 3, HD_LEDGER_LOSS, "perfetto.packet-v8-code"},
    {PF_PACKET_V8_JS_CODE + 4, HD_LEDGER_LOSS, "perfetto.packet-v8-code"},
    {PF_PACKET_REMOTE_CLOCK_SYNC, HD_LEDGER_LOSS, "perfetto.packet-remote-clock-sync"},
    {PF_PACKET_CHROME_TRIGGER, HD_LEDGER_NOTE, "perfetto.packet-chrome-trigger"},
    {PF_PACKET_CLONE_SNAPSHOT_TRIGGER, HD_LEDGER_NOTE, "perfetto.packet-clone-snapshot-trigger"},
    {PF_PACKET_GENERIC_KERNEL_TASK_STATE_EVENT, HD_LEDGER_LOSS, "perfetto.packet-generic-kernel-task-state"},
    {PF_PACKET_GENERIC_KERNEL_CPU_FREQ_EVENT, HD_LEDGER_LOSS, "perfetto.packet-generic-kernel-cpu-frequency"},
    {PF_PACKET_GENERIC_KERNEL_TASK_RENAME_EVENT, HD_LEDGER_LOSS, "perfetto.packet-generic-kernel-task-rename"},
    {PF_PACKET_GENERIC_KERNEL_PROCESS_TREE, HD_LEDGER_LOSS, "perfetto.packet-generic-kernel-process-tree"},
    {PF_PACKET_TRACE_PROVENANCE, HD_LEDGER_NOTE, "perfetto.packet-trace-provenance"},
    {PF_PACKET_TRACE_ATTRIBUTES, HD_LEDGER_NOTE, "perfetto.packet-trace-attributes"},
    {PF_PACKET_GPU_INFO, HD_LEDGER_NOTE, "perfetto.packet-gpu-info"},
    {PF_PACKET_GENERIC_GPU_FREQUENCY_EVENT, HD_LEDGER_LOSS, "perfetto.packet-gpu-frequency"},
    {PF_PACKET_STACK_SAMPLE, HD_LEDGER_LOSS, "perfetto.packet-stack-sample"},
};

/* A packet's fields. */
typedef struct packet {
    uint32_t sequence_id, flags, clock_id;
    uint64_t time, dropped;
    bool has_sequence, has_time, has_clock, cleared, has_defaults, has_interned, has_data;
    hd_proto_field defaults, interned, data;
} packet;

static void count_cargo(perfetto_reader *reader, uint32_t number)
{
    for (size_t i = 0; i < sizeof cargoes / sizeof *cargoes; i++) {
        if (cargoes[i].number != number) continue;
        perfetto_note(reader, cargoes[i].code, (hd_ledger_level)cargoes[i].level, 1);
        return;
    }
    perfetto_note(reader, "perfetto.packet-unknown", HD_LEDGER_LOSS, 1);
}

/* ---- compressed packets ---- */

static hd_status read_compressed(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_bytes bytes = {0};
    const uint8_t *base = reader->base;
    size_t base_size = reader->base_size;
    uint64_t offset = reader->packet_offset;
    if (base != NULL && base_size == 0)
        return hd_error_set(reader->err, HD_ERR_DAMAGED, NULL, offset, "compressed packets within compressed packets");
    bool zlib = hd_proto_number(field) == PF_PACKET_COMPRESSED_PACKETS;
    hd_status inflated =
        (zlib ? hd_zlib_decompress : hd_zstd_decompress)(&bytes, field->data, field->size, DECOMPRESSED_LIMIT, NULL);
    reader->base = bytes.data ? bytes.data : base;
    reader->base_size = 0; /* offsets within it do not refer to the file */
    hd_status status = inflated == HD_ERR_MEMORY ? HD_NOMEM(reader->err) : HD_OK;
    if (inflated == HD_OK || (inflated == HD_ERR_DAMAGED && !reader->options->strict))
        status = perfetto_read_trace(reader, bytes.data, bytes.size);
    reader->base = base;
    reader->base_size = base_size;
    hd_bytes_deinit(&bytes);
    if (inflated == HD_OK || (status != HD_OK && status != HD_ERR_DAMAGED)) return status;
    return hd_error_set(reader->err, HD_ERR_DAMAGED, NULL, offset,
                        "compressed packets that cannot be decompressed to their end, or to more than %d MiB",
                        DECOMPRESSED_LIMIT >> 20);
}

/* ---- one packet ---- */

static hd_status read_fields(packet *out, perfetto_reader *reader, const uint8_t *data, size_t size)
{
    hd_proto_reader message = hd_proto_reader_of(data, size);
    hd_proto_field f;
    *out = (packet){0};
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_PACKET_TIMESTAMP):
            out->time = f.value;
            out->has_time = true;
            break;
        case HD_PROTO_VARINT(PF_PACKET_TIMESTAMP_CLOCK_ID):
            out->clock_id = (uint32_t)f.value;
            out->has_clock = true;
            break;
        case HD_PROTO_VARINT(PF_PACKET_TRUSTED_PACKET_SEQUENCE_ID):
            out->sequence_id = (uint32_t)f.value;
            out->has_sequence = true;
            break;
        case HD_PROTO_VARINT(PF_PACKET_SEQUENCE_FLAGS): out->flags = (uint32_t)f.value; break;
        case HD_PROTO_VARINT(PF_PACKET_INCREMENTAL_STATE_CLEARED): out->cleared = f.value != 0; break;
        case HD_PROTO_VARINT(PF_PACKET_PREVIOUS_PACKET_DROPPED): out->dropped = f.value; break;
        case HD_PROTO_BYTES(PF_PACKET_TRACE_PACKET_DEFAULTS):
            out->defaults = f;
            out->has_defaults = true;
            break;
        case HD_PROTO_BYTES(PF_PACKET_INTERNED_DATA):
            out->interned = f;
            out->has_interned = true;
            break;
        case HD_PROTO_VARINT(PF_PACKET_TRUSTED_UID):
        case HD_PROTO_VARINT(PF_PACKET_TRUSTED_PID):
        case HD_PROTO_VARINT(PF_PACKET_FIRST_PACKET_ON_SEQUENCE): break;
        case HD_PROTO_VARINT(PF_PACKET_MACHINE_ID):
            if (f.value) perfetto_note(reader, "perfetto.machine-merged", HD_LEDGER_NOTE, 1);
            break;
        default: /* a oneof: two occur only if a length is damaged and this is the next packet */
            if (out->has_data)
                return hd_error_set(reader->err, HD_ERR_DAMAGED, NULL, reader->packet_offset,
                                    "a packet that carries two things (fields %u and %u)", hd_proto_number(&out->data),
                                    hd_proto_number(&f));
            out->data = f;
            out->has_data = true;
        }
    }
    return perfetto_check(reader, &message);
}

/* The sequence's state as the packet says it is. */
static hd_status update_sequence(perfetto_sequence **out, perfetto_reader *reader, const packet *p)
{
    perfetto_sequence *s;
    HD_TRY(perfetto_get_sequence(&s, reader, p->sequence_id));
    if (p->dropped && s->seen) perfetto_note(reader, "perfetto.packets-dropped-by-writer", HD_LEDGER_LOSS, 1);
    s->seen = true;
    if (p->cleared || p->flags & PF_SEQ_INCREMENTAL_STATE_CLEARED)
        perfetto_sequence_reset(reader, s);
    else if (p->dropped)
        s->valid = false;
    if (p->has_defaults) HD_TRY(perfetto_read_defaults(reader, s, &p->defaults));
    if (p->has_interned) HD_TRY(perfetto_read_interned(reader, s, &p->interned));
    *out = s;
    return HD_OK;
}

/* Contents that need a time, on the clock of the packet, the sequence, or the trace. */
static hd_status read_timed(perfetto_reader *reader, perfetto_sequence *s, const packet *p)
{
    int64_t time_ns = 0;
    uint32_t clock = p->has_clock ? p->clock_id : s->clock_id;
    if (p->has_time && !perfetto_trace_time(&time_ns, reader, s, clock, p->time)) return HD_OK;
    switch (hd_proto_number(&p->data)) {
    case PF_PACKET_TRACK_EVENT:
        if (!p->has_sequence) perfetto_note(reader, "perfetto.event-without-sequence", HD_LEDGER_NOTE, 1);
        return perfetto_read_event(reader, s, &p->data, time_ns, p->has_time);
    case PF_PACKET_GPU_RENDER_STAGE_EVENT: return perfetto_read_stage(reader, s, &p->data, time_ns, p->has_time);
    case PF_PACKET_PERF_SAMPLE: return perfetto_read_perf_sample(reader, s, &p->data, time_ns, p->has_time);
    default: return perfetto_read_gpu_counters(reader, s, &p->data, time_ns, p->has_time);
    }
}

/* Reads the contents of the packet. */
static hd_status read_data(perfetto_reader *reader, perfetto_sequence *s, const packet *p)
{
    if (!p->has_data) return HD_OK;
    if (p->data.tag == HD_PROTO_BYTES(PF_PACKET_CLOCK_SNAPSHOT)) return perfetto_read_snapshot(reader, s, &p->data);
    if (p->flags & PF_SEQ_NEEDS_INCREMENTAL_STATE && !s->valid) {
        perfetto_note(reader, "perfetto.packet-before-state", HD_LEDGER_LOSS, 1);
        return HD_OK;
    }
    switch (p->data.tag) {
    case HD_PROTO_BYTES(PF_PACKET_TRACK_EVENT):
    case HD_PROTO_BYTES(PF_PACKET_GPU_RENDER_STAGE_EVENT):
    case HD_PROTO_BYTES(PF_PACKET_PERF_SAMPLE):
    case HD_PROTO_BYTES(PF_PACKET_GPU_COUNTER_EVENT): return read_timed(reader, s, p);
    case HD_PROTO_BYTES(PF_PACKET_TRACK_DESCRIPTOR): return perfetto_read_descriptor(reader, &p->data);
    case HD_PROTO_BYTES(PF_PACKET_FTRACE_EVENTS): return perfetto_read_ftrace(reader, s, &p->data);
    case HD_PROTO_BYTES(PF_PACKET_SYSTEM_INFO): return perfetto_read_system_info(reader, &p->data);
    case HD_PROTO_BYTES(PF_PACKET_CHROME_EVENTS): return perfetto_read_chrome_events(reader, &p->data);
    case HD_PROTO_BYTES(PF_PACKET_PROCESS_TREE): return perfetto_read_process_tree(reader, &p->data);
    case HD_PROTO_BYTES(PF_PACKET_PROCESS_DESCRIPTOR): return perfetto_read_process_descriptor(reader, &p->data);
    case HD_PROTO_BYTES(PF_PACKET_THREAD_DESCRIPTOR): return perfetto_read_thread_descriptor(reader, s, &p->data);
    case HD_PROTO_BYTES(PF_PACKET_COMPRESSED_PACKETS):
    case HD_PROTO_BYTES(PF_PACKET_ZSTD_COMPRESSED_PACKETS): return read_compressed(reader, &p->data);
    default:
        if (p->has_time) perfetto_pass_time(reader, s, p->has_clock ? p->clock_id : s->clock_id, p->time);
        count_cargo(reader, hd_proto_number(&p->data));
        return HD_OK;
    }
}

/* ---- damage ---- */

void perfetto_lose(perfetto_reader *reader, uint32_t sequence_id)
{
    perfetto_note(reader, "perfetto.packet-damaged", HD_LEDGER_LOSS, 1);
    reader->damaged_count++;
    for (size_t i = 0; i < reader->sequence_count; i++) {
        perfetto_sequence *s = reader->sequences[i];
        if (s->clears > 1 && (!sequence_id || s->id == sequence_id)) s->valid = false;
    }
    perfetto_lose_time(reader, sequence_id);
}

/* Damage within the packet, or within its compressed data: only the packet is skipped, and of compressed packets only
 * those after the damage. */
static hd_status pass_damage(perfetto_reader *reader, const packet *p, bool fields_read, bool state_read)
{
    perfetto_sequence *s;
    bool group = p->data.tag == HD_PROTO_BYTES(PF_PACKET_COMPRESSED_PACKETS) ||
                 p->data.tag == HD_PROTO_BYTES(PF_PACKET_ZSTD_COMPRESSED_PACKETS);
    if (reader->err) *reader->err = (hd_error){0};
    reader->group_damaged = fields_read && group;
    if (!fields_read || group) {
        perfetto_lose(reader, p->has_sequence && !group ? p->sequence_id : 0);
        return HD_OK;
    }
    perfetto_note(reader, "perfetto.packet-damaged", HD_LEDGER_LOSS, 1);
    reader->damaged_count++;
    if (state_read || !p->has_time) return HD_OK;
    HD_TRY(perfetto_get_sequence(&s, reader, p->sequence_id)); /* later times may count from this one */
    perfetto_pass_time(reader, s, p->has_clock ? p->clock_id : s->clock_id, p->time);
    return HD_OK;
}

hd_status perfetto_read_packet(perfetto_reader *reader, const uint8_t *data, size_t size)
{
    packet p;
    perfetto_sequence *s;
    hd_status status = read_fields(&p, reader, data, size);
    bool fields_read = status == HD_OK;
    if (fields_read) status = update_sequence(&s, reader, &p);
    bool state_read = status == HD_OK;
    if (state_read) status = read_data(reader, s, &p);
    if (status != HD_ERR_DAMAGED || reader->options->strict) return status;
    return pass_damage(reader, &p, fields_read, state_read);
}
