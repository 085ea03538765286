/* flame_text.h - flames of traces from text, and their files as text, for tests */
#ifndef HD_TESTS_FLAME_TEXT_H
#define HD_TESTS_FLAME_TEXT_H

#include "heddle/analysis/flame.h"

/* A trace of Chrome JSON. Fails the test. */
hd_trace *trace_of_text(const char *text);

/* Launches as they are found, each under the slices around its call: what is known without hd_attribute. */
void attribute_by_calls(hd_attribution **out, const hd_trace *trace);
void attribution_done(hd_attribution *attribution);

/* An empty flame. */
hd_flame *flame_new(void);

/* What a flame is written as. Fails the test; the caller frees the text, which is terminated. out may be NULL. */
char *flame_file(const hd_flame *flame, const hd_flame_write_options *options, hd_flame_written *out, size_t *out_size);
char *flame_folded(const hd_flame *flame);

/* Sum of the weights of folded text, which must be well-formed and sorted byte by byte: no two lines are the same
 * stack. *out_lines may be NULL. */
int64_t folded_sum(const char *text, size_t size, size_t *out_lines);

/* Whether python3 can read a text as JSON and finds what a speedscope file must have: frames, as many samples as
 * weights, indices of frames that are there. A text of what it found, for the message: "ok 12" with the sum of the
 * weights. The caller frees it; NULL: there is no python3. */
char *speedscope_checked(const char *text, size_t size);

#endif
