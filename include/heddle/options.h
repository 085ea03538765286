/* options.h - options of passes (pass.h) and reports (report.h), as tables
 *
 * An option is KEY=VALUE, or KEY alone for a flag. Each pass and report has a table of its options.
 */
#ifndef HEDDLE_OPTIONS_H
#define HEDDLE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- times ---- */

typedef enum hd_convert_unit {
    HD_CONVERT_UNSET,
    HD_CONVERT_NS,     /* nanoseconds from the first event on */
    HD_CONVERT_PERCENT /* millionths of the trace's span: 10 % is 100,000 */
} hd_convert_unit;

typedef struct hd_convert_time {
    hd_convert_unit unit;
    int64_t value;
} hd_convert_time;

/* "1.5s", "250ms", "10us", "4ns", "12.5%", "0". Errors: ARGUMENT, with the expected format. */
hd_status hd_convert_time_parse(hd_convert_time *out, const char *text, hd_error *err);

/* ---- tables ---- */

/* Values of an option that may be given several times. */
typedef struct hd_option_texts {
    const char *const *items;
    size_t count;
} hd_option_texts;

typedef enum hd_option_kind {
    HD_OPTION_FLAG = 1, /* bool */
    HD_OPTION_COUNT,    /* uint64_t, at least 1 */
    HD_OPTION_DECIMAL,  /* double, at least 0 */
    HD_OPTION_TIME,     /* hd_convert_time */
    HD_OPTION_OFFSET,   /* the same, of nanoseconds; may be negative */
    HD_OPTION_TEXT,     /* const char * */
    HD_OPTION_PATTERNS, /* const char *: a comma-separated list; each KEY= adds to it */
    HD_OPTION_TEXTS,    /* hd_option_texts: each KEY= adds a text */
    HD_OPTION_TRACE     /* const char *: path of a file; of a pass, the trace that its caller reads (hd_pass_second) */
} hd_option_kind;

/* "flag", "decimal", "time" …, static. */
const char *hd_option_kind_name(hd_option_kind kind);

typedef struct hd_option_about {
    const char *name;
    hd_option_kind kind;
    const char *fallback; /* its default as text; NULL: not set */
    const char *meaning;  /* one line */
    size_t field;         /* offset of the member, of the type above, in the table's options struct */
    const char *words;    /* all that a list may consist of, ", " between them; NULL: anything */
} hd_option_about;

#ifdef __cplusplus
}
#endif
#endif
