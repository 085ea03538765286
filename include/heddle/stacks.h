/* stacks.h - call stacks as a tree of frames: a million equal stacks cost one
 *
 * A stack is a node: its frame and the node of its caller. Node 0 is the empty stack. Equal frames under one caller are
 * one node, so that a stack is one number, and a caller's number is always smaller than its callees'.
 *
 * In a trace, stacks are stored as in Chrome's format: the top-level key `stackFrames` is the tree, and a key `sf` of
 * an event (HD_SCOPE_EVENT) names its node there. Stack samples (HD_KIND_SAMPLE) and GPU activities with a known
 * launching stack have this key. So every format that stores arguments and top-level keys stores stacks.
 */
#ifndef HEDDLE_STACKS_H
#define HEDDLE_STACKS_H

#include "heddle/builder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_stacks hd_stacks;

#define HD_STACK_NONE 0u /* the empty stack */

/* The kind of a frame, for colours and legends. In stackFrames it is the frame's category: "native", "python" … */
typedef enum hd_frame_kind {
    HD_FRAME_UNKNOWN,
    HD_FRAME_NATIVE,     /* a function of machine code */
    HD_FRAME_OS,         /* the operating system's kernel */
    HD_FRAME_PYTHON,     /* a Python function */
    HD_FRAME_OP,         /* an operator of a framework: cpu_op */
    HD_FRAME_ANNOTATION, /* a range that the user named: user_annotation, NVTX */
    HD_FRAME_API,        /* an API call of the GPU's runtime or driver */
    HD_FRAME_KERNEL,     /* a GPU kernel: [GPU_Kernel]name */
    HD_FRAME_COPY,       /* a copy or memset of GPU memory: [GPU_Memcpy]name, [GPU_Memset]name */
    HD_FRAME_GROUP,      /* what weights are grouped by: a rank, device, stream, thread, step */
    HD_FRAME_MARK,       /* stands in for missing frames: [no stack], [GPU_Launch_Pending] */
    HD_FRAME_KINDS
} hd_frame_kind;

/* "native", "python" …; "" for UNKNOWN. Static. */
const char *hd_frame_kind_name(hd_frame_kind kind);
hd_frame_kind hd_frame_kind_of(hd_string name);

typedef struct hd_frame {
    uint32_t caller; /* node, a smaller number than this one */
    uint32_t name;   /* id in this tree's names */
    hd_frame_kind kind;
    uint32_t depth; /* frames from the root to here, 1 for one without a caller */
} hd_frame;

/* One thread at a time may add; any number may read while none adds. */
hd_status hd_stacks_new(hd_stacks **out, hd_error *err);
void hd_stacks_free(hd_stacks *stacks);

/* The id of a frame's name (copied in), 1 and up; "" is 0. Any bytes; equal texts have equal ids. HD_NONE: no memory.
 */
uint32_t hd_stacks_name(hd_stacks *stacks, const char *data, size_t size);
/* The node of a frame called from `caller`. HD_NONE: no memory, 2^32 - 1 nodes, or a depth of 2^28. The kind of a node
 * is that of the first call. If caller or name is HD_NONE, so is the result: only the last of several calls needs a
 * check. */
uint32_t hd_stacks_push(hd_stacks *stacks, uint32_t caller, uint32_t name, hd_frame_kind kind);

uint32_t hd_stacks_count(const hd_stacks *stacks); /* nodes, including the empty stack: at least 1 */
hd_frame hd_stacks_at(const hd_stacks *stacks, uint32_t node);
uint32_t hd_stacks_name_count(const hd_stacks *stacks); /* the empty name included */
hd_string hd_stacks_text(const hd_stacks *stacks, uint32_t name);

/* ---- in traces ---- */

/* Put the tree into a trace under construction as its stackFrames, node n under the key "n". Nothing for an empty
 * tree. */
hd_status hd_stacks_save(const hd_stacks *stacks, hd_builder *builder, hd_error *err);

/* The same, but takes the tree over, also after an error. hd_trace_stacks_new then needs no parsing; the text is made
 * only when it is used. */
hd_status hd_stacks_give(hd_stacks *stacks, hd_builder *builder, hd_error *err);

/* The stacks of a trace, for looking up those of its events. */
typedef struct hd_trace_stacks hd_trace_stacks;

/* Reads the trace's stackFrames. Defects in them (a missing caller, frames in a circle, no name) become frames named
 * "[unknown]", and are counted. The trace must outlive it. Free it with hd_trace_stacks_free, which takes NULL. Errors:
 * MEMORY, DAMAGED when stackFrames is not a JSON object. */
hd_status hd_trace_stacks_new(hd_trace_stacks **out, const hd_trace *trace, hd_error *err);
void hd_trace_stacks_free(hd_trace_stacks *stacks);
const hd_stacks *hd_trace_stacks_tree(const hd_trace_stacks *stacks);
uint64_t hd_trace_stacks_damaged(const hd_trace_stacks *stacks); /* frames */
/* The node of an event's `sf`, or HD_STACK_NONE. Any thread. */
uint32_t hd_trace_stacks_of(const hd_trace_stacks *stacks, const hd_event *event);

#ifdef __cplusplus
}
#endif
#endif
