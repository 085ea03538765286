/* mcp.c - heddle mcp: a Model Context Protocol server over standard input and output */
#include "heddle/mcp.h"
#include "cli/cli.h"
#include "cli/commands/report/gpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mcp_options {
    bool only;
    uint64_t memory_limit;
};

static const cli_option options[] = {
    {.name = "only",
     .kind = CLI_FLAG,
     .field = offsetof(struct mcp_options, only),
     .help = "read no files but FILE..., whatever paths the client names"},
    {.name = "memory-limit",
     .kind = CLI_COUNT,
     .value = "BYTES",
     .min = 1 << 20,
     .max = 1e15,
     .field = offsetof(struct mcp_options, memory_limit),
     .help = "for reading a trace: events beyond half of it go to a temporary file; default: a quarter of the memory"},
    {0},
};

/* The line at hand. Of one that is too long only the size is kept. */
typedef struct line {
    char *data;
    size_t size, capacity;
} line;

static bool add(line *l, const char *data, size_t size)
{
    const size_t most = HD_MCP_LINE_BYTES;
    if (l->size + size <= most && l->size + size > l->capacity) {
        size_t capacity = l->capacity ? l->capacity * 2 : 1 << 16;
        while (capacity < l->size + size) capacity *= 2;
        char *more = realloc(l->data, capacity);
        if (!more) return false;
        l->data = more;
        l->capacity = capacity;
    }
    if (l->size + size <= most) memcpy(l->data + l->size, data, size);
    l->size = l->size + size <= most ? l->size + size : most + 1;
    return true;
}

/* A client waits for the answer: it must not stay in a buffer. */
static hd_status write_line(void *user, const char *data, size_t size)
{
    cli_run *run = user;
    hd_status status = cli_write(run, data, size);
    if (status == HD_OK && fflush(stdout) != 0) {
        run->out_error = errno;
        return HD_ERR_IO;
    }
    return status;
}

/* Lines are answered as they come. */
static hd_status answer_piece(hd_mcp *mcp, line *l, const char *data, size_t size, cli_run *run)
{
    while (size) {
        const char *end = memchr(data, '\n', size);
        size_t part = end ? (size_t)(end - data) : size;
        if (!add(l, data, part)) return hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
        if (!end) return HD_OK;
        hd_status status = hd_mcp_answer(mcp, l->data ? l->data : "", l->size, (hd_sink){write_line, run}, &run->err);
        if (status != HD_OK) return status;
        l->size = 0;
        data += part + 1;
        size -= part + 1;
    }
    return HD_OK;
}

static int serve(hd_mcp *mcp, cli_run *run)
{
    static char buffer[1 << 16];
    line l = {0};
    hd_status status = HD_OK;
    ssize_t size = 0;
    while (status == HD_OK && ((size = read(STDIN_FILENO, buffer, sizeof buffer)) > 0 || (size < 0 && errno == EINTR)))
        if (size > 0) status = answer_piece(mcp, &l, buffer, (size_t)size, run);
    if (status == HD_OK && size < 0)
        status = hd_error_set(&run->err, HD_ERR_IO, "standard input", HD_OFFSET_NONE, "%s", strerror(errno));
    if (status == HD_OK && l.size) status = answer_piece(mcp, &l, "\n", 1, run); /* the last line has no end */
    free(l.data);
    return status == HD_OK ? CLI_OK : CLI_FAILED;
}

static int run(cli_run *run)
{
    const struct mcp_options *chosen = run->options;
    hd_mcp *mcp = NULL;
    hd_gpus *gpus = NULL;
    const cli_texts none = {0};
    int status = CLI_FAILED;
    for (int i = 0; i < run->operand_count; i++)
        if (strcmp(run->operands[i], "-") == 0)
            return cli_usage_error(run, "standard input is the client's: name a file");
    if (report_gpus_read(&gpus, run, &none)) {
        const hd_mcp_options how = {
            .size = sizeof how, .gpus = gpus, .memory_limit = chosen->memory_limit, .only_these = chosen->only};
        if (hd_mcp_new(&mcp, run->operands, (size_t)run->operand_count, &how, &run->err) == HD_OK)
            status = serve(mcp, run);
    }
    hd_mcp_free(mcp);
    hd_gpus_free(gpus);
    return status;
}

const cli_command cmd_mcp = {
    .name = "mcp",
    .group = CLI_LOOK,
    .summary = "answer a coding agent's questions: a Model Context Protocol server",
    .usage = "[FILE...]",
    .offer = "<files>",
    .description =
        "Serves the Model Context Protocol (revisions 2024-11-05, 2025-03-26, 2025-06-18) on standard input and "
        "output, "
        "until the input ends. Agents start it themselves: docs/mcp.md says how it is added to common ones. Tools: "
        "open, "
        "summary, findings, report, query, timeline, find, explain_idle, stack_of, compare. Each FILE is a trace, read "
        "when a "
        "tool "
        "first uses it.\n\n"
        "No tool writes a file or uses the network. `open` reads any file that you can read, unless --only is given. "
        "An answer has at most 4,000 bytes (the client may request another limit) and a cursor for the rest. SQL is "
        "stopped after 20 s.",
    .options = options,
    .options_size = sizeof(struct mcp_options),
    .operands_max = -1,
    .run = run,
    .examples = (const cli_example[]){{"claude mcp add heddle -- heddle mcp", "add it to an agent"},
                                      {"heddle mcp trace.json.gz", "a server that has opened a trace already"},
                                      {"echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}' | heddle mcp",
                                       "its tools"},
                                      {0}},
};
