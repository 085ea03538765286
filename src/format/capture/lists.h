/* lists.h - lists that the events of a capture refer to by id: names, arguments, tracks, frames; and its facts
 *
 *     capture_lists_new(&lists, …);   capture_lists_read(lists, …) for each chunk;   capture_lists_settle(lists, …);
 *     capture_lists_name(lists, id), …_args, …_track, …_stack;   capture_lists_finish(lists, …);
 */
#ifndef HD_FORMAT_CAPTURE_LISTS_H
#define HD_FORMAT_CAPTURE_LISTS_H

#include "base/bytes.h"
#include "base/capture_wire.h"
#include "format/format.h"

/* An entry of arguments, ready for rows. */
typedef struct capture_args {
    uint32_t count;
    hd_arg_key *keys;
    int64_t *values;
} capture_args;

typedef struct capture_lists capture_lists;

/* An entry has a byte at least: ids beyond the size of the file are damage, and get no memory. */
hd_status capture_lists_new(capture_lists **out, hd_builder *builder, uint32_t pid, uint64_t file_bytes, hd_error *err);
void capture_lists_free(capture_lists *lists);

/* Reads a chunk of a list, of notes or of metadata. payload.failed: it is invalid; entries before the fault stay. */
hd_status capture_lists_read(capture_lists *lists, unsigned type, hd_byte_reader *payload, hd_error *err);
/* All chunks were read: frames find their modules, kernels the priority of their stream. */
hd_status capture_lists_settle(capture_lists *lists, hd_error *err);

/* For an id in the file, 0: none. An id that is not in the file is counted as lost. */
uint32_t capture_lists_name(capture_lists *lists, uint64_t id);             /* string id; "(lost name)" */
const capture_args *capture_lists_args(capture_lists *lists, uint64_t id);  /* NULL: none */
uint32_t capture_lists_track(capture_lists *lists, uint64_t id);            /* HD_NONE: none */
uint32_t capture_lists_stack(capture_lists *lists, uint64_t id);            /* HD_STACK_NONE: none */
unsigned capture_lists_track_kind(const capture_lists *lists, uint64_t id); /* CAPTURE_TRACK_…, 0: none */

uint64_t capture_lists_lost(const capture_lists *lists); /* how often an id was not in the file */

/* Stacks, modules, notes and metadata go to the builder. */
hd_status capture_lists_finish(capture_lists *lists, hd_error *err);

/* A text of the file as a string of the trace; payload.failed when there is none. */
uint32_t capture_take_text(hd_byte_reader *payload, hd_builder *builder);
uint32_t capture_number_text(hd_builder *builder, uint64_t value);

#endif
