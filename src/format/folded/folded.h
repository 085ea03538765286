/* folded.h - inside the reader of folded stacks */
#ifndef HD_FORMAT_FOLDED_FOLDED_H
#define HD_FORMAT_FOLDED_FOLDED_H

#include "format/format.h"
#include "format/stack_text.h"

typedef enum folded_kind {
    FOLDED_UNREADABLE,
    FOLDED_BLANK,
    FOLDED_PLAIN,    /* f1;f2;f3 weight */
    FOLDED_EXTENDED, /* timestamp_ns comm pid tid cpu f1;f2;f3 */
} folded_kind;

typedef struct folded_line {
    folded_kind kind;
    bool either;      /* it reads as both */
    hd_string frames; /* f1;f2;f3 */
    /* plain */
    hd_arg_type weight_type; /* HD_ARG_INT, HD_ARG_DECIMAL */
    int64_t weight;
    /* extended */
    hd_string thread; /* comm pid tid, unchanged */
    hd_string comm;
    int64_t time_ns, pid, tid, cpu;
} folded_line;

/* prefer: the kind of a line that parses as both. */
void folded_parse(folded_line *out, const char *text, size_t size, folded_kind prefer);

/* The kind of lines that parse as both, from the first lines of the input: EXTENDED only if some lines are only that,
 * and none is only plain. */
folded_kind folded_prefer(const unsigned char *head, size_t size);

int folded_sniff(const unsigned char *head, size_t size);
hd_status folded_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err);

#endif
