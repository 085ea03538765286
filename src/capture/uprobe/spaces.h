/* spaces.h - the followed processes: their mappings and threads, from the kernel's records
 *
 * One thread at a time.
 */
#ifndef HD_CAPTURE_UPROBE_SPACES_H
#define HD_CAPTURE_UPROBE_SPACES_H

#include "base/map.h"
#include "capture/uprobe/elf.h"

enum { UPROBE_COMM_BYTES = 16 };

/* A file that is mapped somewhere, once for all processes. */
typedef struct uprobe_module {
    uint32_t number; /* from 0 */
    char *path;
    uint8_t build_id[UPROBE_BUILD_ID_MAX]; /* the kernel's, else the file's; 0 bytes: unknown */
    uint32_t build_id_bytes;
    uint64_t device, inode; /* 0: unknown */
    bool is_opened;         /* tried to; elf.data is NULL if that failed, or the file is another by now */
    bool is_told;           /* the writer has announced it */
    uprobe_elf elf;
    void *symbols; /* of the writer of text */
} uprobe_module;

/* Code that no file has, and whose frame is known all the same: CPython's trampolines (-X perf, PYTHONPERFSUPPORT), one
 * of which calls the interpreter for each Python function. All of a mapping are copies of one. */
typedef enum uprobe_code {
    UPROBE_CODE_NEW, /* not looked at */
    UPROBE_CODE_OTHER,
    UPROBE_CODE_GONE,  /* the process has ended */
    UPROBE_CODE_PADS,  /* 3.12: 8 bytes below the return address */
    UPROBE_CODE_PUSHES /* later: the frame pointer */
} uprobe_code;

typedef struct uprobe_mapping {
    uint64_t start, end, offset;
    uprobe_module *module; /* NULL: no file */
    uprobe_code code;
    bool is_trampoline; /* the kernel's own page of uprobes, to which probed functions return */
} uprobe_mapping;

typedef struct uprobe_process {
    uint32_t pid;
    uint32_t threads;         /* alive */
    uprobe_mapping *mappings; /* executable ones, by address */
    uint32_t count;
    uint32_t capacity;
    uint32_t last; /* looked up, a guess */
    char name[UPROBE_COMM_BYTES];
} uprobe_process;

/* A probed function that has not returned. */
typedef struct uprobe_open_call {
    uint32_t target, cpu;
    uint64_t stack_pointer; /* at entry */
    uint64_t return_address;
    int64_t time_ns;
} uprobe_open_call;

typedef struct uprobe_thread {
    uint32_t pid, tid;
    uint32_t track; /* of the writer; 0: none yet */
    bool has_called;
    char name[UPROBE_COMM_BYTES];
    uprobe_open_call *open; /* outermost first */
    uint32_t open_count, open_capacity;
} uprobe_thread;

typedef struct uprobe_spaces {
    hd_map processes, threads;
    uprobe_module **modules;
    uint32_t module_count, module_capacity;
    uint64_t process_count;
    bool failed; /* memory ran out: something is missing */
} uprobe_spaces;

void uprobe_spaces_deinit(uprobe_spaces *spaces);

uprobe_process *uprobe_spaces_process(const uprobe_spaces *spaces, uint32_t pid); /* NULL: not followed */
uprobe_thread *uprobe_spaces_thread(uprobe_spaces *spaces, uint32_t pid,
                                    uint32_t tid);                        /* made if need be; NULL: memory */
uprobe_process *uprobe_spaces_begin(uprobe_spaces *spaces, uint32_t pid); /* follow a process; NULL: memory */

/* A mapping in the kernel's records. Its module is identified by path, build-id and inode. */
typedef struct uprobe_mapped {
    uint32_t pid;
    uint64_t start, bytes, offset, device, inode;
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    const char *path;
} uprobe_mapped;

/* The module, if no process had mapped it before; else NULL. */
uprobe_module *uprobe_spaces_map(uprobe_spaces *spaces, const uprobe_mapped *mapped);
void uprobe_spaces_fork(uprobe_spaces *spaces, uint32_t pid, uint32_t tid, uint32_t parent, uint32_t parent_tid);
void uprobe_spaces_name(uprobe_spaces *spaces, uint32_t pid, uint32_t tid, const char *name, bool is_exec);
/* The thread ended: the caller looks at it first. */
void uprobe_spaces_exit(uprobe_spaces *spaces, uint32_t pid, uint32_t tid);

/* The mapping at an address; NULL: no known executable mapping. */
const uprobe_mapping *uprobe_process_at(uprobe_process *process, uint64_t address);
/* What returns to an address where no file is mapped. */
uprobe_code uprobe_process_code(uprobe_process *process, uint64_t address);
/* The module's file, NULL if it cannot be read or is not the mapped one. `pid` is of a process that has it. */
const uprobe_elf *uprobe_module_elf(uprobe_module *module, uint32_t pid);

#endif
