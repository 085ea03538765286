/* activity_ids.c - ids of names, arguments and tracks: the session, which takes a lock, is called only for new ones */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "capture/cuda/cupti/activity.h"

/* By its pointer, and compared: CUPTI may give another name the same place. */
uint32_t activity_name(cuda_activity *a, const char *name)
{
    uintptr_t key = (uintptr_t)name;
    size_t slot = (key >> 4 ^ key >> 14) % ACTIVITY_CACHE;
    if (a->names[slot].pointer == name && a->names[slot].text && strcmp(a->names[slot].text, name) == 0)
        return a->names[slot].id;
    uint32_t id = hd_session_intern(a->session, name);
    free(a->names[slot].text);
    a->names[slot].text = strdup(name);
    a->names[slot].pointer = name;
    a->names[slot].id = id;
    return id;
}

static hd_session_arg integer(const char *key, int64_t value)
{
    return (hd_session_arg){.key = key, .type = HD_SESSION_INT, .integer = value};
}

typedef struct arg_list {
    hd_session_arg args[HD_SESSION_ARGS_MAX];
    uint32_t count;
    char texts[3][48];
} arg_list;

static void add_int(arg_list *list, const char *key, int64_t value)
{
    list->args[list->count++] = integer(key, value);
}

static void add_triple(arg_list *list, unsigned which, const char *key, const uint32_t *words)
{
    snprintf(list->texts[which], sizeof list->texts[which], "[%d,%d,%d]", (int)words[0], (int)words[1], (int)words[2]);
    list->args[list->count++] = (hd_session_arg){.key = key, .type = HD_SESSION_JSON, .text = list->texts[which]};
}

static void add_place(arg_list *list, const activity_args *args)
{
    add_int(list, "device", args->device);
    if (args->context != CUPTI_NONE) add_int(list, "context", args->context);
    if (args->stream != CUPTI_NONE) add_int(list, "stream", args->stream);
}

/* words: registers, shared memory (2), grid, block, graph */
static void add_kernel(arg_list *list, const activity_args *args)
{
    const uint32_t *w = args->words;
    add_int(list, "registers per thread", w[0]);
    add_int(list, "shared memory", (int64_t)(w[1] | (uint64_t)w[2] << 32));
    add_triple(list, 0, "grid", w + 3);
    add_triple(list, 1, "block", w + 6);
    if (w[9]) add_int(list, "graph id", w[9]);
}

static uint32_t make_args(cuda_activity *a, const activity_args *args)
{
    arg_list list = {0};
    const uint32_t *w = args->words;
    switch (args->what) {
    case CUPTI_KIND_RUNTIME:
    case CUPTI_KIND_DRIVER:
        add_int(&list, "cbid", w[0]);
        if (w[1]) add_int(&list, "result", w[1]);
        break;
    case CUPTI_KIND_CONCURRENT_KERNEL:
        add_place(&list, args);
        add_kernel(&list, args);
        break;
    case CUPTI_KIND_MEMCPY2:
        add_place(&list, args);
        add_int(&list, "inDevice", w[1]);
        add_int(&list, "inContext", w[2]);
        add_int(&list, "outDevice", w[3]);
        add_int(&list, "outContext", w[4]);
        if (w[0]) add_int(&list, "graph id", w[0]);
        break;
    case CUPTI_KIND_SYNCHRONIZATION:
        add_place(&list, args);
        if (w[0] != CUPTI_NONE) add_int(&list, "event", w[0]);
        break;
    default:
        add_place(&list, args);
        if (w[0]) add_int(&list, "graph id", w[0]);
    }
    return hd_session_args(a->session, list.args, list.count);
}

uint32_t activity_args_id(cuda_activity *a, const activity_args *args)
{
    size_t slot = (size_t)(hd_hash(args, sizeof *args) % ACTIVITY_CACHE);
    if (a->args[slot].id && memcmp(&a->args[slot].key, args, sizeof *args) == 0) return a->args[slot].id;
    a->args[slot].key = *args;
    return a->args[slot].id = make_args(a, args);
}

uint32_t activity_track(cuda_activity *a, hd_session_track_kind kind, uint32_t device, uint64_t number)
{
    size_t slot = (size_t)(hd_hash_pair(number, (uint64_t)kind << 32 | device) % ACTIVITY_CACHE);
    if (a->tracks[slot].kind == (uint32_t)kind && a->tracks[slot].device == device && a->tracks[slot].number == number)
        return a->tracks[slot].id;
    hd_session_track_info info = {.kind = kind, .device = device, .number = number};
    uint32_t id = hd_session_track(a->session, &info);
    a->tracks[slot].kind = (uint32_t)kind;
    a->tracks[slot].device = device;
    a->tracks[slot].number = number;
    return a->tracks[slot].id = id;
}

/* Ids of contexts ascend from 1: the last ones are stored. */
void activity_learn_context(cuda_activity *a, uint32_t context, uint32_t device)
{
    a->contexts[context % ACTIVITY_CONTEXTS].context = context;
    a->contexts[context % ACTIVITY_CONTEXTS].device = device;
    a->contexts[context % ACTIVITY_CONTEXTS].is_known = true;
}

uint32_t activity_device_of(cuda_activity *a, uint32_t context)
{
    size_t slot = context % ACTIVITY_CONTEXTS;
    if (a->contexts[slot].is_known && a->contexts[slot].context == context) return a->contexts[slot].device;
    a->counts.unmapped++;
    return 0;
}
