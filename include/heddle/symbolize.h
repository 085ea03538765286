/* symbolize.h - names for the addresses in the stacks of a trace
 *
 *     hd_symbolize_options options = {.lines = true};
 *     hd_symbolize_report *report;
 *     hd_symbolize(&named, &report, trace, &options, &err);
 *     hd_symbolize_report_free(report);
 *
 * What is named
 *   A capture holds addresses, since looking up names takes too long while a program runs. Frames of stackFrames called
 *       MODULE+0xOFFSET             OFFSET is an address as the symbols of the file have it, or an offset in the file
 *                                   where the module has "fileOffsets": true
 *       PATH(+0xOFFSET) [0xADDR]    a return address, as glibc's backtrace_symbols writes; OFFSET - 1 is looked up
 *       0xADDRESS                   of the process
 *   For callers, Heddle's readers and captures store the return address less 1: it lies within the
 *   call, while the return address itself may be the first of the next function.
 *   get the names of functions. The top-level key `modules` describes each MODULE: an array of objects with name, path,
 *   buildId (hexadecimal), and start, end and bias (all addresses) where they are known. `symbols` is an array of
 *   objects with start, size and name: functions that no file has. Numbers are JSON numbers, or text with 0x. All other
 *   frames stay as they are, so that a second call, with more places to look, names what the first could not.
 *
 * Where names come from
 *   A file is used only if its build-id is that of the module: a file of another build would silently give wrong names.
 *   Files are tried in this order, until one has a full symbol table: the module's own path; DIR/.build-id/xx/yyyy
 *   .debug of debug_dirs and of /usr/lib/debug; the file's .gnu_debuglink; debug_dirs by the file's
 *   path and name; debuginfod, if enabled. Functions that the compiler inlined become frames of their own where there
 *   is DWARF. C++ is demangled. Frames of CPython's perf trampoline (py::NAME:FILE) become Python frames, NAME (FILE).
 *
 * Effect on the stacks
 *   Frames that get equal names under one caller become one, and `sf` of the events is updated. Events are otherwise
 *   unchanged. Addresses without a name stay; the ledger counts them by reason, stage "symbolize".
 */
#ifndef HEDDLE_SYMBOLIZE_H
#define HEDDLE_SYMBOLIZE_H

#include "heddle/format.h"
#include "heddle/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialised: function names with inlined functions, from files on this machine. Strings and lists are borrowed
 * for the call. */
typedef struct hd_symbolize_options {
    size_t size;                   /* of this struct; see "Options" in status.h */
    bool no_inline;                /* only the function that contains the code */
    bool lines;                    /* "name (file.c:12)": frames of one function at several lines are not the same */
    bool paths;                    /* with lines: whole paths of sources */
    bool debuginfod;               /* query the servers of $DEBUGINFOD_URLS; else nothing ever uses the network */
    const char *const *debug_dirs; /* folders with files of symbols */
    size_t debug_dir_count;
    const char *const *perf_maps; /* files like /tmp/perf-PID.map: "START SIZE NAME", hexadecimal, for 0xADDRESS */
    size_t perf_map_count;
    const char *root;      /* prefix of the modules' paths: /proc/PID/root of a container; NULL: none */
    unsigned threads;      /* 0: one per core */
    hd_progress *progress; /* units: addresses */
    void *progress_user;
    /* How long debuginfod servers may send nothing, in seconds; after such a timeout they are not asked about further
     * modules. 0: $DEBUGINFOD_TIMEOUT, else 30. */
    unsigned debuginfod_timeout_s;
} hd_symbolize_options;

/* The result for a module. */
typedef enum hd_symbolize_result {
    HD_SYMBOLIZE_NAMED,      /* its symbols were read; some addresses may have no name */
    HD_SYMBOLIZE_NOT_FOUND,  /* no file there */
    HD_SYMBOLIZE_OTHER,      /* files exist, but of other builds */
    HD_SYMBOLIZE_UNREADABLE, /* no permission, not a regular file, not ELF, or damaged */
    HD_SYMBOLIZE_NO_SYMBOLS, /* the file is the right one and has no symbols */
    HD_SYMBOLIZE_AMBIGUOUS,  /* several modules have the name in its frames */
} hd_symbolize_result;

/* Static: "named", "not-found", "other-build", "unreadable", "no-symbols", "ambiguous". */
const char *hd_symbolize_result_name(hd_symbolize_result result);

typedef struct hd_symbolize_module {
    const char *name, *path, *build_id; /* from the trace; "" if absent */
    const char *symbols, *lines;        /* the files used for symbols and for lines, "" if none; equal if one file
                                           served both */
    const char *why;                    /* what was wrong with the best candidate file, "" if nothing */
    uint64_t addresses, named;          /* distinct ones */
    hd_symbolize_result result;
    bool unchecked; /* the trace has no build-id for it: the file at its path was used unchecked */
} hd_symbolize_module;

/* frames = named + unnamed + others. Strings and lists belong to the report. */
typedef struct hd_symbolize_report {
    uint64_t frames;          /* distinct names of frames in the trace's stacks */
    uint64_t named, unnamed;  /* of the frames that are addresses */
    uint64_t others;          /* that are none */
    uint64_t no_module;       /* of `unnamed`: addresses in no known module, map or symbol */
    uint64_t by_maps;         /* of `named`: named by `symbols` and perf_maps */
    uint64_t inlined;         /* frames inserted for inlined functions, by address */
    uint64_t nodes_in, nodes; /* of the stack tree, before and after */
    uint64_t texts;           /* arguments "stack" that were rewritten */
    size_t module_count;      /* modules that frames are in */
    hd_symbolize_module *modules;
} hd_symbolize_report;

void hd_symbolize_report_free(hd_symbolize_report *report);

/* Whether this build can read symbols of files (libdw). Without, symbols and perf_maps still give names. */
bool hd_symbolize_has_files(void);

/* A trace with named frames. The caller frees both; after a failure both are NULL. options and out_report may be NULL.
 * A trace without stacks is copied. A fault of a module is never an error. Errors: MEMORY; DAMAGED if stackFrames or
 * modules cannot be read; IO or FORMAT for a perf_map; ARGUMENT or UNSUPPORTED if debuginfod is enabled without a
 * server, or without its library. */
hd_status hd_symbolize(hd_trace **out, hd_symbolize_report **out_report, const hd_trace *trace,
                       const hd_symbolize_options *options, hd_error *err);

/* The same as a pass, for hd_pass_new. Static. */
const hd_pass_about *hd_symbolize_pass(void);

#ifdef __cplusplus
}
#endif
#endif
