/* random_trace.c - seeded text of traces that look like trouble, and seeded damage */
#include "random_trace.h"

#include <stdio.h>
#include <string.h>

static const char *const arg_texts[] = {
    "\"plain\":1",
    "\"grid\":[4,1,1]",
    "\"f\":12.500",
    "\"s\":\"},{\\\"ph\\\":\\\"X\\\",\\\"ts\\\":1}\"",
    "\"nested\":[{\"ph\":\"X\",\"ts\":1},{\"ph\":\"i\",\"ts\":2},{\"ph\":\"B\"}]",
    "\"deep\":{\"a\":[{\"b\":{}},{\"ph\":\"X\"}]}",
    "\"q\":\"\\\\\"",
    "\"brackets\":\"]}]},{[\"",
    "\"unicode\":\"\xc3\xa9\\u00e9\"",
    "\"big\":18446744073709551616",
    "\"\":null",
    "\"comma\":\"},\"",
    "\"e\":1e-9",
    "\"n\":{\"ph\":\"X\",\"ts\":5}",
    "\"t\":true",
};
static const char *const spaces[] = {"", "", " ", "\n", "\r\n  "};

static const char *pick(const char *const *list, size_t count, uint64_t *seed)
{
    return list[random_next(seed) % count];
}
#define PICK(list, seed) pick(list, sizeof(list) / sizeof *(list), seed)

void random_event(hd_json_out *out, uint64_t *seed, unsigned number)
{
    static const char *const phases[] = {"X", "X", "X", "i", "B", "E", "C", "s", "M"};
    char text[160];
    uint32_t layout = random_next(seed);
    snprintf(text, sizeof text, "{%s\"ph\":\"%s\",\"name\":\"event %u\"", layout & 1 ? "\"x\":[1]," : "",
             PICK(phases, seed), number);
    hd_json_put_text(out, text);
    snprintf(text, sizeof text, ",%s\"ts\":%u.%03u,\"dur\":%u,\"pid\":%u,\"tid\":%s%u%s", PICK(spaces, seed),
             number * 10, random_next(seed) % 1000, random_next(seed) % 100, layout >> 1 & 3, layout & 8 ? "\"" : "",
             layout >> 4 & 3, layout & 8 ? "\"" : "");
    hd_json_put_text(out, text);
    uint32_t args = random_next(seed) % 6;
    if (layout & 64) hd_json_put_text(out, ",\"args\":{");
    for (uint32_t i = 0; layout & 64 && i < args; i++) {
        if (i) hd_json_put_text(out, ",");
        hd_json_put_text(out, PICK(spaces, seed));
        hd_json_put_text(out, PICK(arg_texts, seed));
    }
    if (layout & 64) hd_json_put_text(out, "}");
    hd_json_put_text(out, "}");
}

void random_document(hd_json_out *out, uint64_t *seed, unsigned events)
{
    uint32_t layout = random_next(seed);
    if (layout & 1)
        hd_json_put_text(out, layout & 2 ? "{\"a\":[1,{}],\"traceEvents\":[" : "{\"traceEvents\" : [ ");
    else
        hd_json_put_text(out, "[");
    for (unsigned i = 0; i < events; i++) {
        if (i) hd_json_put_text(out, PICK(spaces, seed));
        if (i) hd_json_put_text(out, ",");
        hd_json_put_text(out, PICK(spaces, seed));
        random_event(out, seed, i);
    }
    hd_json_put_text(out, PICK(spaces, seed));
    if (layout & 1)
        hd_json_put_text(out, layout & 4 ? "],\"z\":{\"y\":\"],\"}}\n" : "]}");
    else
        hd_json_put_text(out, "]\n");
}

size_t random_damage(char *text, size_t size, size_t from, size_t until, uint64_t *seed)
{
    static const char bytes[] = "{}[]\",:\\ \n\0x1-e\xff";
    size_t at = from + random_next(seed) % (until - from), count;
    switch (random_next(seed) % 4) {
    case 0: text[at] = (char)(text[at] ^ 1 << random_next(seed) % 8); return size;
    case 1: text[at] = bytes[random_next(seed) % (sizeof bytes - 1)]; return size;
    case 2:
        memmove(text + at + 1, text + at, size - at);
        text[at] = bytes[random_next(seed) % (sizeof bytes - 1)];
        return size + 1;
    default:
        count = 1 + random_next(seed) % 4;
        if (count > until - at) count = until - at;
        memmove(text + at, text + at + count, size - at - count);
        return size - count;
    }
}
