/* cupti.c - records of CUPTI as the list of formats sees them */
#include "format/cupti/cupti.h"
#include "format/stack_text.h"

const hd_format hd_cupti_format = {
    .info = {.name = "cupti",
             .title = "CUPTI activity records (JSON lines of an injection, text of NVIDIA's samples)",
             .extensions = ".cupti .jsonl",
             .reads = true,
             .keeps = "everything",
             .loses = "what a program printed between the records"},
    .sniff = cupti_sniff,
    .read = cupti_read,
    .code = &hd_text_lines_code,
};

/* ---- what a file is ---- */

/* {"type":"CONCURRENT_KERNEL", … with any white space. */
static bool is_json_record(const char *at, const char *end)
{
    static const char *const parts[] = {"{", "\"type\"", ":", "\"", NULL};
    for (int i = 0; parts[i]; i++) {
        while (at < end && hd_json_is_space(*at)) at++;
        size_t size = strlen(parts[i]);
        if ((size_t)(end - at) < size || memcmp(at, parts[i], size) != 0) return false;
        at += size;
    }
    const char *word = at;
    while (at < end && ((*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || *at == '_')) at++;
    return at < end && *at == '"' && cupti_find_type(word, (size_t)(at - word)) != CUPTI_UNKNOWN;
}

static bool begins(const char *line, const char *end, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(end - line) >= size && memcmp(line, text, size) == 0;
}

cupti_form cupti_find_form(const char *head, size_t size)
{
    const char *end = head + size, *line = head;
    bool has_banner = false;
    if (size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) line += 3;
    while (line < end && hd_json_is_space(*line)) line++;
    if (line < end && (*line == '{' || *line == '['))
        return is_json_record(line, end) ? CUPTI_FORM_JSON : CUPTI_FORM_NONE;
    while (line < end) { /* the program's own output may come first */
        const char *next = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = next ? next : end;
        if (is_json_record(line, line_end)) return CUPTI_FORM_JSON;
        if (cupti_text_header(line, line_end)) return CUPTI_FORM_TEXT;
        has_banner |=
            begins(line, line_end, "Enabling CUPTI_ACTIVITY_KIND_") || begins(line, line_end, "Calling CUPTI API: ");
        line = next ? next + 1 : end;
    }
    return has_banner ? CUPTI_FORM_TEXT : CUPTI_FORM_NONE;
}

int cupti_sniff(const unsigned char *head, size_t size)
{
    return cupti_find_form((const char *)head, size) == CUPTI_FORM_NONE ? 0 : 85;
}
