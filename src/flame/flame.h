/* flame.h - shared by the parts of the flame graph: weights, views of one or two trees, children in order, writers
 *
 * In: traces. Out: a tree of frames with weights, then text, SVG, speedscope, pprof or OTLP. Begin with add.c, then
 * write.c.
 */
#ifndef HD_FLAME_FLAME_H
#define HD_FLAME_FLAME_H

#include "base/error.h"
#include "base/io/output.h"
#include "heddle/analysis/flame.h"

/* Frames for missing data. */
#define FLAME_NO_STACK "[no stack]"
#define FLAME_PENDING "[GPU_Launch_Pending]"

/* a + b, at most INT64_MAX and at least INT64_MIN. */
static inline int64_t flame_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* ---- weights (flame.c) ---- */

/* Reserves weights for each node of the tree; call it again whenever nodes were added. */
void flame_deinit(hd_flame *flame);
hd_status flame_make_room(hd_flame *flame, hd_error *err);
/* For this many expected nodes. */
hd_status flame_reserve(hd_flame *flame, size_t capacity, hd_error *err);
/* Computes total[] from self[]: callers have smaller numbers than their callees, so one pass from the last node to the
 * first suffices. */
void flame_total(int64_t *total, const int64_t *self, const hd_stacks *stacks);

/* ---- one tree of one or two flames (diff.c) ---- */

/* What is written: the flame's own tree, or the merged tree of two flames, with base_self, base_total and base_count of
 * the older one. */
typedef struct flame_view {
    const hd_stacks *stacks;
    const int64_t *self, *total;
    const uint64_t *count;
    const int64_t *base_self, *base_total; /* NULL: no older flame */
    const uint64_t *base_count;
    void *memory; /* what the view owns */
} flame_view;

/* base NULL: the flame itself, without a copy. Kernels of the two flames match by short name. */
hd_status flame_view_init(flame_view *out, const hd_flame *flame, const hd_flame *base, hd_error *err);
void flame_view_deinit(flame_view *view);

/* ---- children in order (tree.c) ---- */

/* Ids of all names, by their bytes. The caller frees the list. */
hd_status flame_sort_names(uint32_t **out, const hd_stacks *stacks, hd_error *err);

/* Stacks with a weight of their own, as formats of samples have them. */
typedef struct flame_samples {
    uint32_t *frames; /* by name: its index among the frames of these stacks, HD_NONE: none has it */
    uint32_t *nodes;  /* the last frame of each stack: callers before their callees, callees by name */
    uint32_t count;
    uint64_t changed_names; /* frames whose name is empty or no UTF-8 */
} flame_samples;
/* Deinit it either way. */
hd_status flame_samples_init(flame_samples *out, const hd_flame *flame, hd_error *err);
void flame_samples_deinit(flame_samples *samples);

/* ---- names in texts (text.c) ---- */

/* Room for a name of `size` bytes in flame_text_clean. */
#define FLAME_TEXT_BYTES(size) ((size)*3 + 16)

/* A name without control characters and line ends (each becomes a space) and as UTF-8 (a broken byte becomes U+FFFD);
 * an empty name becomes "[unknown]"; `parted`: a ';' becomes a ':'. Returns the size; *changed is set if the text
 * differs, else it is not written. */
size_t flame_text_clean(char *out, hd_string name, bool parted, bool *changed);

/* Whether flame_text_clean would not change it. */
bool flame_text_fits(hd_string name, bool parted);

/* pprof.c: a field with a name, which flame_text_clean changes if it is empty or no UTF-8. */
void flame_put_name(hd_bytes *out, uint32_t field, hd_string name);
/* What the weights are, and their unit, in the words of pprof and OpenTelemetry. */
const char *flame_value_of(const char **out_unit, const hd_flame *flame);

/* "GPU time" … for titles; "ns" …, of samples without weights "samples". Static. */
const char *flame_title_of(hd_flame_of of);
const char *flame_unit_of(hd_flame_of of);

/* ---- writers ---- */

/* Each writes everything to an output that the caller commits, and counts into *out, which is not NULL. options is not
 * NULL either. */
hd_status flame_write_folded(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                             hd_flame_written *out, hd_error *err);
hd_status flame_write_speedscope(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                                 hd_flame_written *out, hd_error *err);
hd_status flame_write_pprof(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                            hd_flame_written *out, hd_error *err);
hd_status flame_write_otlp(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                           hd_flame_written *out, hd_error *err);
hd_status flame_write_svg(const hd_flame *flame, hd_output *output, const hd_flame_write_options *options,
                          hd_flame_written *out, hd_error *err);

#endif
