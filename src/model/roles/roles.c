/* roles.c - the role of a slice, by category and name; what a call launches, by its name */
#include <string.h>

#include "base/text/decimal.h"
#include "heddle/names.h"
#include "model/roles/copy_ways.h"
#include "model/roles/trace_roles.h"
#include "trace/text.h"

typedef struct word_role {
    const char *word;
    hd_role role;
} word_role;

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_word(char c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* `word` is in lower case; the text's case does not matter. */
static bool begins_any_case(hd_string text, const char *word)
{
    size_t size = strlen(word);
    if (text.size < size) return false;
    for (size_t i = 0; i < size; i++) {
        if (lower(text.data[i]) != word[i]) return false;
    }
    return true;
}

static bool contains_any_case(hd_string text, const char *word)
{
    for (; text.size; text.data++, text.size--) {
        if (begins_any_case(text, word)) return true;
    }
    return false;
}

static hd_string behind(hd_string text, size_t size)
{
    return (hd_string){text.data + size, text.size - size};
}

/* ---- categories ---- */

/* Whole categories, in lower case: Kineto's new and old ones, those of CUPTI injections, of rocprofv3, MTIA, XPU. */
static const word_role categories[] = {
    {"kernel", HD_ROLE_KERNEL},
    {"gpu_kernel", HD_ROLE_KERNEL},
    {"concurrent_kernel", HD_ROLE_KERNEL},
    {"kernel_dispatch", HD_ROLE_KERNEL},
    {"graph_trace", HD_ROLE_KERNEL}, /* CUPTI: a graph as a whole, in place of its kernels */
    {"gpu_memcpy", HD_ROLE_COPY},
    {"memcpy", HD_ROLE_COPY},
    {"memcpy2", HD_ROLE_COPY}, /* CUPTI: between devices */
    {"memcopy", HD_ROLE_COPY},
    {"gpu_memcopy", HD_ROLE_COPY},
    {"memory_copy", HD_ROLE_COPY},
    {"gpu_memset", HD_ROLE_SET},
    {"memset", HD_ROLE_SET},
    {"cpu_op", HD_ROLE_OP},
    {"operator", HD_ROLE_OP},
    {"python_function", HD_ROLE_PYTHON},
    {"user_annotation", HD_ROLE_ANNOTATION},
    {"nvtx", HD_ROLE_ANNOTATION},
    {"marker_api", HD_ROLE_ANNOTATION},
    {"gpu_user_annotation", HD_ROLE_GPU_ANNOTATION},
    {"cuda_sync", HD_ROLE_SYNC},
    {"gpu_sync", HD_ROLE_SYNC},
    {"overhead", HD_ROLE_OVERHEAD},
    {"hip_api", HD_ROLE_RUNTIME},
    {"hsa_api", HD_ROLE_DRIVER},
};

/* Categories that OTF2, TensorFlow 1 ("Op") and unitrace ("gpu_op") use for different roles. */
bool hd_role_is_unsaid(hd_string category)
{
    static const char *const paradigms[] = {"cuda", "hip", "opencl", "op", "gpu_op"};
    for (size_t i = 0; i < sizeof paradigms / sizeof *paradigms; i++) {
        if (category.size == strlen(paradigms[i]) && begins_any_case(category, paradigms[i])) return true;
    }
    return category.size == 0;
}

bool hd_role_needs_name(hd_string category)
{
    return hd_string_begins(category, "mtia_ccp_");
}

static hd_role role_of_category(hd_string category, hd_string name)
{
    if (hd_role_needs_name(category)) return hd_string_begins(name, "dma_request") ? HD_ROLE_COPY : HD_ROLE_KERNEL;
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (category.size == strlen(categories[i].word) && begins_any_case(category, categories[i].word))
            return categories[i].role;
    }
    /* cuda_runtime, mtia_runtime, xpu_runtime, privateuse1_runtime, Runtime … */
    if (contains_any_case(category, "runtime") || contains_any_case(category, "hip_api")) return HD_ROLE_RUNTIME;
    return contains_any_case(category, "driver") ? HD_ROLE_DRIVER : HD_ROLE_OTHER;
}

/* ---- names without a category ---- */

/* Prefixes of the names that CUPTI injections, Kineto and ROCm give to slices without a category. */
static const word_role beginnings[] = {
    {"Kernel: ", HD_ROLE_KERNEL},     {"MemCopy: ", HD_ROLE_COPY},    {"Memcpy: ", HD_ROLE_COPY},
    {"MemSet: ", HD_ROLE_SET},        {"Memset: ", HD_ROLE_SET},      {"Memset (", HD_ROLE_SET},
    {"FillBuffer", HD_ROLE_SET},      {"Runtime: ", HD_ROLE_RUNTIME}, {"Driver: ", HD_ROLE_DRIVER},
    {"Overhead: ", HD_ROLE_OVERHEAD}, {"hsa_", HD_ROLE_DRIVER},       {"__hip", HD_ROLE_RUNTIME},
    {"__cuda", HD_ROLE_RUNTIME},      {"AscendCL@", HD_ROLE_RUNTIME},
};

/* Prefixes that a capital letter follows: cudaMalloc, cuMemAlloc, hipMalloc, mcMalloc, urEnqueue…, zeCommandList… */
static const word_role prefixes[] = {
    {"cuda", HD_ROLE_RUNTIME}, {"cu", HD_ROLE_DRIVER},  {"hip", HD_ROLE_RUNTIME},       {"mc", HD_ROLE_RUNTIME},
    {"ze", HD_ROLE_DRIVER},    {"ur", HD_ROLE_RUNTIME}, {"clEnqueue", HD_ROLE_RUNTIME},
};

static hd_role role_of_name(hd_string name)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (hd_string_begins(name, beginnings[i].word)) return beginnings[i].role;
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t size = strlen(prefixes[i].word);
        if (name.size > size && hd_string_begins(name, prefixes[i].word) && is_upper(name.data[size]))
            return prefixes[i].role;
    }
    bool copies = hd_string_begins(name, "Memcpy") || hd_string_begins(name, "Copy");
    return copies && hd_copy_way_of(name) ? HD_ROLE_COPY : HD_ROLE_OTHER;
}

hd_role hd_role_of(hd_string category, hd_string name)
{
    return hd_role_is_unsaid(category) ? role_of_name(name) : role_of_category(category, name);
}

/* ---- rows ---- */

/* Events on a device's queue that are not activities, in the names of Ascend and others; spaces and underscores are
 * equal. */
static const char *const waits[] = {
    "event_wait",  "event_record", "event_reset", "notify_wait",      "notify_record",
    "write_value", "wait_value",   "free",        "profiling_enable", "profiling_disable",
};

/* "copy-done.1", "all-reduce-done": XLA waits for an operation begun before. */
static bool is_done(hd_string name)
{
    static const char word[] = "-done";
    size_t size = name.size;
    while (size && name.data[size - 1] >= '0' && name.data[size - 1] <= '9') size--;
    size = size && size < name.size && name.data[size - 1] == '.' ? size - 1 : name.size;
    return size >= sizeof word - 1 && memcmp(name.data + size - (sizeof word - 1), word, sizeof word - 1) == 0;
}

static bool is_wait(hd_string name)
{
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const char *word = waits[i];
        size_t at = 0;
        while (at < name.size && word[at] &&
               (lower(name.data[at]) == word[at] || (word[at] == '_' && name.data[at] == ' ')))
            at++;
        if (at == name.size && !word[at]) return true;
    }
    return is_done(name);
}

/* The role of a command that unitrace names after the call that submitted it; anything but copies and fills is a
 * barrier or an event. */
static hd_role role_of_command(hd_string name)
{
    switch (hd_launch_sort_of(name)) {
    case HD_LAUNCH_KERNEL: return HD_ROLE_KERNEL;
    case HD_LAUNCH_COPY: return HD_ROLE_COPY;
    case HD_LAUNCH_SET: return HD_ROLE_SET;
    default: return HD_ROLE_SYNC;
    }
}

/* The role of a slice on a queue whose category gives none. */
static hd_role role_on_queue(hd_string name)
{
    if (is_wait(name)) return HD_ROLE_SYNC;
    if (hd_string_begins(name, "zeCommand") || hd_string_begins(name, "clEnqueue")) return role_of_command(name);
    hd_role role = role_of_name(name);
    if (role != HD_ROLE_OTHER) return role;
    if (begins_any_case(name, "memcpy")) return HD_ROLE_COPY;
    return begins_any_case(name, "memset") ? HD_ROLE_SET : HD_ROLE_KERNEL;
}

hd_role hd_role_on(hd_string category, hd_string name, hd_row_sort row)
{
    if (row == HD_ROW_HOST || !hd_role_is_unsaid(category)) return hd_role_of(category, name);
    if (row == HD_ROW_THREAD) {
        hd_role role = role_of_name(name);
        return hd_role_is_work(role) ? HD_ROLE_OTHER : role;
    }
    return row == HD_ROW_QUEUE ? role_on_queue(name) : HD_ROLE_GPU_ANNOTATION;
}

/* ---- what a call launches ---- */

/* For "cudaError cudaLaunchKernel<char>(…)", "Runtime: cudaLaunchKernel_v7000", "_ZL16cudaLaunchKernelIcE…" and
 * "__cudaLaunchKernel@plt" the part from the function's own name on. */
static hd_string bare_name(hd_string name)
{
    static const char *const before[] = {"Runtime: ",   "Driver: ",  "static ",      "cudaError_t ", "cudaError ",
                                         "hipError_t ", "CUresult ", "ur_result_t ", "void "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        if (hd_string_begins(name, before[i])) name = behind(name, strlen(before[i]));
    }
    if (hd_string_begins(name, "_Z")) {
        name = behind(name, 2);
        if (hd_string_begins(name, "L")) name = behind(name, 1);
        while (name.size && name.data[0] >= '0' && name.data[0] <= '9') name = behind(name, 1);
    }
    while (name.size && name.data[0] == '_') name = behind(name, 1);
    return name;
}

typedef struct word_sort {
    const char *word;
    hd_launch_sort sort;
} word_sort;

static hd_launch_sort find_sort(hd_string name, const word_sort *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hd_string_begins(name, list[i].word)) return list[i].sort;
    }
    return HD_LAUNCH_UNKNOWN;
}

/* Behind "cuda", "cu", "hip" and "mc". */
static hd_launch_sort sort_of_call(hd_string name)
{
    static const char *const modules[] = {"ExtModule", "HccModule", "Module", "Ext", "Drv"};
    static const word_sort list[] = {
        {"GraphLaunch", HD_LAUNCH_GRAPH},
        {"LaunchHostFunc", HD_LAUNCH_UNKNOWN}, /* runs on the CPU */
        {"LaunchKernel", HD_LAUNCH_KERNEL},
        {"LaunchCooperativeKernel", HD_LAUNCH_KERNEL},
        {"LaunchMultiKernel", HD_LAUNCH_KERNEL},
        {"LaunchByPtr", HD_LAUNCH_KERNEL},
        {"LaunchDevice", HD_LAUNCH_KERNEL},
        {"LaunchGrid", HD_LAUNCH_KERNEL},
        {"Memcpy", HD_LAUNCH_COPY},
        {"Memset", HD_LAUNCH_SET},
    };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (!hd_string_begins(name, modules[i])) continue;
        name = behind(name, strlen(modules[i]));
        break;
    }
    hd_launch_sort sort = find_sort(name, list, sizeof list / sizeof *list);
    if (sort != HD_LAUNCH_UNKNOWN || !hd_string_begins(name, "Launch")) return sort;
    /* cudaLaunch and cuLaunch of old, with "_v3020" or "@plt" behind. */
    return name.size == 6 || name.data[6] == '_' || !is_word(name.data[6]) ? HD_LAUNCH_KERNEL : HD_LAUNCH_UNKNOWN;
}

hd_launch_sort hd_launch_sort_of(hd_string name)
{
    static const char *const families[] = {"cuda", "cu", "hip", "mc"};
    static const word_sort others[] = {
        {"urEnqueueKernelLaunch", HD_LAUNCH_KERNEL},
        {"urEnqueueCooperativeKernelLaunch", HD_LAUNCH_KERNEL},
        {"urEnqueueUSMMemcpy", HD_LAUNCH_COPY},
        {"urEnqueueUSMFill", HD_LAUNCH_SET},
        {"urEnqueueMemBufferCopy", HD_LAUNCH_COPY},
        {"urEnqueueMemBufferRead", HD_LAUNCH_COPY},
        {"urEnqueueMemBufferWrite", HD_LAUNCH_COPY},
        {"urEnqueueMemBufferFill", HD_LAUNCH_SET},
        {"piEnqueueKernelLaunch", HD_LAUNCH_KERNEL},
        {"piextUSMEnqueueMemcpy", HD_LAUNCH_COPY},
        {"zeCommandListAppendLaunch", HD_LAUNCH_KERNEL},
        {"zeCommandListAppendMemoryCopy", HD_LAUNCH_COPY},
        {"zeCommandListAppendMemoryFill", HD_LAUNCH_SET},
        {"clEnqueueNDRangeKernel", HD_LAUNCH_KERNEL},
        {"clEnqueueReadBuffer", HD_LAUNCH_COPY},
        {"clEnqueueWriteBuffer", HD_LAUNCH_COPY},
        {"clEnqueueCopyBuffer", HD_LAUNCH_COPY},
        {"clEnqueueMemcpy", HD_LAUNCH_COPY},
        {"clEnqueueFillBuffer", HD_LAUNCH_SET},
        {"hsa_amd_memory_async_copy", HD_LAUNCH_COPY},
        {"hsa_amd_memory_fill", HD_LAUNCH_SET},
        {"runFunction - job_prep_and_submit", HD_LAUNCH_KERNEL}, /* MTIA */
        {"aclrtLaunchKernel", HD_LAUNCH_KERNEL},
        {"aclrtMemcpy", HD_LAUNCH_COPY},
        {"aclrtMemset", HD_LAUNCH_SET},
    };
    name = bare_name(name);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t size = strlen(families[i]);
        if (hd_string_begins(name, families[i]) && name.size > size && is_upper(name.data[size]))
            return sort_of_call(behind(name, size));
    }
    return find_sort(name, others, sizeof others / sizeof *others);
}

/* The digits of "ProfilerStep#5"; empty: another name. */
static hd_string step_digits(hd_string name)
{
    static const char word[] = "ProfilerStep#";
    size_t size = sizeof word - 1;
    if (name.size <= size || memcmp(name.data, word, size) != 0) return (hd_string){NULL, 0};
    for (size_t i = size; i < name.size; i++) {
        if (name.data[i] < '0' || name.data[i] > '9') return (hd_string){NULL, 0};
    }
    return (hd_string){name.data + size, name.size - size};
}

bool hd_is_profiler_step(hd_string name)
{
    return step_digits(name).size > 0;
}

bool hd_step_number(int64_t *out, hd_string name)
{
    hd_string digits = step_digits(name);
    return digits.size && hd_fixed_parse_whole(out, digits.data, digits.size) && *out <= HD_STEP_NUMBER_MAX;
}

bool hd_step_is_chosen(hd_string name, const char *chosen)
{
    const char *colon = strchr(chosen, ':');
    size_t size = strlen(chosen), first_size = colon ? (size_t)(colon - chosen) : size;
    int64_t number, first, last;
    if (name.size == size && memcmp(name.data, chosen, size) == 0) return true;
    if (!hd_step_number(&number, name) || !hd_fixed_parse_whole(&first, chosen, first_size)) return false;
    if (!colon) return number == first;
    return hd_fixed_parse_whole(&last, colon + 1, size - first_size - 1) && first <= number && number <= last;
}

bool hd_marks_step(hd_role role, hd_string name)
{
    return HD_STEP_ROLES >> role & 1 && hd_is_profiler_step(name);
}
