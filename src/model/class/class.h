/* class.h - classes of GPU activities (compute, communication, copy) and kinds of collectives: the only table of rules
 *
 * In: the role and name of a GPU activity, and its arguments. Out: its class, and the kind of its collective. All code
 * that needs classes uses this. Begin with class.c.
 */
#ifndef HD_MODEL_CLASS_CLASS_H
#define HD_MODEL_CLASS_CLASS_H

#include "heddle/analysis/launches.h"
#include "model/args/args.h"
#include "trace/lazy.h"

typedef enum gpu_class { GPU_COMPUTE, GPU_COMMUNICATION, GPU_COPY, GPU_CLASSES } gpu_class;
extern const char *const gpu_class_names[GPU_CLASSES];

typedef enum gpu_collective {
    GPU_ALL_REDUCE,
    GPU_ALL_GATHER,
    GPU_REDUCE_SCATTER,
    GPU_ALL_TO_ALL,
    GPU_BROADCAST,
    GPU_SEND_RECV,
    GPU_BARRIER,
    GPU_REDUCE,
    GPU_GATHER,
    GPU_SCATTER,
    GPU_COLLECTIVES,
    GPU_NO_COLLECTIVE = GPU_COLLECTIVES,
} gpu_collective;
extern const char *const gpu_collective_names[GPU_COLLECTIVES + 1]; /* the last is NULL */

/* Of a kernel by its name alone. */
gpu_class gpu_class_of_kernel(hd_string name);
/* The collective in a kernel's name or any other text, "allreduce", "_allgather_base". */
gpu_collective gpu_collective_of(hd_string text);

/* The user's group of a kernel by its name: a number in the order of the file; HD_NONE: none. groups.c */
uint32_t gpu_group_of_kernel(hd_string name);
/* With its parents: "model/attention"; NULL for HD_NONE. Static. */
const char *gpu_group_path(uint32_t number);
/* "#1f77b4", its own or the nearest parent's; empty: none. Static. */
hd_string gpu_group_colour(uint32_t number);
uint32_t gpu_group_count(void); /* 0: no groups are defined */
/* The file or shipped table that hd_class_rules_read has read last; NULL: none. class.c */
const char *gpu_class_rules_file(void);

/* The groups of a trace's names, each evaluated once. */
enum { GPU_GROUP_NOTES = 2 };
typedef struct gpu_group_names {
    const hd_trace *trace;
    uint32_t *by_name; /* by string: group + 2, 1: none, 0: not evaluated */
    /* of gpu_group_names_notes */
    bool *is_used;  /* by pattern: it matches a name, whether or not it decides the group */
    size_t claimed; /* names that patterns of two groups match */
    char example[700], notes[GPU_GROUP_NOTES][1000];
} gpu_group_names;
bool gpu_group_names_init(gpu_group_names *names, const hd_trace *trace); /* false: no memory */
void gpu_group_names_deinit(gpu_group_names *names);
uint32_t gpu_group_of_string(gpu_group_names *names, uint32_t string); /* HD_NONE: none */
/* Appends notes, which are of names: patterns that match none of the names that were evaluated, and names of two groups
 * with the one that has them. None on a shipped table, which has the names of several versions, in an order that is
 * meant. false: no memory. */
bool gpu_group_names_notes(const char **out, gpu_group_names *names);

/* Classes of a trace's activities, each name evaluated once: all users of the same launches share them. One thread at a
 * time. */
typedef struct gpu_classes {
    const hd_trace *trace;
    uint8_t *by_name; /* by string: gpu_class + 1 of a kernel, 0: not computed yet */
    bool are_own;     /* and not those of launches */
    gpu_arg collective;
    hd_block_room room; /* of gpu_class_of */
} gpu_classes;
/* launches: NULL: none. false: no memory; deinit either way. */
bool gpu_classes_init(gpu_classes *classes, const hd_trace *trace, const hd_launches *launches);
void gpu_classes_deinit(gpu_classes *classes);
gpu_class gpu_class_of(gpu_classes *classes, const hd_work *work);

#endif
