/* annotate.h - a trace on its way to being annotated; for annotate*.c */
#ifndef HD_PASS_ATTRIBUTION_ANNOTATE_H
#define HD_PASS_ATTRIBUTION_ANNOTATE_H

#include "base/json/write.h"
#include "heddle/analysis/attribution.h"
#include "pass/attribution/map.h"
#include "pass/copy/copy.h"

typedef struct annotate {
    const hd_attribution *a;
    const hd_trace *gpu, *cpu; /* cpu NULL: its samples are in the GPU trace already, or there are none */
    hd_builder *builder;
    hd_copy *copy;           /* of gpu */
    hd_batch *flows, *names; /* rows added after the events and the samples, in this order */
    hd_stacks *stacks;       /* what the trace gets */
    uint64_t large;          /* hd_trace_large_bytes of gpu */
    uint64_t base;           /* node n has the key base + n */
    uint64_t no_frame;       /* a key that no frame has */
    attribution_map map;     /* from the attribution's tree */
    uint32_t *texts;         /* by node of the attribution's tree: string of the builder; HD_STRING_NONE: not made */
    uint64_t text_bytes, text_limit;
    bool text_full;
    hd_json_out text;
    size_t next_work;
    uint64_t no_clock;  /* samples with an unknown clock */
    uint64_t no_text;   /* activities without a text */
    uint8_t *annotated; /* by shape of gpu: has both arguments already */
    hd_arg_key keys[HD_COPY_ADDED];
} annotate;

/* hd_attribution_annotate with another limit for the texts of stacks in sum, in bytes. */
hd_status annotate_within(hd_trace **out, const hd_attribution *attribution, const hd_trace *gpu, const hd_trace *cpu,
                          uint64_t text_limit, hd_error *err);

/* Appends the batch's rows to the trace. */
hd_status annotate_append(annotate *t, hd_batch *batch, hd_error *err);
/* annotate_flows.c: a flow "stack" from each launch to those of its activities at which no flow ends yet. */
hd_status annotate_flows(annotate *t, hd_error *err);
/* annotate_samples.c: the samples of cpu. */
hd_status annotate_samples(annotate *t, hd_error *err);

#endif
