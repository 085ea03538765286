/* traces.c - the traces of a server: read when they are first used, given up for others when they are many */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mcp/impl.h"

enum { QUERY_MS = 20000 };

void mcp_trace_close(mcp_trace *trace)
{
    hd_query_free(trace->query);
    hd_launches_free(trace->launches);
    hd_trace_free(trace->trace);
    trace->query = NULL;
    trace->launches = NULL;
    trace->trace = NULL;
}

/* Of the traces in memory, the one that was used the longest time ago goes when they are too many. */
static void make_room(hd_mcp *mcp)
{
    size_t count = 0;
    mcp_trace *oldest = NULL;
    for (size_t i = 0; i < mcp->trace_count; i++) {
        mcp_trace *t = &mcp->traces[i];
        count += t->trace != NULL;
        if (t->trace && (!oldest || t->used < oldest->used)) oldest = t;
    }
    if (count >= MCP_TRACES_READ) mcp_trace_close(oldest);
}

/* A pipe or a device would keep the server for as long as it gives bytes, or none. */
static hd_status check_kind(const char *path, hd_error *err)
{
    struct stat about;
    if (stat(path, &about) != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, path, HD_OFFSET_NONE, "is neither a file nor a folder");
}

static hd_status read_trace(hd_mcp *mcp, mcp_trace *trace, hd_error *err)
{
    const hd_read_options options = {.size = sizeof options, .lazy = true, .memory_limit = mcp->memory_limit};
    HD_TRY(check_kind(trace->path, err));
    make_room(mcp);
    HD_TRY(hd_trace_read(&trace->trace, trace->path, &options, err));
    trace->input = (hd_query_input){.trace = trace->trace, .path = trace->path, .rank = HD_NO_NUMBER};
    return HD_OK;
}

hd_status mcp_trace_take(mcp_trace **out, hd_mcp *mcp, int64_t number, hd_error *err)
{
    if (!mcp->trace_count)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no trace is open: call open with its path");
    if (number < 0 || (uint64_t)number >= mcp->trace_count)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "trace: there is no %" PRId64 "; open ones are 0 to %zu", number, mcp->trace_count - 1);
    mcp_trace *trace = &mcp->traces[number];
    if (!trace->trace) HD_TRY(read_trace(mcp, trace, err));
    trace->used = ++mcp->clock;
    *out = trace;
    return HD_OK;
}

hd_status mcp_trace_open(int64_t *out, hd_mcp *mcp, const char *path, hd_error *err)
{
    mcp_trace *trace = NULL;
    for (size_t i = 0; i < mcp->trace_count && !trace; i++)
        if (strcmp(mcp->traces[i].path, path) == 0) trace = &mcp->traces[i];
    if (!trace && mcp->only_these)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "the server was started with --only: it reads the files of its command line alone");
    bool is_new = !trace;
    if (is_new && mcp->trace_count == MCP_TRACES)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "%d traces are open, and no more can be",
                            MCP_TRACES);
    if (is_new) {
        trace = &mcp->traces[mcp->trace_count];
        *trace = (mcp_trace){.path = strdup(path)};
        if (!trace->path) return HD_NOMEM(err);
    }
    mcp_trace_close(trace); /* the file may be another by now */
    hd_status status = read_trace(mcp, trace, err);
    if (is_new && status != HD_OK) {
        free(trace->path);
        return status;
    }
    mcp->trace_count += is_new;
    trace->used = ++mcp->clock;
    *out = trace - mcp->traces;
    return status;
}

hd_status mcp_trace_query(hd_query **out, hd_mcp *mcp, mcp_trace *trace, hd_error *err)
{
    const hd_query_options options = {.size = sizeof options,
                                      .timeout_ms = QUERY_MS,
                                      .gpus = mcp->gpus,
                                      .value_bytes = 16 << 20,
                                      .spill_bytes = 512 << 20};
    if (!trace->query) HD_TRY(hd_query_new(&trace->query, &trace->input, 1, &options, err));
    *out = trace->query;
    return HD_OK;
}

hd_status mcp_trace_launches(const hd_launches **out, mcp_trace *trace, hd_error *err)
{
    if (!trace->launches) HD_TRY(hd_launches_new(&trace->launches, trace->trace, err));
    *out = trace->launches;
    return HD_OK;
}

int64_t mcp_trace_start(const mcp_trace *trace)
{
    int64_t start = hd_trace_facts_of(trace->trace)->start_ns;
    return start == HD_NO_TIME ? 0 : start;
}
