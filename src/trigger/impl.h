/* impl.h - the parts of hd_trigger: finding targets (find.c), sending requests (trigger.c) */
#ifndef HD_TRIGGER_IMPL_H
#define HD_TRIGGER_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "heddle/status.h"

enum { TRIGGER_NAME_BYTES = 64, TRIGGER_PROCESSES_MAX = 1 << 20 };

/* A process that has a socket of the right name, and may be traced. */
typedef struct trigger_target {
    pid_t pid;
    pid_t inner; /* its id in its own namespace, which the socket is named by */
    char name[TRIGGER_NAME_BYTES];
} trigger_target;

typedef struct trigger_targets {
    trigger_target *items;
    size_t count, capacity;
} trigger_targets;

/* Appends `pid` if it is a target; if it is none, or with `children`, also its descendants. Errors: ARGUMENT for no
 * such process; MEMORY.
 */
hd_status trigger_find(trigger_targets *out, pid_t pid, bool children, hd_error *err);

/* Nothing answered: the error with reason and remedy. */
hd_status trigger_explain(pid_t pid, hd_error *err);

#endif
