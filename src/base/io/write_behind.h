/* write_behind.h - text is made by one thread while another writes (and compresses) what was made before */
#ifndef HD_BASE_IO_WRITE_BEHIND_H
#define HD_BASE_IO_WRITE_BEHIND_H

#include <pthread.h>

#include "base/io/output.h"
#include "base/json/write.h"

typedef struct hd_write_behind {
    hd_output *output;
    hd_json_out writing; /* with the writer while busy, else a spare buffer */
    bool started, tried, busy, ending;
    hd_status status;
    hd_error error;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
} hd_write_behind;

/* The writer of an output, which nobody else may use until drain or deinit. Must not move afterwards. The thread is
 * started with the first text that is worth it. */
void hd_write_behind_init(hd_write_behind *behind, hd_output *output);

/* The text goes to the writer; *text comes back empty, with another buffer. Fails with what the piece before met. */
hd_status hd_write_behind_give(hd_write_behind *behind, hd_json_out *text, hd_error *err);

/* Wait until all is written; the output may be used directly until the next give. */
hd_status hd_write_behind_drain(hd_write_behind *behind, hd_error *err);

/* Waits, too. Free of errors: drain tells them. */
void hd_write_behind_deinit(hd_write_behind *behind);

#endif
