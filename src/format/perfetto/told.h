/* told.h - data of a track that Perfetto has no field for, which our writer stores in the track's description
 *
 * "tid stream 7 of 500, labels NPU, no name, no order, rank 3, GPU stream 7 of device 0", each if it applies. Texts of
 * the trace that could pass for several items are in quotes: "labels \"a, rank 3\"".
 */
#ifndef HD_FORMAT_PERFETTO_TOLD_H
#define HD_FORMAT_PERFETTO_TOLD_H

#include "base/bytes.h"
#include "heddle/trace.h"

typedef struct pf_told {
    hd_string ident;   /* the pid of a process, the tid of any other */
    bool has_ident;    /* as in no field */
    bool no_process;   /* its events have no pid */
    hd_string labels;  /* of a process without a descriptor of one */
    bool no_name;      /* its name was made from its number */
    bool no_order;     /* likewise its rank among siblings */
    int64_t order;     /* HD_NO_NUMBER: as the rank among siblings has it */
    int64_t rank;      /* of the job; HD_NO_NUMBER: not known */
    bool is_thread;    /* regardless of its slices */
    bool is_async;     /* its slices are asynchronous */
    bool is_old_async; /* likewise, of the phases S, T and F */
    bool is_stream;    /* with these numbers, HD_NO_NUMBER: unknown */
    int64_t device, stream;
} pf_told;

#define PF_TOLD_NOTHING                                                                                                \
    (pf_told)                                                                                                          \
    {                                                                                                                  \
        .order = HD_NO_NUMBER, .rank = HD_NO_NUMBER, .device = HD_NO_NUMBER, .stream = HD_NO_NUMBER                    \
    }

/* Of a counter: "series read, category memory". Omitted if the name in the trace and the series follow from the track's
 * name. */
void pf_told_put_counter(hd_bytes *out, hd_string series, hd_string category);
/* false: it is not ours. */
bool pf_told_of_counter(hd_string *series, hd_string *category, hd_string description);

/* Appends nothing if nothing applies. */
void pf_told_put(hd_bytes *out, const pf_told *told, bool is_process);
/* Our part of a description; its texts point into it. */
pf_told pf_told_of(hd_string description);

#endif
