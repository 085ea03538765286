/* trigger.h - opening and closing the capture of programs that run under `heddle record`
 *
 *     hd_table *captures;
 *     hd_trigger_options options = {.action = HD_TRIGGER_START, .duration_ns = 5000000000};
 *     HD_TRY(hd_trigger(&captures, pid, &options, err));
 *
 * A traced program listens on a socket of its own ("@heddle-capture-PID", abstract: visible in its network namespace)
 * from its first CUDA or NVTX call on, whatever options it was started with. It answers processes of its user and of
 * root.
 *
 * Linux.
 */
#ifndef HEDDLE_TRIGGER_H
#define HEDDLE_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/status.h"
#include "heddle/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hd_trigger_action {
    HD_TRIGGER_STATUS, /* changes nothing */
    HD_TRIGGER_START,  /* opens the capture */
    HD_TRIGGER_STOP,   /* closes the capture; it can be opened again */
    HD_TRIGGER_TOGGLE,
} hd_trigger_action;

typedef struct hd_trigger_options {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_trigger_action action;
    bool children;       /* also trigger child processes of `pid`, recursively, if it is traced itself */
    int64_t duration_ns; /* START, TOGGLE: close this long after opening, at least 1 ms; 0: the duration the program was
                            started with */
} hd_trigger_options;

/* Trigger the process `pid`; if it is not traced itself (`heddle record`, a launcher), all traced processes among its
 * descendants. All are triggered before the first answer is awaited.
 *
 * Table "captures", a row for each process, ordered by id, with its state afterwards:
 *   pid         INT
 *   name        STRING    of the program
 *   state       STRING    "open", "closed"; null: it did not answer
 *   by          STRING    what opened or closed it last: "start", "trigger", "signal", "delay", "duration", "step N"
 *   since       DURATION  how long it has been in that state
 *   left        DURATION  until it closes by itself; null: never
 *   windows     COUNT     how often it was opened
 *   events      COUNT     recorded so far, and
 *   dropped     COUNT     those of them that are not in the file
 *   bytes       BYTES     of the file
 *   signal      STRING    SIGUSR2: "off", "on", "taken" (by the program, before us), "replaced" (since)
 *   file        STRING
 *   error       STRING    why the state was not changed; null: it was
 *
 * Errors: ARGUMENT if there is no such process or the options make no sense; UNSUPPORTED if none is traced; IO. */
hd_status hd_trigger(hd_table **out, int64_t pid, const hd_trigger_options *options, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
