/* rules.c - which ranges number steps, which frames are modules: by their names */
#include "view/derive/derive.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_joint(char c)
{
    return c == '_' || c == '-' || c == ' ';
}

/* A word begins behind what is no letter, and with a capital behind a small letter: two|Shot|All|Reduce. */
static bool begins_word(hd_string text, size_t at)
{
    if (at == 0 || !is_letter(text.data[at - 1])) return true;
    return is_upper(text.data[at]) && !is_upper(text.data[at - 1]);
}

/* ---- steps and modules ---- */

static bool ends_with_word(hd_string text, const char *word)
{
    size_t size = strlen(word);
    if (text.size < size) return false;
    size_t at = text.size - size;
    for (size_t i = 0; i < size; i++) {
        if (lower(text.data[at + i]) != word[i]) return false;
    }
    return begins_word(text, at);
}

bool view_is_step(hd_string name)
{
    static const char *const words[] = {"step", "iteration", "iter"};
    size_t end = name.size;
    while (end && (name.data[end - 1] == ')' || name.data[end - 1] == ']')) end--;
    size_t digits = end;
    while (digits && is_digit(name.data[digits - 1])) digits--;
    if (digits == end) return false;
    while (digits && (is_joint(name.data[digits - 1]) || strchr("#:=([", name.data[digits - 1]))) {
        if (!name.data[digits - 1]) return false;
        digits--;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ends_with_word((hd_string){name.data, digits}, words[i])) return true;
    }
    return false;
}

bool view_is_module(hd_string name)
{
    static const char prefix[] = "nn.Module: ";
    return name.size > sizeof prefix - 1 && memcmp(name.data, prefix, sizeof prefix - 1) == 0;
}
