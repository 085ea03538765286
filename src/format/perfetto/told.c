/* told.c - writes and reads descriptions of tracks */
#include "format/perfetto/told.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/decimal.h"
#include "trace/text.h"

#define LABELS "labels "
#define ORDER "order "
#define RANK "rank "
#define STREAM "GPU stream"
#define THREAD "CPU thread"
#define SERIES "series "
#define CATEGORY "category "
#define ASYNC "async"
#define OLD_ASYNC "async S F"
#define NO_NAME "no name"
#define NO_ORDER "no order"
#define NO_PROCESS "no process"

/* ---- written ---- */

static void put_item(hd_bytes *out, size_t start, const char *text)
{
    if (out->size > start) hd_bytes_put(out, ", ", 2);
    hd_bytes_put(out, text, strlen(text));
}

static void put_number(hd_bytes *out, const char *before, int64_t number)
{
    char text[48];
    if (number != HD_NO_NUMBER)
        hd_bytes_put(out, text, (size_t)snprintf(text, sizeof text, "%s%" PRId64, before, number));
}

/* A text that could pass for several items, or for one in quotes, is in quotes: it has all between the first and the
 * last. */
static void put_text(hd_bytes *out, size_t start, const char *before, hd_string text)
{
    bool is_quoted = text.size && (text.data[0] == '"' || memmem(text.data, text.size, ", ", 2));
    put_item(out, start, before);
    if (is_quoted) hd_bytes_put(out, "\"", 1);
    hd_bytes_put(out, text.data, text.size);
    if (is_quoted) hd_bytes_put(out, "\"", 1);
}

void pf_told_put(hd_bytes *out, const pf_told *told, bool is_process)
{
    size_t start = out->size;
    if (told->has_ident) put_text(out, start, is_process ? "pid " : "tid ", told->ident);
    if (told->labels.size) put_text(out, start, LABELS, told->labels);
    if (told->no_process) put_item(out, start, NO_PROCESS);
    if (told->no_name) put_item(out, start, NO_NAME);
    if (told->no_order) put_item(out, start, NO_ORDER);
    if (told->order != HD_NO_NUMBER) {
        put_item(out, start, "");
        put_number(out, ORDER, told->order);
    }
    if (told->rank != HD_NO_NUMBER) {
        put_item(out, start, "");
        put_number(out, RANK, told->rank);
    }
    if (told->is_thread) put_item(out, start, THREAD);
    if (told->is_async) put_item(out, start, told->is_old_async ? OLD_ASYNC : ASYNC);
    if (told->is_stream) {
        put_item(out, start, STREAM);
        put_number(out, " ", told->stream);
        put_number(out, " of device ", told->device);
    }
}

void pf_told_put_counter(hd_bytes *out, hd_string series, hd_string category)
{
    size_t start = out->size;
    put_text(out, start, SERIES, series);
    if (category.size) put_text(out, start, CATEGORY, category);
}

/* ---- read ---- */

/* Consumes a word at the start of a text. */
static bool take(hd_string *text, const char *word)
{
    size_t size = strlen(word);
    if (text->size < size || memcmp(text->data, word, size) != 0) return false;
    *text = (hd_string){text->data + size, text->size - size};
    return true;
}

/* Consumes a word and the number after it; false: they are not there. */
static bool take_number(int64_t *out, hd_string *text, const char *word)
{
    hd_string rest = *text;
    size_t end = 0;
    if (!take(&rest, word)) return false;
    while (end < rest.size && rest.data[end] != ' ') end++;
    if (!hd_fixed_parse_whole(out, rest.data, end)) return false;
    *text = (hd_string){rest.data + end, rest.size - end};
    return true;
}

/* One of the items with a fixed text. */
static bool read_item(pf_told *out, hd_string item)
{
    hd_string rest = item;
    int64_t number;
    if (hd_string_is(item, NO_PROCESS)) return out->no_process = true;
    if (hd_string_is(item, NO_NAME)) return out->no_name = true;
    if (hd_string_is(item, NO_ORDER)) return out->no_order = true;
    if (hd_string_is(item, THREAD)) return out->is_thread = true;
    if (hd_string_is(item, ASYNC)) return out->is_async = true;
    if (hd_string_is(item, OLD_ASYNC)) return out->is_async = out->is_old_async = true;
    if (take_number(&number, &rest, ORDER) && !rest.size) {
        out->order = number;
        return true;
    }
    if (take_number(&number, &rest, RANK) && !rest.size) {
        out->rank = number;
        return true;
    }
    if (!take(&rest, STREAM)) return false;
    int64_t stream = HD_NO_NUMBER, device = HD_NO_NUMBER;
    take_number(&stream, &rest, " ");
    take_number(&device, &rest, " of device ");
    if (rest.size) return false;
    out->is_stream = true;
    out->stream = stream;
    out->device = device;
    return true;
}

/* Where the last item of a text begins. */
static size_t last_item(hd_string text)
{
    size_t at = text.size;
    while (at >= 2 && memcmp(text.data + at - 2, ", ", 2) != 0) at--;
    return at < 2 ? 0 : at;
}

static hd_string unquoted(hd_string text)
{
    bool is_quoted = text.size >= 2 && text.data[0] == '"' && text.data[text.size - 1] == '"';
    return is_quoted ? (hd_string){text.data + 1, text.size - 2} : text;
}

/* The text before and after a word; all, and nothing, if it does not occur. */
static void split(hd_string *before, hd_string *behind, hd_string text, const char *word)
{
    size_t size = strlen(word);
    bool is_quoted = text.size && text.data[0] == '"';
    *before = unquoted(text);
    *behind = (hd_string){"", 0};
    for (size_t at = is_quoted ? 2 : 0; at + size <= text.size; at++) {
        if (memcmp(text.data + at, word, size) != 0 || (is_quoted && text.data[at - 1] != '"')) continue;
        *before = unquoted((hd_string){text.data, at});
        *behind = unquoted((hd_string){text.data + at + size, text.size - at - size});
        return;
    }
}

pf_told pf_told_of(hd_string text)
{
    pf_told out = PF_TOLD_NOTHING;
    size_t at;
    while (text.size && (at = last_item(text), read_item(&out, (hd_string){text.data + at, text.size - at})))
        text.size = at < 2 ? 0 : at - 2;
    if (!take(&text, "pid ") && !take(&text, "tid ")) {
        if (take(&text, LABELS)) out.labels = unquoted(text);
        return out;
    }
    out.has_ident = true;
    split(&out.ident, &out.labels, text, ", " LABELS);
    return out;
}

bool pf_told_of_counter(hd_string *series, hd_string *category, hd_string description)
{
    hd_string text = description;
    if (!take(&text, SERIES)) return false;
    split(series, category, text, ", " CATEGORY);
    return true;
}
