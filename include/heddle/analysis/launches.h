/* launches.h - GPU activities, and the API calls that launched them
 *
 * Work     a GPU activity: a slice of a kernel, copy or memset on a GPU
 * Launch   the API call of a runtime or driver that started it. A driver call nested in a runtime call with the same id
 *          is the same launch: the runtime call is kept
 * Match    by correlation id (arguments correlation, correlationId, correlation_id; 0 means none) within a rank (of the
 *          track, its process, or the process's name: "rank 3: python") and within a process. An id that
 *          several processes of the rank have belongs to the process whose activities the track shows (as the trace
 *          says, or by ids that only one has); else the process is guessed (docs/reports/definitions.md) and counted as
 *          such. If a process was recorded twice with the same ids, the last call before the activity is taken. If no
 *          activity has an id, by the id of the operator (argument External id) where one launching call has it. An
 *          activity still without a launch is matched by the flow that ends at it. A launch may have many activities:
 *          those of a graph.
 */
#ifndef HEDDLE_LAUNCHES_H
#define HEDDLE_LAUNCHES_H

#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a slice is, by its category (its name where it has none: "Kernel: …"). */
typedef enum hd_role {
    HD_ROLE_OTHER,
    HD_ROLE_OP,             /* cpu_op, Operator */
    HD_ROLE_PYTHON,         /* python_function */
    HD_ROLE_ANNOTATION,     /* user_annotation, NVTX */
    HD_ROLE_RUNTIME,        /* cuda_runtime, Runtime, CUDA_Runtime, hip_api … */
    HD_ROLE_DRIVER,         /* cuda_driver, CUDA_Driver */
    HD_ROLE_OVERHEAD,       /* of the profiler */
    HD_ROLE_KERNEL,         /* kernel, Kernel, GPU_Kernel */
    HD_ROLE_COPY,           /* gpu_memcpy, Memcpy, MemCopy */
    HD_ROLE_SET,            /* gpu_memset, Memset */
    HD_ROLE_SYNC,           /* cuda_sync, gpu_sync: waits, shown on a GPU track */
    HD_ROLE_GPU_ANNOTATION, /* gpu_user_annotation: the span of the activities of an annotation */
    HD_ROLES
} hd_role;

hd_role hd_role_of(hd_string category, hd_string name);
/* Kernels, copies and memsets. */
static inline bool hd_role_is_work(hd_role role)
{
    return role == HD_ROLE_KERNEL || role == HD_ROLE_COPY || role == HD_ROLE_SET;
}

/* What an API call launches, by its name: "cudaLaunchKernel_v7000", "Runtime: cudaMemcpyAsync", "hipGraphLaunch";
 * frames of stacks ("cudaLaunchKernel@plt+0x10") as well. */
typedef enum hd_launch_sort {
    HD_LAUNCH_UNKNOWN,
    HD_LAUNCH_KERNEL,
    HD_LAUNCH_GRAPH,
    HD_LAUNCH_COPY,
    HD_LAUNCH_SET,
} hd_launch_sort;

hd_launch_sort hd_launch_sort_of(hd_string name);

typedef struct hd_launch {
    uint64_t row; /* slice */
    int64_t id;   /* correlation, 0: joined by a flow */
    int64_t start_ns, duration_ns;
    uint32_t track, name;
    hd_launch_sort sort;
    uint32_t first_work, work_count; /* in work_order; count 0: a launch, by its name, whose activity is missing */
    uint32_t untimed_count;          /* further activities of the launch, without a time */
} hd_launch;

typedef struct hd_work {
    uint64_t row; /* slice */
    int64_t id;
    int64_t start_ns, duration_ns; /* at least 0 */
    uint32_t track, name;
    hd_role role;
    uint32_t launch;       /* index, HD_NONE: unknown */
    uint32_t graph_launch; /* index of the call that created its graph node (argument graphNodeCreatorCorrelationId, or
                              graph node id and an event of that node on a thread), HD_NONE: unknown */
} hd_work;

/* The start of the operator that requested a launch on another thread. */
typedef struct hd_asked {
    int64_t start_ns;
    uint32_t track; /* HD_NONE: not known */
} hd_asked;

typedef struct hd_launches {
    hd_launch *launches; /* by track, then start, then row */
    size_t launch_count;
    hd_work *works; /* by row */
    size_t work_count;
    uint32_t *work_order;        /* indices into works of those with a launch: grouped by launch, then by start */
    int64_t work_ns;             /* sum of the durations, saturating: the GPU time of the trace */
    hd_asked *asked;             /* by launch, from flows "async_npu" (PyTorch on Ascend); NULL: the trace has none */
    hd_work *untimed;            /* activities without a time from the profiler, by row: not in the lists above */
    uint64_t works_without_time; /* so many */
    uint64_t works_without_end;  /* in works, with a duration of 0 */
    uint32_t *processes;         /* by track, with HD_NONE after the last: of a GPU track the process that launched its
                                    activities; of another track its own process if that launched any. HD_NONE: unknown,
                                    or several */
    uint32_t process_count;      /* that launched something */
    uint64_t guessed_works;      /* whose launch is not certain, as several processes have its id */
    void *trust;                 /* private: what is missing or impossible in the launches, filled at its first use */
    void *wait_names;            /* private: names that are waits of collectives */
    void *blocking_names;        /* private: names of calls that wait for what they launch */
    void *class_names;           /* private: the classes of kernels by their names */
    uint32_t absent_roles;       /* private: bits 1 << hd_role of the roles that no slice has, as far as known */
} hd_launches;

/* The caller frees *out, which is NULL after a failure. Errors: MEMORY; LIMIT (2^32 works or launches). O(n log n). */
hd_status hd_launches_new(hd_launches **out, const hd_trace *trace, hd_error *err);
void hd_launches_free(hd_launches *launches);

/* The rules that classify kernels by their names, in order: the first match counts, and a kernel without a match is
 * compute. Texts are static, but for those of hd_class_rules_read, which stay as well. */
typedef struct hd_class_rule {
    const char *where, *pattern; /* "has the word", "allreduce" */
    const char *class_name;      /* "compute", "communication", "copy" */
    const char *collective;      /* "AllReduce"; NULL: from the name, or none */
    const char *about;
} hd_class_rule;
/* Reads rules of the user, which precede the built-in ones for all traces of the process. A line is "CLASS: PATTERN":
 * CLASS is one of the above or a collective, PATTERN a glob that matches the whole or the short name; # begins a
 * comment. Or groups, in a subset of TOML: tables [[group]] of name, patterns = ["..."], parent (another group),
 * class and colour. If there is no such file, path may be a shipped table: aiter, megatron, sglang,
 * transformer-engine, vllm. Call it before any analysis. Rules stay until the process ends. Errors: IO; FORMAT, with
 * the line; LIMIT; MEMORY. */
hd_status hd_class_rules_read(const char *path, hd_error *err);
size_t hd_class_rule_count(void);
hd_class_rule hd_class_rule_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
