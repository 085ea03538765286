/* merge.h - the traces of several ranks, or of several processes of one run, as one
 *
 * Every rank stands under processes of its own, named by it ("rank 3: python"). A pid that only one rank has stays; of
 * those that several have, rank 3's pid 7 becomes 3000007 (the factor is the power of ten above all pids). Ids of flows
 * and async slices are shifted apart, so that ranks are not joined by chance; times are put on one clock where all
 * ranks say what theirs counts from.
 *
 * Processes of one run (captures of a program and its children) keep their names; a pid that several have, as the GPUs'
 * are, becomes another for all but the first, and its process is named "GPU 0 (process 4711)". Correlation ids are
 * shifted apart. Of one host, captures of one pid are of one process, and all have one clock: what they say of its base
 * differs by noise only.
 *
 * In: traces. Out: one. Begin with merge.c.
 */
#ifndef HD_PASS_MERGE_MERGE_H
#define HD_PASS_MERGE_MERGE_H

#include "heddle/pass.h"
#include "pass/copy/copy.h"

typedef hd_pass_input hd_merge_input;

/* The rank that a trace says of itself, else its file name; HD_NO_NUMBER: none. */
int64_t hd_merge_rank_of(const hd_merge_input *input);

/* The rank of each input: that, or where no input has one, the numbers at the ends of their names if they are 0 to
 * count - 1; HD_NO_NUMBER: not known. Only looks at the traces. Errors: MEMORY. */
hd_status hd_merge_known_ranks(hd_merge_input *inputs, size_t count, hd_error *err);

/* Which inputs are of a rank that one before them is of. The caller frees *out, also after an error. */
hd_status hd_merge_find_twins(bool **out, const hd_merge_input *inputs, size_t count, hd_error *err);

/* All of several inputs are of one rank, as single-GPU runs are that all say rank 0, and none of a world of several. */
bool hd_merge_is_one_rank(const hd_merge_input *inputs, size_t count);

/* The rank of each input: as above. Where none has one, the numbers at the ends of their names (trace_0.json, 1.json) if
 * they are 0 to count - 1, each once, else their places; their places also if all have the same. ARGUMENT: some are
 * without. */
hd_status hd_merge_find_ranks(hd_merge_input *inputs, size_t count, bool *out_by_place, hd_error *err);

/* What is added to the times of each rank, by texts "RANK=TIME"; of no texts, 0. Ranks that are no input are passed
 * over. ARGUMENT: no such text, or an input without one. */
hd_status hd_merge_find_shifts(hd_merge_input *inputs, size_t count, hd_option_texts shifts, hd_error *err);

/* The events of all inputs, one after the other. Ranks must be set, each once. `shared`: ids become apart from those of
 * ranks that are no inputs as well: rank 3's 7 becomes 30000000007, what is longer "rank 3: …". The caller frees the
 * trace. */
hd_status hd_merge(hd_trace **out, hd_pass_result *result, hd_merge_input *inputs, size_t count, bool shared,
                   hd_error *err);

/* The same for processes of one run; ranks need not be set. */
hd_status hd_merge_processes(hd_trace **out, hd_pass_result *result, hd_merge_input *inputs, size_t count,
                             hd_error *err);

#endif
