/* elf.h - shared by the files of src/symbolize that use libelf and libdw
 *
 * One thread has one module with all its files at a time, since a handle of libelf or libdw is for one thread.
 */
#ifndef HD_SYMBOLIZE_ELF_H
#define HD_SYMBOLIZE_ELF_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdatomic.h>

#include "base/memory/memo.h"
#include "symbolize/impl.h"

/* ---- files ---- */

typedef struct sym_file {
    Elf *elf; /* NULL: none */
    int fd;
    char *path;   /* malloc'ed */
    void *memory; /* of a file within a file, malloc'ed; fd is -1 then */
} sym_file;

/* Files of one build: `main` is the program or library itself. Two of them may be the same file, which the first one
 * owns. */
typedef struct sym_files {
    sym_file main, symbols, lines;
    Elf *symbols_elf, *lines_elf; /* from one of the three; NULL: none has them */
    const char *symbols_path, *lines_path;
    hd_symbolize_result result; /* of the missing file */
    bool has_silent_servers;    /* so a missing file may exist there */
    char why[SYM_WHY_BYTES];
} sym_files;

/* Nothing that is wrong with a file is an error. *silent: whether servers were silent before, for any module. */
void sym_files_find(sym_files *out, sym_module *module, const hd_symbolize_options *options, atomic_bool *silent);
void sym_files_close(sym_files *files);

/* Whether the bytes are the build-id of the file, or whether it has one at all (*out_has). */
bool sym_file_is(Elf *elf, bool *out_has, const uint8_t *build_id, size_t size);
/* open.c. A regular ELF file; false: any other file, see *out_result and why. Never blocks. */
bool sym_file_open(sym_file *out, hd_symbolize_result *out_result, char why[SYM_WHY_BYTES], const char *path);
bool sym_file_take(sym_file *out, int fd, const char *path);
void sym_file_close(sym_file *file);
bool sym_file_has_symbols(Elf *elf);
bool sym_file_has_lines(Elf *elf);
bool sym_file_section(GElf_Shdr *out, Elf_Scn **out_section, Elf *elf, const char *name);
/* Its DWARF, or NULL. Texts end within their sections then, which libdw relies on, and a damaged file may not have. */
Dwarf *sym_file_dwarf(Elf *elf);
uint32_t sym_file_crc(int fd);

#define SYM_SILENT "the servers of DEBUGINFOD_URLS do not answer"
/* debuginfod.c: a descriptor of the file of symbols, -1: none. *out_silent: no server sent anything within the limit,
 * which is 0 for the default. */
int sym_debuginfod_find(bool *out_silent, const uint8_t *build_id, size_t size, unsigned limit_s);
hd_status sym_debuginfod_check(hd_error *err);

/* ---- symbols ---- */

typedef struct sym_symbol {
    uint64_t start, end;
    const char *name; /* of the file */
    uint32_t text;    /* in answers, HD_STRING_NONE: not made yet */
    uint8_t rank;     /* of several at one start the highest is used */
    bool is_sized;
} sym_symbol;

/* Zero-initialise. */
typedef struct sym_table {
    sym_symbol *list; /* by start */
    uint64_t *reach;  /* by symbol: the largest end up to it */
    size_t count, capacity;
    sym_file mini; /* a file within the file */
} sym_table;

/* From the file's .symtab; if it has none from .gnu_debugdata and .dynsym. false: no memory. */
bool sym_table_load(sym_table *table, Elf *symbols, Elf *main);
void sym_table_deinit(sym_table *table);
/* NULL: none. */
sym_symbol *sym_table_find(const sym_table *table, uint64_t address);

/* mini.c: the file within .gnu_debugdata; false: none, or this build has no liblzma. */
bool sym_mini_open(sym_file *out, Elf *elf);

/* ---- DWARF ---- */

/* A function, or one inlined into it, at the address of a request. */
typedef struct sym_scope {
    uint32_t outer; /* scope around it, HD_NONE */
    uint32_t depth;
    uint32_t name;      /* text, HD_STRING_NONE: it has none */
    uint32_t call_line; /* where it is inlined, 0: unknown */
    uint32_t call_file; /* text */
} sym_scope;

typedef struct sym_place {
    uint32_t scope;      /* the innermost, HD_NONE: unknown */
    uint32_t line, file; /* file: text, HD_STRING_NONE: unknown */
} sym_place;

typedef struct sym_places {
    sym_place *list; /* by request */
    sym_scope *scopes;
    size_t scope_count, scope_capacity;
} sym_places;

/* Where the requests of the module, which are sorted, lie, by the DWARF of the file at `path`. false: no memory. */
bool sym_places_find(sym_places *out, sym_module *module, Elf *elf, const char *path,
                     const hd_symbolize_options *options);
void sym_places_deinit(sym_places *places);

/* alternate.c. The shared file into which dwz moved parts of this one. false: it has such parts, and the shared file is
 * missing; without it names would be missing or wrong. */
bool sym_alternate_find(sym_file *out_file, Dwarf **out_alternate, Dwarf *dwarf, const char *path,
                        const hd_symbolize_options *options);

#endif
