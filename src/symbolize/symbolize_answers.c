/* symbolize_answers.c - names as they are shown */
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

uint32_t sym_answers_text(sym_answers *answers, const char *name, size_t size)
{
    char text[NAME_BYTES];
    bool cut;
    size_t made =
        size > 2 && size < NAME_BYTES && name[0] == '_' ? hd_demangle(text, sizeof text, &cut, name, size) : 0;
    if (made) return sym_answers_plain(answers, text, made);
    made = size < NAME_BYTES - 3 ? sym_python_name(text, name, size) : 0;
    return made ? sym_answers_plain(answers, text, made) : sym_answers_plain(answers, name, size);
}

size_t sym_python_name(char *out, const char *name, size_t size)
{
    if (size < 6 || memcmp(name, "py::", 4) != 0) return 0;
    const char *function = name + 4, *colon = memchr(function, ':', size - 4);
    if (!colon || colon == function || colon + 1 == name + size) return 0;
    size_t of_function = (size_t)(colon - function), of_file = size - 4 - of_function - 1, at = 0;
    memcpy(out, function, of_function);
    at = of_function;
    out[at++] = ' ';
    out[at++] = '(';
    memcpy(out + at, colon + 1, of_file);
    at += of_file;
    out[at++] = ')';
    return at;
}
