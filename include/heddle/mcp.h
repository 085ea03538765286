/* mcp.h - a Model Context Protocol server: what programs that ask about traces talk to
 *
 *     hd_mcp *mcp;
 *     HD_TRY(hd_mcp_new(&mcp, paths, count, NULL, &err));
 *     while (…a line is read…) HD_TRY(hd_mcp_answer(mcp, line, size, sink, &err));
 *     hd_mcp_free(mcp);
 *
 * Messages are JSON-RPC 2.0, one a line, as the protocol's transport over standard input and output has them
 * (modelcontextprotocol.io). Revisions 2024-11-05, 2025-03-26 and 2025-06-18 are understood. Tools read traces, run
 * reports and SQL; none writes a file. docs/mcp.md lists them.
 *
 * A message that makes no sense gets a JSON-RPC error, a tool that fails a result with isError; neither ends the
 * server. One thread at a time.
 */
#ifndef HEDDLE_MCP_H
#define HEDDLE_MCP_H

#include <stdbool.h>

#include "heddle/format.h"
#include "heddle/gpus.h"
#include "heddle/table.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_MCP_LINE_BYTES = 4 << 20 }; /* longest message */

typedef struct hd_mcp hd_mcp;

/* Zero-initialised is the default of each. */
typedef struct hd_mcp_options {
    size_t size;           /* of this struct; see "Options" in status.h */
    const hd_gpus *gpus;   /* for reports that need one; borrowed; NULL: the library's own */
    uint64_t memory_limit; /* of reading a trace, as in hd_read_options */
    bool only_these;       /* the tool `open` reads none but `paths` */
} hd_mcp_options;

/* The paths are traces 0, 1, …, which are read when a tool first uses them. They are copied. options may be NULL. The
 * caller frees *out. Errors: MEMORY; LIMIT: too many paths. */
hd_status hd_mcp_new(hd_mcp **out, const char *const *paths, size_t count, const hd_mcp_options *options,
                     hd_error *err);
void hd_mcp_free(hd_mcp *mcp);

/* Answers one message, line[0 … size), with one line, which ends with \n; notifications have no answer. A line longer
 * than HD_MCP_LINE_BYTES is answered with an error; its text may be cut. Errors: MEMORY, and what the sink returns. */
hd_status hd_mcp_answer(hd_mcp *mcp, const char *line, size_t size, hd_sink sink, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
