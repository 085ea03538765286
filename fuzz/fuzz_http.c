/* fuzz_http.c - the head of a request: line 1 is the address, then Host, Origin, Cookie, Accept-Encoding, If-None-Match
 */
#include <stdlib.h>
#include <string.h>

#include "view/server/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void check_target(const char *text)
{
    view_target target;
    size_t size = strlen(text);
    hd_status status = view_target_parse(&target, text, size, NULL);
    require(status == HD_OK || status == HD_ERR_ARGUMENT);
    require(target.param_count <= VIEW_PARAMS_MAX);
    size_t used = target.path ? strlen(target.path) + 1 : 0;
    if (status == HD_OK) require(target.path && target.path[0] == '/');
    for (size_t i = 0; i < target.param_count; i++) {
        used += strlen(target.params[i].name) + strlen(target.params[i].value);
        require(view_target_param(&target, target.params[i].name) == target.params[i].value);
    }
    require(used <= size + 1);
    view_target_deinit(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    const view_names here = {0}, all = {.listen = "0.0.0.0", .hostname = "node7.cluster", .any_address = true};
    char *lines[6], *text = malloc(size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    char *at = text;
    for (int i = 0; i < 6; i++) {
        lines[i] = at;
        at += strcspn(at, "\n");
        if (*at) *at++ = '\0';
    }
    check_target(lines[0]);
    if (view_host_is_ours(lines[1], &here)) require(view_host_is_ours(lines[1], &all));
    bool ours = view_origin_is_ours(lines[2], lines[1], NULL, NULL, NULL, false, false);
    require(!ours || strlen(lines[2]) == strlen(lines[1]) + strlen("http://"));
    if (view_token_is_right(token, lines[3], lines[3], "heddle_8383", lines[3]))
        require(strstr(lines[3], token) != NULL);
    view_accepts(lines[4], "gzip");
    if (view_etag_matches(lines[5], "\"0a\"")) require(strchr(lines[5], '*') || strstr(lines[5], "\"0a\""));
    free(text);
    return 0;
}
