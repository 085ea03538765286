/* attribution.h - the parts of the join of CPU stacks with GPU activities
 *
 * attribution.c makes the arrays, applies the rules in order of reliability, and at the end gives each activity the
 * stack of its launch:
 *   given    works whose slice has `sf`                                  -> work_stack, and launch_stack
 *   samples  launches that still have no rule: ID, THREAD, SEQUENCE, ORDER -> launch_stack (ORDER: work_stack)
 *   slices   launches that still have no rule                            -> launch_stack
 * A launch with a rule is never changed by a later step; neither is a work_stack whose work_rule is set.
 *
 * In: the GPU's trace, and that of the CPU's samples. Out: a stack for each launch (heddle/analysis/attribution.h).
 * Begin with attribution.c.
 */
#ifndef HD_PASS_ATTRIBUTION_ATTRIBUTION_H
#define HD_PASS_ATTRIBUTION_ATTRIBUTION_H

#include "heddle/analysis/attribution.h"

/* Activities whose slice has a stack: sets their work_stack and HD_RULE_GIVEN, and launch_stack and launch_rule of
 * their launch (unless they are nodes of a graph: those may have creation stacks below, which are not the launch's). */
hd_status attribution_from_given(hd_attribution *a, const hd_trace *gpu, const hd_attribution_options *options,
                                 hd_error *err);

/* Launches without a rule, from the slices that enclose them: sets launch_stack and HD_RULE_SLICES. The launch's own
 * call is the last frame. Activities without a launch get a work_stack and work_rule if their op is known. */
hd_status attribution_from_slices(hd_attribution *a, const hd_trace *gpu, const hd_attribution_options *options,
                                  hd_error *err);

/* Launches without a rule, from stack samples; also clock, pending and the counts of samples. */
hd_status attribution_from_samples(hd_attribution *a, const hd_trace *gpu, const hd_trace *cpu,
                                   const hd_attribution_options *options, hd_error *err);

#endif
