/* fuzz_json_repair.c - libFuzzer target: the repairer of broken JSON events
 *
 * Properties: DONE is always a valid object; 0 < consumed <= size; a valid object comes out unchanged; the answer for a
 * part of a text is NEED_MORE or the answer for the whole.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "format/chrome/chrome.h"

static void require(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(const hd_json_repair *whole, hd_repair_outcome whole_outcome, size_t whole_consumed,
                       const uint8_t *data, size_t size)
{
    hd_json_repair part = {.find_key = chrome_find_event_key};
    hd_repair_outcome outcome;
    size_t consumed;
    char *text = malloc(size + 1); /* so that a read past the part is seen */
    require(text != NULL);
    memcpy(text, data, size);
    text = realloc(text, size > 0 ? size : 1);
    require(text != NULL);
    require(hd_json_repair_object(&outcome, &consumed, &part, text, size, false, NULL) == HD_OK);
    if (outcome != HD_REPAIR_NEED_MORE) {
        require(outcome == whole_outcome && consumed == whole_consumed && part.size == whole->size);
        require(part.size == 0 || memcmp(part.text, whole->text, part.size) == 0);
    }
    free(text);
    hd_json_repair_deinit(&part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    hd_json_repair r;
    hd_repair_outcome outcome;
    size_t consumed;
    hd_json_repair_init(&r, chrome_find_event_key);
    require(hd_json_repair_object(&outcome, &consumed, &r, text, size, true, NULL) == HD_OK);
    require(outcome != HD_REPAIR_NEED_MORE && consumed <= size && (consumed > 0 || size == 0));
    if (outcome == HD_REPAIR_DONE) {
        require(r.text[0] == '{' && hd_json_valid(r.text, r.size, HD_JSON_REPAIR_DEPTH));
    }
    size_t end = size;
    while (end > 0 && strchr(" \t\r\n", text[end - 1]) != NULL && text[end - 1] != 0) end--;
    if (size > 0 && text[0] == '{' && hd_json_valid(text, size, HD_JSON_REPAIR_DEPTH)) {
        require(outcome == HD_REPAIR_DONE && consumed == end && r.issue_count == 0);
        require(r.size == end && memcmp(r.text, text, end) == 0);
    }
    check_part(&r, outcome, consumed, data, size / 2);
    check_part(&r, outcome, consumed, data, size > 3 ? size - 3 : size);
    if (consumed < size) check_part(&r, outcome, consumed, data, consumed + 1);
    hd_json_repair_deinit(&r);
    return 0;
}
