/* keys.h - chooses the written name of each member of an event, so that none occurs twice */
#ifndef HD_FORMAT_CHROME_KEYS_H
#define HD_FORMAT_CHROME_KEYS_H

#include "format/chrome/chrome.h"
#include "trace/shape_names.h"

/* Of a shape that has a key twice, or a member that is called as a column. */
typedef struct chrome_shape_keys {
    uint8_t *members; /* by key: the chrome_member of its name, or CHROME_M_OTHER */
    hd_shape_name *names;
} chrome_shape_keys;

enum { CHROME_LEFT_OUT = UINT16_MAX };
typedef struct chrome_keys {
    chrome_shape_keys **shapes; /* by shape, NULL: its keys are written as they are */
    uint32_t *metadata;         /* numbers of the top-level keys; CHROME_LEFT_OUT: an equal one is written */
    int64_t step;               /* resolution of the time columns, in 1 / HD_FIXED_ONE ns: 1, a ps or a ns */
    hd_arena arena;
} chrome_keys;

hd_status chrome_keys_init(chrome_keys *keys, const hd_trace *trace, hd_error *err);
void chrome_keys_deinit(chrome_keys *keys);

/* The columns of an event that are members of JSON: bits 1 << chrome_member. */
unsigned chrome_columns_of(const hd_trace *trace, const hd_event *event);
/* The columns whose value a member of the shape also has, as written in the input: `"ts":"1.50"`. If the two differ,
 * because the event was moved, or combines a begin and an end, the column counts. */
unsigned chrome_own_columns(const hd_trace *trace, const hd_event *event, const chrome_keys *keys);
bool chrome_is_raw_shape(const hd_trace *trace, const hd_shape *shape);

#endif
