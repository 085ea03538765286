/* impl.h - shared by the files of src/symbolize
 *
 *   symbolize.c           the whole: requests, answers, reports
 *   frames.c    names of frames that are addresses -> requests of modules
 *   modules.c   the trace's keys `modules` and `symbols`
 *   maps.c      functions without a file
 *   rewrite.c   the new trace, with the answers
 *   resolve.c   modules to threads; below it, with libelf and libdw (elf.h):
 *   find.c      the files of a module     table.c   symbols       dwarf.c   inlining, lines
 *
 * In: a trace with addresses. Out: the trace with names. Begin with symbolize.c.
 */
#ifndef HD_SYMBOLIZE_IMPL_H
#define HD_SYMBOLIZE_IMPL_H

#include "base/bytes.h"
#include "base/memory/arena.h"
#include "heddle/stacks.h"
#include "heddle/symbolize.h"
#include "trace/strings.h"

#define SYM_STAGE "symbolize"

enum { SYM_BUILD_ID_BYTES = 64, SYM_WHY_BYTES = 160, SYM_FRAMES_MAX = 256 /* of one address */ };

/* An address that somebody wants the name of. */
typedef struct sym_request {
    uint64_t address;      /* as the file's own symbols have it; of `process`: in memory */
    uint32_t name;         /* the frame's, in the trace's tree */
    uint32_t first, count; /* texts of the answers, innermost first; count 0: unnamed */
} sym_request;

/* Names of requests, each text once. */
typedef struct sym_answers {
    hd_strings texts;
    bool has_texts;
    uint32_t *list;
    size_t count, capacity;
} sym_answers;

typedef struct sym_module {
    const char *name, *path, *build_id_text; /* "" if unknown; in the arena */
    uint8_t build_id[SYM_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    uint64_t start, end, bias; /* of has_range */
    bool has_range;
    bool is_file;      /* else its addresses are of the process: JIT code, the vdso */
    bool has_offsets;  /* its frames say offsets in the file, not addresses */
    bool is_ambiguous; /* another module has this name: the module of its frames is unknown */
    sym_request *requests;
    size_t request_count, request_capacity;
    sym_answers answers;
    uint64_t named, inlined;
    hd_symbolize_result result;
    bool unchecked;
    const char *symbols_path, *lines_path; /* malloc'ed, NULL: none */
    char why[SYM_WHY_BYTES];
} sym_module;

/* A function at addresses of the process. */
typedef struct sym_range {
    uint64_t start, end;
    uint32_t text;  /* in answers of `process` */
    uint32_t order; /* later ones win */
} sym_range;

/* Addresses of a module. */
typedef struct sym_mapping {
    uint64_t start;
    uint32_t module;
} sym_mapping;

typedef struct symbolizer {
    const hd_trace *trace;
    const hd_symbolize_options *options;
    hd_error *err;
    hd_trace_stacks *stacks;
    const hd_stacks *tree;
    hd_arena arena;
    sym_module *modules;
    size_t module_count, module_capacity;
    hd_strings keys; /* names and paths of modules */
    bool has_keys;
    uint32_t *key_modules; /* by key: module, HD_NONE: several */
    sym_mapping *mapped;   /* modules with addresses, by start */
    size_t mapped_count;
    const char *process_of; /* process of all modules; "" if not given; NULL: none yet */
    bool several;           /* processes: an address may be of any */
    size_t key_capacity;
    uint64_t bad_modules, bad_symbols; /* entries of the keys that are none */
    sym_module process;                /* answers by ranges */
    sym_range *ranges;                 /* by start, apart from each other */
    size_t range_count, range_capacity;
    sym_module **name_module; /* by name of the tree: who answers, NULL: it is not an address */
    uint32_t *name_request;
    uint64_t no_module, others;
} symbolizer;

/* modules.c */
hd_status sym_modules_read(symbolizer *s);
/* By name or path; NULL: none. */
sym_module *sym_module_find(const symbolizer *s, const char *text, size_t size);
sym_module *sym_module_at(const symbolizer *s, uint64_t address);

/* maps.c */
hd_status sym_range_add(symbolizer *s, uint64_t start, uint64_t size, const char *name, size_t name_size);
hd_status sym_maps_read(symbolizer *s);
/* Once all are added: overlapping ranges are cut, so that for each address the last one added counts. */
hd_status sym_ranges_settle(symbolizer *s);
const sym_range *sym_range_at(const symbolizer *s, uint64_t address);

/* frames.c */
hd_status sym_frames_read(symbolizer *s);

/* answers.c: texts of names */
bool sym_answers_init(sym_answers *answers);
void sym_answers_deinit(sym_answers *answers);
/* The id of a displayed name: demangled; HD_STRING_NONE: no memory. Control characters and invalid UTF-8 are
 * replaced. */
uint32_t sym_answers_text(sym_answers *answers, const char *name, size_t size);
/* The same of a text that is shown as it is. */
uint32_t sym_answers_plain(sym_answers *answers, const char *text, size_t size);
bool sym_answers_add(sym_answers *answers, uint32_t text);
/* Whether it is "py::NAME:FILE", the form of CPython's perf trampoline. Shown as "NAME (FILE)". */
bool sym_is_python(const char *name, size_t size);

/* resolve.c, or absent.c in a build without libdw */
hd_status sym_resolve(symbolizer *s);

/* rewrite.c */
hd_status sym_rewrite(hd_trace **out, hd_symbolize_report *report, symbolizer *s);

#endif
