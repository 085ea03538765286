/* rocprofv3.h - shared by the files of this folder: a record of rocprofv3, from JSON or CSV
 *
 *     json_run.c, csv_run.c ──> rocprof_record, by the names in record_keys.c ──> emit_record.c ──> rows
 *
 * In: the JSON of a run, one CSV, or the folder of a run's CSVs. Begin with rocprofv3.c, then emit_record.c.
 */
#ifndef HD_FORMAT_ROCPROFV3_H
#define HD_FORMAT_ROCPROFV3_H

#include "base/json/write.h"
#include "base/map.h"
#include "format/args.h"
#include "format/format.h"

#define ROCPROF_STAGE "rocprofv3"

/* The meaning of the members of records and of the columns of tables. */
typedef enum rocprof_field {
    ROCPROF_ARG, /* an argument under its own name */
    ROCPROF_SKIP,
    ROCPROF_KIND, /* numbers of JSON, names of CSV */
    ROCPROF_OPERATION,
    ROCPROF_KERNEL_NAME,
    ROCPROF_COUNTER_NAME,
    ROCPROF_NAMES,                 /* those before may be names */
    ROCPROF_AGENT = ROCPROF_NAMES, /* key of an agent */
    ROCPROF_SOURCE,
    ROCPROF_TARGET,
    ROCPROF_PROCESS,
    ROCPROF_THREAD,
    ROCPROF_CORRELATION,
    ROCPROF_EXTERNAL,
    ROCPROF_START,
    ROCPROF_END,
    ROCPROF_QUEUE,
    ROCPROF_STREAM,
    ROCPROF_KERNEL,
    ROCPROF_DISPATCH,
    ROCPROF_GRID_X,
    ROCPROF_GRID_Y,
    ROCPROF_GRID_Z,
    ROCPROF_BLOCK_X,
    ROCPROF_BLOCK_Y,
    ROCPROF_BLOCK_Z,
    ROCPROF_SHARED,
    ROCPROF_REGISTERS,
    ROCPROF_BYTES,
    ROCPROF_ADDRESS,
    ROCPROF_FIELDS
} rocprof_field;

typedef enum rocprof_domain {
    ROCPROF_KERNELS,
    ROCPROF_COPIES,
    ROCPROF_CALLS,
    ROCPROF_ALLOCATIONS,
    ROCPROF_SCRATCH,
    ROCPROF_COUNTERS,
    ROCPROF_OTHERS,
    ROCPROF_AGENTS
} rocprof_domain;

typedef struct rocprof_record {
    rocprof_domain domain;
    uint32_t list;                   /* string id: the name of the list in a JSON file, or of the kind of CSV */
    int64_t numbers[ROCPROF_FIELDS]; /* HD_NO_NUMBER: absent */
    uint32_t names[ROCPROF_NAMES];   /* string ids */
    double counter;
    bool has_bad_number; /* one that is none, or beyond int64 */
} rocprof_record;

/* record_keys.c. parent: the member that holds the object ("dispatch_info"), "" at the top. *out_key: the argument's
 * name, NULL: the key itself. */
rocprof_field rocprof_json_field(const char **out_key, hd_json_span parent, hd_json_span key);
/* Objects that only group members of their record. */
bool rocprof_is_group(hd_json_span key);
rocprof_field rocprof_csv_field(const char **out_key, const char *column, size_t size);

typedef struct rocprof_symbol {
    uint32_t name;
    int64_t registers;
} rocprof_symbol;

/* A process's part of a run. */
typedef struct rocprof_run {
    hd_builder *builder;
    const hd_read_options *options;
    hd_args args;
    hd_args spare;         /* kernels that only counters mention */
    uint64_t kernel_count; /* kernels with a record of their own */
    /* of the process in hand */
    uint32_t ordinal; /* 0, 1 … */
    int64_t pid;      /* HD_NO_NUMBER: unknown */
    int64_t last_dispatch;
    hd_map agents;    /* key -> device, or CPU_AGENT */
    hd_map kernels;   /* id -> index of symbols */
    hd_map names;     /* (kind + 1, operation + 1) -> string id; (kind + 1, 0) -> its own */
    hd_map markers;   /* correlation id -> string id */
    hd_map externals; /* external correlation id -> string id */
    hd_map counters;  /* id -> string id */
    hd_map tracks;    /* of all processes */
    hd_map processes; /* (pid, known) -> index */
    hd_map memory;    /* address -> index of sizes: live allocations */
    int64_t *sizes;
    size_t size_count, size_capacity;
    rocprof_symbol *symbols;
    size_t symbol_count, symbol_capacity;
    uint32_t keys[ROCPROF_FIELDS]; /* of arguments */
    struct {
        uint32_t kernel, copy, memory, scratch, counter, grid, block, grid_items, device, domain, end, operation, value;
    } text;
    hd_json_out agents_text, devices; /* metadata: all that is known of agents; deviceProperties */
    uint64_t bad_times, no_times;
} rocprof_run;

/* An agent's key is its handle, or its number among all ("Agent 4"); these constants are for numbering by kind ("GPU
 * 1"). */
#define ROCPROF_GPU_KEY (INT64_C(1) << 40)
#define ROCPROF_CPU_KEY (INT64_C(1) << 41)
#define ROCPROF_CPU_AGENT 0x80000000u

hd_status rocprof_run_init(rocprof_run *run, hd_builder *builder, const hd_read_options *options, hd_error *err);
void rocprof_run_deinit(rocprof_run *run);
/* Begins the next process: data of the last one is dropped. */
void rocprof_run_begin(rocprof_run *run, uint32_t ordinal, int64_t pid);
hd_status rocprof_run_finish(rocprof_run *run, hd_error *err);

void rocprof_record_init(rocprof_record *record, rocprof_domain domain, uint32_t list);
/* Adds the record, whose other arguments are in run->args already. */
hd_status rocprof_emit(rocprof_run *run, rocprof_record *record, hd_error *err);
uint32_t rocprof_name_process(rocprof_run *run, uint32_t name);
/* A GPU of the first process, for deviceProperties; units: HD_NO_NUMBER: unknown. */
void rocprof_add_device(rocprof_run *run, int64_t device, hd_string name, int64_t units);

bool rocprof_is_csv(const unsigned char *head, size_t size);
hd_status rocprof_read_json(rocprof_run *run, hd_input *input, hd_error *err);
/* One table; those of a run share `run`. */
hd_status rocprof_read_csv(rocprof_run *run, hd_input *input, hd_error *err);
/* HD_END: no file of the folder is a table of rocprofv3. */
hd_status rocprof_read_folder(hd_builder *builder, const char *folder, const hd_read_options *options, hd_error *err);

#endif
