/* reader.h - shared by the files of the Perfetto reader
 *
 *   read.c      the file: packets, one after the other
 *   packet.c    one packet: its sequence, its time, its contents
 *   sequence.c  packet sequences: interned data, defaults
 *   clock.c     clock snapshots, times of other clocks
 *   tracks.c    track descriptors; names.c  final names of tracks
 *   event.c     track events; legacy.c those with phases of the Chrome format
 *   slices.c    begins and ends -> slices; flows; counters
 *   values.c    arguments; annotation.c debug annotations
 *   gpu.c       render stages and counters of GPUs
 *   stacks.c    stack samples
 *   meta.c      top-level keys of Chrome traces; rank and base time
 *
 * In: packets. Out: a trace. Begin with read.c.
 */
#ifndef HD_FORMAT_PERFETTO_READ_READER_H
#define HD_FORMAT_PERFETTO_READ_READER_H

#include "base/error.h"
#include "base/json/write.h"
#include "base/map.h"
#include "base/protobuf/read.h"
#include "format/numbers.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/perfetto.h"
#include "format/perfetto/told.h"
#include "format/rows_out.h"
#include "format/tracepoint/tracepoint.h"
#include "heddle/stacks.h"

/* ---- packet sequences: what one writer of one process wrote ---- */

enum { PERFETTO_TEXT_KINDS = 4 }; /* categories, names of events and arguments, text values */

typedef struct perfetto_sequence {
    uint32_t id;
    uint32_t generation; /* counts how often the state of any sequence was cleared; 0 before the first time */
    uint32_t clears;     /* how often this one's was */
    bool valid;          /* its state was cleared and nothing was lost since */
    bool seen;
    hd_map interned; /* (field of InternedData, iid) -> string id or record */
    struct perfetto_texts {
        uint32_t *list; /* string id + 1 by iid, 0: none */
        size_t count, used;
    } texts[PERFETTO_TEXT_KINDS]; /* of small iids, which producers assign in sequence: found without hashing */
    bool has_track_uuid;          /* defaults */
    uint64_t track_uuid;
    uint32_t clock_id; /* 0: none */
    uint64_t *extra_tracks, *extra_double_tracks;
    size_t extra_count, extra_capacity, extra_double_count, extra_double_capacity;
    bool has_thread; /* from a thread descriptor of the old form */
    int64_t pid, tid;
    int64_t time_us, thread_time_us, instructions; /* bases of deltas of the old form */
} perfetto_sequence;

/* Interned things that are more than a text. */
typedef struct perfetto_record {
    uint32_t text[3]; /* location: file, function; specification: name; kernel: name, demangled, architecture */
    int64_t number;   /* location: line; specification: category; context: pid */
} perfetto_record;

/* ---- clocks ---- */

typedef struct perfetto_clock {
    uint32_t id, sequence; /* sequence: 0 unless the clock is local to one */
    uint64_t unit_ns;
    bool incremental;
    bool lost;       /* a time that later ones are relative to is missing: none is valid until the next snapshot */
    int64_t last_ns; /* base of an incremental time */
    uint32_t *pairs; /* those that start here */
    size_t pair_count, pair_capacity;
    uint32_t mark, via;          /* of the search for a path */
    uint32_t path_version;       /* when `path` was searched */
    uint32_t path[4], path_size; /* pairs to the trace's clock; PERFETTO_NO_PATH */
} perfetto_clock;

enum { PERFETTO_PATH_LIMIT = 4, PERFETTO_NO_PATH = 99 };

/* Readings of two clocks at the same moment, ascending. */
typedef struct perfetto_clock_pair {
    uint32_t from, to;
    struct perfetto_reading {
        int64_t from_ns, to_ns;
    } * list;
    size_t count, capacity;
} perfetto_clock_pair;

typedef struct perfetto_clocks {
    hd_map index; /* (id, sequence) */
    perfetto_clock *list;
    size_t count, capacity;
    hd_map pair_index; /* (from, to) */
    perfetto_clock_pair *pairs;
    size_t pair_count, pair_capacity;
    uint32_t version, mark;
    uint32_t trace_clock; /* id, 0: unknown so far */
    bool primary;         /* a snapshot named it */
} perfetto_clocks;

/* ---- tracks ---- */

typedef struct perfetto_track {
    uint64_t uuid, parent_uuid;
    bool described, has_parent, has_children, is_process, is_thread, is_counter, has_rank, is_incremental, provisional;
    bool has_late; /* samples wait for the end */
    bool is_group; /* it says how its children are ordered */
    bool has_lanes, is_identified;
    bool is_async, is_old_async; /* from our writer */
    uint32_t lane_of;            /* the track that has the slices which cross these, HD_NONE: none */
    int64_t pid, tid, rank;
    uint32_t name, process_name, labels, description;
    uint32_t track;         /* track of its events, HD_NONE: none yet */
    uint32_t process_track; /* for counters */
    uint32_t unit;
    uint32_t series, category; /* of a counter from our writer */
    bool has_series;
    int64_t multiplier;
    uint32_t generation; /* of the sum */
    int64_t sum;
    double double_sum;
} perfetto_track;

/* A thread or process that is known by its numbers. */
typedef struct perfetto_thread {
    int64_t pid, tid, rank;
    uint32_t name, labels, track;
    int64_t order, job_rank;    /* HD_NO_NUMBER: not known */
    bool is_process, described; /* by a track descriptor */
    bool is_made_up;            /* pid or tid: our writer stored the true one, ident */
    hd_ident ident;
} perfetto_thread;

/* ---- slices, flows, counters ---- */

typedef struct perfetto_arg {
    hd_arg_key key;
    int64_t bits;
} perfetto_arg;

typedef struct perfetto_args {
    perfetto_arg *list;
    size_t count, capacity;
} perfetto_args;

typedef enum perfetto_open_kind { PF_OPEN_SLICE, PF_OPEN_NO_DURATION, PF_OPEN_STATE } perfetto_open_kind;

typedef struct perfetto_open_slice {
    hd_row row;
    uint32_t sequence;
    uint32_t arg_count;
    size_t first_arg; /* in the args of its stack */
    perfetto_open_kind kind;
    uint64_t number;               /* in the order of begins */
    size_t first_held;             /* first of those held that are within it */
    size_t first_flow, flow_count; /* its flow points */
    int64_t point_ns;              /* when no slice within it is open, nor begins; HD_NO_TIME: not since it began */
    bool follows_empty;            /* a slice of length 0 that ended when this one began */
} perfetto_open_slice;

/* An end whose begin has not been read. */
typedef struct perfetto_lone_end {
    int64_t time_ns;
    uint64_t offset;
    size_t first_arg, arg_count;
} perfetto_lone_end;

/* The open slices of a lane. */
typedef struct perfetto_stack {
    perfetto_open_slice *open;
    size_t open_count, open_capacity;
    perfetto_args args;
    perfetto_open_slice *held; /* closed ones, added after the slice around them */
    size_t held_count, held_capacity;
    perfetto_lone_end *ends;
    size_t end_count, end_capacity;
    perfetto_args end_args;
    bool has_empty;   /* a slice of length 0 ended */
    int64_t empty_ns; /* when the last one did */
} perfetto_stack;

typedef struct perfetto_flow {
    uint64_t id;
    int64_t time_ns;
    int64_t point_ns; /* for flow points that no slice inside takes, or HD_NO_TIME */
    uint64_t order;
    uint32_t track;
    char phase; /* 0: by its place in the flow; 'f': the last */
} perfetto_flow;

typedef struct perfetto_number {
    bool is_double;
    int64_t integer;
    double real;
} perfetto_number;

typedef struct perfetto_counter {
    uint32_t name, unit, series, category;
} perfetto_counter;

/* A counter's sample whose track has no descriptor yet. */
typedef struct perfetto_late_sample {
    uint64_t uuid;
    int64_t time_ns;
    perfetto_number value;
    uint32_t generation;
} perfetto_late_sample;

typedef struct perfetto_kernel_event perfetto_kernel_event;

typedef struct perfetto_reader {
    hd_builder *builder;
    hd_rows_out rows;
    const hd_read_options *options;
    hd_input *input;
    hd_error *err;
    bool want_args;

    const uint8_t *base; /* bytes that offsets of errors count from */
    size_t base_size;
    uint64_t base_offset;   /* and their offset in the input */
    uint64_t packet_offset; /* of the packet, or of the compressed one that contains it */
    uint64_t packet_count, slice_count;
    uint64_t damaged_count;                  /* packets, and other bytes, that could not be read */
    bool group_damaged;                      /* the last of them: compressed packets, in a packet that is fine */
    uint32_t tts_key, tdur_key, end_tts_key; /* of members, where an event had a thread's time */

    hd_map sequence_index; /* (id, 0) */
    perfetto_sequence **sequences;
    size_t sequence_count, sequence_capacity;
    perfetto_sequence *last_sequence;
    uint32_t generation;
    perfetto_record *records;
    size_t record_count, record_capacity;

    perfetto_clocks clocks;

    hd_map track_index; /* (uuid, 0) */
    perfetto_track *tracks;
    size_t track_count, track_capacity;
    hd_map thread_index, process_index; /* (pid, tid) */
    perfetto_thread *threads;
    size_t thread_count, thread_capacity;
    hd_map group_index; /* (text of a pid, 0) -> topmost track that is the process */
    hd_map used_pids;   /* (text of a pid, 0) */

    perfetto_stack *stacks; /* by lane */
    uint32_t end_track;     /* track of the end of an asynchronous slice, HD_NONE: that of its begin */
    perfetto_stack spare;   /* buffers of a lane without open slices: only open, held and args */
    size_t stack_count, stack_capacity;
    perfetto_flow *flows;
    size_t flow_count, flow_capacity;
    perfetto_late_sample *late;
    size_t late_count, late_capacity;

    perfetto_args args; /* of the event at hand */
    perfetto_args joined, counter_args;
    hd_arg_key *keys; /* scratch of perfetto_shape */
    int64_t *values;
    size_t key_capacity, value_capacity;
    hd_json_out json;
    hd_json_out text;
    char *utf8;
    size_t utf8_capacity;
    struct perfetto_event_flow {
        uint64_t id;
        char phase;
    } * event_flows;
    size_t event_flow_count, event_flow_capacity;
    uint64_t *extra_tracks, *extra_double_tracks;
    size_t extra_track_count, extra_track_capacity, extra_double_track_count, extra_double_track_capacity;
    uint64_t *extra_values, *extra_doubles;
    size_t extra_value_count, extra_value_capacity, extra_double_count, extra_double_capacity;

    hd_stacks *stack_tree; /* NULL: no stacks yet */
    struct perfetto_stack_sample *stack_samples;
    size_t stack_sample_count, stack_sample_capacity;

    hd_map gpu_counters;           /* (gpu, counter) -> record: name, unit */
    hd_map old_queues, old_stages; /* (number, 0) -> record */
    uint64_t old_queue_count, old_stage_count;
    hd_map old_contexts; /* (context, 0) -> record */
    hd_map gpu_tracks;   /* (gpu, queue and its form) -> track */

    perfetto_kernel_event *kernel_events; /* of ftrace */
    size_t kernel_event_count, kernel_event_capacity;
    hd_bytes kernel_bytes;
    uint32_t kernel_version; /* 6.1 is 6 << 16 | 1; 0: unknown */
    hd_map kernel_processes; /* tid -> pid, of process trees */
} perfetto_reader;

/* ---- read.c ---- */

/* HD_OK, or the damage at which a message's reader failed. */
hd_status perfetto_check(perfetto_reader *reader, const hd_proto_reader *message);
void perfetto_note(perfetto_reader *reader, const char *code, hd_ledger_level level, uint64_t count);
/* Reads a Trace message in memory: the contents of compressed packets. */
hd_status perfetto_read_trace(perfetto_reader *reader, const uint8_t *data, size_t size);
/* Room for one more element of a list. */
hd_status perfetto_grow(perfetto_reader *reader, void **list, size_t *capacity, size_t count, size_t element_size);
/* Add the row with reader->args as its arguments. */
hd_status perfetto_add_row(perfetto_reader *reader, hd_row *row, const perfetto_args *args);

/* ---- ftrace.c ---- */

hd_status perfetto_read_ftrace(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field);
hd_status perfetto_read_system_info(perfetto_reader *reader, const hd_proto_field *field);
/* After all is read: slices of CPUs, states of threads. */
hd_status perfetto_finish_ftrace(perfetto_reader *reader);
void perfetto_ftrace_free(perfetto_reader *reader);

/* ---- packet.c ---- */

/* A packet that contradicts itself or does not decompress is left out, and counted. */
hd_status perfetto_read_packet(perfetto_reader *reader, const uint8_t *data, size_t size);
/* Unreadable bytes may have been packets of a sequence (0: of any): relative times are lost, and so is the state of a
 * writer that clears it from time to time. A writer that clears it only once only adds to it, so that its later packets
 * are still understood. */
void perfetto_lose(perfetto_reader *reader, uint32_t sequence_id);

/* ---- sequence.c ---- */

hd_status perfetto_get_sequence(perfetto_sequence **out, perfetto_reader *reader, uint32_t id);
void perfetto_sequence_reset(perfetto_reader *reader, perfetto_sequence *sequence);
void perfetto_sequence_free(perfetto_sequence *sequence);
hd_status perfetto_read_defaults(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field);
hd_status perfetto_read_interned(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field);
/* The text of an iid; where the sequence has none: counted, and HD_STRING_NONE. */
uint32_t perfetto_interned_text(perfetto_reader *reader, const perfetto_sequence *sequence, uint32_t kind,
                                uint64_t iid);
const perfetto_record *perfetto_interned_record(perfetto_reader *reader, const perfetto_sequence *sequence,
                                                uint32_t kind, uint64_t iid);
hd_status perfetto_add_record(perfetto_reader *reader, uint32_t *out, perfetto_record record);
/* The string id of a text of the input, UTF-8 or not. */
uint32_t perfetto_text(perfetto_reader *reader, const hd_proto_field *field);
hd_status perfetto_append_u64(perfetto_reader *reader, uint64_t **list, size_t *count, size_t *capacity,
                              uint64_t value);

/* ---- clock.c ---- */

hd_status perfetto_read_snapshot(perfetto_reader *reader, const perfetto_sequence *sequence,
                                 const hd_proto_field *field);
/* The effect of perfetto_lose on incremental clocks. */
void perfetto_lose_time(perfetto_reader *reader, uint32_t sequence_id);
/* A time of a clock as nanoseconds of the trace's clock. false: out of range, and counted. */
bool perfetto_trace_time(int64_t *out, perfetto_reader *reader, const perfetto_sequence *sequence, uint32_t clock_id,
                         uint64_t time);
/* Applies the time of a skipped packet: a clock with times since the last packet advances with each of them. */
void perfetto_pass_time(perfetto_reader *reader, const perfetto_sequence *sequence, uint32_t clock_id, uint64_t time);
/* Fills facts.base_ns. */
void perfetto_find_base(perfetto_reader *reader);
void perfetto_clocks_free(perfetto_clocks *clocks);

/* ---- tracks.c ---- */

hd_status perfetto_read_descriptor(perfetto_reader *reader, const hd_proto_field *field);
hd_status perfetto_read_thread_descriptor(perfetto_reader *reader, perfetto_sequence *sequence,
                                          const hd_proto_field *field);
hd_status perfetto_read_process_descriptor(perfetto_reader *reader, const hd_proto_field *field);
hd_status perfetto_read_process_tree(perfetto_reader *reader, const hd_proto_field *field);
/* The index of a uuid's track in reader->tracks, described or not. */
hd_status perfetto_get_track(uint32_t *out, perfetto_reader *reader, uint64_t uuid);
/* The track of the events of a uuid; its slices nest per lane, of which a track may have several. */
hd_status perfetto_event_track(uint32_t *out, uint32_t *out_lane, perfetto_reader *reader, uint64_t uuid);
/* The lane of slices on a track of threads or processes: they nest across uuids. */
static inline uint32_t perfetto_track_lane(uint32_t track)
{
    return track << 1 | 1;
}

/* The track of a thread known by its numbers. */
hd_status perfetto_thread_track(uint32_t *out, perfetto_reader *reader, int64_t pid, int64_t tid);
/* The track of a counter's samples; false: its owner is not known yet. */
hd_status perfetto_counter_track(uint32_t *out, bool *known, perfetto_reader *reader, uint32_t index, bool at_end);
hd_ident perfetto_number_ident(perfetto_reader *reader, int64_t number);
/* A thread, or the process itself (tid is 0). */
hd_status perfetto_get_thread(perfetto_thread **out, perfetto_reader *reader, int64_t pid, int64_t tid,
                              bool is_process);

/* ---- names.c ---- */

/* Two texts with a comma between. */
uint32_t perfetto_join(perfetto_reader *reader, uint32_t first, uint32_t second);
/* The pid for tracks without an ancestor process. */
hd_status perfetto_group_ident(hd_ident *out, perfetto_reader *reader, uint32_t root);
/* Before the first of the calls that finish. */
hd_status perfetto_prepare_tracks(perfetto_reader *reader);
/* Names, order and identities, once all descriptors are there. */
hd_status perfetto_finish_tracks(perfetto_reader *reader);
/* Whether a lane is of asynchronous slices. */
static inline const perfetto_track *perfetto_async_track(const perfetto_reader *reader, uint32_t lane)
{
    const perfetto_track *t = lane & 1 ? NULL : &reader->tracks[lane >> 1];
    return t && t->is_async ? t : NULL;
}
/* Our writer's description of a track; its texts are the builder's. */
pf_told perfetto_told_of(const perfetto_reader *reader, const perfetto_track *t);

/* ---- event.c, legacy.c ---- */

typedef struct perfetto_legacy {
    char phase; /* 0: none */
    int64_t duration_us, thread_duration_us;
    bool has_duration, has_thread_duration, has_pid, has_tid, has_bind, bind_enclosing;
    uint32_t id_type; /* HD_ID_INT, with scope; HD_ID_NONE */
    uint64_t id, bind_id;
    uint32_t id_scope, scope, direction;
    int64_t pid, tid;
} perfetto_legacy;

typedef struct perfetto_event {
    uint32_t type, name, category;
    bool has_track_uuid, has_value;
    uint64_t track_uuid;
    perfetto_number value;
    int64_t time_ns;
    bool has_time, has_thread_time;
    int64_t thread_time_us;
    perfetto_legacy legacy;
} perfetto_event;

/* time_ns: of the packet; has_time false: it has none. */
hd_status perfetto_read_event(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field,
                              int64_t time_ns, bool has_time);
hd_status perfetto_read_legacy(perfetto_legacy *out, uint32_t *name, perfetto_reader *reader,
                               const perfetto_sequence *sequence, const hd_proto_field *field);
hd_status perfetto_add_legacy(perfetto_reader *reader, perfetto_sequence *sequence, perfetto_event *event,
                              uint32_t track, uint32_t lane);

/* ---- slices.c ---- */

hd_status perfetto_begin_slice(perfetto_reader *reader, const hd_row *row, uint32_t lane, uint32_t sequence,
                               perfetto_open_kind kind);
/* *out_start_ns: start of the slice that ends here, the end's time if unknown; *out_point_ns: see above. */
hd_status perfetto_end_slice(int64_t *out_start_ns, int64_t *out_point_ns, perfetto_reader *reader, uint32_t lane,
                             int64_t time_ns, uint32_t sequence);
/* The state before on the lane ends. */
hd_status perfetto_end_state(perfetto_reader *reader, uint32_t lane, int64_t time_ns);
/* Members `tts` of both ends of a slice are a time of its thread and how long that ran. */
void perfetto_know_thread_times(perfetto_reader *reader);
hd_status perfetto_finish_slices(perfetto_reader *reader);
hd_status perfetto_add_flow(perfetto_reader *reader, uint64_t id, char phase, uint32_t track, int64_t time_ns,
                            int64_t point_ns);
hd_status perfetto_finish_flows(perfetto_reader *reader);
hd_status perfetto_add_sample(perfetto_reader *reader, uint64_t uuid, int64_t time_ns, perfetto_number value,
                              uint32_t generation);
hd_status perfetto_finish_samples(perfetto_reader *reader);
/* A row of one counter. */
hd_status perfetto_add_counter_row(perfetto_reader *reader, uint32_t track, const perfetto_counter *counter,
                                   int64_t time_ns, perfetto_number value);
void perfetto_slices_free(perfetto_reader *reader);

/* ---- values.c ---- */

hd_status perfetto_add_arg(perfetto_reader *reader, perfetto_args *args, uint32_t key, hd_arg_type type,
                           hd_arg_scope scope, int64_t bits);
hd_status perfetto_add_text_arg(perfetto_reader *reader, const char *key, uint32_t text);
hd_status perfetto_add_int_arg(perfetto_reader *reader, const char *key, int64_t value);
hd_status perfetto_add_unsigned_arg(perfetto_reader *reader, const char *key, uint64_t value);
/* As a member of the event itself, outside args. */
hd_status perfetto_add_member(perfetto_reader *reader, const char *key, hd_arg_type type, int64_t bits);
/* A shape for the row, and its values (reader->values). */
hd_status perfetto_shape(perfetto_reader *reader, hd_row *row, const perfetto_args *args);

/* ---- annotation.c ---- */

hd_status perfetto_read_annotation(perfetto_reader *reader, const perfetto_sequence *sequence,
                                   const hd_proto_field *field);
hd_status perfetto_read_task(perfetto_reader *reader, const perfetto_sequence *sequence, const hd_proto_field *field);
hd_status perfetto_read_log(perfetto_reader *reader, const perfetto_sequence *sequence, const hd_proto_field *field);
hd_status perfetto_read_location(perfetto_reader *reader, const hd_proto_field *field);
hd_status perfetto_read_callstack(perfetto_reader *reader, const hd_proto_field *field);
hd_status perfetto_add_location(perfetto_reader *reader, const perfetto_sequence *sequence, const char *prefix,
                                uint64_t iid);

/* ---- meta.c ---- */

hd_status perfetto_read_chrome_events(perfetto_reader *reader, const hd_proto_field *field);
/* Streams, rank and base time, once all is there. */
hd_status perfetto_find_facts(perfetto_reader *reader);

/* ---- gpu.c ---- */

hd_status perfetto_read_stage(perfetto_reader *reader, const perfetto_sequence *sequence, const hd_proto_field *field,
                              int64_t time_ns, bool has_time);
hd_status perfetto_read_gpu_counters(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field,
                                     int64_t time_ns, bool has_time);
/* The specs of a counter descriptor into a map. */
hd_status perfetto_read_counter_specs(perfetto_reader *reader, hd_map *map, uint64_t scope,
                                      const hd_proto_field *field);

/* ---- stacks.c ---- */

typedef struct perfetto_stack_sample perfetto_stack_sample;

/* Mappings, frames and call stacks of InternedData; their texts were read before. */
hd_status perfetto_read_stacks(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field);
hd_status perfetto_read_perf_sample(perfetto_reader *reader, const perfetto_sequence *sequence,
                                    const hd_proto_field *field, int64_t time_ns, bool has_time);
/* The rows of all samples, once all metadata is there. */
hd_status perfetto_finish_stacks(perfetto_reader *reader);
void perfetto_stacks_free(perfetto_reader *reader);

#endif
