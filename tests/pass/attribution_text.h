/* attribution_text.h - hd_attribute on traces given as JSON text, its stacks as text, for tests */
#ifndef HD_TESTS_ATTRIBUTION_TEXT_H
#define HD_TESTS_ATTRIBUTION_TEXT_H

#include "heddle/analysis/attribution.h"
#include "pass_text.h"

static inline hd_attribution *attribute(const hd_trace *gpu, const hd_trace *cpu, const hd_attribution_options *options)
{
    hd_attribution *a;
    hd_error err = {0};
    if (hd_attribute(&a, gpu, cpu, options, &err) != HD_OK) fail_msg("%s", err.message);
    return a;
}

static inline size_t put_stack(char *out, size_t size, const hd_stacks *stacks, uint32_t node)
{
    hd_frame frame = hd_stacks_at(stacks, node);
    hd_string name = hd_stacks_text(stacks, frame.name);
    size_t at = frame.caller ? put_stack(out, size, stacks, frame.caller) : 0;
    assert_true(at + name.size + 2 < size);
    if (at) out[at++] = ';';
    memcpy(out + at, name.data, name.size);
    out[at + name.size] = '\0';
    return at + name.size;
}

/* "main;train;cudaLaunchKernel", "" for no stack. The caller frees it. */
static inline char *stack_text(const hd_stacks *stacks, uint32_t node)
{
    char *text = calloc(1, 65536);
    assert_non_null(text);
    if (node) put_stack(text, 65536, stacks, node);
    return text;
}

/* The stack of work number `work`, in the order of rows. */
static inline void assert_work(const hd_attribution *a, size_t work, hd_stack_rule rule, const char *stack)
{
    assert_true(work < a->launches->work_count);
    char *text = stack_text(a->stacks, a->work_stack[work]);
    assert_string_equal(text, stack);
    assert_string_equal(hd_stack_rule_name(a->work_rule[work]), hd_stack_rule_name(rule));
    free(text);
}

/* A slice, and a launch or kernel with its correlation id. */
#define SLICE(cat, tid, name, ts, dur)                                                                                 \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur  \
    "}"
#define CALL(tid, ts, dur, id)                                                                                         \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts      \
    ",\"dur\":" #dur ",\"args\":{\"correlation\":" #id "}}"
#define WORK(name, ts, dur, id)                                                                                        \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" #ts ",\"dur\":" #dur          \
    ",\"args\":{\"correlation\":" #id ",\"device\":0,\"stream\":7}}"

/* A real trace, or NULL, said aloud, where there are none. */
static inline hd_trace *real_trace(const char *name)
{
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    char path[4096];
    hd_trace *trace = NULL;
    hd_error err = {0};
    const hd_read_options options = {0};
    snprintf(path, sizeof path, "%s/../shared/data/%s", root ? root : ".", name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        print_message("%s is not there: skipped\n", path);
        return NULL;
    }
    fclose(file);
    if (hd_trace_read(&trace, path, &options, &err) != HD_OK) fail_msg("%s: %s", path, err.message);
    return trace;
}

#endif
