/* write_behind.h - one thread makes text while another writes (and compresses) the text made before */
#ifndef HD_BASE_IO_WRITE_BEHIND_H
#define HD_BASE_IO_WRITE_BEHIND_H

#include <pthread.h>

#include "base/io/output.h"
#include "base/json/write.h"

typedef struct hd_write_behind {
    hd_output *output;
    hd_json_out writing; /* the writer's buffer while busy, else a spare one */
    bool started, tried, busy, ending;
    hd_status status;
    hd_error error;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
} hd_write_behind;

/* A writer for an output, which the caller must not use until drain or deinit. Must not move afterwards. The thread is
 * started with the first text of sufficient size. */
void hd_write_behind_init(hd_write_behind *behind, hd_output *output);

/* Passes the text to the writer; *text comes back empty, with another buffer. Fails with the error of the previous
 * text. */
hd_status hd_write_behind_give(hd_write_behind *behind, hd_json_out *text, hd_error *err);

/* Waits until all is written; the output may be used directly until the next give. */
hd_status hd_write_behind_drain(hd_write_behind *behind, hd_error *err);

/* Waits, too. Errors are dropped: drain returns them. */
void hd_write_behind_deinit(hd_write_behind *behind);

#endif
