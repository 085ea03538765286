/* fuzz_json.c - libFuzzer target: the strict scanner, with the plain validator as its oracle
 *
 * Properties: the scanner takes what the validator takes; nothing is read behind the padding; a value that is cut
 * anywhere is "cut" as long as it is not broken; a string that is decoded and written decodes to the same again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/json/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static char *padded(const void *data, size_t size)
{
    char *text = calloc(1, size + HD_JSON_PADDING);
    require(text != NULL);
    if (data) memcpy(text, data, size);
    return text;
}

static void check_value(const uint8_t *data, size_t size)
{
    char *text = padded(data, size);
    const char *p = hd_json_skip_value(hd_json_skip_space(text));
    bool whole = p && p <= text + size && hd_json_skip_space(p) == text + size;
    require(whole == hd_json_valid((const char *)data, size, HD_JSON_DEPTH_LIMIT));
    free(text);
    if (!whole || size < 2) return;
    size_t begin = 0; /* any shorter part of an array or object is cut, never broken */
    while (hd_json_is_space((char)data[begin])) begin++;
    if (data[begin] != '[' && data[begin] != '{') return;
    text = padded(NULL, size - begin);
    for (size_t part = 1; part < size - begin && part < 200; part++) {
        text[part - 1] = (char)data[begin + part - 1];
        if (!hd_json_skip_value(text)) require(hd_json_is_cut(text, text + part));
    }
    free(text);
}

static void check_string(const uint8_t *data, size_t size)
{
    char *text = padded(data, size), *out = malloc(size + 1), *again = malloc(size * 6 + 8);
    hd_json_text found;
    size_t out_size, again_size;
    require(out && again);
    if (hd_json_string(&found, text) && hd_json_decode(out, &out_size, &found)) {
        hd_json_out written = {0};
        require(out_size <= found.size);
        hd_json_put_string(&written, out, out_size);
        require(hd_json_valid(written.data, written.size, 1));
        char *second = padded(written.data, written.size);
        require(hd_json_string(&found, second + 1) == second + written.size);
        require(hd_json_decode(again, &again_size, &found));
        require(again_size == out_size && memcmp(again, out, out_size) == 0);
        free(second);
        free(written.data);
    }
    free(text);
    free(out);
    free(again);
}

static void check_pretty(const uint8_t *data, size_t size)
{
    hd_json_out out = {0}, twice = {0};
    if (!hd_json_valid((const char *)data, size, HD_JSON_DEPTH_LIMIT)) return;
    hd_json_put_pretty(&out, (const char *)data, size, 0);
    require(hd_json_valid(out.data, out.size, HD_JSON_DEPTH_LIMIT));
    hd_json_put_pretty(&twice, out.data, out.size, 0);
    require(twice.size == out.size && memcmp(out.data, twice.data, out.size) == 0);
    free(out.data);
    free(twice.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_value(data, size);
    check_string(data, size);
    if (size < 4096) check_pretty(data, size);
    return 0;
}
