/* shared_options.h - options that several commands have, for their tables
 *
 * `at` is where the value goes: `.field = offsetof(…)`, which most commands write as FIELD(member).
 */
#ifndef HD_CLI_SHARED_OPTIONS_H
#define HD_CLI_SHARED_OPTIONS_H

#include "cli/cli.h"

/* ---- reading and writing ---- */

#define OPTION_STRICT(at)                                                                                              \
    {                                                                                                                  \
        .name = "strict", .kind = CLI_FLAG, at,                                                                        \
        .help = "fail if anything of an input was repaired or lost, by heddle or by its producer"                      \
    }

#define OPTION_BINARY(at)                                                                                              \
    {                                                                                                                  \
        .name = "binary", .kind = CLI_TEXT, .value = "FILE", at,                                                       \
        .help = "the program of an XRay log, for the names of its functions (default: searched next to the log)"       \
    }

#define OPTION_COUNTERS(at)                                                                                            \
    {                                                                                                                  \
        .name = "counters", .kind = CLI_TEXT, .value = "FILE[,KEY=VALUE...]", .offer = "<files>", at,                  \
        .help = "join counters of the GPUs, such as power and clocks, that nvidia-smi, dcgmi, rocm-smi or Prometheus " \
                "wrote to FILE meanwhile; zone=+02:00 (or UTC, local) is the time zone of its times, offset=TIME is "  \
                "added to them, at=TIME is where the first one is, interval=TIME between rows without times, gpu=N "   \
                "the GPU that is device 0, then 1, ..."                                                                \
    }

#define OPTION_ANONYMIZE(at)                                                                                           \
    {                                                                                                                  \
        .name = "anonymize", .kind = CLI_TEXT, .value = "KIND,...", .alone = "paths,args,hosts",                       \
        .offer = "names paths args hosts", at,                                                                         \
        .help = "replace texts, last of all: of hosts (and processes, threads), paths (and frames), args (and "        \
                "metadata, ranges of the program), names (of kernels and operators); without KIND all but names"       \
    }

#define OPTION_SALT(at)                                                                                                \
    {                                                                                                                  \
        .name = "salt", .kind = CLI_TEXT, .value = "TEXT", at,                                                         \
        .help = "with --anonymize, hash with this secret: files made with the same secret have equal hashes for "      \
                "equal texts; without it the key is random, and files cannot be compared"                              \
    }

#define OPTION_IN_PLACE(at)                                                                                            \
    {                                                                                                                  \
        .name = "in-place", .letter = 'i', .kind = CLI_FLAG, at, .help = "write over the input, where OUT names it"    \
    }
#define IN_PLACE_HINT ", or write over it with --in-place"

/* Of a command whose last operand is OUT. */
#define OPTION_OUT                                                                                                     \
    {                                                                                                                  \
        .name = "output", .letter = 'o', .kind = CLI_OPERAND, .value = "FILE", .help = "write there, as if named last" \
    }

#define OPTION_SYNC(at)                                                                                                \
    {                                                                                                                  \
        .name = "sync", .kind = CLI_FLAG, at, .help = "wait until the output is on the disk"                           \
    }

#define OPTION_THREADS(at, what)                                                                                       \
    {                                                                                                                  \
        .name = "threads", .letter = 'j', .kind = CLI_COUNT, .value = "N", .max = 64, at,                              \
        .help = what "; 0 is one per core"                                                                             \
    }

/* An hd_mpi_kind. */
#define OPTION_MPI(at, alone)                                                                                          \
    {                                                                                                                  \
        .name = "mpi", .kind = CLI_CHOICE, .value = "WHICH", at,                                                       \
        .choices = (const char *const[]){"auto", "openmpi", "mpich", "none", NULL},                                    \
        .help = "the MPI of the launcher: auto, openmpi, mpich; none: " alone                                          \
    }

#define OPTION_MEMORY_LIMIT(at)                                                                                        \
    {                                                                                                                  \
        .name = "memory-limit", .kind = CLI_COUNT, .value = "BYTES", at,                                               \
        .help = "memory for all events, such as 512M or 2Gi; the rest goes to a file in $TMPDIR, else /var/tmp or "    \
                "/tmp; 0 is a quarter of the machine's"                                                                \
    }

/* ---- how much is shown ---- */

#define OPTION_ROWS(at, what)                                                                                          \
    {                                                                                                                  \
        .name = "rows", .letter = 'n', .kind = CLI_COUNT, .value = "N", .min = 1, .max = 1e15, at, .help = what        \
    }

/* Its former name. */
#define OPTION_ROWS_OLD(older, at)                                                                                     \
    {                                                                                                                  \
        .name = older, .kind = CLI_COUNT, .value = "N", .min = 1, .max = 1e15, at, .old = true                         \
    }

/* ---- which part of a trace ---- */

#define OPTION_FROM(at)                                                                                                \
    {                                                                                                                  \
        .name = "from", .kind = CLI_TEXT, .value = "TIME", at,                                                         \
        .help = "begin at this time after the first event: 1.5s, 250ms, 10us, 4ns, or 10% of the trace's span"         \
    }

#define OPTION_UNTIL(at)                                                                                               \
    {                                                                                                                  \
        .name = "until", .kind = CLI_TEXT, .value = "TIME", at, .help = "end there"                                    \
    }

/* ---- flame graphs ---- */

#define OPTION_FORWARD(at)                                                                                             \
    {                                                                                                                  \
        .name = "forward", .kind = CLI_FLAG, at,                                                                       \
        .help = "put the GPU activities of a backward pass under their forward operator"                               \
    }

#define OPTION_FULL_NAMES(at)                                                                                          \
    {                                                                                                                  \
        .name = "full-names", .kind = CLI_FLAG, at, .help = "show kernels with template arguments and parameters"      \
    }

#define OPTION_MIN_PERCENT(at)                                                                                         \
    {                                                                                                                  \
        .name = "min-percent", .kind = CLI_DECIMAL, .value = "P", .max = 100, at,                                      \
        .help = "svg: leave out frames narrower than this share of the whole"                                          \
    }

#define OPTION_TITLE(at)                                                                                               \
    {                                                                                                                  \
        .name = "title", .kind = CLI_TEXT, .value = "TEXT", at, .help = "title of the picture"                         \
    }

#endif
