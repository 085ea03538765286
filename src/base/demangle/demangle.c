/* demangle.c - the demangler's memory and texts, and its front */
#include "base/demangle/demangle.h"

#include <stdlib.h>

#include "base/demangle/impl.h"
#include "base/memory/vector.h"

void *dm_new(dm_reader *r, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (r->failed || size > DM_ARENA_BYTES - r->used) {
        r->failed = true;
        return NULL;
    }
    void *memory = hd_arena_alloc(&r->arena, size);
    r->failed = !memory;
    r->used += size;
    return memory;
}

dm_string dm_lit(const char *text)
{
    return (dm_string){text, strlen(text)};
}

dm_string dm_cat(dm_reader *r, const dm_string *pieces)
{
    size_t size = 0;
    for (size_t i = 0; pieces[i].data; i++) {
        size += pieces[i].size;
        if (size > DM_TEXT_LIMIT) r->failed = true;
    }
    char *out = dm_new(r, size);
    if (!out) return dm_lit("");
    dm_string all = {out, size};
    for (size_t i = 0; pieces[i].data; i++) {
        memcpy(out, pieces[i].data, pieces[i].size);
        out += pieces[i].size;
    }
    return all;
}

dm_text dm_plain(dm_string s)
{
    return (dm_text){.left = s, .right = {"", 0}, .base = s, .name = {"", 0}, .is_simple = true};
}

dm_string dm_flat(dm_reader *r, const dm_text *text)
{
    return text->right.size ? DM_CAT(r, text->left, text->right) : text->left;
}

dm_string dm_join(dm_reader *r, const dm_arg *args)
{
    size_t size = 0;
    for (const dm_arg *a = args; a; a = a->next) {
        size += a->text.left.size + a->text.right.size + 2;
        if (size > DM_TEXT_LIMIT) r->failed = true;
    }
    char *out = dm_new(r, size), *at = out;
    if (!out) return dm_lit("");
    for (const dm_arg *a = args; a; a = a->next) {
        if (a != args) {
            memcpy(at, ", ", 2);
            at += 2;
        }
        memcpy(at, a->text.left.data, a->text.left.size);
        at += a->text.left.size;
        memcpy(at, a->text.right.data, a->text.right.size);
        at += a->text.right.size;
    }
    return (dm_string){out, (size_t)(at - out)};
}

bool dm_ends(dm_string s, const char *text)
{
    size_t size = strlen(text);
    return s.size >= size && memcmp(s.data + s.size - size, text, size) == 0;
}

bool dm_take(dm_reader *r, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, text, size) != 0) return false;
    r->at += size;
    return true;
}

dm_text dm_fail(dm_reader *r)
{
    r->failed = true;
    return dm_plain(dm_lit(""));
}

bool dm_enter(dm_reader *r)
{
    if (++r->steps > DM_STEP_LIMIT || ++r->depth > DM_DEPTH_LIMIT) r->failed = true;
    return !r->failed;
}

dm_string dm_decimal(dm_reader *r, uint64_t value)
{
    char digits[24];
    size_t n = sizeof digits;
    do digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    return DM_CAT(r, {digits + n, sizeof digits - n});
}

uint64_t dm_number(dm_reader *r)
{
    uint64_t value = 0;
    if (!dm_is_digit(dm_peek(r, 0))) r->failed = true;
    while (dm_is_digit(dm_peek(r, 0))) {
        value = value * 10 + (uint64_t)(*r->at++ - '0');
        if (value > INT32_MAX) {
            r->failed = true;
            return 0;
        }
    }
    return value;
}

uint64_t dm_index(dm_reader *r)
{
    uint64_t value = dm_peek(r, 0) == '_' ? 0 : dm_number(r) + 1;
    if (!dm_take(r, "_")) r->failed = true;
    return value;
}

const char dm_autos[1] = {0};

void dm_add_sub(dm_reader *r, dm_text text, dm_mark since)
{
    const void *scope = r->params_read == since.params_read ? NULL : r->in_lambda ? dm_autos : (const void *)r->params;
    if (r->rereads) return;
    if (r->sub_count == DM_SUBSTITUTIONS ||
        !hd_grow((void **)&r->subs, &r->sub_capacity, r->sub_count, sizeof *r->subs))
        r->failed = true;
    else
        r->subs[r->sub_count++] = (dm_sub){.text = text, .begin = since.begin, .end = r->at, .scope = scope};
}

/* ".isra.0.cold" -> " [clone .isra.0] [clone .cold]" */
static dm_string clones(dm_reader *r)
{
    dm_string all = dm_lit("");
    while (r->at < r->end && !r->failed) {
        const char *begin = r->at++;
        bool is_word = false;
        while (r->at < r->end && ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z') ||
                                  *r->at == '_' || (is_word && dm_is_digit(*r->at)))) {
            is_word = true;
            r->at++;
        }
        while (dm_peek(r, 0) == '.' && dm_is_digit(dm_peek(r, 1))) {
            r->at++;
            while (dm_is_digit(dm_peek(r, 0))) r->at++;
        }
        if (*begin != '.' || r->at - begin < 2) r->failed = true;
        all = DM_CAT(r, all, dm_lit(" [clone "), {begin, (size_t)(r->at - begin)}, dm_lit("]"));
    }
    return all;
}

size_t hd_demangle(char *out, size_t capacity, bool *out_cut, const char *name, size_t size)
{
    *out_cut = false;
    if (size < 3 || name[0] != '_' || size > DM_TEXT_LIMIT || memchr(name, '\0', size)) return 0;
    if (name[1] == 'R') return dm_rust(out, capacity, out_cut, name, size);
    if (name[1] != 'Z') return 0;
    dm_reader reader = {.at = name + 2, .end = name + size, .arena.piece_size = DM_PIECE_BYTES, .pack_index = -1};
    dm_reader *r = &reader;
    size_t written = 0;
    dm_text text = dm_encoding(r, true);
    dm_string flat = DM_CAT(r, text.left, text.right, clones(r));
    if (!r->failed && r->at == r->end) {
        *out_cut = flat.size > capacity;
        written = *out_cut ? capacity : flat.size;
        memcpy(out, flat.data, written);
    }
    hd_arena_deinit(&r->arena);
    free(r->subs);
    return written;
}
