/* tfmemory.h - shared by the files of this folder: the JSON of tensorflow.profiler.MemoryProfile */
#ifndef HD_FORMAT_TFMEMORY_H
#define HD_FORMAT_TFMEMORY_H

#include "base/json/write.h"
#include "format/args.h"
#include "format/json_walk.h"

#define TFMEMORY_STAGE "tfmemory"

typedef struct tfmemory_reader {
    hd_json_walk walk;
    hd_builder *builder;
    hd_args args; /* of the row that is being made */
    hd_error *err;
    hd_json_out rest; /* the document without its snapshots */
    /* the snapshots of one allocator */
    struct tfmemory_snapshot *snapshots;
    size_t snapshot_count, snapshot_capacity;
    uint32_t track, allocator; /* allocator: string id */
    uint32_t category;
} tfmemory_reader;

int tfmemory_sniff(const unsigned char *head, size_t size);
hd_status tfmemory_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

/* ---- value.c: values of the text ---- */

/* hd_walk_member with the id of the key. */
hd_status tfmemory_next_member(tfmemory_reader *r, const char **at, bool *first, uint32_t *key);
bool tfmemory_is(const tfmemory_reader *r, uint32_t string, const char *text);
/* Adds the value at *at, returned in *out, as one more argument. 64-bit integers in strings become integers. */
hd_status tfmemory_add_arg(tfmemory_reader *r, hd_json_span *out, const char **at, uint32_t key);
/* A time in ps: an integer, maybe as a string. */
hd_status tfmemory_int(tfmemory_reader *r, int64_t *out, const char **at);

/* ---- companion.c ---- */

extern const hd_companion tfmemory_companion;

/* ---- snapshots.c ---- */

/* *at is at the list. sampled: the list repeats snapshots of the other one. */
hd_status tfmemory_collect(tfmemory_reader *r, const char **at, bool sampled);
/* A slice and a sample for each that was collected. */
hd_status tfmemory_add_snapshots(tfmemory_reader *r);

#endif
