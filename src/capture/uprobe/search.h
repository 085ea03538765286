/* search.h - where the dynamic linker would find a library for a command, and suggestions for names */
#ifndef HD_CAPTURE_UPROBE_SEARCH_H
#define HD_CAPTURE_UPROBE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

/* ---- names near to what was typed ---- */

enum { UPROBE_NEAR = 3, UPROBE_NEAR_BYTES = 56 };

typedef struct uprobe_near {
    const char *typed;
    uint32_t count;
    unsigned distance[UPROBE_NEAR];
    char names[UPROBE_NEAR][UPROBE_NEAR_BYTES];
} uprobe_near;

void uprobe_near_offer(uprobe_near *near, const char *name, size_t size);
/* "; near: a, b" in `out`, "" where nothing is near. */
const char *uprobe_near_text(const uprobe_near *near, char *out, size_t capacity);

/* ---- libraries ---- */

enum { UPROBE_LIBRARIES_MAX = 512 };

typedef struct uprobe_library {
    char *name; /* as requested: "libcudart.so.12" */
    char *path;
} uprobe_library;

typedef struct uprobe_search {
    char *command;             /* its first word; "" if unknown */
    char *executable;          /* the executed file, for a script its interpreter; NULL: not found */
    uprobe_library *libraries; /* libraries that the executable is linked with, recursively */
    uint32_t count;
} uprobe_search;

hd_status uprobe_search_init(uprobe_search *search, const char *const *command, hd_error *err);
/* Of a process that runs (running.c): what it has loaded. */
hd_status uprobe_search_process(uprobe_search *search, uint32_t pid, hd_error *err);
hd_status uprobe_search_add(uprobe_search *search, const char *path, hd_error *err); /* a library, once */
void uprobe_search_deinit(uprobe_search *search);

/* Whether a file name matches a requested name: "libx.so" also matches "libx.so.1". */
bool uprobe_search_is(const char *asked, const char *name);
/* malloc'ed path, or NULL. */
char *uprobe_search_find(const uprobe_search *search, const char *name);
void uprobe_search_offer(const uprobe_search *search, uprobe_near *near);

#endif
