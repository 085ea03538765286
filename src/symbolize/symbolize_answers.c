/* symbolize_answers.c - names as they are shown */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/json.h"
#include "base/vector.h"
#include "symbolize/symbolize_impl.h"

enum { NAME_BYTES = 4096 };

bool sym_answers_init(sym_answers *answers)
{
    if (!answers->has_texts) answers->has_texts = hd_strings_init(&answers->texts, NULL) == HD_OK;
    return answers->has_texts;
}

void sym_answers_deinit(sym_answers *answers)
{
    if (answers->has_texts) hd_strings_deinit(&answers->texts);
    free(answers->list);
    *answers = (sym_answers){0};
}

bool sym_answers_add(sym_answers *answers, uint32_t text)
{
    if (text == HD_STRING_NONE ||
        !hd_grow((void **)&answers->list, &answers->capacity, answers->count, sizeof *answers->list))
        return false;
    answers->list[answers->count++] = text;
    return true;
}

/* Names of symbols are any bytes. */
static size_t clean(char *out, const char *text, size_t size)
{
    bool is_utf8 = hd_utf8_valid(text, size, false);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        out[i] = c < ' ' || c == 0x7f || (c >= 0x80 && !is_utf8) ? '?' : text[i];
    }
    return size;
}

uint32_t sym_answers_plain(sym_answers *answers, const char *text, size_t size)
{
    char cleaned[NAME_BYTES];
    if (size > sizeof cleaned) {
        size = sizeof cleaned;
        while (size && ((unsigned char)text[size] & 0xc0) == 0x80) size--; /* not within a character */
    }
    if (size == 0) return hd_strings_intern(&answers->texts, "?", 1);
    return hd_strings_intern(&answers->texts, cleaned, clean(cleaned, text, size));
}

bool sym_is_python(const char *name, size_t size)
{
    const char *colon = size > 6 && memcmp(name, "py::", 4) == 0 ? memchr(name + 4, ':', size - 4) : NULL;
    return colon && colon > name + 4 && colon + 1 < name + size;
}

static uint32_t python_text(sym_answers *answers, const char *name, size_t size)
{
    char text[NAME_BYTES + 8];
    const char *function = name + 4, *colon = memchr(function, ':', size - 4);
    int of_function = (int)(colon - function), of_file = (int)(size - 5) - of_function;
    int made = snprintf(text, sizeof text, "%.*s (%.*s)", of_function, function, of_file, colon + 1);
    return sym_answers_plain(answers, text, (size_t)made);
}

uint32_t sym_answers_text(sym_answers *answers, const char *name, size_t size)
{
    char text[NAME_BYTES];
    bool cut;
    size_t made =
        size > 2 && size < NAME_BYTES && name[0] == '_' ? hd_demangle(text, sizeof text, &cut, name, size) : 0;
    if (made) return sym_answers_plain(answers, text, made);
    if (size < NAME_BYTES && sym_is_python(name, size)) return python_text(answers, name, size);
    return sym_answers_plain(answers, name, size);
}
