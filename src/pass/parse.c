/* parse.c - a pass from its text, NAME:KEY=VALUE,FLAG */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "heddle/names.h"
#include "pass/pass.h"

enum { NAME_MAX_BYTES = 64 };

typedef struct parser {
    hd_pass *pass;
    const char *at;
    char word[NAME_MAX_BYTES]; /* the key at hand */
    hd_error *err;
} parser;

const hd_pass_about *hd_pass_about_of(const hd_pass *pass)
{
    return pass->about;
}

const hd_option_about *hd_pass_second_option(const hd_pass_about *about)
{
    for (const hd_option_about *o = about->options; o->name; o++) {
        if (o->kind == HD_OPTION_TRACE) return o;
    }
    return NULL;
}

const char *hd_pass_second(const hd_pass *pass)
{
    const hd_option_about *option = hd_pass_second_option(pass->about);
    return option ? *(const char **)((char *)pass->options.values + option->field) : NULL;
}

/* ---- the text ---- */

/* The letters up to one of `ends`; a word too long for any name is cut, and will be unknown. */
static void read_word(parser *p, const char *ends)
{
    size_t size = strcspn(p->at, ends);
    snprintf(p->word, sizeof p->word, "%.*s", size < sizeof p->word ? (int)size : NAME_MAX_BYTES - 1, p->at);
    p->at += size;
}

/* The value up to a comma that no backslash is before. */
static hd_status read_value(char **out, parser *p)
{
    char *to = *out = hd_arena_alloc(&p->pass->options.texts, strlen(p->at) + 1);
    if (!to) return HD_NOMEM(p->err);
    for (; *p->at && *p->at != ','; p->at++) {
        if (*p->at == '\\' && (p->at[1] == ',' || p->at[1] == '\\')) p->at++;
        *to++ = *p->at;
    }
    *to = '\0';
    return HD_OK;
}

static hd_status parse_option(parser *p)
{
    char *value = NULL, of[NAME_MAX_BYTES + 8];
    read_word(p, "=,");
    if (*p->at == '=') {
        p->at++;
        HD_TRY(read_value(&value, p));
    }
    snprintf(of, sizeof of, "pass %s", p->pass->about->name);
    return hd_option_values_set(&p->pass->options, of, p->word, value, p->err);
}

static hd_status find_pass(const hd_pass_about **out, parser *p, const hd_pass_about *const *more, size_t more_count)
{
    char known[HD_ERROR_MESSAGE_BYTES / 2] = "";
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    read_word(p, ":");
    for (size_t i = 0; i < hd_pass_count() + more_count; i++) {
        const hd_pass_about *about = i < hd_pass_count() ? hd_pass_at(i) : more[i - hd_pass_count()];
        *out = about;
        if (strcmp(about->name, p->word) == 0) return HD_OK;
        hd_name_suggest(p->word, about->name, &best, &distance);
        hd_name_list_add(known, sizeof known, about->name);
    }
    if (best)
        return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no pass '%s'; did you mean %s?", p->word,
                            best);
    return hd_error_set(p->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no pass '%s'; there are %s", p->word, known);
}

hd_status hd_pass_new_default(hd_pass **out, const hd_pass_about *about, hd_error *err)
{
    hd_pass *pass = *out = calloc(1, sizeof *pass);
    if (!pass) return HD_NOMEM(err);
    pass->about = about;
    hd_status status = hd_option_values_init(&pass->options, about->options, about->options_size, err);
    if (status == HD_OK) return HD_OK;
    free(pass);
    *out = NULL;
    return status;
}

hd_status hd_pass_new(hd_pass **out, const char *text, const hd_pass_about *const *more, size_t more_count,
                      hd_error *err)
{
    parser p = {.at = text, .err = err};
    const hd_pass_about *about = NULL;
    *out = NULL;
    HD_TRY(find_pass(&about, &p, more, more_count));
    HD_TRY(hd_pass_new_default(&p.pass, about, err));
    hd_status status = HD_OK;
    while (*p.at && status == HD_OK) {
        p.at++; /* the colon, or a comma */
        status = parse_option(&p);
    }
    if (status == HD_OK && about->check) status = about->check(p.pass->options.values, err);
    if (status == HD_OK)
        *out = p.pass;
    else
        hd_pass_free(p.pass);
    return status;
}

void hd_pass_free(hd_pass *pass)
{
    if (!pass) return;
    hd_option_values_deinit(&pass->options);
    free(pass);
}
