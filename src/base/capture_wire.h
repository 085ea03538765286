/* capture_wire.h - the bytes of a capture, which libheddle-capture (src/capture) writes and src/format/capture reads
 *
 * docs/formats/capture.md is the specification. This file has its constants.
 */
#ifndef HD_BASE_CAPTURE_WIRE_H
#define HD_BASE_CAPTURE_WIRE_H

#include <stdint.h>

#define CAPTURE_MAGIC "\x89HDCAP\r\n"

enum {
    CAPTURE_MAGIC_BYTES = 8,
    CAPTURE_MAJOR = 1,
    CAPTURE_MINOR = 0,
    CAPTURE_HEADER_BYTES = 64,
    CAPTURE_CHUNK_BYTES = 40, /* the header of a chunk */
    CAPTURE_PAYLOAD_MAX = 1 << 24,
    CAPTURE_LIST_MAX = 1 << 24, /* entries of a list */
    CAPTURE_THREADS_MAX = 1 << 24,
    CAPTURE_ARGS_MAX = 24, /* of an entry */
    CAPTURE_BUILD_ID_MAX = 64,
};

/* Offsets of fields in the file header and in the chunk header; each header ends with its checksum. */
enum {
    CAPTURE_AT_MAJOR = 8,
    CAPTURE_AT_MINOR = 10,
    CAPTURE_AT_PID = 12,
    CAPTURE_AT_POLICY = 16,
    CAPTURE_AT_RING_EVENTS = 20,
    CAPTURE_AT_START = 24,
    CAPTURE_AT_UNIX = 32, /* Unix time of CLOCK_MONOTONIC's zero */
    CAPTURE_AT_CHECKSUM = 56,
};
enum {
    CAPTURE_CHUNK_AT_TYPE = 8,
    CAPTURE_CHUNK_AT_SIZE = 12,
    CAPTURE_CHUNK_AT_THREAD = 16,
    CAPTURE_CHUNK_AT_NUMBER = 20,
    CAPTURE_CHUNK_AT_PAYLOAD_SUM = 24,
    CAPTURE_CHUNK_AT_CHECKSUM = 32,
};

#define CAPTURE_CHUNK_MAGIC 0xd7c50ee54b434448u /* "HDCK" and four bytes that text does not have */

/* Types of chunks. NAMES, ARGS … FRAMES are lists, whose entries have ids from 1. */
enum {
    CAPTURE_PROCESS = 1,
    CAPTURE_THREAD,
    CAPTURE_NAMES,
    CAPTURE_EVENTS,
    CAPTURE_END,
    CAPTURE_ARGS,
    CAPTURE_TRACKS,
    CAPTURE_MODULES,
    CAPTURE_SYMBOLS,
    CAPTURE_FRAMES,
    CAPTURE_NOTES,
    CAPTURE_METADATA,
    CAPTURE_SEGMENT, /* events before it may have been removed */
    CAPTURE_NODES    /* the stacks of graph nodes, whose events may have been removed */
};

/* Kinds of events: the low four bits of their first byte. As hd_session_kind. */
enum {
    CAPTURE_SLICE = 1,
    CAPTURE_BEGIN,
    CAPTURE_FINISH, /* the end of the last begin */
    CAPTURE_INSTANT,
    CAPTURE_COUNTER,
    CAPTURE_FLOW_START,
    CAPTURE_FLOW_STEP,
    CAPTURE_FLOW_END,
    CAPTURE_ALLOCATE,
    CAPTURE_RELEASE,
    CAPTURE_SAMPLE,
    CAPTURE_CALL, /* not events: facts about a call, and about a graph node */
    CAPTURE_NODE,
    CAPTURE_KINDS
};
enum {
    CAPTURE_KIND_MASK = 15,
    CAPTURE_SAME_NAME = 16,
    CAPTURE_SAME_CATEGORY = 32,
    CAPTURE_MORE = 64, /* a varint of CAPTURE_HAS_… and those fields follow */
    CAPTURE_FLAGS_UNKNOWN = 128
};
enum {
    CAPTURE_HAS_TRACK = 1,
    CAPTURE_HAS_ARGS = 2,
    CAPTURE_HAS_STACK = 4,
    CAPTURE_HAS_CORRELATION = 8,
    CAPTURE_HAS_BYTES = 16,
    CAPTURE_HAS_NODE = 32,
    CAPTURE_HAS_UNKNOWN = ~63
};

/* Tracks and arguments: as hd_session_track_kind and hd_session_arg_type. */
enum { CAPTURE_TRACK_THREAD = 1, CAPTURE_TRACK_STREAM, CAPTURE_TRACK_DEVICE, CAPTURE_TRACK_PROCESS };
enum { CAPTURE_INT = 1, CAPTURE_DOUBLE, CAPTURE_TEXT, CAPTURE_JSON };

#endif
