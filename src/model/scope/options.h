/* options.h - the options that every question about GPU activity has */
#ifndef HD_MODEL_SCOPE_OPTIONS_H
#define HD_MODEL_SCOPE_OPTIONS_H

#include "heddle/convert.h"
#include "heddle/pass.h"

/* Values of --by; a report lists the ones it supports. */
enum {
    GPU_BY_STEP = 1,
    GPU_BY_NAME = 2,
    GPU_BY_SHORT = 4,
    GPU_BY_OP = 8,
    GPU_BY_MODULE = 16,
    GPU_BY_SHAPE = 32,
    GPU_BY_GRID = 64,
    GPU_BY_STREAM = 128,
    GPU_BY_CLASS = 256,
    GPU_BY_STACK = 512,
    GPU_BY_LINE = 1024,
    GPU_BY_GROUP = 2048,
};

/* The first member of each report's options. */
typedef struct gpu_options {
    const char *by, *step, *names, *tracks, *ranks, *steps;
    hd_convert_time from, until;
    bool linked;
} gpu_options;

/* Their rows in the option table of a report whose options begin with a gpu_options; `words` are the values of --by. */
#define GPU_OPTIONS(words)                                                                                             \
    {"by", HD_OPTION_PATTERNS, NULL, "rows for each of these: " words, offsetof(gpu_options, by), words},              \
        GPU_OPTIONS_SCOPE
#define GPU_OPTIONS_SCOPE                                                                                              \
    {"step", HD_OPTION_PATTERNS, NULL,                                                                                 \
     "annotations of these names are the steps of --by step, not ProfilerStep#N; auto: guess them from what "          \
     "repeats; --steps chooses among them",                                                                            \
     offsetof(gpu_options, step)},                                                                                     \
        {"linked", HD_OPTION_FLAG, NULL, "leave out GPU activities whose launch is not known",                         \
         offsetof(gpu_options, linked)},                                                                               \
        {"from", HD_OPTION_TIME, NULL, "begin at this time after the first event: 1.5s, 250ms, 10us, 4ns, or 10%",     \
         offsetof(gpu_options, from)},                                                                                 \
        {"until", HD_OPTION_TIME, NULL, "end there", offsetof(gpu_options, until)},                                    \
        {"names", HD_OPTION_PATTERNS, NULL, "only GPU activities of these names", offsetof(gpu_options, names)},       \
        {"tracks", HD_OPTION_PATTERNS, NULL,                                                                           \
         "only GPU activities on tracks whose name, process name or PROCESS/THREAD matches",                           \
         offsetof(gpu_options, tracks)},                                                                               \
        {"rank", HD_OPTION_PATTERNS, NULL, "only these ranks: 0,3", offsetof(gpu_options, ranks)},                     \
        GPU_OPTION_STEPS(gpu_options, steps)
/* A window, in place of --from and --until. */
#define GPU_OPTION_STEPS(options, field)                                                                               \
    {                                                                                                                  \
        "steps", HD_OPTION_TEXT, NULL,                                                                                 \
            "from the beginning of step A to the end of step B: A:B; or one step by its number, or those of one name", \
            offsetof(options, field)                                                                                   \
    }

/* Precedes the event of a column of ids: "its id, as in heddle query: of the call" */
#define GPU_ID_OF "`id` in the table slice of heddle query, of "

#endif
