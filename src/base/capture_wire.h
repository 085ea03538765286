/* capture_wire.h - the bytes of a capture: what libheddle-capture appends (src/capture) and src/format/capture reads
 *
 * docs/formats/capture.md is the specification. Here are its numbers.
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
    CAPTURE_NAME_BYTES_MAX = 4096,
    CAPTURE_NAMES_MAX = 1 << 24,
    CAPTURE_THREADS_MAX = 1 << 24,
};

#define CAPTURE_CHUNK_MAGIC 0xd7c50ee54b434448u /* "HDCK" and four bytes that text does not have */

/* Types of chunks. */
enum { CAPTURE_PROCESS = 1, CAPTURE_THREAD, CAPTURE_NAMES, CAPTURE_EVENTS, CAPTURE_END };

/* Kinds of events: the low four bits of their first byte. */
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
    CAPTURE_KINDS
};
enum { CAPTURE_KIND_MASK = 15, CAPTURE_SAME_NAME = 16, CAPTURE_SAME_CATEGORY = 32, CAPTURE_FLAGS_UNKNOWN = 192 };

#endif
