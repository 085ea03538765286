/* stack_dump.h - the samples of a trace as folded lines, for tests of the readers of stacks */
#ifndef HD_TESTS_STACK_DUMP_H
#define HD_TESTS_STACK_DUMP_H

#include "heddle/format.h"
#include "heddle/stacks.h"

/* "pid/tid time name key=value … | f1;f2_[os]", one line a sample; kinds other than native are told. The caller frees
 * it. */
char *stack_dump(const hd_trace *trace);
/* The same of a text, or "error STATUS at OFFSET: MESSAGE"; then the ledger, one line a row. */
char *stack_dump_text(const char *text, size_t size, const hd_read_options *options);

/* Reads the text cut at every byte, and with bits flipped: nothing but a trace or an error may come. */
void stack_cut_everywhere(const char *text, size_t size);
void stack_flip_everywhere(const char *text, size_t size);

/* For fuzz targets: reads the text; what comes of it as `format` must survive JSON, sample by sample, or it aborts. */
void stack_fuzz(const char *text, size_t size, const char *format);

#endif
