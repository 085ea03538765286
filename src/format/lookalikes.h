/* lookalikes.h - hints for inputs that no reader accepts: what they look like, and what to do */
#ifndef HD_FORMAT_LOOKALIKES_H
#define HD_FORMAT_LOOKALIKES_H

#include <stdbool.h>
#include <stddef.h>

#include "heddle/format.h"

/* By the first bytes; NULL: not recognised. */
const hd_lookalike *hd_lookalike_of(const unsigned char *head, size_t size);
/* Lines that begin as JSON does, or end as folded stacks do, and are neither. */
bool hd_lookalike_is_log(const char *text, size_t size);
/* Prometheus' exposition format: its comments, or NAME{LABEL="… */
bool hd_lookalike_is_metrics(const char *text, size_t size);
/* By the name of a file or folder; NULL likewise. */
const hd_lookalike *hd_lookalike_named(const char *path);
/* "which looks like an Nsight Systems report: `nsys export …`" in `out`; "" for NULL. */
void hd_lookalike_put(char *out, size_t size, const hd_lookalike *lookalike);

#endif
