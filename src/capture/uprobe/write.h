/* write.h - calls and their stacks into a capture, and as extended folded text */
#ifndef HD_CAPTURE_UPROBE_WRITE_H
#define HD_CAPTURE_UPROBE_WRITE_H

#include "base/bytes.h"
#include "base/io/output.h"
#include "capture/uprobe/plan.h"
#include "capture/uprobe/unwind.h"
#include "heddle/session.h"

typedef struct uprobe_call {
    const uprobe_process *process;
    uprobe_thread *thread;
    uint32_t target, cpu;
    int64_t time_ns;
    int64_t duration_ns; /* below 0: not known */
} uprobe_call;

typedef struct uprobe_writer {
    const hd_uprobe_plan *plan;
    hd_session *session; /* NULL: no capture */
    uint32_t names[HD_UPROBE_TARGETS_MAX], category;
    hd_output *folded; /* NULL: no text */
    hd_bytes line;
    hd_map texts;     /* of frames */
    hd_status status; /* the first failure of the text */
    hd_error err;
} uprobe_writer;

hd_status uprobe_writer_open(uprobe_writer *out, const hd_uprobe_plan *plan, const hd_uprobe_options *options,
                             hd_error *err);
/* A slice, or an instant where the duration is not known. */
void uprobe_write_call(uprobe_writer *writer, const uprobe_call *call);
void uprobe_write_sample(uprobe_writer *writer, const uprobe_call *call, const uprobe_stack *stack);
/* Writes the ledger and metadata of the capture, and finishes the files. */
hd_status uprobe_writer_finish(uprobe_writer *writer, const hd_uprobe_stats *stats, uint64_t side_lost, hd_error *err);
void uprobe_writer_abort(uprobe_writer *writer); /* frees everything; after finish, too */

/* write_folded.c */
void uprobe_fold(uprobe_writer *writer, const uprobe_call *call, const uprobe_stack *stack);
void uprobe_fold_deinit(uprobe_writer *writer);
/* For modules whose symbols were read. */
void uprobe_module_symbols_free(uprobe_module *module);

#endif
