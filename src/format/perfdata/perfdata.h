/* perfdata.h - inside the reader of perf.data
 *
 *   perfdata.c   the descriptor for the list of formats
 *   read.c       the file or pipe: header, records, the order of their times
 *   features.c   data of the header: names of events, build-ids, the machine
 *   fields.c     the fields of samples and of other records, by their event's sample_type
 *   spaces.c     mappings of processes: address -> module and offset
 *   place.c      records -> rows
 */
#ifndef HD_FORMAT_PERFDATA_PERFDATA_H
#define HD_FORMAT_PERFDATA_PERFDATA_H

#include "base/io/compress.h"
#include "base/io/pieces.h"
#include "base/json/write.h"
#include "base/map.h"
#include "format/stack_samples.h"
#include "format/tracepoint/data.h"

enum {
    PERFDATA_MMAP = 1,
    PERFDATA_LOST,
    PERFDATA_COMM,
    PERFDATA_EXIT,
    PERFDATA_THROTTLE,
    PERFDATA_UNTHROTTLE,
    PERFDATA_FORK,
    PERFDATA_READ,
    PERFDATA_SAMPLE,
    PERFDATA_MMAP2,
    PERFDATA_LOST_SAMPLES = 13,
    PERFDATA_SWITCH,
    PERFDATA_SWITCH_CPU_WIDE,
    PERFDATA_NAMESPACES,
    PERFDATA_KSYMBOL,
    PERFDATA_KERNEL_TYPES = 24, /* more than there are */
    PERFDATA_ATTR = 64,
    PERFDATA_EVENT_TYPE,
    PERFDATA_TRACING_DATA,
    PERFDATA_BUILD_ID,
    PERFDATA_FINISHED_ROUND,
    PERFDATA_ID_INDEX,
    PERFDATA_AUXTRACE = 71,
    PERFDATA_THREAD_MAP = 73,
    PERFDATA_CPU_MAP,
    PERFDATA_EVENT_UPDATE = 78,
    PERFDATA_TIME_CONV,
    PERFDATA_FEATURE,
    PERFDATA_COMPRESSED,
    PERFDATA_FINISHED_INIT,
    PERFDATA_COMPRESSED2,
    PERFDATA_TYPES = 96, /* more than there are */
};

/* Entries of the ledger; the table is in read.c. */
enum {
    PERFDATA_DAMAGED,
    PERFDATA_TRUNCATED,
    PERFDATA_HEADER_DAMAGED,
    PERFDATA_SAMPLE_DAMAGED,
    PERFDATA_NO_EVENT,
    PERFDATA_EVENTS_LOST,
    PERFDATA_SAMPLES_LOST,
    PERFDATA_FIELDS,
    PERFDATA_LAYOUT_MISSING,
    PERFDATA_USER_STACK,
    PERFDATA_UNUSED,
    PERFDATA_MAPS_MANY,
    PERFDATA_TIME,
    PERFDATA_UTF8,
    PERFDATA_COMM_CHANGED,
    PERFDATA_SWITCHES,
};

#define PERFDATA_BIG_MAGIC "2ELIFREP" /* of big-endian machines, whose numbers all have reversed bytes */

/* ---- events and their fields ---- */

/* The description of an event: a perf_event_attr. */
typedef struct perfdata_event {
    uint64_t type, config, sample_type, read_format, branch_type, user_registers;
    uint64_t fixed_period; /* of each sample, if it is always the same; else 0 */
    bool has_all;          /* sample_id_all: other records end with the sample's thread, time, CPU … */
    uint32_t name;         /* string id */
} perfdata_event;

/* The fields of a sample, or the end of another record. */
typedef struct perfdata_fields {
    const perfdata_event *event; /* NULL: none of those that there are */
    bool has_thread, has_time, has_cpu, has_period, has_address, has_ip, is_damaged;
    bool has_others;     /* fields that a trace has no place for */
    bool has_user_stack; /* a copy of the stack's bytes */
    uint32_t pid, tid, cpu;
    uint64_t time, ip, period, address;
    const uint8_t *chain; /* of chain_count addresses */
    uint64_t chain_count;
    const uint8_t *raw;
    uint32_t raw_size;
} perfdata_fields;

typedef struct perfdata_record {
    const uint8_t *data; /* from its header on */
    uint32_t type, misc, size;
    uint64_t offset; /* in the input, or of the compressed record that it is in */
    bool is_big;     /* big-endian */
} perfdata_record;

enum { PERFDATA_HEAD_BYTES = 8, PERFDATA_ATTR_BYTES = 64 };

/* Numbers of machines of either kind. */
static inline uint64_t perfdata_get(bool is_big, const uint8_t *p, unsigned width)
{
    return is_big ? hd_be_get(p, width) : hd_le_get(p, width);
}

typedef struct perfdata_input {
    hd_byte_reader bytes;
    bool is_big;
} perfdata_input;

static inline uint64_t perfdata_take(perfdata_input *in, unsigned width)
{
    const uint8_t *p = hd_byte_reader_take(&in->bytes, width);
    return p ? perfdata_get(in->is_big, p, width) : 0;
}

/* Whether a record header is plausible at data[0 … 8); false also if the type is unknown. */
bool perfdata_head(perfdata_record *out, const uint8_t *data, bool is_big);

typedef struct perfdata_events {
    perfdata_event *list;
    size_t count, capacity;
    hd_map by_id;
    bool is_big; /* all of the input is big-endian */
} perfdata_events;

/* An attr of `size` bytes; NULL: no memory, or shorter than any. */
perfdata_event *perfdata_events_add(perfdata_events *events, const uint8_t *attr, size_t size);
/* The time of a record, as the order of records needs it; false: it has none. */
bool perfdata_time(uint64_t *out, const perfdata_events *events, const perfdata_record *record);
void perfdata_sample_fields(perfdata_fields *out, const perfdata_events *events, const perfdata_record *record);
void perfdata_other_fields(perfdata_fields *out, const perfdata_events *events, const perfdata_record *record);

/* ---- address spaces ---- */

typedef struct perfdata_mapping {
    uint64_t start, end, offset;
    uint32_t module;
} perfdata_mapping;

typedef struct perfdata_space {
    perfdata_mapping *list; /* by start, none over another */
    size_t count, capacity;
    bool has_ended;      /* its process has: others may need the room */
    uint32_t generation; /* unique among spaces, and changed by each modification */
} perfdata_space;

typedef struct perfdata_spaces {
    hd_map by_pid; /* -> perfdata_space */
    uint32_t generations;
    uint64_t mappings, limit; /* of all spaces */
} perfdata_spaces;

enum { PERFDATA_KERNEL_PID = -1 };

/* NULL: no memory. */
perfdata_space *perfdata_space_of(perfdata_spaces *spaces, uint32_t pid);
/* false: there are too many, and it is left out. */
bool perfdata_space_map(perfdata_spaces *spaces, perfdata_space *space, const perfdata_mapping *mapping);
bool perfdata_space_fork(perfdata_spaces *spaces, uint32_t child, uint32_t parent);
void perfdata_space_clear(perfdata_spaces *spaces, perfdata_space *space);
void perfdata_space_end(perfdata_spaces *spaces, uint32_t pid);
const perfdata_mapping *perfdata_space_find(const perfdata_space *space, uint64_t address); /* NULL: none */
void perfdata_spaces_deinit(perfdata_spaces *spaces);

/* ---- the reader ---- */

typedef struct perfdata_module {
    uint32_t path, build_id, name; /* string ids */
    bool is_kernel;
} perfdata_module;

typedef struct perfdata_reader {
    hd_stack_samples samples; /* builder, options, err are there too */
    tp_place tracepoints;
    tp_data layouts; /* of their raw data */
    perfdata_events events;
    perfdata_spaces spaces;
    hd_map comms;     /* tid -> string id */
    hd_map build_ids; /* string id of a path -> string id */
    hd_map module_by_path, module_by_name;
    perfdata_module *modules;
    size_t module_count, module_capacity;
    hd_map nodes;    /* (address, space's generation and caller's node) -> node */
    uint64_t *chain; /* addresses of the sample, from the leaf, */
    uint8_t *modes;  /* whose code they are */
    size_t chain_capacity, mode_capacity;
    hd_bytes text;
    hd_json_out about; /* members of the key "perf" */
    uint64_t place;    /* of the record at hand */
    hd_status refused; /* a repair, by --strict */
} perfdata_reader;

hd_status perfdata_count(perfdata_reader *r, int code, uint64_t count, uint64_t offset);
/* The id of a text that ends with its first NUL. */
uint32_t perfdata_text(perfdata_reader *r, const uint8_t *data, size_t size);

/* features.c: one feature of a header, `bit` in perf's numbering. Reads the known ones. */
hd_status perfdata_feature(perfdata_reader *r, uint64_t bit, const uint8_t *data, size_t size, uint64_t offset);
/* The names of all events, in perf's order, into `about`. */
void perfdata_put_events(perfdata_reader *r);
hd_status perfdata_add_attr(perfdata_reader *r, const uint8_t *attr, size_t size, const uint8_t *ids, size_t id_bytes,
                            uint64_t offset);
void perfdata_add_build_id(perfdata_reader *r, const uint8_t *record, size_t size);
void perfdata_update_event(perfdata_reader *r, const perfdata_record *record);

/* place.c: records in the order of their times; at the end the modules. */
hd_status perfdata_place(perfdata_reader *r, const perfdata_record *record);
hd_status perfdata_finish_modules(perfdata_reader *r);

hd_status perfdata_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

#endif
