/* merge.h - merges the traces of several ranks, or of several processes of one run
 *
 * Every rank has processes of its own, named after it ("rank 3: python"). A pid that only one rank has is unchanged; of
 * shared pids, rank 3's pid 7 becomes 3000007 (the factor is the power of ten above all pids). Ids of flows and async
 * slices are made distinct by shifts, so that ranks are not joined by chance; times are put on one clock if all ranks
 * have a base time.
 *
 * Processes of one run (captures of a program and its children) keep their names; a pid that several have, as those of
 * GPUs, is changed for all but the first, and its process is named "GPU 0 (process 4711)". Correlation ids are made
 * distinct by shifts. Captures of one pid on one host are of one process, and all captures of a host share a clock:
 * their base times differ by noise only.
 *
 * In: traces. Out: one. Begin with merge.c.
 */
#ifndef HD_PASS_MERGE_MERGE_H
#define HD_PASS_MERGE_MERGE_H

#include "heddle/pass.h"
#include "pass/copy/copy.h"

typedef hd_pass_input hd_merge_input;

/* The rank in the trace, else in its file name; HD_NO_NUMBER: none. */
int64_t hd_merge_rank_of(const hd_merge_input *input);

/* The rank of each input as above, or if no input has one, the numbers at the ends of their names if these are 0 to
 * count - 1; HD_NO_NUMBER: unknown. Does not change the inputs. Errors: MEMORY. */
hd_status hd_merge_known_ranks(hd_merge_input *inputs, size_t count, hd_error *err);

/* Finds inputs whose rank an earlier input has. The caller frees *out, also after an error. */
hd_status hd_merge_find_twins(bool **out, const hd_merge_input *inputs, size_t count, hd_error *err);

/* Whether all of several inputs have the same rank, such as single-GPU runs that all have rank 0, and none has a world
 * size above 1. */
bool hd_merge_is_one_rank(const hd_merge_input *inputs, size_t count);

/* The rank of each input: as above. If none has one, the numbers at the ends of their names (trace_0.json, 1.json) if
 * they are 0 to count - 1, each once, else their indices; their indices also if all have the same rank. ARGUMENT: only
 * some have a rank. */
hd_status hd_merge_find_ranks(hd_merge_input *inputs, size_t count, bool *out_by_place, hd_error *err);

/* The shift of the times of each rank, from texts "RANK=TIME"; 0 without texts. Ranks that are not inputs are ignored.
 * ARGUMENT: a malformed text, or an input without one. */
hd_status hd_merge_find_shifts(hd_merge_input *inputs, size_t count, hd_option_texts shifts, hd_error *err);

/* The events of all inputs, one after the other. Ranks must be set and distinct. `shared`: ids are also made distinct
 * from those of ranks that are not inputs: rank 3's 7 becomes 30000000007, longer ids "rank 3: …". The caller frees the
 * trace. */
hd_status hd_merge(hd_trace **out, hd_pass_result *result, hd_merge_input *inputs, size_t count, bool shared,
                   hd_error *err);

/* The same for processes of one run; ranks need not be set. */
hd_status hd_merge_processes(hd_trace **out, hd_pass_result *result, hd_merge_input *inputs, size_t count,
                             hd_error *err);

#endif
