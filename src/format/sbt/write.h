/* write.h - from an event of a trace to SBT records */
#ifndef HD_FORMAT_SBT_WRITE_H
#define HD_FORMAT_SBT_WRITE_H

#include "base/json/write.h"
#include "format/sbt/sbt.h"
#include "trace/strings.h"

/* Data that an SBT event has no place for, counted once. */
typedef struct sbt_losses {
    uint64_t kinds[HD_KIND_COUNT];
    uint64_t no_time, picoseconds, args, categories, threads, ends;
} sbt_losses;

typedef struct sbt_writer {
    const hd_trace *trace;
    hd_strings names;   /* the file's string table: its id 1 is index 0 */
    int16_t *arg_index; /* [shape][argument]: where a shape has it, -1 nowhere */
    uint32_t *unused;   /* by shape: how many arguments SBT has no place for */
    bool *known;        /* by shape: the two above are filled in */
    uint32_t keys[16];  /* string ids of the arguments' names */
    hd_bytes frames;    /* of the record at hand */
    hd_json_out padded; /* JSON text with padding */
    sbt_losses losses;
} sbt_writer;

hd_status sbt_writer_init(sbt_writer *writer, const hd_trace *trace, hd_error *err);
void sbt_writer_deinit(sbt_writer *writer);

/* The records of an event. */
typedef struct sbt_event {
    sbt_record record; /* its frames are in writer->frames */
    bool has_complete;
    sbt_record complete;
    uint64_t between; /* records from the launch to its complete */
} sbt_event;

/* false: SBT has no place for the event, and it was counted. */
bool sbt_writer_convert(sbt_event *out, sbt_writer *writer, const hd_event *event);

#endif
