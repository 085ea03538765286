/* duration_text.h - durations for people */
#ifndef HD_VIEW_WRITE_DURATION_TEXT_H
#define HD_VIEW_WRITE_DURATION_TEXT_H

#include <stdint.h>

enum { VIEW_DURATION_BYTES = 48 };

/* "12 ns", "3.25 µs", "-1.2 ms", "90 s": at least four digits if they are known. Returns out. */
const char *view_duration_text(char out[VIEW_DURATION_BYTES], double ns);

#endif
