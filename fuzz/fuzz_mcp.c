/* fuzz_mcp.c - libFuzzer target: messages to the server of the Model Context Protocol
 *
 * Properties: each line has at most one answer, which is one line of valid JSON, in UTF-8; after all of them a ping is
 * answered. The server has no trace, and opens none: tools get as far as their arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "heddle/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static hd_status check_answer(void *user, const char *data, size_t size)
{
    size_t *answers = user;
    require(size > 1 && data[size - 1] == '\n' && !memchr(data, '\n', size - 1));
    require(hd_json_valid(data, size - 1, 16));
    ++*answers;
    return HD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    const hd_mcp_options options = {.size = sizeof options, .only_these = true};
    const char *at = (const char *)data, *end = at + size;
    hd_mcp *mcp;
    size_t answers = 0;
    if (hd_mcp_new(&mcp, NULL, 0, &options, NULL) != HD_OK) return 0;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t before = answers, length = (size_t)((stop ? stop : end) - at);
        require(hd_mcp_answer(mcp, at, length, (hd_sink){check_answer, &answers}, NULL) == HD_OK);
        require(answers <= before + 1);
        at += length + (stop != NULL);
    }
    size_t before = answers;
    require(hd_mcp_answer(mcp, ping, sizeof ping - 1, (hd_sink){check_answer, &answers}, NULL) == HD_OK);
    require(answers == before + 1);
    hd_mcp_free(mcp);
    return 0;
}
