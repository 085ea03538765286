/* sbt.h - shared by reading and writing SBT: the bytes of the file, and the names of records in a trace */
#ifndef HD_FORMAT_SBT_SBT_H
#define HD_FORMAT_SBT_SBT_H

#include "base/bytes.h"
#include "format/format.h"

#define SBT_STAGE "sbt"

enum {
    SBT_HEADER_BYTES = 72,
    SBT_TYPE_COUNT = 22, /* 0 … 21, and 255 */
    SBT_CUSTOM = 255,
};

enum { SBT_LITTLE_ENDIAN = 1, SBT_HAS_STRINGS = 2 };
enum { SBT_METADATA = 1, SBT_STRINGS = 2, SBT_DEVICES = 3, SBT_EVENTS = 4, SBT_END = 0xff };
enum { SBT_HAS_DURATION = 1, SBT_HAS_KERNEL = 2, SBT_HAS_MEMORY = 4, SBT_HAS_STACK = 8, SBT_KNOWN_FLAGS = 15 };

typedef enum sbt_type {
    SBT_UNKNOWN,
    SBT_KERNEL_LAUNCH,
    SBT_KERNEL_COMPLETE,
    SBT_MEMCPY_H2D,
    SBT_MEMCPY_D2H,
    SBT_MEMCPY_D2D,
    SBT_MEMSET,
    SBT_STREAM_SYNC,
    SBT_DEVICE_SYNC,
    SBT_EVENT_RECORD,
    SBT_EVENT_SYNC,
    SBT_STREAM_CREATE,
    SBT_STREAM_DESTROY,
    SBT_CONTEXT_CREATE,
    SBT_CONTEXT_DESTROY,
    SBT_MEM_ALLOC,
    SBT_MEM_FREE,
    SBT_MARKER,
    SBT_RANGE_START,
    SBT_RANGE_END,
    SBT_NCCL_START,
    SBT_NCCL_COMPLETE,
} sbt_type;

/* TraceSmith's name of a type, "Custom" for 255, NULL for an unnamed number. */
const char *sbt_type_name(unsigned type);
/* The type of a name, -1: none. */
int sbt_type_find(const char *name, size_t size);
/* The category of events of this type in a trace: "kernel", "gpu_memcpy" … */
const char *sbt_type_category(unsigned type);

/* ---- one record ---- */

enum { SBT_KERNEL_VALUES = 8, SBT_MEMORY_VALUES = 3 };

typedef struct sbt_record {
    uint8_t type, flags;
    uint64_t time, duration; /* ns */
    uint64_t device, stream, correlation, name;
    uint64_t kernel[SBT_KERNEL_VALUES]; /* grid x y z, block x y z, shared memory bytes, registers */
    uint64_t memory[SBT_MEMORY_VALUES]; /* source, destination, bytes */
    uint64_t thread, frame_count;
    size_t frames; /* position of the first frame */
} sbt_record;

typedef struct sbt_frame {
    uint64_t address, function, file, line;
} sbt_frame;

/* The record at the reader, `time` being that of the record before. false: cut off, or no record. */
bool sbt_record_read(sbt_record *out, hd_byte_reader *reader, uint64_t time);
/* The next frame of a record; the reader is at one. */
void sbt_frame_read(sbt_frame *out, hd_byte_reader *reader);
/* Everything but the frames, which the caller appends. */
void sbt_record_write(hd_bytes *out, const sbt_record *record, uint64_t time);

/* ---- names of arguments and metadata ---- */

#define SBT_KEY_TYPE "type"
#define SBT_KEY_DEVICE "device"
#define SBT_KEY_STREAM "stream"
#define SBT_KEY_CORRELATION "correlation"
#define SBT_KEY_GRID "grid"
#define SBT_KEY_BLOCK "block"
#define SBT_KEY_SHARED "shared memory"
#define SBT_KEY_REGISTERS "registers per thread"
#define SBT_KEY_SOURCE "source address"
#define SBT_KEY_DESTINATION "destination address"
#define SBT_KEY_BYTES "bytes"
#define SBT_KEY_THREAD "thread"
#define SBT_KEY_STACK "stack"                      /* [[address, function, file, line], …] */
#define SBT_KEY_COMPLETE "complete after"          /* number of records between launch and complete */
#define SBT_KEY_REPEATED "complete has parameters" /* the complete repeats them */

#define SBT_META_FILE "sbt"
#define SBT_META_DEVICES "deviceProperties" /* as Kineto has it */

/* The members of the two, in the order of the file. */
extern const char *const sbt_file_members[6];
enum { SBT_DEVICE_MEMBERS = 12 };
extern const char *const sbt_device_members[SBT_DEVICE_MEMBERS];
/* Whether a member of a device is text: its name and vendor are. */
static inline bool sbt_device_member_is_text(size_t member)
{
    return member == 1 || member == 2;
}

/* ---- from records to rows ---- */

typedef struct sbt_rows sbt_rows;

/* Names are from strings[0 … string_count), ids of the builder; other names are `unnamed`. */
hd_status sbt_rows_new(sbt_rows **out, hd_builder *builder, const uint32_t *strings, size_t string_count,
                       uint32_t unnamed, unsigned threads, hd_error *err);
void sbt_rows_free(sbt_rows *rows);
/* Records in file order. `complete` is that of a launch (NULL: none), `between` the number of records between the two;
 * completes of a launch are not passed separately. `bytes` is the source of the records, for their frames. */
hd_status sbt_rows_add(sbt_rows *rows, const sbt_record *record, const sbt_record *complete, uint64_t between,
                       const hd_byte_reader *bytes, hd_error *err);
/* Hand all over to the builder. */
hd_status sbt_rows_finish(sbt_rows *rows, hd_error *err);

int sbt_sniff(const unsigned char *head, size_t size);
hd_status sbt_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);
hd_status sbt_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err);

#endif
