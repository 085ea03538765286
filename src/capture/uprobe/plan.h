/* plan.h - the functions to probe: known ones, and names to look up in files mapped later */
#ifndef HD_CAPTURE_UPROBE_PLAN_H
#define HD_CAPTURE_UPROBE_PLAN_H

#include "capture/uprobe/elf.h"
#include "capture/uprobe/search.h"
#include "heddle/capture/uprobe.h"

enum { UPROBE_WANTS_MAX = 64 };

typedef struct uprobe_target {
    char *path, *symbol;
    uint64_t offset;
    uint64_t address, bytes; /* in the file's own addresses; the size is 0 where unknown */
    uint64_t device, inode;
} uprobe_target;

/* From a searched name, or a preset: other files may match it as well. */
typedef struct uprobe_want {
    char *library; /* NULL: any file */
    char *symbol;  /* with * ? [ ]; NULL: the preset's */
    const char *const *preset;
} uprobe_want;

struct hd_uprobe_plan {
    uprobe_search search;
    uprobe_target targets[HD_UPROBE_TARGETS_MAX];
    uint32_t count;
    uprobe_want wants[UPROBE_WANTS_MAX];
    uint32_t want_count;
};

/* A file that the program has mapped: adds matching functions in it that are not known yet. *out_found: how many.
 * Errors: LIMIT, MEMORY. */
hd_status uprobe_plan_look(hd_uprobe_plan *plan, const char *path, uint32_t *out_found, hd_error *err);

#endif
