/* count.c - counts a process's GPU activities, and the cost of the capture */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "heddle/analysis/launches.h"
#include "record/impl.h"

static bool is_annotation(const hd_trace *trace, uint32_t category)
{
    hd_string name = hd_trace_string(trace, category);
    return hd_role_of(name, (hd_string){"", 0}) == HD_ROLE_ANNOTATION;
}

/* Slices of one category come in long runs. */
static uint64_t count_annotations(const hd_trace *trace)
{
    uint64_t count = 0;
    uint32_t last = HD_STRING_NONE;
    bool last_is = false;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            uint32_t category = (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], i);
            if (category != last) {
                last_is = category != HD_STRING_NONE && is_annotation(trace, category);
                last = category;
            }
            count += last_is;
        }
    }
    return count;
}

static hd_status count_work(hd_record_result *result, const hd_trace *trace, hd_error *err)
{
    hd_launches *launches;
    HD_TRY(hd_launches_new(&launches, trace, err));
    result->launches += launches->launch_count;
    for (size_t i = 0; i < launches->work_count; i++) {
        result->kernels += launches->works[i].role == HD_ROLE_KERNEL;
        result->copies += launches->works[i].role == HD_ROLE_COPY;
        result->sets += launches->works[i].role == HD_ROLE_SET;
    }
    hd_launches_free(launches);
    return HD_OK;
}

/* A whole number of an object, 0 if it has none of that name. */
static int64_t number_of(const char *object, const char *key)
{
    const char *value;
    size_t size;
    hd_json_number number;
    if (!hd_json_find(&value, &size, object, key)) return 0;
    if (!hd_json_is_digit(*value) || !hd_json_scan_number(&number, value)) return 0;
    return number.exact && number.scale == 0 && number.mantissa < INT64_MAX / 4096 ? (int64_t)number.mantissa : 0;
}

/* ---- problems ---- */

static hd_status add_problem(hd_record_result *result, record_process *process, const char *message, hd_error *err)
{
    size_t at = 0;
    while (at < result->problem_count && strcmp(result->problems[at].message, message) != 0) at++;
    if (at == RECORD_PROBLEMS) return HD_OK;
    if (at == result->problem_count) {
        hd_record_problem *wider = realloc(result->problems, (at + 1) * sizeof *wider);
        if (!wider) return HD_NOMEM(err);
        result->problems = wider;
        wider[at] = (hd_record_problem){strdup(message), 0};
        if (!wider[at].message) return HD_NOMEM(err);
        result->problem_count++;
    }
    result->problems[at].processes += !process->has[at];
    process->has[at] = true;
    return HD_OK;
}

/* {"code": …, "message": "…"}; anything else is skipped. */
static hd_status take_problem(hd_record_result *result, record_process *process, const char *object, hd_error *err)
{
    const char *value;
    size_t size;
    hd_json_text text;
    char message[1024];
    if (*object != '{' || !hd_json_find(&value, &size, object, "message")) return HD_OK;
    if (*value != '"' || !hd_json_string(&text, value + 1) || text.size >= sizeof message) return HD_OK;
    if (!hd_json_decode(message, &size, &text) || size == 0) return HD_OK;
    message[size] = '\0';
    return add_problem(result, process, message, err);
}

static hd_status take_problems(hd_record_result *result, record_process *process, const char *object, hd_error *err)
{
    const char *p;
    size_t size;
    if (!hd_json_find(&p, &size, object, "problems") || *p != '[') return HD_OK;
    p = hd_json_skip_space(p + 1);
    while (*p && *p != ']') {
        HD_TRY(take_problem(result, process, p, err));
        p = hd_json_skip_space(hd_json_skip_value(p));
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return HD_OK;
}

/* ---- what windows cost ---- */

/* "window": {…, "budget": {…, "timeNs": ns, "spentNs": ns, "text": "…"}}. The process with the largest share stays. */
static hd_status take_budget(hd_record_result *result, const char *object, hd_error *err)
{
    const char *window, *budget, *value;
    size_t size;
    hd_json_text text;
    char words[256];
    if (!hd_json_find(&window, &size, object, "window") || *window != '{') return HD_OK;
    if (!hd_json_find(&budget, &size, window, "budget") || *budget != '{') return HD_OK;
    if (!hd_json_find(&value, &size, budget, "text") || *value != '"' || !hd_json_string(&text, value + 1))
        return HD_OK;
    if (text.size >= sizeof words || !hd_json_decode(words, &size, &text)) return HD_OK;
    words[size] = '\0';
    int64_t time_ns = number_of(budget, "timeNs");
    double spent = time_ns ? (double)number_of(budget, "spentNs") / (double)time_ns : 0;
    if (result->budget && spent <= result->budget_spent) return HD_OK;
    free(result->budget);
    result->budget = strdup(words);
    result->budget_spent = spent;
    return result->budget ? HD_OK : HD_NOMEM(err);
}

/* ---- all of it ---- */

/* {"tracer": "cuda", "callbacks": N, "callbackNs": ns, "helperCpuNs": ns, …} */
static hd_status add_cost(hd_record_result *result, record_process *process, const hd_trace *trace, hd_error *err)
{
    hd_string json = hd_trace_metadata_find(trace, "heddle.capture");
    if (json.size == 0) return HD_OK;
    char *text = calloc(1, json.size + HD_JSON_PADDING);
    if (!text) return HD_NOMEM(err);
    memcpy(text, json.data, json.size);
    hd_status status = HD_OK;
    if (*text == '{' && hd_json_skip_value(text)) {
        result->measured += !process->is_measured;
        process->is_measured = true;
        result->callbacks += (uint64_t)number_of(text, "callbacks");
        result->callback_ns += number_of(text, "callbackNs");
        result->helper_ns += number_of(text, "helperCpuNs");
        status = take_problems(result, process, text, err);
        if (status == HD_OK) status = take_budget(result, text, err);
    }
    free(text);
    return status;
}

bool record_is_of_uprobes(const hd_trace *trace)
{
    return hd_trace_metadata_find(trace, "heddle.uprobe").size != 0;
}

hd_status record_count(hd_record_result *result, record_process *process, const hd_trace *trace, hd_error *err)
{
    HD_TRY(count_work(result, trace, err));
    result->annotations += count_annotations(trace);
    result->captures++;
    result->processes += !process->is_counted && !record_is_of_uprobes(trace);
    process->is_counted = true;
    return add_cost(result, process, trace, err);
}
