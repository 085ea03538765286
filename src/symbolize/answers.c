/* answers.c - names as they are shown */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle/demangle.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "symbolize/impl.h"

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
    if (!colon || colon == name + 4 || colon + 1 == name + size) return false;
    return !memchr(name, '(', (size_t)(colon - name)); /* "py::f (<string>:1)" is how one is shown already */
}

/* Like frames that captures name themselves: a name without file.py is marked by its py:: prefix. */
static uint32_t python_text(sym_answers *answers, const char *name, size_t size)
{
    char text[NAME_BYTES + 8];
    const char *function = name + 4, *colon = memchr(function, ':', size - 4);
    int of_function = (int)(colon - function), of_file = (int)(size - 5) - of_function;
    bool is_file = of_file > 3 && memcmp(name + size - 3, ".py", 3) == 0;
    int made =
        snprintf(text, sizeof text, "%s%.*s (%.*s)", is_file ? "" : "py::", of_function, function, of_file, colon + 1);
    return sym_answers_plain(answers, text, (size_t)made);
}

/* Rust's older mangling is that of C++, with a hash after the name and escapes in it. */
static size_t clean_rust(char *text, size_t size)
{
    static const struct {
        const char *escape, *text;
    } escapes[] = {{"$LT$", "<"},  {"$GT$", ">"},   {"$LP$", "("},  {"$RP$", ")"},  {"$C$", ","},
                   {"$RF$", "&"},  {"$BP$", "*"},   {"$SP$", "@"},  {"$u20$", " "}, {"$u27$", "'"},
                   {"$u5b$", "["}, {"$u5d$", "]"},  {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u3b$", ";"},
                   {"$u2b$", "+"}, {"$u22$", "\""}, {"$u7e$", "~"}, {"..", "::"}};
    size_t out = 0;
    for (size_t i = 0; i < size;) {
        size_t used = 0, starts = out == 0 || text[out - 1] == ':';
        if (text[i] == '_' && starts && i + 1 < size && text[i + 1] == '$')
            i++; /* "_$LT$": a name begins with no '$' */
        for (size_t k = 0; k < sizeof escapes / sizeof *escapes && !used; k++) {
            size_t length = strlen(escapes[k].escape), made = strlen(escapes[k].text);
            if (length > size - i || memcmp(text + i, escapes[k].escape, length) != 0) continue;
            memcpy(text + out, escapes[k].text, made);
            out += made;
            used = length;
        }
        if (!used) text[out++] = text[i];
        i += used ? used : 1;
    }
    return out;
}

/* "…17h" and sixteen digits, then "E"; `text` ends with "::h" and the digits. */
static bool is_rust(const char *name, size_t size, const char *text, size_t made)
{
    if (size < 24 || name[size - 1] != 'E' || memcmp(name + size - 20, "17h", 3) != 0) return false;
    if (made < 20 || memcmp(text + made - 19, "::h", 3) != 0) return false;
    for (size_t i = made - 16; i < made; i++) {
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f'))) return false;
    }
    return true;
}

uint32_t sym_answers_text(sym_answers *answers, const char *name, size_t size)
{
    char text[NAME_BYTES];
    bool cut;
    size_t made =
        size > 2 && size < NAME_BYTES && name[0] == '_' ? hd_demangle(text, sizeof text, &cut, name, size) : 0;
    if (made && is_rust(name, size, text, made)) made = clean_rust(text, made - 19);
    if (made) return sym_answers_plain(answers, text, made);
    if (size < NAME_BYTES && sym_is_python(name, size)) return python_text(answers, name, size);
    return sym_answers_plain(answers, name, size);
}
